"""Timelines of labelled triples, their fixpoint by definition, and the closures compared with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final

from rdflib import Literal, URIRef

from entail.rules.naive import Index, derivations
from entail.rules.worlds import make_pattern
from rdflive.engine.dictionary import Dictionary
from rdflive.engine.terms import TermTable
from rdflive.entail.entailment import ExplicitGraph, Regime
from rdflive.entail.rules import Program, load_program
from rdflive.entail.rules.closure import AnnotatedGraph, FactClosure
from rdflive.entail.rules.keys import Key
from rdflive.time.windows import ALWAYS

__all__ = ["ANY", "Labelled", "Peer", "Timeline", "draw", "labelled", "matches", "play", "rules", "triple"]

Triple = tuple[Any, Any, Any]
Pattern = tuple[Any, Any, Any]
ANY: Pattern = (None, None, None)


PREFIXES: Final = (
    "@prefix : <urn:> . @prefix log: <http://www.w3.org/2000/10/swap/log#> .\n"
    "@prefix math: <http://www.w3.org/2000/10/swap/math#> .\n"
)


def rules(text: str) -> Program:
    """Parse rules over the terms that `triple` makes."""
    return load_program(PREFIXES + text)


def triple(text: str) -> Triple:
    """Make a triple from `a p b`: three IRIs, or a number as the object."""
    s, p, o = text.split()
    return URIRef(f"urn:{s}"), URIRef(f"urn:{p}"), Literal(int(o)) if o.isdigit() else URIRef(f"urn:{o}")


def labelled(program: Program, explicit: Mapping[Triple, int]) -> dict[Triple, int]:
    """Label each entailed triple with the maximum over derivations of the minimum over premises."""
    labels = dict(explicit)
    bodies = {rule: rule.body for rule in program.rules}
    while True:
        before = dict(labels)
        index = Index(labels)
        for rule, body in bodies.items():
            for bindings, head in derivations(rule, index):
                found = dict(bindings)
                premises = (tuple(found.get(term, term) for term in pattern) for pattern in body)
                least = min((before[premise] for premise in premises), default=ALWAYS)
                labels[head] = max(labels.get(head, least), least)
        if labels == before:
            return labels


def matches(triple: Triple, patterns: Iterable[Pattern]) -> bool:
    """Return True if a triple matches one of the patterns."""
    return any(
        all(asked is None or asked == term for asked, term in zip(pattern, triple, strict=True))
        for pattern in patterns
    )


def take(labels: dict[Triple, int], changes: Mapping[Triple, int | None]) -> None:
    """Change the labels of triples; None removes one."""
    for triple, label in changes.items():
        if label is None:
            labels.pop(triple, None)
        else:
            labels[triple] = label


class Labelled:
    """A closure driven by tests; with `early` the graph has changes before the closure gets them."""

    def __init__(self, program: Program, *, early: bool) -> None:
        self.dictionary = Dictionary()
        self._explicit: dict[Triple, int] = {}
        self._early = early
        terms = TermTable(self.dictionary, _same, None)
        graph = AnnotatedGraph(self.dictionary, terms, _same, lambda key: self.read(key))
        self.closure = FactClosure(program, graph)

    def read(self, key: Key) -> Iterator[tuple[Any, int]]:
        """List the explicit triples that match, with their labels."""
        terms, intern = self.dictionary.terms, self.dictionary.intern
        pattern = terms[key[0]], terms[key[1]], terms[key[2]]
        for triple, label in list(self._explicit.items()):
            if matches(triple, [pattern]):
                s, p, o = triple
                yield (intern(s), intern(p), intern(o)), label

    def want(self, *patterns: Pattern) -> None:
        self.closure.want(patterns)
        self.dictionary.sweep()

    def unwant(self, *patterns: Pattern) -> None:
        self.closure.unwant(patterns)
        self.dictionary.sweep()

    def update(self, changes: Mapping[Triple, int | None]) -> None:
        intern = self.dictionary.intern
        ids = {(intern(s), intern(p), intern(o)): label for (s, p, o), label in changes.items()}
        if self._early:
            take(self._explicit, changes)
        self.closure.update(ids)
        take(self._explicit, changes)
        self.dictionary.sweep()

    def expire(self, below: int) -> None:
        self.closure.expire(below)
        self._explicit = {triple: label for triple, label in self._explicit.items() if label >= below}
        self.dictionary.sweep()

    def shown(self) -> dict[Triple, int]:
        """Return the labels of the wanted triples."""
        terms = self.dictionary.terms
        table = self.closure.labels.table
        return {
            (terms[s], terms[p], terms[o]): label
            for (s, p, o), label in table.items()
            if self.closure.is_wanted((s, p, o))
        }


class Peer:
    """An entailment of a regime over the triples of one window."""

    def __init__(self, regime: Regime) -> None:
        self.triples: dict[Triple, None] = {}
        self.dictionary = Dictionary()
        terms = TermTable(self.dictionary, _same, None)
        self.entailment = regime.start(ExplicitGraph(self._list, self.dictionary, terms, _same))
        self.holds: set[Triple] = set()
        self._wanted: list[Pattern] = []

    def _list(self, pattern: Pattern) -> Iterator[Triple]:
        return (triple for triple in list(self.triples) if matches(triple, [pattern]))

    def want(self, *patterns: Pattern) -> None:
        self.entailment.want(patterns)
        self._wanted += patterns
        self._list_all()

    def unwant(self, *patterns: Pattern) -> None:
        self.entailment.unwant(patterns)
        for pattern in patterns:
            self._wanted.remove(pattern)
        self._list_all()

    def _list_all(self) -> None:
        self.holds = {triple for pattern in self._wanted for triple in self.entailment.triples(pattern)}
        self.dictionary.sweep()

    def become(self, triples: Iterable[Triple]) -> None:
        """Replace the window's triples, and apply the net changes."""
        after = dict.fromkeys(triples)
        changes: list[Any] = [(-1, triple) for triple in self.triples if triple not in after]
        changes += ((1, triple) for triple in after if triple not in self.triples)
        concerned = [change for change in changes if self.entailment.concerns(change[1])]
        self.triples = after
        terms = self.dictionary.terms
        for sign, (s, p, o) in self.entailment.update(concerned):
            triple = terms[s], terms[p], terms[o]
            if not matches(triple, self._wanted):
                continue  # a regime may return more than the wanted triples
            assert (triple in self.holds) == (sign < 0), (sign, triple)
            (self.holds.add if sign > 0 else self.holds.remove)(triple)
        self.dictionary.sweep()


