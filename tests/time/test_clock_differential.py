"""Queries with NOW() against evaluation from scratch, with the instant of the clock in the place of NOW().

Two judges: on an rdflib graph the same query without NOW(), subscribed to afresh at each step; on a
`LiveStore` Oxigraph's own evaluation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from rdflib import XSD, Literal, URIRef

import rdflive
from support.effort import drawn_from, rounds
from support.worlds import EX, KINDS, Face, Follower

PREFIXES = f"PREFIX : <{EX}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
START = datetime(2024, 2, 26, tzinfo=UTC)
"""The days after it have a month's end in a leap year."""
HALF_HOUR = timedelta(minutes=30)
OPERATORS = ["<", "<=", ">", ">=", "=", "!="]
DURATIONS = [
    '"P1D"^^xsd:dayTimeDuration',
    '"P1D"^^xsd:dayTimeDuration',
    '"PT14H"^^xsd:dayTimeDuration',
    '"-PT6H30M"^^xsd:dayTimeDuration',
    '"PT0S"^^xsd:dayTimeDuration',
    '"P1M"^^xsd:yearMonthDuration',
    '"-P1M"^^xsd:yearMonthDuration',
    '"P1Y1M"^^xsd:yearMonthDuration',
    '"P1M1DT12H"^^xsd:duration',
]


AGES = [duration for duration in DURATIONS if "dayTime" in duration]


def instant(random: Random) -> datetime:
    """Draw an instant near a month's end, on the half hour, so that steps of the clock meet it exactly."""
    months = random.choice([timedelta(0)] * 4 + [timedelta(days=30), timedelta(days=-30)])
    return START + months + random.randrange(4 * 48) * HALF_HOUR


def moment(random: Random) -> Literal:
    """Draw a time: in UTC, in another time zone, without one; or what is no time."""
    at = instant(random)
    kind = random.randrange(10)
    if kind < 5:
        return Literal(f"{at:%Y-%m-%dT%H:%M:%S}Z", datatype=XSD.dateTime)
    if kind < 6:
        return Literal(f"{at:%Y-%m-%dT%H:%M:%S}+05:30", datatype=XSD.dateTime)
    if kind < 9:
        return Literal(f"{at:%Y-%m-%dT%H:%M:%S}", datatype=XSD.dateTime)
    return random.choice(
        [
            Literal(f"{at:%Y-%m-%d}", datatype=XSD.date),
            Literal("soon"),
            Literal("2024-02-30T00:00:00Z", datatype=XSD.dateTime),
        ]
    )


