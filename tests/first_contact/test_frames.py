"""Answers and changes are tables, with a typed column for each variable."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
import rdflib
from rdflib import XSD, BNode, Literal, Namespace

import rdflive
from rdflive.model import Header, Rows, frames

arrow = pytest.importorskip("pyarrow", reason="the extra frames")

E = Namespace("http://example.org/")
DELAYS = """
    PREFIX : <http://example.org/>
    SELECT ?train ?delay ?platform { ?train :delay ?delay OPTIONAL { ?train :platform ?platform } }
"""
COLUMNS = ["train", "delay", "platform"]


@pytest.fixture
def graph() -> rdflib.Graph:
    graph = rdflib.Graph()
    graph.add((E.IC5, E.delay, Literal(7)))
    graph.add((E.IC7, E.delay, Literal(2)))
    graph.add((E.IC7, E.platform, Literal("3b")))
    return graph


@pytest.fixture
def delays(graph: rdflib.Graph) -> Iterator[rdflive.Subscription]:
    with rdflive.subscribe(graph, DELAYS) as subscription:
        yield subscription


def literal(text: str, datatype: str) -> Literal:
    return Literal(text, datatype=XSD[datatype], normalize=False)


def column(*terms: Any) -> Any:
    """The column that terms make."""
    return Rows(Header("SELECT", ("x",)), [(term,) for term in terms]).to_arrow()["x"]


def test_an_answer_is_read_as_a_table(delays: rdflive.Subscription) -> None:
    """A library that reads Arrow's streams needs no code of ours."""
    table = arrow.table(delays.answers()).sort_by("delay")
    assert table.to_pylist() == [
        {"train": str(E.IC7), "delay": 2, "platform": "3b"},
        {"train": str(E.IC5), "delay": 7, "platform": None},
    ]
    assert delays.answers().to_arrow().sort_by("delay") == table


def test_polars_and_duckdb_read_an_answer(delays: rdflive.Subscription) -> None:
    """Neither goes row by row."""
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    answers = delays.answers()
    assert polars.DataFrame(answers).columns == answers.to_polars().columns == COLUMNS
    assert duckdb.sql("SELECT sum(delay) FROM answers").fetchall() == [(9,)]


def test_the_constructor_of_pandas_refuses_rows(delays: rdflive.Subscription) -> None:
    """It would make columns 0, 1, 2 of strings; the error names the two ways that make a table."""
    pandas = pytest.importorskip("pandas")
    answers = delays.answers()
    for rows in (answers, answers[:1], answers[:0], next(delays.deltas()).added):
        with pytest.raises(TypeError, match=r"call \.to_pandas\(\), or with pandas 3 DataFrame\.from_arrow"):
            pandas.DataFrame(rows)
    assert list(pandas.DataFrame(answers.to_dicts()).columns) == COLUMNS


def test_pandas_3_reads_an_answer(delays: rdflive.Subscription) -> None:
    """Its `from_arrow` takes the table itself."""
    pandas = pytest.importorskip("pandas", "3", reason="pandas 2 has no from_arrow")
    frame = pandas.DataFrame.from_arrow(delays.answers())
    assert list(frame.columns) == COLUMNS
    assert frame["delay"].sum() == 9
    assert frame["platform"].isna().sum() == 1


def test_pandas_has_typed_columns_also_with_missing_values(
    graph: rdflib.Graph, delays: rdflive.Subscription
) -> None:
    """An integer beside a missing one is no float."""
    pytest.importorskip("pandas")
    assert dict(delays.answers().to_pandas().dtypes.astype(str))["delay"] == "Int64"
    query = "SELECT ?n ?b { VALUES (?n ?b) { (9007199254740993 true) (UNDEF UNDEF) } }"
    with rdflive.subscribe(graph, query) as subscription:
        frame = subscription.answers().to_pandas()
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "boolean"]
    assert frame["n"].max() == 9007199254740993


def test_a_delta_is_two_tables(graph: rdflib.Graph, delays: rdflive.Subscription) -> None:
    """What came and what went have the same columns, also where there is nothing."""
    changes = delays.deltas()
    assert arrow.table(next(changes).removed).column_names == COLUMNS
    graph.remove((E.IC5, E.delay, None))
    delta = next(changes)
    assert delta.removed.to_arrow()["delay"].to_pylist() == [7]
    assert delta.added.to_arrow().num_rows == 0
    assert delta.added.to_arrow().column_names == COLUMNS


