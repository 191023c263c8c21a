"""Statements of plain terms in data, which are read by a pattern: as the grammar alone reads them."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import Any

import pytest

from rdflive.errors import QuerySyntaxError
from rdflive.syntax import reader
from rdflive.syntax.reader import read_update
from rdflive.syntax.tokens import STATEMENT
from rdflive.syntax.tree import Tree, walk
from support.effort import drawn_from, rounds

NEVER = dict.fromkeys(STATEMENT, re.compile("(?!)"))
"""Patterns that leave everything to the grammar."""
NAMESPACES = {"": "http://e/", "e": "http://f#"}
BASES = ("", "http://base/x")
NAMES = ["<http://e/s>", "<>", "<it's>", ":s", "e:a.b", ":", "e:", r"e:a\,b", ":a%41", ":é", "rdf:type"]
OBJECTS = [
    *NAMES, "'x'", '"it\'s"', "''", '""', "'''x'''", r"'\u0041'", "'a\tb'", "'x'@en", "'x'@fr-BE", "'x' @en",
    "'x'@ar--rtl", "'1'^^xsd:integer", "'01'^^<http://www.w3.org/2001/XMLSchema#integer>", "'1' ^^ xsd:byte",
    "'x'^^<it's>", r"'x'^^e:it\'s", "0", "5", "+5", "-1.5", ".5", "1e3", "5.0", "true", "_:b", "[ :p 1 ]",
    "(1 2)",
]  # fmt: skip
STRANGE = [
    "none:x", "?x", "a", "<a b>", "'x", "'x'@en--up", "'x'^^none:y", r"'\z'", "5.", "5a", "true.b:c", ":a.",
    "\\", "{", "}", "<<( :s :p :o )>>", "{| :q 1 |}", "~ :r", ".", ";", ",", "GRAPH", "e:p/e:q", "^e:p", "",
]  # fmt: skip
GAPS = [" ", "\n", "  \t", " # it's <a> . \n"]


def data(random: Random, strangeness: float) -> str:
    """Draw an update of one to three operations on data."""

    def one(usual: list[str]) -> str:
        return random.choice(STRANGE if random.random() < strangeness else usual)

    def statement() -> str:
        parts = [one(NAMES), one([*NAMES, "a"]), one(OBJECTS)]
        while random.random() < 0.4:
            parts += random.choice([[";", one([*NAMES, "a"]), one(OBJECTS)], [",", one(OBJECTS)], [";"]])
        return random.choice(GAPS).join(parts)

    def block() -> str:
        made = [statement() for _ in range(random.randrange(5))]
        return random.choice([" .", " . ", "."]).join(made) + random.choice(["", " ."] if made else [""])

    def operation() -> str:
        named = "".join(
            f" GRAPH {one(NAMES)} {{ {block()} }}{random.choice(['', ' .'])} {block()}"
            for _ in range(random.randrange(3))
        )
        verb = random.choice(["INSERT DATA", "DELETE DATA"])
        prefix = random.choice(["", "PREFIX e: <http://other/> ", "BASE <http://b/> "])
        return f"{prefix}{verb} {{ {block()}{named} }}"

    return " ; ".join(operation() for _ in range(random.randint(1, 3)))


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
        text, base = data(random, strangeness), random.choice(BASES)
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
