"""Statements of plain terms in data, which are read by a pattern: as the grammar alone reads them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from rdflive.errors import QuerySyntaxError
from rdflive.syntax import reader
from rdflive.syntax.reader import read_update
from rdflive.syntax.tokens import STATEMENT
from rdflive.syntax.tree import Tree, walk
from support.data_updates import BASES, NAMESPACES, data_update
from support.effort import drawn_from, rounds

NEVER = dict.fromkeys(STATEMENT, re.compile("(?!)"))
"""Patterns that leave everything to the grammar."""


def read(text: str, base: str) -> Any:
    """Read a text: all nodes with their places and fields, or what is wrong with it."""
    try:
        tree = read_update(text, NAMESPACES, base=base)
    except QuerySyntaxError as error:
        return str(error)
    return [(node.name, node.begin, node.end, _spelled(node)) for node in walk(tree)]


def _spelled(node: Tree) -> Any:
    """Give the terms of a node with their classes: equal ones may be spelled in two ways."""
    return [
        (type(term), str(term), getattr(term, "datatype", None), getattr(term, "language", None))
        for triple in node.triples or ()
        for term in triple
    ] or [(name, part) for name, part in node.fields.items() if not isinstance(part, Tree | tuple)]


@pytest.mark.parametrize("strangeness", [0, 0.02, 0.2])
def test_what_is_read_by_the_pattern_is_what_the_grammar_reads(
    monkeypatch: pytest.MonkeyPatch, strangeness: float
) -> None:
    """Equal trees with equal places, equal errors."""
    random = drawn_from("statements", strangeness)
    kinds: Counter[bool] = Counter()
    for _ in range(rounds(6000)):
        text, base = data_update(random, strangeness), random.choice(BASES)
        found = read(text, base)
        with monkeypatch.context() as alone:
            alone.setattr(reader, "STATEMENT", NEVER)
            assert found == read(text, base), text
        kinds[isinstance(found, str)] += 1
    assert kinds[False] > rounds(6000) / 50
    assert strangeness == 0 or kinds[True] > rounds(6000) / 10


def test_plain_statements_are_not_left_to_the_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads the first of a block, and what the pattern does not find."""
    taken: list[str] = []
    term = reader._Reader._term

    def noted(self: Any, kind: str, token: str) -> Any:
        taken.append(token)
        return term(self, kind, token)

    monkeypatch.setattr(reader._Reader, "_term", noted)
    tree = read_update(
        "INSERT DATA { :a :b :c . :d a :e, 'f'@en ; :g 1 . # h\n :i :j 'k'^^:l . :m :n true . :o :p -1.5 . "
        ":q :r :s }",
        NAMESPACES,
    )
    assert len(tree.request[0].quads.part[0].triples) == 8
    assert taken == [":a", ":b", ":c", ":m", ":n", ":q", ":r", ":s"]
