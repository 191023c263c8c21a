"""The patterns of a SPARQL update cover whatever it changes, and no more than they must."""

from __future__ import annotations

import random
import re
from operator import attrgetter
from typing import Any

import pytest

pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")

from pyoxigraph import CanonicalizationAlgorithm, Dataset, DefaultGraph, NamedNode, Quad, Store

from rdflive.store import WriteRefusedError
from rdflive_stores.oxigraph.request import execute
from rdflive_stores.oxigraph.terms import canonical
from rdflive_stores.oxigraph.update import ANYTHING, Request
from support.effort import drawn_from, rounds
from support.oxigraph import followed

EX = "urn:example:"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
EVERYTHING = ["* * * *"]

# Update request -> what it may touch: subject, predicate, object, graph; `-` is the default graph.
TOUCHED: dict[str, list[str]] = {
    # data
    "INSERT DATA { e:a e:p e:b }": ["a p b -"],
    "DELETE DATA { e:a e:p e:b . e:a e:q e:b . }": ["a p b -", "a q b -"],
    "INSERT DATA { e:a e:p e:b, e:c ; e:q e:b ; }": ["a p b -", "a p c -", "a q b -"],
    "INSERT DATA { GRAPH e:g { e:a e:p e:b . } . e:c e:p e:d }": ["a p b g", "c p d -"],
    "INSERT DATA { e:a e:p e:b ; GRAPH e:g { } }": ["a p b -"],
    "INSERT DATA { }": [],
    # literals as the store spells them, blank nodes are new ones
    "INSERT DATA { e:a e:p 1 }": ["a p 1^integer -"],
    "INSERT DATA { e:a e:p 1. e:b e:p 01.5 }": ["a p 1^integer -", "b p 1.5^decimal -"],
    "INSERT DATA { e:a e:p -5, +1e3, true, '01'^^<http://www.w3.org/2001/XMLSchema#byte> }": [
        *("a p -5^integer -", "a p 1000^double -", "a p true^boolean -", "a p 1^integer -"),
    ],
    "INSERT DATA { e:a e:p 'x'@en, \"y\"@en--ltr, '''z'''^^e:t, 'w'^^<urn:t> }": [
        *("a p x@en -", "a p y@en -", "a p z^t -", "a p w^urn:t -"),
    ],
    "INSERT DATA { e:a e:p '\\n', '\u00e9'@EN, '''\r\n''', \"\"\"\"'\"\"\", '' }": [
        *("a p \n^string -", "a p \u00e9@en -", "a p \r\n^string -", "a p \"'^string -", "a p ^string -"),
    ],
    "INSERT DATA { e:a e:p '} ; DELETE DATA { e:c e:p e:d' }": ["a p } ; DELETE DATA { e:c e:p e:d^string -"],
    "INSERT DATA { _:b e:p e:c }": ["* p c -"],
    # templates
    "DELETE WHERE { ?s e:p ?o }": ["* p * -"],
    "DELETE { ?s e:p ?o } INSERT { ?s e:q ?o } WHERE { ?s e:p ?o }": ["* p * -", "* q * -"],
    "INSERT { ?s e:q e:b } WHERE { { ?s e:p ?o } UNION { ?s a [ e:q (1 2) ] } }": ["* q b -"],
    "WITH e:g DELETE { ?s e:p ?o } INSERT { GRAPH e:h { ?s e:q ?o } } WHERE { ?s e:p ?o }": [
        "* p * g",
        "* q * h",
    ],
    "DELETE { e:a e:p ?o } USING e:g USING NAMED <urn:example:h> WHERE { ?s ?p ?o }": ["a p * -"],
    "INSERT { e:a e:p ?o } WHERE { ?o e:p '}' FILTER(?o != e:b && ?o < 5) }": ["a p * -"],
    "INSERT { e:a e:p ?o } WHERE { VALUES (?o ?x) { (<http://e/x#1> <http://e/y#2>) } }": ["a p * -"],
    "DELETE { e:a e:p ?o } WHERE { ?s e:p/e:q*|^<urn:example:p> ?o . # } ; CLEAR ALL\n }": ["a p * -"],
    # whole graphs
    "CLEAR ALL": EVERYTHING,
    "CLEAR DEFAULT": ["* * * -"],
    "CLEAR SILENT GRAPH e:g": ["* * * g"],
    "DROP GRAPH <urn:example:g>": ["* * * g"],
    "DROP SILENT DEFAULT": ["* * * -"],
    "CREATE GRAPH e:new": [],
    "COPY SILENT GRAPH e:g TO GRAPH e:h": ["* * * h"],
    "MOVE DEFAULT TO e:h": ["* * * h", "* * * -"],
    "ADD e:g TO e:h": ["* * * h"],
    "LOAD SILENT <http://e.invalid/x> INTO GRAPH e:g": ["* * * g"],
    # several operations, and their names
    "INSERT DATA { e:a e:p e:b } ; DELETE WHERE { e:c ?p ?o } ;": ["a p b -", "c * * -"],
    "INSERT DATA { e:a e:p e:b } ; CLEAR GRAPH e:g ; CLEAR ALL": EVERYTHING,
    "PREFIX e: <urn:example:x> INSERT DATA { e:a <urn:example:p> e:b }": ["xa p xb -"],
    "PREFIX : <urn:example:> INSERT DATA { :a :p :b.c }": ["a p b.c -"],
    "BASE <urn:example:x> INSERT DATA { <#a> <urn:example:p> <> }": ["x#a p x -"],
    "BASE <http://e/a/b> PREFIX x: <../c/> INSERT DATA { x:d <//f/g> <?h> }": [
        "http://e/c/d http://f/g http://e/a/b?h -"
    ],
    "BASE <http://e/a/> INSERT DATA { <http://e/b/../c> <../d/./e> <f> }": [
        "http://e/b/../c http://e/d/e http://e/a/f -"
    ],
    "BASE <http://e/a/> BASE <b/> INSERT DATA { <c> e:p <http://e/d> }": ["http://e/a/b/c p http://e/d -"],
    'VERSION "1.2" INSERT DATA { e:a e:p e:b }': ["a p b -"],
    r"INSERT DATA { e:a\,b e:p <urn:example:\u0062> }": ["a,b p b -"],
    "": [],
    "# INSERT DATA { e:a e:p e:b }": [],
    # nodes without names, and triples as terms
    "INSERT DATA { [] e:p e:b }": ["* p b -"],
    "INSERT DATA { e:a e:p [ e:q 1 ] }": ["a p * -", "* q 1^integer -"],
    "INSERT DATA { e:a e:p ( 1 ) }": ["a p * -", "* first 1^integer -", "* rest nil -"],
    "INSERT DATA { e:a e:p <<( e:a e:p e:b )>> }": ["a p * -"],
    "INSERT DATA { e:a e:p e:b {| e:q 1 |} }": ["a p b -", "* reifies * -", "* q 1^integer -"],
    "INSERT { ?r e:q 1 } WHERE { << ?s ?p ?o ~ ?r >> e:q ?x }": ["* q 1^integer -"],
    # for Oxigraph alone to read: SPARQL takes `<?o#>` for an IRI
    "INSERT { e:a e:p 1 } WHERE { FILTER(?s<?o#>'''\n) } ; "
    "INSERT { e:x e:p 1 } WHERE { FILTER(1=1 #'''\n) }": EVERYTHING,
    "INSERT { e:a e:p 1 } WHERE { FILTER('a'<'x>') }": EVERYTHING,
    "INSERT { e:a e:p ?o } WHERE { ?s e:p ?x LATERAL { BIND(?x AS ?o) } }": EVERYTHING,
    "INSERT DATA { e:a e:p - 5 }": EVERYTHING,
}

