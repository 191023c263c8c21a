"""Kill a mirror at random moments, and check after each kill that the store is at a whole batch.

    python tests/kill/mirror.py --kills 50 --batches 10000 --seed 1

A child process mirrors a patch with blank nodes and named graphs into a store on disk. After each SIGKILL
the store must have exactly the state after the batches up to its cursor, and at the end that after all.
"""

from __future__ import annotations

import argparse
import bisect
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import rdflib
from rdflib import BNode, Literal, URIRef

import rdflive
from rdflive import Batch, Change, Quad
from rdflive.api.target import GraphTarget
from rdflive.feeds.entries import read_cursor
from rdflive.feeds.rdf_patch import encode_rdf_patch

__all__ = ["Model", "Outcome", "command_line", "make_batches", "run"]

E = "http://example.org/"
LONGEST = 0.004
"""Maximal seconds between a commit and the kill; a commit takes a quarter of a millisecond."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run, as counts."""

    kills: int
    batches: int
    quads: int
    blank_nodes: int


def make_batches(count: int, seed: int) -> list[list[Change]]:
    """Draw random batches: a fifth of the changes are redundant, half of the terms blank nodes."""
    chance = random.Random(seed)
    nodes = [*(URIRef(f"{E}n{i}") for i in range(40)), *(BNode(f"b{i}") for i in range(60))]
    graphs = [None, None, URIRef(E + "g"), BNode("graph")]
    held: dict[Quad, None] = {}
    batches = []
    for number in range(count):
        changes = []
        for _ in range(chance.randint(1, 6)):
            quad = Quad(
                chance.choice(nodes),
                URIRef(f"{E}p{chance.randrange(5)}"),
                chance.choice([*nodes, Literal(f"line\n{number}", lang="en")]),
                chance.choice(graphs),
            )
            if held and chance.random() < 0.45:
                quad = next(iter(held)) if chance.random() < 0.5 else chance.choice(list(held)[:50])
                held.pop(quad)
                changes.append(Change(-1, quad))
            else:
                held[quad] = None
                changes.append(Change(1, quad))
        batches.append(changes)
    return batches


def mirror(store: Path, feed: Path) -> None:
    """Mirror the feed in this process, and print the cursor of each commit."""
    dataset = rdflib.Dataset(store="Oxigraph")
    dataset.open(str(store))
    rdflive.mirror(dataset, feed, on_entry=lambda entry: print(entry.cursor, flush=True))
    dataset.close()


class Model:
    """The states after each batch, and the store that must be at one of them."""

    def __init__(self, store: Path, batches: list[list[Change]], ends: list[int]) -> None:
        self.store, self.batches, self.ends = store, batches, ends
        self.state: set[Quad] = set()
        self.done = 0

    def check(self, name: str, end: Callable[[str | None], int]) -> int:
        """Compare the closed store with the state at its cursor, and return the number of batches.

        `end` returns the byte of the feed at a cursor.
        """
        dataset = rdflib.Dataset(store="Oxigraph")
        dataset.open(str(self.store))
        target = GraphTarget(dataset)
        count = bisect.bisect_right(self.ends, end(target.kept(name).get("cursor")))
        assert count >= self.done, f"the cursor went back from batch {self.done} to {count}"
        for changes in self.batches[self.done : count]:
            for sign, quad in changes:
                (self.state.add if sign > 0 else self.state.discard)(quad)
        self.done = count
        held = set(target.quads())
        assert held == self.state, f"behind batch {count}: {held ^ self.state} differ"
        dataset.close()
        return count


def run(*, kills: int, batches: int, seed: int) -> Outcome:
    """Kill and restart the mirror, then let it finish; raise AssertionError for a wrong state."""
    chance = random.Random(seed)
    history = make_batches(batches, seed)
    ends: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        feed, store = Path(folder, "feed.rdfp"), Path(folder, "store")
        with feed.open("wb") as stream:
            for changes in history:
                stream.write(encode_rdf_patch(Batch(tuple(changes))).encode())
                ends.append(stream.tell())
        model = Model(store, history, ends)
        for target in sorted(chance.sample(range(batches), kills)):
            _run_until(ends[target], store, feed, chance.uniform(0, LONGEST))
            model.check(str(feed), _end)
        mirror(store, feed) if kills == 0 else _run_until(None, store, feed, 0)
        assert model.check(str(feed), _end) == batches
    blank = {term for quad in model.state for term in quad if isinstance(term, BNode)}
    return Outcome(kills, batches, len(model.state), len(blank))


def _end(cursor: str | None) -> int:
    return read_cursor(cursor or "0:0:0").end


def _run_until(end: int | None, store: Path, feed: Path, wait: float) -> None:
    """Run a child until it has committed the feed up to a byte, then kill it; None lets it finish."""
    command = [sys.executable, __file__, "--child", str(store), str(feed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        if end is None:
            child.communicate()
            assert child.returncode == 0
            return
        for line in child.stdout:
            if int(line.split(":")[0]) >= end:
                break
        time.sleep(wait)
        child.kill()


def command_line(description: str | None, *, kills: int, batches: int) -> argparse.ArgumentParser:
    """Make the argument parser of a program that kills."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=kills)
    parser.add_argument("--batches", type=int, default=batches)
    parser.add_argument("--seed", type=int, default=1)
    return parser


def main() -> None:
    """Run as a program."""
    parser = command_line(__doc__, kills=50, batches=10_000)
    parser.add_argument("--child", nargs=2, metavar=("STORE", "FEED"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        mirror(*map(Path, args.child))
    else:
        print(run(kills=args.kills, batches=args.batches, seed=args.seed))


if __name__ == "__main__":
    main()
