"""What would ask another host is refused, as the parsers of rdflib and Oxigraph read it."""

from __future__ import annotations

from contextlib import suppress

import pytest
import rdflib
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rdflib.plugins.sparql.algebra import traverse
from rdflib.plugins.sparql.parser import parseQuery, parseUpdate
from rdflib.plugins.sparql.parserutils import CompValue

from rdflive.server.failures import Problem
from rdflive.server.sparql.guards import refuse_deep, refuse_remote
from support.effort import examples
from support.event_server import event_server
from support.protocol import answered, updated
from support.serving import serving

pyoxigraph = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")

REMOTE = [
    ("ASK { SERVICE <http://e/> { ?s ?p ?o } }", 1, 7),
    ("ASK { ?s ?p ?o .\n OPTIONAL { sErViCe\n#\n<http://e/> { } } }", 2, 13),
    ("ASK{SERVICESILENT<http://e/>{}}", 1, 5),
    ("PREFIX x: <urn:x:> ASK{SERVICEx:a{}}", 1, 24),
    ("PREFIX : <urn:x:> ASK{?s ?p true.SERVICE:a{}}", 1, 34),
    ("ASK{?s ?p trueSERVICE<http://e/>{}}", 1, 15),
    ("ASK{?s ?p 1.SERVICE<http://e/>{}}", 1, 13),
    ("ASK{?x ?y ?a,?b FILTER(?a<?b)SERVICE?s#>\n{}}", 1, 30),
    ("ASK{?x ?y ?a FILTER(?a<<http://e/'>)SERVICE<http://e/>{}FILTER(?a='')}", 1, 37),
    ("ASK { # \r SERVICE <http://e/> {} }", 1, 11),
    ('ASK {#\r"""\n SERVICE <http://e/> {} #"""\n}', 2, 2),
    ("ASK { SERVICE ?、 {} }", 1, 7),
    ("ASK { \\u0053ERVICE <http://e/> {} }", 1, 7),
    ("ASK { ?a ?b ?c . \\U00000053ERVICE <http://e/> {} }", 1, 18),
    ("\\u0041SK { ?a ?b '\\u00e9' . \\u0053ERVICE <http://e/> {} }", 1, 29),
    ("ASK { ſERVICE <http://e/> {} }", 1, 7),
]
REMOTE_UPDATES = [
    ("LOAD <http://e/>", 1, 1),
    ("load<http://e/>", 1, 1),
    ("PREFIX load: <urn:x:> LOAD SILENT load:a INTO GRAPH <urn:g>", 1, 23),
    ("INSERT DATA { <urn:a> <urn:p> 1 } ;\nLOADSILENT<http://e/>", 2, 1),
    ("PREFIX x: <urn:x:> LOADx:a", 1, 20),
    ("\\u004cOAD <http://e/>", 1, 1),
    ("DELETE { ?s ?p ?o } WHERE { SERVICE <http://e/> { ?s ?p ?o } }", 1, 29),
]
LOCAL = [
    'SELECT ?s { ?s :service "SERVICE <http://e/> {}" } # SERVICE <http://e/> {}',
    "PREFIX service: <http://e/service#> SELECT ?x { GRAPH service:a { ?x service:b ?service } }",
    "PREFIX service: <http://e/service#>\nDESCRIBE service:a service:b",
    "SELECT * FROM service:a FROM NAMED service:b { ?s <http://e/service> ?o . service:a ?p ?o }",
    "ASK { ?s <http://e/load?x> ?o FILTER(?s<?o && ?o > 3) }",
    "SELECT ?service { ?s a 'it is a SERVICE <http://e/> { }' ; ?p <http://e/it's> }",
    "ASK { _:service.a ?p $service }",
]
LOCAL_UPDATES = [
    *LOCAL[5:],
    "PREFIX load: <urn:load:a#> INSERT DATA { load:a load:b 'LOAD <http://e/>' ; load:c payload:d }",
    "PREFIX load: <http://e/l#>\nWITH load:a DELETE { ?s load:b ?o } USING load:c WHERE { ?s load:b ?load }",
    "CLEAR GRAPH load:a ; COPY SILENT load:a TO load:b ; MOVE load:a TO DEFAULT # LOAD <http://e/>",
]


@pytest.mark.parametrize("is_update", [False, True])
def test_guard_refuses_requests_with_their_place(is_update: bool) -> None:
    """What asks another endpoint or fetches a document is refused with 403 and the place of the keyword."""
    for text, line, column in REMOTE_UPDATES if is_update else REMOTE:
        with pytest.raises(Problem, match=r"SERVICE|LOAD") as caught:
            refuse_remote(text, is_update=is_update)
        assert (caught.value.status, caught.value.line, caught.value.column) == (403, line, column), text


def test_guard_lets_names_and_literals_pass() -> None:
    """The words in literals, IRIs, comments, variables and names are no clauses."""
    for text in LOCAL:
        refuse_remote(text)
    for text in LOCAL_UPDATES:
        refuse_remote(text, is_update=True)