REFUSED = (
    "INSERT DATA { e:a e:p }",
    "INSERT DATA { e:a e:p e:b",
    "INSERT DATA { e:a e:p e:b } INSERT DATA { e:c e:p e:d }",
    "INSERT DATA { e:a e:p 'unfinished }",
    "DELETE WHERE { e:a e:p/e:q ?o }",
    "DELETE { ?s ?p ?o } WHERE { ( }",
    "SELECT ?s { ?s ?p ?o }",
    "ADD e:g INTO e:h",
    "INSERT",
    "WITH",
)


def spell(term: Any) -> str:
    """Write an IRI without its namespace, or a literal with its language or datatype."""
    if isinstance(term, NamedNode):
        return term.value.removeprefix(EX).removeprefix(RDF)
    datatype = term.datatype.value.rpartition("#")[2].removeprefix(EX)
    return f"{term.value}@{term.language}" if term.language else f"{term.value}^{datatype}"


def show(pattern: Any) -> str:
    """Write a pattern in the short form of the tables."""
    names = {None: "*", DefaultGraph(): "-"}
    return " ".join(names.get(term) or spell(term) for term in pattern)


def small_store() -> Store:
    store = Store()
    names = {name: NamedNode(EX + name) for name in "abcdpqgh"}
    for s, p, o, g in ("apbg", "apc-", "aqb-", "cpd-", "cpdg", "bpch", "apbh", "gpa-"):
        store.add(Quad(names[s], names[p], names[o], names.get(g, DefaultGraph())))
    return store


