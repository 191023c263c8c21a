"""The Debezium decoder."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import RDF, XSD, Dataset, Graph, Literal, URIRef

import rdflive
from rdflive import Change, FeedError, Quad, RdfliveError
from rdflive.feeds import Entry, FeedFormat, Line, read_entries, to_lines
from rdflive.feeds.rdf_patch import encode_rdf_patch
from rdflive.feeds.tables.debezium import debezium
from support.effort import examples

GOLDEN = Path(__file__).parents[1] / "golden"
CUSTOMERS = {
    "subject": "http://e/customer/{id}",
    "class": "http://e/Customer",
    "predicates": {
        "name": "http://e/name",
        "country": {"predicate": "http://e/country", "object": "http://e/country/{country}"},
    },
}
COUNTRIES = {"subject": "http://e/country/{country}", "class": "http://e/Country", "key": ["id"]}
TERMS = {"quads": {"subject": "s", "predicate": "p", "object": "o"}}
FORM = debezium({"public.customers": CUSTOMERS, "stays": COUNTRIES, "terms": TERMS})


def read(lines: list[str], kept: dict[str, str] | None = None, form: FeedFormat = FORM) -> Iterator[Entry]:
    content = "".join(f"{line}\n" for line in lines).encode()
    return read_entries(form, to_lines(content.splitlines(keepends=True), "feed"), "feed", kept=kept)


def good(entries: Iterator[Entry]) -> Iterator[Entry]:
    for entry in entries:
        if entry.error is not None:
            raise entry.error
        yield entry


def event(op: str, before: Any, after: Any, table: str = "customers", **more: Any) -> dict[str, Any]:
    source = {"connector": "postgresql", "db": "shop", "schema": "public", "table": table}
    return {"before": before, "after": after, "source": source, "op": op, "ts_ms": 1, **more}


def changes(*events: Any) -> list[list[str]]:
    """Read events that follow each other; show each change as its sign and the object's last part."""
    entries = good(read([json.dumps(event) for event in events]))
    return [
        [f"{'+' if sign > 0 else '-'}{quad.object.rsplit('/', 1)[-1]}" for sign, quad in entry.batch.changes]
        for entry in entries
    ]


def refusal(*events: Any, kept: dict[str, str] | None = None) -> FeedError:
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    (error,) = (entry.error for entry in read(lines, kept) if entry.error)
    return error


ANNE = {"id": 1, "name": "Anne", "country": "AT"}
BEGIN = {"status": "BEGIN", "id": "571:10", "event_count": None, "data_collections": None}


def end(count: int, **collections: int) -> dict[str, Any]:
    told = [{"data_collection": f"public.{n}", "event_count": c} for n, c in collections.items()]
    return {"status": "END", "id": "571:12", "event_count": count, "data_collections": told or None}


def test_a_row_lives_from_its_insert_to_its_delete() -> None:
    """Insert, update and delete give what the row's triples change by; keys are enough to undo it."""
    assert changes(
        event("c", None, ANNE),
        event("u", None, {**ANNE, "name": "Anna"}),
        event("u", {"id": 1}, {**ANNE, "name": None}),
        event("u", None, {**ANNE, "name": None}),
        event("d", {"id": 1}, None),
        event("d", {"id": 1}, None),
    ) == [["+Customer", "+Anne", "+AT"], ["-Anne", "+Anna"], ["-Anna"], ["-Customer", "-AT"]]


def test_a_change_of_the_key_moves_the_row() -> None:
    """Both as Debezium tells it, a delete and a create, and as an update whose `before` has the old key."""
    moved = {**ANNE, "id": 2}
    for events in ([event("d", {"id": 1}, None), event("c", None, moved)], [event("u", ANNE, moved)]):
        changed = set()
        lines = [json.dumps(e) for e in [event("c", None, ANNE), *events]]
        for entry in good(read(lines)):
            changed |= {(sign, str(quad.subject)) for sign, quad in entry.batch.changes}
        one, two = "http://e/customer/1", "http://e/customer/2"
        assert changed == {(1, one), (-1, one), (1, two)}


