"""(u) Many changes at once: `extend`, `load`, `addN`, parsers, updates on data and mirrored transactions."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any, Final

from pyoxigraph import RdfFormat, Store, parse
from rdflib import Graph
from rdflib.plugins.sparql.processor import processUpdate

import rdflive
from bench.clock import interleave, middle, ratio, timed
from bench.page import Page
from bench.report import Section, cells
from bench.sizes import Sizes
from bench.worlds import EX, chain
from rdflive.store.rdflib_graphs import ADAPTER

ROUNDS: Final = 5
QUERIES: Final = {
    "no match": f"SELECT * {{ ?s <{EX}none> ?o }}",
    "matched": f"SELECT * {{ ?s <{EX}p> ?o }}",
}
PATH: Final = {"path of 3": f"SELECT * {{ ?a <{EX}1> ?b . ?b <{EX}2> ?c . ?c <{EX}3> ?d }}"}

_SHOWN = (
    "LiveStore, extend",
    "Memory, parse",
    "LiveStore, mirror, 10 per transaction",
    *(
        f"{store}, {update} per request"
        for store in ("LiveStore", "Memory")
        for update in ("INSERT DATA, 10", "INSERT DATA, 100", "DELETE DATA, 10")
    ),
)
"""What the page shows."""
PAGE = Page(
    "u",
    "Many changes at once, updates on data, and mirrored transactions",
    "A store with a subscription that does not match receives 100,000 triples at once, 10,000 (on Memory "
    "300) through updates, or a mirrored feed.",
    "The last column divides by the store alone; below 1 rdflive's reader of updates replaces rdflib's "
    "slower one.",
    "operation micros ratio",
    lambda row: row["variant"] == "no match" and row["operation"] in _SHOWN,
)


def run(sizes: Sizes) -> Section:
    """Measure each operation on a new store, unwatched and with one query, in the same rounds."""
    count = sizes.bulk
    section = Section(
        "bulk",
        "Many changes at once, updates on data, and mirrored transactions",
        count,
        "operation | variant: query | micros: µs per change | ratio: times unwatched",
        repeat=ROUNDS,
        seed=0,
    )
    lines = [f"<{EX}s{i % 2000}> <{EX}p> <{EX}o{i}> ." for i in range(count)]
    for operation, (make, write) in _operations("\n".join(lines) + "\n", count).items():
        section.rows += _compared(operation, make, write, count, QUERIES)
    edges = [f"<{EX}{s}> <{EX}{p}> <{EX}{o}> ." for s, p, o in chain(count, levels=3)]
    for operation, (make, write) in _operations("\n".join(edges) + "\n", count).items():
        section.rows += _compared(f"{operation}, chain", make, write, count, PATH)
    for size in (1, 10, 100, 1000):
        for operation, (make, write, changes) in _updates(lines, size).items():
            section.rows += _compared(operation, make, write, changes, QUERIES)
    with tempfile.TemporaryDirectory() as folder:
        for size in (1, 10, 100, count):
            path = Path(folder) / f"{size}.rdfp"
            path.write_text(_patch(lines, size))
            seconds = [_mirrored(path) for _ in range(ROUNDS)]
            micros = middle(seconds) / count * 1e6
            operation = f"LiveStore, mirror, {size:,} per transaction"
            section.rows.append({"operation": operation, "variant": "no match", "micros": micros})
    section.notes.append(
        "Each store is new, and the callback does nothing. The query has one pattern; over a chain it has "
        "three, each of which matches a third of the changes."
    )
    return section


def _operations(text: str, count: int) -> dict[str, tuple[Callable[[], Any], Callable[[Any], object]]]:
    """Give what makes each store, and what fills it."""
    quads = list(parse(text, RdfFormat.N_TRIPLES))
    held = Graph().parse(data=text, format="nt")

    def add(graph: Graph) -> None:
        graph.addN((s, p, o, graph) for s, p, o in held)

    def load(graph: Graph) -> None:
        graph.parse(data=text, format="nt")

    return {
        "LiveStore, extend": (rdflive.LiveStore, lambda live: live.extend(quads)),
        "LiveStore, load": (rdflive.LiveStore, lambda live: live.load(text, RdfFormat.N_TRIPLES)),
        "Memory, addN": (Graph, add),
        "Memory, parse": (Graph, load),
        "Oxigraph, addN": (lambda: Graph("Oxigraph"), add),
    }


def _updates(
    lines: list[str], size: int
) -> dict[str, tuple[Callable[[], Any], Callable[[Any], object], int]]:
    """Give updates of so many triples per request: what each runs on, and how many triples there are."""

    def requests(verb: str, count: int) -> list[str]:
        return [
            f"{verb} DATA {{ {' '.join(lines[i : i + size])} }}"
            for i in range(0, min(count, len(lines)), size)
        ]

    def run(store: Any, texts: list[str]) -> None:
        for text in texts:
            # by itself rdflib would read with rdflive's reader as well, once any graph is watched
            if isinstance(store, Graph) and ADAPTER not in vars(store.store):
                processUpdate(store, text, initNs=dict(store.namespaces()))
            else:
                store.update(text)

    def filled(make: Callable[[], Any], count: int) -> Any:
        store, text = make(), "\n".join(lines[:count])
        if isinstance(store, Graph):
            store.parse(data=text, format="nt")
        else:
            store.native.load(text, RdfFormat.N_TRIPLES)
        return store

    found: dict[str, tuple[Callable[[], Any], Callable[[Any], object], int]] = {}
    # rdflib by itself takes half a millisecond for a triple, and more in a longer request
    for name, make, count in (("LiveStore", rdflive.LiveStore, 10_000), ("Memory", Graph, 300)):
        if size > count:
            continue
        for verb, first in (("INSERT", make), ("DELETE", lambda make=make: filled(make, 10_000))):
            texts = requests(verb, count)
            found[f"{name}, {verb} DATA, {size:,} per request"] = (
                first,
                lambda store, texts=texts: run(store, texts),
                len(texts) * size,
            )
    return found


def _compared(
    operation: str,
    make: Callable[[], Any],
    write: Callable[[Any], object],
    count: int,
    queries: dict[str, str],
) -> list[dict[str, Any]]:
    def once(query: str | None) -> float:
        store = make()
        # the bare store, and not its stand-in
        store = getattr(store, "native", store) if query is None else store
        subscription = None if query is None else rdflive.subscribe(store, query, lambda _: None)
        seconds = timed(lambda: write(store), process_time)[0]
        if subscription is not None:
            subscription.close()
        return seconds

    runs: dict[str, Callable[[int], float]] = {"none": lambda _: once(None)}
    runs |= {name: lambda _, query=query: once(query) for name, query in queries.items()}  # type: ignore[misc]  # a default
    results = interleave(runs, ROUNDS)
    return [
        cells(
            operation=operation,
            variant=name,
            micros=middle(seconds) / count * 1e6,
            ratio=ratio(seconds, results["none"]),
        )
        for name, seconds in results.items()
    ]


def _mirrored(path: Path) -> float:
    live = rdflive.LiveStore(Store())
    subscription = rdflive.subscribe(live, QUERIES["no match"], lambda _: None)
    seconds = timed(lambda: rdflive.mirror(live, path, name="bench"), process_time)[0]
    subscription.close()
    return seconds


def _patch(lines: list[str], size: int) -> str:
    parts = (lines[i : i + size] for i in range(0, len(lines), size))
    return "".join("TX .\n" + "".join(f"A {line}\n" for line in part) + "TC .\n" for part in parts)
