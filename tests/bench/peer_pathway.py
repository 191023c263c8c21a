"""pathway: the query as a chain of incremental joins, in a process of its own.

Measured before choosing: a table made of timed rows (`pw.debug.table_from_rows`) is up to twice as fast
as a Python connector, and making it is not timed. Pathway works commit by commit; rounds take turns with
commits of 1,000, 10,000 and 100,000 updates and the fastest counts. Within one commit what comes and
goes cancels, so it delivers fewer deltas than engines that answer each update.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final

from bench.child import apart
from bench.engines import Contender, Outcome
from bench.stream import Pattern, Update

__all__ = ["COMMITS", "pathway_contender"]

COMMITS: Final = (1_000, 10_000, 100_000)
WARM_UP: Final = 10
"""Updates of the run that tells the startup time."""


def pathway_contender() -> Contender | str:
    """Give the contender; a text says why it cannot be had."""
    if importlib.util.find_spec("pathway") is None:
        return "pathway is not installed"

    def run(updates: Sequence[Update], query: tuple[Pattern, ...], number: int) -> Outcome:
        commit = COMMITS[number % len(COMMITS)]
        return Outcome(**apart(_measure, updates=updates, query=query, commit=commit))

    return run


def _evaluate(updates: Sequence[Update], query: tuple[Pattern, ...], commit: int) -> dict[str, Any]:
    """Build the joins in a fresh graph of pathway and run it to the end of the stream."""
    import pathway as pw

    class Triple(pw.Schema):
        s: int = pw.column_definition(primary_key=True)
        p: int = pw.column_definition(primary_key=True)
        o: int = pw.column_definition(primary_key=True)

    pw.internals.parse_graph.G.clear()
    rows = [(s, p, o, i // commit * 2, sign) for i, (sign, s, p, o) in enumerate(updates)]
    triples = pw.debug.table_from_rows(Triple, rows, is_stream=True)
    solutions = None
    for s, p, o in query:
        table = triples.filter(pw.this.p == p)
        columns = {}
        for name, term in (("s", s), ("o", o)):
            if isinstance(term, str):
                columns[term[1:]] = table[name]
            else:
                table = table.filter(pw.this[name] == term)
        columns = {name: table[column.name] for name, column in columns.items()}
        matches = table.select(**columns)
        solutions = matches if solutions is None else _join(solutions, matches)

    counts = [0, 0]
    answer = 0

    def on_change(key: Any, row: dict[str, int], time: int, is_addition: bool) -> None:
        nonlocal answer
        counts[is_addition] += 1
        weight = 1 if is_addition else -1
        answer += weight * hash(tuple(row.values()))

    pw.io.subscribe(solutions, on_change)
    start = perf_counter()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    seconds = perf_counter() - start
    return {"seconds": seconds, "removed": counts[0], "added": counts[1], "answer": answer % (1 << 64)}


def _join(left: Any, right: Any) -> Any:
    shared = [name for name in right.column_names() if name in left.column_names()]
    fresh = [name for name in right.column_names() if name not in left.column_names()]
    return left.join(right, *(left[name] == right[name] for name in shared)).select(
        **{name: left[name] for name in left.column_names()}, **{name: right[name] for name in fresh}
    )


@contextmanager
def _silence() -> Iterator[None]:
    import logging
    import warnings

    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings(action="ignore"):
        yield


def _measure(updates: Sequence[Update], query: tuple[Pattern, ...], commit: int) -> dict[str, Any]:
    with _silence():
        startup = min(_evaluate(updates[:WARM_UP], query, WARM_UP)["seconds"] for _ in range(2))
        return {**_evaluate(updates, query, commit), "startup": startup}