def test_an_unknown_row_that_is_updated_is_created() -> None:
    """A feed may begin behind the row's insert; and a snapshot taken again replaces what it repeats."""
    assert changes(
        event("u", None, ANNE),
        event("r", None, ANNE),
        event("c", None, {**ANNE, "name": "Anna"}),
        event("d", {"id": 7}, None),
    ) == [["+Customer", "+Anne", "+AT"], ["-Anne", "+Anna"]]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda event: event,
        lambda event: {"schema": {"type": "struct", "fields": []}, "payload": event},
        lambda event: {"schema": None, "payload": event},
        lambda event: {"key": {"id": 1}, "value": event},
        lambda event: {"key": {"payload": {"id": 1}}, "value": {"schema": {}, "payload": event}},
        lambda event: {"topic": "t", "partition": 0, "offset": 5, "key": "{}", "payload": json.dumps(event)},
        lambda event: {"key": "Struct{id=1}", "value": json.dumps({"payload": event})},
        lambda event: {"topic": "t", "payload": event},
    ],
)
def test_an_event_is_unwrapped(wrap: Any) -> None:
    """The envelope may be alone, beside its schema, in a record of Kafka, and in text; so may a tombstone."""
    assert changes(wrap(event("c", None, ANNE))) == [["+Customer", "+Anne", "+AT"]]
    assert changes(wrap(None)) == []


