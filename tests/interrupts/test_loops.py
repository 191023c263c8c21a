"""No loop of rdflive is one that Ctrl-C leaves without the `finally` or the lock around it.

Where a loop ends with a condition, which `while condition:` and a comprehension with `if` always do, Python
3.13 looks for signals, and takes what a handler raises there for raised outside of the `try` or `with` that
the loop is in: a lock stays taken. A loop in a function of its own is safe, and so is one whose body ends
with something else. Any Python finds loops with `while`; Python 3.13 also finds the others, by its bytecode.
"""

from __future__ import annotations

import ast
import dis
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import rdflive
import rdflive_stores

SAFE = {
    "a `with` of a generator, which ends when Python frees it": {
        "base.py:BaseSubscription._open_display", "continuous.py:register",
        "endpoint_events.py:EventLog._first_id", "endpoint_events.py:EventLog._until",
        "journal.py:Journal.missed", "journal.py:Journal.pending", "match.py:run",
        "quads.py:check_named_graphs", "quads.py:check_patterns", "rdfs.py:RdfsEntailment._replan",
        "validation.py:LiveValidation.explain",
    },
    "an `except` of other errors": {
        "answer.py:Answer._read_rows", "bodies.py:read_body", "endpoint_results.py:read_rows",
        "following.py:Following.start", "sparql_data.py:read_data",
        "subscription.py:RemoteSubscription.stats",
    },
    "an engine that reads the store again after an interruption": {
        "kernel.py:Kernel.apply", "kernel.py:QuadKernel.apply", "relation.py:Relation._count",
    },
    "what was begun is thrown away": {"reading.py:Reader._read_path", "walk.py:_Writer.write"},
    "the turn has been given back": {"deliveries.py:Deliveries.run"},
}  # fmt: skip
"""Loops whose end no handler covers on Python 3.13, and why nothing is lost there."""
ENDING = """
def f(lock, xs):
    with lock:
        for x in xs:
            if x:
                x()
"""
UNSAFE = """
with lock:
    for _ in things:
        while left:
            left = left - 1
def f():
    while before:
        try:
            while inside:
                pass
        except ValueError:
            while handled:
                pass
        finally:
            while behind:
                pass
"""


def unsafe(node: ast.AST, *, within: bool = False) -> Iterator[ast.While]:
    """List the loops with a condition that are in a `try` or `with` of their own function."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        within = False
    if isinstance(node, ast.While) and within and not isinstance(node.test, ast.Constant):
        yield node
    for name, value in ast.iter_fields(node):
        is_guarded = within
        if isinstance(node, ast.With | ast.AsyncWith) and name == "body":
            is_guarded = True
        elif isinstance(node, ast.Try):
            is_guarded |= name in ("body", "orelse") or (name == "handlers" and bool(node.finalbody))
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from unsafe(child, within=is_guarded)


def test_unsafe_loops_are_found() -> None:
    """Loops that are not in the block of a `try` or `with` are no fault."""
    assert [ast.unparse(loop.test) for loop in unsafe(ast.parse(UNSAFE))] == ["left", "inside", "handled"]


@pytest.mark.parametrize("package", [rdflive, rdflive_stores], ids=lambda package: package.__name__)
def test_no_loop_is_unsafe(package: object) -> None:
    """A loop with a condition that holds a lock, or cleans up, is in a function of its own."""
    root = Path(str(getattr(package, "__file__", ""))).parent
    files = sorted(root.rglob("*.py"))
    assert len(files) > 20
    assert not [
        f"{path}:{loop.lineno}" for path in files for loop in unsafe(ast.parse(path.read_text("utf-8")))
    ]


def jumps(source: str) -> Iterator[str]:
    """List the jumps back that no handler covers, though where they lead to is covered, by function."""
    codes = [compile(source, "source", "exec")]
    for code in codes:
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
        bytecode = dis.Bytecode(code)
        instructions = list(bytecode)
        names = {each.offset: each.opname for each in instructions}
        entries = list(bytecode.exception_entries)

        def handled(place: int, names: Any = names, entries: Any = entries) -> bool:
            """Tell whether a `try` or `with` handles what is raised there; Python has handlers of its own."""
            target = next((entry.target for entry in entries if entry.start <= place < entry.end), None)
            if target is None or names[target] in ("PUSH_EXC_INFO", "CALL_INTRINSIC_1"):
                return target is not None and names[target] == "PUSH_EXC_INFO"
            return handled(target, names, entries)

        for each in instructions:
            if each.opname == "JUMP_BACKWARD" and not handled(each.offset) and handled(each.argval):
                yield code.co_qualname


# Before 3.13 what is raised there counts as raised where the loop begins.
HAS_FAULT = sys.version_info >= (3, 13) and [*jumps(ENDING)] == ["f"]


@pytest.mark.skipif(not HAS_FAULT, reason="this Python takes the end of a loop for a part of it")
def test_no_jump_of_a_loop_is_unsafe() -> None:
    """But for those that are listed, because nothing is lost there."""
    found = {
        f"{path.name}:{name}"
        for package in (rdflive, rdflive_stores)
        for path in Path(str(package.__file__)).parent.rglob("*.py")
        for name in jumps(path.read_text("utf-8"))
    }
    assert found <= set().union(*SAFE.values())


@pytest.mark.posix("sets timers")
@pytest.mark.skipif(not HAS_FAULT, reason="this Python takes the end of a loop for a part of it")
def test_python_has_the_fault() -> None:
    """What the bytecode says is so: the rule can go with the last version of Python that has the fault."""
    lock = threading.Lock()

    def hold(*, on: bool) -> None:
        with lock:
            while on:
                pass

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(KeyboardInterrupt):
            hold(on=True)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert lock.locked()