def request(*updates: str) -> Request:
    return Request(updates, prefixes={"e": EX})


def state(store: Store) -> set[Quad]:
    """Give the quads of a store, with labels that do not depend on the order in which they were made."""
    dataset = Dataset(store)
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return set(dataset)


def uncovered(update: str) -> list[Quad] | None:
    """Run an update natively and list the changed quads that no pattern covers; None if it fails.

    What rdflive writes of the update must do what the update does.
    """
    store, written = small_store(), small_store()
    before = set(store)
    try:
        store.update(update, prefixes={"e": EX})
    except (SyntaxError, RuntimeError, OSError) as error:
        with pytest.raises(type(error)):
            execute(written, request(update).texts, prefixes={"e": EX})
        assert set(store) == set(written) == before
        return None
    execute(written, request(update).texts, prefixes={"e": EX})
    assert state(store) == state(written)
    patterns = request(update).patterns
    return [quad for quad in before ^ set(store) if not any(covers(pattern, quad) for pattern in patterns)]


def covers(pattern: Any, quad: Quad) -> bool:
    return all(canonical(want) in (None, term) for want, term in zip(pattern, quad, strict=True))


@pytest.mark.parametrize(("update", "expected"), TOUCHED.items())
def test_patterns_are_as_narrow_as_the_templates(update: str, expected: list[str]) -> None:
    """A template's IRIs stay in its pattern, the rest is a wildcard; Oxigraph changes nothing else."""
    assert sorted(map(show, request(update).patterns)) == sorted(expected)
    assert uncovered(update) == []


@pytest.mark.parametrize("update", REFUSED)
def test_a_refused_update_changes_nothing(update: str) -> None:
    """What Oxigraph refuses it refuses here with the same kind of error."""
    assert uncovered(update) is None


def test_a_base_given_as_argument_resolves_relative_iris() -> None:
    """`base_iri` resolves as in the store, and without it the store's own error is raised."""
    update, base = "INSERT DATA { <s> <urn:example:p> <../o> }", "http://e/a/b"
    given = Request([update], base_iri=base)
    assert [show(p) for p in given.patterns] == ["http://e/a/s p http://e/o -"]
    store = Store()
    for options in ({}, {"base_iri": "no base"}):
        with pytest.raises((SyntaxError, ValueError)) as native:
            store.update(update, **options)
        with pytest.raises(native.type, match=re.escape(str(native.value))):
            _ = Request([update], **options).patterns
    execute(store, given.texts, **given.options)
    assert [(q.subject.value, q.object.value) for q in store] == [("http://e/a/s", "http://e/o")]