@pytest.mark.parametrize(
    "other",
    [
        None,
        {"ts_ms": 1580390884335},
        {"ts_ms": 1, "ts_us": 1000, "ts_ns": 1000000},
        {"source": {}, "databaseName": "shop", "ddl": "DROP TABLE customers", "tableChanges": []},
        {"op": "m", "message": {"prefix": "p", "content": "AQ=="}, "source": {"table": ""}},
        event("c", None, ANNE, "orders"),
        event("c", "odd", "odd", "orders"),
        event("t", None, None, "orders"),
    ],
)
def test_what_is_about_no_mapped_row_is_passed_over(other: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Tombstones, heartbeats, changes of the schema and messages change nothing; tables are warned of."""
    assert changes(other, event("c", None, ANNE), other) == [["+Customer", "+Anne", "+AT"]]
    assert changes(BEGIN, other, event("c", None, ANNE), end(2, customers=1, orders=1)) == [
        ["+Customer", "+Anne", "+AT"]
    ]
    assert bool(caplog.records) is ("orders" in str(other))


def test_a_delete_may_be_named_by_the_key_of_the_record() -> None:
    """Where `before` is null or has nothing but NULL, the key that Kafka has tells the row."""
    for before in (None, {"id": None}):
        for key in ({"id": 1}, '{"id": 1}', {"schema": {}, "payload": {"id": 1}}, '{"payload": {"id": 1}}'):
            create, delete = event("c", None, ANNE), {"key": key, "value": event("d", before, None)}
            assert changes(create, delete)[1] == ["-Customer", "-Anne", "-AT"]


def test_a_part_of_a_key_may_be_null() -> None:
    """A key of several columns names a row as long as one of them is not NULL."""
    stock = {"subject": "http://e/stock/{shop}", "class": "http://e/Stock", "key": ["shop", "shelf"]}
    rows = [{"shop": 1, "shelf": None}, {"shop": 1, "shelf": 2}]
    events = [event("c", None, row) for row in rows] + [event("d", row, None) for row in rows]
    entries = good(read([json.dumps(event) for event in events], form=debezium({"*": stock})))
    assert [[sign for sign, _ in entry.batch.changes] for entry in entries] == [[1], [], [], [-1]]


def test_a_transaction_is_one_entry() -> None:
    """BEGIN and END need not have the same id; events around them stand alone."""
    bob = {"id": 2, "name": "Bob"}
    again = event("c", None, bob)  # of a connector that was restarted: END does not count it
    assert changes(
        event("c", None, ANNE),
        BEGIN,
        event("u", None, {**ANNE, "name": "Anna"}),
        event("u", None, {**ANNE, "name": "Anne"}),
        again,
        again,
        end(3, customers=3),
        event("d", bob, None),
        BEGIN,
        end(0),
    ) == [["+Customer", "+Anne", "+AT"], ["+Customer", "+Bob"], ["-Customer", "-Bob"]]


@pytest.mark.parametrize(
    ("events", "line", "reason"),
    [
        ([BEGIN, event("c", None, ANNE)], 2, "no END follows the BEGIN of the transaction of line 1"),
        ([BEGIN, BEGIN, end(0)], 1, "no END follows the BEGIN of the transaction of line 1"),
        ([end(0)], 1, "END without a BEGIN: the feed begins within a transaction"),
        ([BEGIN, event("c", None, ANNE), end(2)], 3, "END counts 2 events of the transaction, but 1"),
        ([BEGIN, end(1, customers=1)], 2, "END counts 1 events of public.customers"),
        ([BEGIN, event("c", None, ANNE), {"op": "x"}, end(2)], 3, "'op' of the event must be one of c, r, u"),
        ([BEGIN, {**end(0), "data_collections": [5]}], 2, "'data_collections' of END must hold objects"),
    ],
)  # fmt: skip
def test_a_transaction_that_is_not_whole_is_refused(events: Any, line: int, reason: str) -> None:
    """Nothing of it is applied, and the error says what is missing where."""
    error = refusal(*events)
    assert error.line == line
    assert reason in error.reason


def test_a_refused_transaction_leaves_no_trace() -> None:
    """The decoder goes on as if it had not been there."""
    lines = [BEGIN, event("c", None, ANNE), {"op": 5}, end(2), event("c", None, {**ANNE, "name": "Anna"})]
    entries = list(read([json.dumps(line) for line in lines]))
    assert [bool(entry.error) for entry in entries] == [True, False]
    assert {quad.object for _, quad in entries[1].batch.changes} >= {Literal("Anna")}
    assert "Anne" not in "".join(str(text) for text in entries[1].kept.values())


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "not JSON"),
        ("5", "an event must be an object, or null for a tombstone, not 5"),
        ({"value": [1]}, "an event must be an object, or null for a tombstone"),
        ({}, "it is not a Debezium event"),
        ({"id": 1, "name": "flat"}, "it is not a Debezium event: neither a change (with 'op')"),
        ({"offset": "5", "partition": 0, "value": None}, "'offset' of the record must be an integer"),
        ({"offset": 5, "value": None}, "the record lacks 'partition'"),
        ({"op": "z"}, "'op' of the event must be one of c, r, u, d, t, or m, not 'z'"),
        ({"op": "c"}, "the event lacks 'source'"),
        ({"op": "c", "source": {}}, "the event's source lacks 'table'"),
        ({"op": "c", "source": {"table": "t", "db": 5}}, "'db' of the event's source must be a string"),
        (event("c", None, None), "'after' of the event must be an object, not null"),
        (event("c", None, {"name": 1}), "'after' of the event lacks the key column 'id'; it has: name"),
        (event("u", 5, ANNE), "'before' of the event must be an object"),
        (event("c", None, {**ANNE, "name": ["x"]}), "the column 'name' holds an array"),
        (event("d", None, None), "the delete identifies no row: 'before' of the event must hold id"),
        ({"key": {"no": 1}, "value": event("d", None, None)}, "the key of the record lacks the key column"),
        (event("c", None, {"s": "x", "p": "y", "o": "z"}, "terms"), "the subject must be an"),
        (event("u", None, {"s": "_:x", "p": "<a:b>", "o": "_:z"}, "terms"), "not identify the previous row"),
        (event("u", None, {**ANNE, "name": "__debezium_unavailable_value"}), "'name' was left out"),
    ],
)  # fmt: skip
def test_a_bad_event_names_its_line_and_reason(bad: Any, reason: str) -> None:
    """The error says which field is wrong and what is accepted; the entries around it are there."""
    lines = [json.dumps(event("c", None, ANNE)), "", bad if isinstance(bad, str) else json.dumps(bad)]
    if "left out" in reason:
        lines = lines[1:]
    entries = list(read(lines))
    error = entries[-1].error
    assert reason in error.reason
    assert (error.source, error.line, len(entries)) == ("feed", len(lines), len(lines) - 1)
    assert entries[-1].kept == {}


def test_a_value_left_out_as_unchanged_is_the_old_one() -> None:
    """The placeholder of large values, as text or as bytes, stands for what the row had."""
    for placeholder in ("__debezium_unavailable_value", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="):
        update = event("u", None, {"id": 1, "name": placeholder, "country": "DE"})
        assert changes(event("c", None, ANNE), update, event("d", {"id": 1}, None)) == [
            ["+Customer", "+Anne", "+AT"],
            ["-AT", "+DE"],
            ["-Customer", "-Anne", "-DE"],
        ]


def test_a_schema_types_the_columns() -> None:
    """Where the event has its schema, decimals are exact; one that is none is taken for none."""
    decimal = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    fields = [{"field": "id", "type": "int32"}, {"field": "price", **decimal}]
    schema = {"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": fields}, 5, {}]}
    payload = event("c", None, {"id": 1, "price": "MDk="})
    form = debezium({"*": {"subject": "http://e/{id}", "predicates": {"price": "http://e/p"}}})
    (entry,) = good(read([json.dumps({"schema": schema, "payload": payload})], form=form))
    assert [quad.object for _, quad in entry.batch.changes] == [Literal("123.45", datatype=XSD.decimal)]
    for bad in (5, [], {"fields": 5}, {"fields": [{"field": "after", "fields": [{"field": 5}]}]}, "x"):
        wrapped = {"schema": bad, "payload": event("c", None, ANNE)}
        assert changes(wrapped) == [["+Customer", "+Anne", "+AT"]]


@pytest.mark.parametrize("held", ["", "INF", "-INF", "NaN"])
@pytest.mark.parametrize("kind", ["graph", "dataset", "live store"])
def test_doubles_without_a_number_come_and_go(kind: str, held: str) -> None:
    """They are spelt as in XML Schema, unless the graph has them as rdflib's parsers spell them."""
    ox = pytest.importorskip("pyoxigraph")
    store: Any = {"graph": Graph, "dataset": Dataset, "live store": rdflive.LiveStore}[kind]()
    graph = store.default_graph if kind == "dataset" else store
    parsed = f'<http://e/1> <http://e/v> "{held}"^^<{XSD.double}> .'
    if held and kind == "live store":
        store.load(parsed.encode(), format=ox.RdfFormat.N_TRIPLES)
    elif held:
        graph.parse(data=parsed, format="nt")
    fields = [{"field": "id", "type": "int32"}, {"field": "v", "type": "double"}]
    schema = {"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": fields}]}
    form = debezium({"*": {"subject": "http://e/{id}", "predicates": {"v": "http://e/v"}}})
    told: list[str] = []

    def tell(delta: rdflive.Delta) -> None:
        for sign, rows in (("-", delta.removed), ("+", delta.added)):
            told.extend(sign + (row.v.value if isinstance(row.v, ox.Literal) else str(row.v)) for row in rows)

    events = [event("c", None, {"id": 1, "v": "NaN"})]
    events += [event("u", None, {"id": 1, "v": value}) for value in ("Infinity", "-Infinity", 1.5)]
    events.append(event("d", {"id": 1}, None))
    lines = "".join(json.dumps({"schema": schema, "payload": each}) + "\n" for each in events)
    with rdflive.subscribe(store, "SELECT ?v { ?s ?p ?v }", tell, initial=False):
        rdflive.mirror(store, io.BytesIO(lines.encode()), form)
        if not held:
            assert told == ["+NaN", "-NaN", "+INF", "-INF", "+-INF", "--INF", "+1.5", "-1.5"]
    assert len(store) == 0


