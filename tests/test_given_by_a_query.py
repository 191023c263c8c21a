"""Parameters that another live query gives: who watches what is data, and changes with it."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import Literal

import rdflive
from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from support.effort import drawn_from, examples
from support.evaluate import answer
from support.quads import DATASETS, Store, Sum
from support.queries import LITERALS, NODES, PREDICATES, make_commits, make_quad, make_query
from support.syntax import Group, Optional, Query, Select, Triple, Var
from support.varied import varied
from support.worlds import PRIMARY_DATASETS

E = rdflib.Namespace("http://e/")
WATCHED_LINES = "SELECT ?line { ?user e:watches ?line }"
GIVEN = [Var("first"), Var("second")]


def drawn_rows(random: Random, variables: list[Var]) -> Query:
    """A query that binds these variables in every row."""
    p, q = random.sample(PREDICATES, 2)
    ends = variables if len(variables) > 1 else [*variables, Var("end")]
    random.shuffle(ends)
    parts: list[Any] = [Triple(ends[0], p, ends[1])]
    if random.random() < 0.3:
        parts.append(
            random.choice(
                [Triple(ends[0], q, Var("other")), Optional(Group((Triple(ends[1], q, Var("z")),)))]
            )
        )
    return Query(Select(tuple(variables), Group(tuple(parts)), distinct=random.random() < 0.3))


def drawn_follower(random: Random, store: Store, *, graphs: bool) -> tuple[Query, dict[Any, Var], Query, Sum]:
    """Draw a query, which of its terms are parameters, the query that gives them, and subscribe to it."""
    while True:
        # most queries find nothing in so small a graph, and one that does says more
        for _ in range(8):
            query = make_query(random, graphs=graphs, depth=random.choice((1, 2, 2, 3)))
            used = [term for term in (*NODES, *LITERALS) if term.n3() in str(query)]
            among = random.sample(used, min(len(used), random.choice((1, 1, 2))))
            chosen = dict(zip(among, GIVEN, strict=False))
            if chosen:
                rows = drawn_rows(random, list(chosen.values()))
                if expected(query, rows, chosen, store):
                    break
        # a variable may stand where none can
        with suppress(QuerySyntaxError, UnsupportedQueryError, ValueError):
            if chosen:
                return query, chosen, rows, Sum(store, str(varied(query, chosen)), given=str(rows))


def expected(query: Query, rows: Query, chosen: dict[Any, Var], store: Store) -> Any:
    """Evaluate the query for each row by itself."""
    asked = answer(rows, store.quads, union=store.union)
    assert isinstance(asked, list)
    found: list[Any] = []
    # a row that is there twice asks for the same
    for row in {tuple(sorted(row.items())): row for row in asked}.values():
        own = answer(
            varied(query, {term: row[v] for term, v in chosen.items()}), store.quads, union=store.union
        )
        found += [{**one, **row} for one in own] if isinstance(own, list) else [own]
    return any(found) if query.ask else found


@pytest.mark.parametrize("kind", ["graph", "oxigraph graph", *DATASETS])
def test_rows_of_a_query_are_parameters(kind: str) -> None:
    """The answer is that for each of its rows, while rows and data come and go; emptied, nothing is left."""
    told: Counter[bool] = Counter()

    for number in range(examples(60, share=25, sample=kind not in PRIMARY_DATASETS)):
        random = drawn_from("rows as parameters", kind, number)
        store, graphs = Store(kind), kind in DATASETS
        for _ in range(random.choice((4, 8, 14))):
            store.commit([(1, make_quad(random, graphs=graphs))])
        query, chosen, rows, follower = drawn_follower(random, store, graphs=graphs)
        state = follower.subscription._live()
        for commit in make_commits(random, graphs=graphs):
            store.commit(commit)
            follower.check(expected(query, rows, chosen, store))
        told[follower.most > 0] += 1
        for quad in sorted(store.quads, key=str):
            store.write((-1, quad))
        follower.check(expected(query, rows, chosen, store))
        follower.subscription.close()
        assert (len(state.dictionary), state.views, state.queries, state.owners) == (0, {}, {}, {})
    # a kind that is sampled plays too few to have an answer each time
    assert told[True] or (kind not in PRIMARY_DATASETS and told[False])


def test_a_row_that_is_given_twice_is_answered_once() -> None:
    """Two users watch the same line; as long as one of them does, the answer stays."""
    graph = rdflib.Graph()
    trains = rdflive.prepare("SELECT ?train { ?train e:line ?line }", initNs={"e": E})
    with trains.subscribe(graph, None, WATCHED_LINES) as subscription:
        graph.add((E.IC5, E.line, E.S1))
        for user in (E.ann, E.bob):
            graph.add((user, E.watches, E.S1))
            assert subscription.answers() == [(E.S1, E.IC5)]
        graph.remove((E.ann, E.watches, E.S1))
        assert subscription.answers() == [(E.S1, E.IC5)]
        graph.remove((E.bob, E.watches, E.S1))
        assert subscription.answers() == []


def test_a_filter_compares_with_what_each_row_gives() -> None:
    """Two users want to hear of delays over 4 and over 5 minutes."""
    graph = rdflib.Graph()
    late = rdflive.prepare("SELECT ?train { ?train e:delay ?d FILTER(?d > ?most) }", initNs={"e": E})
    for minutes in range(7):
        graph.add((E[f"T{minutes}"], E.delay, Literal(minutes)))
    with late.subscribe(graph, None, "SELECT ?most { ?user e:accepts ?most }") as subscription:
        graph.add((E.ann, E.accepts, Literal(4)))
        graph.add((E.bob, E.accepts, Literal(5)))
        four, five = Literal(4), Literal(5)
        assert sorted(subscription.answers()) == [(four, E.T5), (four, E.T6), (five, E.T6)]


def test_a_prepared_query_gives_parameters_under_entailment() -> None:
    """What is entailed is asked for, and answers."""
    graph = rdflib.Graph()
    sees = rdflive.prepare("SELECT ?line { ?user <http://e/sees> ?line }")
    lines = rdflive.prepare(
        "SELECT ?line (COUNT(?train) AS ?n) { ?train <http://e/line> ?line } GROUP BY ?line"
    )
    graph.add((E.watches, rdflib.RDFS.subPropertyOf, E.sees))
    graph.add((E.IC5, E.line, E.S1))
    with lines.subscribe(graph, None, sees, entailment="rdfs") as subscription:
        assert subscription.answers() == []
        graph.add((E.ann, E.watches, E.S1))
        assert subscription.answers() == [(E.S1, Literal(1))]
        graph.remove((E.watches, rdflib.RDFS.subPropertyOf, E.sees))
        assert subscription.answers() == []


@pytest.mark.parametrize(
    ("query", "rows", "message"),
    [
        ("SELECT ?s { ?s ?p ?o }", "SELECT ?p { ?s ?p ?o }", "cannot be terms for ?p"),
        ("SELECT ?s { ?s ?p ?o BIND(STR(?o) AS ?t) }", "SELECT ?o { ?s ?p ?o }", "cannot be terms for ?o"),
        ("SELECT ?s { ?s ?p ?o }", "SELECT ?else { ?s ?p ?else }", "cannot be terms for ?else"),
        ("SELECT ?s { ?s ?p ?o }", "SELECT ?o { ?s ?p ?q OPTIONAL { ?q ?r ?o } }", "?o may be unbound"),
        ("SELECT ?s { ?s ?p ?o }", "ASK { ?s ?p ?o }", "ASK has none"),
    ],
)  # fmt: skip
def test_rows_that_can_be_no_parameters_are_refused(query: str, rows: str, message: str) -> None:
    graph = rdflib.Graph()
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        rdflive.prepare(query).subscribe(graph, print, rows)
    assert not graph.store.__dict__.get("_rdflive")


def test_a_journal_knows_whose_rows_were_asked_for(tmp_path: Any) -> None:
    """The same query with parameters of another query is another subscriber."""
    graph, journal = rdflib.Graph(), tmp_path / "journal"
    query = rdflive.prepare("SELECT ?s { ?s ?p ?o }")
    query.subscribe(graph, print, "SELECT ?o { ?o ?p 5 }", resume=journal, name="n").close()
    with pytest.raises(rdflive.ResumeError):
        query.subscribe(graph, print, "SELECT ?o { ?o ?p 6 }", resume=journal, name="n")
    query.subscribe(graph, print, "SELECT ?o { ?o ?p 5 }", resume=journal, name="n").close()
