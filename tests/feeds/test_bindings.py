"""Notifications of the answers of a query."""

from __future__ import annotations

import io
import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import XSD, BNode, URIRef
from rdflib import Literal as RdfLiteral

from rdflive import Delta, FeedError, ResyncNeeded
from rdflive.feeds import to_lines
from rdflive.feeds.bindings import read_bindings
from support.decoders import GOLDEN
from support.effort import examples
from support.feeds import IRIS, LITERALS

Format = Literal["sepa", "sparql-incremental"]
FORMATS: list[Format] = ["sepa", "sparql-incremental"]
Row = dict[str, Any]


def uri(name: str) -> dict[str, str]:
    return {"type": "uri", "value": f"urn:{name}"}


def sepa(sequence: int, added: list[Row] = [], removed: list[Row] = [], **more: Any) -> Row:  # noqa: B006 - only read
    def results(rows: list[Row]) -> Row:
        return {"head": {"vars": ["x", "y"]}, "results": {"bindings": rows}}

    return {
        "notification": {
            "spuid": "sepa://subscription/1",
            "sequence": sequence,
            "addedResults": results(added),
            "removedResults": results(removed),
            **more,
        }
    }


def line(sequence: int, added: list[Row] = [], removed: list[Row] = [], **more: Any) -> Row:  # noqa: B006 - only read
    return {"sequence": sequence, "initial": False, "added": added, "removed": removed, **more}


def read(form: Format, *values: object) -> list[Delta]:
    content = "".join(f"{json.dumps(value)}\n" for value in values).encode()
    return list(read_bindings(to_lines(io.BytesIO(content), "feed"), "feed", format=form))


WORD = {"type": "literal", "value": "a"}
WRITERS = {"sepa": sepa, "sparql-incremental": line}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ({"type": "uri", "value": "urn:a"}, URIRef("urn:a")),
        ({"type": "bnode", "value": "b1"}, BNode("b1")),
        (WORD, RdfLiteral("a")),
        ({**WORD, "xml:lang": "de-AT"}, RdfLiteral("a", lang="de-AT")),
        ({"type": "literal", "value": "5", "datatype": str(XSD.integer)}, RdfLiteral(5)),
        ({"type": "typed-literal", "value": "x", "datatype": "urn:t"}, RdfLiteral("x", datatype="urn:t")),
    ],
)
def test_terms_are_those_of_sparql_results(form: Format, term: Row, expected: object) -> None:
    """Every kind of term is read, in what came and in what went."""
    (delta,) = read(form, WRITERS[form](7, [{"x": term}], [{"y": term}]))
    assert [row.asdict() for row in delta.added] == [{"x": expected}]
    assert [row.asdict() for row in delta.removed] == [{"y": expected}]
    assert (delta.sequence, delta.initial, delta.answer) == (7, False, None)


def test_columns_grow_in_the_order_they_come() -> None:
    """A name that came stays; what `head` says comes first."""
    deltas = read("sparql-incremental", line(1, [{"b": uri("1")}]), line(2, [{"a": uri("2"), "b": uri("3")}]))
    assert [delta.added[0].asdict() for delta in deltas] == [
        {"b": URIRef("urn:1")},
        {"b": URIRef("urn:3"), "a": URIRef("urn:2")},
    ]
    first, second = read("sepa", sepa(1, [{"z": uri("1"), "y": uri("2")}]), sepa(2, [{"x": uri("1")}]))
    assert list(first.added[0].asdict()) == ["y", "z"]
    assert (first + second).sequence == 2


def test_sepa_counts_one_by_one() -> None:
    """The first is the current answers; a repeated one is passed over; a gap needs a resync."""
    a = {"x": uri("a")}
    subscribed = {"subscribed": {"spuid": "s"}}
    deltas = read("sepa", subscribed, sepa(0, [a]), sepa(1, [], [a]), sepa(0, [a]), sepa(1, [a]), sepa(2))
    assert [(delta.sequence, delta.initial, bool(delta)) for delta in deltas] == [
        (0, True, True),
        (1, False, True),
        (2, False, False),
    ]
    with pytest.raises(ResyncNeeded, match="feed: notification 3 follows 1; the ones between are lost"):
        read("sepa", sepa(0), sepa(1), sepa(3))


def test_new_subscription_begins_anew() -> None:
    """Another subscription starts with its current answers; in the middle it does not belong here."""
    first, second = read("sepa", sepa(5), sepa(0, spuid="other"))
    assert (first.initial, second.initial) == (False, True)
    with pytest.raises(
        FeedError, match="line 3: the notification belongs to subscription 'other', earlier ones to"
    ):
        read("sepa", sepa(5), sepa(6), sepa(7, spuid="other"))


def test_commits_leave_gaps() -> None:
    """Lines are numbered by commit: gaps are no loss, and an initial one starts anew."""
    begun = [line(2, initial=True)] * 2
    values = [line(4, initial=True), line(9), line(9), line(8), *begun, line(3)]
    assert [delta.sequence for delta in read("sparql-incremental", *values)] == [4, 9, 2, 3]


