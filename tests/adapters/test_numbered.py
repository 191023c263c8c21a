"""A store on disk numbers its commits, and the log beside it has exactly these, whatever ends the program."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import BNode, Literal, URIRef

import rdflive
from rdflive import Batch, Change, Quad
from rdflive.api.mirror import mirror
from rdflive.feeds.rdf_patch import encode_rdf_patch
from rdflive.store import ChangeLogError, History, LogGapError, StoredLog, stored_log
from rdflive.store.stored_log import session_of
from support.effort import drawn_from, rounds
from support.stored import Stored, stored

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

E = rdflib.Namespace("http://e/")
NODES = [E.a, E.b, E.c, BNode("x")]
OBJECTS = [*NODES, Literal('two\n\nlines \\ "'), Literal("07", datatype=E.code), Literal("x", lang="en-gb")]
UPDATES = (
    "INSERT { ?s <http://e/q> ?id, [] } WHERE { ?s <http://e/p> ?o BIND(UUID() AS ?id) }",
    "DELETE { ?s ?p ?o } INSERT { GRAPH <http://e/g> { ?s ?p ?o } } WHERE { ?s ?p ?o FILTER(RAND() > 0.5) }",
    "DELETE WHERE { GRAPH <http://e/g> { ?s ?p <http://e/a> } }",
    "INSERT DATA { <http://e/a> <http://e/p> 07, '\\n' . GRAPH <http://e/h> { _:new <http://e/p> _:new } }",
    "DELETE DATA { <http://e/a> <http://e/p> 07 } ; INSERT DATA { <http://e/a> <http://e/p> 8 }",
    "MOVE SILENT <http://e/g> TO <http://e/h>",
    "CLEAR SILENT GRAPH <http://e/h>",
    "CREATE SILENT GRAPH <http://e/empty>",
    "DELETE WHERE { <http://e/nothing> ?p ?o }",
)


def write(dataset: rdflib.Dataset, chance: Random, folder: Path) -> None:
    """Make one random write, by any way into the store."""
    graph = chance.choice([dataset.default_graph, dataset.graph(E.g)])
    s, o = chance.choice(NODES), chance.choice(OBJECTS)
    match chance.randrange(8):
        case 0:
            graph.add((s, E.p, o))
        case 1:
            graph.remove((s, None, None))
        case 2:
            graph.parse(data="_:n <http://e/p> 1, 'x' . <http://e/a> <http://e/q> _:n .", format="turtle")
        case 3:
            with rdflive.batch(dataset):
                graph.add((s, E.p, o))
                dataset.update(chance.choice(UPDATES))
                graph.remove((s, E.p, o))
        case 4:
            patch = folder / "patch.rdfp"
            fed = encode_rdf_patch(Batch((Change(1, Quad(s, E.fed, o)),)))
            patch.write_text(f"{fed}TX .\nTC .\n")
            mirror(dataset, str(patch), name=f"feed {chance.random()}")
        case _:
            dataset.update(chance.choice(UPDATES))


@pytest.mark.sampled(by="seed")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("is_guarded", [False, True])
def test_the_log_leads_back_to_every_commit(seed: int, is_guarded: bool, tmp_path: Path) -> None:
    """Undone from the present state, the entries give the states after all commits, across restarts."""
    chance = drawn_from("numbered", seed, is_guarded)
    states: dict[int, frozenset[Any]] = {0: frozenset()}
    epochs = set()
    for _ in range(rounds(8)):
        with stored(tmp_path) as store:
            epochs.add(store.history.epoch)
            assert store.quads() == states[store.history.number]
            guard = rdflive.guard(store.dataset, f"ASK {{ <{E.b}> <{E.p}> <{E.c}> }}") if is_guarded else None
            for _ in range(12):
                before = store.history.number, store.quads()
                with suppress(rdflive.ValidationError):
                    write(store.dataset, chance, tmp_path)
                now = store.history.number, store.quads()
                assert (before[0] == now[0]) is (before[1] == now[1])
                states[now[0]] = now[1]
            if guard is not None:
                guard.close()
            for number, state in states.items():
                assert store.before(number) == state
    assert len(epochs) == 1


PROGRAM = """
import os, signal, sys
from pathlib import Path
import rdflib, rdflive
from rdflive.store import StoredLog
from rdflive_stores.oxigraph import numbered
from support.stored import stored

