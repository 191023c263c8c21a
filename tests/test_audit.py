"""Audits: a wrong answer is reported within n commits, and a right one never."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import Literal, URIRef

import rdflive
from rdflive.delivery import auditor as auditor_module
from rdflive.delivery.audit import AuditPace, Sample, compared
from rdflive.delivery.subscription import Member
from rdflive.engine.view import View
from rdflive.errors import UnsupportedQueryError
from support.effort import rounds
from support.quads import DATASETS, Store
from support.queries import make_commits, make_quad, make_query
from support.waiting import until
from support.worlds import KINDS, PRIMARY

P, Q = URIRef("urn:p"), URIRef("urn:q")
LONE = "SELECT ?s ?o { ?s <urn:p> ?o }"
JOIN = "SELECT ?s ?z { ?s <urn:p> ?o . ?o <urn:q> ?z }"
FILTERED = "SELECT ?s (COUNT(*) AS ?n) { ?s <urn:p> ?o FILTER(isIRI(?o)) } GROUP BY ?s"
ENGINES = ("graph", "oxigraph graph")


def write(graph: Any, number: int) -> None:
    """Make one commit, which gives JOIN one solution more."""
    node = URIRef(f"urn:n{number % 3}")
    with rdflive.batch(graph):
        graph.add((URIRef(f"urn:s{number}"), P, node))
        graph.add((node, Q, Literal(number)))


class Errors(list[rdflive.AuditError]):
    """Takes the errors of audits, and lets a test wait for one."""

    def __init__(self) -> None:
        super().__init__()
        self._first = threading.Event()

    def __call__(self, subscription: Any, error: Exception) -> None:
        assert isinstance(error, rdflive.AuditError)
        self.append(error)
        self._first.set()

    def first(self) -> rdflive.AuditError:
        """Wait for the first error."""
        assert self._first.wait(60)
        return self[0]


class Held:
    """Makes evaluations by rdflib wait, as those of a query that takes long."""

    def __init__(self, subscription: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        adapter = subscription._adapter
        evaluate = adapter.evaluate

        def held(*given: Any) -> Iterator[Any]:
            found = list(evaluate(*given))

            def listed() -> Iterator[Any]:
                self.begun.set()
                assert self.go.wait(60)
                yield from found

            return listed()

        monkeypatch.setattr(type(adapter), "evaluate", staticmethod(held))


def idle() -> None:
    """Wait until no audit is due or runs."""
    until(lambda: not auditor_module._line._is_working)


def lost(fault: str) -> Callable[[], None]:
    """Plant a fault that loses the changes of this thread, and return the function that removes it.

    An audit in another thread must not meet it, as it would lose the correction too.
    """
    patch, here = pytest.MonkeyPatch(), threading.get_ident()
    places = [(Member, "emit")]
    if fault == "kernel":
        places = [(View, name) for name in ("take", "take_net", "apply", "apply_all")]
    for owner, name in places:
        original = getattr(owner, name)

        def losing(self: Any, *given: Any, original: Any = original, **options: Any) -> Any:
            return False if threading.get_ident() == here else original(self, *given, **options)

        patch.setattr(owner, name, losing)
    return patch.undo


@pytest.mark.parametrize("fault", ["kernel", "delivery"])
@pytest.mark.parametrize("query", [LONE, JOIN, FILTERED])
@pytest.mark.parametrize("kind", ENGINES)
def test_a_lost_row_is_reported_within_n_commits(
    kind: str, query: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The subscriber gets the full answer again, and then the changes as before."""
    graph, errors, deltas = KINDS[kind](), Errors(), list[rdflive.Delta]()
    every = 4
    with rdflive.subscribe(graph, query, deltas.append, on_error=errors, audit=every) as subscription:
        for number in range(9):
            write(graph, number)
        idle()
        assert subscription.stats.audits >= 1
        mend = lost(fault)
        write(graph, 9)
        mend()
        at = subscription._capture.sequence
        for number in range(10, 10 + every):
            write(graph, number)
        error = errors.first()
        assert at <= error.audit.commit <= at + every
        assert error.audit.missing.total + error.audit.surplus.total > 0
        assert error.audit.expected.total - error.audit.kept.total == (
            error.audit.missing.total - error.audit.surplus.total
        )
        assert subscription.stats.audit_differences == 1
        idle()  # the full answer may have come between two of these commits
        assert any(delta.initial for delta in deltas[1:])
        write(graph, 20)
        summed: Counter[Any] = Counter()
        for delta in deltas[max(at for at, delta in enumerate(deltas) if delta.initial) :]:
            summed.update(delta.weights())
        assert +summed == Counter(subscription.answers())
        assert subscription.audit()
    assert str(error).startswith(f"at commit {error.audit.commit} the kept answer is not the answer")


