"""The first stage with entailment: changes are brought to set semantics, and entailed quads are derived.

Every instance rule of RDFS has one instance triple in its body, so the conclusions of a triple depend only on
its kind and on the schema. The schema is small: its changes go to every bucket, and each bucket stores all of
it. So a bucket derives the changes of its own quads: of new and deleted quads by the new schema, and of other
quads by the difference between the new schema and the old one. Conclusions about the schema itself are data
too, and each bucket takes a share of them.

Example: with `:Express rdfs:subClassOf :Train`, an insert of `:IC5 a :Express` yields two rows, itself and
`:IC5 a :Train`. A delete of the schema triple yields one row for each express in the bucket: `:IC5 a :Train`
with the weight -1.

The next stage counts the explicit triples that entail a triple. A triple is present while its count is above
0, so the entailed graph changes only where a count leaves 0 or returns to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rdflive.entail.reasoning import SCHEMA_WORDS, TYPE
from rdflive_stores.spark.dataflow.conclusions import HASHES, PLACES, ConclusionTerms
from rdflive_stores.spark.dataflow.matching import (
    LAYOUT,
    LIVE,
    arrived,
    match_any,
    normalise,
    present,
    quad_rows,
    send_matches,
)
from rdflive_stores.spark.dataflow.packing import bucket_of, mix, pack, unpack
from rdflive_stores.spark.dataflow.plan import MatchPlan, Pattern, whole_graphs
from rdflive_stores.spark.dataflow.reasoning import Reasoning
from rdflive_stores.spark.dataflow.runs import Layout, Numbers
from rdflive_stores.spark.dataflow.state import Bucket, TaskMoment, merged

__all__ = ["COUNTED", "FACTS", "SCHEMA", "count", "entail"]

SCHEMA: Final = "schema"
"""The folder of the schema, which is the same in each bucket."""
FACTS: Final = Layout(4, 4)
"""The columns of live quads and of the schema, with the hashes of terms that conclusions need."""
_MOST_ROWS: Final = 1 << 16
"""Number of live quads that are read at a time."""
_ROW: Final = 0
"""The kind of packets."""


def entail(
    plan: MatchPlan, now: TaskMoment, buckets: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Turn changes into the signed quads that they entail, each sent to the bucket of its hash.

    The columns are those of `matching.match`, and `htype`, the hash of `rdf:type`. A change of the schema
    arrives in every bucket, not only in that of its quad.
    """
    graphs = whole_graphs(plan.patterns)
    for bucket, changes in arrived(graphs, batches):
        is_home = pa.array(bucket_of(changes["hash"].to_numpy(), buckets) == bucket)
        live, schema = (Bucket.of(now, name, bucket, FACTS) for name in (LIVE, SCHEMA))
        # read everything before writing
        known = [_quads(table) for table in merged(schema.before(), FACTS)]
        facts = _normalised(live, changes.filter(is_home))
        turned = _normalised(schema, changes.filter(_is_schema(changes)))
        for graph in graphs:
            here = _within(graph, changes)
            if not here.num_rows:
                continue
            explicit = [_within(graph, table) for table in known]
            turns = _within(graph, turned)
            reasoning = Reasoning(
                [pattern for pattern in plan.patterns if pattern.places[3] == graph.places[3]],
                ConclusionTerms(_hashes(here.slice(0, 1), [*explicit, turns])),
                [triple for table in explicit for triple in _triples(table)],
                dict(zip(_triples(turns), turns["weight"].to_pylist(), strict=True)),
            )
            for rows in _entailed(reasoning, graph, _within(graph, facts), live, (bucket, buckets)):
                hashes = mix((rows[name].to_numpy() for name in HASHES), len(rows))
                rows = rows.append_column("hash", pa.array(hashes))
                yield from pack(rows, _ROW, bucket_of(hashes, buckets))