def test_an_empty_answer_has_the_columns(graph: rdflib.Graph, delays: rdflive.Subscription) -> None:
    """A column without a term has the type null, which goes together with any other."""
    full = delays.answers().to_arrow()
    graph.remove((None, None, None))
    empty = delays.answers().to_arrow()
    assert (empty.column_names, empty.num_rows) == (COLUMNS, 0)
    assert set(empty.schema.types) == {arrow.null()}
    assert arrow.concat_tables([empty, full], promote_options="default").schema == full.schema


@pytest.mark.parametrize(
    ("terms", "kind", "values"),
    [
        ((Literal(1), None), "int64", [1, None]),
        ((literal("+5", "int"), literal("-007", "short")), "int64", [5, -7]),
        ((literal(str(2**63), "integer"),), "decimal128(38, 0)", [Decimal(2**63)]),
        ((literal("9" * 76, "integer"),), "decimal256(76, 0)", [Decimal("9" * 76)]),
        ((literal("1.50", "decimal"), literal("3.", "decimal")), "decimal128(38, 2)", [Decimal("1.5"), 3]),
        ((literal("0.125", "decimal"), Literal(2)), "decimal128(38, 3)", [Decimal("0.125"), 2]),
        ((literal("1e3", "double"), literal("-INF", "float")), "double", [1000.0, float("-inf")]),
        ((literal("true", "boolean"), literal("0", "boolean")), "bool", [True, False]),
        ((literal("2026-05-04", "date"),), "date32[day]", [date(2026, 5, 4)]),
        (
            (literal("0001-01-01", "date"), literal("9999-12-31", "date"), None),
            "date32[day]",
            [date.min, date.max, None],
        ),
        (
            (literal("0001-01-01T00:00:00", "dateTime"), literal("9999-12-31T23:59:59.999999", "dateTime")),
            "timestamp[us]",
            [datetime.min, datetime.max],
        ),
        ((literal("2026-05-04T08:07:00", "dateTime"),), "timestamp[us]", [datetime(2026, 5, 4, 8, 7)]),
        (
            (literal("2026-05-04T08:07:00+02:00", "dateTime"), literal("2026-05-04T06:07:00.5Z", "dateTime")),
            "timestamp[us, tz=UTC]",
            [datetime(2026, 5, 4, 6, 7, tzinfo=UTC), datetime(2026, 5, 4, 6, 7, 0, 500_000, tzinfo=UTC)],
        ),
        ((E.IC5, BNode("b"), Literal("a"), Literal("b", lang="en")), "string", [str(E.IC5), "_:b", "a", "b"]),
    ],
)
def test_a_column_has_the_type_of_its_terms(terms: Any, kind: str, values: list[Any]) -> None:
    """Their datatypes decide."""
    made = column(*terms)
    assert (str(made.type), made.to_pylist()) == (kind, values)


@pytest.mark.parametrize(
    "texts",
    [
        (literal("1", "integer"), Literal("late")),
        (literal("1", "integer"), literal("1.5", "double")),
        (literal("soon", "integer"),),
        (literal("9" * 77, "integer"),),
        (literal("0." + "1" * 77, "decimal"),),
        (literal("2026-02-30", "date"),),
        (literal("2026-05-04Z", "date"),),
        (literal("2026-05-04T08:07:00Z", "dateTime"), literal("2026-05-04T08:07:00", "dateTime")),
        (literal("2026-05-04T08:07:00.1234567Z", "dateTime"),),
        (literal("12026-05-04T08:07:00Z", "dateTime"),),
        (literal("0000-01-01", "date"), literal("2026-05-04", "date")),
        (literal("0000-12-31T23:59:59", "dateTime"),),
        (literal("9999-12-31T23:59:59-14:00", "dateTime"),),
        (literal("0001-01-01T00:00:00+14:00", "dateTime"), literal("2026-05-04T08:07:00Z", "dateTime")),
        (literal("yes", "boolean"),),
        (literal("TRUE", "boolean"),),
        (literal("1e3", "decimal"),),
    ],
)
def test_a_column_that_would_lose_something_is_of_strings(texts: tuple[Literal, ...]) -> None:
    """Mixed, malformed and too fine literals are as they are written."""
    made = column(*texts)
    assert (str(made.type), made.to_pylist()) == ("string", list(map(str, texts)))


