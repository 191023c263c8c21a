"""Events of the streaming updater of the Wikidata Query Service."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import RDF, Dataset, Graph, URIRef

import rdflive
from rdflive import feeds
from rdflive.feeds.wikidata import WIKIDATA
from support.decoders import check_restarts, read
from support.effort import examples

SCHEMA = "http://schema.org/"
ENTITY = "http://www.wikidata.org/entity/"


def event(
    entity: str = "Q1", revision: int = 1, operation: str = "import", *, added: str = "", deleted: str = "",
    linked: str = "", time: int = 0, sequence: int = 0, length: int = 1, **more: Any,
) -> dict[str, Any]:  # fmt: skip
    shown: dict[str, Any] = {
        "$schema": "/mediawiki/wikibase/entity/rdf_change/2.0.0",
        "meta": {"domain": "www.wikidata.org", "stream": "rdf-streaming-updater.mutation.v2"},
        "entity_id": entity,
        "rev_id": revision,
        "dt": f"2024-05-01T12:{time:02}:00Z",
        "sequence": sequence,
        "sequence_length": length,
        "operation": operation,
    }
    documents = {"rdf_added_data": added, "rdf_deleted_data": deleted, "rdf_linked_shared_data": linked}
    shown |= {name: {"data": text, "mime_type": "text/turtle"} for name, text in documents.items() if text}
    return {**shown, **more}


def lines(*values: object) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


def changes(*values: object) -> list[list[str]]:
    """Give the signs and objects of each entry; the reason of a bad one."""
    return [
        [entry.error.reason]
        if entry.error
        else [f"{sign:+d} {quad.object}" for sign, quad in entry.batch.changes]
        for entry in read(WIKIDATA, lines(*values))
    ]


def mirrored(*values: object, holding: str = "") -> set[Any]:
    """Mirror events into a graph that holds something; give its triples."""
    graph = Graph()
    graph.parse(data=holding, format="turtle")
    rdflive.mirror(graph, io.BytesIO(lines(*values).encode()), WIKIDATA)
    return set(graph)


STATEMENT = (
    f"<{ENTITY}Q1> <urn:claim> <{ENTITY}statement/Q1-a> . <{ENTITY}statement/Q1-a> <urn:value> <urn:v> ."
)
SITELINK = (
    f"<https://en.example/wiki/A> a <{SCHEMA}Article> ; <{SCHEMA}about> <{ENTITY}Q1> ; "
    f"<{SCHEMA}isPartOf> <https://en.example/> ; <{SCHEMA}name> 'A'@en ."
)
OTHERS = f"<urn:v> <urn:p> 1 . <{ENTITY}Q2> <urn:claim> <{ENTITY}Q1> . <{ENTITY}Q11> <urn:p> 1 ."


@pytest.mark.parametrize("operation", ["delete", "reconcile"])
def test_deletion_takes_all_that_is_about_the_entity(operation: str) -> None:
    """Its triples, those of its statements and of its sitelinks go; what others say stays."""
    holding = f"<{ENTITY}Q1> <urn:label> 'one' . {STATEMENT} {SITELINK} {OTHERS}"
    added = "" if operation == "delete" else f"<{ENTITY}Q1> <urn:label> 'two' ."
    kept = set(Graph().parse(data=f"{OTHERS} {added}", format="turtle"))
    assert mirrored(event(operation=operation, added=added), holding=holding) == kept


@pytest.mark.parametrize(
    ("domain", "entity"),
    [
        ("commons.wikimedia.org", "https://commons.wikimedia.org/entity/M7"),
        ("test.wikidata.org", "http://test.wikidata.org/entity/M7"),
        ("localhost:8181", "http://localhost:8181/entity/M7"),
    ],
)
def test_entity_is_named_as_its_wiki_does(domain: str, entity: str) -> None:
    """The domain of the event decides."""
    (entry,) = read(WIKIDATA, lines(event("M7", operation="delete", meta={"domain": domain})))
    assert entry.updates[0].endswith(f"DELETE WHERE {{ <{entity}> ?p ?o }}")
    assert f'"{entity.removesuffix("M7")}statement/"' in entry.updates[0]


def test_deleted_sitelink_keeps_what_another_entity_may_have_by_now() -> None:
    """Only what it is about goes, unless the entity gets another page of the same site."""
    moved = mirrored(event(operation="diff", deleted=SITELINK), holding=SITELINK)
    assert {p for _, p, _ in moved} == {RDF.type, URIRef(f"{SCHEMA}isPartOf"), URIRef(f"{SCHEMA}name")}
    renamed = SITELINK.replace("wiki/A", "wiki/B")
    left = mirrored(event(operation="diff", deleted=SITELINK, added=renamed), holding=SITELINK)
    assert left == set(Graph().parse(data=renamed, format="turtle"))
    elsewhere = event(operation="diff", deleted=SITELINK, added=renamed.replace("//en", "//de"))
    assert len(mirrored(elsewhere, holding=SITELINK)) == 3 + 4


ADD = {"added": "<urn:s> <urn:p> 1 ."}


@pytest.mark.parametrize(
    ("events", "applied"),
    [
        ([("import", 5, 0), ("diff", 6, 1), ("diff", 6, 1), ("diff", 5, 2), ("diff", 7, 3)], "1 1 0 0 1"),
        ([("import", 5, 0), ("delete", 5, 1), ("diff", 5, 2), ("diff", 4, 3)], "1 1 0 0"),
        ([("import", 5, 0), ("delete", 5, 1), *[("import", 5, 2), ("delete", 5, 1)] * 2], "1 1 1 0 0 0"),
        ([("diff", 5, 0), ("reconcile", 5, 1), ("reconcile", 5, 1), ("reconcile", 4, 2)], "1 1 0 0"),
        ([("diff", 5, 0), ("diff", 5, 1)], "1 0"),
        ([("diff", 5, 3), ("diff", 6, 1)], "1 1"),
    ],
)
def test_event_that_comes_too_late_is_passed_over(events: list[tuple[str, int, int]], applied: str) -> None:
    """The revision decides, then the time; the same revision has one diff at most."""
    values = [
        event(revision=revision, operation=operation, time=time, **({} if operation == "delete" else ADD))
        for operation, revision, time in events
    ]
    decoder = WIKIDATA.decoder()
    decoder.restore({})
    source = feeds.to_lines(io.BytesIO(lines(*values).encode()), "feed")
    found = [decoder.decode(frame) is not None for frame in decoder.split(source)]
    assert " ".join(str(int(one)) for one in found) == applied
    check_restarts(WIKIDATA, lines(*values))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([5], "the line must hold a JSON object, not an integer"),
        ([{}], "the record lacks 'entity_id', which must be a string"),
        ([event("Q1> ?p ?o } ; CLEAR ALL #")], "'entity_id' must be such as Q42, P31 or L7-F1, not 'Q1> ?p"),
        ([event(operation="merge")], "'operation' must be one of diff, import, delete, reconcile, not"),
        ([event(rev_id="7")], "'rev_id' of the record must be an integer, not a string"),
        ([event(sequence=1, length=1)], "chunk 1 of Q1 comes where chunk 0 is expected"),
        ([event(length=0)], "revision 1 of Q1 has 1 of its 0 chunks, so it is not applied"),
        ([event(length=2)], "revision 1 of Q1 has 1 of its 2 chunks, so it is not applied"),
        ([event(length=3), event(sequence=2, length=3)], "chunk 2 of Q1 comes where chunk 1 is expected"),
        ([event(dt="2024-05-01T12:00:00")], "'dt' must name its time zone, as 2024-05-01T12:00:00Z does"),
        ([event(meta={})], "'meta' lacks 'domain', which must be a string"),
        ([event(meta={"domain": "a> b"})], "'domain' of 'meta' must be a host name, not 'a> b'"),
        ([event(operation="delete", **ADD)], "the deletion of Q1 holds triples"),
        ([event(rdf_added_data={"data": ""})], "'rdf_added_data' lacks 'mime_type', which must be a string"),
        ([event(rdf_added_data={"data": "", "mime_type": "text/x"})], "'mime_type' of 'rdf_added_data' must"),
        ([event(added="<urn:s> <urn:p> .")], "'rdf_added_data' is not text/turtle: "),
        ([event(added="<urn:s> <urn:p> [] .")], "'rdf_added_data' holds a blank node, to which no later"),
        ([event("Q1", 1, "diff", deleted="_:b <urn:p> 1 .")], "'rdf_deleted_data' holds a blank node"),
        ([event(added="<s> <urn:p> 1 .")], "'rdf_added_data' holds a relative IRI: <s>"),
        ([event(added="<urn:s> <urn:p> '1'^^<t> .")], "'rdf_added_data' holds a relative IRI: <1>"),
        ([event(added="<urn:a b> <urn:p> 1 .")], "'rdf_added_data' "),
        ([event(added=f"<urn:s> <urn:p> {'[ <urn:p> ' * 5000}1{']' * 5000}.")], "'rdf_added_data' is not"),
    ],
)
def test_bad_event_names_its_line_and_reason(values: list[object], reason: str) -> None:
    """Nothing of it is applied or kept; what comes before and behind it is."""
    entries = read(WIKIDATA, lines(event("Q8", **ADD), *values, event("Q9", **ADD)))
    assert list(entries[0].kept) == ["Q8"]
    assert list(entries[-1].kept) == ["Q9"]
    bad = entries[1:-1]
    assert bad[0].error is not None
    assert bad[0].error.reason.startswith(reason)
    assert all(entry.error is not None and not entry.kept for entry in bad)
    assert 2 <= bad[0].error.line <= 1 + len(values)


ENTITIES = ["Q1", "Q2", "Q11"]
VALUES = st.frozensets(st.integers(0, 4), max_size=4)


@st.composite
def histories(draw: st.DrawFn) -> tuple[str, list[set[tuple[str, str, str]]]]:
    """Draw events of a model of some entities, with what the model holds after each."""
    state: dict[str, frozenset[int]] = {}
    texts: list[str] = []
    states: list[set[tuple[str, str, str]]] = []
    shared: set[int] = set()
    for revision in range(1, draw(st.integers(1, 7))):
        entity, values = draw(st.sampled_from(ENTITIES)), draw(VALUES)
        old = state.get(entity)
        operation = draw(st.sampled_from(["import"] if old is None else ["diff", "delete", "reconcile"]))
        linked = set() if operation == "delete" else draw(VALUES)
        shared |= linked
        added = values if operation in ("import", "reconcile") else values - (old or frozenset())
        deleted = old - values if operation == "diff" and old is not None else frozenset()
        state[entity] = values
        if operation == "delete":
            del state[entity]
            added = deleted = frozenset()
        texts.append(write_event(draw, entity, revision, operation, added, deleted, linked))
        own = {t for name, held in state.items() for value in held for t in model(name, value)}
        states.append(own | set(map(shared_value, shared)))
    return "".join(texts), states


def model(entity: str, value: int) -> list[tuple[str, str, str]]:
    """Give the triples of a value: of the entity, its statement, or its sitelink."""
    iri = f"{ENTITY}{entity}"
    match value % 3:
        case 0:
            return [(iri, "urn:label", f"urn:{value}")]
        case 1:
            statement = f"{ENTITY}statement/{entity}-{value}"
            return [(iri, "urn:claim", statement), (statement, "urn:value", f"urn:{value}")]
    return [(f"https://en.example/{entity}", f"{SCHEMA}about", iri)]


def shared_value(value: int) -> tuple[str, str, str]:
    return f"urn:shared:{value}", "urn:value", f"urn:{value}"


def write_event(
    draw: st.DrawFn, entity: str, revision: int, operation: str, added: Any, deleted: Any, linked: Any
) -> str:
    """Write an event as one chunk, or as one per kind of data."""

    def document(triples: list[tuple[str, str, str]]) -> str:
        return "".join(f"<{s}> <{p}> <{o}> .\n" for s, p, o in triples)

    documents = {
        "added": document([triple for value in sorted(added) for triple in model(entity, value)]),
        "deleted": document([triple for value in sorted(deleted) for triple in model(entity, value)]),
        "linked": document([shared_value(value) for value in sorted(linked)]),
    }
    if operation == "delete" or draw(st.booleans()):
        return lines(event(entity, revision, operation, time=revision, **documents))
    chunks = [{name: text} for name, text in documents.items()]
    return lines(
        *(
            event(entity, revision, operation, time=revision, sequence=i, length=len(chunks), **chunk)
            for i, chunk in enumerate(chunks)
        )
    )


@settings(max_examples=examples(60), deadline=None)
@given(histories(), st.sampled_from(["default", "Oxigraph"]))
def test_random_events_lead_to_the_state_of_the_model(
    history: tuple[str, list[set[tuple[str, str, str]]]], engine: str
) -> None:
    """After each event the mirror holds what the entities have and ever shared, in any engine."""
    text, states = history
    graph = Dataset(store=engine)
    found: list[set[tuple[str, ...]]] = []

    def note(_: feeds.Entry) -> None:
        found.append({tuple(str(term) for term in quad[:3]) for quad in graph.quads()})

    rdflive.mirror(graph, io.BytesIO(text.encode()), WIKIDATA, on_entry=note)
    assert found == states
    check_restarts(WIKIDATA, text)


@settings(deadline=None)
@given(
    st.text(alphabet="<>urn:s p1@[](){}'\"\\.;,a_:%^ #\n", max_size=40),
    st.sampled_from(["text/turtle", "application/n-triples"]),
)
def test_any_document_gives_triples_or_a_feed_error(text: str, kind: str) -> None:
    """No text makes the decoder fail in another way, or gives what is no RDF."""
    for entry in read(WIKIDATA, lines(event(rdf_added_data={"data": text, "mime_type": kind}))):
        for _, quad in entry.batch.changes:
            assert isinstance(quad.predicate, URIRef)
            assert quad.graph is None
