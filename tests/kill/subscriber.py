"""Kill a subscriber again and again while batches are written, then add up its deltas.

Run it as `python tests/kill/subscriber.py --kills 50 --batches 10000 --seed 1`. A child process holds an
Oxigraph store on disk and a resumed subscription, whose callback appends each delta to a log and syncs
it. At random moments the child gets SIGKILL and is restarted; each time it changes the store before it
subscribes, as another program might. In the end the log must have every number from 1 on, always with the
same content, and the deltas must add up to the answer of Oxigraph itself.
"""

from __future__ import annotations

import argparse
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
from typing import IO, Any, Final

QUERY: Final = "SELECT ?x ?z { ?x <urn:p> ?y . ?y <urn:q> ?z }"
_AT: Final = "urn:at"
_STARTING: Final = 0.25
"""Share of kills at a random moment during the start of the child."""


@dataclass(frozen=True)
class Outcome:
    """Counts of a run: children, deltas, repeated deltas, torn lines of the log, and answers."""

    lives: int
    deltas: int
    repeated: int
    torn: int
    answers: int


def run(folder: Path, *, kills: int, batches: int, seed: int) -> Outcome:
    """Run a subscriber through the kills and batches, and check its deltas."""
    live(folder, Path(__file__), kills=kills, batches=batches, seed=seed)
    return check(folder / "told.log", _answers(folder), lives=kills + 1)


def live(folder: Path, script: Path, *, kills: int, batches: int, seed: int) -> None:
    """Start and kill a script as a child repeatedly, then let it end by itself."""
    chance = random.Random(seed)
    targets = sorted(chance.randrange(batches) for _ in range(kills))
    for target in targets:
        with _child(script, folder, batches, seed) as child:
            _kill(child, target, chance)
    with _child(script, folder, batches, seed) as child:
        _end(child)


def check(log: Path, answers: Counter[str], *, lives: int) -> Outcome:
    """Add up a log, each number once, and compare with the answers."""
    contents: dict[int, Any] = {}
    told: dict[int, dict[str, int]] = {}
    lines = repeated = torn = 0
    for line in log.read_bytes().splitlines():
        if not line:
            continue
        try:
            number, *content = json.loads(line)
        except ValueError:
            torn += 1
            continue
        lines += 1
        repeated += number in told
        if contents.setdefault(number, content) != content:
            raise AssertionError(f"number {number} has two contents: {contents[number]} and {content}")
        told[number] = content[0]
    if sorted(told) != list(range(1, len(told) + 1)):
        raise AssertionError(f"{len(told)} deltas, but not numbered 1 to {len(told)}")
    total: Counter[str] = Counter()
    for weights in told.values():
        total.update(weights)
    if {row: weight for row, weight in total.items() if weight} != answers:
        raise AssertionError(f"too much: {total - answers}, too little: {answers - total}")
    return Outcome(lives, len(told), repeated, torn, answers.total())


def follow(folder: Path, *, batches: int, seed: int) -> None:
    """Run as the child: subscribe, write the remaining batches, and print the number of each."""
    import rdflib

    import rdflive

    dataset = rdflib.Dataset(store="Oxigraph")
    dataset.open(str(folder / "store"))
    at, none = rdflib.URIRef(_AT), rdflib.RDF.nil
    start = max((int(number) for number in dataset.objects(none, at)), default=0)
    _write(dataset, seed, -start - 1)
    with open(folder / "told.log", "ab", buffering=0) as log:

        def tell(delta: Any) -> None:
            weights = {_text(solution.x, solution.z): w for solution, w in delta.weights().items()}
            log.write(f"\n{json.dumps([delta.sequence, weights])}\n".encode())
            os.fsync(log.fileno())

        with rdflive.subscribe(
            dataset, QUERY, tell, name="killed", resume=folder / "resume.db"
        ) as subscription:
            for number in range(start, batches):
                with rdflive.batch(dataset):
                    _write(dataset, seed, number)
                    dataset.add((none, at, rdflib.Literal(number + 1)))
                    dataset.remove((none, at, rdflib.Literal(number)))  # last: a kill may come in between
                print(number, flush=True)
                if subscription.last_error is not None:
                    raise subscription.last_error
    dataset.close()


def _write(dataset: Any, seed: int, number: int) -> None:
    """Write the batch of a number, which depends on the seed and the number; blank nodes keep labels."""
    import rdflib

    chance = random.Random(f"{seed} {number}")
    nodes = [rdflib.BNode(f"b{i}") for i in range(8)] + [rdflib.URIRef(f"urn:n{i}") for i in range(8)]
    for _ in range(chance.randint(1, 4)):
        triple = (
            chance.choice(nodes),
            rdflib.URIRef(chance.choice(["urn:p", "urn:q"])),
            chance.choice([*nodes, rdflib.BNode(f"fresh{number}"), rdflib.Literal(number % 5)]),
        )
        (dataset.add if chance.random() < 0.5 else dataset.remove)(triple)


def _answers(folder: Path) -> Counter[str]:
    """Evaluate the query with Oxigraph itself."""
    import pyoxigraph

    solutions: Any = pyoxigraph.Store(str(folder / "store")).query(QUERY)
    return Counter(f"{solution['x']} {solution['z']}" for solution in solutions)


def _text(*terms: Any) -> str:
    """Write terms as pyoxigraph writes them."""
    from oxrdflib._converter import to_ox

    return " ".join(str(to_ox(term)) for term in terms)


@contextlib.contextmanager
def _child(script: Path, folder: Path, batches: int, seed: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(script), "--follow", str(folder)]
    command += ["--batches", str(batches), "--seed", str(seed)]
    pipes: dict[str, IO[str] | int] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as child:  # type: ignore[call-overload]  # pipes
        try:
            yield child
        finally:
            child.kill()


def _kill(child: subprocess.Popen[str], target: int, chance: random.Random) -> None:
    """Kill the child after the batch `target`, or during its start."""
    if chance.random() < _STARTING:
        time.sleep(chance.uniform(0, 1.5))
    else:
        assert child.stdout is not None
        while (line := child.stdout.readline()) and int(line) < target:
            pass
        time.sleep(chance.uniform(0, 0.02))
    child.kill()
    _end(child)


def _end(child: subprocess.Popen[str]) -> None:
    """Wait for the end of the child, and raise AssertionError if it failed by itself."""
    _, complaints = child.communicate()
    if child.returncode not in (0, -signal.SIGKILL):
        raise AssertionError(f"the child failed by itself:\n{complaints}")


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--batches", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--follow", type=Path, metavar="FOLDER", help="be the child process")
    given = parser.parse_args()
    if given.follow:
        follow(given.follow, batches=given.batches, seed=given.seed)
        return
    with tempfile.TemporaryDirectory() as folder:
        print(run(Path(folder), kills=given.kills, batches=given.batches, seed=given.seed))


if __name__ == "__main__":
    main()
