"""Shares, slices, limits of time, repetitions and hunts, in runs of small suites of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from hunt.__main__ import hunt, report
from support.selection import Slice
from support.waiting import until

TESTS = Path(__file__).parents[1]
OWN = ("RDFLIVE_", "PYTEST_", "TOX_")
"""What the variables of a run begin with."""

ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Some plugins take seconds to load."""
CASES = """
import pytest
@pytest.mark.sampled(by="engine")
@pytest.mark.parametrize("engine", ["memory", "oxigraph"])
@pytest.mark.parametrize("case", range(10))
def test_case(case, engine): pass
@pytest.mark.sampled(3, always={"kind": ["graph"]})
@pytest.mark.parametrize("kind", ["graph", "union", "conjunctive", "auditable"])
def test_kind(kind): pass
@pytest.mark.sampled(1000)
@pytest.mark.parametrize("number", range(2))
def test_rare(number): pass
@pytest.mark.hunted("a quick run has test_kind")
def test_long(): pass
def test_plain(): pass
"""
WHOLE = 20 + 4 + 2 + 1 + 1
END = "the end of a run"
LISTING = f"""
import json, sys, pytest
for arguments in json.loads(sys.argv[1]):
    pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", "-p", "pytest_timeout", *arguments])
    print({END!r})
    for name in ("conftest", "test_it"):
        sys.modules.pop(name, None)
"""


