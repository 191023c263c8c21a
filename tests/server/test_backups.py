"""Backups of a store on disk: made while it is served, complete or absent, and restored by serving them."""

from __future__ import annotations

import errno
import gc
import json
import os
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
import rdflib

from rdflive.api.backup import back_up, back_up_closed
from rdflive.cli import main
from rdflive.errors import RdfliveError
from rdflive.server.access import Client, digest
from rdflive.store.stored_log import session_of
from support.serving import Serving, serving
from support.stored import stored
from support.waiting import until

pytest.importorskip("oxrdflib", reason="a store on disk needs rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

HOLDING = (
    "import pyoxigraph, sys; s = pyoxigraph.Store(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
)
ALL = frozenset({"read", "update", "subscribe", "backup"})


def opened(path: Path) -> rdflib.Dataset:
    """Open a store on disk."""
    dataset = rdflib.Dataset(store="Oxigraph")
    dataset.open(str(path))
    return dataset


def numbers(path: Path) -> list[int]:
    """Return the objects of a store on disk."""
    dataset = opened(path)
    try:
        return sorted(int(quad[2]) for quad in dataset.quads())
    finally:
        dataset.close()


def post(served: Serving, path: str, body: bytes = b"", token: str = "") -> tuple[int, dict[str, Any]]:
    """Send a POST; return the status and the JSON."""
    headers = {"Content-Type": "application/sparql-update"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(f"{served.url}{path}", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read() or b"{}")
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


def insert(served: Serving, number: int) -> None:
    """Insert a number."""
    body = f"INSERT DATA {{ <urn:n> <urn:p> {number} }}".encode()
    assert post(served, "/update", body)[0] == 204


def left(folder: Path) -> list[str]:
    """Return the names of a folder."""
    return sorted(os.listdir(folder)) if folder.exists() else []


def test_backups_are_states_of_the_store_between_updates(tmp_path: Path) -> None:
    """While another thread writes 1, 2, 3 …, each backup has exactly 1 to k, for a k of its time."""
    dataset, folder = opened(tmp_path / "store"), tmp_path / "backups"
    done, is_over = 0, threading.Event()

    def write(served: Serving) -> None:
        nonlocal done
        while not is_over.is_set():
            insert(served, done + 1)
            done += 1

    with serving(dataset, backups=folder, scratch=tmp_path / "near") as served:
        writer = threading.Thread(target=write, args=(served,))
        writer.start()
        bounds = []
        for name in ("a", "b", "c"):
            until(lambda: done > 5 * len(bounds) + 2)
            before = done
            status, said = post(served, f"/backup?name={name}")
            assert (status, said["backup"]) == (201, name)
            bounds.append((name, before, said["sequence"], done + 1))
        is_over.set()
        writer.join()
    dataset.close()
    for name, before, sequence, after in bounds:
        found = numbers(folder / name)
        assert found == list(range(1, len(found) + 1))
        assert before <= len(found) == sequence <= after
    assert left(folder) == ["a", "b", "c"]
    assert left(tmp_path / "near") == []


def test_a_backup_in_the_place_of_the_store_begins_another_history(tmp_path: Path) -> None:
    """It has the names of its original in RocksDB, and the log beside the store has later commits."""
    with stored(tmp_path) as store:
        for number in range(3):
            store.dataset.update(f"INSERT DATA {{ <urn:s> <urn:p> {number} }}")
        assert back_up(store.dataset, tmp_path / "copy") == 3
        store.dataset.update("INSERT DATA { <urn:s> <urn:p> 4 }")
        epoch = store.history.epoch
    path, copy = tmp_path / "store", tmp_path / "copy"
    back_up_closed(copy, tmp_path / "second")  # a copy of a copy is another one
    assert (copy / "rdflive-copy").read_text() != (tmp_path / "second" / "rdflive-copy").read_text()
    # the inode and the manifest may happen to be the same
    header = json.loads((log := tmp_path / "store.rdflive-log" / "header.json").read_text())
    shutil.rmtree(path)
    shutil.copytree(copy, path)
    header["session"] = session_of(path).rpartition(" ")[0]
    log.write_text(json.dumps(header))
    with stored(tmp_path) as store:
        assert (store.history.number, store.log.oldest) == (3, 3)
        restored = store.history.epoch
        assert restored != epoch
    with stored(tmp_path) as store:
        assert store.history.epoch == restored


def test_a_backup_is_a_store_of_its_own(tmp_path: Path) -> None:
    """Neither later updates of the store nor those of the copy, nor the removal of one, change the other."""
    dataset, folder = opened(tmp_path / "store"), tmp_path / "backups"
    with serving(dataset, backups=folder) as served:
        for number in range(50):
            insert(served, number)
        assert post(served, "/backup?name=copy")[0] == 201
        insert(served, 50)
        copy = opened(folder / "copy")
        with serving(copy) as restored:
            insert(restored, 51)
        copy.close()
        assert numbers(folder / "copy") == [*range(50), 51]
        shutil.rmtree(folder / "copy")
        insert(served, 52)
    dataset.close()
    assert numbers(tmp_path / "store") == [*range(51), 52]


@pytest.mark.parametrize(
    "name", ["..", ".", "a/b", "../a", "%2e%2e", ".hidden", "-", "a" * 101, "%00", "a%0a", "/tmp/a", "%C3%A4"]
)
def test_no_name_leaves_the_folder(name: str, tmp_path: Path) -> None:
    """Names are those of one folder, without a sign that any system reads in another way."""
    dataset = opened(tmp_path / "store")
    with serving(dataset, backups=tmp_path / "backups") as served:
        assert post(served, f"/backup?name={name}")[0] == 400
    dataset.close()
    assert left(tmp_path / "backups") == []


def test_backups_need_the_right_a_folder_and_a_store_on_disk(tmp_path: Path) -> None:
    """Each refusal has its status and reason; the default name is the time."""
    tokens = {
        digest(name * 16): Client(name, rights) for name, rights in (("a", ALL), ("b", ALL - {"backup"}))
    }
    dataset = opened(tmp_path / "store")
    with serving(dataset, tokens=tokens, backups=tmp_path / "backups") as served:
        assert post(served, "/backup?name=x", token="b" * 16)[0] == 403
        assert post(served, "/backup?name=x", token="a" * 16)[0] == 201
        assert post(served, "/backup?name=x", token="a" * 16) == (
            409, {"title": "Conflict", "status": 409, "detail": "x exists already; name another backup"},
        )  # fmt: skip
        status, said = post(served, "/backup", token="a" * 16)
        assert status == 201
        assert said["backup"].endswith("Z")
    dataset.close()
    with serving() as served:
        assert post(served, "/backup?name=x")[0] == 404
    for store in ("Oxigraph", "default"):
        with serving(rdflib.Dataset(store=store), backups=tmp_path / "memory") as served:
            status, said = post(served, "/backup?name=x")
            assert (status, "is in memory" in said["detail"]) == (400, True)
    assert left(tmp_path / "memory") == []


def failing(monkeypatch: pytest.MonkeyPatch, number: int, once: bool) -> None:
    """Let the renames of folders fail."""
    real: Callable[..., Any] = Path.rename
    calls = 0

    def rename(path: Path, target: Path) -> Path:
        nonlocal calls
        calls += 1
        if not once or calls == 1:
            raise OSError(number, os.strerror(number))
        result: Path = real(path, target)
        return result

    monkeypatch.setattr(Path, "rename", rename)


def test_a_backup_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is told, and the next backup may be made."""
    dataset, folder = opened(tmp_path / "store"), tmp_path / "backups"
    with serving(dataset, backups=folder) as served:
        with monkeypatch.context() as patch:
            failing(patch, errno.ENOSPC, once=False)
            status, said = post(served, "/backup?name=x")
            assert (status, said["detail"]) == (507, "the backup was not made: No space left on device")
            assert left(folder) == []
        assert post(served, "/backup?name=x")[0] == 201
    dataset.close()


def test_a_backup_goes_to_another_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are copied there, outside of the store's lock."""
    dataset = opened(tmp_path / "store")
    dataset.add((rdflib.URIRef("urn:n"), rdflib.URIRef("urn:p"), rdflib.Literal(1)))
    failing(monkeypatch, errno.EXDEV, once=True)
    back_up(dataset, tmp_path / "copy", near=tmp_path / "near")
    dataset.close()
    assert numbers(tmp_path / "copy") == [1]
    assert left(tmp_path / "near") == []


def test_a_copy_that_cannot_be_opened_is_no_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is discarded before it has its name."""
    dataset = opened(tmp_path / "store")

    def moved(source: Path, target: Path) -> None:
        source.rename(target)
        (target / "CURRENT").write_text("nonsense")

    monkeypatch.setattr("rdflive.api.backup._move", moved)
    with pytest.raises(RdfliveError, match="cannot be opened, and was discarded"):
        back_up(dataset, tmp_path / "copies" / "copy")
    dataset.close()
    assert left(tmp_path / "copies") == []


def test_one_backup_is_made_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one is refused meanwhile; a client that leaves does not end the first."""
    dataset, folder = opened(tmp_path / "store"), tmp_path / "backups"
    entered, go_on = threading.Event(), threading.Event()

    def waits(*arguments: Any, **options: Any) -> int:
        entered.set()
        assert go_on.wait(30)
        return back_up(*arguments, **options)

    monkeypatch.setattr("rdflive.server.backups.copy_store", waits)
    with serving(dataset, backups=folder) as served:
        found: list[int] = []
        first = threading.Thread(target=lambda: found.append(post(served, "/backup?name=a")[0]))
        first.start()
        assert entered.wait(30)
        assert post(served, "/backup?name=b")[0] == 409
        insert(served, 1)  # clients are served meanwhile
        go_on.set()
        first.join()
        assert found == [201]
        assert post(served, "/backup?name=b")[0] == 201
    dataset.close()


def test_the_command_copies_a_store_that_no_program_has_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An open one is refused with the way to do it, and nothing else is taken for a store."""
    dataset = opened(tmp_path / "store")
    dataset.add((rdflib.URIRef("urn:n"), rdflib.URIRef("urn:p"), rdflib.Literal(1)))
    store, copy = str(tmp_path / "store"), str(tmp_path / "copy")
    dataset.close()
    del dataset  # RocksDB's lock goes with the last reference
    gc.collect()
    before = {name: (tmp_path / "store" / name).read_bytes() for name in left(tmp_path / "store")}
    assert main(["backup", store, copy]) == 0
    # the store itself is not opened, which would change it
    assert before == {name: (tmp_path / "store" / name).read_bytes() for name in left(tmp_path / "store")}
    assert numbers(tmp_path / "copy") == [1]
    assert numbers(tmp_path / "store") == [1]
    # in another process: locks of one process do not exclude each other
    with subprocess.Popen([sys.executable, "-c", HOLDING, store], stdout=-1, stdin=-1) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        assert main(["backup", store, str(tmp_path / "x")]) == 2
        assert "back it up by its server: rdflive backup URL NAME" in capsys.readouterr().err
        holder.communicate()
    assert left(tmp_path) == ["copy", "store"]
    capsys.readouterr()
    for arguments, reason in (
        ([store, copy], "copy exists already"),
        ([str(tmp_path), str(tmp_path / "x")], "is not the folder of an Oxigraph store"),
        ([store, copy, "--token-env", "HOME"], "--token-env goes with the URL"),
        (["http://127.0.0.1:9", "x", "--token-env", "NO_SUCH_TOKEN"], "NO_SUCH_TOKEN, the token of"),
        (["http://127.0.0.1:9", "x"], "http://127.0.0.1:9: "),
        (["http://a:b@127.0.0.1:9", "x"], "name a variable with its token by --token-env"),
    ):
        assert main(["backup", *arguments]) == 2
        assert reason in capsys.readouterr().err


def test_the_command_asks_a_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the token of a variable; the reason of a refusal is shown."""
    monkeypatch.setenv("BACKUP", "a" * 16)
    dataset = opened(tmp_path / "store")
    with serving(dataset, tokens={digest("a" * 16): Client("a", ALL)}, backups=tmp_path / "b") as served:
        assert main(["backup", served.url, "x", "--token-env", "BACKUP"]) == 0
        assert main(["backup", served.url, "x", "--token-env", "BACKUP"]) == 2
        assert "x exists already; name another backup" in capsys.readouterr().err
        assert main(["backup", served.url, "y"]) == 2
        assert "requires a token" in capsys.readouterr().err
    dataset.close()
    assert left(tmp_path / "b") == ["x"]
