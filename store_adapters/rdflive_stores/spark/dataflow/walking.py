"""The middle stages: rows are joined with the patterns of one star after another, until they are solutions.

A change of pattern i is joined with the new state of earlier patterns and the old state of later ones. So the
changes of all patterns together add up to the change of the join: Δ(A ⋈ B) = ΔA ⋈ B + (A + ΔA) ⋈ ΔB.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rdflive_stores.spark.dataflow.packing import bucket_of, mix, pack, pack_everywhere, unpack
from rdflive_stores.spark.dataflow.plan import MatchPlan, MetPattern, Pattern
from rdflive_stores.spark.dataflow.rows import Column, SolutionRows
from rdflive_stores.spark.dataflow.runs import Layout, Numbers, Run, equal, expand
from rdflive_stores.spark.dataflow.solutions import hash_rows, solutions
from rdflive_stores.spark.dataflow.state import Bucket, TaskMoment

__all__ = ["ARRANGED", "MOST_PARTNERS", "arriving", "finish", "keep", "layout", "send", "walk"]

ARRANGED: Final = "arranged"
"""The folder of the arrangements."""
_DONE: Final = -2
MOST_PARTNERS: Final = 256
"""A row with more partners than this at a star takes the detour, if there is one."""
MOST_SALTS: Final = 16
"""Number of buckets with the quads of one value in a salted star, if there are as many."""
_MOST_PAIRS: Final = 1 << 18
"""Number of rows that one join makes at a time, unless a single row makes more."""


def layout(plan: MatchPlan) -> Layout:
    """Return the columns of arrangements: the variables of a pattern and their hashes."""
    width = max((len(pattern.variables) for pattern in plan.patterns), default=0)
    return Layout(width, width)


def walk(
    plan: MatchPlan, now: TaskMoment, buckets: int, number: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Join rows with the star in whose bucket they are, and send them on; `number` counts the visits."""
    for bucket, kinds in unpack(batches):
        for kind in [kind for kind in kinds if kind <= _DONE]:
            yield from keep(kinds.pop(kind), kind, bucket)
        state = Bucket.of(now, ARRANGED, bucket, layout(plan))
        if number == 0:
            # The first visit brings the new matches, and only it writes. Later visits read its file.
            before = state.before()
            added = state.add(_updates(plan, kinds))
        else:
            before, added = state.before(), state.added()
        for way, rows in _walkers(plan, number, kinds):
            runs = before, [*before, added] if added is not None else before
            for on, found in _meet(plan, way, number, rows, *runs):
                yield from _send(plan, on, number + 1, found, buckets)


def arriving(port: int) -> int:
    """Return the kind of packets for a port of a later stage; rounds in between pass them on."""
    return _DONE - port


def keep(rows: pa.Table, kind: int, bucket: int) -> Iterator[pa.RecordBatch]:
    """Pass on rows to the next stage of the same bucket."""
    yield from pack(rows, kind, np.full(rows.num_rows, bucket))


def send(
    plan: MatchPlan, kind: int, centre: int | None, rows: SolutionRows, buckets: int
) -> Iterator[pa.RecordBatch]:
    """Send rows to the bucket of their value at a centre.

    In a salted star, rows without the variable that determines the bucket go to all buckets of the value.
    """
    if centre is None:
        yield from pack_everywhere(rows.table, kind, buckets)
        return
    bucket, salt = bucket_of(rows.columns[centre][1], buckets), plan.salts[centre]
    salts = min(MOST_SALTS, buckets)
    if salt is None:
        yield from pack(rows.table, kind, bucket)
    elif salt in rows.columns:
        # the salts of a value are in different buckets, so a bucket has only one of them
        yield from pack(
            rows.table, kind, bucket_of(bucket + bucket_of(rows.columns[salt][1], salts), buckets)
        )
    else:
        for number in range(salts):
            yield from pack(rows.table, kind, bucket_of(bucket + number, buckets))


def finish(plan: MatchPlan, pattern: int, rows: SolutionRows, buckets: int) -> Iterator[pa.RecordBatch]:
    """Send solutions that result from a change of a pattern to the stages that use them."""
    shown = plan.shown[plan.leaves[pattern]]
    columns = [rows.columns[v] for v in shown.columns]
    table = solutions(rows.weight, (texts for texts, _ in columns))
    for target in shown.targets:
        if target.is_alone:
            spread = mix((columns[place][1] for place in target.spread if place is not None), len(rows))
        else:
            spread = hash_rows(table, target.spread)
        yield from pack(table, arriving(target.port), bucket_of(spread, buckets))


def _updates(plan: MatchPlan, kinds: dict[int, pa.Table]) -> pa.Table:
    """Return the matches that were sent here for arrangements."""
    shape = layout(plan)
    parts = [shape.schema.empty_table()]
    for kind, table in kinds.items():
        route = plan.routes[kind]
        if route.arrangement is None:
            continue
        variables = plan.patterns[route.pattern].variables
        rows = SolutionRows.of(table, variables)
        nothing = np.zeros(len(rows), np.int64)
        rest = [v for v in variables if v != route.centre]
        columns = {
            "index": np.full(len(rows), route.arrangement),
            "key": nothing if route.centre is None else rows.columns[route.centre][1],
            "rest": rows.columns[rest[0]][1] if rest else nothing,
            "weight": rows.weight,
        }
        for place in range(shape.texts):
            known = place < len(variables)
            texts, hashes = rows.columns[variables[place]] if known else (pa.nulls(len(rows)), nothing)
            columns |= {f"v{place}": texts, f"h{place}": hashes}
        parts.append(pa.table(columns).select(shape.schema.names).cast(shape.schema))
    return pa.concat_tables(parts)