E, folder, moment, write = rdflib.Namespace("http://e/"), Path(sys.argv[1]), sys.argv[2], sys.argv[3]

def dying(function, is_after):
    def died(*arguments, **options):
        if is_after:
            function(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)
    return died

with stored(folder) as store:
    dataset = store.dataset
    where, name, is_after = {
        "before the entry": (StoredLog, "append", False),
        "after the entry": (StoredLog, "append", True),
        "after the transaction": (numbered.CommitNumbers, "_replace_marks", False),
        "after the commit": (numbered.CommitNumbers, "settle", True),
    }[moment]
    setattr(where, name, dying(getattr(where, name), is_after))
    exec(write)
"""
WRITES = {
    "update": "dataset.update('DELETE { ?s <http://e/old> ?o } INSERT { ?s ?o 1 } WHERE { ?s ?p ?o }')",
    "quad": "dataset.add((E.a, E.p, E.b, E.g))",
    "batch": "with rdflive.batch(dataset): dataset.add((E.a, E.p, E.b)); dataset.remove((E.c, None, None))",
}


@pytest.mark.posix("a program kills itself")
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(
    ("moment", "is_made"),
    [
        ("before the entry", False),
        ("after the entry", False),
        ("after the transaction", True),
        ("after the commit", True),
    ],
)
def test_a_killed_commit_is_in_the_store_and_the_log_or_in_neither(
    moment: str, is_made: bool, write: str, tmp_path: Path
) -> None:
    """The number in the store decides; entries behind it go, and the history goes on."""
    if write == "batch" and moment == "after the transaction":
        pytest.skip("a batch ends with its transaction")
    with stored(tmp_path) as store:
        store.dataset.add((E.c, E.old, E.b))
        before, epoch = store.quads(), store.history.epoch
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), moment, WRITES[write]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    program = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert program.returncode == -signal.SIGKILL, program.stderr
    with stored(tmp_path) as store:
        assert (store.history.epoch, store.history.number) == (epoch, 2 if is_made else 1)
        assert (store.quads() != before) is is_made
        assert store.before(1) == before
        assert store.before(0) == frozenset()
        store.dataset.add((E.a, E.p, E.c))
        assert store.before(1) == before


def filled(folder: Path) -> tuple[str, Path]:
    """Make a store with three commits; return its epoch and the file of its log."""
    with stored(folder) as store:
        for number in range(3):
            store.dataset.add((E.a, E.p, Literal(number)))
    (file,) = (folder / "store.rdflive-log").glob("*.log")
    return store.history.epoch, file


def torn_tail(folder: Path, file: Path) -> None:
    """Leave half an entry at the end."""
    with file.open("ab") as log:
        log.write(b"\0\0\0\1half")


def flipped(folder: Path, file: Path) -> None:
    """Flip a bit in the middle."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def shortened(folder: Path, file: Path) -> None:
    """Lose the last entry."""
    os.truncate(file, file.stat().st_size - 1)


def without_segments(folder: Path, file: Path) -> None:
    """Lose the entries."""
    file.unlink()


def without_folder(folder: Path, file: Path) -> None:
    """Lose the log."""
    shutil.rmtree(file.parent)


def opened_by_another(folder: Path, file: Path) -> None:
    """Change the store by a program without a log."""
    dataset = rdflib.Dataset("Oxigraph")
    dataset.open(str(folder / "store"))
    dataset.add((E.other, E.p, E.b))
    dataset.close()


def copied(folder: Path, file: Path) -> None:
    """Replace the store by a copy of it."""
    shutil.copytree(folder / "store", folder / "copy")
    shutil.rmtree(folder / "store")
    (folder / "copy").rename(folder / "store")


