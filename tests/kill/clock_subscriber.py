"""Kill a subscriber whose rows change by a clock again and again, then add up its deltas.

Run it as `python tests/kill/clock_subscriber.py --kills 50 --batches 10000 --seed 1`. A child process holds
an Oxigraph store on disk, a clock and a resumed subscription with NOW(), whose callback appends each delta to
a log and syncs it. The clock advances with each batch, and also while no child runs; the next child must
deliver the changes of that time. In the end the log must have every number from 1 on, always with the same
content and instant, and the deltas must add up to the answer of Oxigraph itself at the last instant.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from kill.subscriber import Outcome, check, live

QUERY: Final = (
    "SELECT ?x ?y { ?x <urn:begin> ?b ; <urn:end> ?e ; <urn:at> ?y "
    'FILTER(?b <= NOW() && ?e + "PT1H"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration> > NOW()) }'
)
ASKED: Final = (
    "SELECT ?x ?y { ?x <urn:begin> ?b ; <urn:end> ?e ; <urn:at> ?y FILTER(?b <= NOW() && ?e > "
    'NOW() - "PT1H"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>) }'
)
"""The same query for Oxigraph, which cannot add a duration to a time."""
START: Final = datetime(2026, 11, 28, tzinfo=UTC)
STEP: Final = timedelta(minutes=1)
AWAY: Final = timedelta(minutes=10)
"""Time between the end of a child and the start of the next."""


def run(folder: Path, *, kills: int, batches: int, seed: int) -> Outcome:
    """Run a subscriber through the kills and batches, and check its deltas."""
    live(folder, Path(__file__), kills=kills, batches=batches, seed=seed)
    return check(folder / "told.log", _answers(folder, batches), lives=kills + 1)


def follow(folder: Path, *, batches: int, seed: int) -> None:
    """Run as the child: subscribe, write the remaining batches, and print the number of each."""
    import rdflib

    import rdflive

    life = folder / "lives"
    lives = int(life.read_text()) + 1 if life.exists() else 0
    life.write_text(str(lives))
    dataset = rdflib.Dataset(store="Oxigraph")
    dataset.open(str(folder / "store"))
    done, none = rdflib.URIRef("urn:done"), rdflib.RDF.nil
    start = max((int(number) for number in dataset.objects(none, done)), default=0)
    clock = rdflive.ManualClock(_now(start, lives))
    with open(folder / "told.log", "ab", buffering=0) as log:

        def tell(delta: Any) -> None:
            weights = {f"{s.x.n3()} {s.y.n3()}": w for s, w in delta.weights().items()}
            log.write(f"\n{json.dumps([delta.sequence, weights, str(delta.time)])}\n".encode())
            os.fsync(log.fileno())

        options: Any = {"name": "killed", "resume": folder / "resume.db", "clock": clock}
        with rdflive.subscribe(dataset, QUERY, tell, **options) as subscription:
            for number in range(start, batches):
                with rdflive.batch(dataset):
                    _write(dataset, seed, number)
                    dataset.add((none, done, rdflib.Literal(number + 1)))
                    dataset.remove((none, done, rdflib.Literal(number)))
                clock.set(_now(number + 1, lives))
                print(number, flush=True)
                if subscription.last_error is not None:
                    raise subscription.last_error
    dataset.close()


def _now(number: int, lives: int) -> datetime:
    return START + number * STEP + lives * AWAY


def _write(dataset: Any, seed: int, number: int) -> None:
    """Write the batch of a number, which depends on the seed and the number alone."""
    import rdflib

    chance = random.Random(f"{seed} {number}")
    for _ in range(chance.randint(1, 3)):
        node = rdflib.URIRef(f"urn:n{chance.randrange(60)}")
        dataset.remove((node, None, None))
        begin = START + number * STEP + timedelta(minutes=chance.randrange(-60, 300))
        if chance.random() < 0.8:
            dataset.add((node, rdflib.URIRef("urn:begin"), rdflib.Literal(begin)))
            end = begin + timedelta(minutes=chance.randrange(300))
            dataset.add((node, rdflib.URIRef("urn:end"), rdflib.Literal(end)))
            dataset.add((node, rdflib.URIRef("urn:at"), rdflib.URIRef(f"urn:m{chance.randrange(4)}")))


def _answers(folder: Path, batches: int) -> Counter[str]:
    """Evaluate the query with Oxigraph itself, at the last instant of the last child."""
    import pyoxigraph

    now = _now(batches, int((folder / "lives").read_text()))
    text = ASKED.replace("NOW()", f'"{now.isoformat()}"^^<http://www.w3.org/2001/XMLSchema#dateTime>')
    solutions: Any = pyoxigraph.Store(str(folder / "store")).query(text)
    return Counter(f"{solution['x']} {solution['y']}" for solution in solutions)


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