def _walkers(plan: MatchPlan, number: int, kinds: dict[int, pa.Table]) -> Iterator[tuple[int, SolutionRows]]:
    """Yield the rows that are on their way, with the number of the way."""
    for kind, table in kinds.items():
        if number == 0 and not plan.routes[kind].walks:
            continue
        way = plan.routes[kind].pattern if number == 0 else kind
        yield way, SolutionRows.of(table, plan.bound(way, number))


def _send(
    plan: MatchPlan, way: int, number: int, rows: SolutionRows, buckets: int
) -> Iterator[pa.RecordBatch]:
    """Send rows to their next star, or to the stages of solutions."""
    visits = plan.ways[way].visits
    if number == len(visits):
        yield from finish(plan, plan.ways[way].seed, rows, buckets)
        return
    yield from send(plan, way, visits[number].centre, rows, buckets)


def _meet(
    plan: MatchPlan, way: int, number: int, rows: SolutionRows, before: Sequence[Run], after: Sequence[Run]
) -> Iterator[tuple[int, SolutionRows]]:
    """Join rows with all patterns of a star, after dropping rows that lack a partner in any of them.

    Yields the rows with the number of the way on which they continue.
    """
    seed, visit = plan.ways[way].seed, plan.ways[way].visits[number]
    # the new state of earlier patterns and the old one of later ones, so that no solution counts twice
    stages = [(join, after if join.pattern < seed else before) for join in visit.joins]
    # Counting candidates takes a bisection per row, and avoids joins whose rows the next pattern would drop.
    pairs = np.ones(len(rows))
    for join, runs in stages:
        partners = _count(plan.patterns[join.pattern], join, visit.centre, rows, runs)
        pairs *= partners if join.is_open else partners > 0
    if visit.detour is not None:
        heavy = pairs > MOST_PARTNERS
        if heavy.any():
            yield visit.detour, rows.take(np.nonzero(heavy)[0])
            pairs[heavy] = 0
    for piece in _pieces(rows, pairs):
        for join, runs in stages:
            piece = _join(plan.patterns[join.pattern], join, visit.centre, piece, runs)
        for condition in visit.conditions:
            piece = piece.where(condition, plan.names)
        if len(piece):
            yield way, piece


def _pieces(rows: SolutionRows, pairs: npt.NDArray[np.float64]) -> Iterator[SolutionRows]:
    """Split rows into pieces, each with a small join result."""
    places = np.nonzero(pairs)[0]
    turns = np.floor_divide(np.cumsum(pairs[places]), _MOST_PAIRS)
    for turn in np.unique(turns):
        yield rows.take(places[turns == turn])


def _find(
    pattern: Pattern, join: MetPattern, centre: int | None, rows: SolutionRows, run: Run
) -> tuple[Numbers, Numbers]:
    """Find the candidates of each row by the centre, and by one more variable if it is bound."""
    keys = np.zeros(len(rows), np.int64) if centre is None else rows.columns[centre][1]
    rest = next((v for v in pattern.variables if v != centre), None)
    bound = rows.columns.get(rest) if rest is not None else None
    return run.find(join.arrangement, keys, None if bound is None else bound[1])


def _count(
    pattern: Pattern, join: MetPattern, centre: int | None, rows: SolutionRows, runs: Sequence[Run]
) -> Numbers:
    partners = np.zeros(len(rows), np.int64)
    for run in runs:
        begin, end = _find(pattern, join, centre, rows, run)
        partners += end - begin
    return partners


def _join(
    pattern: Pattern, join: MetPattern, centre: int | None, rows: SolutionRows, runs: Sequence[Run]
) -> SolutionRows:
    """Pair rows with the matches of a pattern that agree in all shared variables."""
    parts = []
    for run in runs:
        mine, theirs = expand(*_find(pattern, join, centre, rows, run))
        if len(mine):
            parts.append(_pair(pattern, rows, mine, run, theirs))
    return _together(parts, {*rows.columns, *pattern.variables})


def _pair(pattern: Pattern, rows: SolutionRows, mine: Numbers, run: Run, theirs: Numbers) -> SolutionRows:
    # Candidates are found by hashes, so shared variables are compared by text.
    same = np.ones(len(mine), np.bool_)
    new: dict[int, Column] = {}
    for place, variable in enumerate(pattern.variables):
        texts = run.texts(f"v{place}", theirs)
        if variable in rows.columns:
            same &= equal(rows.columns[variable][0].take(pa.array(mine)), texts)
        else:
            new[variable] = texts, run.numbers(f"h{place}", theirs)
    pairs = rows.take(mine)
    pairs = SolutionRows(pairs.weight * run.numbers("weight", theirs), {**pairs.columns, **new})
    return pairs if same.all() else pairs.take(np.nonzero(same)[0])


def _together(parts: Sequence[SolutionRows], variables: Iterable[int]) -> SolutionRows:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        nothing = np.empty(0, np.int64)
        return SolutionRows(nothing, {v: (pa.array([], pa.string()), nothing) for v in variables})
    columns = {
        v: (
            pa.concat_arrays([part.columns[v][0] for part in parts]),
            np.concatenate([part.columns[v][1] for part in parts]),
        )
        for v in variables
    }
    return SolutionRows(np.concatenate([part.weight for part in parts]), columns)