@pytest.mark.parametrize(
    ("form", "value", "reason"),
    [
        ("sepa", [], "the line must hold a JSON object, not an array"),
        ("sepa", {}, "the record lacks 'notification', which must be an object"),
        ("sepa", {"error": {"status_code": 500}}, "the broker reports an error: {'status_code': 500}"),
        ("sepa", {"notification": {}}, "the notification lacks 'sequence', which must be an integer"),
        ("sepa", sepa(1, addedResults=5), "'addedResults' of the notification must be an object, not an"),
        (
            "sepa",
            sepa(1, addedResults={"head": {}}),
            "'addedResults' lacks 'results', which must be",
        ),
        ("sepa", sepa(1, addedResults={"head": {"vars": [1]}}), "'vars' of 'head' must hold strings only"),
        ("sparql-incremental", {}, "the record lacks 'sequence', which must be an integer"),
        ("sparql-incremental", line(1, added={}), "'added' of the record must be an array, not an object"),
        ("sparql-incremental", line(1, [5]), "a binding must be an object from names of variables to terms"),
        ("sparql-incremental", line(1, [{"x": "a"}]), "'x' of a binding must be an object, not a string"),
        ("sparql-incremental", line(1, [{"x": {}}]), "a term lacks 'type', which must be a string"),
        ("sparql-incremental", line(1, [{"x": {"type": "uri"}}]), "a term lacks 'value', which must be a"),
        (
            "sparql-incremental",
            line(1, [{"x": {**uri(""), "type": "triple"}}]),
            "'type' of a term must be",
        ),
        ("sparql-incremental", line(1, [{"x": {**WORD, "xml:lang": "?"}}]), "a literal is malformed: "),
        ("sparql-incremental", {"sequence": 1, "boolean": True}, "the line belongs to an ASK query"),
    ],
)
def test_bad_line_names_its_place_and_reason(form: Format, value: object, reason: str) -> None:
    """The deltas in front of it are given."""
    content = f"{json.dumps(WRITERS[form](0))}\n{json.dumps(value)}\n".encode()
    deltas = read_bindings(to_lines(io.BytesIO(content), "feed"), "feed", format=form)
    next(deltas)
    with pytest.raises(FeedError) as caught:
        next(deltas)
    assert caught.value.reason.startswith(reason)
    assert caught.value.line == 2
    assert caught.value.offset == content.index(b"\n") + 1


def test_what_cannot_be_read_is_refused() -> None:
    """The error names the byte that is no text, or the formats that there are."""
    with pytest.raises(FeedError, match="line 1: not UTF-8: byte 0xff"):
        list(read_bindings(to_lines([b"\xff\n"], "feed"), "feed", format="sepa"))
    with pytest.raises(ValueError, match="unknown format of bindings 'csv'; known: sepa, sparql-incremental"):
        next(read_bindings([], "feed", format="csv"))  # type: ignore[arg-type] - what is tested


TERMS = st.one_of(IRIS, LITERALS, st.builds(BNode, st.sampled_from(["a", "b"])))
ROWS = st.lists(st.dictionaries(st.sampled_from("xyz"), TERMS, max_size=3), max_size=3)


def to_json(term: Any) -> Row:
    if isinstance(term, RdfLiteral):
        shown = {"type": "literal", "value": str(term), "xml:lang": term.language, "datatype": term.datatype}
        return {name: str(value) for name, value in shown.items() if value is not None}
    return {"type": "uri" if isinstance(term, URIRef) else "bnode", "value": str(term)}


def write(rows: list[Row]) -> list[Row]:
    return [{name: to_json(term) for name, term in row.items()} for row in rows]


@settings(max_examples=examples(100))
@given(st.sampled_from(FORMATS), st.lists(st.tuples(ROWS, ROWS), max_size=5))
def test_what_was_written_is_read_again(form: Format, history: list[tuple[list[Row], list[Row]]]) -> None:
    """Random notifications have the net weights of their rows."""
    values = [WRITERS[form](number, write(came), write(went)) for number, (came, went) in enumerate(history)]
    deltas = read(form, *values)
    assert [delta.sequence for delta in deltas] == list(range(len(history)))
    for delta, (came, went) in zip(deltas, history, strict=True):
        expected = Counter(frozenset(row.items()) for row in came)
        expected.subtract(frozenset(row.items()) for row in went)
        found = {frozenset(row.asdict().items()): weight for row, weight in delta.weights().items()}
        assert found == {row: weight for row, weight in expected.items() if weight}


VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1, 2.5, "", "uri", "urn:a", "literal", "x"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(
            st.sampled_from(
                ["notification", "sequence", "initial", "added", "addedResults", "head", "vars", "results",
                 "bindings", "x", "type", "value", "xml:lang", "datatype", "spuid"]
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.sampled_from(FORMATS), st.lists(VALUES, max_size=4))
def test_any_values_give_deltas_or_a_feed_error(form: Format, values: list[object]) -> None:
    """No JSON makes the decoder fail in another way."""
    with suppress(FeedError, ResyncNeeded):
        read(form, *values)


@pytest.mark.parametrize("form", FORMATS)
def test_golden_files(form: Format) -> None:
    """The notifications decode to what was checked by hand."""
    with Path(GOLDEN, f"{form}.jsonl").open("rb") as stream:
        deltas = list(read_bindings(to_lines(stream, "feed"), "feed", format=form))
    expected = Path(GOLDEN, f"{form}.expected").read_text(encoding="utf-8")
    assert "".join(f"{delta!r} {delta}\n" for delta in deltas) == expected
