"""Logs of SPARQL updates."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import RDF, XSD, BNode, Dataset, Literal, URIRef

import rdflive
from rdflive import Batch, Change, FeedError, Quad, feeds
from rdflive.feeds import sparql_update
from rdflive.feeds.sparql_update import SPARQL_UPDATE, encode_sparql_update
from rdflive.feeds.terms import UnwritableError
from rdflive.syntax.reader import read_update
from support.decoders import check_restarts, read
from support.effort import examples
from support.feeds import TEXTS
from support.fuzz import check_any_bytes

S, P, E, G = (URIRef(f"http://e/{name}") for name in "spog")
INSERT = "INSERT DATA { <urn:s> <urn:p> 1 }"
IRIS = st.sampled_from([S, P, E, G])  # few, and none that an engine refuses
LITERALS = st.one_of(
    st.builds(Literal, TEXTS), st.builds(Literal, st.integers()), st.builds(Literal, TEXTS, st.just("de-AT"))
)
QUADS = st.builds(Quad, IRIS, IRIS, st.one_of(IRIS, LITERALS), st.one_of(st.none(), IRIS))
CHANGES = st.builds(Change, st.sampled_from([1, -1]), QUADS)


def requests(text: str) -> list[str]:
    """Give the requests of a log; a bad one as its reason."""
    return [
        str(entry.error.reason) if entry.error else "\n".join(line.text for line in entry.frame).strip()
        for entry in read(SPARQL_UPDATE, text)
    ]


@pytest.mark.parametrize(
    "text",
    [
        INSERT,
        f"{INSERT} ;\n\n{INSERT}",
        "PREFIX e: <urn:>\n\nBASE <urn:>\n\nINSERT DATA { e:s e:p 1 }",
        "INSERT DATA {\n\n<urn:s> <urn:p> 1\n\n}",
        'INSERT DATA { <urn:s> <urn:p> """a\n\n{ b } """ }',
        "INSERT DATA { <urn:s> <urn:p> '''a\n\n{ \\''' b''' }",
        'INSERT DATA { <urn:s> <urn:p> """a\nb""" , """c\n\n{ d""" }',
        "INSERT DATA\n\n{ <urn:s> <urn:p> 1 }",
        "WITH <urn:g>\n\nDELETE { ?s ?p 1 }\n\nINSERT { ?s ?p 2 }\n\nWHERE\n\n{ ?s ?p 1 }",
        "COPY GRAPH <urn:g>\n\nTO\n\nDEFAULT",
        "CLEAR SILENT\n\nGRAPH\n\n<urn:g>",
        "CREATE GRAPH <urn:g>",
        "DROP ALL",
        "INSERT DATA { <urn:s> <urn:p> '{', \"}\", <urn:{> }".replace("<urn:{>", "'a;'"),
        "PREFIX e: <urn:>\nINSERT DATA { e:a\\;b e:c\\'d e:e\\#f }",
    ],
)
def test_empty_line_inside_of_a_request_does_not_end_it(text: str) -> None:
    """Between two others the request is one unit, wherever there are empty lines in it."""
    before, found, after = requests(f"{INSERT}\n\n{text}\n\n{INSERT}")
    assert before == after == INSERT
    assert found == text


@pytest.mark.parametrize("empty", ["\n\n", "\r\n\r\n", "\n \t\n", "\n\n\n# why\n\n", "\n\n# { why\n# ; \n"])
def test_empty_line_ends_a_request(empty: str) -> None:
    """Any number of empty lines and comments stand between requests, and mean nothing."""
    found = requests(f"{empty}{INSERT}{empty}{INSERT}{empty}")
    assert [text.partition("\n")[0] for text in found] == [INSERT, INSERT]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (
            "INSERT DATA { <urn:s> <urn:p> }",
            3,
            "not a SPARQL update at column 31: met '}', expected ",
        ),
        ("SELECT * { ?s ?p ?o }", 3, "not a SPARQL update at column 1: met 'SELECT'"),
        (f"{INSERT}\n{INSERT}", 4, "not a SPARQL update at column 1: met 'INSERT'"),
        ("INSERT DATA { <urn:s>\ne:p }", 4, "not a SPARQL update at column 5: met '}'"),
        ("CLEAR ALL ;\nLOAD <urn:x>", 4, "LOAD cannot be replayed, because its source may have changed"),
        ("CLEAR ALL ;\nload silent <urn:x> into graph <urn:g>", 4, "LOAD cannot be replayed"),
        ("INSERT { ?s <urn:p> 1 }\nWHERE { SERVICE <urn:x> { ?s ?p ?o } }", 4, "SERVICE cannot be replayed"),
        ("INSERT { ?s <urn:p> ?n } WHERE { ?s ?p ?o BIND(now() AS ?n) }", 3, "NOW cannot be replayed"),
        ("DELETE { ?s ?p ?o }\nWHERE { ?s ?p ?o\nFILTER(?o IN (1, rand())) }", 5, "RAND cannot be replayed"),
        ("INSERT { ?s e:p ?n } WHERE { BIND(IRI(STRUUID()) AS ?n) }", 3, "STRUUID cannot be replayed"),
        ("INSERT { ?s e:p ?n } WHERE { { SELECT (UUID() AS ?n) { } } }", 3, "UUID cannot be replayed"),
        ("INSERT DATA { ?s <urn:p> 1 }", 3, "not a SPARQL update at column 15: ?s is a variable"),
        (
            "DELETE DATA {\nGRAPH $g { <urn:s> <urn:p> 1 } }",
            4,
            "not a SPARQL update at column 7: $g is a variable",
        ),
        (
            "DELETE DATA { _:b <urn:p> 1 }",
            3,
            "not a SPARQL update at column 15: deleted triples cannot have",
        ),
        (
            "DELETE { ?s <urn:p> (1) } WHERE { ?s ?p ?o }",
            3,
            "not a SPARQL update at column 22: deleted triples",
        ),
        ("INSERT DATA {\n<s> <urn:p> 1 }", 4, "<s> is a relative IRI, and the request has no BASE"),
        (
            "BASE <x/>\nINSERT DATA { <s> <urn:p> 1 }",
            3,
            "<x/s> is a relative IRI, and the request has no BASE",
        ),
        ("INSERT DATA { <urn:s> <urn:p> ''^^<t> }", 3, "<t> is a relative IRI, and the request has no BASE"),
        ("INSERT { } WHERE { ?s <urn:p>/<p>* ?o }", 3, "<p> is a relative IRI, and the request has no BASE"),
        ("INSERT DATA { <urn:\\u0020> <urn:p> 1 }", 3, "<urn: > is not a valid IRI"),
        (
            "INSERT DATA { <urn:s> <urn:p> '\\q' }",
            3,
            "not a SPARQL update at column 31: \\q is not an escape",
        ),
        (
            "INSERT DATA { <urn:s> <urn:p> '\\uD800' }",
            3,
            "not a SPARQL update at column 31: the escape \\uD800",
        ),
        (
            "PREFIX e: <urn:>\nINSERT DATA { e:\\u0061 e:p 1 }",
            4,
            "not a SPARQL update at column 15: \\u is not an",
        ),
        ("CLEAR ALL ; LO\\u0041D <urn:x>", 3, "not a SPARQL update at column 13: met 'LO'"),
        (f"INSERT {{}} WHERE {'{' * 3000}{'}' * 3000}", 3, "the SPARQL update is nested too deeply"),
        (f"INSERT {{}} WHERE {{ FILTER({'!' * 3000}?x) }}", 3, "the SPARQL update is nested too deeply"),
    ],
)
def test_bad_request_names_its_line_and_reason(text: str, line: int, reason: str) -> None:
    """It does nothing, and the requests around it are read."""
    entries = read(SPARQL_UPDATE, f"{INSERT}\n\n{text}\n\n{INSERT}\n")
    errors = [entry.error for entry in entries]
    assert [error is None for error in errors] == [True, False, True]
    assert errors[1] is not None
    assert errors[1].reason.startswith(reason)
    assert errors[1].line == line
    assert entries[1].updates == entries[1].batch.changes == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *(
            (text, "the request is not complete, so it is not applied")
            for text in (f"{INSERT} ;", "BASE <urn:>")
        ),
        *(
            (f"{INSERT} ; {text}", "the request is not complete")
            for text in ("# ;", "PREFIX e: <urn:> # all")
        ),
        *(
            (text, "not a SPARQL update at column")
            for text in ("INSERT DATA {", "INSERT {} ", "COPY <urn:g>")
        ),
        *((text, "not a SPARQL update at column") for text in ("DELETE", "CLEAR")),
    ],
)
def test_request_that_the_feed_cuts_short_is_refused(text: str, reason: str) -> None:
    """What may be half of a request is not applied, also where it is a request by itself."""
    good, bad = requests(f"{INSERT}\n\n{text}")
    assert good == INSERT
    assert bad.startswith(reason)


@pytest.mark.parametrize("text", [f"{INSERT} # ;", f"{INSERT}\n# PREFIX e: <urn:>"])
def test_comment_behind_a_request_is_no_part_of_another(text: str) -> None:
    """The request is complete."""
    assert requests(text) == [text]


def test_empty_list_names_something_in_what_is_deleted() -> None:
    """It is an IRI, rdf:nil, where a list with members is made of blank nodes."""
    (entry,) = read(SPARQL_UPDATE, "DELETE DATA { <urn:s> <urn:p> () }")
    assert [str(change.quad.object) for change in entry.batch.changes] == [str(RDF.nil)]
    (reason,) = requests("DELETE DATA { <urn:s> <urn:p> ( 1 ) }")
    assert "deleted triples cannot have blank nodes" in reason


NAMES = "PREFIX : <http://e/> "


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("INSERT DATA { :s :p :o }", [Change(1, Quad(S, P, URIRef("http://e/o")))]),
        ("DELETE DATA { :s :p 1 GRAPH :g { :s :p 'x'@en } }",
         [Change(-1, Quad(S, P, Literal(1))), Change(-1, Quad(S, P, Literal("x", "en"), G))]),
        ("INSERT DATA { :s :p '01'^^:t } ; DELETE DATA { :s :p -0.5 }",
         [Change(1, Quad(S, P, Literal("01", datatype=URIRef("http://e/t")))),
          Change(-1, Quad(S, P, Literal("-0.5", datatype=XSD.decimal)))]),
        ("INSERT DATA { GRAPH :g { } }", []),
        ("INSERT DATA { :s :p _:b }", None),
        ("INSERT DATA { _:b :p :s }", None),
        ("INSERT DATA { :s :p [ :p 1 ] }", None),
        ("INSERT DATA { :s :p 'x'@ar--rtl }", None),
        ("INSERT DATA { :s :p <<( :s :p :o )>> }", None),
        ("INSERT DATA { :s :p :o } ; CLEAR ALL", None),
        ("DELETE WHERE { :s :p :o }", None),
        ("INSERT DATA { :s :p rdf:nil }", None),
        ("INSERT DATA { :s e:p :o }", None),
    ],
)  # fmt: skip
def test_ground_data_is_changes_and_all_else_is_text(text: str, changes: list[Change] | None) -> None:
    """A prefix that the request does not declare may be the graph's, so it is for the store to resolve."""
    (entry,) = read(SPARQL_UPDATE, NAMES + text)
    assert entry.error is None
    assert entry.updates == (() if changes is not None else (NAMES + text,))
    assert list(entry.batch.changes) == (changes or [])


def test_line_that_is_no_text_costs_its_own_request_only() -> None:
    """The next empty line ends the request, whatever is open."""
    content = f"INSERT DATA {{\n\xff\n\n{INSERT}\n".encode("latin-1")
    first, second = feeds.read_entries(SPARQL_UPDATE, feeds.to_lines(io.BytesIO(content), "feed"), "feed")
    assert first.error is not None
    assert (first.error.line, first.error.offset) == (2, 14)
    assert second.batch.changes == read(SPARQL_UPDATE, INSERT)[0].batch.changes != ()


def test_prefix_of_the_graph_is_not_asked_for() -> None:
    """A request may use a prefix that only the graph binds."""
    (entry,) = read(SPARQL_UPDATE, "INSERT DATA { e:s e:p 1 }")
    assert (entry.updates, entry.error) == (("INSERT DATA { e:s e:p 1 }",), None)
    graph = Dataset()
    graph.bind("e", "http://e/")
    rdflive.mirror(graph, io.BytesIO(b"INSERT DATA { e:s e:p e:o }"), SPARQL_UPDATE)
    assert list(graph.default_graph) == [(S, P, E)]


@pytest.mark.parametrize(
    ("text", "times"), [("INSERT { e: }", 2), ("INSERT {", 1), ("INSERT DATA { e:s e:p ( }", 2), (INSERT, 1)]
)
def test_a_request_is_read_again_for_a_prefix_alone(
    text: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wrong with it otherwise is found the first time."""
    read_texts = []

    def reading(*arguments: Any) -> Any:
        read_texts.append(arguments[0])
        return read_update(*arguments)

    monkeypatch.setattr(sparql_update, "read_update", reading)
    read(SPARQL_UPDATE, text)
    assert read_texts == [text] * times


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (r"'\u00e9abcd'", "éabcd"),
        (r"'\\u0041'", r"\u0041"),
        (r"'\\\\U00000041\\u'", r"\\U00000041\u"),
        (r"'\u005Cu0041'", r"\u0041"),
        (r"'\u0022 } ; CLEAR ALL #'", '" } ; CLEAR ALL #'),
        ("'a\tb'", "a\tb"),
        (r"'''a''b\t\n'''", "a''b\t\n"),
        ('"""a\n"\n#b"""', 'a\n"\n#b'),
    ],
)
@pytest.mark.parametrize("engine", ["default", "Oxigraph"])
def test_every_engine_reads_a_string_alike(written: str, expected: str, engine: str) -> None:
    """Escapes, tabs and line ends in strings come through as the log means them, as data or in a template."""
    for text in (
        f"INSERT DATA {{ <urn:s> <urn:p> {written} }}",
        f"INSERT {{ <urn:s> <urn:p> {written} }} WHERE {{ }}",
    ):
        graph = Dataset(store=engine)
        rdflive.mirror(graph, io.BytesIO(text.encode()), SPARQL_UPDATE)
        assert [str(quad[2]) for quad in graph.quads()] == [expected]


