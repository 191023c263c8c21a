"""Deletes under rules, by two ways to find out what still holds.

    PYTHONPATH=tests python -m entail.rules.measure [--lubm FOLDER]

`levels` is what rdflive does for graphs; `sets` deletes and derives again (DRed: Gupta, Mumick and
Subrahmanian), with the same joins. Every triple is deleted and put back; times are of one call, CPU time.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from statistics import mean, median
from time import process_time
from typing import Any, Final

from rdflib import OWL, RDF, Graph, URIRef

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.terms import TermTable
from rdflive.entail.entailment import ExplicitGraph, Sign
from rdflive.entail.rules import LEVELS, SETS, Algebra, Program, RuleRegime, load_program

WAYS: Final = {"levels": LEVELS, "sets": SETS}


class Measured:
    """A graph under rules, in one of the ways."""

    def __init__(self, algebra: Algebra, program: Program, triples: Iterable[Any]) -> None:
        self.graph = Graph()
        for triple in triples:
            self.graph.add(triple)
        self.dictionary = Dictionary()

        def same(term: Any) -> Any:
            return term

        terms = TermTable(self.dictionary, same, None)
        explicit = ExplicitGraph(lambda p: list(self.graph.triples(p)), self.dictionary, terms, same)
        self.entailment = RuleRegime(program, algebra).start(explicit)

    def want(self, patterns: Iterable[Any]) -> float:
        """Want patterns, and give the seconds that it takes."""
        start = process_time()
        self.entailment.want(patterns)
        seconds = process_time() - start
        self.dictionary.sweep()
        return seconds

    def commit(self, sign: Sign, triple: Any) -> float:
        """Change one triple, and give the seconds that it takes."""
        (self.graph.add if sign > 0 else self.graph.remove)(triple)
        concerned = self.entailment.concerns(triple)
        start = process_time()
        if concerned:
            list(self.entailment.update([(sign, triple)]))
        seconds = process_time() - start
        self.dictionary.sweep()
        return seconds


def _node(number: int) -> URIRef:
    return URIRef(f"urn:n{number}")


P: Final = URIRef("urn:p")
TRANSITIVE: Final = "@prefix : <urn:> . { ?x :p ?y . ?y :p ?z } => { ?x :p ?z } ."
LINEAR: Final = "@prefix : <urn:> . { ?x :p ?y } => { ?x :q ?y } . { ?x :p ?y . ?y :q ?z } => { ?x :q ?z } ."
UB: Final = "http://www.lehigh.edu/~zhp2/2004/0401/univ-bench.owl#"
LUBM_CLASSES: Final = "Person Student Chair Professor Course Department Organization Publication"
LUBM_PROPERTIES: Final = (
    "memberOf worksFor takesCourse subOrganizationOf hasAlumnus degreeFrom advisor teacherOf"
)


def _digraph(nodes: int, share: float) -> list[Any]:
    random = Random(7)
    pairs = ((i, j) for i in range(nodes) for j in range(nodes) if i != j)
    return [(_node(i), P, _node(j)) for i, j in pairs if random.random() < share]


def _clique(nodes: int) -> list[Any]:
    links = [(_node(i), OWL.sameAs, _node((i + 1) % nodes)) for i in range(nodes)]
    return [*links, *((_node(i), URIRef(f"urn:v{i}"), _node(100 + i)) for i in range(nodes))]


GRAPHS: Final[dict[str, tuple[str, Callable[[], list[Any]]]]] = {
    "chain of 30, p p => p": (TRANSITIVE, lambda: [(_node(i), P, _node(i + 1)) for i in range(30)]),
    "chain of 250, p q => q": (LINEAR, lambda: [(_node(i), P, _node(i + 1)) for i in range(250)]),
    "digraph of 30, p p => p": (TRANSITIVE, lambda: _digraph(30, 0.25)),
    "digraph of 60, p q => q": (LINEAR, lambda: _digraph(60, 0.1)),
    "sameAs ring of 12": ("rdfs-plus", lambda: _clique(12)),
}


def measure(name: str, way: str, measured: Measured, patterns: list[Any], deleted: list[Any]) -> None:
    """Delete triples and put them back, one by one, and print the times."""
    load = measured.want(patterns)
    times = [(measured.commit(-1, triple), measured.commit(1, triple)) for triple in deleted]
    out, back = ([1e3 * pair[i] for pair in times] for i in (0, 1))
    print(
        f"{name:24} {way:6} in {load:5.2f} s: {measured.entailment.describe()[-1]} | delete: median "
        f"{median(out):7.3f} mean {mean(out):7.3f} max {max(out):7.2f} ms | insert: mean {mean(back):7.3f} ms"
    )


def main() -> None:
    """Measure every graph in every way."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lubm", type=Path, help="the folder of LUBM(1,0): univ-bench.ttl and data/*.nt.gz")
    folder = parser.parse_args().lubm
    for name, (rules, make) in GRAPHS.items():
        for way, algebra in WAYS.items():
            triples = make()
            links = [triple for triple in triples if triple[1] in (P, OWL.sameAs)]
            measured = Measured(algebra, load_program(rules), triples)
            measure(name, way, measured, [(None, None, None)], Random(7).sample(links, 8))
    if folder is not None:
        _measure_lubm(folder)


def _measure_lubm(folder: Path) -> None:
    graph = Graph().parse(folder / "univ-bench.ttl")
    schema = set(graph)
    for file in sorted(folder.glob("data/*.nt.gz"))[:2]:
        graph.parse(data=gzip.decompress(file.read_bytes()), format="nt")
    deleted = Random(7).sample(sorted(set(graph) - schema), 1000)
    patterns = [(None, RDF.type, URIRef(UB + name)) for name in LUBM_CLASSES.split()]
    patterns += [(None, URIRef(UB + name), None) for name in LUBM_PROPERTIES.split()]
    for way, algebra in WAYS.items():
        measured = Measured(algebra, load_program("owl-rl"), graph)
        measure("LUBM, 2 departments", way, measured, patterns, deleted)


if __name__ == "__main__":
    main()
