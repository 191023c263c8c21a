"""Deletes under rules, by three ways to find out what still holds.

    PYTHONPATH=tests python -m entail.rules.measure [--lubm FOLDER]

`levels` is what rdflive does. `dred` deletes and rederives (Gupta, Mumick and Subrahmanian), `backward`
first looks for another proof (Backward/Forward: Motik, Nenov, Piro and Horrocks); both keep counts of the
derivations by instances of rules that are not recursive, and both find what comes back by counts too.
Every triple is deleted and put back; times are of one call, CPU time.
"""

from __future__ import annotations

import argparse
import gzip
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from statistics import mean, median
from time import process_time
from typing import Any, Final

from rdflib import OWL, RDF, Graph, URIRef
from rdflive.entail.rules.facts import EXPLICIT
from rdflive.entail.rules.instance import Instance

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.terms import TermTable
from rdflive.entail.entailment import ExplicitGraph, IdTriple, Sign
from rdflive.entail.rules import Materialisation, Program, load_program
from rdflive.entail.rules import derivation as derivations
from rdflive.entail.rules.bound import Values
from rdflive.entail.rules.keys import Key, KeyIndex
from rdflive.entail.rules.propagation import Propagation

UNFOUNDED: Final = 1
"""The level of all facts of the other ways, and of all derivations by recursive instances."""
SEARCHED: Final = 30
"""A proof is looked for among so many facts at most."""


class Dred(Propagation):
    """Deletes what has lost a derivation, unless a not recursive one is left; `founded` counts those."""

    def prepare(self, active: Iterable[Instance], everything: bool) -> None:
        """Find the recursive instances, or take all for such, and count the derivations by the others."""
        instances = list(active)
        self.everything = everything
        self.recursive = set(instances) if everything else _recursive(instances)
        self.heads: KeyIndex[Instance] = KeyIndex()
        for fact in self.facts.table.values():
            if fact is not EXPLICIT:
                fact.founded, fact.level = 0, UNFOUNDED
        for instance in instances:
            for head in instance.heads:
                self.heads.add(head, instance)
            if instance not in self.recursive:
                for row in self._rows(instance):
                    values = instance.fixed + row
                    if all(test(values) for test in instance.rule.tests):
                        for triple in instance.rule.heads_of(values):
                            self.facts.table[triple].founded += 1

    def _derive(self, sign: Sign, instance: Instance, row: Values) -> None:
        values = instance.fixed + row
        if all(test(values) for test in instance.rule.tests):
            level = UNFOUNDED if self.everything or instance in self.recursive else 0
            for triple in instance.rule.heads_of(values):
                (self._gain if sign > 0 else self._lose)(triple, level)

    def _gain(self, triple: IdTriple, level: int) -> None:
        super()._gain(triple, level)
        fact = self.facts.table[triple]
        if fact.level != UNFOUNDED:
            fact.founded, fact.level = fact.founded - (level > 0), UNFOUNDED

    def delete(self) -> None:
        self.doomed = set(self._leaving)
        self.proven: set[IdTriple] = set()
        super().delete()

    def revive(self) -> None:
        for triple, fact in self.dead.items():
            if fact.derivations:
                self._enter(triple, fact)

    def _lose(self, triple: IdTriple, level: int) -> None:
        fact = self.facts.table.get(triple) or self.dead[triple]
        fact.derivations -= 1
        fact.founded -= level < UNFOUNDED
        if triple not in self.dead and not fact.founded and not fact.explicit and triple not in self.doomed:
            if fact.derivations and self.proves(triple, set()):
                return
            self.doomed.add(triple)  # so it is not searched for again
            self._leaving.append(triple)

    def proves(self, triple: IdTriple, visited: set[IdTriple]) -> bool:
        """Tell whether a fact is known to hold all the same."""
        return False


