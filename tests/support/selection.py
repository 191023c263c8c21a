"""Hooks of pytest that select the tests of a run, limit their time, and print how to repeat a failure.

Marks that tests carry:

- `sampled(n)`: the gate runs one of `n` such cases, by a hash of their names; a hunt runs all.
- `sampled(by="engine")`: the gate runs one of the cases that differ in this parameter only.
- `sampled(4, by="part")`: the gate runs those of every fourth value.
- `sampled(..., always={"kind": values})`: the gate runs all cases with these values of a parameter.
- `hunted`: only a hunt runs the test; its reason names the gate's replacement.
- `posix`, `linux`: only such systems can run the test; its reason names the feature that others lack.

`--slice k/N` keeps the k-th of N disjoint parts of the selected tests.
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
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any, NoReturn

import hypothesis.core
import pytest
from hypothesis import HealthCheck, settings

from support.effort import HUNT, SEED, examples, in_share, repeat

__all__ = ["Slice"]

SECONDS = 900 if HUNT else 120
"""Default time limit of a test; after it, pytest prints all stacks."""
HEAVY = ("bench", "browser", "examples", "faults", "fuzz", "kill", "running", "shared", "spark")
"""Folders that need more than the gate installs, or are slow; only a run that names them includes them."""
NEEDS = {"spark": ("spark", ("pyspark",)), "dataflow": ("frames", ("numpy", "pyarrow"))}
"""Folders whose modules import packages: the extra of rdflive that has these, and their names."""
CORE = (
    "adapters", "engine", "entail", "feeds", "first_contact", "http", "query", "resume", "shacl", "time",
)  # fmt: skip
"""Folders that run on every Python and on the lowest versions, like the modules at the root of the tests."""
MARKS = (
    "core: runs on every Python and on the lowest versions; given to whole folders",
    "sampled(among=None, by=None, always=None): the gate has some of the cases, a hunt has all",
    "hunted(reason): only a hunt has the test",
    "posix(reason): needs what Linux and macOS have, and Windows has not",
    "linux(reason): needs what only Linux has",
)
SYSTEMS = {"posix": os.name == "posix", "linux": sys.platform == "linux"}
"""True for each mark that this system satisfies."""
MEMORY = Path("/dev/shm")
ROOM = 2 << 30
"""Minimal free bytes of a folder in memory for the files of tests."""
GRACE = 60
"""Seconds after the time limit at which the process of a test is ended."""
_STDERR = pytest.StashKey[int]()
"""The uncaptured standard error of the run."""
_OTHERS_HAVE_SOME = pytest.StashKey[bool]()
"""True if some collected tests belong to other slices."""


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
    """Declare the marks, and restore Ctrl-C for programs of tests where this run ignores it."""
    if not config.pluginmanager.hasplugin("pytest_timeout") and not config.pluginmanager.hasplugin("timeout"):
        raise pytest.UsageError("the tests need the plugin pytest-timeout: pip install pytest-timeout")
    config.stash[_STDERR] = os.dup(2)
    config.add_cleanup(lambda: os.close(config.stash[_STDERR]))
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    settings.register_profile(
        "rdflive",
        settings.get_profile("default"),  # not the profile that hypothesis uses in CI
        deadline=None,  # a slow machine must not fail a test
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
        max_examples=examples(100, share=5),
        derandomize=not HUNT,
        database=settings.get_profile("default").database if HUNT else None,
    )
    settings.load_profile("rdflive")
    _use_memory(config)
    # Programs of tests compile rdflive once, not at each start, which takes a second.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Workers and programs of tests iterate sets of texts in the same order in each run of the gate.
    os.environ.setdefault("PYTHONHASHSEED", str(Random(SEED).getrandbits(32) if HUNT else 0))
    if threading.current_thread() is threading.main_thread():
        # Shells start background processes with the signal ignored, and programs inherit that.
        for name, handler in (("SIGINT", signal.default_int_handler), ("SIGQUIT", signal.SIG_DFL)):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, handler)


def pytest_report_header(config: pytest.Config) -> str:
    """Print the kind of the run, its seed and its slice."""
    part = config.getoption("slice")
    return (f"a hunt with the seed {SEED}" if HUNT else "the gate") + (f", slice: {part}" if part else "")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip a heavy folder, unless an argument names it or a file in it."""
    if collection_path.name not in HEAVY or collection_path.parent != config.rootpath / "tests":
        return None
    return None if _names(config, collection_path) else True


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Skip the modules of a folder whose packages are absent.

    They fail instead where tox names the folder, as its environment must have the packages.
    """
    for name, (extra, packages) in NEEDS.items():
        folder = parent.config.rootpath / "tests" / name
        if module_path.is_relative_to(folder) and not all(map(find_spec, packages)):
            is_due = "TOX_ENV_NAME" in os.environ and _names(parent.config, folder)
            return None if is_due else _Absent.from_parent(parent, path=module_path, extra=extra)
    return None


class _Absent(pytest.Module):
    """A module of tests that cannot be imported without an extra."""

    def __init__(self, *, extra: str, **options: Any) -> None:
        super().__init__(**options)
        self._extra = extra

    def collect(self) -> NoReturn:
        pytest.skip(f"needs the extra rdflive[{self._extra}]", allow_module_level=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests outside of the gate and the slice, and set time limits and marks."""
    part = config.getoption("slice")
    named = all("::" in argument for argument in config.args)  # tests named by an argument always run
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
    """Exclude the collected tests from garbage collection: they are many objects, and stay.

    Tests that collect garbage, such as benchmarks before each timing, took several times as long.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """End the process if a test hangs in native code, which alarms cannot interrupt."""
    mark = item.get_closest_marker("timeout")
    assert mark is not None
    faulthandler.dump_traceback_later(mark.args[0] + GRACE, exit=True, file=item.config.stash[_STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Let a slice of a small area be empty; without slices no tests are a failure."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and session.config.stash.get(
        _OTHERS_HAVE_SOME, False
    ):
        session.exitstatus = pytest.ExitCode.OK


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Seed hypothesis with the seed of a hunt and the name of the test; the gate is derandomized.

    With its own option for seeds hypothesis would not use its database of failed examples.
    """
    # an attribute of the module until 6.12x, then of the thread
    holder = getattr(hypothesis.core, "threadlocal", hypothesis.core)
    holder._hypothesis_global_random = Random(f"{SEED} {item.nodeid}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Print the command that repeats a failed test below its report."""
    report: Any = yield
    if report.failed:
        report.sections.append(("to repeat it", repeat(item.nodeid)))
    return report


def _names(config: pytest.Config, folder: Path) -> bool:
    """Return True if an argument names the folder or a file in it."""
    asked = (config.invocation_params.dir / argument.partition("::")[0] for argument in config.args)
    return any(path.is_relative_to(folder) for path in asked)


def _use_memory(config: pytest.Config) -> None:
    """Place the files of the workers in memory, as they are small and synced often."""
    is_whole = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if is_whole and not HUNT and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        folder = tempfile.mkdtemp(prefix="rdflive-tests-", dir=MEMORY)
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ["TMPDIR"], tempfile.tempdir = folder, folder


def _in_gate(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return the tests of the gate, with at least one case of each sampled function."""
    chosen = set(_shares(items))
    functions = {_function(item) for item in chosen}
    for item in items:
        if item.get_closest_marker("hunted") is None and _function(item) not in functions:
            functions.add(_function(item))
            chosen.add(item)
    return chosen


def _shares(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the tests that are not sampled, and the share of the others by their names."""
    always = [item for item in items if item.get_closest_marker("hunted") is None]
    marked = [(item, item.get_closest_marker("sampled")) for item in always]
    # indexes of values, as their texts may contain addresses, which differ between workers
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