PIECES = st.sampled_from(
    [
        "SERVICE", "service", "SERVICESILENT", "LOAD", "loadsilent", "SILENT", "<http://127.0.0.1:1/>", "x:a",
        ":a", "x:SERVICE", "load:a", "?s", "?p", "?o", "?service", "{", "}", "{}", "{", "}", "(", ")", ".",
        ";", "true", "1", "1.5", "'a'", '"""', '"', "'", "\\u0053", "\\u004c", "#", "#>", "\n", "\r", " ",
        " ", "<", ">", "FILTER(", "?s<?o", "GRAPH", "OPTIONAL", "ASK", "WHERE", "INSERT", "DATA", "DELETE",
        "PREFIX x:<urn:x:>", "@en", "_:b", "INTO", "COPY", "TO", "a", ",", "BIND(", "AS", "^^", "FROM",
        "DESCRIBE",
    ]
)  # fmt: skip
SEEDS = st.sampled_from([text for text, _, _ in (*REMOTE, *REMOTE_UPDATES)] + LOCAL + LOCAL_UPDATES)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Put pieces into a text at random places, or between the braces of a query."""
    pieces = draw(st.lists(PIECES, max_size=8))
    if draw(st.booleans()):
        return "PREFIX x:<urn:x:>PREFIX :<urn:y:>ASK{" + "".join(pieces) + "}"
    text = draw(SEEDS)
    for piece in pieces[:3]:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + piece + text[at + draw(st.integers(0, 2)) :]
    return text


@settings(max_examples=examples(400))
@given(texts())
@example("PREFIX x:<urn:x:>ASK{?s?p x:a FILTER(?s<?o)SERVICE x:a#>\n{}}")
def test_guard_refuses_what_the_parsers_take_for_a_request(text: str) -> None:
    """What rdflib's or Oxigraph's parser reads as SERVICE or LOAD is refused."""
    if remote_for_rdflib(text) or remote_for_oxigraph(text):
        with pytest.raises(Problem):
            refuse_remote(text, is_update=True)


def remote_for_rdflib(text: str) -> bool:
    """Tell by rdflib's syntax tree."""
    found = []

    def look(node: object) -> None:
        if isinstance(node, CompValue) and node.name in ("ServiceGraphPattern", "Load"):
            found.append(node)

    for parse in (parseQuery, parseUpdate):
        with suppress(Exception):
            traverse(parse(text), visitPre=look)
    return bool(found)


def remote_for_oxigraph(text: str) -> bool:
    """Tell by asking an empty store: another endpoint cannot be reached, and SILENT is taken out."""
    for run in (lambda store, text: list(store.query(text)), pyoxigraph.Store.update):
        # first as it is: what is no SPARQL may be some without the word
        for variant in dict.fromkeys((text, *(text.replace(word, "") for word in ("SILENT", "silent")))):
            store = pyoxigraph.Store()
            store.add(pyoxigraph.Quad(*[pyoxigraph.NamedNode("urn:x:a")] * 3))
            try:
                run(store, variant)
            except OSError:
                return True
            except SyntaxError:
                if variant == text:
                    break
            except Exception:  # noqa: BLE001 - not to be evaluated
                continue
    return False


@pytest.mark.posix("the server forks")
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_no_request_reaches_another_host(store: str) -> None:
    """Whatever a query or update says, no connection goes out."""
    with event_server() as other, serving(rdflib.Dataset(store)) as server:
        other.play(lambda wire: None)
        url = f"{other.url}/"
        for text, *_ in REMOTE:
            assert answered(server, text.replace("http://e/", url)).status in (400, 403), text
        for text, *_ in REMOTE_UPDATES:
            assert updated(server, text.replace("http://e/", url)).status in (400, 403), text
        for text in (f"FROM <{url}> {{ ?s ?p ?o }}", f"FROM NAMED <{url}> {{ GRAPH ?g {{ ?s ?p ?o }} }}"):
            assert answered(server, "ASK " + text).json["boolean"] is False
        assert answered(server, "ASK { ?s ?p ?o }", ("default-graph-uri", url)).json["boolean"] is False
        updated(server, f"INSERT {{ ?s ?p 1 }} USING <{url}> WHERE {{ ?s ?p ?o }}")
        text = "INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }"
        assert updated(server, text, ("using-graph-uri", url)).status == 204
        assert not other.asked


def test_brackets_beside_each_other_are_not_nested() -> None:
    """As many of them as one likes pass, and one more inside of the others than there may be does not."""
    refuse_deep("ASK { " + "{ ?s ?p 1 } " * 1000 + "}")
    deepest = "{" * 200 + "{ ?s ?p 1 } " * 9 + "}" * 200
    with pytest.raises(Problem, match="nested more than 200 deep at line 1, column 201"):
        refuse_deep(deepest)
    refuse_deep(deepest[1:-1])


def test_triples_in_triples_are_brackets_too() -> None:
    """Oxigraph's parser takes a part of the stack for each, and with enough of them the server's life."""
    for opening, closing in (("<<( <urn:a> <urn:b> ", " )>>"), ("<< <urn:a> <urn:b> ", " >>")):
        begin, end = "INSERT DATA { <urn:s> <urn:p> ", " }"
        refuse_deep(begin + opening * 150 + "1" + closing * 150 + end)
        with pytest.raises(Problem, match="nested more than 200 deep"):
            refuse_deep(begin + opening * 40_000 + "1" + closing * 40_000 + end)
