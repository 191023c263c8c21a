"""The decoder of Delta Lake's change data feed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import RDF, Literal, URIRef

from rdflive import FeedError, Quad, RdfliveError
from rdflive.feeds import Entry, Line, read_entries, to_lines
from rdflive.feeds.rdf_patch import encode_rdf_patch
from rdflive.feeds.tables.delta_lake import delta_lake
from support.effort import examples

GOLDEN = Path(__file__).parents[1] / "golden"
PEOPLE = {
    "subject": "http://e/person/{id}",
    "class": "http://e/Person",
    "predicates": {
        "name": "http://e/name",
        "country": {"predicate": "http://e/country", "object": "http://e/{country}"},
    },
}
FORM = delta_lake({"people": PEOPLE})
ANNE, BOB = {"id": 1, "name": "Anne"}, {"id": 2, "name": "Bob"}


def row(change: str, version: int, values: dict[str, Any]) -> str:
    meta = {"_change_type": change, "_commit_version": version, "_commit_timestamp": "2024-07-01T10:00:00Z"}
    return json.dumps({**values, **meta})


def read(lines: list[str], kept: dict[str, str] | None = None) -> list[Entry]:
    content = "".join(f"{line}\n" for line in lines).encode()
    return list(read_entries(FORM, to_lines(content.splitlines(keepends=True), "feed"), "feed", kept=kept))


def shown(lines: list[str], kept: dict[str, str] | None = None) -> list[list[str]]:
    """Read good rows; show each change as its sign and the object's last part."""
    entries = read(lines, kept)
    assert [entry.error for entry in entries if entry.error] == []
    return [
        [f"{'+' if sign > 0 else '-'}{quad.object.rsplit('/', 1)[-1]}" for sign, quad in entry.batch.changes]
        for entry in entries
    ]


def test_equal_rows_are_counted() -> None:
    """A quad stays as long as one of the equal rows does, also over a restart."""
    lines = [row("insert", 1, ANNE), row("insert", 1, ANNE), row("delete", 2, ANNE), row("delete", 3, ANNE)]
    assert shown(lines) == [["+Person", "+Anne"], [], ["-Person", "-Anne"]]
    (first, _, _) = read(lines)
    assert shown(lines, dict(first.kept)) == [[], ["-Person", "-Anne"]]


def test_columns_that_are_not_mapped_do_not_matter() -> None:
    """An update of such a column changes nothing, and no entry tells of it."""
    assert shown([
        row("insert", 1, {**ANNE, "age": 5}),
        row("update_preimage", 2, {**ANNE, "age": 5}),
        row("update_postimage", 2, {**ANNE, "age": [6], "name": "Anne"}),
        row("delete", 3, {**ANNE, "country": None}),
    ]) == [["+Person", "+Anne"], ["-Person", "-Anne"]]  # fmt: skip


def test_a_feed_read_again_passes_over_what_was_applied() -> None:
    """From its first line on versions up to the last one are known; behind the cursor they would be wrong."""
    lines = [row("insert", 1, ANNE), row("insert", 3, BOB), row("delete", 4, ANNE)]
    kept: dict[str, Any] = {}
    for entry in read(lines[:2]):
        kept.update(entry.kept)
    assert shown(lines, kept) == [["-Person", "-Anne"]]
    assert "version 3 follows version 3; the feed must" in refusal_behind(row("insert", 3, ANNE), kept)


def test_a_version_that_was_cut_off_is_found_out() -> None:
    """The feed ended inside of it, so it was applied without its last rows; read again it is refused."""
    lines = [row("insert", 1, ANNE), row("insert", 2, BOB), row("insert", 2, ANNE), row("delete", 3, BOB)]
    kept: dict[str, Any] = {}
    for entry in read(lines[:2]):
        kept.update(entry.kept)
    error = read(lines, kept)[0].error
    assert error.line == 3
    assert "version 2 had other rows when it was applied; the feed must hold all rows" in error.reason
    assert "version 2 follows version 2" in refusal_behind(lines[2], kept)


def refusal_behind(line: str, kept: dict[str, str]) -> str:
    """Read a line behind a cursor; give why it is refused."""
    (entry,) = read_entries(FORM, [Line(line, 7)], "feed", kept=kept)
    return entry.error.reason


@pytest.mark.parametrize("is_known", [False, True])
def test_versions_never_decrease(is_known: bool) -> None:
    """A row of an older version is refused, also among those that a former reading has applied."""
    lines = [row("insert", 1, ANNE), row("insert", 3, BOB), row("insert", 2, BOB)]
    kept: dict[str, Any] = {}
    for entry in read(lines[:2]) if is_known else []:
        kept.update(entry.kept)
    error = read(lines, kept)[-1].error
    assert error.line == 3
    assert error.reason.startswith("version 2 follows version 3; the feed must hold")


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (row("delete", 2, BOB), "deletes a row that does not exist: id '2', name 'Bob'"),
        (row("update_preimage", 2, {}), "deletes a row that does not exist: one whose mapped columns are"),
        (row("upsert", 2, BOB), "'_change_type' of the row must be one of insert, update_postimage, delete,"),
        (row("insert", 2, {**BOB, "name": {"x": 1}}), "the column 'name' holds an object"),
        ('{"_commit_version": 2}', "the row lacks '_change_type'"),
        ('{"_commit_version": 2, "_change_type": 1}', "'_change_type' of the row must be a string"),
        ('{"_commit_version": "2"}', "'_commit_version' of the row must be an integer"),
        ('{"_commit_version": -2}', "'_commit_version' of the row must be 0 or more, not -2"),
        ('{"_commit_version": 2.0}', "'_commit_version' of the row must be an integer"),
        ("{}", "the row lacks '_commit_version'"),
        ('{"a": {"_commit_version": 2}, "_commit_version": 3}', "a row of version 3 is among those"),
        ("null", "the line must hold a JSON object, not null"),
        ("{", "not JSON"),
    ],
)  # fmt: skip
def test_a_bad_row_refuses_its_version(bad: str, reason: str) -> None:
    """The rows of the version are not applied, the error names the line, and the next version is as usual."""
    good = row("insert", 1, ANNE), row("insert", 2, BOB), row("delete", 2, BOB)
    lines = [*good, bad, row("delete", 3, ANNE)]
    first, second, third = read(lines)
    assert (second.error.line, second.batch.changes, second.kept) == (4, (), {})
    assert reason in second.error.reason
    assert [len(entry.batch.changes) for entry in (first, third)] == [2, 2]