def test_datatypes_come_on_request() -> None:
    """A column of them stands behind each column."""
    rows = Rows(Header("SELECT", ("x",)), [(Literal(1),), (Literal("a"),), (E.IC5,), (None,)])
    table = rows.to_arrow(datatypes=True)
    assert table.column_names == ["x", "x_datatype"]
    assert table["x"].to_pylist() == ["1", "a", str(E.IC5), None]
    assert table["x_datatype"].to_pylist() == [str(XSD.integer), str(XSD.string), None, None]


def test_a_name_that_would_occur_twice_is_refused() -> None:
    """A variable may have the name of a column of datatypes."""
    rows = Rows(Header("SELECT", ("x", "x_datatype")), [])
    assert rows.to_arrow().column_names == ["x", "x_datatype"]
    with pytest.raises(ValueError, match="two columns would be named 'x_datatype'"):
        rows.to_arrow(datatypes=True)


def test_triples_have_three_columns_and_ask_has_none(graph: rdflib.Graph) -> None:
    """What CONSTRUCT gives has no variables."""
    with rdflive.subscribe(graph, "CONSTRUCT WHERE { ?s ?p ?o }") as subscription:
        table = subscription.answers().to_arrow()
        assert (table.column_names, table.num_rows) == (["subject", "predicate", "object"], 3)
    with (
        rdflive.subscribe(graph, "ASK { ?s ?p ?o }") as subscription,
        pytest.raises(ValueError, match="ASK query has no columns"),
    ):
        subscription.answers().to_arrow()


def test_half_a_surrogate_pair_is_written_as_an_escape() -> None:
    """Arrow's strings are UTF-8."""
    assert column(Literal("\ud800")).to_pylist() == [r"\ud800"]


@pytest.mark.parametrize(("library", "method"), [("pyarrow", "to_arrow"), ("polars", "to_polars")])
def test_without_the_library_the_error_says_how_to_install_it(
    library: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra brings pyarrow."""

    def fail(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(frames, "import_module", fail)
    with pytest.raises(rdflive.MissingExtraError, match=f"tables need {library}: .*install"):
        getattr(Rows(Header("SELECT", ("x",))), method)()


def test_rows_are_converted_only_when_they_are_read() -> None:
    """Length, truth, slices and tables need none of them."""
    made: list[Any] = []

    def convert(term: Any) -> Any:
        made.append(term)
        return term

    rows = Rows(Header("SELECT", ("x",), convert), [(Literal(n),) for n in range(5)])
    assert (len(rows), bool(rows), len(rows[1:3]), rows.to_arrow().num_rows) == (5, True, 2, 5)
    assert made == []
    assert rows[-1] is rows[4]
    assert made == [Literal(4)]
    assert [row.x for row in rows] == [row.x for row in rows] == [Literal(n) for n in range(5)]
    assert len(made) == 5


def test_rows_are_a_sequence_that_equals_tuples_and_lists(delays: rdflive.Subscription) -> None:
    """What took a tuple or a list of rows takes them."""
    delta, answers = next(delays.deltas()), delays.answers()
    rows: Any = delta.added
    plain = tuple(rows)
    assert rows == plain == rows
    assert rows == list(plain)
    assert answers == list(answers)
    assert rows != plain[:1]
    assert rows != 5
    assert hash(rows) == hash(plain)
    assert repr(rows) == repr(plain)
    assert rows + delta.removed == (*rows,) == plain
    assert plain[:0] + rows == plain
    assert rows + [1] == (*plain, 1)  # noqa: RUF005 - what is tested
    assert (rows.index(plain[1]), rows.count(plain[0]), plain[0] in rows) == (1, 1, True)
    assert list(reversed(rows)) == list(reversed(plain))
    assert rows[::-1] == plain[::-1]
    with pytest.raises(IndexError):
        rows[2]
    for again in (pickle.loads(pickle.dumps(rows)), copy.copy(rows), copy.deepcopy(rows)):
        assert again == rows
        assert again.to_arrow() == rows.to_arrow()