def kept_of(events: list[Any]) -> dict[str, str]:
    """Give what is kept behind good events."""
    kept: dict[str, Any] = {}
    for entry in good(read([json.dumps(event) for event in events])):
        kept.update(entry.kept)
    return {key: text for key, text in kept.items() if text is not None}


def kafka(offset: int, value: Any, partition: int = 0) -> dict[str, Any]:
    return {"topic": "shop.public.customers", "partition": partition, "offset": offset, "value": value}


def test_a_record_that_was_applied_is_passed_over() -> None:
    """Its place in Kafka tells: in the same file, and in another one that repeats some."""
    bob = {"id": 2, "name": "Bob"}
    records = [
        kafka(3, event("c", None, ANNE)),
        kafka(4, event("d", ANNE, None)),
        kafka(3, event("c", None, ANNE), partition=1),
    ]
    assert changes(*records, *records) == changes(*records)
    kept = kept_of(records)
    again = [json.dumps(record) for record in [*records, kafka(5, event("c", None, bob))]]
    (entry,) = good(read(again, kept))
    assert {str(quad.subject) for _, quad in entry.batch.changes} == {"http://e/customer/2"}


def test_a_place_is_one_of_its_partition() -> None:
    """A record at an offset that another partition has reached is applied, in whichever file it is."""
    first, second = kafka(7, event("c", None, ANNE)), kafka(7, event("c", None, {"id": 2}), partition=1)
    assert changes(first, second) == [["+Customer", "+Anne", "+AT"], ["+Customer"]]
    assert len(list(good(read([json.dumps(second)], kept_of([first]))))) == 1


