"""Slices, turns, limits of time and repetitions, in runs of small suites of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.selection import Slice

TESTS = Path(__file__).parents[1]
OWN = ("RDFLIVE_", "PYTEST_", "TOX_")
"""What the variables of a run begin with."""
NAMES = st.lists(st.text(min_size=1), unique=True, max_size=60)

ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Some plugins take seconds to load."""
CASES = """
import pytest
@pytest.mark.turns(by="engine")
@pytest.mark.parametrize("engine", ["memory", "oxigraph"])
@pytest.mark.parametrize("case", range(10))
def test_case(case, engine): pass
@pytest.mark.turns(3, always={"kind": ["graph"]})
@pytest.mark.parametrize("kind", ["graph", "union", "conjunctive", "auditable"])
def test_kind(kind): pass
@pytest.mark.deep("a quick run has test_kind")
def test_long(): pass
def test_plain(): pass
"""
WHOLE = 20 + 4 + 1 + 1


class Suite:
    """A folder of tests, run by a pytest of its own."""

    def __init__(self, folder: Path, text: str) -> None:
        self.folder = folder
        (folder / "conftest.py").write_text('pytest_plugins = ["support.selection"]\n')
        (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
        (folder / "test_it.py").write_text(text)

    def run(self, *arguments: str, ignoring: int | None = None, **variables: str) -> Any:
        """Run it with variables of the environment, and nothing else of this run."""
        environment = {n: v for n, v in os.environ.items() if not n.startswith(OWN)}
        prepare = None if ignoring is None else lambda: signal.signal(ignoring, signal.SIG_IGN)
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "pytest_timeout", *arguments],
            cwd=self.folder,
            env={**environment, "PYTHONPATH": str(TESTS), "RDFLIVE_KEY": "1", **variables, **ALONE},
            preexec_fn=prepare,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )

    def names(self, *arguments: str, **variables: str) -> list[str]:
        """List what would be run."""
        listed = self.run("--collect-only", "-q", *arguments, **variables).stdout
        return [line for line in listed.splitlines() if "::" in line]


@given(NAMES, st.integers(1, 9))
def test_slices_are_disjoint_and_have_everything(names: list[str], parts: int) -> None:
    """Each name is in one of the N parts."""
    slices = [Slice(f"{part}/{parts}") for part in range(1, parts + 1)]
    assert all(sum(name in one for one in slices) == 1 for name in names)


