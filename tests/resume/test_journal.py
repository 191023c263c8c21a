"""The file of resumed subscriptions: whose it is, whether it is one, and what happens when it fails."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import RDF, URIRef

import rdflive
from rdflive.delivery.resume import journal as journal_module
from rdflive.delivery.resume import journal_file
from rdflive.delivery.resume.journal import Journal, Pending, ResumeError, subscriber_token
from support.resume import EX, QUERY, TRAIN, Ledger, add, names, node, resumed


def test_a_name_is_open_once(graph: rdflib.Graph, path: Path) -> None:
    """A second live subscription of a name is refused while the first is open; other names share the file."""
    first = Ledger()
    with resumed(graph, path, first):
        for same in (path, str(path), os.fsencode(path)):
            with pytest.raises(ResumeError, match="is open; close it first"):
                resumed(graph, same, Ledger())
        other = Ledger()
        with rdflive.subscribe(graph, "ASK {}", other.take, name="other", resume=path):
            add(graph, "ic2")
        assert (first.calls, other.calls) == ([1, 2], [1])
    resumed(graph, path, first).close()
    assert first.calls == [1, 2]


def test_of_two_processes_the_later_has_the_name(
    graph: rdflib.Graph, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A subscription whose name another process took stops at its next delta, and nothing is told twice."""
    old, new = Ledger(), Ledger()
    first = resumed(graph, path, old, on_error="ignore")
    monkeypatch.setattr(journal_module, "_opened", set())  # as in another process
    copy = rdflib.Graph()
    copy += graph
    with resumed(copy, path, new):
        add(graph, "ic2")
        add(copy, "ic3")
    assert first.closed
    assert isinstance(first.last_error, ResumeError)
    assert "taken over" in str(first.last_error)
    assert (old.calls, new.calls, names(new.told[2].added)) == ([1], [2], ["ic3"])


