"""The W3C query tests: their data, queries with absolute IRIs, and results."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import rdflib
from rdflib import RDF, Namespace, URIRef
from rdflib.query import Result

from support.effort import drawn_from
from support.shared import SHARED, shared
from support.solutions import Row, State, row, rows

ROOT = "http://w3c.example/"
"""The base IRI of the test folder, as queries, data and results refer to each other by file."""
DECOYS = (None, URIRef(ROOT + "decoy"))
"""Graphs that FROM does not select: the default graph and another one."""
RS = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/result-set#")
FORMATS = {".srx": "xml", ".srj": "json", ".tsv": "tsv"}
FROM = re.compile(r"\bFROM\s+(NAMED\s+)?<([^>]*)>", re.IGNORECASE)

Quad = tuple[Any, Any, Any, "URIRef | None"]
"""A triple and the name of its graph; None for the default graph."""


def load_cases() -> list[Case]:
    """List all tests outside of the entailment classes, or none if the data are absent."""
    path = SHARED / "data" / "w3c" / "index.json"
    entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return [Case(entry) for entry in entries if not entry["cls"].startswith("E ")]


@dataclass(frozen=True)
class Case:
    """One test of the index."""

    entry: dict[str, Any]

    def __repr__(self) -> str:
        return self.id

    @property
    def id(self) -> str:
        return str(self.entry["id"])

    @property
    def cls(self) -> str:
        found = str(self.entry["cls"])
        # two tests with SERVICE have their own class, as rdflib cannot parse them
        return "Z SERVICE/DESCRIBE/nondeterministic" if found.startswith("X ") else found

    @property
    def trusted(self) -> bool:
        """True if two engines agree on all subsets of the data."""
        return bool(self.entry["trusted"])

    @property
    def is_maintained(self) -> bool:
        """True if rdflive maintains the answer in one process."""
        return not self.has("service", "nondet") and not self.cls.startswith("Z ")

    def has(self, *features: str) -> bool:
        return any(feature in self.entry["features"] for feature in features)

    @property
    def groups(self) -> bool:
        """True for queries with GROUP BY."""
        return re.search(r"\bGROUP\s+BY\b", self.text, re.IGNORECASE) is not None

    @property
    def needs_dataset(self) -> bool:
        return bool(self.entry["graph_data"]) or self.has("graph", "from")

    @cached_property
    def query(self) -> str:
        """The text with the query's own IRI as base."""
        return f"BASE <{ROOT}{self.entry['query']}>\n" + self.text

    @cached_property
    def text(self) -> str:
        return _file(self.entry["query"]).read_text(encoding="utf-8")

    @cached_property
    def quads(self) -> list[Quad]:
        """The data in a fixed order; blank nodes of different files are different."""
        found: list[Quad] = []
        for name in self.entry["data"]:
            found += _parse(name, None)
        for name, path in self.entry["graph_data"]:
            found += _parse(path, URIRef(name.replace("file:", ROOT)))
        for name in sorted({URIRef(name) for _, name in self.dataset_clause}):
            chosen = _parse(name.removeprefix(ROOT), name)
            found += chosen + [(s, p, o, decoy) for s, p, o, _ in chosen for decoy in DECOYS]
        return found

    def shuffled(self, purpose: str) -> list[Quad]:
        """Return the data in a random order, drawn for `purpose`."""
        quads = list(self.quads)
        drawn_from(self.id, purpose).shuffle(quads)
        return quads

    @cached_property
    def dataset_clause(self) -> list[tuple[bool, URIRef]]:
        """The graphs of FROM (False) and FROM NAMED (True)."""
        folder = ROOT + self.entry["query"].rpartition("/")[0] + "/"
        return [(bool(named), URIRef(folder + name)) for named, name in FROM.findall(self.text)]

    @cached_property
    def ordered(self) -> list[Row] | None:
        """The ordered solutions of a SELECT, or None."""
        result = self.result
        return result if isinstance(result, list) else None

    @property
    def expected(self) -> State:
        """The result as a multiset, or the answer of ASK."""
        return Counter(self.result) if isinstance(self.result, list) else self.result

    @cached_property
    def result(self) -> State | list[Row]:
        name = self.entry["result"]
        path = _file(name)
        if self.has("construct"):
            return rows(rdflib.Graph().parse(path, publicID=ROOT + name))
        if path.suffix in FORMATS:
            with path.open("rb") as source:
                parsed = Result.parse(source, format=FORMATS[path.suffix])
            return (
                bool(parsed.askAnswer) if parsed.type == "ASK" else [row(b.items()) for b in parsed.bindings]
            )
        return _result_set(rdflib.Graph().parse(path, publicID=ROOT + name))


def _result_set(graph: rdflib.Graph) -> bool | list[Row]:
    """Read the RDF vocabulary for result sets."""
    head = graph.value(None, RDF.type, RS.ResultSet)
    answer = graph.value(head, RS.boolean)
    if answer is not None:
        return bool(answer.toPython())

    def place(solution: Any) -> int:
        index = graph.value(solution, RS["index"])  # RS.index is the method of a string
        return 0 if index is None else int(index)

    return [
        row((graph.value(b, RS.variable), graph.value(b, RS.value)) for b in graph.objects(s, RS.binding))
        for s in sorted(graph.objects(head, RS.solution), key=place)
    ]


def _parse(name: str, graph: URIRef | None) -> Sequence[Quad]:
    parsed = rdflib.Graph().parse(_file(name), publicID=ROOT + name)
    return [(s, p, o, graph) for s, p, o in sorted(parsed)]


def _file(name: str) -> Path:
    return shared("data", "w3c", *name.split("/"))
