"""Kill a subscription on Spark again and again, then add up the deltas of its sink.

    cd tests; python -m kill.spark_subscription --kills 20 --batches 150 --seed 1

A child process subscribes to a stream of changes, and its sink writes the net of each micro-batch to its own
file. At random moments the driver, the JVM or both get SIGKILL, and another child continues. In the end every
micro-batch must have been delivered, always with the content that one process delivers, and the state must
have the live quads.

Each file is a micro-batch. But if the kill comes after Spark's source has recorded a file, and before Spark
has recorded the micro-batch, the next run reads that file and the next one as one micro-batch.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from kill.mirror import command_line
from support.spark_queries import PREDICATES, QUERIES
from support.spark_streams import AT_ONCE, ChangeFiles, Operation, live_quads, nets, operations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Outcome", "check", "family", "run", "started", "tell"]

_STARTING: Final = 0.2
"""Share of kills at a random moment during the start of the child."""
_START: Final = 6.0
"""Seconds that a child takes to start."""
_MICRO_BATCH: Final = 0.6
"""Seconds of a micro-batch."""
_PATIENCE: Final = 60.0


@dataclass(frozen=True)
class Outcome:
    """Counts of a run: effective kills, files, micro-batches delivered repeatedly, and groups."""

    killed: int
    batches: int
    repeated: int
    groups: int


def run(folder: Path, *, kills: int, batches: int, seed: int, left: int = 1) -> Outcome:
    """Run a subscription through the kills, and check its deltas.

    At least `left` micro-batches follow the one that triggers a kill. With few of them, the child may end
    before its kill.
    """
    chance = random.Random(seed)
    history = [operations(chance, 40, PREDICATES) for _ in range(batches)]
    files = ChangeFiles(folder / "changes")
    for batch in history:
        files.add(batch)
    (folder / "told").mkdir()
    killed = 0
    for target in sorted(chance.sample(range(batches - left), kills)):
        with started("kill.spark_subscription", "--follow", folder) as child:
            _kill(child, target, chance)
        killed += child.returncode != 0
    with started("kill.spark_subscription", "--follow", folder) as child:
        _, complaints = child.communicate()
        if child.returncode:
            raise AssertionError(f"the child failed by itself:\n{complaints}")
    return check(folder, history, killed)


def check(folder: Path, history: list[list[Operation]], killed: int) -> Outcome:
    """Compare the deltas with the nets of one process, and the state with the live quads."""
    read, may_join = list(history), killed
    wanted = nets(QUERIES, read)
    told: Counter[int] = Counter()
    for path in sorted((folder / "told").glob("*.json"), key=lambda path: int(path.name.split("-")[0])):
        number = int(path.name.split("-")[0])
        told[number] += 1
        net = {tuple(row): weight for row, weight in json.loads(path.read_bytes())}
        if net != wanted[number] and may_join and told[number] == 1:
            may_join -= 1
            read[number : number + 2] = [
                [operation for batch in read[number : number + 2] for operation in batch]
            ]
            wanted = nets(QUERIES, read)
        if net != wanted[number]:
            raise AssertionError(f"micro-batch {number} was told as {net}, and is {wanted[number]}")
    if sorted(told) != list(range(len(read))):
        raise AssertionError(f"told were {sorted(told)} of {len(read)} micro-batches")
    live: dict[Any, None] = {}
    for operation in (operation for batch in history for operation in batch):
        live.pop(operation[1:4], None)
        if operation.op == "A":
            live[operation[1:4]] = None
    held = {quad[:3]: weight for quad, weight in live_quads(folder / "checkpoint").items()}
    if held != dict.fromkeys(live, 1):
        raise AssertionError(f"the state holds {held}, and live is {list(live)}")
    total: Counter[Any] = Counter()
    for net in wanted:
        total.update(net)
    repeated = sum(times > 1 for times in told.values())
    return Outcome(killed, len(history), repeated, sum(total.values()))


def follow(folder: Path) -> None:
    """Run as the child: run the subscription over all changes, and print each delivered micro-batch."""
    from rdflive_stores.spark.session import session

    own = folder / "own"
    own.mkdir(exist_ok=True)
    options = {"spark.local.dir": own, "spark.driver.extraJavaOptions": f'"-Djava.io.tmpdir={own}"'}
    tell(session("local[2]", config=options), folder)


def tell(spark: SparkSession, folder: Path) -> None:
    """Run the subscription, and write its deltas into files."""
    from rdflive_stores.spark.subscription import subscribe

    def write(deltas: DataFrame, batch: int) -> None:
        names = [name for name in deltas.columns if name != "weight"]
        rows = [([row[name] for name in names], row["weight"]) for row in deltas.toArrow().to_pylist()]
        draft = folder / f"{uuid4().hex}.json"
        draft.write_text(json.dumps(rows))
        draft.rename(folder / "told" / f"{batch}-{draft.name}")
        print(batch, flush=True)

    changes = ChangeFiles(folder / "changes").stream(spark)
    subscription = subscribe(changes, QUERIES, checkpoint=folder / "checkpoint")
    subscription.start(write, trigger=AT_ONCE).awaitTermination()


@contextlib.contextmanager
def started(module: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run a module as a child in its own process group, and end the whole group after the block."""
    with subprocess.Popen(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        try:
            yield child
        finally:
            _end(child)


def _kill(child: subprocess.Popen[str], target: int, chance: random.Random) -> None:
    """Kill driver, JVM or both after micro-batch `target`, or during the start of the child."""
    if chance.random() < _STARTING:
        time.sleep(chance.uniform(0, _START))
    else:
        assert child.stdout is not None
        while (line := child.stdout.readline()) and int(line) < target:
            pass
        time.sleep(chance.uniform(0, _MICRO_BATCH))
    whom = chance.choice(["driver", "JVM", "both"])
    if whom == "driver":
        child.kill()
        return
    while child.poll() is None and not (others := family(child.pid) - {child.pid}):
        time.sleep(0.02)  # it has not started yet
    if whom == "both":
        _kill_group(child)
    elif child.poll() is None:
        for process in others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def _end(child: subprocess.Popen[str]) -> None:
    """Wait until driver and JVM have ended, as each soon does after a kill of the other."""
    deadline = time.monotonic() + _PATIENCE
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.communicate(timeout=_PATIENCE)
    while family(child.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    _kill_group(child)


def _kill_group(child: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def family(group: int) -> set[int]:
    """Return the living processes of a process group."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its_group, *_ = stat.read_text().rpartition(")")[2].split()
            if int(its_group) == group and state != "Z":
                found.add(int(stat.parent.name))
    return found


def main() -> None:
    """Run the program."""
    parser = command_line(__doc__, kills=20, batches=150)
    parser.add_argument("--follow", type=Path, metavar="FOLDER", help="be the child process")
    given = parser.parse_args()
    if given.follow:
        follow(given.follow)
        return
    with tempfile.TemporaryDirectory() as folder:
        print(run(Path(folder), kills=given.kills, batches=given.batches, seed=given.seed))


if __name__ == "__main__":
    main()
