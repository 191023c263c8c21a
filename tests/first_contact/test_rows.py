"""Rows are like rdflib's: what reads a row of `graph.query` reads a row of a subscription."""

from __future__ import annotations

import copy
import json
import logging
import math
import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from operator import add, contains, getitem
from typing import Any

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import XSD, BNode, Literal, Namespace, URIRef, Variable
from rdflib.query import ResultRow

import rdflive
from rdflive.model import DirectionalString, Header, Origin, exact_literal, hidden_names
from rdflive.model.terms import python_value
from support.effort import examples
from support.oracle import from_native
from support.worlds import KINDS

E = Namespace("http://example.org/")
LATE = """
    PREFIX : <http://example.org/>
    SELECT ?train ?delay ?platform { ?train :delay ?delay OPTIONAL { ?train :platform ?platform } }
"""


def railway() -> rdflib.Graph:
    graph = rdflib.Graph()
    graph.add((E.IC5, E.delay, Literal(7)))
    return graph


@pytest.fixture
def row() -> Any:
    """The first row that a callback sees: its third variable is unbound."""
    seen: list[Any] = []
    with rdflive.subscribe(railway(), LATE, lambda delta: seen.extend(delta.added)):
        return seen[0]


def test_a_row_equals_a_plain_tuple(row: Any) -> None:
    """So sets and dictionaries find it by one, and equal rows of other queries too; all is read by name."""
    plain = (E.IC5, Literal(7), None)
    assert (row.train, row["delay"], row[Variable("platform")]) == plain
    assert row == plain
    assert hash(row) == hash(plain)
    assert {plain: "found"}[row] == "found"
    assert row == Header("SELECT", ("a", "b", "c")).solution(plain)
    assert row != plain[:2]


def test_a_row_is_immutable(row: Any) -> None:
    """Nothing can be put into it or taken out, also where it has an origin."""
    marked = Header("SELECT", ("x",)).solution((1,), Origin(True))
    for one, name in ((row, "train"), (row, "station"), (marked, "x"), (marked, "origin")):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(one, name, E.ICE1)
        with pytest.raises(AttributeError, match="immutable"):
            delattr(one, name)
    with pytest.raises(TypeError):
        row[0] = E.ICE1
    with pytest.raises(TypeError):
        row.labels["train"] = 1
    assert marked.origin == Origin(True)


def test_an_unknown_name_is_answered_with_the_names(row: Any) -> None:
    """They are listed with the nearest first, and the error is the one that rdflib raises."""
    with pytest.raises(AttributeError, match=r"no variable \?dealy; it has: \?delay, \?(train|platform), \?"):
        row.dealy  # noqa: B018 - to read it is the point
    with pytest.raises(KeyError, match=r"no variable \?platfrom; it has: \?platform, "):
        row["platfrom"]
    with pytest.raises(KeyError, match=r"no variable \?train_; it has: \?train, "):
        row[Variable("train_")]
    with pytest.raises(KeyError, match=r"no variable \?None; it has: "):
        row[None]
    with pytest.raises(KeyError, match=re.escape("no ?: use 'train' instead of '?train'")):
        row["?train"]
    assert not hasattr(row, "_repr_html_")
    solution = Header("SELECT", ("b", "c", "a")).solution((1, 2, 3))  # names that are equally near
    with pytest.raises(AttributeError, match=r"it has: \?b, \?c, \?a$"):
        solution.x  # noqa: B018 - to read it is the point


def test_the_row_of_an_ask_query_has_no_names() -> None:
    """It is the empty row, and says so."""
    with rdflive.subscribe(railway(), "ASK { ?s ?p ?o }") as subscription:
        (answer,) = subscription.answers()
    assert answer == ()
    assert (answer.asdict(), answer.labels, repr(answer)) == ({}, {}, "Solution()")
    with pytest.raises(AttributeError, match=r"no variable \?s; it has: none"):
        answer.s  # noqa: B018 - to read it is the point
    with pytest.raises(KeyError, match="it has: none"):
        answer["s"]