class Suite:
    """A folder of tests, run by a pytest of its own."""

    def __init__(self, folder: Path, text: str) -> None:
        self.folder = folder
        (folder / "conftest.py").write_text('pytest_plugins = ["support.selection"]\n')
        (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
        (folder / "test_it.py").write_text(text)

    def run(self, *arguments: str, ignoring: int | None = None, **variables: str) -> Any:
        """Run it with variables of the environment, and nothing else of this run."""
        program = "-m", "pytest", "-p", "no:cacheprovider", "-p", "pytest_timeout", *arguments
        return self._start(program, variables, ignoring)

    def names(self, *runs: tuple[str, ...], seed: str = "") -> list[list[str]]:
        """List what each of some runs would run, by one program: loading pytest takes most of the time."""
        listed = self._start(("-c", LISTING, json.dumps(runs)), {"RDFLIVE_HUNT": seed})
        assert listed.returncode == 0, listed.stderr
        parts = listed.stdout.split(END)[:-1]
        return [[line for line in part.splitlines() if "::" in line] for part in parts]

    def _start(self, program: Sequence[str], variables: dict[str, str], ignoring: int | None = None) -> Any:
        environment = {n: v for n, v in os.environ.items() if not n.startswith(OWN)}
        return subprocess.run(
            [sys.executable, *program],
            cwd=self.folder,
            env={**environment, "PYTHONPATH": str(TESTS), **variables, **ALONE},
            preexec_fn=None if ignoring is None else lambda: signal.signal(ignoring, signal.SIG_IGN),
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )


@pytest.mark.parametrize("text", ["", "0/3", "turn/3", "4/3", "1", "1/0", "-1/3", "a/b", "1/3/2"])
def test_a_slice_that_is_none_is_refused(text: str) -> None:
    """The message says what a slice is."""
    with pytest.raises(pytest.UsageError, match="k from 1 to N"):
        Slice(text)


@pytest.mark.skipif(find_spec("pyspark") is not None, reason="shows what happens without PySpark")
def test_a_folder_without_its_packages_is_skipped_and_fails_in_tox(tmp_path: Path) -> None:
    """The skip names the extra; an environment of tox that names the folder must have it."""
    suite, folder = Suite(tmp_path, ""), tmp_path / "tests" / "spark"
    folder.mkdir(parents=True)
    (folder / "test_stream.py").write_text("import pyspark\ndef test_stream(): pass\n")
    skipped, failed = suite.run("-rs", "tests/spark"), suite.run("tests/spark", TOX_ENV_NAME="spark")
    assert skipped.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "needs the extra rdflive[spark]" in skipped.stdout
    assert failed.returncode == pytest.ExitCode.INTERRUPTED
    assert "No module named 'pyspark'" in failed.stdout


def test_the_gate_has_a_share_of_the_cases_and_slices_make_it_up(tmp_path: Path) -> None:
    """It has each case on one of the engines, always the same; a hunt has all. What is named is run."""
    suite = Suite(tmp_path, CASES)
    named = "test_it.py::test_long", "test_it.py::test_case[3-memory]"
    slices = [("--slice", f"{part}/3") for part in (1, 2, 3)]
    gate, again, asked, *parts = suite.names((), (), named, *slices)
    assert gate == again
    assert asked == [*named]
    cases = [name for name in gate if "test_case" in name]
    assert len({name.partition("-")[0] for name in cases}) == len(cases) == 10
    assert 0 < sum("memory" in name for name in cases) < 10
    assert "test_it.py::test_kind[graph]" in gate
    assert sum("test_kind" in name for name in gate) < 4
    assert sum("test_rare" in name for name in gate) == 1
    assert "test_it.py::test_plain" in gate
    assert "test_it.py::test_long" not in gate
    hunt, *others = suite.names((), *slices, seed="5")
    assert len(hunt) == WHOLE
    for whole, found in ((gate, parts), (hunt, others)):
        assert sorted(name for part in found for name in part) == sorted(whole)
        assert all(len(part) < len(whole) for part in found)


def test_a_slice_may_have_nothing_but_a_run_may_not(tmp_path: Path) -> None:
    """Of many slices of few tests some are empty; without slices that is a failure."""
    suite = Suite(tmp_path, "def test_one(): pass")
    empty = next(part for part in (1, 2) if "test_it.py::test_one" not in Slice(f"{part}/2"))
    assert suite.run("-q", "--slice", f"{empty}/2").returncode == 0
    assert Suite(tmp_path, "").run("-q", "--slice", "1/3").returncode == pytest.ExitCode.NO_TESTS_COLLECTED


DRAWN = """
from hypothesis import given, settings, strategies as st
from support.effort import drawn_from
@settings(max_examples=5)
@given(st.integers(0, 1 << 40), st.randoms())
def test_drawn(number, random): print("drew", number)
def test_failing():
    print("drew", drawn_from("x").getrandbits(40), "set", {str(n) for n in range(9)})
    assert False
"""


def test_the_gate_draws_the_same_each_time(tmp_path: Path) -> None:
    """Hypothesis, the helper and the order of sets are those of the run before."""
    suite = Suite(tmp_path, DRAWN)
    options = "-rA", "-p", "xdist", "-n", "1"
    first, second = suite.run(*options).stdout, suite.run(*options, TOX_ENV_NAME="py312").stdout
    drawn = re.findall("drew .*", first)
    assert drawn
    assert drawn == re.findall("drew .*", second)
    assert "python -m pytest 'test_it.py::test_failing'" in first
    assert "tox run -e py312 -- 'test_it.py::test_failing'" in second


def test_a_failure_of_a_hunt_says_how_to_repeat_it(tmp_path: Path) -> None:
    """The printed command draws the same, from hypothesis and from the helper; another seed draws others."""
    suite = Suite(tmp_path, DRAWN)
    first = suite.run("-s", "-v", RDFLIVE_HUNT="17").stdout
    assert "a hunt with the seed 17" in first
    assert "RDFLIVE_HUNT=17 python -m pytest 'test_it.py::test_failing'" in first
    drawn = re.findall(r"drew \d+", first)
    assert len(drawn) > 2
    assert drawn == re.findall(r"drew \d+", suite.run("-s", "-v", RDFLIVE_HUNT="17").stdout)
    assert drawn != re.findall(r"drew \d+", suite.run("-s", "-v", RDFLIVE_HUNT="18").stdout)


@pytest.mark.posix("Windows has no alarm: a test that hangs ends the run")
def test_a_test_that_hangs_is_ended_with_its_stacks(tmp_path: Path) -> None:
    """The stacks of all threads are printed, and the tests behind it run."""
    suite = Suite(
        tmp_path,
        """
import threading, pytest
@pytest.mark.timeout(1)
def test_hanging():
    def wait_in_a_thread(): threading.Event().wait(20)
    threading.Thread(target=wait_in_a_thread, daemon=True).start()
    threading.Event().wait()
def test_behind(request): assert request.node.get_closest_marker("timeout").args == (120,)
""",
    )
    run = suite.run("-q")
    assert "1 failed, 1 passed" in run.stdout
    assert "wait_in_a_thread" in run.stdout + run.stderr
    assert "Timeout" in run.stdout


def test_a_test_that_hangs_outside_python_ends_its_process(tmp_path: Path) -> None:
    """Code of libraries hears no alarm. The stacks are printed, and the run fails."""
    suite = Suite(
        tmp_path,
        """
import hashlib, pytest, support.selection
support.selection.GRACE = 1
@pytest.mark.timeout(1)
def test_hanging(): hashlib.pbkdf2_hmac("sha256", b"a", b"b", 1 << 30)
""",
    )
    run = suite.run("-q")
    assert run.returncode == 1
    assert "in test_hanging" in run.stderr


@pytest.mark.posix("has a program ignore a signal")
def test_programs_of_tests_hear_ctrl_c_though_the_run_ignores_it(tmp_path: Path) -> None:
    """As in the background of a shell, or under nohup."""
    suite = Suite(
        tmp_path,
        """
import signal, subprocess, sys
def test_child():
    command = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(30)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        assert child.wait(10) == -signal.SIGINT
""",
    )
    run = suite.run("-q", ignoring=signal.SIGINT)
    assert run.returncode == 0, run.stdout


def test_heavy_folders_are_run_if_they_are_named(tmp_path: Path) -> None:
    """A run of everything passes over them."""
    suite = Suite(tmp_path, "")
    for area in ("kill", "engine"):
        file = tmp_path / "tests" / area / f"test_{area}.py"
        file.parent.mkdir(parents=True)
        file.write_text("def test_it(): pass\n")
    light, heavy = "tests/engine/test_engine.py::test_it", "tests/kill/test_kill.py::test_it"
    found = suite.names(("tests",), (), ("tests/kill",), (heavy,), ("tests", "tests/kill"))
    assert found[:4] == [[light], [light], [heavy], [heavy]]
    assert sorted(found[4]) == [light, heavy]


def test_a_hunt_reports_what_it_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each failure comes with the command that repeats it; without a test the exit code is 2."""
    found = [
        {"test": "tests/engine/test_a.py::test_b", "outcome": "passed", "repeat": "one"},
        {"test": "tests/engine/test_a.py::test_c[1]", "outcome": "failed", "repeat": "two"},
        {"test": "tests/test_d.py::test_e", "outcome": "skipped", "repeat": "three"},
    ]
    assert report(found, ["7-1"]) == 1
    printed = capsys.readouterr().out
    assert re.findall(r"^(\S+) +(\d+) +(\d+) +(\d+)$", printed, re.MULTILINE) == [
        (".", "0", "0", "1"), ("engine", "1", "1", "0"), ("all", "1", "1", "1")
    ]  # fmt: skip
    assert printed.endswith("seeds: 7-1\nfailed: two\n")
    assert report(found[:1], ["7-1"]) == 0
    assert report([], []) == 2


def test_a_hunt_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test begins behind its end."""
    monkeypatch.setattr("hunt.__main__.LOG", tmp_path / "hunt.log")
    record = tmp_path / "record"
    record.touch()
    assert hunt([TESTS / "running" / "test_layers.py"], "7", 0.1, 1, record) == ["7-1"]
    assert record.read_text() == ""


@pytest.mark.posix("Windows has no Ctrl-C for one program")
def test_a_hunt_stops_what_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that still runs behind the end is interrupted, and one that hears nothing is killed."""
    monkeypatch.setattr("hunt.__main__.LOG", tmp_path / "hunt.log")
    monkeypatch.setattr("hunt.__main__.LATE", 1)
    monkeypatch.setattr("hunt.__main__.GRACE", 5)
    record, hanging = tmp_path / "record", tmp_path / "test_hanging.py"
    record.touch()
    deaf = "signal.signal(signal.SIGINT, signal.SIG_IGN)"
    note = f"pathlib.Path({str(tmp_path / 'worker')!r}).write_text(str(os.getpid()))"
    hanging.write_text(
        f"import os, pathlib, signal, time\ndef test_it():\n    {deaf}; {note}; time.sleep(90)\n"
    )
    begun = time.monotonic()
    assert hunt([hanging], "7", 10, 1, record) == ["7-1"]
    assert time.monotonic() - begun < 60
    worker = (tmp_path / "worker").read_text()
    command = ["ps", "-o", "stat=", "-p", worker]
    # on a busy machine a process that was killed is there for a moment
    until(lambda: subprocess.run(command, capture_output=True, text=True).stdout.strip()[:1] in ("", "Z"))
