"""The first stage: changes are brought to set semantics, and matched with the patterns.

Within a micro-batch, the last operation on a quad counts. The live quads show if it changes anything. Without
them, a repeated insert, or a delete of an absent quad, would make all later sums wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rdflive.errors import RdfliveError
from rdflive.feeds.terms import RowError, RowReader, write_term
from rdflive_stores.spark.dataflow.packing import bucket_of, mix, pack
from rdflive_stores.spark.dataflow.plan import DEFAULT_GRAPH, MatchPlan, MatchRoute, Pattern
from rdflive_stores.spark.dataflow.rows import Column, SolutionRows
from rdflive_stores.spark.dataflow.runs import Layout, Numbers, Run, equal, expand
from rdflive_stores.spark.dataflow.state import Bucket, TaskMoment
from rdflive_stores.spark.dataflow.walking import finish, send

__all__ = [
    "CANONICAL",
    "LAYOUT",
    "LIVE",
    "PARAMETERS",
    "PLACES",
    "SIGNS",
    "ChangeError",
    "arrived",
    "last_of_each",
    "match",
    "match_any",
    "normalise",
    "present",
    "quad_rows",
    "send_matches",
]

LIVE: Final = "live"
"""The folder of the live quads."""
LAYOUT: Final = Layout(4)
PARAMETERS: Final = "<urn:rdflive:parameters>"
"""The graph of the quads that rows of parameters become; GRAPH ?g does not match it."""
PLACES: Final = ("s", "p", "o", "g")
SIGNS: Final = ("A", "+")
"""The operations that insert."""
_IRI: Final = r"<[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\]*>"
_LITERAL: Final = rf"\"[^\"\\\n\r]*\"(?:@[a-z]+(?:-[a-z0-9]+)*|\^\^{_IRI})?"
_NODE: Final = rf"{_IRI}|_:[A-Za-z0-9]+"
# A text that it matches is canonical; others may be too. In Java a $ would accept a trailing line break.
CANONICAL: Final = rf"^(?:{_NODE}|{_LITERAL})\z"
_ROLES: Final = {
    "subject": rf"^(?:{_NODE})\z",
    "predicate": rf"^{_IRI}\z",
    "object": CANONICAL,
    "graph": rf"^(?:{_NODE})?\z",
}


_ByBucket: TypeAlias = Iterator[tuple[int, pa.Table]]


class ChangeError(RdfliveError, ValueError):
    """A row is not a change of a graph."""


def match(
    plan: MatchPlan,
    now: TaskMoment,
    buckets: int,
    batches: Iterable[pa.RecordBatch],
    window: Callable[[_ByBucket], _ByBucket] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Turn changes, already in the bucket of their quad, into matches sent to the bucket of a centre.

    Columns: `op`, `s`, `p`, `o`, `g`; `hs`, `hp`, `ho`, `hg` and `hash`, the hashes of the terms and of the
    quad; `stream`, `offset` and `part`, its position in the source; `is_apart`, true if streams have no order
    among them; and `bucket`. With a `window`, the rows are elements with a `time`, which it turns into
    changes.
    """
    # quads that no pattern matches are not stored
    found = arrived(plan.patterns, batches)
    for bucket, mine in found if window is None else window(found):
        quads, signs = normalise(Bucket.of(now, LIVE, bucket, LAYOUT), mine)
        yield from send_matches(plan, quads, signs, buckets)


def arrived(patterns: Sequence[Pattern], batches: Iterable[pa.RecordBatch]) -> _ByBucket:
    """Yield, per bucket, the changes of quads that some pattern matches; raise `ChangeError` for bad rows."""
    changes = list(batches)
    if not changes:
        return
    table = pa.Table.from_batches(changes)
    if not table.num_rows:
        return
    table = table.cast(pa.schema(map(_small, table.schema))).combine_chunks()
    _check(table)
    for bucket in np.unique(table["bucket"].to_numpy()):
        mine = table.filter(pc.equal(table["bucket"], int(bucket))).combine_chunks()
        mine = mine.filter(pa.array(match_any(patterns, mine))).combine_chunks()
        if mine.num_rows:
            yield int(bucket), mine


def _small(field: pa.Field) -> pa.Field:
    """Use Arrow's string type for texts, even if Spark is set to large strings."""
    return field.with_type(pa.string()) if pa.types.is_large_string(field.type) else field