def without_header(folder: Path, file: Path) -> None:
    """Damage the header."""
    (file.parent / "header.json").write_text("{")


@pytest.mark.parametrize(
    ("damage", "is_same", "oldest"),
    [
        (torn_tail, True, 0),
        (flipped, True, 3),
        (shortened, True, 3),
        (without_segments, True, 3),
        (without_folder, False, 3),
        (opened_by_another, False, 3),
        (copied, False, 3),
        (without_header, False, 3),
    ],
)
def test_a_log_that_does_not_fit_begins_again(
    damage: Callable[[Path, Path], None], is_same: bool, oldest: int, tmp_path: Path
) -> None:
    """The history is another one if the store may have changed; else only older commits are gone."""
    epoch, file = filled(tmp_path)
    damage(tmp_path, file)
    with stored(tmp_path) as store:
        assert store.history.number == 3
        assert (store.history.epoch == epoch) is is_same
        assert store.log.oldest == oldest
        before = store.quads()
        store.dataset.add((E.more, E.p, E.b))
        assert store.before(3) == before
        assert len(store.quads()) == len(before) + 1


@pytest.mark.parametrize("was_closed", [False, True])
def test_a_failed_machine_begins_another_history(
    was_closed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store may have lost its last commits then, unless it was closed and flushed."""
    path, folder = tmp_path / "store", tmp_path / "log"
    path.mkdir()
    (path / "CURRENT").write_text("MANIFEST-1")
    (path / "IDENTITY").write_text("identity")
    log = StoredLog(folder, path)
    log.open(session_of(path))
    log.resume(0)
    log.append(1, b"one")
    if was_closed:
        log.close()
    monkeypatch.setattr(stored_log, "_boot", lambda: "another")
    again = StoredLog(folder, path)
    again.open(session_of(path))
    again.resume(1)
    assert (again.epoch == log.epoch, again.oldest) == ((True, 0) if was_closed else (False, 1))
    again.close()
    log.close()


def fail_once(monkeypatch: pytest.MonkeyPatch, *, is_short: bool) -> None:
    """Make the next write to the log fail, as on a full disk."""
    write_at = os.pwrite

    def fail(file: int, content: bytes, offset: int) -> int:
        monkeypatch.setattr(os, "pwrite", write_at)
        write_at(file, content[:5], offset)
        if is_short:
            return 5
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", fail)


def one_update(store: Stored) -> None:
    """Write as a commit of its own."""
    store.dataset.update("INSERT DATA { <http://e/a> <http://e/p> <http://e/new> }")


def a_batch(store: Stored) -> None:
    """Write in a batch."""
    with rdflive.batch(store.dataset):
        store.dataset.add((E.a, E.p, E.new))
        store.dataset.remove((E.a, E.p, Literal(1)))


@pytest.mark.parametrize("change", [one_update, a_batch])
@pytest.mark.parametrize("is_short", [False, True])
def test_a_full_disk_refuses_the_commit(
    change: Callable[[Stored], None], is_short: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the log; nothing changes, no subscription hears of it, and the next commit follows."""
    filled(tmp_path)
    with stored(tmp_path) as store:
        heard: list[Any] = []
        with rdflive.subscribe(store.dataset, "SELECT * { ?s ?p ?o }", heard.append, initial=False):
            before = store.quads()
            fail_once(monkeypatch, is_short=is_short)
            with pytest.raises(ChangeLogError, match=r"store.rdflive-log cannot be written: No space left"):
                change(store)
            assert (store.quads(), heard, store.history.number) == (before, [], 3)
            change(store)
            assert store.history.number == 4
            assert len(heard) == 1
        assert store.before(3) == before
    with stored(tmp_path) as store:
        assert (store.history.number, store.log.oldest) == (4, 0)


def test_a_store_that_fails_leaves_no_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry without a commit is removed at once, and the number is used again."""
    from rdflive_stores.oxigraph.writes import NativeWrite

    filled(tmp_path)
    with stored(tmp_path) as store:
        before = store.quads()

        def refuse(*_: object) -> None:
            raise OSError(errno.ENOSPC, "no space")

        with monkeypatch.context() as failing:
            failing.setattr(NativeWrite, "make", refuse)
            failing.setattr("rdflive_stores.oxigraph.writes.ManyQuads.make", refuse)
            with pytest.raises(OSError, match="no space"):
                store.dataset.update("INSERT DATA { <http://e/a> <http://e/p> 5, 6 }")
        assert (store.log.last, store.quads()) == (3, before)
        one_update(store)
        assert (store.log.last, store.history.number) == (4, 4)
        assert store.before(3) == before


def test_old_commits_leave_a_log_of_bounded_size(tmp_path: Path) -> None:
    """Whole files of the oldest commits go."""
    with stored(tmp_path, size=40_000) as store:
        for number in range(60):
            store.dataset.add((E.a, E.p, Literal("x" * 1500 + str(number))))
        sizes = [path.stat().st_size for path in store.log.folder.glob("*.log")]
        assert sum(sizes) < 50_000
        assert 20 < store.log.oldest < 50
        assert len(store.before(store.log.oldest)) == store.log.oldest
        with pytest.raises(LogGapError):
            list(store.log.since(store.log.oldest - 1, 60))
        oldest = store.log.oldest
    with stored(tmp_path, size=40_000) as store:
        assert store.log.oldest == oldest


def test_a_commit_larger_than_the_log_is_not_in_it(tmp_path: Path) -> None:
    """The log begins again behind it, and the history goes on."""
    with stored(tmp_path, size=40_000) as store:
        store.dataset.add((E.a, E.p, E.b))
        store.dataset.add((E.a, E.p, Literal("x" * 50_000)))
        store.dataset.add((E.a, E.p, E.c))
        assert (store.log.oldest, store.log.last) == (2, 3)
        assert len(store.before(2)) == 2
        epoch = store.history.epoch
    with stored(tmp_path, size=40_000) as store:
        assert (store.history.epoch, store.history.number, store.log.oldest) == (epoch, 3, 2)


def test_old_commits_leave_a_log_of_bounded_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour of 16 parts: a part begins every four minutes, and goes when its last commit is too old."""
    now = 1e9
    monkeypatch.setattr(stored_log.time, "time", lambda: now)
    with stored(tmp_path, seconds=3600) as store:
        for number in range(20):
            store.dataset.add((E.a, E.p, Literal(number)))
            now += 600
        assert 12 <= store.log.oldest <= 14


def test_a_replica_numbers_as_it_is_told(tmp_path: Path) -> None:
    """A number that jumps begins the log again after that commit."""
    with stored(tmp_path) as store:
        store.dataset.add((E.a, E.p, E.b))
        with store.history.numbering(9):
            store.dataset.add((E.a, E.p, E.c))
        store.dataset.add((E.a, E.p, E.a))
        assert (store.history.number, store.log.oldest, store.log.last) == (10, 9, 10)
        assert len(store.before(9)) == 2
    with stored(tmp_path) as store:
        assert (store.history.number, store.log.oldest) == (10, 9)


def test_an_interrupted_write_begins_another_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has changed is unknown, so no commit of the log leads there."""
    from rdflive_stores.oxigraph.numbered import CommitNumbers

    epoch, _ = filled(tmp_path)
    with stored(tmp_path) as store:

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as interrupting:
            interrupting.setattr(CommitNumbers, "settle", interrupt)
            with pytest.raises(KeyboardInterrupt):
                one_update(store)
        store.dataset.add((E.later, E.p, E.b))
        assert store.history.epoch != epoch
        assert store.log.epoch == store.history.epoch
        assert store.log.last == store.history.number
        now = store.history.epoch, store.history.number
    with stored(tmp_path) as store:
        assert (store.history.epoch, store.history.number) == now


def test_numbers_of_sequences() -> None:
    """Ticks and jumps of any order are mapped to the last commit before them."""
    chance = drawn_from("history")
    for _ in range(rounds(50)):
        history, sequence, last, known = History(number=5), 0, 0, {0: 5}
        for _ in range(40):
            sequence += 1
            match chance.randrange(4):
                case 0:
                    pass  # a tick
                case 1:
                    with history.numbering(history.number + chance.randrange(1, 9)):
                        if chance.random() < 0.7:
                            history.commit(sequence)
                            last = sequence
                        else:  # the present state has the number from now on
                            sequence -= 1
                            known = {at: number for at, number in known.items() if at < last}
                case _:
                    history.commit(sequence)
            known[sequence] = history.number
        assert {at: history.number_of(at) for at in known} == known


def test_a_commit_that_fails_begins_no_other_history() -> None:
    """The old state must not have an id of the new history."""
    history = History("0000000a", number=5)
    with suppress(OSError), history.numbering(9, epoch="0000000b"):
        assert history.coming == 9
        assert history.epoch == "0000000a"
        raise OSError
    assert (history.id(history.number), history.coming) == ("5-0000000a", 6)
    with history.numbering(9, epoch="0000000b"):
        history.commit(1)
    assert [history.id_of(sequence) for sequence in (0, 1)] == ["5-0000000a", "9-0000000b"]


def test_a_log_that_could_not_begin_again_does_so_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A larger commit than the log needs a new file, for which there may be no room."""
    with stored(tmp_path, size=1 << 13) as store:
        store.dataset.update("INSERT DATA { <urn:a> <urn:p> 1 }")
        large = f"INSERT DATA {{ <urn:a> <urn:p> '{'x' * (1 << 14)}' }}"
        with monkeypatch.context() as patched:
            patched.setattr(os, "open", fail_to_open)
            with pytest.raises(ChangeLogError, match="No space"):
                store.dataset.update(large)
        assert (store.history.number, store.log.oldest, store.log.last) == (1, 0, 1)
        store.dataset.update(large)
        store.dataset.update("INSERT DATA { <urn:a> <urn:p> 2 }")
        assert (store.history.number, store.log.oldest, store.log.last) == (3, 2, 3)
        assert len(store.before(2)) == 2
        now = store.history.epoch, 3
    with stored(tmp_path) as store:
        assert (store.history.epoch, store.history.number) == now


def fail_to_open(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_forgotten_history_does_not_come_back(tmp_path: Path) -> None:
    """Also if the program is killed before the next one begins."""
    with stored(tmp_path) as store:
        store.dataset.update("INSERT DATA { <urn:a> <urn:p> 1 }")
        epoch = store.history.epoch
    path = tmp_path / "store"
    log = StoredLog(tmp_path / "store.rdflive-log", path)
    log.open(session_of(path))
    assert log.epoch == epoch
    log.forget()
    with stored(tmp_path) as store:
        assert (store.history.number, store.log.oldest) == (1, 1)
        assert store.history.epoch != epoch


def test_a_log_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """A file is where the folder should be."""
    (tmp_path / "store.rdflive-log").write_text("")
    with (
        pytest.raises(ChangeLogError, match="or serve the store with --change-log-bytes 0"),
        stored(tmp_path),
    ):
        pass


def test_a_closed_log_refuses_changes(tmp_path: Path) -> None:
    """A change that the log lacks would make it wrong."""
    with stored(tmp_path) as store:
        store.log.close()
        with pytest.raises(ChangeLogError, match="it is closed"):
            one_update(store)
        assert not store.quads()


def test_the_number_is_invisible(tmp_path: Path) -> None:
    """Neither queries nor the list of graphs show the quad that keeps it."""
    filled(tmp_path)
    with stored(tmp_path) as store:
        assert len(store.dataset) == 3
        assert [graph.identifier for graph in store.dataset.graphs()] == [
            rdflib.graph.DATASET_DEFAULT_GRAPH_ID
        ]
        found: Any = store.dataset.query("SELECT * { GRAPH ?g { ?s ?p ?o } }")
        assert list(found) == []
        assert URIRef("urn:x-rdflive:commit") not in set(store.dataset.subjects())
