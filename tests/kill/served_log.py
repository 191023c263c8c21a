"""Kill a server of a store on disk at random moments, with followers that come back by their last event ids.

    python tests/kill/served_log.py --kills 50 --seed 1

A writer sends updates one by one. Followers read the events of several queries and the changes of the
dataset; each connects again with its last id, at once or after a pause. The changes add up to the state after
each commit, with which all events are compared at the end.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import tempfile
import threading
import time
import urllib.error
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyoxigraph as ox

import rdflive
from support.served import Served

__all__ = ["QUERIES", "Outcome", "run"]

PREFIX = "PREFIX : <http://e/> "
QUERIES = (
    PREFIX + "SELECT ?s ?n { ?s :n ?n }",
    PREFIX + "SELECT ?g (COUNT(*) AS ?many) { ?s :n ?n ; :in ?g } GROUP BY ?g",
    PREFIX + "SELECT ?s ?id { ?s :in :g1 OPTIONAL { ?s :id ?id } }",
    PREFIX + "SELECT ?s ?n { ?s :n ?n } ORDER BY DESC(?n) LIMIT 5",
    PREFIX + "ASK { ?s :id ?id ; :in :g2 }",
)
WAIT = 600.0


@dataclass(slots=True)
class Outcome:
    """The outcome of a run, as counts."""

    kills: int = 0
    acknowledged: int = 0
    commits: int = 0
    events: int = 0
    returns: int = 0
    lost: int = 0
    repeated: int = 0
    wrong: int = 0
    resyncs: int = 0
    ahead: int = 0
    """Events of commits that the store did not have after the kill."""


@dataclass
class Follower:
    """A client that reads the events of one address, and comes back with its last id."""

    port: int
    path: str
    pause: float
    last: str = ""
    events: list[tuple[str, str, Any]] = field(default_factory=list)
    """Kind, id and data of each event."""
    returns: int = 0
    is_over: bool = False

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        return thread

    def _run(self) -> None:
        while not self.is_over:
            try:
                self._read()
            except (OSError, http.client.HTTPException):
                time.sleep(self.pause)

    def _read(self) -> None:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": self.last} if self.last else {})}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)) as connection:
            connection.request("GET", self.path, headers=headers)
            with connection.getresponse() as response:
                self._take(response)
        raise OSError("the stream has ended")

    def _take(self, response: http.client.HTTPResponse) -> None:
        if response.status != 200:
            raise OSError(response.read())
        self.returns += bool(self.last)
        for kind, name, data in _events(response):
            self.last = name or self.last
            if kind not in ("heartbeat", ""):
                self.events.append((kind, self.last, data))
            if self.is_over:
                return


def _events(lines: Any) -> Iterator[tuple[str, str, list[str]]]:
    kind = name = ""
    data: list[str] = []
    for raw in lines:
        line = raw.decode().rstrip("\n")
        if not line:
            yield kind, name, data
            kind, name, data = "", "", []
        elif line.startswith("id: "):
            name = line[4:]
        elif line.startswith("event: "):
            kind = line[7:]
        elif line.startswith("data: "):
            data.append(line[6:])
    raise OSError("the stream has ended")


class Writer:
    """Sends random updates, each with a triple of its own, and knows which were acknowledged."""

    def __init__(self, served: Served, chance: random.Random) -> None:
        self._served = served
        self._chance = chance
        self._count = 0
        self.acknowledged: list[int] = []
        self.is_over = False
        self.may_write = threading.Event()

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        return thread

    def _run(self) -> None:
        while not self.is_over:
            self.may_write.wait()
            self._count += 1
            try:
                self._served.update(PREFIX + self._update(self._count))
            except urllib.error.HTTPError as error:
                raise AssertionError(error.read()) from error
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
            else:
                self.acknowledged.append(self._count)

    def _update(self, number: int) -> str:
        own = f"INSERT DATA {{ :u{number} :n {number} ; :in :g{number % 5} . [] :blank {number % 3} }}"
        old = self._chance.randrange(number)
        match self._chance.randrange(12):
            case 0:
                return f"DELETE DATA {{ :u{old} :in :g{old % 5} }} ; {own}"
            case 1:
                marked = f"DELETE {{ ?s :id ?old }} INSERT {{ ?s :id ?id }} WHERE {{ ?s :in :g{old % 5} "
                return (
                    f"{own} ; {marked} OPTIONAL {{ ?s :id ?old }} BIND(UUID() AS ?id) FILTER(RAND() > 0.7) }}"
                )
            case 2:
                elsewhere = f"INSERT DATA {{ GRAPH :h {{ :u{old} :n 1 }} }}"
                return f"DELETE WHERE {{ :u{old} :id ?id }} ; {own} ; {elsewhere}"
            case _:
                return own


def run(kills: int, seed: int, folder: Path, *, seconds: float = inf) -> Outcome:
    """Kill a server of a new store in a folder, and compare all that its followers received.

    After some seconds it kills no more.
    """
    end = time.monotonic() + seconds
    chance = random.Random(seed)
    outcome = Outcome()
    served = Served(folder / "store", patience=WAIT)
    (folder / "store").mkdir()
    paths = [f"/subscribe?query={quote(query)}" for query in QUERIES]
    with served:
        writer = Writer(served, chance)
        followers = [Follower(served.port, path, pause) for path in paths for pause in (0.02, 0.6)]
        changes = [Follower(served.port, "/changes", pause) for pause in (0.02, 0.6)]
        clients = [Client(served.url, query) for query in QUERIES[:3]]
        threads = [follower.start() for follower in (*followers, *changes)]
        for client in clients:
            client.start()
        while not all(follower.last for follower in (*followers, *changes)):
            time.sleep(0.01)
        threads.append(writer.start())
        while outcome.kills < kills and time.monotonic() < end:
            enough = len(writer.acknowledged) + chance.randrange(1, 20)
            writer.may_write.set()
            while len(writer.acknowledged) < enough:
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.02))
            served.kill()
            seen = max(_number(one.last) for one in (*followers, *changes))
            writer.may_write.clear()
            served.start()
            outcome.ahead += seen > _number(_last_id(served.port))
            outcome.kills += 1
        writer.may_write.set()
        time.sleep(0.5)
        writer.is_over = True
        threads[-1].join()
        # a last change of every answer
        served.update(PREFIX + "INSERT DATA { :last :n 1000000 ; :in :g1 . :last2 :in :g2 ; :id 1 }")
        last = _number(_last_id(served.port))
        _wait_for(followers, changes, clients, last)
        for one in (*followers, *changes):
            one.is_over = True
        held = {one["s"]["value"] for one in _rows(served, "SELECT ?s { ?s :n ?n }")}
        outcome.acknowledged = len(writer.acknowledged)
        outcome.lost += sum(f"http://e/u{number}" not in held for number in writer.acknowledged)
        for client in clients:
            client.check(served, outcome)
        _compare(followers, changes, outcome)
        outcome.commits = last
    # their streams end with the server
    for thread in threads:
        thread.join(WAIT)
    return outcome


def _last_id(port: int) -> str:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT)) as connection:
        connection.request("GET", "/changes")
        with connection.getresponse() as response:
            response.read()
            return response.headers["Last-Event-ID"]


def _number(name: str) -> int:
    return int(name.partition("-")[0] or 0)


def _rows(served: Served, query: str) -> list[Any]:
    rows: list[Any] = json.loads(served.query(PREFIX + query))["results"]["bindings"]
    return rows


def _wait_for(followers: list[Follower], changes: list[Follower], clients: list[Client], last: int) -> None:
    """Wait until all have the last commit. A boolean answer may not have changed."""
    deadline = time.monotonic() + WAIT
    waiting = [one for one in followers if "ASK" not in one.path] + changes
    while not all(_number(one.last) >= last for one in waiting) or not all(
        client.sequence >= last for client in clients
    ):
        assert time.monotonic() < deadline, [(one.path, one.last) for one in waiting]
        time.sleep(0.02)


class Client:
    """A subscription of the Python client, whose deltas add up to its answer."""

    def __init__(self, url: str, query: str) -> None:
        self._url = url
        self._query = query
        self.answer: Counter[str] = Counter()
        self.initials = 0
        self.sequence = 0
        self.repeated = 0

    def start(self) -> None:
        """Subscribe."""
        self._subscription = rdflive.connect(self._url).subscribe(self._query, self._take)

    def _take(self, delta: Any) -> None:
        self.initials += delta.initial
        self.repeated += delta.sequence <= self.sequence and not delta.initial
        self.answer.update(map(_row, delta.added))
        self.answer.subtract(map(_row, delta.removed))
        self.sequence = delta.sequence

    def check(self, served: Served, outcome: Outcome) -> None:
        """Compare the answer with that of the server."""
        self._subscription.close()
        rows = json.loads(served.query(self._query))["results"]["bindings"]
        wanted = Counter(str(sorted((k, v["value"]) for k, v in row.items())) for row in rows)
        outcome.wrong += wanted != +self.answer or any(n < 0 for n in self.answer.values())
        outcome.repeated += self.repeated
        outcome.resyncs += self.initials != 1


def _row(solution: Any) -> str:
    return str(sorted((str(name), str(term)) for name, term in solution.asdict().items()))


def _compare(followers: list[Follower], changes: list[Follower], outcome: Outcome) -> None:
    """Replay the changes commit by commit, and compare each event with the answer at its id."""
    first, *others = changes
    patches = {_number(name): data for kind, name, data in first.events if kind == "patch"}
    for one in others:
        outcome.wrong += any(
            data != patches[_number(name)] for kind, name, data in one.events if kind == "patch"
        )
    for one in changes:
        numbers = [_number(name) for kind, name, _ in one.events if kind == "patch"]
        outcome.repeated += len(numbers) - len(set(numbers))
        outcome.lost += numbers != list(range(1, len(numbers) + 1))
    answers = [Counter[str]() for _ in followers]
    pending = [list(follower.events) for follower in followers]
    store = ox.Store()
    for number in range(max(patches) + 1):
        for row in patches.get(number, ()):
            if row[:2] in ("A ", "D "):
                for quad in ox.parse(row[2:], format=ox.RdfFormat.N_QUADS):
                    (store.add if row[0] == "A" else store.remove)(quad)
        for follower, answer, events in zip(followers, answers, pending, strict=True):
            is_here = False
            while events and _number(events[0][1]) <= number:
                kind, _, data = events.pop(0)
                outcome.events += 1
                if kind == "resync":
                    outcome.resyncs += 1
                    continue
                is_here = True
                _apply(kind, json.loads("".join(data)), answer, outcome)
            if is_here:
                outcome.wrong += +answer != _answer(store, follower)
    for follower, answer in zip(followers, answers, strict=True):
        outcome.lost += +answer != _answer(store, follower)
        outcome.resyncs += sum(kind == "initial" for kind, _, _ in follower.events) != 1
    outcome.returns = sum(one.returns for one in (*followers, *changes))


def _apply(kind: str, members: Any, answer: Counter[str], outcome: Outcome) -> None:
    if "boolean" in members:
        answer.clear()
        answer[str(members["boolean"])] = 1
        return
    if kind == "initial":
        answer.clear()
    for sign, rows in ((1, members["added"]), (-1, members["removed"])):
        for row in rows:
            answer[_text(row)] += sign
    outcome.repeated += any(weight < 0 for weight in answer.values())


def _text(row: Any) -> str:
    return str(sorted((name, term["value"]) for name, term in row.items()))


def _answer(store: ox.Store, follower: Follower) -> Counter[str]:
    found: Any = store.query(unquote(follower.path.partition("=")[2]))
    if isinstance(found, ox.QueryBoolean):
        return Counter([str(bool(found))])
    names = [variable.value for variable in found.variables]
    return Counter(
        str(sorted((name, row[name].value) for name in names if row[name] is not None)) for row in found
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=inf, help="kill no more after this time")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(run(given.kills, given.seed, Path(folder), seconds=given.seconds))


if __name__ == "__main__":
    main()