@pytest.mark.parametrize("engine", ["default", "Oxigraph"])
def test_comment_cannot_become_an_operation(engine: str) -> None:
    """An escape in a comment, which some engines would expand first, stays a part of the comment."""
    graph = Dataset(store=engine)
    log = "INSERT { <urn:s> <urn:p> 1 } WHERE { } # \\u000A ; CLEAR ALL"
    rdflive.mirror(graph, io.BytesIO(log.encode()), SPARQL_UPDATE)
    assert len(list(graph.quads())) == 1


def test_batch_is_written_as_its_net_changes() -> None:
    """The last change of a quad counts, deletes come first, and graphs are kept apart."""
    first, second = Quad(S, P, Literal("a\n")), Quad(S, P, E, G)
    changes = [Change(1, first), Change(-1, second), Change(-1, first), Change(1, first)]
    assert encode_sparql_update(Batch(tuple(changes))) == (
        "DELETE DATA {\nGRAPH <http://e/g> {\n<http://e/s> <http://e/p> <http://e/o> .\n}\n} ;\n"
        'INSERT DATA {\n<http://e/s> <http://e/p> "a\\n" .\n}\n\n'
    )
    assert encode_sparql_update(Batch(())) == ""


@pytest.mark.parametrize("quad", [Quad(BNode("b"), P, E), Quad(S, P, BNode("b")), Quad(S, P, E, BNode("b"))])
def test_blank_node_is_refused_with_advice(quad: Quad) -> None:
    """An update cannot name it."""
    with pytest.raises(
        UnwritableError, match=r"the blank node _:b cannot be written in a SPARQL update.*RDF Patch"
    ):
        encode_sparql_update(Batch((Change(1, quad),)))


