"""A scripted HTTP server, and the part of a SPARQL endpoint that tests need."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

N_TRIPLES = "application/n-triples"
COUNT = "<urn:x-rdflive:endpoint> <urn:x-rdflive:rows>"


@dataclass
class Asked:
    """A request."""

    method: str
    path: str
    headers: Any
    query: str = ""


@dataclass
class Reply:
    """A response, without the last `cut` bytes of the body, which Content-Length still counts."""

    status: int = 200
    body: bytes | Iterator[bytes] = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0


Answering = Callable[[Asked], Reply]


@dataclass
class Server:
    """A running server, its requests, and its answers; the last answer repeats."""

    url: str
    asked: list[Asked] = field(default_factory=list)
    answers: list[Reply | Answering] = field(default_factory=list)

    def answer(self, *answers: Reply | Answering) -> None:
        """Replace the answers."""
        self.answers[:] = answers

    def reply(self, asked: Asked) -> Reply:
        """Record a request and return the next answer."""
        self.asked.append(asked)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(asked) if callable(answer) else answer


@contextmanager
def serve() -> Iterator[Server]:
    """Run a server on a free port of this machine."""
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    httpd.daemon_threads = True
    server = Server(f"http://127.0.0.1:{httpd.server_port}/sparql")
    httpd.told = server  # type: ignore[attr-defined]  # for the handler
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def rows(lines: Sequence[str], **headers: str) -> Answering:
    """Answer the feed's queries over N-Triples, page by page, each page with the total number of rows."""
    ordered = sorted(lines)

    def answer(asked: Asked) -> Reply:
        limit, offset = window(asked.query)
        page = [
            *ordered[offset : offset + limit],
            f'{COUNT} "{len(ordered)}"^^<http://www.w3.org/2001/XMLSchema#integer> .',
        ]
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return Reply(
            body="".join(f"{line}\n" for line in page).encode(), headers={"Content-Type": N_TRIPLES, **named}
        )

    return answer


def window(query: str) -> tuple[int, int]:
    """Read LIMIT and OFFSET."""
    limit, offset = re.search(r"LIMIT (\d+)", query), re.search(r"OFFSET (\d+)", query)
    assert limit is not None
    return int(limit[1]), int(offset[1]) if offset else 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer("")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def _answer(self, body: str) -> None:
        parameters = parse_qs(body or urlsplit(self.path).query)
        asked = Asked(self.command, self.path, self.headers, parameters.get("query", [""])[0])
        reply = self.server.told.reply(asked)  # type: ignore[attr-defined]  # see serve
        self.close_connection = True
        self.send_response(reply.status)
        for name, text in reply.headers.items():
            self.send_header(name, text)
        self.send_header("Connection", "close")
        with suppress(OSError):  # the client may go
            if isinstance(reply.body, bytes):
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body[: len(reply.body) - reply.cut])
                return
            self.end_headers()
            for part in reply.body:
                self.wfile.write(part)
                self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        pass
