"""A test of the gate detects every planted fault: `tox run -e faults` plants those near a change.

These are at most 60 faults of the files that the newest commits changed. A hunt plants all.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec

import pytest

from faults.planting import FAULTS, NONE_ENDED, ROOT, TESTS, Copy, Fault, run_tests
from faults.report import PROPERTY
from support.effort import HUNT

pytestmark = pytest.mark.linux("some of the tests that notice faults need Linux")

MOST = 60
"""Number of faults planted for a change."""


def near(changed: Sequence[str]) -> list[Fault]:
    """Return up to `MOST` faults: those of the changed files in order, then others."""
    files = dict.fromkeys([*changed, *sorted(fault.module for fault in FAULTS)])
    places = {file: place for place, file in enumerate(files)}
    return sorted(FAULTS, key=lambda fault: places[fault.module])[:MOST]


def changed() -> list[str]:
    """List the files that commits changed, those of the newest first; none without git."""
    command = [
        "git",
        "-C",
        str(ROOT),
        "log",
        "--format=",
        "--name-only",
        "-100",
        "--",
        "plugin",
        "store_adapters",
    ]
    try:
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        return []
    return [line.partition("/")[2] for line in lines]


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("planted"))


PLANTED = FAULTS if HUNT else near(changed())


@pytest.mark.timeout(900)
@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_planted_fault_is_caught(fault: Fault, copy: Copy, record_property: Callable[..., None]) -> None:
    """A test of the gate fails for one wrong line of the code."""
    _need_spark(fault.tests)
    source = (copy.folder / fault.module).read_text(encoding="utf-8")
    caught = copy.run(fault.module, fault.planted(source), fault.tests)
    assert caught is not None, f"no test of {', '.join(fault.tests)} notices: {fault.module}: {fault.instead}"
    assert caught.test != NONE_ENDED, "a run that hangs says nothing of a test"
    record_property(PROPERTY, (fault.name, fault.module, caught.test, caught.seconds))


@pytest.mark.hunted("the gate runs these tests itself")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("tests", sorted({fault.tests for fault in PLANTED}), ids=" ".join)
def test_code_without_a_fault_passes(tests: tuple[str, ...], copy: Copy) -> None:
    """The tests pass without a fault, so the faults cause the failures above."""
    _need_spark(tests)
    assert run_tests(tests, copy.folder) is None


def test_faults_near_a_change_come_first() -> None:
    """Each change has the same number of faults, and always the same ones."""
    one = FAULTS[-1]
    chosen = near([one.module])
    assert one in chosen
    assert len(chosen) == len(set(chosen)) == MOST
    assert chosen == near([one.module, "rdflive/there_is_none.py"])


def test_no_file_of_tests_is_skipped() -> None:
    """Each test file of a fault can be imported here, as a change may select any fault."""
    files = sorted({name for fault in FAULTS for name in fault.tests})
    options = ("-q", "-rs", "--no-header", "--collect-only", "-p", "no:cacheprovider")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(str(TESTS / name) for name in files)],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr
    skipped = [line for line in run.stdout.splitlines() if line.startswith("SKIPPED")]
    assert skipped == [], "`tox run -e faults` installs what these need"


def test_faults_have_names_of_their_own() -> None:
    """There are at least 500 faults, and no two have the same name."""
    assert len(FAULTS) >= 500
    assert max(Counter(fault.name for fault in FAULTS).values()) == 1


def _need_spark(tests: tuple[str, ...]) -> None:
    if any(name.startswith("spark/") for name in tests) and find_spec("pyspark") is None:
        pytest.skip("the tests of Spark need pyspark")
