"""Which tests a run has, how long each may take, and how one that failed is repeated: hooks of pytest.

Marks that tests carry:

- `sampled(n)`: the gate has one of `n` such cases, by a hash of their names; a hunt has all.
- `sampled(by="engine")`: of the cases that differ in this parameter only, the gate has one.
- `sampled(4, by="part")`: of these it has those of every fourth value.
- `sampled(..., always={"kind": values})`: the gate has all cases with these values of a parameter.
- `hunted`: only a hunt has the test; its reason says what the gate has instead.
- `posix`, `linux`: only such systems can run the test; its reason says what others lack.

`--slice k/N` leaves of what was selected the k-th of N parts, which are disjoint and together have all of it.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any

import hypothesis.core
import pytest
from hypothesis import HealthCheck, settings

from support.effort import HUNT, SEED, examples, in_share, repeat

__all__ = ["Slice"]

SECONDS = 900 if HUNT else 120
"""How long a test may take, if it does not say so itself; all stacks are printed then."""
HEAVY = ("bench", "browser", "examples", "faults", "fuzz", "kill", "running", "shared", "spark")
"""Folders that need more than the gate installs, or are slow: a run has them if it names them."""
CORE = (
    "adapters", "engine", "entail", "feeds", "first_contact", "http", "query", "resume", "shacl", "time",
)  # fmt: skip
"""What runs on every Python and on the lowest versions, beside the modules at the root of the tests."""
MARKS = (
    "core: runs on every Python and on the lowest versions; given to whole folders",
    "sampled(among=None, by=None, always=None): the gate has some of the cases, a hunt has all",
    "hunted(reason): only a hunt has the test",
    "posix(reason): needs what Linux and macOS have, and Windows has not",
    "linux(reason): needs what only Linux has",
)
SYSTEMS = {"posix": os.name == "posix", "linux": sys.platform == "linux"}
"""What this system is, by the marks of tests that need it."""
MEMORY = Path("/dev/shm")
ROOM = 2 << 30
"""Bytes that a folder in memory must have free to be used for the files of tests."""
GRACE = 60
"""Seconds until the process of a test ends that its limit of time has not ended."""
_STDERR = pytest.StashKey[int]()
"""The standard error of the run, which is not captured."""
_OTHERS_HAVE_SOME = pytest.StashKey[bool]()
"""Whether some of the tests that were collected are in other slices, which others run."""


class Slice:
    """The k-th of N parts of the tests, by a hash of their names."""

    def __init__(self, text: str) -> None:
        part, _, parts = text.partition("/")
        if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
            raise pytest.UsageError(f"--slice {text!r}: it is k/N with k from 1 to N, such as 1/6")
        self.part, self.parts = int(part), int(parts)

    def __contains__(self, test: str) -> bool:
        return int(sha256(test.encode()).hexdigest(), 16) % self.parts == self.part - 1


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--slice`."""
    parser.addoption("--slice", metavar="k/N", default="", help="run the k-th of N parts of the tests")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks, and let the programs that tests start have Ctrl-C where this run ignores it."""
    if not config.pluginmanager.hasplugin("pytest_timeout") and not config.pluginmanager.hasplugin("timeout"):
        raise pytest.UsageError("the tests need the plugin pytest-timeout: pip install pytest-timeout")
    config.stash[_STDERR] = os.dup(2)
    config.add_cleanup(lambda: os.close(config.stash[_STDERR]))
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    settings.register_profile(
        "rdflive",
        settings.get_profile("default"),  # not the one that hypothesis takes in CI
        deadline=None,  # a slow machine must not fail a test
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
        max_examples=examples(100, share=5),
        derandomize=not HUNT,
        database=settings.get_profile("default").database if HUNT else None,
    )
    settings.load_profile("rdflive")
    _use_memory(config)
    # Programs that tests start compile rdflive once, not each time they start: that takes a second.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # For workers and for programs of tests: sets of texts have the same order in each run of the gate
    os.environ.setdefault("PYTHONHASHSEED", str(Random(SEED).getrandbits(32) if HUNT else 0))
    if threading.current_thread() is threading.main_thread():
        # Shells start what is in the background with the signal ignored, and programs inherit that.
        for name, handler in (("SIGINT", signal.default_int_handler), ("SIGQUIT", signal.SIG_DFL)):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, handler)


def pytest_report_header(config: pytest.Config) -> str:
    """Say what is tried."""
    part = config.getoption("slice")
    return (f"a hunt with the seed {SEED}" if HUNT else "the gate") + (f", slice: {part}" if part else "")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over a heavy folder, unless it or something in it was asked for."""
    if collection_path.name not in HEAVY or collection_path.parent != config.rootpath / "tests":
        return None
    asked = (config.invocation_params.dir / argument.partition("::")[0] for argument in config.args)
    return None if any(path.is_relative_to(collection_path) for path in asked) else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the gate does not try and what other slices have; give each test its time."""
    part = config.getoption("slice")
    named = all("::" in argument for argument in config.args)  # what is asked for by its name is run
    chosen = set(items) if HUNT or named else _in_gate(items)
    if part:
        inside, before = Slice(part), len(chosen)
        chosen = {item for item in chosen if item.nodeid in inside}
        config.stash[_OTHERS_HAVE_SOME] = len(chosen) < before
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SECONDS))
        file = PurePosixPath(item.nodeid.partition("::")[0])
        if len(file.parts) == 2 or (file.is_relative_to("tests") and file.parts[1] in CORE):
            item.add_marker("core")
        for system in SYSTEMS:
            mark = item.get_closest_marker(system)
            if mark is not None and not SYSTEMS[system]:
                item.add_marker(pytest.mark.skip(f"needs {system}: {mark.args[0]}"))


def pytest_collection_finish() -> None:
    """Have the garbage collector leave the collected tests out: they are many objects, and stay.

    Tests that collect garbage, as benchmarks do before each thing they time, took several times as long.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """End the process where a test hangs in code that is not Python's: that hears no alarm."""
    mark = item.get_closest_marker("timeout")
    assert mark is not None
    faulthandler.dump_traceback_later(mark.args[0] + GRACE, exit=True, file=item.config.stash[_STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A slice may have nothing of a small area; without slices that is a failure."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and session.config.stash.get(
        _OTHERS_HAVE_SOME, False
    ):
        session.exitstatus = pytest.ExitCode.OK


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have hypothesis draw from the seed of a hunt and the name of the test; the gate is derandomized.

    Its own option for seeds would make it forget the examples that failed before.
    """
    # a variable of the module until 6.12x, then of the thread
    holder = getattr(hypothesis.core, "threadlocal", hypothesis.core)
    holder._hypothesis_global_random = Random(f"{SEED} {item.nodeid}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Print below a failure how to repeat it."""
    report: Any = yield
    if report.failed:
        report.sections.append(("to repeat it", repeat(item.nodeid)))
    return report


def _use_memory(config: pytest.Config) -> None:
    """Have the workers of a run write their files into memory: they are small, and synced often."""
    is_whole = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if is_whole and not HUNT and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        folder = tempfile.mkdtemp(prefix="rdflive-tests-", dir=MEMORY)
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ["TMPDIR"], tempfile.tempdir = folder, folder


def _in_gate(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Give the tests of the gate: of each function that is sampled at least one case."""
    chosen = set(_shares(items))
    functions = {_function(item) for item in chosen}
    for item in items:
        if item.get_closest_marker("hunted") is None and _function(item) not in functions:
            functions.add(_function(item))
            chosen.add(item)
    return chosen


def _shares(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """Give the tests that are not sampled, and the share of the others by their names."""
    always = [item for item in items if item.get_closest_marker("hunted") is None]
    marked = [(item, item.get_closest_marker("sampled")) for item in always]
    # the places of values, because their texts may have addresses, which differ between workers
    seen: dict[tuple[str, str], list[Any]] = {}
    places: dict[pytest.Item, dict[str, int]] = {}
    for item, mark in marked:
        if mark is not None and mark.kwargs.get("by"):
            places[item] = {}
            for name, value in item.callspec.params.items():  # type: ignore[attr-defined]  # it has parameters
                values = seen.setdefault((_function(item), name), [])
                if value not in values:
                    values.append(value)
                places[item][name] = values.index(value)
    for item, mark in marked:
        if mark is None or _is_always(item, mark.kwargs.get("always") or {}):
            yield item
        elif by := mark.kwargs.get("by"):
            rest = sorted((name, place) for name, place in places[item].items() if name != by)
            among = min((len(seen[_function(item), by]), *mark.args))
            if in_share(f"{_function(item)} {rest}", among, places[item][by]):
                yield item
        elif in_share(item.nodeid, *mark.args):
            yield item


def _is_always(item: pytest.Item, always: dict[str, Sequence[Any]]) -> bool:
    parameters: dict[str, Any] = item.callspec.params if always else {}  # type: ignore[attr-defined]  # as above
    return any(parameters[name] in values for name, values in always.items())


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]
