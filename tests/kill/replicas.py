"""Kill a primary, its replicas and the proxy in turn, under clients and updates.

    python tests/kill/replicas.py --clients 3000 --updates 3000 --rounds 2 --seed 1

A primary, a replica with its store on disk and one in memory run behind nginx with the configuration of
docs/replicas.md. Updates go through the proxy, one commit each, so the state after each commit is known.
Clients follow queries through the proxy; a lost connection is made again with the id of the last event. After
every event the answer of a client must be that of the commit which the event names. Updates that were
acknowledged must be there after each kill.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from kill.updates import History
from support.nginx import Proxy
from support.served import Served

__all__ = ["Outcome", "run"]

TOKEN: Final = "crowd-0123456789abcdef"
_TOKENS: Final = f'[crowd]\ntoken = "{TOKEN}"\nrights = ["read", "update", "subscribe"]\n'
_HEADERS: Final = {"Authorization": f"Bearer {TOKEN}"}
_COUNTER: Final = "SELECT ?n { <urn:counter> <urn:n> ?n }"
_PATIENCE: Final = 300.0


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run, as counts."""

    clients: int
    updates: int
    kills: int
    unacknowledged: int
    """Updates whose response a kill prevented; whether they happened was read from the server."""
    events: int
    connections: int
    """Connections that clients made, the first of each included."""
    resyncs: int
    lost: int
    """Acknowledged updates that a server did not have after its restart."""
    wrong: int
    """Events after which the answer was not that of their commit."""
    repeated: int
    """Events of a commit that the client had already, or with changes that it had."""
    behind: int
    """Clients without the last answer at the end."""
    seconds: float


def run(
    *, clients: int, updates: int, rounds: int, seed: int, pause: float = 0.0, folder: Path | None = None
) -> Outcome:
    """Play one run; `pause` is the time in seconds between two updates."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        return _World(Path(made), clients, History(seed, updates), rounds, seed, pause).play()


class _World:
    def __init__(
        self, folder: Path, clients: int, history: History, rounds: int, seed: int, pause: float
    ) -> None:
        self._clients, self._history, self._pause = clients, history, pause
        self._chance = random.Random(seed)
        tokens = folder / "tokens.toml"
        tokens.write_text(_TOKENS)
        common = ("--tokens", tokens, "--subscriptions", "100000")
        self._primary = Served("--store-path", folder / "primary", *common, patience=_PATIENCE)
        follow = (*common, "--follow", self._primary.url, "--token-env", "RDFLIVE_CROWD")
        self._replicas = [
            Served("--store-path", folder / "replica", *follow, patience=_PATIENCE),
            Served(*follow, patience=_PATIENCE),
        ]
        self._proxy = Proxy(folder, [self._primary.port, *(replica.port for replica in self._replicas)])
        self._rounds, self._seed = rounds, seed
        self._kills = self._unacknowledged = self._lost = 0

    def play(self) -> Outcome:
        os.environ["RDFLIVE_CROWD"] = TOKEN
        begin = time.monotonic()
        # the primary first: replicas read its snapshot
        processes: Sequence[Any] = (self._primary, *self._replicas, self._proxy)
        try:
            for process in processes:
                process.start()
            self._send(0)
            swarm = self._swarm()
            try:
                self._update(processes)
                found = self._end(swarm)
            finally:
                swarm.kill()
                swarm.communicate()  # also closes the pipes
        finally:
            for process in processes:
                process.kill()
        return Outcome(
            clients=self._clients,
            updates=len(self._history),
            kills=self._kills,
            unacknowledged=self._unacknowledged,
            lost=self._lost,
            seconds=round(time.monotonic() - begin, 1),
            **found,
        )

    def _swarm(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "kill.swarm", str(self._proxy.port), TOKEN]
        path = os.pathsep.join(sys.path)
        swarm = subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        plan = {"clients": self._clients, "seed": self._seed, "updates": len(self._history)}
        assert swarm.stdin is not None
        print(json.dumps(plan), file=swarm.stdin, flush=True)
        assert swarm.stdout is not None
        assert json.loads(swarm.stdout.readline()) == {"ready": self._clients}
        return swarm

    def _end(self, swarm: subprocess.Popen[str]) -> dict[str, int]:
        assert swarm.stdin is not None and swarm.stdout is not None  # noqa: PT018
        print(json.dumps({"patience": _PATIENCE}), file=swarm.stdin, flush=True)
        found: dict[str, int] = json.loads(swarm.stdout.readline())
        return found

    def _update(self, processes: Sequence[Any]) -> None:
        """Send all updates; kill the processes in turn, and start each again some updates later."""
        count = len(self._history)
        turns = [process for _ in range(self._rounds) for process in processes]
        space = count // (len(turns) + 1)
        kills = {space * (turn + 1): process for turn, process in enumerate(turns)}
        down: tuple[int, Any] | None = None
        for number in range(1, count + 1):
            killed = kills.get(number)
            if down is not None and (number >= down[0] or killed is not None):
                down[1].start()
                down = None
            if killed is not None:
                self._kill(killed, number)
                # the others are away only for an update that waits for them
                is_needed = killed in (self._primary, self._proxy)
                away = 0 if is_needed else self._chance.randint(1, max(1, space // 2))
                if is_needed:
                    killed.start()
                    self._check(number)
                else:
                    down = number + away, killed
                if is_needed:
                    continue
            self._send(number)
            if self._pause:
                time.sleep(self._pause)
        if down is not None:
            down[1].start()

    def _kill(self, process: Any, number: int) -> None:
        """Kill a process; the primary and the proxy at a moment while an update is under way."""
        self._kills += 1
        if process not in (self._primary, self._proxy):
            process.kill()
            return
        connection = self._post(number)
        # the moment differs from kill to kill: before, in the middle of, and after the commit
        time.sleep(self._chance.choice([0.0, 0.0005, 0.001, 0.002, 0.005]))
        process.kill()
        with suppress(OSError, http.client.HTTPException), connection.getresponse() as response:
            response.read()
            self._unacknowledged -= response.status == 204
        self._unacknowledged += 1
        connection.close()

    def _check(self, number: int) -> None:
        """Compare the primary with what was acknowledged; send the update again if it did not happen."""
        reached = self._reached()
        if reached < number - 1:
            self._lost += number - 1 - reached
        if reached < number:
            self._send(number)

    def _reached(self) -> int:
        found = json.loads(self._primary.query(_COUNTER, **_HEADERS))
        return int(found["results"]["bindings"][0]["n"]["value"])

    def _send(self, number: int) -> None:
        """Send an update and wait for its acknowledgement, with the number of its commit."""
        connection = self._post(number)
        response = connection.getresponse()
        said = response.read()
        assert response.status == 204, (number, response.status, said)
        assert response.headers["Rdflive-Sequence"] == str(number + 1), (number, response.headers.as_string())
        connection.close()

    def _post(self, number: int) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self._proxy.port, timeout=_PATIENCE)
        headers = {**_HEADERS, "Content-Type": "application/sparql-update"}
        connection.request("POST", "/update", self._history.text(number).encode(), headers)
        return connection


def main() -> None:
    """Play one run from the command line, and print the outcome."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, default=3000)
    parser.add_argument("--updates", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=2, help="kills of each process")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between two updates")
    print(json.dumps(asdict(run(**vars(parser.parse_args())))))


if __name__ == "__main__":
    main()