def _check(table: pa.Table) -> None:
    """Raise `ChangeError` for rows that are not changes, or whose terms are not written canonically.

    Terms are compared as texts from here on, so equal terms must have equal texts.
    """
    for name in ("stream", "offset", "part"):
        if table[name].null_count:
            raise ChangeError(f"the {name} of a change is NULL: all changes must have a position, or none")
    known = pc.is_in(table["op"], pa.array(["A", "D", "+", "-"]))
    if not pc.all(known).as_py():
        wrong = table["op"].filter(pc.invert(known))[0].as_py()
        raise ChangeError(f"{wrong!r} is not an operation: op must be A or +, D or -")
    for name, (role, canonical) in zip(PLACES, _ROLES.items(), strict=True):
        column = table[name]
        fine = pc.fill_null(pc.match_substring_regex(column, canonical), False)
        for text in pc.unique(column.filter(pc.invert(fine))).to_pylist():
            _check_term(text, role)


def _check_term(text: str | None, role: str) -> None:
    if text is None:
        raise ChangeError(f"the {role} of a change is NULL")
    reader = RowReader(text)
    try:
        term = reader.term(role) if role == "object" else reader.node(role, blank=role != "predicate")
    except RowError as error:
        raise ChangeError(f"{error}: terms are written as in N-Triples") from error
    canonical = write_term(term)
    if reader.rest or canonical != text:
        raise ChangeError(
            f"the {role} {text!r} must be written {canonical!r}, so that equal terms have equal texts"
        )


def last_of_each(table: pa.Table, apart: Sequence[str] = ()) -> pa.Table:
    """Keep the last change of each quad, or of each quad and `apart`, by position in the source."""
    # numpy cannot sort these texts, but their ranks, which have the same order
    stream = pc.rank(table["stream"], tiebreaker="dense").to_numpy()
    position = table["part"].to_numpy(), table["offset"].to_numpy(), stream
    more = [table[name].to_numpy() for name in apart]
    order = np.lexsort((*position, *more, table["hash"].to_numpy()))
    table = table.take(pa.array(order)).combine_chunks()
    repeats = np.logical_and.reduce([_equals_next(table, name) for name in ("hash", *apart)])
    if not repeats.any():
        return table
    same = np.logical_and.reduce([_equals_next(table, name) for name in (*PLACES, *apart)])
    # Two quads share a hash: rare, but no answer may depend on it.
    if (same != repeats).any():
        return _last_by_text(table, apart)
    _check_order(table, same)
    # the last of equal ones is followed by another quad, or by nothing
    return table.filter(pa.array(np.append(~repeats, True))).combine_chunks()


def _last_by_text(table: pa.Table, apart: Sequence[str]) -> pa.Table:
    """Do the same by texts, which is slower, for quads that share a hash."""
    names = (*PLACES, *apart)
    # ranks, not numbers in the order of arrival, which differs when the task runs again
    codes = [pc.rank(table[name], tiebreaker="dense").to_numpy() for name in names]
    stream = pc.rank(table["stream"], tiebreaker="dense").to_numpy()
    order = np.lexsort((table["part"].to_numpy(), table["offset"].to_numpy(), stream, *codes))
    table = table.take(pa.array(order)).combine_chunks()
    same = np.logical_and.reduce([code[order][1:] == code[order][:-1] for code in codes])
    _check_order(table, same)
    return table.filter(pa.array(np.append(~same, True))).combine_chunks()


def _check_order(table: pa.Table, same: npt.NDArray[np.bool_]) -> None:
    """Raise `ChangeError` for an insert and a delete of one quad in unknown order.

    The rows are sorted by quad and position; `same` is true for each row with the quad of the next one.
    """
    wanted = pc.is_in(table["op"], pa.array(SIGNS)).to_numpy()
    in_stream = same & _equals_next(table, "stream")
    at_one_place = in_stream & _equals_next(table, "offset") & _equals_next(table, "part")
    for place in np.nonzero(at_one_place & (wanted[1:] != wanted[:-1]))[0]:
        raise ChangeError(
            f"{_quad(table, place)} is inserted and deleted in one micro-batch, in unknown order: give "
            "changes the column offset, or file, offset and part, or topic, partition and offset"
        )
    # the last change of each quad in each stream
    last = np.nonzero(np.append(~in_stream, True))[0]
    number = np.concatenate([np.zeros(1, np.int64), np.cumsum(~same)])[last]
    differs = (number[1:] == number[:-1]) & (wanted[last][1:] != wanted[last][:-1])
    for place in last[1:][differs & table["is_apart"].to_numpy()[last][1:]]:
        raise ChangeError(
            f"{_quad(table, place)} is inserted and deleted in one micro-batch by several partitions of "
            "Kafka, which have no order among them: write changes of one quad to one partition, by its key"
        )


def _quad(table: pa.Table, place: Any) -> str:
    return " ".join(table[name][int(place)].as_py() for name in PLACES).rstrip()


def _equals_next(table: pa.Table, name: str) -> npt.NDArray[np.bool_]:
    column = table[name].combine_chunks()
    return equal(column.slice(1), column.slice(0, len(column) - 1))


