"""`rdflive watch --to webhook`: every delta arrives, whatever happens to the program."""

from __future__ import annotations

import hashlib
import hmac
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli import ON_DATA, printed, watch
from support.effort import HUNT, drawn_from
from support.sinks import Receiver, Request, receiving

RESUME = ["--resume", "r.sqlite", "--name", "n"]


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A server that the program reaches without a proxy."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with receiving() as receiver:
        yield receiver


def test_each_delta_is_posted(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Requests come in order, signed with the secret of the environment."""
    monkeypatch.setenv("HOOK_SECRET", "gehëim")
    assert watch("--to", "webhook", "--url", receiver.url, "--secret-env", "HOOK_SECRET") == 0
    assert [request.delta["sequence"] for request in receiver.requests] == [0, 1]
    request = receiver.requests[1]
    signature = hmac.new("gehëim".encode(), request.key.encode() + b"." + request.body, hashlib.sha256)
    assert request.headers["X-Rdflive-Signature"] == f"sha256={signature.hexdigest()}"
    assert printed(capsys) == ""


def test_runs_without_a_name_share_no_keys(receiver: Receiver) -> None:
    """What two runs send are different deltas, and no receiver takes one for the other."""
    for _ in range(2):
        assert watch("--to", "webhook", "--url", receiver.url) == 0
    assert len({request.key for request in receiver.requests}) == 4


def test_a_refusal_ends_the_run_and_acknowledges_nothing(
    receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and the server's reason; the next run sends the same delta again, with the same key."""
    pytest.importorskip("oxrdflib", reason="the oxigraph extra is not installed")
    command = ["--to", "webhook", "--url", receiver.url, *RESUME, "--store-path", "store"]
    receiver.answers.extend([(200, {}, b""), (422, {}, b"no such hook")])
    assert watch(*command) == 2
    err = capsys.readouterr().err
    assert f"rdflive: error: {receiver.url}: delta 2 was not delivered: HTTP 422: no such hook" in err
    assert err.rstrip().endswith("no such hook")
    assert watch(*command) == 0
    assert [request.delta["sequence"] for request in receiver.requests] == [1, 2, 2]
    assert receiver.requests[1].key == receiver.requests[2].key
    assert receiver.requests[1].body == receiver.requests[2].body
    assert watch(*command) == 0
    assert len(receiver.requests) == 3


def feed(count: int) -> tuple[str, Counter[str]]:
    """A feed that adds and removes, with blank nodes, and the solutions that are left in the end."""
    rows = []
    for number in range(count):
        rows.append([f'A _:b{number} <http://e/p> "é{number}"'])
        if number >= 3:
            rows[-1].append(f'D _:b{number - 3} <http://e/p> "é{number - 3}"')
    text = "".join("\n".join(["TX .", *(f"{change} ." for change in row), "TC .\n"]) for row in rows)
    left = Counter(f"é{number}" for number in range(count - 3, count))
    return text, left


@pytest.mark.posix("tells by the signal whether a program was killed or failed")
def test_no_kill_loses_a_delta(receiver: Receiver) -> None:
    """Killed in a delivery, or shortly behind it, a run goes on; but for repeats all is exact."""
    pytest.importorskip("oxrdflib", reason="the oxigraph extra is not installed")
    text, left = feed(30)
    Path("c.rdfp").write_text(text, "utf-8")
    Path("data.ttl").write_text("")
    command = [sys.executable, *ON_DATA, "--to", "webhook", "--url", receiver.url, *RESUME]
    command += ["--store-path", "store"]
    chance, most, cut = drawn_from("webhook"), 5 if HUNT else 1, 0
    running: list[subprocess.Popen[bytes]] = []

    def kill(_: Request) -> None:
        nonlocal cut
        countdown[0] -= 1
        if countdown[0]:
            return
        delay = chance.choice((0.0, 0.002, 0.01))
        if delay:
            threading.Timer(delay, running[-1].kill).start()
        else:
            running[-1].kill()
            cut += 1

    receiver.on_request = kill
    kills = 0
    while True:
        countdown = [chance.randrange(1, 8) if kills < most else 1000]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            running.append(process)
            _, err = process.communicate(timeout=60)
        if process.returncode == 0:
            break
        assert process.returncode == -9, err
        kills += 1
    assert kills == most
    assert len(receiver.requests) >= 31 + cut  # what was not answered is sent again
    check(receiver.requests, left)


def check(requests: list[Request], left: Counter[str]) -> None:
    """Repeats are the same in key and body; without them the numbers have no gap, and all adds up."""
    once = {request.key: request for request in reversed(requests)}
    bodies: dict[str, set[bytes]] = {}
    for request in requests:
        bodies.setdefault(request.key, set()).add(request.body)
    assert all(len(body) == 1 for body in bodies.values())
    assert sorted(request.delta["sequence"] for request in once.values()) == list(range(1, len(once) + 1))
    total = Counter[str]()
    for request in once.values():
        total.update(row["o"]["value"] for row in request.delta["added"])
        total.subtract(row["o"]["value"] for row in request.delta["removed"])
    assert {text: count for text, count in total.items() if count} == dict(left)
