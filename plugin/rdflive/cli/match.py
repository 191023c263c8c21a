"""`rdflive match`: a query over each event of a file of N-Quads."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import rdflib

from rdflive.api.matching import Match, match
from rdflive.cli.load import load
from rdflive.cli.out_file import STDOUT, naming
from rdflive.cli.query import read_query
from rdflive.errors import RdfliveError
from rdflive.model import TermWriter, to_ntriples
from rdflive.sinks.ndjson import solution_text
from rdflive.syntax.prefixes import own_prefixes, usual_prefixes

__all__ = ["DESCRIPTION", "EXAMPLES", "FORMATS", "run", "to_lines", "to_ndjson"]

DESCRIPTION: Final = """\
Match a query with each single event of a file of N-Quads. An event is a small graph: consecutive quads with
the same graph name. The file is read as a stream, and may grow.

  --format text    a line for each solution: the number of the event, its graph, the bindings
  --format ndjson  a line of JSON for each event with solutions"""

EXAMPLES: Final = """\
examples:
  rdflive match 'SELECT ?house { ?house <http://e/location> ?where }' events.nq
  tail -f events.nq | rdflive match overload.rq - --format ndjson
  rdflive match overload.rq events.nq.gz --background houses.ttl --workers 2

An event is complete when the next one begins or the file ends. Bad input ends the run with the number of the
event, its line and the reason, and exit code 2. Ctrl-C ends with exit code 130."""


def run(args: argparse.Namespace) -> None:
    """Match, and print the solutions of each event at once."""
    query = read_query(args.query)
    background = None
    prefixes = usual_prefixes()
    if args.background:
        dataset = rdflib.Dataset(default_union=True)
        load(dataset, args.background)
        background = rdflib.Graph()
        for triple in dataset.triples((None, None, None)):
            background.add(triple)
        prefixes |= own_prefixes(dataset)
    with query.placed():
        found = match(
            query.text,
            args.events,
            background=background,
            workers=args.workers,
            initNs=prefixes,
        )
    write: Callable[[Match], list[str]] = to_ndjson
    if args.format == "text":
        term_writer = to_ntriples if args.full else TermWriter(prefixes | query.prefixes())
        write = partial(to_lines, write=term_writer)
    with naming(STDOUT):
        for one in found:
            try:
                lines = write(one)
            except ValueError as error:  # a term of the query that rdflib cannot hold
                raise RdfliveError(f"event {one.number}: {error}") from error
            for line in lines:
                print(line)
            # printed at once: the events may come from a pipe that stays open
            if one:
                print(end="", flush=True)


def to_lines(found: Match, write: Callable[[Any], str] = to_ntriples) -> list[str]:
    """Return each solution as a line after the number and the name of its event.

    >>> from rdflive.model import Header
    >>> found = Match(Header("SELECT", ("x",)), 7, [(rdflib.Literal(1),)], name=rdflib.URIRef("http://e/g"))
    >>> to_lines(found)
    ['7 <http://e/g> ?x="1"^^<http://www.w3.org/2001/XMLSchema#integer>']
    """
    head = str(found.number) if found.name is None else f"{found.number} {write(found.name)}"
    if found.answer is not None:
        return [f"{head} {json.dumps(found.answer)}"]
    if found.triples:
        return [f"{head} {' '.join(map(write, triple))} ." for triple in found.triples]
    return [
        " ".join([head, *(f"?{name}={write(term)}" for name, term in solution.asdict().items())])
        for solution in found.solutions
    ]


def to_ndjson(found: Match) -> list[str]:
    """Return an event with solutions as one JSON object; for ASK every event.

    The name is an IRI, or a blank node as `_:b`.
    """
    name = f"_:{found.name}" if isinstance(found.name, rdflib.BNode) else found.name
    head = f'{{"event": {found.number}, "name": {json.dumps(name)}, '
    if found.answer is not None:
        return [f'{head}"boolean": {json.dumps(found.answer)}}}']
    solutions: tuple[Any, ...] = found.triples or found.solutions
    return [f'{head}"solutions": [{", ".join(map(solution_text, solutions))}]}}'] if found else []


FORMATS: Final = ("text", "ndjson")