def test_a_first_line_without_a_version_is_refused() -> None:
    """It may be of the version that follows, so that one is refused with it."""
    (entry,) = read(["nonsense", row("insert", 1, ANNE)])
    assert entry.error.line == 1
    (_, entry) = read([row("insert", 1, ANNE), '{"_commit_version": 2', "}"])
    assert (entry.error.line, "each line must hold one complete JSON value" in entry.error.reason) == (
        2,
        False,
    )


def test_a_mapping_of_several_tables_is_refused() -> None:
    """The rows do not say which table they are of."""
    with pytest.raises(RdfliveError, match="has one table, but the mapping has 2: people, dogs"):
        delta_lake({"people": PEOPLE, "dogs": PEOPLE})


def test_the_golden_feed_gives_its_patch() -> None:
    """A feed of every change type becomes the transactions that lie beside it."""
    form = delta_lake(GOLDEN / "delta-lake.mapping.json")
    with (GOLDEN / "delta-lake.jsonl").open("rb") as stream:
        entries = list(read_entries(form, to_lines(stream, "delta-lake"), "delta-lake"))
    patch = "".join(encode_rdf_patch(entry.batch) for entry in entries)
    assert patch == (GOLDEN / "delta-lake.rdfp").read_text(encoding="utf-8")


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 5), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["_change_type", "_commit_version", "id", "name"]), inner),
    ),
    max_leaves=8,
)


@given(st.sampled_from(["insert", "delete"]), JSON, JSON, JSON)
def test_any_value_gives_entries_or_errors(change: str, version: Any, key: Any, name: Any) -> None:
    """A row with anything in its columns is applied or refused."""
    for entry in read([row(change, version, {"id": key, "name": name}), row("insert", 9, ANNE)]):
        assert entry.error is None or isinstance(entry.error, FeedError)


# Random versions of a table without a key, against its rows.

PERSON = st.tuples(st.integers(1, 3), st.sampled_from(["Anne", None]), st.sampled_from(["AT", "DE", None]))
Person = tuple[int, str | None, str | None]


def recompute(table: Counter[Person]) -> set[Quad]:
    """Make the quads of the table's rows, by hand."""
    quads = set()
    for key, name, country in table.elements():
        subject = URIRef(f"http://e/person/{key}")
        quads.add(Quad(subject, RDF.type, URIRef("http://e/Person")))
        if name:
            quads.add(Quad(subject, URIRef("http://e/name"), Literal(name)))
        if country:
            quads.add(Quad(subject, URIRef("http://e/country"), URIRef(f"http://e/{country}")))
    return quads


def change(table: Counter[Person], steps: list[tuple[str, Person, Person]]) -> list[tuple[str, Person]]:
    """Do the steps of a version, as far as they can be done, and list its rows."""
    told = []
    for kind, old, new in steps:
        if kind in "du" and table[old]:
            table[old] -= 1
            told.append(("delete" if kind == "d" else "update_preimage", old))
            if kind == "u":
                table[new] += 1
                told.append(("update_postimage", new))
        elif kind == "i":
            table[new] += 1
            told.append(("insert", new))
    return told


@settings(max_examples=examples(150))
@given(
    st.lists(st.lists(st.tuples(st.sampled_from("iidu"), PERSON, PERSON), max_size=5), max_size=6), st.data()
)
def test_the_graph_is_what_the_rows_make(history: list[list[Any]], data: st.DataObject) -> None:
    """After each version, in any order of its rows and with restarts, the graph equals recomputation.

    Once all rows are deleted nothing is left, and nothing is kept but the version.
    """
    table: Counter[Person] = Counter()
    graph: set[Quad] = set()
    kept: dict[str, str] = {}
    lines: list[str] = []
    for version, steps in enumerate([*history, None]):
        last = [("d", person, person) for person in table.elements()]
        told = data.draw(st.permutations(change(table, last if steps is None else steps)))
        fresh = [
            row(kind, version, dict(zip(("id", "name", "country"), person, strict=True)))
            for kind, person in told
        ]
        again = data.draw(st.booleans())
        begin = 0 if again else len(lines)
        lines += fresh
        numbered = [Line(line, number) for number, line in enumerate(lines[begin:], start=begin + 1)]
        if not begin or fresh:
            for entry in read_entries(FORM, numbered, "feed", kept=dict(kept)):
                assert entry.error is None
                for sign, quad in entry.batch.changes:
                    assert (quad in graph) is (sign < 0)
                    (graph.add if sign > 0 else graph.remove)(quad)
                for name, text in entry.kept.items():
                    kept.pop(name, None)
                    if text is not None:
                        kept[name] = text
        assert graph == recompute(table)
    assert graph == set()
    assert set(kept) <= {"version"}