def test_a_row_shows_its_variables(row: Any) -> None:
    """Also those that are unbound."""
    assert repr(row) == f"Solution(train={E.IC5!r}, delay={Literal(7)!r}, platform=None)"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
@pytest.mark.parametrize("marks", [(), (Origin(True, ("r",)),), (None, 5), (Origin(False), 5)])
def test_a_copy_is_the_same_row(again: Callable[[Any], Any], marks: tuple[Any, ...]) -> None:
    """It has the names, the origin and the expiry, and so has a copy of the row's values."""
    given = Header("SELECT", ("x", "count")).solution((Literal(1), None), *marks)
    for made in (again(given), again(given.python())):
        assert made == (Literal(1), None) or made == (1, None)
        assert (made.labels, made.x, made["count"]) == (given.labels, made[0], None)
        assert (made.origin, made.expires) == (given.origin, given.expires)
        assert isinstance(made, rdflive.Solution)


def test_a_delta_keeps_its_rows() -> None:
    """They are made once, however often they are read, and pickled with their names."""
    with rdflive.subscribe(railway(), LATE) as subscription:
        delta = next(subscription.deltas())
    again = pickle.loads(pickle.dumps(delta))
    assert again == delta
    assert (again.added[0].train, again.added[0].platform) == (E.IC5, None)
    header = Header("SELECT", ("x",), str)
    assert pickle.loads(pickle.dumps(header)) == copy.deepcopy(header) == header
    assert delta.added is delta.added
    assert (-delta).removed is not delta.added
    assert ((-delta).removed, (-delta).added) == (delta.added, ())


def test_deltas_of_other_variables_are_others() -> None:
    """Their rows are equal tuples, and yet they tell of another query."""
    deltas = [rdflive.Delta(Header("SELECT", (name,)), {(1,): 1}, sequence=1) for name in "xyx"]
    assert deltas[0].added == deltas[1].added
    assert deltas[0] == deltas[2] != deltas[1]
    assert hash(deltas[0]) == hash(deltas[2])


OWN = ("count", "index", "get", "labels", "asdict", "python", "origin", "expires", "__class__", "__del__")
"""Names of variables under which a row has something else."""


@pytest.mark.parametrize("name", OWN)
def test_a_variable_named_like_a_method_is_read_by_its_name(name: str) -> None:
    """The row works as any other, and its method stays what it was."""
    with rdflive.subscribe(railway(), f"SELECT (7 AS ?{name}) ?s {{ ?s ?p ?o }}") as subscription:
        (row,) = subscription.answers()
    assert (row[name], row["s"], row[0], row.get(name)) == (Literal(7), E.IC5, Literal(7), Literal(7))
    assert row.asdict() == {name: Literal(7), "s": E.IC5}
    assert row.s == E.IC5
    assert getattr(row, name, None) != Literal(7)
    assert pickle.loads(pickle.dumps(row)) == copy.deepcopy(row) == row


def test_names_that_are_no_methods_are_attributes() -> None:
    """Those with underscores, keywords, letters of any script, as Python reads them in a program."""
    names = ("_x", "__y", "class", "été", "e\u0301", "ﬁn", "2", "items")
    row = Header("SELECT", names).solution(tuple(range(len(names))))
    assert [getattr(row, name) for name in names] == list(range(len(names)))
    assert row.été == 3
    assert eval("(row.e\u0301, row.ﬁn)") == (4, 5)  # composed, and without the ligature, by Python
    assert hidden_names(names) == []


