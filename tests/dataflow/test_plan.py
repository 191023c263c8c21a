"""Plans: ways, arrangements, and what is refused."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdflive.errors import UnsupportedQueryError
from rdflive_stores.spark.dataflow.plan import Arrangement, MatchPlan
from rdflive_stores.spark.dataflow.query_plan import plan_queries
from support.effort import examples

SHAPES = {
    "one": "?a <urn:p> ?b",
    "star": "?a <urn:p> ?b . ?a <urn:q> ?c . ?a <urn:r> ?d",
    "path": "?a <urn:p> ?b . ?b <urn:q> ?c . ?c <urn:r> ?d . ?d <urn:p> ?e",
    "triangle": "?a <urn:p> ?b . ?b <urn:q> ?c . ?c <urn:r> ?a",
    "square": "?a <urn:p> ?b . ?b <urn:q> ?c . ?c <urn:r> ?d . ?d <urn:s> ?a",
    "product": "?a <urn:p> ?b . ?c <urn:q> ?d . ?e <urn:r> <urn:x>",
    "ground": "<urn:x> <urn:p> <urn:y> . ?a <urn:p> ?b . <urn:y> <urn:q> <urn:x>",
    "self-join": "?a <urn:p> ?b . ?b <urn:p> ?c . ?c <urn:p> ?a",
    "loops": "?a <urn:p> ?a . ?a ?v ?b . ?b ?v ?b",
    "predicates": "?a ?v ?b . ?c ?v ?d . ?v <urn:p> ?e",
    "filters": "?a <urn:p> ?b . ?b <urn:q> ?c FILTER(?b != <urn:x>) FILTER(?a != ?c) FILTER(?a != ?b)",
}


def matching(body: str) -> MatchPlan:
    return plan_queries(f"SELECT * {{ {body} }}").matching


def identities(body: str) -> set[Arrangement]:
    return set(matching(body).arrangements)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("graph", ["", "GRAPH <urn:g> ", "GRAPH ?g "])
def test_ways_meet_each_pattern_once(shape: str, graph: str) -> None:
    """A way meets every pattern but its own once, from variables that are bound, and each filter once."""
    plan = matching(f"{graph}{{ {SHAPES[shape]} }}")
    patterns = set(range(len(plan.patterns)))
    pushed = {condition for pattern in plan.patterns for condition in pattern.filters}
    later = {c for way in plan.ways for visit in way.visits for c in visit.conditions}
    assert [way.seed for way in plan.ways[: len(patterns)]] == sorted(patterns)
    for number, way in enumerate(plan.ways):
        met = [join.pattern for visit in way.visits for join in visit.joins]
        assert sorted(met) == sorted(patterns - {way.seed})
        assert {c for visit in way.visits for c in visit.conditions} == later
        for place, visit in enumerate(way.visits):
            bound = plan.bound(number, place)
            assert visit.centre is None or visit.centre in bound
            known = set(bound)
            for join in visit.joins:
                variables = plan.patterns[join.pattern].variables
                assert join.is_open is not known.issuperset(variables)
                known.update(variables)
            assert {plan.names.index(n) for c in visit.conditions for n in c.variables} <= known
    assert len(pushed | later) == (3 if shape == "filters" else 0)


@pytest.mark.parametrize("shape", SHAPES)
def test_detours_leave_a_way_where_they_begin(shape: str) -> None:
    """A detour goes with its way up to the star where rows take it, and joins nothing there."""
    plan = matching(SHAPES[shape])
    taken = {v.detour: (w, n) for w in plan.ways for n, v in enumerate(w.visits) if v.detour is not None}
    assert sorted(taken) == list(range(len(plan.patterns), len(plan.ways)))
    for number, (way, place) in taken.items():
        detour = plan.ways[number]
        assert detour.seed == way.seed
        assert [v.centre for v in detour.visits[: place + 1]] == [v.centre for v in way.visits[: place + 1]]
        assert (detour.visits[place].joins, detour.visits[place].conditions) == ((), ())
        assert detour.visits[place + 1].centre not in (None, way.visits[place].centre)
    assert taken or shape not in ("triangle", "square", "self-join")


@pytest.mark.parametrize("shape", SHAPES)
def test_routes_feed_what_is_read(shape: str) -> None:
    """Every arrangement that a way reads is fed by one route, by a pattern like those that it is read for.

    The changes of each pattern walk from one place: the centre of the first star on their way.
    """
    plan = matching(SHAPES[shape])

    def like(number: int) -> tuple[object, ...]:
        pattern = plan.patterns[number]
        return tuple(p if isinstance(p, str) else pattern.place_of(p) for p in pattern.places)

    read = [(visit.centre, join) for way in plan.ways for visit in way.visits for join in visit.joins]
    fed = [route.arrangement for route in plan.routes if route.arrangement is not None]
    assert sorted(fed) == sorted({j.arrangement for _, j in read}) == list(range(len(plan.arrangements)))
    for centre, join in read:
        (feeder,) = (route for route in plan.routes if route.arrangement == join.arrangement)
        assert like(feeder.pattern) == like(join.pattern)
        places = [
            None if of is None else plan.patterns[number].place_of(of)
            for of, number in ((feeder.centre, feeder.pattern), (centre, join.pattern))
        ]
        assert places[0] == places[1]
    for number in range(len(plan.patterns)):
        starts = [route.centre for route in plan.routes if route.pattern == number and route.walks]
        visits = plan.ways[number].visits
        assert starts == [visits[0].centre] if visits else starts == []


def test_equal_patterns_share_arrangements() -> None:
    """Two patterns that match the same quads are kept once per variable that is looked up."""
    assert len(identities("?a <urn:p> ?b . ?b <urn:p> ?c")) == 2
    assert len(identities("?a <urn:p> ?b . ?b <urn:q> ?c")) == 2
    assert len(identities("?a <urn:p> ?b . ?a <urn:p> ?c . ?a <urn:p> ?d")) == 1
    assert len(identities("?a <urn:p> ?b . ?a <urn:p> ?c FILTER(?c != <urn:x>)")) == 2


@settings(max_examples=examples(20), deadline=None)
@given(st.permutations(["x", "y", "z"]))
def test_identity_is_not_in_the_names(names: list[str]) -> None:
    """Arrangements are the same whatever the variables are called, and whichever pattern comes first."""
    first = "?a <urn:p> ?b . ?b <urn:q> ?c . ?c <urn:r> ?a"
    renamed = first
    for old, new in zip("abc", names, strict=True):
        renamed = renamed.replace(f"?{old}", f"?{new}")
    for order in permutations(renamed.split(" . ")):
        plan = matching(" . ".join(order))
        assert set(plan.arrangements) == identities(first)
        assert plan.arrangements == tuple(sorted(plan.arrangements))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("?a <urn:p> ?b . ?b <urn:q> ?c", "?a <urn:p> ?b . ?c <urn:q> ?b"),
        ("?a <urn:p> ?b . ?b <urn:q> ?c", "?a <urn:p> ?b . ?b <urn:q> ?b"),
        ("?a <urn:p> ?b . ?b <urn:q> ?c", "GRAPH <urn:g> { ?a <urn:p> ?b . ?b <urn:q> ?c }"),
        ("GRAPH ?g { ?a <urn:p> ?b . ?b <urn:q> ?c }", "GRAPH <urn:g> { ?a <urn:p> ?b . ?b <urn:q> ?c }"),
        ("?a <urn:p> ?b . ?b <urn:q> ?c FILTER(?c > 1)", "?a <urn:p> ?b . ?b <urn:q> ?c FILTER(?c > 2)"),
        ("?a <urn:p> ?b . ?b <urn:q> 1", '?a <urn:p> ?b . ?b <urn:q> "1"'),
    ],
)
def test_identity_tells_matches_apart(one: str, other: str) -> None:
    """What matches other quads, or is looked up by another variable, is another arrangement."""
    assert identities(one) != identities(other)


def test_plans_do_not_depend_on_the_process() -> None:
    """A process with another seed of hashes makes the same plan, so that it can go on with the state."""
    program = (
        "import pickle, sys; from rdflive_stores.spark.dataflow.query_plan import plan_queries;"
        "sys.stdout.buffer.write(pickle.dumps([plan_queries(text).matching for text in sys.argv[1:]]))"
    )
    texts = [f"SELECT * {{ GRAPH ?g {{ {body} }} }}" for body in SHAPES.values()]
    # places of nameless blank nodes do not depend on chance either
    texts += ["SELECT DISTINCT ?x ?y { ?x <urn:p> [] . [] <urn:q> ?y }"] * 2
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    made = subprocess.run(
        [sys.executable, "-c", program, *texts], env=environment, capture_output=True, check=True
    )
    assert pickle.loads(made.stdout) == [plan_queries(text).matching for text in texts]


REFUSED = {
    "{ ?a <p:>+ ?b FILTER(?a + 1 > 0) }": ("the path operator +", 19),
    "{ ?a (<p:>/<q:>)* ?b }": ("the path operator *", 26),
    "{ ?c <r:> ?a OPTIONAL { ?a a* ?b } }": ("the path operator *", 38),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_one_process_must_maintain_is_refused(text: str) -> None:
    """The error names the clause as SPARQL does, says where it is, why, and what to do."""
    with pytest.raises(UnsupportedQueryError) as caught:
        plan_queries(f"SELECT * {text}")
    error = caught.value
    assert (error.construct, error.line, error.column) == (REFUSED[text][0], 1, REFUSED[text][1])
    assert f"{error.construct} (line 1, column {error.column}) cannot be maintained on Spark" in str(error)
    assert "nothing bounds their number" in str(error)
    assert "in one process" in str(error)
