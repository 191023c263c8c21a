"""Checks of patterns that are materialized by demand, and queries that need few triples."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from rdflive.engine import demand
from rdflive.engine.store_state import StoreState

__all__ = ["check_held", "eager", "make_text"]

NODES = ":a", ":b", ":c", ":d", ":e"
PREDICATES = ":p", ":q", ":r", "a"


def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make patterns switch early between full materialization and materialization by demand."""
    for name, value in {"_CHEAP": 3, "_SPARSE": 1, "_OFTEN": 1, "_PATIENCE": 0, "_FEW": 2}.items():
        monkeypatch.setattr(demand, name, value)


def check_held(state: StoreState) -> Counter[str]:
    """Compare the matches and demanded values of each pattern with the graph; count the kinds of patterns."""
    kinds: Counter[str] = Counter()
    for view in state.views.values():
        for pattern in view.kernel.patterns.values():
            for slot, (link, _) in pattern.links.items():
                found = Counter(row[slot] for row in pattern.matches() or ())
                assert link.wanted == found, "the values in demand are those of the matches"
            if not pattern.feeds or not pattern.keeps:
                continue
            kinds["whole" if pattern.feeds[0].is_wide else "by demand"] += 1
            held = [pattern.triple(values) for values in pattern.matches() or ()]
            wanted = [
                ids
                for ids in view.listed(pattern, {})
                if all(fed.is_wide or ids[fed.place] in fed.link.wanted for fed in pattern.feeds)
            ]
            assert Counter(held) == Counter(wanted), "a pattern holds what is asked for"
    assert (state.demand.fresh, state.demand.loose) == ([], [])
    return kinds


def make_text(random: Random, *, graphs: bool = False) -> str:
    """Write a query that begins at constants and continues with parts of all kinds."""
    names = iter("xyzuvwstklmn")
    variables = [next(names)]

    def triple() -> str:
        """Write a triple pattern with a variable used before."""
        known = f"?{random.choice(variables)}"
        predicate = random.choice(PREDICATES)
        if random.random() < 0.05:
            predicate = known if random.random() < 0.5 else f"?{random.choice(variables)}"
        if random.random() < 0.3:
            other = random.choice((*NODES, f"?{random.choice(variables)}"))
        else:
            other = f"?{next(names, 'o')}"
            variables.append(other[1:])
        ends = (known, other) if random.random() < 0.7 else (other, known)
        return f"{ends[0]} {predicate} {ends[1]}"

    def some(most: int = 2) -> str:
        return " . ".join(triple() for _ in range(random.randint(1, most)))

    def part() -> str:
        match random.randrange(11):
            case 0 | 1:
                return f"OPTIONAL {{ {some()} }}"
            case 2:
                return f"FILTER {random.choice(('', 'NOT '))}EXISTS {{ {some()} }}"
            case 3:
                return f"MINUS {{ {some()} }}"
            case 4:
                return f"{{ {some()} }} UNION {{ {some()} }}"
            case 5:
                terms = " ".join(random.sample(NODES, 2))
                return f"VALUES ?{random.choice(variables)} {{ {terms} }}"
            case 6:
                key = random.choice(variables)
                return f"{{ SELECT ?{key} (COUNT(*) AS ?n{key}) {{ {some()} }} GROUP BY ?{key} }}"
            case 7:
                end = next(names, "o")
                path = f"?{random.choice(variables)} :p{random.choice('+*')} ?{end}"
                variables.append(end)
                return path
            case 8:
                terms = ", ".join(random.sample(NODES, 2))
                return f"FILTER(?{random.choice(variables)} {random.choice(('', 'NOT '))}IN ({terms}))"
            case 9 if graphs:
                return f"GRAPH {random.choice(('?g', ':g', ':h'))} {{ {some()} }}"
            case _:
                return some()

    first = f"{random.choice(NODES)} {random.choice(PREDICATES)} ?x"
    match random.randrange(6):
        case 0:
            first = f"{random.choice(NODES)} :p{random.choice('+*')} ?x"
        case 1:
            first = f"?x {random.choice(PREDICATES)} {random.choice(NODES)}"
        case 2:
            first = f"VALUES ?x {{ {' '.join(random.sample(NODES, 2))} }}"
        case 3:
            first = some()
    parts = [first, *(part() for _ in range(random.randint(1, 4)))]
    if random.random() < 0.3:
        random.shuffle(parts)
    return f"SELECT {random.choice(('', 'DISTINCT '))}* {{ {' . '.join(parts)} }}".replace("} . ", "} ")
