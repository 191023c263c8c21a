"""Each fault of `faults/*.txt` can be planted; `tox run -e faults` plants them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from faults.planting import FAULTS, TESTS, Fault

SOURCES = {
    name: Path(next(iter(spec.submodule_search_locations or ()))).parent
    for name in ("rdflive", "rdflive_stores")
    if (spec := find_spec(name))
}


def source(fault: Fault) -> str:
    return (SOURCES[fault.module.partition("/")[0]] / fault.module).read_text(encoding="utf-8")


def test_faults_can_be_planted() -> None:
    """Each changes the code where its fragment stands once, leaves Python, and names tests that are there."""
    for fault in FAULTS:
        before = source(fault)
        after = fault.planted(before)
        assert after != before, fault.name
        compile(after, fault.module, "exec")
        assert all((TESTS / name).exists() for name in fault.tests), fault.name


@pytest.mark.parametrize(
    ("fragment", "within", "error"),
    [("in", "", "'in' 2 times"), ("is", "", "'is' 0 times"), ("in", "g", "f.py has g 0 times")],
)
def test_a_fragment_that_is_not_there_once_is_refused(fragment: str, within: str, error: str) -> None:
    """The message names the fault, the file and the fragment."""
    fault = Fault("a fault", "f.py", fragment, "not in", (), within)
    with pytest.raises(LookupError, match=f"a fault: .*{error}"):
        fault.planted("def f(x, y):\n    return x in y or y in x\n")


@pytest.mark.parametrize(
    ("instead", "planted"),
    [
        ("(gone)", "pass"),
        ("(always)", "if True:"),
        ("(never)", "if False:"),
        ("y", "if y:"),
        ("(nothing)", "if :"),
    ],
)
def test_kinds_of_faults(instead: str, planted: str) -> None:
    """The line goes, or its condition, or the fragment."""
    fault = Fault("a fault", "f.py", "x" if instead in ("y", "(nothing)") else "if x", instead, (), "f")
    code = "def f():\n    if x:\n        return 1\n\n\ndef g():\n    if x:\n        return 2\n"
    assert fault.planted(code) == code.replace("if x:", planted, 1)