class Drawn:
    """Draws queries with comparisons with NOW(); durations are added and subtracted by `signs`."""

    def __init__(self, random: Random, signs: str) -> None:
        self.random = random
        self.signs = signs

    def now(self) -> str:
        """NOW(), alone or moved."""
        random = self.random
        moves = [
            f" {random.choice(self.signs)} {self.duration()}" for _ in range(random.choice([0, 0, 1, 1, 2]))
        ]
        return f"NOW(){''.join(moves)}"

    def duration(self) -> str:
        return self.random.choice([*DURATIONS, "?d"])

    def time(self, name: str) -> str:
        """A time that a row has."""
        random = self.random
        if random.random() < 0.7:
            return f"?{name}"
        return random.choice(
            [
                f"xsd:dateTime(STR(?{name}))",
                f"?{name} {self.signs[0]} {random.choice(DURATIONS)}",
                f"IF(BOUND(?{name}), ?{name}, 5)",
            ]
        )

    def comparison(self, name: str) -> str:
        sides = [self.time(name), self.now()]
        if self.random.random() < 0.1:
            sides = [self.random.choice(AGES), self.random.choice([f"NOW() - ?{name}", f"?{name} - NOW()"])]
        self.random.shuffle(sides)
        return f"{sides[0]} {self.random.choice(OPERATORS)} {sides[1]}"

    def condition(self, *names: str) -> str:
        """A comparison, or several in an expression."""
        random = self.random
        one, other = self.comparison(random.choice(names)), self.comparison(random.choice(names))
        return random.choice(
            [
                *[one] * 4,
                f"{one} && {other}",
                f"{one} || {other}",
                f"!({one})",
                f"{one} || !BOUND(?{names[0]})",
                f"COALESCE({one}, true)",
                f"IF({one}, {other}, ?k = 1)",
                f"({one}) = ({other})",
            ]
        )

    def query(self) -> str:
        """A query of some form."""
        condition = self.condition
        row = "?s :t ?t ; :k ?k OPTIONAL { ?s :d ?d }"
        return PREFIXES + self.random.choice(
            [
                f"SELECT ?s ?t {{ {row} FILTER({condition('t')}) }}",
                f"SELECT ?s ?t {{ {row} FILTER({condition('t')}) FILTER({condition('t')}) }}",
                f"SELECT DISTINCT ?k {{ {row} FILTER({condition('t')}) }}",
                f"SELECT ?s ?u {{ {row} OPTIONAL {{ ?s :u ?u FILTER({condition('u')}) }} }}",
                f"SELECT ?s ?u {{ {row} OPTIONAL {{ ?s :u ?u FILTER({condition('t', 'u')}) }} }}",
                f"SELECT ?s ?u {{ {row} OPTIONAL {{ ?s :u ?u }} FILTER({condition('u')}) }}",
                f"SELECT ?s {{ {row} FILTER EXISTS {{ ?s :u ?u FILTER({condition('u')}) }} }}",
                f"SELECT ?s {{ {row} FILTER NOT EXISTS {{ ?s :u ?u FILTER({condition('u', 't')}) }} }}",
                f"SELECT ?s {{ {row} FILTER(EXISTS {{ ?s :u ?u }} || {condition('t')}) }}",
                f"SELECT ?s ?t {{ {{ {row} FILTER({condition('t')}) }} "
                f"UNION {{ ?s :u ?t FILTER({condition('t')}) }} }}",
                f"SELECT ?s {{ {row} MINUS {{ ?s :u ?u FILTER({condition('u')}) }} }}",
                f"SELECT ?k (COUNT(?s) AS ?n) {{ {row} FILTER({condition('t')}) }} GROUP BY ?k",
                f"SELECT (COUNT(*) AS ?n) {{ {row} FILTER({condition('t')}) }}",
                f"SELECT ?k (SUM(IF({condition('t')}, 1, 0)) AS ?n) {{ {row} }} GROUP BY ?k",
                f"SELECT ?k {{ {row} }} GROUP BY ?k HAVING(COUNT(?s) > 1 || MAX(?t) > NOW())",
                f"SELECT ?s ?late {{ {row} BIND({condition('t')} AS ?late) }}",
                f"SELECT ?s ({condition('t')} AS ?late) {{ {row} }}",
                "SELECT ?k ?n { ?x :k ?k { SELECT ?k (COUNT(?s) AS ?n) "
                f"{{ {row} FILTER({condition('t')}) }} GROUP BY ?k }} }}",
                f"SELECT ?late (COUNT(?s) AS ?n) {{ {row} }} GROUP BY ({condition('t')} AS ?late)",
                f"SELECT ?s (MAX(IF({condition('t')}, 1, 0)) AS ?n) {{ {row} }} "
                "GROUP BY ?s ORDER BY DESC(?n) ?s LIMIT 3",
                f"ASK {{ {row} FILTER({condition('t')}) }}",
            ]
        )


def begin(face: Face, random: Random) -> None:
    """Fill a graph."""
    for name in "abcdef":
        s = URIRef(EX + name)
        change(face, 1, (s, URIRef(EX + "k"), Literal(random.randrange(2))))
        change(face, 1, (s, URIRef(EX + "t"), moment(random)))
        if random.random() < 0.7:
            change(face, 1, (s, URIRef(EX + "u"), moment(random)))
            change(face, 1, (s, URIRef(EX + "d"), Literal("P1D", datatype=XSD.dayTimeDuration)))