class Backward(Dred):
    """Looks for another proof before it deletes."""

    def proves(self, triple: IdTriple, visited: set[IdTriple]) -> bool:
        """Look for a proof whose premises are not doomed."""
        fact = self.facts.table.get(triple)
        if fact is None or triple in self.doomed:
            return False
        if fact.explicit or fact.founded or triple in self.proven:
            return True
        if triple in visited or len(visited) > SEARCHED:
            return False
        visited.add(triple)
        for premises in self._premises(triple):
            if all(self.proves(premise, visited) for premise in premises):
                self.proven.add(triple)
                return True
        return False

    def _premises(self, triple: IdTriple) -> Iterator[list[IdTriple]]:
        for instance in self.heads.unifiable(Key(*triple)):
            for head, _ in instance.rule.heads:
                for values in derivations._matches(instance, head, triple, 10**12, self):
                    yield [(values[s], values[p], values[o]) for s, p, o in instance.rule.reads]


def _recursive(instances: list[Instance]) -> set[Instance]:
    readers: KeyIndex[Instance] = KeyIndex()
    for instance in instances:
        for key in instance.keys:
            readers.add(key, instance)
    follow = {i: {j for head in i.heads for j in readers.unifiable(head)} for i in instances}

    def reached(start: Instance) -> set[Instance]:
        seen: set[Instance] = set()
        todo = deque(follow[start])
        while todo:
            found = todo.pop()
            if found not in seen:
                seen.add(found)
                todo += follow[found]
        return seen

    return {instance for instance in instances if instance in reached(instance)}


WAYS: Final[dict[str, type[Propagation]]] = {"levels": Propagation, "dred": Dred, "backward": Backward}


class Measured:
    """A graph under rules, with one of the ways."""

    def __init__(self, way: str, program: Program, triples: Iterable[Any], *, everything: bool) -> None:
        self.graph = Graph()
        for triple in triples:
            self.graph.add(triple)
        self.dictionary = Dictionary()

        def same(term: Any) -> Any:
            return term

        terms = TermTable(self.dictionary, same, None)
        explicit = ExplicitGraph(lambda p: list(self.graph.triples(p)), self.dictionary, terms, same)
        self.entailment = Materialisation(program, explicit)
        self.entailment._propagation.__class__ = WAYS[way]
        self.everything = everything

    def want(self, patterns: Iterable[Any]) -> float:
        """Want patterns; the time that it takes is that of the levels, whatever the way."""
        propagation = self.entailment._propagation
        way, propagation.__class__ = propagation.__class__, Propagation
        start = process_time()
        self.entailment.want(patterns)
        seconds = process_time() - start
        propagation.__class__ = way
        if isinstance(propagation, Dred):
            propagation.prepare(self.entailment._demand.active, self.everything)
        self.dictionary.sweep()
        return seconds

    def commit(self, sign: Sign, triple: Any) -> float:
        """Change one triple."""
        (self.graph.add if sign > 0 else self.graph.remove)(triple)
        concerned = self.entailment.concerns(triple)
        start = process_time()
        if concerned:
            self.entailment.update([(sign, triple)])
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
    facts = measured.entailment._propagation.facts.table
    size = len(facts), sum(not fact.explicit for fact in facts.values())
    times = [(measured.commit(-1, triple), measured.commit(1, triple)) for triple in deleted]
    out, back = ([1e3 * pair[i] for pair in times] for i in (0, 1))
    print(
        f"{name:24} {way:8} {size[0]:6} triples, {size[1]:6} derived in {load:5.2f} s | delete: median "
        f"{median(out):7.3f} mean {mean(out):7.3f} max {max(out):7.2f} ms | insert: mean {mean(back):7.3f} ms"
    )


def main() -> None:
    """Measure every graph by every way."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lubm", type=Path, help="the folder of LUBM(1,0): univ-bench.ttl and data/*.nt.gz")
    folder = parser.parse_args().lubm
    for name, (rules, make) in GRAPHS.items():
        for way in WAYS:
            triples = make()
            measured = Measured(way, load_program(rules), triples, everything=True)
            links = [triple for triple in triples if triple[1] in (P, OWL.sameAs)]
            deleted = Random(7).sample(links, 8)
            measure(name, way, measured, [(None, None, None)], deleted)
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
    for way in WAYS:
        measured = Measured(way, load_program("owl-rl"), graph, everything=False)
        measure("LUBM, 2 departments", way, measured, patterns, deleted)


if __name__ == "__main__":
    main()
