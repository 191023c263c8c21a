"""Regular expressions in linear time: their answers are those of Python's engine, or they are refused."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from rdflib.term import Literal, Node, URIRef, Variable

from rdflive.errors import BudgetError, UnsupportedQueryError
from rdflive.query.budget import Budget, Meter
from rdflive.query.expressions.functions import regex, replace
from rdflive.query.expressions.linear import linear_function
from rdflive.syntax.tree import Tree
from support.effort import drawn_from, rounds

pytest.importorskip("re2", reason="needs the extra rdflive[server]")

ATOMS = [
    "a", "b", "A", ".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\i", r"\C", "[ab]", "[^a]", "[a-c1]",
    r"[\]a]", r"[^\]b]", r"[\d-]", r"[\w.]", r"[\S-[b]]", r"\p{Lu}", r"\P{L}", "^", "$", r"\.", r"\-", "é",
    "[é-ü]", " ", r"\n", "\n", "_", r"\{", r"\}", "-", r"\\",
]  # fmt: skip
REPEATS = ["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}", "{1,}", "{0,}", "{2}?"]
LETTERS = "aabbAB1\N{ARABIC-INDIC DIGIT THREE}_ éÜſ\n.-x{}\\k"


def call(name: str, pattern: Node, flags: str = "") -> Tree:
    return Tree(f"Builtin_{name}", {"pattern": pattern, "flags": Literal(flags)})


def meter(**limits: Any) -> Meter:
    return Meter(Budget(**limits), SimpleNamespace(sequence=1))


def drawn_pattern(random: Random, depth: int = 0) -> str:
    parts = []
    for _ in range(random.randint(1, 3)):
        part = random.choice(ATOMS)
        if depth < 2 and random.random() < 0.3:  # with more, Python takes hours for some
            other = "|" + drawn_pattern(random, depth + 1) if random.random() < 0.4 else ""
            empty = "|" if random.random() < 0.1 else ""
            part = random.choice(["(", "(?:"]) + drawn_pattern(random, depth + 1) + other + empty + ")"
        parts.append(part + random.choice(REPEATS))
    return "".join(parts)


def value(function: Any, *arguments: Node) -> Any:
    """Apply a function as an expression does: what it raises is an error."""
    try:
        return function(*arguments)
    except Exception:  # noqa: BLE001 - as expressions take it
        return None


@pytest.mark.parametrize("case", range(rounds(20)))
def test_answers_are_those_of_python(case: int) -> None:
    """Over drawn patterns, flags and texts; few patterns are refused."""
    random = drawn_from(f"linear {case}")
    refused = compared = 0
    for _ in range(100):
        pattern = Literal(drawn_pattern(random))
        flags = "".join(flag for flag in "smixq" if random.random() < 0.15)
        options, count = Literal(flags), meter()
        found: dict[str, Any] = {}
        for name in ("REGEX", "REPLACE"):
            try:
                found[name] = linear_function(count, call(name, pattern, flags))
            except UnsupportedQueryError:
                refused += name == "REGEX"
        for _ in range(6):
            # Python's time doubles with each letter where groups are repeated within groups
            most = 7 if pattern.count("(") < 2 else 4
            text = Literal("".join(random.choices(LETTERS, k=random.randint(0, most))))
            new = Literal(random.choice(["<$1>", "", r"\$", "$0$2", "$"]))
            if "REGEX" in found:
                assert count.open(found["REGEX"], text, pattern, options) == value(
                    regex, text, pattern, options
                ), (pattern, flags, text)
                compared += 1
            if "REPLACE" in found:
                assert count.open(value, found["REPLACE"], text, pattern, new, options) == value(
                    replace, text, pattern, new, options
                ), (pattern, flags, text)
    assert refused < 10 < compared


@pytest.mark.parametrize("flags", ["", "i"])
def test_classes_are_those_of_xpath(flags: str) -> None:
    r"""`\d`, `\w`, `\s` and `\i` have the same characters, in and out of classes, and in any case too."""
    numbers = [*range(1, 0x530), 0x1680, 0x2002, 0x2028, 0x212A, 0x10400, 0x10428]
    characters = Literal("".join(map(chr, numbers)))
    for pattern in (
        r"\d",
        r"\D",
        r"\w",
        r"\W",
        r"\s",
        r"\S",
        r"\i",
        r"[\d\s]",
        r"[^\w\s]",
        "[à-ý]",
        "[s-u]",
        "𐐀",
    ):
        node = call("REPLACE", Literal(pattern), flags)
        arguments = characters, Literal(pattern), Literal(""), Literal(flags)
        count = meter()
        assert count.open(linear_function(count, node), *arguments) == replace(*arguments), pattern


@pytest.mark.parametrize(
    ("name", "pattern", "reason"),
    [
        ("REGEX", r"(a)\1", r"it has \\1;"),
        ("REGEX", "(a{1000}){1000}", "repetition"),
        ("REGEX", "a|b|\n^", "nothing that must follow it"),
        ("REPLACE", "x(a?)*", "a repeated group with a number"),
        ("REPLACE", "x(?:(a)|b)+", "a repeated group with a number"),
        ("REPLACE", "(a+)+", "a repeated group with a number"),
        ("REPLACE", r"(?:[^a]*\D*?[a-c1]*?|a*)*\D+?", "a repeated group that may match nothing"),
        ("REPLACE", "x(?:a|)+", "a repeated group that may match nothing"),
        ("REPLACE", "x(?:$|a(?:b|c*){2})+", "a repeated group that may match nothing"),
    ],
)
def test_what_takes_more_than_linear_time_is_refused(name: str, pattern: str, reason: str) -> None:
    """So is what the two engines understand differently; the message names it and the way out."""
    with pytest.raises(UnsupportedQueryError, match=f"(?s){reason}.*XPath") as caught:
        linear_function(meter(), call(name, Literal(pattern), "m"))
    assert caught.value.construct == name


def test_common_replacements_are_kept() -> None:
    """Groups are refused only where they are repeated and numbered, and where nothing is matched."""
    for pattern in ("x(a|b)?y", "x(?:ab?)+(c)", "x(a{3})", "x(?:a|bc?|(?:d|e){2})*"):
        assert linear_function(meter(), call("REPLACE", Literal(pattern)))


def test_pattern_must_be_constant() -> None:
    """A pattern that is a variable is unknown at subscription, so RE2 may not support it."""
    for node in (call("REGEX", Variable("p")), call("REPLACE", Tree("Builtin_STR", {}))):
        with pytest.raises(UnsupportedQueryError, match="write them into the query"):
            linear_function(meter(), node)


@pytest.mark.parametrize(
    ("pattern", "flags"), [(Literal("("), ""), (Literal("a"), "z"), (URIRef("urn:a"), "")]
)
def test_no_regular_expression_is_an_error(pattern: Node, flags: str) -> None:
    """It is an error of the expression, for every text."""
    assert linear_function(meter(), call("REGEX", pattern, flags))(Literal("a"), pattern) is None


def test_result_is_counted_before_it_is_made() -> None:
    """A REPLACE that would give a gigabyte ends when it has given what may be made."""
    pattern, new = Literal("(.*)x"), Literal("$1" * 1000)
    count = meter(kept_characters=1_000_000)
    function = linear_function(count, call("REPLACE", pattern))
    with pytest.raises(BudgetError, match="strings of more than 1,000,000 characters"):
        count.open(function, Literal("a" * 10_000 + "x"), pattern, new, Literal(""))