def test_a_transaction_that_was_applied_is_passed_over() -> None:
    """So is the end of one that another file has without its begin."""
    records = [kafka(0, BEGIN), kafka(1, event("c", None, ANNE)), kafka(2, end(1, customers=1))]
    lines = [json.dumps(record) for record in records]
    (entry,) = good(read(lines))
    assert list(read(lines, dict(entry.kept))) == []
    assert list(read(lines[1:], dict(entry.kept))) == []
    assert "END without a BEGIN" in refusal(*lines[1:], kept={}).reason


def test_a_feed_without_places_is_not_read_twice() -> None:
    """Nobody can tell which of its events were applied, so it is refused; behind the cursor it goes on."""
    events = [event("c", None, ANNE), event("d", ANNE, None)]
    lines, kept = [json.dumps(event) for event in events], kept_of(events)
    errors = [entry.error for entry in read(lines, kept)]
    assert ["cannot detect whether" in error.reason for error in errors] == [True, True]
    (entry,) = good(read_entries(FORM, [Line(lines[0], 3)], "feed", kept=kept))
    assert len(entry.batch.changes) == 3


def test_a_feed_of_another_mapping_is_refused() -> None:
    """The rows that are kept were made by one mapping, and cannot be undone by another."""
    (entry,) = good(read([json.dumps(event("c", None, ANNE))]))
    with pytest.raises(RdfliveError, match="the mapping or the format differs from the one"):
        list(read([], dict(entry.kept), debezium({"customers": COUNTRIES})))


@pytest.mark.parametrize("name", ["debezium-postgres", "debezium-kcat"])
def test_a_golden_feed_gives_its_patch(name: str) -> None:
    """What a connector writes becomes the transactions that lie beside it."""
    form = debezium(GOLDEN / "debezium-postgres.mapping.json")  # which has the tables of both
    with (GOLDEN / f"{name}.jsonl").open("rb") as stream:
        entries = list(good(read_entries(form, to_lines(stream, name), name)))
    patch = "".join(encode_rdf_patch(entry.batch) for entry in entries)
    assert patch == (GOLDEN / f"{name}.rdfp").read_text(encoding="utf-8")


MEMBERS = (
    *("op", "before", "after", "source", "table", "schema", "payload", "key", "value"),
    *("offset", "partition", "topic", "status", "event_count", "id", "name", "s", "o"),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.sampled_from("crudt"), JSON, JSON, st.sampled_from(["customers", "stays", "terms"]), st.data())
def test_any_field_gives_entries_or_errors(op: str, before: Any, after: Any, table: str, data: Any) -> None:
    """An envelope with anything in any of its fields is applied or refused."""
    made = event(op, before, after, table)
    made[data.draw(st.sampled_from(sorted(made)))] = data.draw(JSON)
    with suppress(FeedError):
        list(good(read([json.dumps(event("c", None, ANNE)), json.dumps(made)])))


# Random histories of two tables that share quads, against the rows of the database.

TABLES = ("customers", "stays")
OPERATIONS = st.tuples(
    st.sampled_from("iiiuuudrtk"),
    st.sampled_from(TABLES),
    st.integers(1, 4),
    st.fixed_dictionaries({
        "name": st.sampled_from(["Anne", "Bob", None]), "country": st.sampled_from(["AT", "DE", None]),
    }),
    st.sampled_from(["full", "key", "null"]),
)  # fmt: skip
Rows = dict[tuple[str, int], dict[str, Any]]


