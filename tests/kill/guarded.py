"""Kill a program that writes to a guarded store on disk: `python tests/kill/guarded.py --kills 50`.

Each commit of the program adds a train with lines, or removes it, by several writes in a batch, by an update,
or by a document. The guard requires a line for each train. After a kill the store must have the state before
or after the last commit: the program records the start and the end of each commit in a file.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://e/> .
:S sh:targetClass :Train ; sh:property [ sh:path :line ; sh:minCount 1 ] ."""


@dataclass
class Outcome:
    """The outcome of a run, as counts."""

    kills: int = 0
    commits: int = 0
    half: int = 0
    """Number of kills inside a batch, whose writes the next opening undid."""


def work(store: str, journal: str, seed: int) -> None:
    """Write until killed: each commit adds or removes one of 50 trains."""
    from oxrdflib import OxigraphStore  # noqa: F401 - the plugin of rdflib
    from rdflib import RDF, Graph, Namespace, URIRef

    import rdflive

    chance, ex = random.Random(seed), Namespace("http://e/")
    graph = Graph("Oxigraph", identifier=URIRef("http://e/g"))
    graph.open(store)
    rdflive.guard(graph, SHAPES)
    with open(journal, "a", buffering=1, encoding="utf-8") as said:
        while True:
            train = ex[f"t{chance.randrange(50)}"]
            is_there = (train, RDF.type, ex.Train) in graph
            said.write(f"{train} {is_there}\n")
            kind = chance.randrange(4)
            if is_there and kind < 2:
                with rdflive.batch(graph):
                    graph.remove((train, ex.line, None))
                    graph.remove((train, RDF.type, None))
            elif is_there:
                graph.update(f"DELETE WHERE {{ <{train}> ?p ?o }}")
            elif kind == 0:
                with rdflive.batch(graph):
                    graph.add((train, RDF.type, ex.Train))
                    for line in range(20):
                        graph.add((train, ex.line, ex[f"S{line}"]))
            elif kind == 1:
                graph.update(f"INSERT DATA {{ <{train}> a <{ex.Train}> ; <{ex.line}> <{ex.S1}> }}")
            else:
                text = f"<{train}> <{RDF.type}> <{ex.Train}> .\n" + "".join(
                    f"<{train}> <{ex.line}> <{ex[f'S{line}']}> .\n" for line in range(20)
                )
                graph.parse(data=text, format="nt" if kind == 2 else "ox-nt")
            said.write("done\n")


def run(kills: int, seed: int, folder: str | None = None) -> Outcome:
    """Start and kill the program repeatedly, and check the store each time."""
    from rdflib import RDF, Graph, Namespace, URIRef

    import rdflive

    ex, chance, outcome = Namespace("http://e/"), random.Random(seed), Outcome()
    with tempfile.TemporaryDirectory(dir=folder) as place:
        store, journal = f"{place}/store", f"{place}/journal"
        for turn in range(kills):
            Path(journal).write_text("", encoding="utf-8")
            command = [sys.executable, __file__, "--work", store, journal, "--seed", str(seed + turn)]
            program = subprocess.Popen(command, stderr=subprocess.PIPE)
            while not Path(journal).read_text(encoding="utf-8") and program.poll() is None:
                time.sleep(0.02)
            time.sleep(chance.uniform(0.01, 0.3))
            program.kill()
            _, errors = program.communicate()
            assert program.returncode < 0, errors.decode()
            outcome.kills += 1
            said = Path(journal).read_text(encoding="utf-8").splitlines()
            outcome.commits += said.count("done")
            graph = Graph("Oxigraph", identifier=URIRef("http://e/g"))
            graph.open(store)
            outcome.half += graph.store._inner.contains_named_graph(_kept())
            with rdflive.validate(graph, SHAPES) as validation:  # the opening undoes a half-done batch
                assert validation.conforms, validation.report()
            there = {
                train: len(set(graph.objects(train, ex.line))) for train in graph.subjects(RDF.type, ex.Train)
            }
            assert set(graph.subjects(ex.line)) == set(there), "a line without a train is half a commit"
            assert set(there.values()) <= {1, 20}, there
            known = {}
            for line, after in zip(said, [*said[1:], ""], strict=True):
                if line != "done" and line.endswith(("True", "False")):
                    train, was_there = line.split()
                    known[train] = {was_there == "False"} if after == "done" else {True, False}
            for train, states in known.items():
                assert (URIRef(train) in there) in states, f"the commit of {train} is done, and was not kept"
            graph.close()
    return outcome


def _kept() -> object:
    from pyoxigraph import NamedNode

    return NamedNode("urn:x-rdflive:kept")


def main() -> None:
    """Run as the writing program or as the one that kills it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", nargs=2)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.work:
        work(*args.work, args.seed)
    else:
        print(run(args.kills, args.seed))


if __name__ == "__main__":
    main()
