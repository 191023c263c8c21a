"""A morning of the railway, recorded: what each transaction of the feed does to the answer of a query.

The moving picture of the README and the front page of the site show it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import rdflib

import rdflive
from rdflive.feeds import Entry
from rdflive.model import Change, Solution, TermWriter

EXAMPLES = Path(__file__).parents[2] / "examples"
TRANSACTION = re.compile(r"^TX \.\n.*?^T(?P<end>[CA]) \.\n", re.MULTILINE | re.DOTALL)

Row: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One committed transaction; rows and triples are written as the command line writes them."""

    words: str
    """What the feed says about it, or nothing."""
    changes: tuple[tuple[str, str], ...]
    """Each change with its sign, + or −, as the transaction has it."""
    touched: tuple[str, ...]
    """The predicates of the changes for which the query has a pattern, such as `:delay`."""
    rows: tuple[Row, ...]
    """The answer, and the rows that went: sorted by train and line, a row that went in front."""
    went: tuple[Row, ...]
    came: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """What was recorded; the first step is the answer that the subscription begins with."""

    query: str
    variables: tuple[str, ...]
    steps: tuple[Step, ...]
    plan: str
    """The drawing of how the answer is kept."""


def record() -> Run:
    """Replay the feed of the railway with `delayed.rq` subscribed to."""
    query = (EXAMPLES / "delayed.rq").read_text(encoding="utf-8")
    graph = rdflib.Graph().parse(EXAMPLES / "railway.ttl")
    write = TermWriter(dict(graph.namespaces()))
    feed = EXAMPLES / "railway.rdfp"
    words = spoken(feed.read_text(encoding="utf-8"))
    with rdflive.subscribe(graph, query) as late:
        _, rows = told(late, write)
        steps = [Step("one subscribes, and is told the answer", (), (), rows, (), ())]

        def take(entry: Entry) -> None:
            triples = [(change.sign, triple(change, write)) for change in entry.batch.changes]
            went, came = told(late, write)
            last = steps[-1]
            rows = (set(last.rows) - set(last.went)) | set(came)
            steps.append(
                Step(
                    words=next(words),
                    changes=tuple(("+" if sign > 0 else "−", " ".join(terms)) for sign, terms in triples),
                    touched=tuple(sorted({name for _, (_, name, _) in triples if f" {name} " in query})),
                    rows=tuple(sorted(rows, key=lambda row: (row[0], row[-1], row not in went))),
                    went=went,
                    came=came,
                )
            )

        rdflive.mirror(graph, feed, on_entry=take)
        return Run(asked(query), late.variables, tuple(steps), late.explain().svg())


def told(late: rdflive.Subscription, write: TermWriter) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Give the rows that went and those that came with the last commit."""
    try:
        delta = late.next(timeout=0)
    except TimeoutError:  # it changed nothing of the answer
        return (), ()
    went, came = (tuple(sorted(written(row, write) for row in rows)) for rows in (delta.removed, delta.added))
    return went, came


def written(row: Solution, write: TermWriter) -> Row:
    """Write the terms of a row."""
    return tuple(map(write, row))


def triple(change: Change, write: TermWriter) -> Row:
    """Write the terms of a triple, with the word of Turtle for `rdf:type`."""
    subject, predicate, given = change.quad[:3]
    return write(subject), "a" if predicate == rdflib.RDF.type else write(predicate), write(given)


def spoken(feed: str) -> Iterator[str]:
    """Give the comment in front of each committed transaction."""
    start = 0
    for transaction in TRANSACTION.finditer(feed):
        comments = re.findall(r"^# (.*)$", feed[start : transaction.start()], re.MULTILINE)
        start = transaction.end()
        if transaction["end"] == "C":
            yield comments[-1] if comments else ""


def asked(query: str) -> str:
    """Leave out what stands above SELECT."""
    return query[query.index("SELECT") :].strip()