@pytest.mark.parametrize("by", ["callback", "iterator"])
def test_a_locked_file_stops_the_subscription_and_loses_nothing(
    graph: rdflib.Graph, path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """What cannot be written down is not told; the write stands, and the restart tells it."""
    monkeypatch.setattr(journal_file, "BUSY", 0.01)
    ledger, errors = Ledger(), []
    callback = ledger.take if by == "callback" else None
    subscription = rdflive.subscribe(
        graph, QUERY, callback, name="board", resume=path, on_error=lambda _, error: errors.append(error)
    )
    deltas = None if callback else subscription.deltas(timeout=0)
    if deltas is not None:
        ledger.take(next(deltas))
        with pytest.raises(TimeoutError):
            next(deltas)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    add(graph, "ic2")
    if deltas is not None:
        with pytest.raises(ResumeError, match="another program holds the file"):
            next(deltas)
    else:
        assert "another program holds the file" in str(errors[0])
    holder.close()
    assert subscription.closed
    assert isinstance(subscription.last_error, ResumeError)
    assert ledger.calls == [1]
    with resumed(graph, path, ledger) as subscription:
        assert ledger.state() == Counter(subscription.answers())


def test_a_full_disk_stops_the_subscription_and_loses_nothing(
    graph: rdflib.Graph, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """When a delta does not fit, it is not told, and the restart tells it."""
    ledger = Ledger()
    subscription = resumed(graph, path, ledger)
    connection = subscription._outbox._journal._connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with rdflive.batch(graph):
        add(graph, *(f"ic{i}-{'x' * 100}" for i in range(200)))
    assert subscription.closed
    assert "full" in str(subscription.last_error)
    assert "board" in caplog.text
    assert len(graph) == 201
    with resumed(graph, path, ledger) as subscription:
        assert ledger.calls == [1, 2]
        assert ledger.state() == Counter(subscription.answers())


def test_a_failed_first_delivery_is_raised(
    graph: rdflib.Graph, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes wrong with the file before subscribe returns is raised by it."""

    def full(journal: Journal, *args: Any, **options: Any) -> None:
        raise journal._file.error("database or disk is full")

    plain = type(graph.store)
    with monkeypatch.context() as patched:
        patched.setattr(Journal, "write", full)
        with pytest.raises(ResumeError, match="full"):
            resumed(graph, path, Ledger(), on_error="ignore")
    assert type(graph.store) is plain
    ledger = Ledger()
    resumed(graph, path, ledger).close()
    assert ledger.calls == [1]


def test_what_no_file_can_hold_stops_the_subscription(graph: rdflib.Graph, path: Path) -> None:
    """A formula as a term has no text: the error names it, and the write stands."""
    formula = rdflib.graph.QuotedGraph(graph.store, node("f"))
    ledger = Ledger()
    query = "SELECT ?o { ?s <urn:says> ?o }"
    subscription = resumed(graph, path, ledger, query=query, on_error="ignore")
    graph.add((node("ic1"), URIRef("urn:says"), formula))
    assert subscription.closed
    assert "neither an IRI nor a blank node nor a literal" in str(subscription.last_error)
    assert len(graph) == 2


def test_another_query_is_refused(graph: rdflib.Graph, path: Path) -> None:
    """A name belongs to one query, with its prefixes and terms of bindings; the error says what to do."""
    query = "SELECT ?t { ?t a ex:Train }"
    first = {"query": query, "initNs": {"ex": EX}, "initBindings": {"t": node("ic1")}}
    resumed(graph, path, Ledger(), **first).close()
    changes: list[dict[str, Any]] = [
        {"query": "SELECT ?t { ?t a <urn:other> }"},
        {"initNs": {"ex": "urn:other:"}},
        {"initBindings": None},
        {"initBindings": {"t": node("ic2")}},
    ]
    for change in changes:
        with pytest.raises(ResumeError, match=r"another query.*another name, or delete"):
            resumed(graph, path, Ledger(), **(first | change))
    ledger = Ledger()
    resumed(graph, path, ledger, **first).close()
    assert ledger.calls == []


def test_a_delta_is_written_when_the_last_is_done_with(path: Path) -> None:
    """Two deltas that wait at once would be told again as one; nothing of the second is in the file."""
    journal = Journal(path, "board", "")
    assert journal.write({"<urn:a>": 1}) == 1
    with pytest.raises(ResumeError, match="before the last one was acknowledged"):
        journal.write({"<urn:b>": 1})
    assert journal.pending() == Pending(1, False, {"<urn:a>": 1})
    journal.acknowledge()
    assert journal.write({"<urn:b>": 1}) == 2
    journal.close()


def test_the_same_query_is_recognised(graph: rdflib.Graph, path: Path) -> None:
    """Spaces, comments and prefixes that the query does not use or declares itself make no other query."""
    ledger = Ledger()
    text = f"PREFIX rdf: <{RDF}> SELECT ?t {{ ?t rdf:type ex:Train }}"
    resumed(graph, path, ledger, query=text, initNs={"ex": EX}).close()
    graph.bind("new", "urn:new:")
    graph.bind("rdf", "urn:rdf:", replace=True)
    graph.bind("ex", EX)
    resumed(graph, path, ledger, query=text.replace("?t ", "?t # the train\n  ")).close()
    assert ledger.calls == [1]


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ("SELECT ?t { ?t a [] }", "SELECT ?t { ?t a [ # any\n ] }"),
        ("SELECT ?t { ?t a () }", "SELECT ?t { ?t a ( ) }"),
        ("SELECT ?t { ?t ?p ?o FILTER(?o -1 > +2.5) }", "SELECT ?t { ?t ?p ?o FILTER ( ?o - 1>+ 2.5 ) }"),
    ],
)
def test_spaces_inside_of_tokens_make_no_other_query(
    graph: rdflib.Graph, path: Path, one: str, same: str
) -> None:
    """Some tokens may have spaces and comments in them, and a sign may be part of a number or not."""
    resumed(graph, path, Ledger(), query=one).close()
    resumed(graph, path, Ledger(), query=same).close()
    with pytest.raises(ResumeError, match="another query"):
        resumed(graph, path, Ledger(), query=one.replace("[]", "_:b").replace("()", "?o").replace("-", "+"))


def test_a_subscriber_has_a_random_word_in_a_file(graph: rdflib.Graph, path: Path) -> None:
    """The word is there before, while and after the subscriber has the file; no name or file shares it."""
    word = subscriber_token(path, "board")
    with resumed(graph, path, Ledger()):
        assert subscriber_token(str(path), "board") == word
        assert subscriber_token(path, "other") != word
    assert subscriber_token(path, "board") == word
    assert subscriber_token(path.with_name("b.db"), "board") != word
    path.unlink()
    assert subscriber_token(path, "board") != word
    ledger = Ledger()
    resumed(graph, path, ledger).close()
    assert ledger.calls == [1]
    with pytest.raises(ValueError, match="is not valid text"):
        subscriber_token(path, "\ud800")


def test_two_programs_make_the_file_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another program makes between two looks at it is not taken for a foreign one."""
    look, others = journal_file._is_ours, [threading.Thread(target=lambda: subscriber_token(path, "other"))]

    def late(connection: sqlite3.Connection) -> bool:
        found = look(connection)
        if others:  # once: the other thread comes here too
            thread = others.pop()
            thread.start()
            thread.join(0.2)  # it may have to wait for us
        return found

    (other,) = others
    monkeypatch.setattr(journal_file, "_is_ours", late)
    Journal(path, "n", "").close()
    other.join(10)
    connection = sqlite3.connect(path)
    assert {name for (name,) in connection.execute("SELECT name FROM subscriber")} == {"n", "other"}
    connection.close()


def test_what_was_handed_out_is_on_the_disk(path: Path) -> None:
    """A number is synced before it is handed out; of an acknowledgement it does not matter."""
    journal = Journal(path, "n", "")

    def synced() -> bool:
        (level,) = journal._connection.execute("PRAGMA synchronous").fetchone()
        return bool(level >= 2)  # FULL

    levels = []
    for step in (lambda: journal.begin({"<urn:a>": 1}), lambda: journal.write({}), journal.acknowledge) * 2:
        step()
        levels.append(synced())
    journal.close()
    assert levels == [True, True, False] * 2


LOST: dict[str, Any] = {
    "deleted": lambda path: path.unlink(),
    "emptied": lambda path: os.truncate(path, 0),
    "replaced": lambda path: os.replace(shutil.copy(path, f"{path}.copy"), path),
    "without its log": lambda path: os.unlink(f"{path}-wal"),
}
REMOVES = pytest.mark.posix("removes or replaces a file that is open")


@pytest.mark.parametrize(
    "how", [name if name == "emptied" else pytest.param(name, marks=REMOVES) for name in LOST]
)
def test_a_file_that_goes_away_stops_the_subscription(graph: rdflib.Graph, path: Path, how: str) -> None:
    """What cannot be found again is not told: the subscription closes, and says why."""
    ledger = Ledger()
    subscription = resumed(graph, path, ledger, on_error="ignore")
    LOST[how](path)
    add(graph, "ic2")
    assert subscription.closed
    assert "deleted, emptied or replaced" in str(subscription.last_error)
    assert ledger.calls == [1]
    for name in path.parent.iterdir():
        name.unlink()
    again = Ledger()
    with resumed(graph, path, again) as subscription:
        assert again.calls == [1]
        assert again.state() == Counter(subscription.answers())


@REMOVES
def test_a_file_that_goes_away_takes_no_acknowledgement(graph: rdflib.Graph, path: Path) -> None:
    """An iterator that is done with a delta raises when the file is gone."""
    subscription = rdflive.subscribe(graph, QUERY, name="board", resume=path)
    deltas = subscription.deltas(timeout=5)
    next(deltas)
    path.unlink()
    with pytest.raises(ResumeError, match="deleted, emptied or replaced"):
        next(deltas)
    assert subscription.closed


def _other_program(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()


def _newer(path: Path) -> None:
    Journal(path, "n", "").close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


def _garbled(path: Path) -> None:
    resumed(rdflib.Graph().add((node("ic1"), RDF.type, TRAIN)), path, Ledger()).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE answer SET row = 'what?'")
    connection.commit()
    connection.close()


WRONG: dict[str, tuple[Any, str]] = {
    "text": (lambda path: path.write_bytes(b"no database " * 100), "no SQLite file"),
    "another program's": (_other_program, "belongs to another program"),
    "a newer layout": (_newer, "its layout is 99"),
    "a folder": (lambda path: path.mkdir(), "check the path"),
    "other rows": (_garbled, "is damaged .*put back an intact copy"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_file_is_refused_and_left_alone(graph: rdflib.Graph, path: Path, kind: str) -> None:
    """A file that is not ours is refused by name with the next step, and not written to."""
    make, says = WRONG[kind]
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    plain = type(graph.store)
    with pytest.raises(ResumeError, match=says) as raised:
        resumed(graph, path, Ledger())
    assert str(path) in str(raised.value)
    assert type(graph.store) is plain
    if kind in ("text", "another program's"):
        assert path.read_bytes() == before


def test_the_file_holds_the_answers_and_nothing_else(graph: rdflib.Graph, path: Path) -> None:
    """What is no answer any more, and what was acknowledged, is not in the file."""
    with resumed(graph, path, Ledger()):
        add(graph, "ic2")
        graph.remove((None, None, None))
        add(graph, "ic3")
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT row, spelling, weight FROM answer").fetchall() == [
        (f"<{EX}ic3>", None, 1)
    ]
    assert connection.execute("SELECT * FROM pending").fetchall() == []
    connection.close()


def test_a_refused_subscription_leaves_the_name_free(graph: rdflib.Graph, path: Path) -> None:
    """What is refused for another reason has not opened the file."""
    formula = rdflib.graph.QuotedGraph(graph.store, node("f"))
    with pytest.raises(rdflive.UnsupportedStoreError) as kept:
        resumed(formula, path, Ledger())
    ledger = Ledger()
    resumed(graph, path, ledger).close()
    assert ledger.calls == [1]
    assert "QuotedGraph" in str(kept.value)


@pytest.mark.parametrize("name", [None, "", 3])
def test_resume_needs_a_name(graph: rdflib.Graph, path: Path, name: Any) -> None:
    """Without a name the subscriber cannot be found again."""
    with pytest.raises(ValueError, match="needs the name"):
        rdflive.subscribe(graph, QUERY, name=name, resume=path)
    assert not path.exists()


def test_a_memory_path_is_a_file(
    graph: rdflib.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's special names are file names here, since what is in memory cannot be resumed."""
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:x?mode=memory", "100% #1.db"):
        rdflive.subscribe(graph, QUERY, name="n", resume=name).close()
        assert (tmp_path / name).exists()
