"""The third-party graphs of the section `queries`: base triples, changes that can be undone, and queries."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from rdflib import RDF, Graph, Literal, Namespace, URIRef

from bench.stream import SEED, SHARED
from rdflive.feeds import decode
from rdflive.feeds.rdf_patch import RDF_PATCH

__all__ = ["DATA", "Changes", "History", "schema_org", "social_network", "train_benchmark"]

Triple: TypeAlias = tuple[Any, Any, Any]
Changes: TypeAlias = list[tuple[int, Triple]]
"""Inserts (+1) and deletes (-1) of one batch, each of which takes effect."""

DATA: Final = SHARED.parent / "data"
BASE: Final = Namespace("http://www.semanticweb.org/ontologies/2015/trainbenchmark#")


@dataclass(frozen=True, slots=True)
class History:
    """A graph, what happens to it, and the queries to keep fresh meanwhile."""

    name: str
    base: Graph
    changes: list[Changes]
    queries: dict[str, str]


def _read(path: Path) -> Graph:
    graph = Graph()
    return graph.parse(data=gzip.decompress(path.read_bytes()), format="nt")


def social_network(size: str, count: int) -> list[History]:
    """Give TTC 2018 Q1 by the first change sets and by their single changes, forward and then backward."""
    folder = DATA / "ttc2018"
    patch = folder / size / "changes.rdfp.gz"
    with gzip.open(patch, "rt", encoding="utf-8") as lines:
        sets = [_triples(batch.changes) for batch in decode(RDF_PATCH, lines, str(patch))][:count]
    base = _read(folder / size / "base.nt.gz")
    queries = {"Q1": (folder / "q1.rq").read_text(encoding="utf-8")}
    single = [[change] for batch in sets for change in batch]
    return [
        History(f"TTC 2018, {size}, change sets", base, _and_back(sets), queries),
        History(f"TTC 2018, {size}, single changes", base, _and_back(single), queries),
    ]


def schema_org() -> History:
    """Give the vocabulary of schema.org, its transactions, and its maintainers' queries for what is wrong."""
    folder = DATA / "history" / "schemaorg"
    patch = folder / "changes.rdfp.gz"
    with gzip.open(patch, "rt", encoding="utf-8") as lines:
        changes = [_triples(batch.changes) for batch in decode(RDF_PATCH, lines, str(patch))]
    queries = {
        path.stem: path.read_text(encoding="utf-8") for path in sorted((folder / "queries").glob("*.rq"))
    }
    return History("schema.org", _read(folder / "base.nt.gz"), changes, queries)


def _triples(changes: Iterable[tuple[int, tuple[Any, ...]]]) -> Changes:
    return [(sign, (s, p, o)) for sign, (s, p, o, *_) in changes]


def _and_back(changes: list[Changes]) -> list[Changes]:
    return changes + [_undone(batch) for batch in reversed(changes)]


def _undone(batch: Changes) -> Changes:
    return [(-sign, triple) for sign, triple in reversed(batch)]


def train_benchmark(model: str, faults: int) -> History:
    """Give the railway with so many faults of each kind put in, and repaired in another order."""
    folder = DATA / "trainbenchmark"
    base = _read(folder / f"{model}.nt.gz")
    rng = random.Random(SEED)
    injected: list[Changes] = []
    for make in (_pos_length, _switch_monitored, _switch_set, _connected_segments):
        injected += make(base, rng, faults)
    rng.shuffle(injected)
    repaired = [_undone(batch) for batch in injected]
    rng.shuffle(repaired)
    queries = {
        path.stem: path.read_text(encoding="utf-8") for path in sorted((folder / "queries").glob("*.sparql"))
    }
    return History(f"Train Benchmark, {model}", base, injected + repaired, queries)


def _some(found: Any, rng: random.Random, count: int, suits: Callable[[Any], bool] = bool) -> list[Any]:
    """Draw some of what is found, in an order that does not depend on hashes."""
    listed = sorted(filter(suits, set(found)))
    return rng.sample(listed, min(count, len(listed)))


def _pos_length(base: Graph, rng: random.Random, count: int) -> list[Changes]:
    """Give segments a length that is not positive."""
    batches: list[Changes] = []
    for segment in _some(base.subjects(RDF.type, BASE.Segment), rng, count):
        length: Any = base.value(segment, BASE.length)
        wrong = Literal(-rng.randrange(10), datatype=length.datatype)
        if wrong != length:
            batches.append([(-1, (segment, BASE.length, length)), (1, (segment, BASE.length, wrong))])
    return batches


def _switch_monitored(base: Graph, rng: random.Random, count: int) -> list[Changes]:
    """Take the sensors of switches away."""
    return [
        [(-1, (switch, BASE.monitoredBy, sensor)) for sensor in base.objects(switch, BASE.monitoredBy)]
        for switch in _some(base.subjects(RDF.type, BASE.Switch), rng, count)
        if (switch, BASE.monitoredBy, None) in base
    ]


def _switch_set(base: Graph, rng: random.Random, count: int) -> list[Changes]:
    """Turn switches that an active route depends on."""
    batches: list[Changes] = []
    for switch in _some(base.objects(None, BASE.target), rng, count):
        old: Any = base.value(switch, BASE.currentPosition)
        others = [URIRef(BASE[f"POSITION_{name}"]) for name in ("LEFT", "RIGHT", "STRAIGHT")]
        new = rng.choice([position for position in others if position != old])
        place = BASE.currentPosition
        batches.append([(-1, (switch, place, old)), (1, (switch, place, new))])
    return batches


def _connected_segments(base: Graph, rng: random.Random, count: int) -> list[Changes]:
    """Put a segment between two that one sensor monitors."""
    segments = set(base.subjects(RDF.type, BASE.Segment))
    links = [
        (first, last, sensor)
        for first, last in base.subject_objects(BASE.connectsTo)
        for sensor in base.objects(first, BASE.monitoredBy)
        if first in segments and last in segments and (last, BASE.monitoredBy, sensor) in base
    ]
    batches: list[Changes] = []
    for number, (first, last, sensor) in enumerate(_some(links, rng, count)):
        new = BASE[f"new{number}"]
        batches.append(
            [
                (-1, (first, BASE.connectsTo, last)),
                (1, (first, BASE.connectsTo, new)),
                (1, (new, RDF.type, BASE.Segment)),
                (1, (new, RDF.type, BASE.TrackElement)),
                (1, (new, BASE.length, Literal(1))),
                (1, (new, BASE.monitoredBy, sensor)),
                (1, (new, BASE.connectsTo, last)),
            ]
        )
    return batches
