"""The access log: a line of JSON for each request, without secrets."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import rdflib

from rdflive.errors import RdfliveError
from rdflive.server.access import Client, digest
from rdflive.server.access_log import AccessLog
from rdflive.server.admission import UnderWay
from support.raw_requests import HOST, begun, status
from support.serving import serving
from support.waiting import until

pytestmark = pytest.mark.posix("the server forks")

TOKEN = "a-secret-token-of-board"
SECRET = "urn:a-secret"
TOKENS = {digest(TOKEN): Client("board", frozenset({"read", "update", "subscribe"}))}


def lines(path: Path) -> list[dict[str, Any]]:
    """Read a log."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_requests_are_logged_at_their_end_without_secrets(tmp_path: Path) -> None:
    """Queries, refusals, updates, and streams, by the name of the client or its address."""
    path = tmp_path / "access.log"
    log = AccessLog(str(path))
    bearer = f"Bearer {TOKEN}"
    query = f"/query?query=ASK%7B%3C{SECRET}%3E%3Fp%3Fo%7D"

    def logged(count: int) -> None:
        """Wait, as a request may end after its client has the whole response, and the next one has begun."""
        until(lambda: len(lines(path)) == count)

    with serving(tokens=TOKENS, access_log=log) as served:
        with urlopen(Request(served.url + query, headers={"Authorization": bearer}), timeout=30) as answer:
            size = len(answer.read())
        logged(1)
        assert status(served, "GET", query, Authorization="Bearer wrong-secret") == 401
        logged(2)
        assert status(served, "GET", query, Cookie=f"rdflive_token={TOKEN}") == 200
        logged(3)
        body = f"INSERT DATA {{ <{SECRET}> <urn:p> 1 }}".encode()
        update = {"Authorization": bearer, "Content_Type": "application/sparql-update"}
        assert status(served, "POST", "/update", body, **update) == 204
        logged(4)
        assert status(served, "GET", f"/changes?since=1-{SECRET}", Authorization=bearer) == 410
        logged(5)
        head = f"GET /subscribe?query=ASK%7B%3C{SECRET}%3E%3Fp%3Fo%7D HTTP/1.1\r\n".encode() + HOST
        with begun(served, head + f"Authorization: {bearer}\r\n\r\n".encode(), b"event: initial"):
            pass
        logged(6)
    log.close()
    found = lines(path)
    told = [(line["client"], line["method"], line["path"], line["status"]) for line in found]
    assert told == [
        ("board", "GET", "/query", 200),
        ("127.0.0.1", "GET", "/query", 401),
        ("board", "GET", "/query", 200),
        ("board", "POST", "/update", 204),
        ("board", "GET", "/changes", 410),
        ("board", "GET", "/subscribe", 200),
    ]
    assert [line.get("events") for line in found] == [None] * 5 + [1]
    assert all(line["address"] == "127.0.0.1" and line["time"].endswith("Z") for line in found)
    assert all(line["seconds"] > 0 for line in found)
    assert found[0]["bytes"] == size > 0
    assert found[3]["bytes"] == 0
    text = path.read_text()
    assert "secret" not in text
    assert "ASK" not in text
    assert path.stat().st_mode & 0o007 == 0


def add(log: AccessLog, path: str) -> None:
    """Add a line."""
    log.add({"type": "http", "method": "GET"}, UnderWay("a", lambda: None), path, 0.5)


def test_a_rotated_log_is_opened_again(tmp_path: Path) -> None:
    """Lines before the rotation are in the old file, later ones in the new one."""
    path, old = tmp_path / "access.log", tmp_path / "access.log.1"
    log = AccessLog(str(path))
    add(log, "/before")
    until(lambda: lines(path))
    path.rename(old)
    log.reopen()
    add(log, "/after")
    log.close()
    assert [[line["path"] for line in lines(each)] for each in (old, path)] == [["/before"], ["/after"]]


def test_a_log_that_cannot_be_written_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The reason is logged once, and the log goes on when the disk takes lines again."""
    path = tmp_path / "folder" / "access.log"
    path.parent.mkdir()
    log = AccessLog(str(path))
    path.unlink()
    path.parent.rmdir()
    log.reopen()
    add(log, "/lost")
    until(lambda: caplog.records)
    log.reopen()
    add(log, "/lost too")
    until(log._lines.empty)
    path.parent.mkdir()
    log.reopen()
    add(log, "/written")
    log.close()
    assert [line["path"] for line in lines(path)][-1] == "/written"
    assert len([each for each in caplog.records if "cannot be written" in each.message]) == 1


def test_lines_beyond_the_queue_are_counted(tmp_path: Path) -> None:
    """A disk that stands still costs lines and no memory; the next line tells how many."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    log = AccessLog(str(pipe))
    count = 13_000
    for _ in range(count):
        add(log, "/" + "x" * 900)
    os.set_blocking(reader, True)
    found: list[dict[str, Any]] = []
    with os.fdopen(reader) as stream:
        found += [json.loads(stream.readline()) for _ in range(500)]
        until(lambda: not log._lines.full())
        add(log, "/last")
        found += _read_to(stream, "/last")
        log.close()
    lost = sum(line.get("lines_lost", 0) for line in found)
    assert lost > 0
    assert len(found) + lost == count + 1


def _read_to(stream: Any, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while not found or found[-1]["path"] != path:
        found.append(json.loads(stream.readline()))
    return found


def test_a_log_in_no_folder_is_refused() -> None:
    """Before the server starts."""
    with pytest.raises(RdfliveError, match="--access-log /nowhere/log: No such file"):
        AccessLog("/nowhere/log")


def test_standard_output_is_a_log(capfd: pytest.CaptureFixture[str]) -> None:
    """`-` writes where a container or systemd reads."""
    log = AccessLog("-")
    with serving(rdflib.Dataset(), access_log=log) as served:
        assert status(served, "GET", "/health") == 200
    log.close()
    assert json.loads(capfd.readouterr().out)["path"] == "/health"
