"""Which tests a run has, how long each may take, and how one that failed is repeated: hooks of pytest.

Marks that tests carry:

- `turns(n)`: a quick run has the case in one of `n` keys (see `support.effort`).
- `turns(by="engine")`: of the cases that differ in this parameter only, a quick run has one.
- `turns(4, by="part")`: of these it has those of every fourth value.
- `turns(..., always={"kind": values})`: but for cases with these values of a parameter, which it always has.
- without one, a test of a folder of `SLOW` has the turns of that folder, unless its file was asked for.
- `deep`: only a deep run has the test; its reason says what a quick run has instead.
- `posix`, `linux`: only such systems can run the test; its reason says what others lack.

`--slice k/N` leaves of what was selected the k-th of N parts, which are disjoint and together have all of it.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import PurePosixPath
from random import Random
from typing import Any

import hypothesis.core
import pytest
from hypothesis import HealthCheck, settings

from support.effort import DEEP, EFFORT, KEY, SEED, TURN, has_turn, repeat

__all__ = ["Slice"]

SECONDS = 900 if DEEP else 120
"""How long a test may take, if it does not say so itself; all stacks are printed then."""
TOGETHER = ("tests/spark", "tests/server/page")
"""Tests that one worker runs, because what they share is slow to start."""
SLOW = {"tests/server/page": 3, "tests/spark": 3}
"""Folders of which a quick run has a part in turn: each test waits for a browser, or for Spark."""
CORE = (
    "adapters", "engine", "entail", "feeds", "first_contact", "http", "query", "resume", "shacl", "time",
)  # fmt: skip
"""What runs on every Python and on the lowest versions, beside the modules at the root of the tests."""
MARKS = (
    "core: runs on every Python and on the lowest versions; given to whole folders",
    "turns(among=None, by=None, always=None): quick runs have the case in turn with others",
    "deep(reason): only deep runs have the test",
    "xdist_group(name): one worker runs them all; declared for runs without that plugin",
    "posix(reason): needs what Linux and macOS have, and Windows has not",
    "linux(reason): needs what only Linux has",
)
NEEDS = {
    "tests/server/page": ("posix", "the server forks"),
    "tests/spark": ("posix", "Hadoop needs winutils.exe on Windows"),
}
"""Whole folders that not every system can run."""
SYSTEMS = {"posix": os.name == "posix", "linux": sys.platform == "linux"}
"""What this system is, by the marks of tests that need it; `support.elsewhere` says otherwise."""
GRACE = 60
"""Seconds until the process of a test ends that its limit of time has not ended."""
_STDERR = pytest.StashKey[int]()
"""The standard error of the run, which is not captured."""
_OTHERS_HAVE_SOME = pytest.StashKey[bool]()
"""Whether some of the tests that were collected are in other slices, which others run."""


class Slice:
    """The k-th of N parts of the tests, by a hash of their names; `turn/N` is the one whose turn it is.

    Python 3.13 has the part behind that of Python 3.12.
    """

    def __init__(self, text: str) -> None:
        part, _, parts = text.partition("/")
        if part == "turn" and parts.isdecimal() and int(parts) > 0:
            # not by TURN itself: a case with a turn at even keys would never meet a part with one at odd keys
            part = str((TURN // 60 + sys.version_info.minor) % int(parts) + 1)
        if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
            raise pytest.UsageError(f"--slice {text!r}: it is k/N with k from 1 to N, such as 1/6, or turn/N")
        self.part, self.parts = int(part), int(parts)

    def __contains__(self, test: str) -> bool:
        return int(sha256(test.encode()).hexdigest(), 16) % self.parts == self.part - 1


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--slice`."""
    parser.addoption(
        "--slice", metavar="k/N", default="", help="run the k-th of N parts of the tests, or turn/N"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks, and let the programs that tests start have Ctrl-C where this run ignores it."""
    if not config.pluginmanager.hasplugin("pytest_timeout") and not config.pluginmanager.hasplugin("timeout"):
        raise pytest.UsageError("the tests need the plugin pytest-timeout: pip install pytest-timeout")
    config.stash[_STDERR] = os.dup(2)
    config.add_cleanup(lambda: os.close(config.stash[_STDERR]))
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    # A slow machine must not fail a test. It is made of the default profile, because the one that
    # hypothesis takes in CI would try the same examples each time, and forget those that failed.
    settings.register_profile(
        "rdflive",
        settings.get_profile("default"),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
    )
    settings.load_profile("rdflive")
    if threading.current_thread() is threading.main_thread():
        # Shells start what is in the background with the signal ignored, and programs inherit that.
        for name, handler in (("SIGINT", signal.default_int_handler), ("SIGQUIT", signal.SIG_DFL)):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, handler)


def pytest_report_header(config: pytest.Config) -> str:
    """Say what is tried."""
    part = config.getoption("slice")
    return f"effort: {EFFORT}, seed: {SEED or 'of each case'}, key: {KEY}" + (
        f", slice: {part}" if part else ""
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give workers one test at a time, but what belongs together to one of them (`--dist loadgroup`).

    xdist's own groups have no effect with pytest 9.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            for folder in TOGETHER:
                if nodeid.startswith(f"{folder}/"):
                    return folder
            return nodeid

        # Behind a worker that ended, xdist gives the others what is done already and the new one a single
        # test, and each waits for more: the run never ends. It also gives work to one that still collects.

        def remove_node(self, node: Any) -> str | None:
            """Give to others what a worker that ended has left, but for the test that ended it."""
            units = self.assigned_work.pop(node)
            left = {test: unit for unit, tests in units.items() for test, done in tests.items() if not done}
            crashed = next(iter(left), None)
            for test, unit in left.items():
                if test != crashed:
                    self.workqueue.setdefault(unit, {})[test] = False
            for other in self.nodes:
                self._reschedule(other)
            return crashed

        def _reschedule(self, node: Any) -> None:
            # one that has just ended keeps what it could not be sent until it is removed
            with suppress(OSError):
                if node in self.registered_collections:
                    super()._reschedule(node)

        def schedule(self) -> None:
            """Give each worker two units at least, or none and the end."""
            super().schedule()
            for node in self.nodes:
                self._reschedule(node)

    return Together(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has no turn and what other slices have; give each test its time."""
    part = config.getoption("slice")
    named = all("::" in argument for argument in config.args)  # what somebody asks for by its name is run
    files = all(argument.partition("::")[0].endswith(".py") for argument in config.args)
    chosen = set(items if DEEP or named else _in_turn(items, {} if files else SLOW))
    if part:
        inside, before = Slice(part), len(chosen)
        chosen = {item for item in chosen if item.nodeid in inside}
        config.stash[_OTHERS_HAVE_SOME] = len(chosen) < before and not part.startswith("turn")
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SECONDS))
        file = PurePosixPath(item.nodeid.partition("::")[0])
        if len(file.parts) == 2 or (file.is_relative_to("tests") and file.parts[1] in CORE):
            item.add_marker("core")
        for folder, (system, reason) in NEEDS.items():
            if file.is_relative_to(folder):
                item.add_marker(getattr(pytest.mark, system)(reason))
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
    """Have hypothesis draw from the seed of the run and the name of the test.

    Its own option for seeds would make it forget the examples that failed before.
    """
    # a variable of the module until 6.12x, then of the thread
    holder = getattr(hypothesis.core, "threadlocal", hypothesis.core)
    holder._hypothesis_global_random = Random(f"{SEED} {item.nodeid}") if SEED else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Print below a failure how to repeat it."""
    report: Any = yield
    if report.failed:
        part = item.config.getoption("slice")
        report.sections.append(("to repeat it", repeat(item.nodeid) + (f" --slice {part}" if part else "")))
    return report


def _in_turn(items: Sequence[pytest.Item], slow: Mapping[str, int]) -> Iterator[pytest.Item]:
    """Give the tests of a quick run; those of slow folders take so many turns."""
    quick = [item for item in items if item.get_closest_marker("deep") is None]
    marked = [(item, item.get_closest_marker("turns")) for item in quick]
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
        if mark is None:
            among = next((turns for folder, turns in slow.items() if item.nodeid.startswith(f"{folder}/")), 1)
            if has_turn(item.nodeid, among):
                yield item
        elif _is_always(item, mark.kwargs.get("always") or {}):
            yield item
        elif by := mark.kwargs.get("by"):
            rest = sorted((name, place) for name, place in places[item].items() if name != by)
            among = min((len(seen[_function(item), by]), *mark.args))
            if has_turn(f"{_function(item)} {rest}", among, places[item][by]):
                yield item
        elif has_turn(item.nodeid, *mark.args):
            yield item


def _is_always(item: pytest.Item, always: dict[str, Sequence[Any]]) -> bool:
    parameters: dict[str, Any] = item.callspec.params if always else {}  # type: ignore[attr-defined]  # as above
    return any(parameters[name] in values for name, values in always.items())


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]