def write(face: Face, random: Random) -> None:
    """Make one commit of some writes; each subject has few times."""
    with rdflive.batch(face.graph):
        for _ in range(random.choice([1, 1, 2, 4])):
            s = URIRef(EX + random.choice("abcdef"))
            p, o = random.choice(
                [
                    ("t", moment(random)),
                    ("t", moment(random)),
                    ("u", moment(random)),
                    ("k", Literal(random.randrange(2))),
                    ("d", random.choice([Literal("P1D", datatype=XSD.dayTimeDuration), Literal("long")])),
                ]
            )
            change(face, random.choice([1, 1, -1]), (s, URIRef(EX + p), o))


def change(face: Face, sign: int, triple: Any) -> None:
    """Add a triple, or remove the first with its subject and predicate."""
    graph = face.graph
    if not face.native:
        if sign > 0:
            graph.add(triple)
        else:
            found = sorted(graph.triples((triple[0], triple[1], None)))
            for each in found[:1]:
                graph.remove(each)
        return
    import pyoxigraph as ox

    s, p, o = triple
    kind = {} if o.datatype is None else {"datatype": ox.NamedNode(str(o.datatype))}
    if sign > 0:
        graph.add(ox.Quad(ox.NamedNode(str(s)), ox.NamedNode(str(p)), ox.Literal(str(o), **kind)))
    else:
        found = sorted(graph.quads_for_pattern(ox.NamedNode(str(s)), ox.NamedNode(str(p)), None), key=str)
        for each in found[:1]:
            graph.remove(each)


def from_scratch(face: Face, text: str) -> Any:
    """Answer a query by a new subscription, which knows of no time that has passed."""
    follower = Follower(face, text)
    with follower.subscription:
        return follower.state()


def constant(at: datetime) -> str:
    return f'"{at.isoformat()}"^^xsd:dateTime'


JUDGES: dict[str, tuple[Callable[[Face, str], Any], str]] = {
    "graph": (from_scratch, "+-"),
    # Oxigraph 0.5 subtracts an xsd:dayTimeDuration from a time, and cannot add one
    "live store": (Face.evaluate, "-"),
}


@pytest.mark.parametrize("kind", JUDGES)
def test_deltas_add_up_to_evaluation_at_each_instant(kind: str) -> None:
    """After each commit, tick and step back of the clock; in the end nothing is kept."""
    random = drawn_from("clock", kind)
    judge, signs = JUDGES[kind]
    ticks: Counter[bool] = Counter()
    for _ in range(rounds(400)):
        face, text = Face(KINDS[kind]()), Drawn(random, signs).query()
        clock = rdflive.ManualClock(START)
        latest = START
        begin(face, random)
        follower = Follower(face, text, clock=clock)
        with follower.subscription as subscription:
            for _ in range(12):
                follower.deltas.clear()
                if random.random() < 0.5:
                    write(face, random)
                else:
                    step = random.choice([1, 5, 13, 24, 28, 29, 48, 60, -1]) * HALF_HOUR
                    clock.set(clock.now + step)
                    ticks[bool(follower.deltas)] += 1
                latest = max(latest, clock.now)
                asked = text.replace("NOW()", constant(latest))
                assert follower.state() == judge(face, asked), (asked, latest)
                assert len(follower.deltas) <= 1
                assert all(delta.time == latest for delta in follower.deltas)
            if follower.answer is None:
                listed = Counter(frozenset(s.asdict().items()) for s in subscription.answers())
                assert {
                    frozenset((n, t) for n, t in row if t is not None): w for row, w in listed.items()
                } == (follower.state())
            face.clear()
            assert follower.state() == judge(face, text.replace("NOW()", constant(latest)))
            engine = subscription._state
            (present,) = engine.presents.values()
            assert present.due is None
        assert (len(engine.dictionary), engine.presents) == (0, {})
    assert ticks[True] > ticks.total() / 12, ticks
