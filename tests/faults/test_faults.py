"""Every planted fault is caught by a quick test; `tox run -e faults` plants all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from faults import FAULTS
from faults.planting import NONE_ENDED, Copy, Fault, run_tests
from faults.report import PROPERTY

pytestmark = pytest.mark.linux("some of the tests that notice faults need Linux")

TURNS = max(1, len(FAULTS) // 10)
"""A quick run plants about ten."""


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("planted"))


@pytest.mark.timeout(900)
@pytest.mark.turns(TURNS, by="fault")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_planted_fault_is_caught(fault: Fault, copy: Copy, record_property: Callable[..., None]) -> None:
    """A quick test fails when one line of the code is wrong."""
    _need_spark(fault.tests)
    source = (copy.folder / fault.module).read_text(encoding="utf-8")
    caught = copy.run(fault.module, fault.planted(source), fault.tests)
    assert caught is not None, f"no test of {', '.join(fault.tests)} notices: {fault.module}: {fault.instead}"
    assert caught.test != NONE_ENDED, "a run that hangs says nothing of a test"
    record_property(PROPERTY, (fault.name, fault.module, caught.test, caught.seconds))


def test_faults_have_names_of_their_own() -> None:
    """There are eighty at least, and no two are called the same."""
    assert len(FAULTS) >= 80
    assert max(Counter(fault.name for fault in FAULTS).values()) == 1


def test_faults_can_be_planted(tmp_path: Path) -> None:
    """Each changes one line that is there once."""
    copy = Copy(tmp_path / "copy")
    for fault in FAULTS:
        source = (copy.folder / fault.module).read_text(encoding="utf-8")
        changed = fault.planted(source)
        pairs = zip(source.splitlines(), changed.splitlines(), strict=True)
        assert sum(before != after for before, after in pairs) == 1, fault.name
        compile(changed, fault.module, "exec")


@pytest.mark.timeout(900)
@pytest.mark.turns(TURNS, by="tests")
@pytest.mark.parametrize("tests", sorted({fault.tests for fault in FAULTS}), ids=" ".join)
def test_code_without_a_fault_passes(tests: tuple[str, ...], copy: Copy) -> None:
    """What fails above does so because of the fault."""
    _need_spark(tests)
    assert run_tests(tests, copy.folder) is None


def _need_spark(tests: tuple[str, ...]) -> None:
    if any(name.startswith("spark/") for name in tests) and find_spec("pyspark") is None:
        pytest.skip("the tests of Spark need pyspark")
