"""Kill a mirror on Spark at random moments, and check after each kill that no change is lost or repeated.

    PYTHONPATH=tests python -m kill.spark_mirror --kills 20 --batches 4000 --seed 1

A child process, in its own group, mirrors a log with blank nodes and named graphs through Spark into a store
on disk, and writes each delta of a subscription with its number to a file. SIGKILL hits its Python or its
JVM; both must end. After each kill the store must have the state of the log at its cursor, and at the end
that of the whole log. The deltas, each number once, must add up to the latter.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rdflib

import rdflive
from kill.mirror import Model, command_line, make_batches
from kill.spark_subscription import family, started
from rdflive import Batch, Change
from rdflive.feeds.rdf_patch import encode_rdf_patch

__all__ = ["Outcome", "run"]

NAME = "log"
QUERY = "SELECT * { ?s ?p ?o }"
PATIENCE = 240.0
"""Time limit of each wait in seconds."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run, as counts."""

    kills: int
    jvm_kills: int
    batches: int
    quads: int
    deltas: int


@dataclass(frozen=True, slots=True)
class Paths:
    """The paths of a run."""

    folder: Path

    @property
    def log(self) -> Path:
        """The mirrored log."""
        return self.folder / "log.rdfp"

    @property
    def store(self) -> Path:
        """The store on disk."""
        return self.folder / "store"

    @property
    def deltas(self) -> Path:
        """The deltas of the subscription, one per line."""
        return self.folder / "deltas"


def mirror(place: Paths, limit: int) -> None:
    """Mirror the log to its end in this process, and print each micro-batch."""
    from rdflive_stores.spark.mirror import mirror as spark_mirror
    from rdflive_stores.spark.session import register, session

    spark = session("local[1]", config={"spark.local.dir": place.folder / "local"})
    print("jvm", spark.sparkContext._gateway.proc.pid, flush=True)
    register(spark)
    dataset = rdflib.Dataset(store="Oxigraph")
    dataset.open(str(place.store))
    with place.deltas.open("a", encoding="utf-8") as stream:

        def write(delta: rdflive.Delta) -> None:
            told = [[[row.s.n3(), row.p.n3(), row.o.n3()], n] for row, n in delta.weights().items()]
            # the previous line may be torn
            stream.write(f"\n{json.dumps([delta.sequence, told])}\n")
            stream.flush()
            os.fsync(stream.fileno())

        with rdflive.subscribe(dataset, QUERY, write, name="watch", resume=place.folder / "journal"):
            frame = spark.readStream.format("rdf_patch").option("maxBytesPerTrigger", limit)
            query = spark_mirror(
                frame.load(str(place.log)),
                dataset,
                checkpoint=place.folder / "checkpoint",
                name=NAME,
                trigger={"availableNow": True},
                on_batch=lambda batch: print("batch", batch.batch, flush=True),
            )
            query.awaitTermination()
    dataset.close()
    spark.stop()


class DeltaModel(Model):
    """The states after each batch, and the expected deltas."""

    def __init__(self, place: Paths, batches: list[list[Change]], ends: list[int]) -> None:
        super().__init__(place.store, batches, ends)
        self.place = place

    def check_store(self) -> None:
        """Compare the store with the state at its cursor."""
        self.check(NAME, self._end)

    def _end(self, cursor: str | None) -> int:
        offsets = json.loads(cursor)["offsets"] if cursor else []
        return sum(offset[self.place.log.name]["end"] for offset in offsets)

    def check_deltas(self) -> int:
        """Add up the deltas, each number once, compare with the last state, and return their number."""
        told: dict[int, Any] = {}
        for line in self.place.deltas.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                number, weights = json.loads(line or "torn")
                assert told.setdefault(number, weights) == weights, (
                    f"delta {number} was told with two contents"
                )
        assert sorted(told) == list(range(1, len(told) + 1)), "a delta is missing"
        total: Counter[tuple[str, ...]] = Counter()
        for weights in told.values():
            total.update({tuple(row): n for row, n in weights})
        wanted = {tuple(term.n3() for term in quad[:3]) for quad in self.state if quad.graph is None}
        assert {row: n for row, n in total.items() if n} == dict.fromkeys(wanted, 1)
        return len(told)


def run(*, kills: int, batches: int, seed: int) -> Outcome:
    """Kill and restart the mirror, then let it finish; raise AssertionError for a wrong state."""
    chance = random.Random(seed)
    history = make_batches(batches, seed)
    ends: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Paths(Path(folder))
        with place.log.open("wb") as stream:
            for changes in history:
                stream.write(encode_rdf_patch(Batch(tuple(changes))).encode())
                ends.append(stream.tell())
        model = DeltaModel(place, history, ends)
        limit = ends[-1] // (6 * kills + 3)  # a kill comes some micro-batches after the previous one
        of_jvm = 0
        for number in range(kills):
            at_jvm = bool((number + seed) % 2)
            of_jvm += at_jvm
            with started("kill.spark_mirror", "--child", place.folder, limit) as child:
                _kill(child, chance, at_jvm=at_jvm)
            model.check_store()
        with started("kill.spark_mirror", "--child", place.folder, limit) as child:
            assert _communicate(child) == 0, "the last run failed"
        model.check_store()
        assert model.done == batches
        return Outcome(kills, of_jvm, batches, len(model.state), model.check_deltas())


def _kill(child: subprocess.Popen[str], chance: random.Random, *, at_jvm: bool) -> None:
    """Kill Python or the JVM shortly after a micro-batch, and wait until both have ended."""
    assert child.stdout is not None
    jvm = int(_line(child, "jvm"))
    for _ in range(chance.randrange(3)):
        _line(child, "batch")
    time.sleep(chance.uniform(0, 1))
    os.kill(jvm if at_jvm else child.pid, signal.SIGKILL)
    _communicate(child)
    deadline = time.monotonic() + PATIENCE
    while jvm in family(child.pid):
        assert time.monotonic() < deadline, "the JVM goes on without its Python"
        time.sleep(0.05)


def _line(child: subprocess.Popen[str], begin: str) -> str:
    assert child.stdout is not None
    line = child.stdout.readline()
    if not line.startswith(begin):
        _, complaints = child.communicate()
        raise AssertionError(f"the child said {line!r} where {begin} was due:\n{complaints}")
    return line.removeprefix(begin)


def _communicate(child: subprocess.Popen[str]) -> int:
    """Wait until the child ends, which it must without its JVM; return its exit code."""
    child.communicate(timeout=PATIENCE)
    return child.returncode


def main() -> None:
    """Run as a program."""
    parser = command_line(__doc__, kills=20, batches=4000)
    parser.add_argument("--child", nargs=2, metavar=("FOLDER", "BYTES"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        mirror(Paths(Path(args.child[0])), int(args.child[1]))
    else:
        print(run(kills=args.kills, batches=args.batches, seed=args.seed))


if __name__ == "__main__":
    main()
