"""Random texts from the table of the grammar, and broken ones."""

from __future__ import annotations

import re
from random import Random

import pytest

from rdflive.errors import QuerySyntaxError
from rdflive.syntax.reader import read_query, read_update
from rdflive.syntax.tree import Tree
from rdflive.syntax.writing import write
from support.effort import drawn_from, rounds
from support.trees import derived, relabelled

NAMESPACES = {"": "http://e/", "e": "http://f#"}
READ = {"Query": read_query, "Update": read_update}
NOTES = re.compile(
    "already has a value here|neither grouped nor|cannot be grouped|of VALUES has|VALUES has|another group|"
    "an aggregate cannot|aggregates are|which DATA does not allow|deleted triples cannot|cannot be annotated|"
    "a version is a"
)
"""What the notes of the grammar say, and the table does not."""


def read(name: str, text: str) -> Tree | None:
    """Read a text that was derived; None where only the notes of the grammar forbid it."""
    try:
        return READ[name](text, NAMESPACES, base="http://base/x")
    except QuerySyntaxError as error:
        if NOTES.search(str(error)):
            return None
        pytest.fail(f"{error}\n{text}")


@pytest.mark.parametrize("name", READ)
def test_what_is_derived_is_read_and_written_as_it_was(name: str) -> None:
    """The text that is written of a tree gives an equal tree, without prefixes and base of its own."""
    random = drawn_from("derived", name)
    found = 0
    for _ in range(rounds(8000, share=20)):
        text = derived(random, name)
        tree = read(name, text)
        if tree is not None:
            found += 1
            again = READ[name](write(tree))
            assert relabelled(again) == relabelled(tree), text
    assert found > rounds(8000, share=20) / 4


TOKENS = re.compile(r"\s+|[?$]?\w+|'[^']*'|<[^>]*>|.", re.DOTALL)
STRANGE = [
    "{", "}", "(", ")", "'", '"', "<", ">", "\\", ".", ";", "^^", "@", "?", "<<", ")>>", "{|", "\x00",
    "\ud800", "SELECT", "FILTER", "AS", "a", "-", "1", "_:b", "#", "'''",
]  # fmt: skip


def broken(random: Random, text: str) -> str:
    """Drop, double, replace or swap some tokens."""
    parts = TOKENS.findall(text)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(parts) + 1)
        match random.randrange(4):
            case 0:
                del parts[at : at + 1]
            case 1:
                parts[at:at] = parts[at : at + random.randint(1, 3)]
            case 2:
                parts[at : at + 1] = [random.choice(STRANGE)]
            case 3:
                parts[at : at + 2] = parts[at : at + 2][::-1]
    return "".join(parts)


@pytest.mark.parametrize("name", READ)
def test_a_broken_text_is_read_or_refused_with_its_place(name: str) -> None:
    """No other exception is raised, and the place is in the text."""
    random = drawn_from("broken", name)
    refused = 0
    for _ in range(rounds(20_000, share=20)):
        text = broken(random, derived(random, name, depth=7))
        try:
            READ[name](text, NAMESPACES)
        except QuerySyntaxError as error:
            refused += 1
            lines = text.split("\n")
            assert 1 <= error.line <= len(lines), text  # noqa: PT017 - some texts are right
            assert 1 <= error.column <= len(lines[error.line - 1]) + 1, text  # noqa: PT017
    assert refused > rounds(20_000, share=20) / 4
