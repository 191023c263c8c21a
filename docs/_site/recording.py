"""Record a morning of the railway: the effect of each transaction of the feed on the answer of a query.

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
    """One committed transaction, with rows and triples as the command line writes them."""

    words: str
    """The feed's comment about it, or an empty text."""
    changes: tuple[tuple[str, str], ...]
    """The changes of the transaction, each with its sign + or −."""
    touched: tuple[str, ...]
    """The predicates of the changes for which the query has a pattern, such as `:delay`."""
    rows: tuple[Row, ...]
    """The answer and the removed rows, sorted by train and line, with removed rows first."""
    went: tuple[Row, ...]
    came: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """A recorded run, whose first step is the initial answer."""

    query: str
    variables: tuple[str, ...]
    steps: tuple[Step, ...]
    plan: str
    """The drawing of the plan."""


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
    """Return the removed and the added rows of the last commit."""
    try:
        delta = late.next(timeout=0)
    except TimeoutError:  # the commit did not change the answer
        return (), ()
    went, came = (tuple(sorted(written(row, write) for row in rows)) for rows in (delta.removed, delta.added))
    return went, came


def written(row: Solution, write: TermWriter) -> Row:
    """Write the terms of a row."""
    return tuple(map(write, row))


def triple(change: Change, write: TermWriter) -> Row:
    """Write the terms of a triple, with `a` for `rdf:type`."""
    subject, predicate, given = change.quad[:3]
    return write(subject), "a" if predicate == rdflib.RDF.type else write(predicate), write(given)


def spoken(feed: str) -> Iterator[str]:
    """Yield the comment before each committed transaction."""
    start = 0
    for transaction in TRANSACTION.finditer(feed):
        comments = re.findall(r"^# (.*)$", feed[start : transaction.start()], re.MULTILINE)
        start = transaction.end()
        if transaction["end"] == "C":
            yield comments[-1] if comments else ""


def asked(query: str) -> str:
    """Return a query without its prologue."""
    return query[query.index("SELECT") :].strip()
