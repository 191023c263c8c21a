"""Random nested queries over all operators against SPARQL by the book, after every commit, on every store."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import rdflive
from rdflive.errors import UnsupportedQueryError
from support.effort import HUNT, examples
from support.evaluate import answer
from support.quads import DATASETS, Store, Sum
from support.queries import Quad, make_commits, make_quad, make_query
from support.syntax import Query
from support.worlds import PRIMARY_DATASETS


@dataclass(frozen=True)
class Scenario:
    """What a graph begins with, a query, and what is then committed."""

    data: list[Quad]
    query: Query
    commits: list[list[tuple[int, Quad]]]


@st.composite
def scenarios(draw: st.DrawFn, *, graphs: bool) -> Scenario:
    """A query of any nesting, and quads of its vocabulary."""
    random: Random = draw(st.randoms(use_true_random=False))
    query = make_query(random, graphs=graphs, depth=random.choice((1, 2, 2, 3)))
    data = [make_quad(random, graphs=graphs) for _ in range(random.choice((4, 8, 14)))]
    return Scenario(list(dict.fromkeys(data)), query, make_commits(random, graphs=graphs))


@pytest.mark.parametrize("kind", ["graph", "oxigraph graph", *DATASETS])
def test_nested_queries_equal_full_evaluation(kind: str) -> None:
    """After each commit the deltas add up to the answer; of what is deleted nothing stays."""
    outcomes: Counter[str] = Counter()
    count = examples(200, share=20, sample=kind not in PRIMARY_DATASETS)

    @settings(
        max_examples=count,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[phase for phase in settings.default.phases if phase is not Phase.explain],
    )
    @given(scenarios(graphs=kind in DATASETS))
    def run(scenario: Scenario) -> None:
        store = Store(kind)
        for quad in scenario.data:
            store.write((1, quad))
        try:
            follower = Sum(store, str(scenario.query))
        except UnsupportedQueryError as refusal:
            outcomes[refusal.construct] += 1
            return
        follow(follower, store, scenario)
        outcomes["some answer" if follower.most else "no answer"] += 1

    run()
    print(kind, dict(outcomes))
    # few examples resemble each other, so that their shares may be far from those of many
    assert outcomes["some answer"] >= count / (8 if HUNT else 40)
    assert outcomes["some answer"] + outcomes["no answer"] >= count * (0.9 if HUNT else 0.6)


def follow(follower: Sum, store: Store, scenario: Scenario) -> None:
    """Compare at every step, then empty the store, fill and empty it again, and close."""

    def check() -> None:
        follower.check(answer(scenario.query, store.quads, union=store.union))

    with follower.subscription as subscription:
        check()
        for commit in scenario.commits:
            store.commit(commit)
            check()
        entries = []
        for quads in (store.quads, scenario.data):
            if quads is scenario.data:
                store.commit([(1, quad) for quad in quads])
                check()
            for quad in sorted(quads, key=str):
                store.write((-1, quad))
            check()
            entries.append(subscription.stats.entries)
        state = subscription._live()
        with rdflive.subscribe(Store(store.kind).graph, str(scenario.query)) as fresh:
            # a join indexes what it keeps of constants by other columns too, once they were asked for
            assert max(entries) <= 2 * fresh.stats.entries
            assert len(state.dictionary) == len(fresh._live().dictionary)
    assert (len(state.dictionary), state.views) == (0, {})
