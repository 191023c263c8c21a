"""A PostgreSQL server of the run's own, with logical decoding, and `psql` to talk to it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

with suppress(ImportError):  # Windows has none; tests of Spark are not run there
    import pwd

__all__ = ["Database", "database"]

PATIENCE = 60.0
_DEBIAN = Path("/usr/lib/postgresql")
_SETTINGS = {
    "wal_level": "logical",
    "listen_addresses": "",
    "fsync": "off",
    "timezone": "UTC",
    "deadlock_timeout": "50ms",
    "log_min_messages": "warning",
}


class Database(NamedTuple):
    """The database of a server, and how `psql` is called for it."""

    psql: tuple[str, ...]

    def run(self, script: str) -> None:
        """Run a script; an error in it fails the test."""
        self._call(script, "ON_ERROR_STOP=1").check_returncode()

    def try_at_once(self, *scripts: str) -> None:
        """Run scripts at the same time; a statement that fails ends its transaction, not the script."""
        with ExitStack() as stack:
            clients = []
            for script in scripts:
                # from a file, which nobody must go on writing while the other one waits for a lock
                given = stack.enter_context(tempfile.TemporaryFile())
                given.write(script.encode())
                given.seek(0)
                client = subprocess.Popen(
                    self.psql, stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
                clients.append(stack.enter_context(client))
            for client in clients:
                assert client.wait(PATIENCE) == 0, "the connection was lost"

    def rows(self, query: str) -> list[list[Any]]:
        """List the rows of a query for one column, each a JSON array."""
        answer = self._call(query, "ON_ERROR_STOP=1")
        answer.check_returncode()
        return [json.loads(line) for line in answer.stdout.split("\n")[:-1]]

    def _call(self, script: str, *settings: str) -> subprocess.CompletedProcess[str]:
        options = [part for setting in settings for part in ("-v", setting)]
        command = [*self.psql, *options]
        return subprocess.run(command, input=script, capture_output=True, encoding="utf-8", timeout=PATIENCE)


@contextmanager
def database() -> Iterator[Database]:
    """Run a server in a folder of its own, reached by a Unix socket; skip where there is no PostgreSQL."""
    binaries = _binaries()
    # a path of a socket has at most 107 bytes, which pytest's folders exceed
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        folder = Path(name)
        owner = _owner(folder)
        base = folder / "base"
        options = ["-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        initdb = [str(binaries / "initdb"), "-D", str(base), *options]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder, **owner)
        settings = {**_SETTINGS, "unix_socket_directories": str(folder)}
        options = [f"--{key}={value}" for key, value in settings.items()]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [binaries / "postgres", "-D", base, *options], stdout=log, stderr=log, cwd=folder, **owner
            )
        try:
            psql = (str(binaries / "psql"), "-XqAt", "-h", name, "-U", "test", "-d", "postgres")
            _wait(server, psql, folder / "log")
            yield Database(psql)
        finally:
            server.send_signal(3)  # SIGQUIT: at once, since the folder goes too
            server.wait(PATIENCE)


def _binaries() -> Path:
    """Find the folder of the newest server."""
    on_path = shutil.which("postgres")
    found = [Path(on_path).parent] if on_path else []
    found += sorted(_DEBIAN.glob("[0-9]*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    for folder in found:
        if (folder / "initdb").exists() and (folder / "postgres").exists() and (folder / "psql").exists():
            return folder
    pytest.skip(f"no PostgreSQL: neither on PATH nor under {_DEBIAN} is a server with initdb and psql")


def _owner(folder: Path) -> dict[str, Any]:
    """Give the folder to somebody whom the server accepts, and the options of a process of theirs."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        os.chown(folder, user.pw_uid, user.pw_gid)
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    pytest.skip("no PostgreSQL: it refuses to be run by root, and there is no other user")


def _wait(server: subprocess.Popen[bytes], psql: tuple[str, ...], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    asked = [*psql, "-c", "SELECT 1"]
    while subprocess.run(asked, capture_output=True).returncode:
        if server.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"PostgreSQL did not start: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)
