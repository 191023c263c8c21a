"""The judges of the other tests of this folder: when multisets and sequences of solutions are the same."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
from rdflib import XSD, BNode, Literal, URIRef

from support.examples import example_triples
from support.sequences import as_ordered
from support.solutions import Row, folded, isomorphic, row

BLANKS = [BNode(name) for name in "abcd"]
TERMS = st.sampled_from([*BLANKS, URIRef("urn:example:x")])
ROWS = st.builds(lambda x, y: row([("x", x), ("y", y)]), TERMS, st.one_of(st.none(), TERMS))
STATES = st.lists(ROWS, max_size=6).map(Counter)


def renamed(state: Counter[Row], names: dict[BNode, BNode]) -> Counter[Row]:
    return Counter([frozenset((n, names.get(t, t)) for n, t in one) for one in state.elements()])


@given(STATES, STATES)
def test_isomorphic_is_equality_under_some_renaming(left: Counter[Row], right: Counter[Row]) -> None:
    """Two states are isomorphic exactly when one permutation of blank nodes makes them equal."""
    bijections = (dict(zip(BLANKS, names, strict=True)) for names in permutations(BLANKS))
    assert isomorphic(left, right) == any(renamed(left, names) == right for names in bijections)


@given(STATES, st.permutations(BLANKS))
def test_isomorphic_holds_after_renaming(state: Counter[Row], names: list[BNode]) -> None:
    """Renaming blank nodes changes nothing, and one row more does."""
    other = renamed(state, dict(zip(BLANKS, names, strict=True)))
    assert isomorphic(state, other)
    assert not isomorphic(state, other + Counter([row([("x", BLANKS[0])])]))


def test_numbers_compare_by_value() -> None:
    """Numbers of one datatype agree when their first digits do; datatypes and answers are kept apart."""
    third, longer = (Literal(text, datatype=XSD.decimal) for text in ("0.333333333333", "0.33333333333333"))
    assert row([("x", third)]) == row([("x", longer)])
    assert row([("x", Literal(1))]) != row([("x", Literal("1", datatype=XSD.decimal))])
    assert row([("x", Literal(10**20))]) != row([("x", Literal(10**20 + 1))])
    assert not isomorphic(True, Counter())


def test_plain_literals_fold_into_strings() -> None:
    """A plain literal is a string once folded, and a language tag stays what it is."""
    plain, typed, tagged = Literal("a"), Literal("a", datatype=XSD.string), Literal("a", lang="EN")
    states = [Counter([row([("x", term)])]) for term in (plain, typed, tagged)]
    assert states[0] != states[1]
    assert folded(states[0]) == folded(states[1]) != folded(states[2])
    assert row([("x", tagged)]) == row([("x", Literal("a", lang="en"))])


def test_order_leaves_ties_open() -> None:
    """Rows may swap where the keys of ORDER BY are equal, and LIMIT may take either of them."""
    query = "SELECT ?x ?y { ?x ?p ?y } ORDER BY ?x"
    first, tied, last = (row([("x", Literal(x)), ("y", Literal(y))]) for x, y in ((1, 1), (1, 2), (2, 1)))
    assert as_ordered(query, [tied, first, last], [first, tied, last], sliced=False)
    assert not as_ordered(query, [first, last, tied], [first, tied, last], sliced=False)
    assert not as_ordered(query, [first, first, last], [first, tied, last], sliced=False)
    assert as_ordered(query + " LIMIT 1", [tied], [first], sliced=True)
    assert not as_ordered(query + " LIMIT 1", [last], [first], sliced=True)


def test_hidden_keys_leave_no_freedom() -> None:
    """Where the keys cannot be read off the rows only the very sequence is right."""
    one, other = (row([("x", Literal(x))]) for x in (1, 2))
    for query in ("SELECT ?x { ?x ?p ?y } ORDER BY ?y", "SELECT ?x { ?x ?p ?y } ORDER BY STR(?x)"):
        assert as_ordered(query, [one, other], [one, other], sliced=False)
        assert not as_ordered(query, [other, one], [one, other], sliced=False)


def test_examples_match_their_query() -> None:
    """The triples made of a query's patterns and paths let the query match."""
    from rdflib import Graph
    from rdflib.plugins.sparql import prepareQuery

    query = prepareQuery(
        "PREFIX : <urn:example:> SELECT * { ?a :p/^:q/(:r|:s)+ ?b . FILTER EXISTS { ?b :t ?c } }"
    )
    for literals in (False, True):
        graph = Graph()
        for triple in example_triples(query.algebra, literals=literals):
            graph.add(triple)
        assert len(graph.query(query)) == 1
