"""Journals whose bits have changed are refused, or the change does no harm."""

from __future__ import annotations

import copy
import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from random import Random

import pytest
import rdflib
from rdflib import Literal

import rdflive
from rdflive.delivery.resume import ResumeError
from support.effort import drawn_from, rounds
from support.resume import EX, Ledger, add, killed_at, node

QUERY = f"SELECT ?t ?o {{ ?t <{EX}name> ?o }}"
FILES = ("", "-wal", "-told")
"""The endings of the files of a journal that is open."""


def _name(graph: rdflib.Graph, number: int) -> None:
    graph.add((node(f"t{number}"), node("name"), Literal(f"Zug {number}", lang="de-CH")))


def _written(graph: rdflib.Graph, path: Path, *, closed: bool) -> tuple[Ledger, Path]:
    """Write a journal with a second subscriber in it and a pending delta; as a kill leaves it, or closed."""
    ledger, left = Ledger(), path.with_name("left.db")
    subscriptions = [
        rdflive.subscribe(graph, QUERY, call, name=name, resume=path)
        for name, call in (("board", ledger.take), ("other", Ledger().take))
    ]
    for number in range(60):
        _name(graph, number)
    graph.remove((node("t7"), None, None))
    with killed_at("taken", ledger):
        add(graph, "ic2")
        _name(graph, 60)
    if closed:
        for subscription in subscriptions:
            subscription.close()
    for ending in FILES:
        if path.with_name(path.name + ending).exists():
            shutil.copy(f"{path}{ending}", f"{left}{ending}")
    for subscription in subscriptions:
        subscription.close()
    return ledger, left


def _flip(path: Path, random: Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    path.write_bytes(content)


def _outcome(graph: rdflib.Graph, path: Path, ledger: Ledger) -> str:
    """Resume from a file, change the graph, and say what became of it."""
    errors: list[BaseException] = []
    try:
        on_error = lambda _, error: errors.append(error)  # noqa: E731
        with rdflive.subscribe(
            graph, QUERY, ledger.take, name="board", resume=path, on_error=on_error
        ) as subscription:
            _name(graph, 62)
            answers = Counter(subscription.answers())
    except ResumeError as error:
        refusals = ("start again", "belongs to another program; give the path of a file of its own")
        return "refused" if any(text in str(error) for text in refusals) else str(error)
    finally:
        graph.remove((node("t62"), None, None))
    if errors:
        return "refused later" if all(isinstance(error, ResumeError) for error in errors) else repr(errors)
    return "harmless" if ledger.state() == answers else f"wrong: {ledger.calls}"


@pytest.mark.parametrize("closed", [True, False])
def test_changed_bits_are_refused_or_do_no_harm(graph: rdflib.Graph, path: Path, closed: bool) -> None:
    """What is told after them adds up to the answers, each number once; or nothing is told."""
    ledger, left = _written(graph, path, closed=closed)
    _name(graph, 61)
    graph.remove((node("t8"), None, None))
    found: Counter[str] = Counter()
    random = drawn_from("changed bits", closed)
    endings = [ending for ending in FILES if Path(f"{left}{ending}").exists()]
    assert len(endings) == (2 if closed else 3)
    for number in range(rounds(1000, share=20)):
        here = path.with_name(f"{number}.db")
        for ending in endings:
            shutil.copy(f"{left}{ending}", f"{here}{ending}")
        _flip(Path(f"{here}{random.choice(endings)}"), random)
        found[_outcome(graph, here, copy.deepcopy(ledger))] += 1
    assert set(found) == {"refused", "harmless"}, found


def test_a_log_that_lost_its_end_is_refused(graph: rdflib.Graph, path: Path) -> None:
    """Numbers that were told are not given to other deltas, though SQLite takes what is left for all."""
    ledger, left = _written(graph, path, closed=False)
    log = Path(f"{left}-wal")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    for _ in range(2):  # SQLite has put what was left into the file meanwhile
        with pytest.raises(ResumeError, match=r"it is damaged .* got are not in it"):
            rdflive.subscribe(graph, QUERY, ledger.take, name="board", resume=left)


def test_rows_that_say_what_they_cannot_are_refused(graph: rdflib.Graph, path: Path) -> None:
    """A column holds a number in place of text, another spelling, or a row of no subscriber."""
    _, left = _written(graph, path, closed=True)
    for change in ("row = x'07'", "weight = 'many'", "spelling = 'else'", "subscriber = 9", "weight = 2"):
        shutil.copy(left, path)
        connection = sqlite3.connect(path)
        connection.execute(
            f"UPDATE answer SET {change} WHERE subscriber = 1 AND row = (SELECT max(row) FROM answer)"
        )
        connection.commit()
        connection.close()
        with pytest.raises(ResumeError, match="it is damaged"):
            rdflive.subscribe(graph, QUERY, Ledger().take, name="board", resume=path)


WRITTEN = Path(__file__).parent / "written"


def test_a_journal_of_an_earlier_version_is_read(path: Path) -> None:
    """The pending delta comes again, then the missed changes.

    The file in `written/` has two delivered answers and a pending delta.
    """
    shutil.copy(WRITTEN / "journal-2.db", path)
    graph, told = rdflib.Graph(), []
    graph.add((node("s"), rdflib.URIRef("urn:name"), Literal("Zug", lang="de-CH")))
    for _ in range(2):
        with rdflive.subscribe(
            graph, "SELECT ?name { ?s <urn:name> ?name }", told.append, name="board", resume=path
        ):
            pass
    assert [(delta.sequence, delta.initial) for delta in told] == [(2, False), (3, False)]
    pending, missed = ({str(s.name): w for s, w in delta.weights().items()} for delta in told)
    assert (pending, missed) == ({"urn:a": -2, "urn:b": 1}, {"urn:b": -1})
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()