def normalise(state: Bucket, changes: pa.Table) -> tuple[pa.Table, Numbers]:
    """Return the changes that alter the quads of a state, with their signs, and store them."""
    table = last_of_each(changes)
    weights, _ = present(state.before(), 0, table)
    wanted = pc.is_in(table["op"], pa.array(SIGNS)).to_numpy().astype(np.int64)
    # 1 - 0 inserts, 0 - 1 deletes, and equal numbers change nothing.
    signs = wanted - weights
    changed = np.nonzero(signs)[0]
    table, signs = table.take(pa.array(changed)).combine_chunks(), signs[changed]
    state.add(quad_rows(table, signs, state.layout))
    return table, signs


def present(runs: Iterable[Run], index: int, table: pa.Table) -> tuple[Numbers, Numbers]:
    """Return the weight of each quad, and the stored `rest` of each that is present."""
    hashes = table["hash"].to_numpy()
    weights, rests = np.zeros(len(hashes), np.int64), np.zeros(len(hashes), np.int64)
    for run in runs:
        mine, theirs = expand(*run.find(index, hashes))
        same = np.ones(len(mine), np.bool_)
        for number, name in enumerate(PLACES):
            texts = run.texts(f"v{number}", theirs)
            same &= equal(_texts(table[name]).take(pa.array(mine)), texts)
        mine, theirs = mine[same], theirs[same]
        weight = run.numbers("weight", theirs)
        np.add.at(weights, mine, weight)
        # rows that cancel out also cancel their numbers, so that the remaining row determines its own
        np.add.at(rests, mine, weight * run.numbers("rest", theirs))
    return weights, rests


def quad_rows(quads: pa.Table, signs: Numbers, layout: Layout) -> pa.Table:
    """Return quads as rows of a state that is sorted by their hash."""
    nothing = np.zeros(len(signs), np.int64)
    columns = {"index": nothing, "key": quads["hash"], "rest": nothing, "weight": signs}
    texts = {f"v{number}": quads[name] for number, name in enumerate(PLACES)}
    hashes = {name: quads[f"h{place}"] for name, place in zip(layout.hash_names, PLACES, strict=False)}
    return pa.table(columns | texts | hashes)


def send_matches(plan: MatchPlan, quads: pa.Table, signs: Numbers, buckets: int) -> Iterator[pa.RecordBatch]:
    """Send each match of each pattern along its routes."""
    for number, pattern in enumerate(plan.patterns):
        places = np.nonzero(_matches(pattern, quads))[0]
        found = quads.take(pa.array(places)).combine_chunks()
        rows = SolutionRows(signs[places], _bind(pattern, found))
        for condition in pattern.filters:
            rows = rows.where(condition, plan.names)
        if not len(rows):
            continue
        for kind, route in enumerate(plan.routes):
            if route.pattern == number:
                yield from _follow(plan, kind, route, rows, buckets)
        if not plan.ways[number].visits:
            yield from finish(plan, number, rows, buckets)


def match_any(patterns: Iterable[Pattern], quads: pa.Table) -> npt.NDArray[np.bool_]:
    """Return a mask of the quads that at least one pattern matches."""
    found = np.zeros(len(quads), np.bool_)
    for pattern in patterns:
        found |= _matches(pattern, quads)
    return found


def _matches(pattern: Pattern, quads: pa.Table) -> npt.NDArray[np.bool_]:
    """Return a mask of the quads that a pattern matches."""
    held = np.ones(quads.num_rows, np.bool_)
    for place, name in zip(pattern.places, PLACES, strict=True):
        if isinstance(place, str):
            held &= equal(quads[name], place)
        else:
            first = PLACES[pattern.place_of(place)]
            if first != name:
                held &= equal(quads[first], quads[name])
            if name == "g":  # the default graph has no name
                held &= ~equal(quads[name], DEFAULT_GRAPH) & ~equal(quads[name], PARAMETERS)
    return held


def _bind(pattern: Pattern, quads: pa.Table) -> dict[int, Column]:
    names = {v: PLACES[pattern.place_of(v)] for v in pattern.variables}
    return {v: (_texts(quads[name]), quads[f"h{name}"].to_numpy()) for v, name in names.items()}


def _texts(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks else pa.array([], pa.string())


def _follow(
    plan: MatchPlan, kind: int, route: MatchRoute, rows: SolutionRows, buckets: int
) -> Iterator[pa.RecordBatch]:
    if route.centre is not None or route.walks:
        yield from send(plan, kind, route.centre, rows, buckets)
    else:
        # stored in any one bucket, since rows that look for them go to every bucket
        spread = mix((hashes for _, hashes in rows.columns.values()), len(rows))
        yield from pack(rows.table, kind, bucket_of(spread, buckets))
