"""What would ask another host is refused, and nothing else reaches the parsers of rdflib and Oxigraph."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
import rdflib
from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from rdflib.plugins.sparql.algebra import traverse
from rdflib.plugins.sparql.parser import parseQuery, parseUpdate
from rdflib.plugins.sparql.parserutils import CompValue

from rdflive.errors import QuerySyntaxError
from rdflive.server.failures import Problem
from rdflive.server.sparql.guards import check
from rdflive.syntax.reader import read_query, read_update
from rdflive.syntax.writing import write
from support.effort import examples
from support.event_server import event_server
from support.protocol import answered, updated
from support.serving import serving

pyoxigraph = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")

REMOTE = [
    ("ASK { SERVICE <http://e/> { ?s ?p ?o } }", 1, 7),
    ("ASK { ?s ?p ?o .\n OPTIONAL { sErViCe\n#\n<http://e/> { } } }", 2, 13),
    ("ASK{SERVICE SILENT<http://e/>{}}", 1, 5),
    ("PREFIX : <urn:x:> ASK{?s ?p true.SERVICE :a{}}", 1, 34),
    ("ASK{?s ?p 1.SERVICE<http://e/>{}}", 1, 13),
    ("ASK { # \r SERVICE <http://e/> {} }", 1, 11),
    ("SELECT (EXISTS { SERVICE <http://e/> {} } AS ?x) { }", 1, 18),
    ("ASK { FILTER(1 IN (2, IF(NOT EXISTS { { SELECT * { SERVICE ?s {} } } }, 1, 2))) }", 1, 52),
    ("SELECT * { ?s ?p ?o } ORDER BY (EXISTS { SERVICE <http://e/> {} })", 1, 42),
    ("DESCRIBE ?s { GRAPH ?g { { ?s ?p ?o } UNION { SERVICE <http://e/> {} } } }", 1, 47),
]
REMOTE_UPDATES = [
    ("LOAD <http://e/>", 1, 1),
    ("load<http://e/>", 1, 1),
    ("PREFIX load: <urn:x:> LOAD SILENT load:a INTO GRAPH <urn:g>", 1, 23),
    ("INSERT DATA { <urn:a> <urn:p> 1 } ;\nLOAD SILENT<http://e/>", 2, 1),
    ("DELETE { ?s ?p ?o } WHERE { SERVICE <http://e/> { ?s ?p ?o } }", 1, 29),
]
UNREAD = [
    "ASK { ſERVICE <http://e/> {} }",
    'ASK {#\r"""\n SERVICE <http://e/> {} #"""\n}',
    "ASK{?x ?y ?a,?b FILTER(?a<?b)SERVICE?s#>\n{}}",
    "ASK{SERVICESILENT<http://e/>{}}",
    "PREFIX x: <urn:x:> ASK{SERVICEx:a{}}",
    "PREFIX : <urn:x:> ASK{?s ?p true.SERVICE:a{}}",
    "ASK{?s ?p trueSERVICE<http://e/>{}}",
    "ASK { SERVICE ?、 {} }",
    "ASK { \\u0053ERVICE <http://e/> {} }",
    "ASK { ?a ?b ?c . \\U00000053ERVICE <http://e/> {} }",
    "\\u0041SK { ?a ?b '\\u00e9' . \\u0053ERVICE <http://e/> {} }",
]
UNREAD_UPDATES = ["LOADSILENT<http://e/>", "PREFIX x: <urn:x:> LOADx:a", "\\u004cOAD <http://e/>"]
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
    "PREFIX load: <urn:load:a#> INSERT DATA { load:a load:b 'LOAD <http://e/>' ; load:c payload:d }",
    "PREFIX load: <http://e/l#>\nWITH load:a DELETE { ?s load:b ?o } USING load:c WHERE { ?s load:b ?load }",
    "CLEAR GRAPH load:a ; COPY SILENT load:a TO load:b ; MOVE load:a TO DEFAULT # LOAD <http://e/>",
]
NAMES = {name: f"http://e/{name}#" for name in ("", "service", "load", "payload")}


def checked(text: str, *, is_update: bool = False) -> str:
    """Read and check a text; gives what engines would be given."""
    tree = read_update(text, NAMES) if is_update else read_query(text, NAMES)
    check(tree, text)
    return write(tree)


@pytest.mark.parametrize("is_update", [False, True])
def test_guard_refuses_requests_with_their_place(is_update: bool) -> None:
    """What asks another endpoint or fetches a document is refused with 403 and the place of the keyword."""
    for text, line, column in REMOTE_UPDATES if is_update else REMOTE:
        with pytest.raises(Problem, match=r"SERVICE|LOAD") as caught:
            checked(text, is_update=is_update)
        assert (caught.value.status, caught.value.line, caught.value.column) == (403, line, column), text
    for text in UNREAD_UPDATES if is_update else UNREAD:
        with pytest.raises(QuerySyntaxError):
            checked(text, is_update=is_update)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("<urn:f>(?o)", "<urn:f> (line 1, column 23) is not a known function"),
        (
            "REGEX(?o, '(?i)a')",
            "REGEX (line 1, column 23) has '(?i)a', which cannot be matched as XPath defines",
        ),
    ],
)
def test_guard_refuses_calls_that_are_errors_of_each_row(call: str, reason: str) -> None:
    """An engine would answer with no row, and say nothing."""
    for text, is_update in (
        (f"ASK {{ ?s ?p ?o FILTER({call}) }}", False),
        (f"DELETE WHERE {{ ?s ?p ?o }} ; DELETE {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o FILTER({call}) }}", True),
    ):
        with pytest.raises(Problem, match=r"is not |cannot be matched") as caught:
            checked(text, is_update=is_update)
        assert caught.value.status == 400
        assert caught.value.column == text.index(call) + 1
        assert is_update or caught.value.detail.startswith(reason)