@pytest.mark.parametrize(
    "options", [{}, {"base_iri": "http://e/"}, {"base_iri": "http://given/"}], ids=lambda given: str(given)
)
def test_iri_resolves_by_the_base_that_the_update_declares(options: Any) -> None:
    """The text that runs has no prologue, and its functions know the base all the same."""
    update = "BASE <http://e/a/> BASE <b/> INSERT { <s> <p> ?o } WHERE { BIND(IRI('x') AS ?o) }"
    given = Request([update], **options)
    stores = Store(), Store()
    stores[0].update(update, **options)
    execute(stores[1], given.texts, then=["CLEAR NAMED"], **given.options)
    assert set(stores[0]) == set(stores[1])
    assert [q.object.value for q in stores[1]] == ["http://e/a/b/x"]


def test_two_bases_of_iri_are_refused() -> None:
    """One request has one base; where IRI() is not called, or the bases are alike, that does not matter."""
    one, other = (
        f"BASE <http://{host}/> INSERT {{ <s> <p> ?o }} WHERE {{ BIND(IRI('x') AS ?o) }}" for host in "ab"
    )
    with pytest.raises(WriteRefusedError, match=r"several bases.*: http://a/, http://b/"):
        _ = Request([one, other]).options
    assert Request([one, other.replace("IRI(", "STR("), one]).options["base_iri"] == "http://a/"


@pytest.mark.parametrize(
    "arguments",
    [{"update": 5}, {"update": "CLEAR DEFAULT", "prefixes": 5}, {"update": "", "base_iri": 5}],
)
def test_arguments_of_wrong_types_are_left_to_the_store(arguments: Any) -> None:
    """They raise what they raise in the native call."""
    with pytest.raises(TypeError) as native:
        Store().update(**arguments)
    updates = [arguments["update"]]
    options = {name: value for name, value in arguments.items() if name != "update"}
    for read in map(attrgetter, ("patterns", "graphs", "texts", "options")):
        with pytest.raises(TypeError, match=re.escape(str(native.value))):
            read(Request(updates, **options))


LITERALS = (
    *("1", "01", "-1", "- 1", "+1.5", "2.50", "1e0", ".5E1", "true", "12345678901234567890", "1.0"),
    *(
        "'01'^^<http://www.w3.org/2001/XMLSchema#byte>",
        "'1'^^<urn:t>",
        "'1'^^e:t",
        "'01'^^<urn:\\u0061>",
        "'a\\tb'",
        "'\\''",
    ),
    *("'}'", '"x"@en', '"x"@EN', '"x"@en--ltr', "'''\n'''", "''", '""" " """'),
)


def random_update(choice: random.Random) -> str:
    """Make a request of one to three operations, most of them valid."""

    def term(kinds: str) -> str:
        return {
            "i": lambda: "e:" + choice.choice("abcdpqgh"),
            "f": lambda: f"<{EX}{choice.choice('abcd')}>",
            "v": lambda: choice.choice(("?s", "?p", "?o", "$g")),
            "l": lambda: choice.choice(LITERALS),
            "b": lambda: "_:b",
        }[choice.choice(kinds)]()

    def triples(kinds: str) -> str:
        verbs = [
            f"{choice.choice(('e:p', 'e:q', 'a'))} "
            + choice.choice((", ", " ,")).join(term(kinds + "if") for _ in range(choice.randint(1, 2)))
            for _ in range(choice.randint(1, 2))
        ]
        return f"{term(kinds.replace('l', '') + 'i')} {choice.choice((';', ' ; ; ')).join(verbs)}"

    def block(kinds: str) -> str:
        parts = [triples(kinds)]
        if choice.random() < 0.5:
            graph = term("iv" if "v" in kinds else "i")
            parts.append(f"GRAPH {graph} {{ {triples(kinds)} {choice.choice(('', '.'))} }}")
        choice.shuffle(parts)
        return "{ " + choice.choice((" . ", " .# }\n")).join(parts) + " }"

    def operation() -> str:
        where = choice.choice(
            ("?s ?p ?o", "GRAPH ?g { ?s ?p ?o }", "?s ?p ?o FILTER(?o != '}' || ?s<e:z)", "")
        )
        graph = choice.choice(("DEFAULT", "GRAPH e:g", "GRAPH e:h"))
        return choice.choice(
            (
                f"INSERT DATA {block('ilb')}",
                f"DELETE DATA {block('il')}",
                f"DELETE WHERE {block('iv')}",
                f"{choice.choice(('', 'WITH e:g '))}DELETE {block('ilv')} INSERT {block('ilvb')}"
                f"{choice.choice(('', ' USING e:h'))} WHERE {{ {where} }}",
                f"{choice.choice(('CLEAR', 'DROP'))} SILENT {choice.choice((graph, 'NAMED', 'ALL'))}",
                f"{choice.choice(('COPY', 'MOVE', 'ADD'))} {graph} TO {choice.choice(('DEFAULT', 'e:h'))}",
                "CREATE SILENT GRAPH e:new",
            )
        )

    return " ; ".join(operation() for _ in range(choice.randint(1, 3)))