def hidden(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Give the warnings so far."""
    return [r.getMessage() for r in caplog.records if r.name == "rdflive" and r.levelno == logging.WARNING]


def test_subscribing_warns_of_such_a_variable_once(caplog: pytest.LogCaptureFixture) -> None:
    """The warning names the variables and how they are read; the second subscription says nothing."""
    text = "SELECT ?s (1 AS ?count) (2 AS ?index) { ?s ?p ?o } # of subscribe"
    for _ in range(2):
        rdflive.subscribe(railway(), text).close()
    (warning,) = hidden(caplog)
    assert '?count, ?index: read row["count"], row["index"]; the query is ' in warning
    assert "# of subscribe" in warning


def test_a_continuous_query_and_a_matcher_warn(caplog: pytest.LogCaptureFixture) -> None:
    """`register` and `match` do as `subscribe`."""
    text = "SELECT (1 AS ?count) FROM STREAM <urn:s> [RANGE 10s STEP 1s] { ?s ?p ?o }"
    for _ in range(2):
        rdflive.register(text, streams={"urn:s": rdflive.Stream()}).close()
    assert len(hidden(caplog)) == 1
    text = "SELECT (1 AS ?count) { ?s ?p ?o } # of a matcher"
    rdflive.Matcher(text)
    list(rdflive.match(text, [railway()]))
    assert len(hidden(caplog)) == 2


def test_python_gives_the_values_of_terms() -> None:
    """Texts of IRIs and blank nodes, values of literals, and the text of a literal that has none."""
    values = {
        E.IC5: str(E.IC5),
        BNode("b"): "b",
        Literal(7): 7,
        Literal("1.50", datatype=XSD.decimal): Decimal("1.50"),
        Literal(1.5): 1.5,
        Literal(True): True,
        Literal(date(2026, 5, 4)): date(2026, 5, 4),
        Literal("Ulm"): "Ulm",
        Literal("Köln", lang="de"): "Köln",
        DirectionalString("hi", "en", "ltr"): "hi",
        Literal("soon", datatype=XSD.integer): "soon",
        Literal("POINT(1 2)", datatype=E.wkt): "POINT(1 2)",
        None: None,
    }
    names = tuple(f"v{place}" for place in range(len(values)))
    made = Header("SELECT", names).solution(tuple(values)).python()
    assert list(made) == list(values.values())
    assert [type(value) for value in made] == [type(value) for value in values.values()]
    assert (made.v2, made["v2"], made.labels) == (7, 7, {name: place for place, name in enumerate(names)})
    json.dumps([value for value in made if not isinstance(value, (Decimal, date))])


TEXTS = """300^^byte -5^^unsignedInt maybe^^boolean 1_000^^integer 1e3^^decimal sNaN^^decimal 1_0.5^^decimal
    infinity^^double ====^^base64Binary P1W^^duration P1Y0.5M^^duration
    P999999999999999999999999999999Y^^duration PT0.0000001S^^duration 2024-W01^^date 20240501^^date
    2024-05-01Z^^date 10^^time 2024-05-01T10:00Z^^dateTime 12:00:00.1234567^^time
    soon^^integer 12000-01-01T00:00:00Z^^dateTime"""
VALUES = [
    ("7", "byte", 7),
    ("1.50", "decimal", Decimal("1.50")),
    (".5", "decimal", Decimal("0.5")),
    ("-1.5E3", "double", -1500.0),
    ("INF", "float", math.inf),
    ("aGk=", "base64Binary", b"hi"),
    ("P1DT0.5S", "dayTimeDuration", timedelta(days=1, seconds=0.5)),
    ("2024-05-01", "date", date(2024, 5, 1)),
    ("12:00:00.1234560", "time", time(12, 0, 0, 123456)),
    ("2024-05-01T10:00:00Z", "dateTime", datetime(2024, 5, 1, 10, tzinfo=UTC)),
]


@pytest.mark.filterwarnings("ignore:Parsing weird boolean")
@pytest.mark.parametrize("text", TEXTS.split())
def test_a_literal_that_python_would_change_is_its_text(text: str) -> None:
    """rdflib reads 1_000 as 1000 and P1W as seven days, and loses the time zone of a date."""
    ox = pytest.importorskip("pyoxigraph")
    form, _, kind = text.partition("^^")
    assert python_value(exact_literal(form, datatype=str(XSD[kind]))) == form
    assert python_value(ox.Literal(form, datatype=ox.NamedNode(XSD[kind]))) == form


@pytest.mark.parametrize(("form", "kind", "value"), VALUES)
def test_a_literal_that_python_has_is_its_value(form: str, kind: str, value: Any) -> None:
    ox = pytest.importorskip("pyoxigraph")
    found = python_value(exact_literal(form, datatype=str(XSD[kind])))
    assert (type(found), found) == (type(value), value)
    assert python_value(ox.Literal(form, datatype=ox.NamedNode(XSD[kind]))) == value


def test_python_gives_the_same_values_of_the_terms_of_oxigraph() -> None:
    """A row of a LiveStore holds terms of pyoxigraph."""
    ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
    store = rdflive.LiveStore()
    for term in (ox.NamedNode(E.IC5), ox.BlankNode("b"), ox.Literal(7), ox.Literal("Köln", language="de")):
        store.add(ox.Quad(ox.NamedNode(E.s), ox.NamedNode(E.p), term))
    with rdflive.subscribe(store, "SELECT ?o ?none { ?s ?p ?o }") as subscription:
        rows = subscription.answers()
    assert {row.python() for row in rows} == {(str(E.IC5), None), ("b", None), (7, None), ("Köln", None)}
    assert type(rows[0]) is type(rows[0].python())


# Every access, against rdflib

NAMES = ("s", "p", "train", "_x", "class", "été", "count", "index", "get", "labels", "asdict", "origin")
NODES = [URIRef(f"urn:{name}") for name in "abc"]
PREDICATES = [URIRef(f"urn:{name}") for name in "pqr"]
TERMS = [*NODES, Literal("a"), Literal(1), Literal("a", lang="en")]


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[Any], str]:
    """Draw triples, and a query with OPTIONAL whose variables may have names of methods."""
    triple = st.tuples(st.sampled_from(NODES), st.sampled_from(PREDICATES), st.sampled_from(TERMS))
    triples = draw(st.lists(triple, max_size=8))
    a, b, c, d, *_ = names = draw(st.permutations(NAMES))[:5]
    shown = draw(st.lists(st.sampled_from(names), min_size=1, max_size=5, unique=True))
    optional = draw(
        st.sampled_from(
            (
                f"OPTIONAL {{ ?{a} <urn:q> ?{c} }}",
                f"OPTIONAL {{ ?{a} <urn:q> ?{c} }} OPTIONAL {{ ?{a} <urn:r> ?{d} }}",
                f"OPTIONAL {{ ?{a} <urn:q> ?{c} OPTIONAL {{ ?{c} <urn:r> ?{d} }} }}",
            )
        )
    )
    variables = " ".join(f"?{name}" for name in shown)
    return triples, f"SELECT {variables} {{ ?{a} <urn:p> ?{b} {optional} }}"


def outcome(access: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    """Give what an access gives, or the type of what it raises."""
    try:
        given = access(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever it is, both must raise it
        return "raises", type(error)
    return "gives", type(given) is tuple, given


def accesses(row: Any) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Give what every access to a row gives, by what it is."""
    own = set(hidden_names(NAMES))
    for name in (*NAMES, "none", "S"):
        yield f"row[{name!r}]", outcome(getitem, row, name)
        yield f"row[?{name}]", outcome(getitem, row, Variable(name))
        yield f"get({name!r})", outcome(row.get, name)
        yield f"get(?{name}, 0)", outcome(row.get, Variable(name), 0)
        if name not in own:
            yield f".{name}", outcome(getattr, row, name)
    for key in (*range(-6, 7), slice(1, 3), slice(None, None, -1), True, None, 1.5, URIRef("s")):
        yield f"row[{key!r}]", outcome(getitem, row, key)
        yield f"get({key!r}, 0)", outcome(row.get, key, 0)
    for term in (None, URIRef("urn:a"), "s"):
        yield f"{term!r} in", outcome(contains, row, term)
        yield f"count({term!r})", outcome(row.count, term)
        yield f"index({term!r})", outcome(row.index, term)
    yield "asdict", outcome(lambda: list(row.asdict().items()))
    yield "labels", outcome(lambda: list(row.labels.items()))
    yield "len", outcome(len, row)
    yield "iter", outcome(list, row)
    yield "reversed", outcome(list, reversed(row))
    yield "+", outcome(add, row, (1,))
    yield "hash", outcome(hash, row)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the warnings about names away."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.parametrize("kind", ["graph", "oxigraph graph", "live store"])
@settings(max_examples=examples(100))
@given(question=questions())
def test_every_access_is_that_of_rdflib(kind: str, question: tuple[list[Any], str]) -> None:
    """Rows are those of `graph.query`, and each access gives the same or raises the same type of error."""
    triples, text = question
    graph = rdflib.Graph()
    live = KINDS[kind]()
    with quiet(), rdflive.subscribe(live, text) as subscription:
        for triple in triples:
            graph.add(triple)
            live.add(triple if kind != "live store" else to_quad(triple))
        rows = subscription.answers()
    if kind == "live store":
        rows = [in_rdflib(row) for row in rows]
    result: Any = (graph if kind == "live store" else live).query(text)
    bound = [row for row in result if row.asdict()]
    # rdflib may pass over rows without any term
    expected = [*bound, *(ResultRow({}, result.vars) for row in rows if not row.asdict())]
    assert Counter(map(tuple, rows)) == Counter(map(tuple, expected))
    peers = {tuple(row): row for row in expected}
    for row in {tuple(row): row for row in rows}.values():
        assert dict(accesses(row)) == dict(accesses(peers[tuple(row)]))


def to_quad(triple: tuple[Any, Any, Any]) -> Any:
    """Write a triple of rdflib in pyoxigraph's terms."""
    import pyoxigraph as ox

    def write(term: Any) -> Any:
        if isinstance(term, URIRef):
            return ox.NamedNode(term)
        if term.language:
            return ox.Literal(term, language=term.language)
        return ox.Literal(str(term), datatype=ox.NamedNode(term.datatype or XSD.string))

    return ox.Quad(*map(write, triple))


def in_rdflib(row: Any) -> Any:
    """Give a row with its terms in rdflib's: strings are plain, as they were written."""

    def read(term: Any) -> Any:
        found = from_native(term)
        return Literal(str(found)) if getattr(found, "datatype", None) == XSD.string else found

    return Header("SELECT", tuple(row.labels)).solution(tuple(map(read, row)))


def test_rows_are_dictionaries_for_json() -> None:
    """With values of Python, and None where nothing is bound."""
    graph = rdflib.Graph()
    graph.update('INSERT DATA { <urn:a> <urn:p> 7 . <urn:b> <urn:p> true ; <urn:q> "x"@en }')
    query = "SELECT ?s ?n ?q { ?s <urn:p> ?n OPTIONAL { ?s <urn:q> ?q } } ORDER BY ?s"
    with rdflive.subscribe(graph, query) as subscription:
        delta = subscription.next(timeout=5)
        assert json.loads(json.dumps(subscription.answers().to_dicts())) == [
            {"s": "urn:a", "n": 7, "q": None},
            {"s": "urn:b", "n": True, "q": "x"},
        ]
        assert (len(delta.added.to_dicts()), delta.removed.to_dicts()) == (2, [])
    with rdflive.subscribe(graph, "CONSTRUCT { ?s <urn:is> ?n } { ?s <urn:p> ?n FILTER(?n = 7) }") as made:
        assert made.answers().to_dicts() == [{"subject": "urn:a", "predicate": "urn:is", "object": 7}]