def test_guard_lets_names_and_literals_pass() -> None:
    """The words in literals, IRIs, comments, variables and names are no clauses."""
    for text in LOCAL:
        checked(text)
    for text in LOCAL_UPDATES:
        checked(text, is_update=True)


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
SEEDS = st.sampled_from(
    [text for text, _, _ in (*REMOTE, *REMOTE_UPDATES)] + UNREAD + UNREAD_UPDATES + LOCAL + LOCAL_UPDATES
)


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


@settings(max_examples=examples(1000))
@given(texts())
@example("PREFIX x:<urn:x:>ASK{?s?p x:a FILTER(?s<?o)x:SERVICE x:a x:b#>\n}")
@example('ASK { ?s ?p "\\\\u0022 } SERVICE <http://127.0.0.1:1/> { #", "}" }')
@example("INSERT DATA { <urn:a> <urn:p> '\\\\u0027 } ; LOAD <http://127.0.0.1:1/> ; # ' }")
def test_no_engine_is_given_a_request_to_another_host(text: str) -> None:
    """What is written of a text that passes is read without SERVICE and LOAD by rdflib and Oxigraph."""
    for is_update in (False, True):
        with suppress(QuerySyntaxError, Problem):
            written = checked(text, is_update=is_update)
            event("an update passes" if is_update else "a query passes")
            assert not remote_for_rdflib(written), written
            assert not remote_for_oxigraph(written), written


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
        for text in [*(text for text, *_ in REMOTE), *UNREAD]:
            assert answered(server, text.replace("http://e/", url)).status in (400, 403), text
        for text in [*(text for text, *_ in REMOTE_UPDATES), *UNREAD_UPDATES]:
            assert updated(server, text.replace("http://e/", url)).status in (400, 403), text
        for text in (f"FROM <{url}> {{ ?s ?p ?o }}", f"FROM NAMED <{url}> {{ GRAPH ?g {{ ?s ?p ?o }} }}"):
            assert answered(server, "ASK " + text).json["boolean"] is False
        assert answered(server, "ASK { ?s ?p ?o }", ("default-graph-uri", url)).json["boolean"] is False
        updated(server, f"INSERT {{ ?s ?p 1 }} USING <{url}> WHERE {{ ?s ?p ?o }}")
        text = "INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }"
        assert updated(server, text, ("using-graph-uri", url)).status == 204
        assert not other.asked


NESTED = {
    "groups": (148, "ASK { ", "{ ", "?s ?p ?o", " }", " }"),
    "OPTIONAL": (148, "ASK { ", "?s ?p ?o OPTIONAL { ", "?s ?p ?o", " }", " }"),
    "EXISTS": (98, "ASK { ", "FILTER(EXISTS { ", "?s ?p ?o", " })", " }"),
    "subqueries": (74, "ASK { ", "{ SELECT * { ", "?s ?p ?o", " } }", " }"),
    "IF": (296, "ASK { FILTER(", "IF(1, 2, ", "1", ")", ") }"),
    "not": (296, "ASK { FILTER(", "!", "1", "", ") }"),
    "IN": (296, "ASK { FILTER(", "1 IN (", "1", ")", ") }"),
    "paths": (148, "ASK { ?s ", "(", "<urn:p>", "/<urn:q>)*", " ?o }"),
    "triples": (296, "ASK { ?s ?p ", "<<( <urn:a> <urn:b> ", "1", " )>>", " }"),
}
"""By kind, so many levels that pass, and how they are written."""


@pytest.mark.parametrize("kind", NESTED)
def test_nesting_has_a_limit_that_oxigraph_survives(kind: str) -> None:
    """The deepest text that passes is answered in a thread, and one more level is refused with its place."""
    levels, begin, opening, middle, closing, end = NESTED[kind]
    deepest, deeper, hostile = (
        begin + opening * times + middle + closing * times + end for times in (levels, levels + 1, 40_000)
    )
    written = checked(deepest)
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(lambda: pyoxigraph.Store().query(written) is not None).result()
    for text in (deeper, hostile):
        with pytest.raises(Problem, match="is nested too deeply") as caught:
            checked(text)
        assert (caught.value.status, caught.value.line) == (400, 1)
        # where the node begins that is too deep; terms are no nodes, and their block tells
        assert caught.value.column > len("ASK { ")


def test_groups_beside_each_other_are_not_nested() -> None:
    """As many of them as one likes pass, and of brackets that make no nodes."""
    checked("ASK { " + "{ ?s ?p 1 } " * 1000 + "}")
    checked("ASK { FILTER(" + " + ".join("1" * 1000) + " > 0) }")
    checked("ASK { FILTER(" + "(" * 1000 + "1" + ")" * 1000 + ") }")
    checked("ASK { " + "<< " * 1000 + "<urn:a>" + " <urn:b> 1 >>" * 1000 + " }")
