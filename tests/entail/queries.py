"""Random queries of every shape over the vocabulary of entailment, as SPARQL."""

from __future__ import annotations

from random import Random
from typing import Any

from rdflib import RDF, BNode

from support.entailment import RANGE, SC, SCHEMA, SP, Vocabulary

__all__ = ["GRAPH", "make_query"]

GRAPH = "urn:example:g"
"""The named graph that queries of datasets read with GRAPH."""


def make_query(random: Random, words: Vocabulary, *, graphs: bool = False) -> str:
    """Make a query; with `graphs` now and then of a named graph, or of that and the default graph."""
    maker = _Maker(random, words)
    form = random.choice(maker.forms)
    if graphs and not random.randrange(4):
        return maker.in_graph()
    return str(form())


class _Maker:
    """Writes the parts of one query; blank nodes of the data cannot be named in it."""

    def __init__(self, random: Random, words: Vocabulary) -> None:
        self._random = random
        self.classes = [c.n3() for c in words.classes if not isinstance(c, BNode)]
        self.properties = [p.n3() for p in (*words.properties, words.isa) if not isinstance(p, BNode)]
        self.nodes = [n.n3() for n in words.nodes if not isinstance(n, BNode)]
        self.forms = (
            self.plain, self.plain, self.plain, self.plain, self.distinct, self.distinct, self.filtered,
            self.optional, self.minus, self.exists, self.exists, self.union, self.grouped, self.grouped,
            self.path, self.path, self.ask, self.construct, self.sliced,
        )  # fmt: skip

    def one(self, *options: Any) -> str:
        return str(self._random.choice(options))

    def atom(self, *ends: str) -> str:
        """Make a triple pattern with the first of the given variables in front."""
        start, end = (*ends, "?x", "?y")[:2]
        kind = self._random.randrange(14)
        type_ = RDF.type.n3()
        if kind < 4:
            return f"{start} {type_} {self.one(*self.classes)} ."
        if kind == 4:
            return f"{start} {type_} {self.one('?c', '?c', end)} ."
        if kind == 5:
            return f"{self.one(*self.nodes, *self.classes)} {type_} {self.one('?c', end)} ."
        if kind == 6:
            return f"{start} {self.one('?v', '?v', '?x')} {self.one(end, end, '?c', *self.classes)} ."
        if kind == 7:
            return f"{start} {self.one(*(p.n3() for p in SCHEMA))} ?c ."
        if kind == 8:
            schema = self.one(SC.n3(), SP.n3(), RANGE.n3())
            return f"{self.one(start, *self.classes)} {schema} {self.one('?c', *self.classes)} ."
        if kind == 9:
            return f"{start} {self.one(*self.properties)} {self.one(*self.nodes, *self.classes, start)} ."
        if kind == 10:
            return f"{self.one('[]', *self.nodes)} {self.one('?v', *self.properties)} {start} ."
        return f"{start} {self.one(*self.properties)} {end} ."

    def group(self, *ends: str, most: int = 3) -> str:
        """Make a basic graph pattern that hangs together, most of the time."""
        atoms = [self.atom(*ends)]
        for _ in range(self._random.choice((0, 0, 1, 1, 2))):
            if len(atoms) < most:
                atoms.append(self.atom(*self._random.sample(["?x", "?x", "?y", "?c"], 2)))
        return " ".join(dict.fromkeys(atoms))

    def plain(self) -> str:
        head, about = self.one("*", "*", "?x"), self.one("?v", RDF.type.n3())
        return f"SELECT {head} {{ ?x {about} ?any . {self.group()} }}"

    def distinct(self) -> str:
        return f"SELECT DISTINCT ?x {{ {self.group()} }}"

    def filtered(self) -> str:
        test = self.one("?x != ?y", "isIRI(?x)", "isBlank(?c)", "?y = ?c", "!isLiteral(?y)")
        return f"SELECT * {{ {self.atom()} {self.atom()} FILTER({test}) }}"

    def optional(self) -> str:
        return f"SELECT * {{ {self.group(most=2)} OPTIONAL {{ {self.group('?x', '?z', most=2)} }} }}"

    def minus(self) -> str:
        return f"SELECT * {{ {self.group(most=2)} MINUS {{ {self.atom('?x', '?z')} }} }}"

    def exists(self) -> str:
        word = self.one("EXISTS", "NOT EXISTS")
        return f"SELECT * {{ {self.group(most=2)} FILTER {word} {{ {self.atom('?x', '?z')} }} }}"

    def union(self) -> str:
        return f"SELECT * {{ {{ {self.atom()} }} UNION {{ {self.atom('?y', '?x')} }} {self.atom()} }}"

    def grouped(self) -> str:
        key = self.one("?c", "?x")
        fold = self.one("COUNT(?x)", "COUNT(DISTINCT ?x)", "COUNT(*)")
        type_ = RDF.type.n3()
        return f"SELECT {key} ({fold} AS ?n) {{ ?x {type_} ?c . {self.atom()} }} GROUP BY {key}"

    def path(self) -> str:
        p, q, c = self.one(*self.properties), self.one(*self.properties), self.one(*self.classes)
        type_, sub = RDF.type.n3(), SC.n3()
        links = self.one(f"{p}+", f"{p}*", f"{p}/{q}", f"^{p}/{q}", f"({p}/{q})+", f"!({p}|{q})")
        path = self.one(links, links, f"{type_}/{sub}*", f"{type_}/{p}", f"{sub}+")
        return f"SELECT * {{ ?x {type_} {c} . ?x {path} ?y }}"

    def ask(self) -> str:
        return f"ASK {{ {self.group()} }}"

    def construct(self) -> str:
        return f"CONSTRUCT {{ ?x <urn:example:has> ?y }} WHERE {{ {self.atom()} {self.atom()} }}"

    def sliced(self) -> str:
        return f"SELECT DISTINCT ?x {{ {self.atom()} FILTER(isIRI(?x)) }} ORDER BY ?x LIMIT 2"

    def in_graph(self) -> str:
        outside = self.one("", self.atom(), self.atom())
        return f"SELECT * {{ GRAPH <{GRAPH}> {{ {self.group(most=2)} }} {outside} }}"