@pytest.mark.parametrize("kind", ENGINES)
def test_a_row_too_many_is_reported_on_request(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of the engine alone is checked without `audit=`, also by the log."""
    graph = KINDS[kind]()
    write(graph, 0)
    with rdflive.subscribe(graph, JOIN, on_error="ignore") as subscription:
        mend = lost("kernel")
        graph.remove((URIRef("urn:s0"), P, None))
        mend()
        audit = subscription.audit()
        assert (audit.kept.total, audit.expected.total, audit.surplus.total) == (1, 0, 1)
        assert audit.surplus.rows[0].startswith("<urn:s0> ")
        assert isinstance(subscription.last_error, rdflive.AuditError)
        assert not subscription.answers()
        assert subscription.audit()


def test_a_resumed_subscriber_gets_the_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `resume` the lost row comes as a change, with the next number."""
    graph, deltas = rdflib.Graph(), list[rdflive.Delta]()
    options: Any = {"resume": tmp_path / "journal", "name": "board", "audit": 100, "on_error": "ignore"}
    with rdflive.subscribe(graph, LONE, deltas.append, **options) as subscription:
        write(graph, 0)
        mend = lost("delivery")
        write(graph, 1)
        mend()
        assert not subscription.audit()
        assert [(delta.sequence, len(delta.added)) for delta in deltas[-2:]] == [(2, 1), (3, 1)]


@pytest.mark.parametrize("kind", [*PRIMARY, "simple memory", "auditable", *DATASETS])
def test_random_queries_raise_no_false_alarm(kind: str) -> None:
    """Whatever the store's engine makes of a query, a right answer is not reported, with its deltas."""
    graphs, counted = kind in DATASETS, Counter[str]()
    for number in range(rounds(200, share=8)):
        random = Random(f"audit {kind} {number}")
        query = make_query(random, graphs=graphs, depth=random.choice((0, 0, 1, 2, 3)), construct=True)
        store = Store(kind)
        for _ in range(10):
            store.write((1, make_quad(random, graphs=graphs)))
        errors = Errors()
        try:
            subscription = rdflive.subscribe(store.graph, str(query), on_error=errors, audit=10**6)
        except UnsupportedQueryError:
            continue
        except rdflive.PlanError:
            counted["refused"] += 1
            continue
        with subscription:
            for commit in make_commits(random, graphs=graphs):
                store.commit(commit)
                assert subscription.audit(), query
                counted["audits"] += 1
        assert not errors
    assert counted["audits"] > 10 * counted["refused"]


def test_tables_of_parameters_and_bindings_are_audited() -> None:
    """Each member of a family is compared with its own terms."""
    for kind in ENGINES:
        graph = KINDS[kind]()
        prepared = rdflive.prepare("SELECT ?o ?z { ?s <urn:p> ?o . ?o <urn:q> ?z }")
        rows = [{"s": URIRef(f"urn:s{number}")} for number in range(3)]
        with prepared.subscribe(graph, print, rows, audit=1000) as opened:
            for number in range(5):
                write(graph, number)
            assert all(one.audit() for one in opened)
            assert [one.audit().kept.total for one in opened] == [2, 2, 1]


def _refused() -> Iterator[tuple[Callable[[], Any], str]]:
    graph = rdflib.Graph()
    now = "SELECT ?s { ?s <urn:p> ?t FILTER(?t < NOW()) }"
    blank = "CONSTRUCT { ?s <urn:q> [] } { ?s <urn:p> ?o }"
    given = rdflive.prepare(LONE)
    stream = rdflive.Stream()
    window = rdflive.Sliding("10s")
    yield lambda: rdflive.subscribe(graph, LONE, entailment="rdfs", audit=1), "entail"
    yield lambda: rdflive.subscribe(graph, now, audit=1), r"NOW\(\)"
    yield lambda: rdflive.subscribe(graph, blank, audit=1), "blank nodes"
    yield lambda: given.subscribe(graph, None, "SELECT ?s { ?s <urn:q> ?x }", audit=1), "another query"
    yield lambda: rdflive.subscribe(stream, LONE, window=window, audit=1), "windows"


@pytest.mark.parametrize(("call", "reason"), list(_refused()))
def test_what_no_engine_can_evaluate_is_refused(call: Callable[[], Any], reason: str) -> None:
    """With a reason, and without a subscription that stays open."""
    with pytest.raises(rdflive.PlanError, match=f"cannot be audited: .*{reason}"):
        call()


def test_explain_says_how_a_query_is_audited() -> None:
    """For a text as for a subscription."""
    assert rdflive.explain(JOIN).audit == "the store's engine has another answer"
    for query in (FILTERED, "SELECT ?s { ?s <urn:p> ?o FILTER(?o > 1) }"):
        assert rdflive.explain(query).audit.endswith("when it reads the graph again")
    assert rdflive.explain(FILTERED.replace("isIRI(?o)", "?o < NOW()")).audit.startswith("not possible: NOW")
    with rdflive.subscribe(rdflib.Graph(), LONE, entailment="rdfs") as subscription:
        assert subscription.explain().audit == "not possible: the store's engine does not entail triples"


@pytest.mark.parametrize(
    ("audit", "error"),
    [(0, ValueError), (-1, ValueError), (True, TypeError), ("x", TypeError), (1.5, TypeError)],
)
def test_other_values_of_the_option_are_refused(audit: Any, error: type[Exception]) -> None:
    """They name the option, and what it takes."""
    with pytest.raises(error, match=r"audit must be a number of commits from 1, or 'auto'"):
        rdflive.subscribe(rdflib.Graph(), LONE, audit=audit)


def test_an_audit_that_takes_longer_than_n_commits_is_followed_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Writers do not wait, no audits pile up, and the answer of the first state is compared."""
    graph, errors = rdflib.Graph(), Errors()
    with rdflive.subscribe(graph, JOIN, on_error=errors, audit=1) as subscription:
        held = Held(subscription, monkeypatch)
        write(graph, 0)
        assert held.begun.wait(60)
        for number in range(1, 20):
            write(graph, number)
        held.go.set()
        until(lambda: subscription.stats.audits == 1)
        write(graph, 20)
        until(lambda: subscription.stats.audits == 2)
    assert not errors


def test_closing_in_the_middle_of_an_audit_ends_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without an error, and the store is free afterwards."""
    graph, errors = rdflib.Graph(), Errors()
    subscription = rdflive.subscribe(graph, JOIN, on_error=errors, audit=1)
    held = Held(subscription, monkeypatch)
    mend = lost("delivery")  # so that the audit must lock the store once more
    write(graph, 0)
    mend()
    assert held.begun.wait(60)
    subscription.close()
    held.go.set()
    idle()
    assert not errors
    assert not caplog.records
    assert type(graph.store).__name__ == "Memory"


def test_a_storm_of_updates_raises_no_false_alarm() -> None:
    """Each audit sees one state, while other threads write."""
    for kind in ENGINES:
        graph, errors = KINDS[kind](), Errors()
        with rdflive.subscribe(graph, JOIN, on_error=errors, audit="auto") as subscription:

            def storm(first: int, graph: Any = graph) -> None:
                for number in range(first, first + 100):
                    write(graph, number)
                    graph.remove((URIRef(f"urn:s{number - 2}"), P, None))

            threads = [threading.Thread(target=storm, args=(1000 * n,)) for n in range(3)]
            for thread in threads:
                thread.start()
            audits = [subscription.audit() for _ in range(20)]
            for thread in threads:
                thread.join()
            assert all(audits)
        assert not errors


def test_an_interrupted_audit_leaves_everything_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C reaches the caller, wherever the engine was."""
    graph, deltas = rdflib.Graph(), list[rdflive.Delta]()
    with rdflive.subscribe(graph, JOIN, deltas.append, audit=1000) as subscription:
        write(graph, 0)

        def interrupted(*_: Any) -> Any:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(type(subscription._adapter), "evaluate", staticmethod(interrupted))
            with pytest.raises(KeyboardInterrupt):
                subscription.audit()
        write(graph, 1)
        assert [len(delta.added) for delta in deltas] == [0, 1, 1]
        assert subscription.audit()


def test_an_engine_that_fails_leaves_the_second_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the answer is compared with that of rdflive reading the graph again."""
    graph = rdflib.Graph()
    with rdflive.subscribe(graph, JOIN, audit=1000, on_error="ignore") as subscription:

        def failing(*_: Any) -> Any:
            raise RuntimeError("no such function")

        monkeypatch.setattr(type(subscription._adapter), "evaluate", staticmethod(failing))
        write(graph, 0)
        assert subscription.audit()
        mend = lost("kernel")
        write(graph, 1)
        mend()
        assert not subscription.audit()
        assert subscription.audit()


def test_an_audit_needs_a_commit_and_an_open_subscription() -> None:
    """Inside a batch the store is ahead of the answer."""
    graph = rdflib.Graph()
    subscription = rdflive.subscribe(graph, JOIN)
    with rdflive.batch(graph):
        graph.add((Q, P, Q))
        with pytest.raises(RuntimeError, match="inside a batch"):
            subscription.audit()
    assert subscription.audit()
    subscription.close()
    with pytest.raises(rdflive.ClosedError):
        subscription.audit()


def test_a_subscription_that_exceeds_its_budget_is_audited_no_more(caplog: pytest.LogCaptureFixture) -> None:
    """Its end is no error of the audit."""
    graph, ends = rdflib.Graph(), list[Exception]()
    budget = rdflive.Budget(rows=20)
    subscription = rdflive.subscribe(
        graph, JOIN, on_error=lambda _, error: ends.append(error), audit=1, budget=budget
    )
    with rdflive.batch(graph):
        for number in range(60):
            write(graph, number)
    idle()
    assert [type(error) for error in ends] == [rdflive.BudgetError]
    with pytest.raises(rdflive.BudgetError):
        subscription.audit()
    assert not caplog.records


def test_a_preview_is_no_change() -> None:
    """What is only tried is not added to the deltas."""
    graph = rdflib.Graph()
    with rdflive.subscribe(graph, LONE, audit=1) as subscription:
        with rdflive.preview(graph):
            write(graph, 0)
        idle()
        assert subscription.stats.audits == 0
        assert subscription.audit()
        assert subscription.audit().kept.total == 0


def test_a_fork_audits_after_later_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of the audits does not exist there, so nothing waits for it."""
    graph = rdflib.Graph()
    with rdflive.subscribe(graph, JOIN, audit=1) as subscription:
        held = Held(subscription, monkeypatch)
        write(graph, 0)
        assert held.begun.wait(60)
        auditor_module._line.renew()  # as in the child
        held.go.set()
        write(graph, 1)
        until(lambda: subscription.stats.audits == 2)


def test_the_pace_keeps_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long audits take, "auto" waits until they are two percent of the processor time."""
    from rdflive.delivery import audit as audit_module

    now, spent, random = 0.0, 0.0, Random("pace")
    monkeypatch.setattr(audit_module, "process_time", lambda: now)
    monkeypatch.setattr(audit_module, "_share", audit_module._Share())
    paces = [AuditPace("auto", 0) for _ in range(3)]
    for sequence in range(1, 20_000):
        now += 0.001
        for pace in paces:
            if pace.is_due(sequence):
                assert not any(each.is_due(sequence + 1) for each in paces)
                last = random.choice((0.001, 0.01, 0.1))
                now, spent = now + last, spent + last
                pace.done(sequence, last)
    assert 0.005 * now < spent - last <= 0.02 * now


def test_subscriptions_share_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """With "auto" each has its turn, one after the other."""
    from rdflive.delivery import audit as audit_module

    monkeypatch.setattr(audit_module, "_share", audit_module._Share())
    monkeypatch.setattr(audit_module, "_SHARE", 1e9)  # the next audit is due at once
    graph = rdflib.Graph()
    opened = [rdflive.subscribe(graph, query, audit="auto") for query in (LONE, JOIN, FILTERED)]
    for number in range(20):
        graph.add((URIRef(f"urn:s{number}"), P, Q))
        idle()
    counts = [subscription.stats.audits for subscription in opened]
    assert min(counts) >= 2
    assert max(counts) <= min(counts) + 1
    for subscription in opened:
        subscription.close()


def test_a_difference_shows_ten_solutions() -> None:
    """However large the answers and terms are."""
    many: Any = {(Literal("x" * 1000), Literal(number)): 2 for number in range(1000)}
    audit = compared("ASK {}", 7, many, {})
    assert (audit.kept.total, audit.surplus.total, len(audit.surplus.rows)) == (2000, 2000, 10)
    assert len(str(audit)) < 10_000
    assert Sample.of({(): 1}).rows == ("true",)


def test_audits_keep_no_store_alive() -> None:
    """A closed subscription is freed with its graph."""
    graph = rdflib.Graph()
    subscription = rdflive.subscribe(graph, JOIN, audit=1)
    subscription.audit()
    subscription.close()
    assert subscription._capture.watchers == ()
    del graph
    gc.collect()