def recompute(rows: Rows) -> set[Quad]:
    """Make the quads of the database's rows, by hand."""
    quads = set()
    for (table, key), row in rows.items():
        country = row["country"] and URIRef(f"http://e/country/{row['country']}")
        if table == "stays":
            if country:
                quads.add(Quad(country, RDF.type, URIRef("http://e/Country")))
            continue
        subject = URIRef(f"http://e/customer/{key}")
        quads.add(Quad(subject, RDF.type, URIRef("http://e/Customer")))
        if row["name"]:
            quads.add(Quad(subject, URIRef("http://e/name"), Literal(row["name"])))
        if country:
            quads.add(Quad(subject, URIRef("http://e/country"), country))
    return quads


def perform(rows: Rows, operation: Any) -> list[dict[str, Any]]:
    """Do to the rows what the operation asks, as far as it can be done, and tell it as Debezium does."""
    kind, table, key, values, image = operation
    row = {"id": key, **values}
    old = rows.get((table, key))
    before = {"full": old, "key": {"id": key}, "null": None}[image]
    if kind == "i" and old is None:
        rows[table, key] = row
        return [event("c", None, row, table)]
    if kind == "u" and old is not None:
        rows[table, key] = row
        return [event("u", before, row, table)]
    if kind == "d" and old is not None:
        del rows[table, key]
        return [event("d", before or {"id": key}, None, table), None]
    if kind == "r" and old is not None:
        return [event("r", None, old, table)]
    if kind == "k" and old is not None and (table, key + 1) not in rows:
        moved = rows[table, key + 1] = {**rows.pop((table, key)), "id": key + 1}
        return [event("d", before or {"id": key}, None, table), None, event("c", None, moved, table)]
    if kind == "t":
        for name in [name for name in rows if name[0] == table]:
            del rows[name]
        return [event("t", None, None, table)]
    return []


def follow(graph: set[Quad], kept: dict[str, str], entry: Entry) -> None:
    """Apply an entry whose changes are net, and keep what it says."""
    for sign, quad in entry.batch.changes:
        assert (quad in graph) is (sign < 0), Change(sign, quad)
        (graph.add if sign > 0 else graph.remove)(quad)
    for name, text in entry.kept.items():
        kept.pop(name, None)
        if text is not None:
            kept[name] = text


@settings(max_examples=examples(150))
@given(st.lists(st.lists(OPERATIONS, max_size=4), max_size=8), st.data())
def test_the_graph_is_what_the_rows_make(history: list[list[Any]], data: st.DataObject) -> None:
    """After each unit of a random history, with restarts at any of them, the graph equals recomputation.

    Once the rows are all gone nothing is left, and nothing is kept but how far the feed was read.
    """
    rows: Rows = {}
    graph: set[Quad] = set()
    kept: dict[str, str] = {}
    lines = 0
    for operations in [*history, [("t", table, 0, {}, "null") for table in TABLES]]:
        events = [told for operation in operations for told in perform(rows, operation)]
        if data.draw(st.booleans()):
            count = sum(told is not None and told["op"] != "r" for told in events)
            events = [BEGIN, *events, end(count)]
        numbered = [Line(json.dumps(told), lines + n) for n, told in enumerate(events, start=2)]
        lines += len(events)
        for entry in good(read_entries(FORM, numbered, "feed", kept=dict(kept))):
            follow(graph, kept, entry)
        assert graph == recompute(rows)
    assert graph == set()
    assert set(kept) <= {"unnumbered"}


@settings(max_examples=examples(75))
@given(st.lists(OPERATIONS, max_size=12), st.data())
def test_a_file_read_again_from_its_beginning_adds_nothing(history: list[Any], data: st.DataObject) -> None:
    """With places in Kafka, reading a part and then the whole file is reading the whole file."""
    rows: Rows = {}
    events = [told for operation in history for told in perform(rows, operation)]
    lines = [json.dumps(kafka(n, told, n % 2)) for n, told in enumerate(events)]
    graph: set[Quad] = set()
    kept: dict[str, str] = {}
    for part in (lines[: data.draw(st.integers(0, len(lines)))], lines, lines):
        for entry in good(read(part, dict(kept))):
            follow(graph, kept, entry)
    assert graph == recompute(rows)
