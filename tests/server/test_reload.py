"""SIGHUP: tokens, limits, the certificate and the log are read again, without a restart."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest
from starlette.datastructures import Headers

from rdflive.server.access import Access, Client
from support.cli import QUICK
from support.waiting import until

pytestmark = pytest.mark.posix("the server forks")

STREAM = "/subscribe?query=SELECT+*+%7B%3Fs+%3Fp+%3Fo%7D"
TOKENS = {name: f"{name}-{name}-{name}-{name}-{name}" for name in ("anna", "ben", "cleo")}
ALL = '["read", "update", "subscribe"]'


def written(folder: Path, **rights: str) -> None:
    """Write a file of tokens."""
    tables = (f'[{name}]\ntoken = "{TOKENS[name]}"\nrights = {each}\n' for name, each in rights.items())
    (folder / "tokens.toml").write_text("".join(tables))


class Command:
    """A running `rdflive serve`."""

    def __init__(self, process: subprocess.Popen[str], errors: Path) -> None:
        self.process = process
        self._errors = errors
        self.url = until(lambda: [line for line in self.said() if line.startswith("serving ")])[0].split()[1][
            :-1
        ]

    def said(self) -> list[str]:
        """Return the complete lines on standard error."""
        return [line for line in self._errors.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def reload(self) -> str:
        """Send SIGHUP, and return what the server says."""
        before = len(self.said())
        self.process.send_signal(signal.SIGHUP)
        return str(until(lambda: self.said()[before:])[0])

    def status(self, path: str, name: str, body: bytes | None = None) -> int:
        """Return the status of a request."""
        headers = {"Authorization": f"Bearer {TOKENS[name]}", "Content-Type": "application/sparql-update"}
        try:
            with urllib.request.urlopen(
                urllib.request.Request(self.url + path, body, headers), timeout=30
            ) as answer:
                return int(answer.status)
        except HTTPError as error:
            error.close()
            return error.code

    @contextmanager
    def stream(self, name: str, path: str = STREAM) -> Iterator[Any]:
        """Open a stream, and read its first line."""
        with closing(HTTPConnection("127.0.0.1", urlsplit(self.url).port or 0, timeout=30)) as connection:
            headers = {"Authorization": f"Bearer {TOKENS[name]}", "Accept": "text/event-stream"}
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            assert answer.readline().startswith(b"id: ")
            yield answer


@contextmanager
def running(folder: Path, *options: str, config: str = "") -> Iterator[Command]:
    """Run the command with the files of a folder."""
    (folder / "rdflive.toml").write_text(f'listen = "127.0.0.1:0"\ntokens = "tokens.toml"\n{config}')
    errors = folder / "errors"
    command = [sys.executable, *QUICK, "serve", "--config", str(folder / "rdflive.toml"), *options]
    with errors.open("w") as file, subprocess.Popen(command, stderr=file, text=True) as process:
        try:
            yield Command(process, errors)
        finally:
            process.kill()


def is_cut(answer: Any) -> bool:
    """Read a stream to its end; a cut one has no end."""
    try:
        while answer.readline():
            pass
    except (OSError, ValueError):
        return True
    return not answer.isclosed() or answer.chunked


def test_streams_end_with_the_token_and_with_the_right(tmp_path: Path) -> None:
    """A removed token and a lost right end their streams, also of the changes; other streams go on."""
    written(tmp_path, anna=ALL, ben=ALL, cleo=ALL)
    with (
        running(tmp_path) as served,
        served.stream("anna") as removed,
        served.stream("ben") as lessened,
        served.stream("ben", "/changes") as changes,
        served.stream("cleo") as kept,
    ):
        written(tmp_path, ben='["read"]', cleo='["subscribe", "update"]')
        assert "3 requests without a right were ended" in served.reload()
        assert [is_cut(answer) for answer in (removed, lessened, changes)] == [True] * 3
        assert [served.status(STREAM, name) for name in ("anna", "ben")] == [401, 403]
        assert served.status("/query?query=ASK+%7B%7D", "ben") == 200
        assert served.status("/query?query=ASK+%7B%7D", "cleo") == 403
        assert served.status("/update", "cleo", b"INSERT DATA { <urn:a> <urn:p> 1 }") == 204
        assert until(lambda: b'"value": "urn:a"' in kept.readline())


def test_a_broken_file_changes_nothing(tmp_path: Path) -> None:
    """Neither tokens nor limits: the reason is logged, and the next reload may be a good one."""
    written(tmp_path, anna=ALL)
    with running(tmp_path, config="request-bytes = 1000\n") as served, served.stream("anna") as stream:
        config = tmp_path / "rdflive.toml"
        good = config.read_text()
        update = b"INSERT DATA { <urn:a> <urn:p> 1 }" + b" " * 2000
        assert served.status("/update", "anna", update) == 413
        for text, tokens, reason in (
            (good.replace("1000", '"x"'), None, "request-bytes must be an integer"),
            (good.replace("1000", "9000"), "[anna]\n", "[anna]: rights must list some of"),
            (good.replace("1000", "9000") + "nonsense", None, "cannot be read as TOML"),
            ('listen = "127.0.0.1:0"\n', None, "tokens cannot be added to a running server or left out"),
        ):
            config.write_text(text)
            if tokens is not None:
                (tmp_path / "tokens.toml").write_text(tokens)
            said = served.reload()
            assert "nothing was reloaded" in said
            assert reason in said
            assert served.status("/update", "anna", update) == 413
            written(tmp_path, anna=ALL)
        config.write_text(good.replace("1000", "9000"))
        assert "reloaded" in served.reload()
        assert served.status("/update", "anna", update) == 204
        assert until(lambda: b"urn:a" in stream.readline())


def test_a_reload_names_what_needs_a_restart(tmp_path: Path) -> None:
    """Every time, until the option has its old value again."""
    written(tmp_path, anna=ALL)
    with running(tmp_path, config="request-bytes = 1000\n") as served:
        config = tmp_path / "rdflive.toml"
        good = config.read_text()
        # before it serves, the signal is ignored
        assert served.status("/query?query=ASK+%7B%7D", "anna") == 200
        config.write_text(good.replace("1000", "2000") + 'audit = 3\nallow-origin = ["http://e"]\n')
        for _ in range(2):
            assert served.reload().endswith("; changed, and in force after a restart: allow-origin, audit\n")
        config.write_text(good)
        assert served.reload().endswith("were ended\n")


def test_the_command_line_wins_after_a_reload_too(tmp_path: Path) -> None:
    """The file is completed again by the options of the process."""
    written(tmp_path, anna=ALL)
    with running(tmp_path, "--request-bytes", "1000", config="request-bytes = 9000\n") as served:
        update = b"INSERT DATA { <urn:a> <urn:p> 1 }" + b" " * 2000
        assert served.status("/update", "anna", update) == 413
        served.reload()
        assert served.status("/update", "anna", update) == 413


def test_a_rotated_log_is_opened_again_at_the_signal(tmp_path: Path) -> None:
    """Also where the reload itself fails."""
    written(tmp_path, anna=ALL)
    with running(tmp_path, config='access-log = "access.log"\n') as served:
        log = tmp_path / "access.log"
        assert served.status("/query?query=ASK+%7B%7D", "anna") == 200
        until(lambda: log.read_text().count("\n") == 1)
        log.rename(tmp_path / "access.log.1")
        (tmp_path / "tokens.toml").write_text("")
        assert "nothing was reloaded" in served.reload()
        assert served.status("/query?query=ASK+%7B%7D", "anna") == 200
        assert until(lambda: log.exists() and log.read_text())
        assert json.loads(log.read_text())["path"] == "/query"


def certificate(folder: Path, name: str) -> None:
    """Make a certificate with its key."""
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        f"/CN={name}",
        "-days",
        "2",
    ]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    try:
        subprocess.run([*command, *files], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")


def test_a_new_certificate_is_used_for_new_connections(tmp_path: Path) -> None:
    """And a broken one is not."""
    written(tmp_path, anna=ALL)
    certificate(tmp_path, "one")
    with running(tmp_path, config='certificate = "cert.pem"\nkey = "key.pem"\n') as served:
        address = ("127.0.0.1", urlsplit(served.url).port or 0)

        def shown() -> str:
            return ssl.get_server_certificate(address)

        first = shown()
        certificate(tmp_path, "two")
        assert shown() == first
        assert "reloaded" in served.reload()
        second = shown()
        assert second == (tmp_path / "cert.pem").read_text() != first
        (tmp_path / "cert.pem").write_text("broken")
        assert "nothing was reloaded" in served.reload()
        assert shown() == second


def test_the_rights_that_are_lost_are_computed_by_token() -> None:
    """A token that got another owner is a removed one, and one that is added takes nothing away."""
    read, both = frozenset({"read"}), frozenset({"read", "update"})
    access = Access({"1": Client("a", both), "2": Client("b", both), "3": Client("c", read)}, "127.0.0.1")
    fresh = {"1": Client("a", read), "2": Client("d", both), "3": Client("c", both), "4": Client("e", read)}
    assert access.replace_tokens(fresh) == {"a": {"update"}, "b": both}
    assert access.replace_tokens(fresh) == {}
    # a client of the same name with another token has another owner, perhaps
    assert access.replace_tokens({"9": Client("a", read)}) == {"a": read, "d": both, "c": both, "e": read}


def test_a_proxy_may_pass_any_host_on_with_tokens_only() -> None:
    """Without tokens a page could use a name of its own for this machine."""
    headers = Headers({"host": "rail.example.org"})
    assert Access({}, "127.0.0.1").check_site(headers)
    with pytest.raises(Exception, match="is not that of this server"):
        Access(None, "127.0.0.1").check_site(headers)