def _entailed(
    reasoning: Reasoning, graph: Pattern, facts: pa.Table, live: Bucket, share: tuple[int, int]
) -> Iterator[pa.Table]:
    """Yield the weighted changes of the quads that one graph entails."""
    yield from reasoning.of_changes(_data(facts))
    if not reasoning.turned:
        return
    for run in live.before():
        for rows in run.table.to_batches(max_chunksize=_MOST_ROWS):
            there = _within(graph, _quads(pa.Table.from_batches([rows])))
            yield from reasoning.of_the_present(_data(there))
    bucket, buckets = share
    yield from reasoning.of_the_schema(str(graph.places[3]), lambda hash_: hash_ % buckets == bucket)


def _normalised(state: Bucket, changes: pa.Table) -> pa.Table:
    """Store the changes that alter a state, and return their quads with signs."""
    quads, signs = changes, np.empty(0, np.int64)
    if changes.num_rows:
        quads, signs = normalise(state, changes.combine_chunks())
    return quads.select([*PLACES, *HASHES]).append_column("weight", pa.array(signs))


def _quads(rows: pa.Table) -> pa.Table:
    """Return the rows of a state as quads with their weights."""
    layout = [*FACTS.text_names, *FACTS.hash_names, "weight"]
    return rows.select(layout).rename_columns([*PLACES, *HASHES, "weight"])


def _within(graph: Pattern, quads: pa.Table) -> pa.Table:
    return quads.filter(pa.array(match_any([graph], quads)))


def _is_schema(quads: pa.Table) -> Any:
    return pc.is_in(quads["p"], pa.array(SCHEMA_WORDS))


def _data(quads: pa.Table) -> pa.Table:
    """Drop the schema, which entails nothing before it is closed."""
    return quads.filter(pc.invert(_is_schema(quads)))


def _triples(quads: pa.Table) -> Iterator[tuple[str, str, str]]:
    return zip(*(quads[name].to_pylist() for name in PLACES[:3]), strict=True)


def _hashes(first: pa.Table, schema: Iterable[pa.Table]) -> Mapping[str, int]:
    """Return the hashes of all terms that a conclusion can have besides those of its quad.

    `first` is any change, which has the hashes of the graph and of `rdf:type`.
    """
    (graph,), (of_graph,), (of_type,) = (first[name].to_pylist() for name in ("g", "hg", "htype"))
    found = {graph: of_graph, TYPE: of_type}
    for table in schema:
        for name in PLACES[:3]:
            found.update(zip(table[name].to_pylist(), table[f"h{name}"].to_pylist(), strict=True))
    return found


COUNTED: Final = "entailed"
"""The folder of the entailed triples with their counts."""
_IDENTITY: Final = ("s", "p", "o", "g")
_HASHES: Final = ("hs", "hp", "ho", "hg", "hash")


def count(
    plan: MatchPlan, now: TaskMoment, buckets: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Turn entailed changes into matches of the patterns, as `matching.match` does with changes."""
    for bucket, kinds in unpack(batches):
        (rows,) = kinds.values()
        quads, gained = _net(rows)
        if not quads.num_rows:
            continue
        state = Bucket.of(now, COUNTED, bucket, LAYOUT)
        before, _ = present(state.before(), 0, quads)
        state.add(quad_rows(quads, gained, LAYOUT))
        signs = (before + gained > 0).astype(np.int64) - (before > 0)
        turned = np.nonzero(signs)[0]
        yield from send_matches(plan, quads.take(pa.array(turned)).combine_chunks(), signs[turned], buckets)


def _net(rows: pa.Table) -> tuple[pa.Table, Numbers]:
    """Add the weights of equal rows; return each row once, and its sum, which is not 0."""
    grouped = rows.group_by(_IDENTITY, use_threads=False)
    # equal rows have equal hashes
    summed = grouped.aggregate([("weight", "sum"), *((name, "max") for name in _HASHES)])
    summed = summed.filter(pc.not_equal(summed["weight_sum"], 0)).combine_chunks()
    quads = summed.select([*_IDENTITY, *(f"{name}_max" for name in _HASHES)])
    return quads.rename_columns([*_IDENTITY, *_HASHES]), summed["weight_sum"].to_numpy()
