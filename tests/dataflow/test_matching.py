"""Changes: what is refused, what counts in a micro-batch, and that terms come out as they went in."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rdflib import XSD, BNode, Literal, URIRef

from dataflow.simulation import Change, Quad, Simulation, colliding, in_order, steady
from rdflive.feeds.terms import UnwritableError, write_term
from rdflive_stores.spark.dataflow.matching import ChangeError
from support.effort import examples

ALL = "SELECT * { ?s ?p ?o }"
P = "<urn:p>"


def row(text: str) -> Quad:
    s, o = text.split()
    return f"<urn:{s}>", P, f"<urn:{o}>", ""


def solution(text: str) -> tuple[str, ...]:
    return row(text)[:3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Change("X", *row("a b")), "'X' is not an operation: op must be A or +, D or -"),
        (Change(None, *row("a b")), "None is not an operation"),
        (Change("A", None, P, P), "the subject of a change is NULL"),
        (Change("A", P, None, P), "the predicate of a change is NULL"),
        (Change("A", P, P, None), "the object of a change is NULL"),
        (Change("A", P, P, P, None), "the graph of a change is NULL"),
        (Change("A", "", P, P), "the subject is missing: terms are written as in N-Triples"),
        (Change("A", "<a>", P, P), "the subject is a relative IRI"),
        (Change("A", "<urn:a b>", P, P), "the subject is not a valid absolute IRI"),
        (Change("A", '"a"', P, P), "the subject is the literal '\"a\"'; it must be an IRI or a blank node"),
        (Change("A", P, "_:p", P), "the predicate is the blank node '_:p'; it must be an IRI"),
        (Change("A", P, P, P, '"g"'), "the graph is the literal"),
        (Change("A", P, P, '"a'), "the object is a literal without its closing quote"),
        (Change("A", P, P, '"a"@'), "the object has a malformed language tag"),
        (Change("A", P, P, '"\\x"'), "the object has a bad escape"),
        (Change("A", P, P, "<< <urn:a> <urn:b> <urn:c> >>"), "RDF-star is not supported"),
        (Change("A", P, P, '"\\u00e9"'), "the object '\"\\\\u00e9\"' must be written '\"é\"', so that equal"),
        (Change("A", P, P, '"a\\tb"'), "the object '\"a\\\\tb\"' must be written '\"a\\tb\"'"),
        (Change("A", P, P, "<_:b>"), "the object '<_:b>' must be written '_:b'"),
        (Change("A", P, P, "<urn:a> "), "the object '<urn:a> ' must be written '<urn:a>'"),
        (Change("A", P, P, '"a" .'), "the object '\"a\" .' must be written '\"a\"'"),
        (Change("A", P, P, "_:b."), "the object '_:b.' must be written '_:b'"),
    ],
)
def test_bad_rows_are_refused(change: Change, message: str, tmp_path: Path) -> None:
    """A row that is no change, or spelt otherwise than terms are written, ends the micro-batch."""
    simulation = Simulation(ALL, str(tmp_path), 1)
    with pytest.raises(ChangeError) as caught:
        simulation.attempt([Change("A", *row("a b")), change, Change("D", *row("a b"))])
    assert message in str(caught.value)
    assert not simulation.live()


TERMS = [
    URIRef("urn:a"),
    URIRef("http://example.org/\u00e9\U0001f600?x=%20#y"),
    BNode("b1"),
    BNode("b-1.c_\u00e9"),
    BNode("0:x"),
    Literal(""),
    Literal('a "b" \\ \n\r\t \u00e9 \U0001f600 \x7f \x00'),
    Literal("'\"@en"),
    Literal("x", lang="en"),
    Literal("x", lang="en-GB"),
    Literal("01", datatype=XSD.integer, normalize=False),
    Literal("1", datatype=XSD.integer),
    Literal("x", datatype=XSD.string),
    Literal("a\nb", datatype=URIRef("urn:d")),
    Literal("n'importe \\u00e9"),
    Literal("long " * 400_000),
]


LITERALS = st.text().map(Literal)
LABELS = st.text("aZ09_é中.-:", min_size=1).map(BNode)
IRIS = st.text('aZ09é中:/?#%\\<> \n"{}|^`').map(lambda text: URIRef(f"urn:{text}"))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.one_of(LITERALS, LABELS, IRIS), min_size=1, max_size=5), st.booleans())
@example([Literal("a\u2028b"), Literal("\ufeff"), Literal("\u0085")], False)
@example(TERMS, False)
@example(TERMS, True)
def test_terms_come_out_as_they_went_in(tmp_path_factory: Any, terms: list[Any], collide: bool) -> None:
    """A term either cannot be written, or is kept apart from all others and given back letter by letter."""
    texts = set()
    for term in terms:
        with suppress(UnwritableError):
            texts.add(write_term(term))
    query = "SELECT ?s ?p ?o { ?s ?p ?o . ?s <urn:p> ?o . <urn:s> ?p ?o }"
    folder = str(tmp_path_factory.mktemp("terms"))
    simulation = Simulation(query, folder, hash=colliding if collide else steady)
    changes = in_order(("A", ("<urn:s>", P, text, "")) for text in sorted(texts))
    assert simulation.run(changes) == {("<urn:s>", P, text): 1 for text in texts}
    assert simulation.run(changes) == {}
    gone = simulation.run([change._replace(op="-") for change in changes])
    assert gone == {("<urn:s>", P, text): -1 for text in texts}


@pytest.mark.parametrize(
    ("batches", "nets"),
    [
        (["A", "A", "D"], [1, 0, -1]),
        (["D", "D", "A"], [0, 0, 1]),
        (["AAA", "DDD"], [1, -1]),
        (["AD", "DA", "DA", "AD"], [0, 1, 0, -1]),
        (["+", "-"], [1, -1]),
        (["+-A", "D+-"], [1, -1]),
        (["", "A", "", "D", ""], [0, 1, 0, -1, 0]),
    ],
)
@pytest.mark.parametrize("hash", [steady, colliding])
def test_the_last_operation_counts(batches: list[str], nets: list[int], hash: Any, tmp_path: Path) -> None:  # noqa: A002
    """Within a micro-batch the last operation on a quad counts, where it changes anything."""
    simulation = Simulation(ALL, str(tmp_path), 2, hash)
    simulation.run([])
    for operations, net in zip(batches, nets, strict=True):
        changes = in_order((op, row(pair)) for op in operations for pair in ("a b", "b c"))
        assert simulation.run(changes[::-1]) == ({solution(p): net for p in ("a b", "b c")} if net else {})


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (("log-1", 0, 0), ("log-1", 0, 1)),
        (("log-1", 4, 9), ("log-1", 5, 0)),
        (("log-1", 9, 9), ("log-2", 0, 0)),
        (("log-10", 9, 9), ("log-2", 0, 0)),
        (("", 1 << 40, 0), ("", (1 << 40) + 1, 0)),
    ],
)
@pytest.mark.parametrize("hash", [steady, colliding])
def test_rows_are_ordered_by_their_place(first: Any, last: Any, hash: Any, tmp_path: Path) -> None:  # noqa: A002
    """Streams go by name, rows in them by offset and part, in whatever order they come."""
    for number, mixed in enumerate((False, True)):
        simulation = Simulation(ALL, str(tmp_path / str(number)), 1, hash)
        changes = [Change("A", *row("a b"), *first), Change("D", *row("a b"), *last)]
        assert simulation.run(changes[::-1] if mixed else changes) == {}
        assert simulation.run([change._replace(op="D" if change.op == "A" else "A") for change in changes])


@pytest.mark.parametrize("hash", [steady, colliding])
def test_operations_without_an_order_are_refused(hash: Any, tmp_path: Path) -> None:  # noqa: A002
    """An insert and a delete of one quad at one place are refused, repeated inserts are not."""
    simulation = Simulation(ALL, str(tmp_path), 1, hash)
    others = [Change("A", *row(f"a {n}")) for n in range(9)]
    assert len(simulation.run([*others, *others])) == 9
    with pytest.raises(
        ChangeError, match="<urn:a> <urn:p> <urn:b> is inserted and deleted in one micro-batch"
    ):
        simulation.attempt([*others, Change("A", *row("a b")), Change("-", *row("a b"))])


@pytest.mark.parametrize("hash", [steady, colliding])
@pytest.mark.parametrize(
    ("ops", "net"),
    [("A|A", 1), ("DA|A", 1), ("A|DA", 1), ("A|D", None), ("AD|DA", None), ("D|A|D", None), ("AD|D", 0)],
)
def test_partitions_have_no_order_among_them(
    hash: Any,  # noqa: A002
    ops: str,
    net: int | None,
    tmp_path: Path,
) -> None:
    """What partitions say last of a quad must agree; which of them came last is told by nothing."""
    others = [Change("A", *row(f"a {n}")) for n in range(9)]
    changes = [
        Change(op, *row("a b"), f"changes/{number}", offset, is_apart=True)
        for number, partition in enumerate(ops.split("|"))
        for offset, op in enumerate(partition)
    ]
    for number, mixed in enumerate((changes, changes[::-1])):
        simulation = Simulation(ALL, str(tmp_path / str(number)), 1, hash)
        if net is None:
            with pytest.raises(ChangeError, match="by several partitions of Kafka, which have no order"):
                simulation.attempt([*others, *mixed])
        else:
            assert len(simulation.run([*others, *mixed])) == 9 + net
