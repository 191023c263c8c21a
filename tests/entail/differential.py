"""Strategies against each other and against recomputation, commit by commit, on random data and schemas.

Every commit is followed by each subscription under each strategy: their deltas must be equal, and add up to
what Oxigraph evaluates over what the naive oracle says is entailed. The gate asks the oracle now and then.
"""

from __future__ import annotations

import logging
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from time import perf_counter
from typing import Any

from rdflib import BNode, URIRef

import rdflive
from entail.queries import GRAPH, make_query
from support.effort import checked, drawn_from
from support.entailment import Vocabulary, make_commits, saturated, world
from support.oracle import comparable
from support.quads import DATASETS, Store
from support.solutions import Row, folded_row, items_of, row_of

__all__ = ["FAMILIES", "KINDS", "Family", "Followed", "Judge", "Outcome", "Quads", "run"]

KINDS = ("graph", "simple memory", "oxigraph graph", *DATASETS)
STRATEGIES: tuple[dict[str, Any], ...] = (
    {"strategy": "saturate"},
    {"strategy": "reformulate"},
    {"strategy": "auto"},
)


ROWS = 300
"""Queries that had more solutions in some state are left out: reading them would take all the time."""


class Quads(Store):
    """A store that takes blank nodes too, whatever its library."""

    def write(self, write: tuple[int, Any]) -> None:
        """Add or remove one quad; None is the default graph."""
        if not self.native:
            super().write(write)
            return
        import pyoxigraph as ox

        sign, quad = write
        (self.quads.add if sign > 0 else self.quads.discard)(quad)
        native = ox.Quad(*map(_native, quad[:3]), ox.DefaultGraph() if quad[3] is None else _native(quad[3]))
        (self.graph.add if sign > 0 else self.graph.remove)(native)

    def clear(self) -> None:
        """Remove every quad, one by one."""
        for quad in sorted(self.quads, key=str):
            self.write((-1, quad))


def _native(term: Any) -> Any:
    import pyoxigraph as ox

    if isinstance(term, URIRef):
        return ox.NamedNode(str(term))
    return ox.BlankNode(str(term)) if isinstance(term, BNode) else ox.Literal(term.value)


class Judge:
    """Evaluates queries over what the naive oracle says is entailed; each graph entails by itself."""

    def __init__(self, quads: Iterable[Any], *, union: bool) -> None:
        import pyoxigraph as ox

        self._store = ox.Store()
        graphs: dict[Any, set[Any]] = {None: set()}
        for *triple, name in quads:
            graphs.setdefault(name, set()).add(tuple(triple))
            if union:
                graphs[None].add(tuple(triple))
        self.entailed = 0
        for name, triples in graphs.items():
            found = saturated(triples)
            self.entailed += len(found) - len(triples)
            target = ox.DefaultGraph() if name is None else _native(name)
            self._store.extend(ox.Quad(*map(_native, triple), target) for triple in found)

    def ask(self, text: str) -> Counter[Row] | bool:
        """Evaluate a query: rows with their weights, or the answer of ASK."""
        result = self._store.query(text)
        kind = type(result).__name__
        if kind == "QueryBoolean":
            return bool(result)
        if kind == "QueryTriples":
            triples = {(triple.subject, triple.predicate, triple.object) for triple in result}
            return Counter(comparable(zip("spo", triple, strict=True)) for triple in triples)
        names = [variable.value for variable in result.variables]
        return Counter(comparable(zip(names, solution, strict=True)) for solution in result)