@pytest.mark.parametrize("of", ["key", "Python"])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_slices_take_turns(of: str, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is the turn of some keys, and Pythons in a row have them in turn."""
    found = []
    for number in range(parts):
        key, minor = (60 * number, 11) if of == "key" else (7, number)
        monkeypatch.setattr("support.selection.TURN", key)
        monkeypatch.setattr(
            "support.selection.sys", SimpleNamespace(version_info=SimpleNamespace(minor=minor))
        )
        found.append(Slice(f"turn/{parts}").part)
    assert sorted(found) == list(range(1, parts + 1))


@pytest.mark.parametrize(
    "text", ["", "0/3", "turn/0", "turn/a", "turn", "4/3", "1", "1/0", "-1/3", "a/b", "1/3/2"]
)
def test_a_slice_that_is_none_is_refused(text: str) -> None:
    """The message says what a slice is."""
    with pytest.raises(pytest.UsageError, match="k from 1 to N"):
        Slice(text)


def test_slices_of_a_run_make_up_the_run(tmp_path: Path) -> None:
    """The parts that pytest collects are those of the whole, at both efforts."""
    suite = Suite(tmp_path, CASES)
    for effort in ("quick", "deep"):
        whole = suite.names(RDFLIVE_EFFORT=effort)
        parts = [suite.names("--slice", f"{part}/3", RDFLIVE_EFFORT=effort) for part in (1, 2, 3)]
        assert sorted(name for part in parts for name in part) == sorted(whole)
        assert all(len(part) < len(whole) for part in parts)
    assert len(whole) == WHOLE


def test_a_slice_may_have_nothing_but_a_run_may_not(tmp_path: Path) -> None:
    """Of many slices of few tests some are empty; without slices that is a failure."""
    suite = Suite(tmp_path, "def test_one(): pass")
    codes = [suite.run("-q", "--slice", f"{part}/3").returncode for part in (1, 2, 3)]
    assert codes == [0, 0, 0]
    nothing = pytest.ExitCode.NO_TESTS_COLLECTED
    assert suite.run("-q", "-k", "nothing").returncode == nothing
    assert {nothing} <= {
        suite.run("-q", "--slice", "turn/9", RDFLIVE_KEY=str(60 * k)).returncode for k in (0, 1)
    }
    assert Suite(tmp_path, "").run("-q", "--slice", "1/3").returncode == nothing


CASES_OF_TWO_KINDS = """
import pytest
@pytest.mark.turns(2)
@pytest.mark.parametrize("number", range(12))
def test_two(number): pass
@pytest.mark.turns(by="kind")
@pytest.mark.parametrize("kind", "abcd")
@pytest.mark.parametrize("number", range(6))
def test_four(number, kind): pass
"""


def test_turns_of_cases_and_of_slices_meet(tmp_path: Path) -> None:
    """Every case is run at some key, also where a run has a slice in turn."""
    suite, found = Suite(tmp_path, CASES_OF_TWO_KINDS), set[str]()
    for key in (*range(4), *range(60, 64)):
        found.update(suite.names("--slice", "turn/2", RDFLIVE_KEY=str(key)))
    assert len(found) == 12 + 24


def test_cases_take_turns(tmp_path: Path) -> None:
    """A quick run has a case on one engine and at the next key on the other; a deep run has all."""
    suite = Suite(tmp_path, CASES)
    first, second, third = (suite.names(RDFLIVE_KEY=key) for key in ("7", "8", "9"))
    cases = [{name for name in run if "test_case" in name} for run in (first, second)]
    assert [len(run) for run in cases] == [10, 10]
    assert len(cases[0] | cases[1]) == 20
    assert 0 < sum("memory" in name for name in cases[0]) < 10
    kinds = [{name for name in run if "test_kind" in name} for run in (first, second, third)]
    assert all("test_it.py::test_kind[graph]" in run for run in kinds)
    assert len(set.union(*kinds)) == 4
    assert sum(map(len, kinds)) == 3 + 3
    assert "test_it.py::test_plain" in first
    assert "test_it.py::test_long" not in first
    assert len(suite.names(RDFLIVE_EFFORT="deep")) == WHOLE


def test_what_is_named_is_run(tmp_path: Path) -> None:
    """Somebody who names a test gets it, whoever's turn it is."""
    suite = Suite(tmp_path, CASES)
    assert suite.names("test_it.py::test_long", "test_it.py::test_case[3-memory]") == [
        "test_it.py::test_long",
        "test_it.py::test_case[3-memory]",
    ]


def test_a_failure_says_how_to_repeat_it(tmp_path: Path) -> None:
    """The printed command draws the same, from hypothesis and from the helper, without a database."""
    suite = Suite(
        tmp_path,
        """
from hypothesis import given, settings, strategies as st
from support.effort import drawn_from
@settings(database=None, max_examples=5)
@given(st.integers(0, 1 << 40), st.randoms())
def test_drawn(number, random): print("drew", number)
def test_failing():
    print("drew", drawn_from("x").getrandbits(40))
    assert False
""",
    )
    assert "tox run -e py312 -- 'test_it.py::test_failing'" in suite.run("-q", TOX_ENV_NAME="py312").stdout
    first = suite.run("-s", "-v").stdout
    assert "effort: quick, seed: " in first
    command = next(line for line in first.splitlines() if line.startswith("RDFLIVE_EFFORT="))
    assert command.endswith("python -m pytest 'test_it.py::test_failing'")
    variables = dict(word.split("=") for word in command.split(" python")[0].split())
    drawn = [line for line in first.splitlines() if "drew" in line]
    assert len(drawn) > 2
    assert drawn == [
        line for line in suite.run("-s", "-v", **variables).stdout.splitlines() if "drew" in line
    ]
    assert drawn != [line for line in suite.run("-s", "-v").stdout.splitlines() if "drew" in line]


def test_examples_that_failed_come_first_in_the_next_run(tmp_path: Path) -> None:
    """The database of hypothesis is kept although quick runs have seeds."""
    suite = Suite(
        tmp_path,
        """
from hypothesis import given, settings, strategies as st, Phase
@settings(max_examples=300)
@given(st.integers(0, 1000))
def test_drawn(number): assert number < 500
""",
    )
    in_ci = {"CI": "true", "GITHUB_ACTIONS": "true"}  # there it keeps none of its own accord
    assert suite.run("-q", **in_ci).returncode == 1
    text = (tmp_path / "test_it.py").read_text().replace("max_examples=300", "phases=[Phase.reuse]")
    (tmp_path / "test_it.py").write_text(text)
    assert "assert 500 < 500" in suite.run("-q", **in_ci).stdout


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


def test_tests_of_slow_folders_take_turns(tmp_path: Path) -> None:
    """A run of everything has each test of them at one of three keys; who names a file has it whole."""
    suite = Suite(tmp_path, "")
    file = tmp_path / "tests" / "spark" / "test_slow.py"
    file.parent.mkdir(parents=True)
    file.write_text("import pytest\n@pytest.mark.parametrize('n', range(30))\ndef test_slow(n): pass\n")
    found = [suite.names(RDFLIVE_KEY=str(key)) for key in (1, 2, 3)]
    assert all(len(names) < 30 for names in found)
    assert sorted(name for names in found for name in names) == sorted(suite.names(RDFLIVE_EFFORT="deep"))
    assert len(suite.names("tests/spark/test_slow.py")) == 30


@pytest.mark.parametrize("last", [0, 5, 39], ids=["first", "early", "last"])
def test_a_run_goes_on_behind_a_worker_that_ended(last: int, tmp_path: Path) -> None:
    """All tests but one pass, those that stay together too: xdist's own schedule waits for ever behind it."""
    suite = Suite(tmp_path, "")
    for area in ("spark", "engine"):  # those of the first stay together
        file = tmp_path / "tests" / area / f"test_{area}.py"
        file.parent.mkdir(parents=True)
        file.write_text(
            "import os, pytest\n@pytest.mark.parametrize('n', range(40))\n"
            f"def test_{area}(n):\n    if n == {last}: os._exit(1)\n"
        )
    run = suite.run("-p", "xdist", "-n", "2", "--dist", "loadgroup", "-q", RDFLIVE_EFFORT="deep")
    assert "2 failed, 78 passed" in run.stdout
    assert run.stdout.count("crashed while running") >= 2
    assert run.returncode == pytest.ExitCode.TESTS_FAILED