@settings(max_examples=examples(60))
@given(st.lists(st.lists(CHANGES, max_size=4), max_size=3), st.sampled_from(["default", "Oxigraph"]))
def test_log_of_batches_leads_to_their_state(batches: list[list[Change]], engine: str) -> None:
    """Random batches, written and mirrored, leave the quads that applying them in order leaves."""
    log = "".join(encode_sparql_update(Batch(tuple(changes))) for changes in batches)
    graph, model = Dataset(store=engine), Dataset(store=engine)
    done = rdflive.mirror(graph, io.BytesIO(log.encode()), SPARQL_UPDATE)
    for changes in batches:
        for sign, quad in changes:
            target = model.graph(quad.graph) if quad.graph else model.default_graph
            (target.add if sign > 0 else target.remove)(tuple(quad[:3]))
    assert done.entries == sum(bool(changes) for changes in batches)
    assert set(graph.quads()) == set(model.quads())
    check_restarts(SPARQL_UPDATE, log)


@given(st.text(alphabet=" \t\n\"'\\<>{};#?_:.@au0INSERTDAWHLOBCG", max_size=60))
def test_any_text_gives_requests_or_a_feed_error(text: str) -> None:
    """No text makes the decoder fail in another way."""
    check_any_bytes(SPARQL_UPDATE, text.encode())
    with suppress(FeedError):
        list(feeds.decode(SPARQL_UPDATE, text.split("\n")))
