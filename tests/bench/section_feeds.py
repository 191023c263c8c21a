"""(j) What following a feed costs: decoding it, and applying it with its cursor."""

from __future__ import annotations

import io
import random
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import pyoxigraph
from rdflib import BNode, Dataset, Literal, URIRef

import rdflive
from bench.again import to_quad
from bench.clock import timed
from bench.page import Page
from bench.report import Section
from bench.sizes import Sizes
from bench.stream import SEED
from rdflive import Batch, Change, Quad
from rdflive.feeds import decode, feed_format, to_lines

WRITTEN: Final = ("rdf-patch", "nquads", "sparql-update")
CHANGES: Final = 10
"""Changes per batch, nine of ten of them inserts."""

PAGE = Page(
    "j",
    "Change feeds",
    "rdflive decodes a feed, or mirrors it into a graph in batches of ten changes with the cursor of the "
    "feed.",
    "The last column divides by rdflib's patch parser, or by plain writes, which decode nothing, store no "
    "cursor and undo nothing.",
    "what way rate ratio",
    lambda row: row["way"] not in ("plain writes", "rdflib's parser") and "blank" not in row["what"],
)


def run(sizes: Sizes) -> Section:
    """Decode each format that is written, then mirror batches into each store."""
    section = Section(
        "feeds",
        "Feeds: decoding, and applying batches of ten changes with the cursor in each",
        sizes.batches * CHANGES,
        "what | way | rate: changes/s | micros: µs per batch | ratio: rdflive / peer, times the time",
        repeat=sizes.repeat,
    )
    ground, blank = _batches(sizes.batches, blank=False), _batches(sizes.batches, blank=True)
    section.rows += _decoding(ground, sizes.repeat)
    for what, batches in (("ground", ground), ("with blank nodes", blank)):
        section.rows += _mirroring(what, batches, sizes.repeat)
    return section


def _batches(count: int, *, blank: bool) -> list[Batch]:
    rng = random.Random(SEED)
    nodes: list[Any] = [URIRef(f"http://example.org/n{i}") for i in range(2_000)]
    nodes += [BNode(f"b{i}") if blank else URIRef(f"http://example.org/m{i}") for i in range(2_000)]
    batches, held = [], []
    for number in range(count):
        changes = []
        for place in range(CHANGES):
            if held and place == 0:
                changes.append(Change(-1, held.pop(rng.randrange(len(held)))))
                continue
            o = rng.choice([rng.choice(nodes), Literal(f"value {number}.{place}")])
            quad = Quad(rng.choice(nodes), URIRef(f"http://example.org/p{rng.randrange(8)}"), o)
            held.append(quad)
            changes.append(Change(1, quad))
        batches.append(Batch(tuple(changes), number + 1))
    return batches


def _decoding(batches: list[Batch], repeat: int) -> Iterator[dict[str, Any]]:
    total = len(batches) * CHANGES
    for name in WRITTEN:
        form = feed_format(name)
        assert form.encode is not None
        text = "".join(map(form.encode, batches)).encode()
        read = partial(_exhaust, form, text)
        seconds = min(timed(read)[0] for _ in range(repeat))
        yield _row(f"decode {name}", "rdflive", seconds, total, len(batches))
    text = "".join(map(feed_format("rdf-patch").encode or str, batches)).encode()
    peer = min(timed(lambda: Dataset().parse(io.BytesIO(text), format="patch"))[0] for _ in range(repeat))
    ours = min(
        timed(lambda: rdflive.mirror(Dataset(), io.BytesIO(text), "rdf-patch"))[0] for _ in range(repeat)
    )
    yield _row("read rdf-patch into Memory", "rdflib's parser", peer, total, len(batches))
    yield _row("read rdf-patch into Memory", "rdflive.api.mirror", ours, total, len(batches), ours / peer)


def _exhaust(form: Any, text: bytes) -> None:
    for _ in decode(form, to_lines(io.BytesIO(text), "bench")):
        pass


def _mirroring(what: str, batches: list[Batch], repeat: int) -> Iterator[dict[str, Any]]:
    text = "".join(map(feed_format("rdf-patch").encode or str, batches)).encode()
    total = len(batches) * CHANGES
    stores: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
        "Memory": (Dataset, partial(_write_rdflib, batches)),
        "Oxigraph in memory": (rdflive.LiveStore, partial(_write_oxigraph, batches)),
        "Oxigraph on disk": (_on_disk, partial(_write_oxigraph, batches)),
    }
    for store, (make, write) in stores.items():
        plain = min(timed(partial(write, make()))[0] for _ in range(repeat))
        ours = min(
            timed(partial(rdflive.mirror, make(), io.BytesIO(text), "rdf-patch", name="bench"))[0]
            for _ in range(repeat)
        )
        yield _row(f"apply, {what}, {store}", "plain writes", plain, total, len(batches))
        yield _row(f"apply, {what}, {store}", "mirror", ours, total, len(batches), ours / plain)


def _on_disk() -> Any:
    return rdflive.LiveStore(pyoxigraph.Store(tempfile.mkdtemp()))


def _write_rdflib(batches: list[Batch], dataset: Any) -> None:
    graph = dataset.default_graph
    for batch in batches:
        for sign, quad in batch.changes:
            (graph.add if sign > 0 else graph.remove)(quad[:3])


def _write_oxigraph(batches: list[Batch], store: Any) -> None:
    native = store.native
    for batch in batches:
        for sign, quad in batch.changes:
            (native.add if sign > 0 else native.remove)(to_quad(quad[:3]))


def _row(
    what: str, way: str, seconds: float, changes: int, batches: int, ratio: float | None = None
) -> dict[str, Any]:
    rate, micros = changes / seconds, seconds / batches * 1e6
    return {"what": what, "way": way, "rate": rate, "micros": micros, "ratio": ratio}