def test_random_updates_change_only_what_the_patterns_cover() -> None:
    """Over hundreds of random requests the store never changes outside the patterns."""
    choice, requests = drawn_from("updates"), rounds(3000, share=20)
    updates = [random_update(choice) for _ in range(requests)]
    outcomes = {update: uncovered(update) for update in updates}
    assert not [update for update, missed in outcomes.items() if missed]
    accepted = [update for update, missed in outcomes.items() if missed is not None]
    assert len(accepted) > requests / 2
    narrow = [update for update in accepted if ANYTHING not in request(update).patterns]
    assert len(narrow) > requests / 5


PROLOGUES = (
    "",
    "PREFIX e: <urn:example:> ",
    "BASE <urn:example:a> PREFIX e: <>\n",
    "# e:\nPREFIX x: <urn:x:> ",
)
ENDS = ("", " ;", " # } ;", "\n;\n# '")


def test_random_updates_joined_do_what_they_do_one_after_the_other() -> None:
    """However they begin and end, and whatever labels they share, no update sees another."""
    choice, requests = drawn_from("joined updates"), rounds(1500, share=20)
    told = 0
    for _ in range(requests):
        updates = [
            choice.choice(PROLOGUES) + random_update(choice) + choice.choice(ENDS)
            for _ in range(choice.randint(2, 3))
        ]
        joined, single = small_store(), small_store()
        try:
            for update in updates:
                single.update(update, prefixes={"e": EX})
        except (SyntaxError, RuntimeError) as error:
            with pytest.raises((type(error), WriteRefusedError)):
                execute(joined, request(*updates).texts, prefixes={"e": EX})
            assert set(joined) == set(small_store())
            continue
        try:
            execute(joined, request(*updates).texts, prefixes={"e": EX})
        except WriteRefusedError:  # a number with a blank in it is for Oxigraph alone to read
            assert any("- 1" in update for update in updates)
            continue
        assert state(joined) == state(single), updates
        told += set(single) != set(small_store())
    assert told > requests / 4


def test_an_extension_of_oxigraph_runs_as_it_stands() -> None:
    """Alone it runs and is told, with others where it needs no prologue; else it is refused, saying why."""
    text = "INSERT { <urn:a> <urn:p> ?o } WHERE { VALUES ?x { 1 2 } LATERAL { BIND(?x AS ?o) } }"
    live, follower = followed()
    live.update(f"PREFIX e: <urn:example:> {text} ;")
    assert follower.check() == 1
    assert len(list(live.quads_for_pattern(NamedNode("urn:a"), None, None))) == 2
    execute(live.native, Request([text]).texts, then=["CLEAR ALL"])
    assert len(live) == 0
    with pytest.raises(WriteRefusedError, match=r"neither SPARQL 1\.1 nor 1\.2"):
        execute(live.native, Request(["CLEAR ALL", f"PREFIX e: <urn:example:> {text}"]).texts)