class Timeline:
    """Explicit labels, windows of several ranges over them, and the closures that follow these.

    At the instant `now` the window of a range holds the triples with a label above now - range, or `ALWAYS`.
    """

    def __init__(
        self, program: Program, ranges: Iterable[int], regimes: Iterable[Regime], *, early: bool = False
    ) -> None:
        self.program = program
        self.ranges = sorted(ranges)
        self.now = 0
        self.explicit: dict[Triple, int] = {}
        self.wanted: list[Pattern] = []
        self.closure = Labelled(program, early=early)
        self.peers = {size: [Peer(regime) for regime in regimes] for size in self.ranges}

    def want(self, *patterns: Pattern) -> None:
        self.wanted += patterns
        for follower in self._each():
            follower.want(*patterns)

    def unwant(self, pattern: Pattern) -> None:
        self.wanted.remove(pattern)
        for follower in self._each():
            follower.unwant(pattern)

    def _each(self) -> Iterator[Labelled | Peer]:
        yield self.closure
        for peers in self.peers.values():
            yield from peers

    def tick(self, now: int, changes: Mapping[Triple, int | None]) -> None:
        """Change labels, advance to an instant, and discard the triples behind all windows."""
        self.now = now
        self.closure.update(changes)
        take(self.explicit, changes)
        last = self.now - self.ranges[-1]
        self.explicit = {triple: label for triple, label in self.explicit.items() if label > last}
        self.closure.expire(last + 1)
        for size, peers in self.peers.items():
            held = [triple for triple, label in self.explicit.items() if label > now - size]
            for peer in peers:
                peer.become(held)

    def check(self) -> None:
        """Compare all closures with the fixpoint of this instant."""
        full = labelled(self.program, self.explicit)
        expected = {triple: label for triple, label in full.items() if matches(triple, self.wanted)}
        assert self.closure.shown() == expected
        for size, peers in self.peers.items():
            held = {triple for triple, label in expected.items() if label > self.now - size}
            for peer in peers:
                assert peer.holds == held, (size, type(peer.entailment).__name__)

    def finish(self) -> None:
        """Expire all triples, unwant all patterns, and check that no state is left."""
        self.tick(self.now, {triple: None for triple, label in self.explicit.items() if label == ALWAYS})
        self.tick(self.now + self.ranges[-1] + 1, {})
        self.check()
        for pattern in list(self.wanted):
            self.unwant(pattern)
        for follower in self._each():
            assert not any(follower.dictionary._references[1:])
            assert len(follower.dictionary) == 0
        assert not self.closure.closure.labels.table
        assert not any(map(len, self.closure.closure.containers()))


def play(world: Timeline, random: Random, pool: Sequence[Triple], steps: int) -> None:
    """Want and unwant patterns, add, renew and remove triples of a pool, and check every step."""
    for _ in range(steps):
        choice = random.random()
        if choice < 0.2 or not world.wanted:
            world.want(ANY if random.random() < 0.3 else make_pattern(random))
        elif choice < 0.3:
            world.unwant(random.choice(world.wanted))
        else:
            world.tick(*draw(world, random, pool))
        world.check()
    world.finish()


def draw(world: Timeline, random: Random, pool: Sequence[Triple]) -> tuple[int, dict[Triple, int | None]]:
    """Draw the next instant, and labels for some triples: current, late, `ALWAYS`, or None."""
    now = world.now + random.choice([0, 1, 1, 1, 2, 7])
    labels = [now - random.choice([0, 0, 1]), now, now, None, ALWAYS]
    drawn = [random.choice(pool) for _ in range(random.choice([1, 1, 2, 6]))]
    return now, {found: random.choice(labels) for found in drawn}


def _same(term: Any) -> Any:
    return term
