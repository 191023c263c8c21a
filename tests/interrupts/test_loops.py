"""Ctrl-C leaves no loop of rdflive without its `finally` or its lock.

At the end of a loop with a condition, such as `while condition:` or a comprehension with `if`, Python 3.13
checks for signals, and treats an exception of a handler as raised outside of the `try` or `with` around the
loop: a lock stays taken. A loop in its own function is safe, and so is one whose body ends with another
statement.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import rdflive
import rdflive_stores

UNSAFE = """
with lock:
    for _ in things:
        while left: left -= 1
def f():
    while before:
        try:
            while inside: pass
        except ValueError:
            while handled: pass
        finally:
            while behind: pass
"""


def unsafe(node: ast.AST, *, within: bool = False) -> Iterator[ast.While]:
    """Yield the loops with a condition inside a `try` or `with` of the same function."""
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
    """Loops outside of the block of a `try` or `with` are safe."""
    assert [ast.unparse(loop.test) for loop in unsafe(ast.parse(UNSAFE))] == ["left", "inside", "handled"]


@pytest.mark.parametrize("package", [rdflive, rdflive_stores], ids=lambda package: package.__name__)
def test_no_loop_is_unsafe(package: object) -> None:
    """A loop with a condition that needs a lock or a clean-up is in its own function."""
    root = Path(str(getattr(package, "__file__", ""))).parent
    files = sorted(root.rglob("*.py"))
    assert len(files) > 20
    assert not [
        f"{path}:{loop.lineno}" for path in files for loop in unsafe(ast.parse(path.read_text("utf-8")))
    ]