class Followed:
    """A subscription whose deltas are added up, each also by itself."""

    def __init__(self, store: Store, text: str, **options: Any) -> None:
        self._native = store.native
        self.text, self.options = text, options
        self.weights: Counter[Row] = Counter()
        self.delta: Counter[Row] = Counter()
        self.answer: bool | None = None
        self.deltas = 0
        self.subscription = rdflive.subscribe(store.graph, text, self._take, on_error=_fail, **options)

    def _take(self, delta: rdflive.Delta) -> None:
        assert delta.initial or delta, f"an empty delta of {self.text} {self.options}"
        self.deltas += 1
        self.answer = delta.answer
        for solution, weight in delta.weights().items() if delta.answer is None else ():
            found = self._row(solution)
            self.delta[found] += weight
            self.weights[found] += weight

    def _row(self, solution: Any) -> Row:
        if not self._native:
            return folded_row(row_of(solution))
        return comparable(items_of(solution))

    def begin(self) -> None:
        """Forget the delta of the last commit."""
        self.deltas = 0
        self.delta = Counter()

    @property
    def state(self) -> Counter[Row] | bool:
        """What the deltas add up to."""
        if self.subscription.last_error is not None:
            raise self.subscription.last_error
        assert min(self.weights.values(), default=0) >= 0, f"{self.text} {self.options}"
        return +self.weights if self.answer is None else self.answer

    def check_delta(self) -> None:
        """At most one delta may have come of a commit."""
        assert self.deltas <= 1, f"{self.deltas} deltas of one commit: {self.text} {self.options}"

    def check(self, expected: Counter[Row] | bool) -> None:
        """Compare what was told with the answer."""
        self.check_delta()
        assert self.state == expected, self._message(self.state, expected)
        if self.answer is None and not self.text.startswith("CONSTRUCT"):
            answers = Counter(self._row(solution) for solution in self.subscription.answers())
            assert answers == expected, self._message(answers, expected)

    def _message(self, found: Any, expected: Any) -> str:
        if isinstance(expected, bool):
            return f"{self.options}: {self.text} gives {found}, not {expected}"
        missing, wrong = dict(expected - found), dict(found - expected)
        return f"{self.options}: {self.text}\n  missing {missing}\n  wrong {wrong}"


def _size(answer: Counter[Row] | bool) -> int:
    return 1 if isinstance(answer, bool) else answer.total()


def _fail(subscription: Any, error: Exception) -> None:
    raise error


@dataclass(frozen=True)
class Family:
    """What the random graphs of a run may say."""

    name: str
    cyclic: bool = True
    meta: bool = True
    blanks: bool = True
    options: Sequence[dict[str, Any]] = STRATEGIES


PATHS = ({"strategy": "saturate", "counts": "paths"}, *STRATEGIES)
FAMILIES = (
    Family("cyclic schemas, and what is said of RDF's own words"),
    Family("cyclic schemas", meta=False),
    Family("acyclic schemas, counted by paths too", cyclic=False, meta=False, options=PATHS),
)


@dataclass
class Outcome:
    """What a run did."""

    updates: int = 0
    """Commits, of one write or more."""
    compared: int = 0
    """Commits after which the oracle was asked."""
    changed: int = 0
    """How often a commit changed the answer of a query."""
    entailed: int = 0
    """Triples that were entailed and not explicit, summed over the commits that were compared."""
    queries: int = 0
    seconds: float = field(default_factory=perf_counter)


class _Alarm(logging.Handler):
    """Keeps the log records, as only the log reports that a view failed and was restarted."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(self.format(record))


def run(
    kind: str, family: Family, *, updates: int, seed: int, queries: int = 4, length: int = 100
) -> Outcome:
    """Make worlds of `length` commits until there were `updates`, each with other queries.

    A world of few commits may entail nothing, one in a thousand of 64. So up to three more follow until
    something was entailed.
    """
    random, outcome, most = drawn_from(kind, family.name, seed), Outcome(), updates + 3 * length
    alarm, log = _Alarm(), logging.getLogger("rdflive")
    log.addHandler(alarm)
    try:
        while outcome.updates < updates or (not outcome.entailed and outcome.updates < most):
            length = min(length, updates - outcome.updates) or length
            _World(kind, family, random, queries=queries, length=length).play(outcome)
            assert not alarm.messages, alarm.messages
    finally:
        log.removeHandler(alarm)
    outcome.seconds = perf_counter() - outcome.seconds
    return outcome


class _World:
    """A store, what is committed to it, some queries, and a follower of each under each strategy."""

    def __init__(self, kind: str, family: Family, random: Random, *, queries: int, length: int) -> None:
        self.family, self.random = family, random
        self.graphs = kind in DATASETS
        self.store = Quads(kind)
        words = world(blanks=family.blanks)
        commits = make_commits(random, words, length, cyclic=family.cyclic, meta=family.meta)
        self.commits = [[(sign, (*triple, self._where())) for sign, triple in writes] for writes in commits]
        self.texts = self._lively(words, queries)
        self.followers: dict[str, list[Followed]] = {}
        self.log: list[Any] = []

    def _where(self) -> Any:
        return self.random.choice((None, None, URIRef(GRAPH))) if self.graphs else None

    def _lively(self, words: Vocabulary, count: int) -> list[str]:
        """Choose queries whose answer is not always the same, as far as some of the states show."""
        quads: set[Any] = set()
        judges = []
        for number, writes in enumerate(self.commits, 1):
            for sign, quad in writes:
                (quads.add if sign > 0 else quads.discard)(quad)
            if number % 5 == 0 and len(judges) < 8:
                judges.append(Judge(quads, union=self.store.union))
        texts: list[str] = []
        for attempt in range(400):
            text = make_query(self.random, words, graphs=self.graphs)
            answers = [judge.ask(text) for judge in judges]
            lively = attempt > 200 or sum(map(operator.ne, answers, answers[1:])) > 2
            if lively and text not in texts and max(map(_size, answers), default=0) <= ROWS:
                texts.append(text)
            if len(texts) == count:
                break
        return texts

    def play(self, outcome: Outcome) -> None:
        """Make the commits, with half of the queries subscribed to before the first; then clear."""
        late = self.random.randrange(len(self.commits))
        self.subscribe(self.texts[::2])
        for number, (writes, compared) in enumerate(checked(self.commits)):
            if number == late:
                self.subscribe(self.texts[1::2])
            self.commit(writes)
            outcome.updates += 1
            outcome.changed += sum(bool(group[0].deltas) for group in self.followers.values())
            if compared:
                outcome.compared += 1
                outcome.entailed += self.check()
            else:
                self.check_deltas()
        outcome.queries += len(self.texts)
        self.end()

    def subscribe(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.followers[text] = [
                Followed(self.store, text, entailment="rdfs", **options) for options in self.family.options
            ]

    def commit(self, quads: list[Any]) -> None:
        self.log.append(quads)
        for follower in self.each():
            follower.begin()
        self.store.commit(quads)

    def each(self) -> list[Followed]:
        return [follower for group in self.followers.values() for follower in group]

    def check_deltas(self) -> None:
        """Compare what each strategy told of the last commit."""
        for group in self.followers.values():
            for follower in group:
                with self.logged():
                    follower.check_delta()
                    assert follower.delta == group[0].delta, f"{follower.text}: strategies differ"

    def check(self) -> int:
        """Compare every strategy with the oracle, and with the others; give how much is entailed."""
        self.check_deltas()
        judge = Judge(self.store.quads, union=self.store.union)
        for text, group in self.followers.items():
            expected = judge.ask(text)
            for follower in group:
                with self.logged():
                    follower.check(expected)
        return judge.entailed

    @contextmanager
    def logged(self) -> Iterator[None]:
        """Tell with a failure what was committed."""
        try:
            yield
        except AssertionError as error:
            raise AssertionError(f"{error}\nafter {self.store.kind} {self.log}") from error

    def end(self) -> None:
        """Empty the store: nothing may stay that a fresh subscription would not have."""
        self.store.clear()
        for follower in self.each():
            follower.begin()
        self.check()
        state = self.each()[0].subscription._live()
        fresh = _World(self.store.kind, self.family, self.random, queries=0, length=0)
        fresh.subscribe(self.followers)
        left, right = len(state.dictionary), len(fresh.each()[0].subscription._live().dictionary)
        assert left == right, f"{left} terms are kept, not {right}: {self.texts}, {self.log}"
        for follower in [*self.each(), *fresh.each()]:
            follower.subscription.close()
        assert (len(state.dictionary), state.views) == (0, {})
