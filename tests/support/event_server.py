"""A scripted server of event streams, and a network connection that tests can cut."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from rdflive.client.server import Server
from rdflive.http import Address, RetryPace
from support.listening import end_accepting

QUICK = RetryPace(silence=20.0, first=0.01, longest=0.02)
PATIENCE = 20.0


@dataclass
class Asked:
    """A request."""

    method: str
    target: str
    headers: dict[str, str]
    body: str

    @property
    def last(self) -> str | None:
        """The id of the last event that the client received."""
        return self.headers.get("last-event-id")


class Wire:
    """One connection, as a script sees it."""

    def __init__(self, line: socket.socket, asked: Asked) -> None:
        self.line = line
        self.asked = asked
        self.is_chunked = False

    def head(
        self, status: int = 200, kind: str = "text/event-stream", *, chunked: bool = False, **headers: str
    ) -> Wire:
        """Send the status line and headers."""
        self.is_chunked = chunked
        lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}"]
        lines.append("Transfer-Encoding: chunked" if chunked else "Connection: close")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.line.sendall("\r\n".join([*lines, "", ""]).encode())
        return self

    def raw(self, text: str | bytes) -> Wire:
        """Send text or bytes, as one chunk if the response is chunked."""
        piece = text.encode() if isinstance(text, str) else text
        self.line.sendall(b"%x\r\n%b\r\n" % (len(piece), piece) if self.is_chunked else piece)
        return self

    def event(self, kind: str, name: str = "", **members: Any) -> Wire:
        """Send an event."""
        return self.raw(written(kind, name, **members))

    def wait(self) -> None:
        """Wait until the client disconnects."""
        with suppress(OSError):
            while self.line.recv(1 << 16):
                pass


Script = Callable[[Wire], object]


def stay(*events: str | bytes, chunked: bool = False) -> Script:
    """Make a script that sends events and waits for the client to disconnect."""

    def script(wire: Wire) -> None:
        cut(*events, chunked=chunked)(wire)
        wire.wait()

    return script


def cut(*events: str | bytes, chunked: bool = False) -> Script:
    """Make a script that sends events and closes the connection."""

    def script(wire: Wire) -> None:
        wire.head(chunked=chunked)
        for event in events:
            wire.raw(event)

    return script


@dataclass
class EventServer:
    """A running server; each connection gets the next script, and the last script repeats."""

    port: int
    asked: list[Asked] = field(default_factory=list)
    scripts: deque[Script] = field(default_factory=deque)
    tls: ssl.SSLContext | None = None

    def secure(self, context: ssl.SSLContext) -> None:
        """Use TLS for new connections."""
        self.tls = context

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def play(self, *scripts: Script) -> None:
        """Replace the scripts."""
        self.scripts = deque(scripts)

    def client(self, pace: RetryPace = QUICK, timeout: float = PATIENCE, token: str | None = None) -> Server:
        """Make a client that reconnects quickly."""
        return Server(Address.parse(self.url, token), timeout=timeout, pace=pace)


@contextmanager
def event_server() -> Iterator[EventServer]:
    """Run a server on a free port; the end of the block closes all connections."""
    open_lines: list[socket.socket] = []
    threads: list[threading.Thread] = []
    listening = socket.create_server(("127.0.0.1", 0))
    server = EventServer(listening.getsockname()[1])

    def answer(line: socket.socket) -> None:
        with (
            suppress(OSError),
            server.tls.wrap_socket(line, server_side=True) if server.tls else line as line,
        ):
            asked = _read_request(line)
            if asked is None:
                return
            script = server.scripts.popleft() if len(server.scripts) > 1 else server.scripts[0]
            server.asked.append(asked)
            script(Wire(line, asked))

    def accept() -> None:
        with suppress(OSError):
            while True:
                line, _ = listening.accept()
                open_lines.append(line)
                threads.append(threading.Thread(target=answer, args=(line,)))
                threads[-1].start()

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield server
    finally:
        end_accepting(listening, acceptor)
        listening.close()
        for line in open_lines:
            _shut(line)
        for thread in threads:
            thread.join()


def written(kind: str, name: str = "", **members: Any) -> str:
    """Write an event."""
    place = f"id: {name}\n" if name else ""
    return f"{place}event: {kind}\ndata: {json.dumps(members)}\n\n"


def initial(wire: Wire, name: str, *values: str, chunked: bool = False) -> Wire:
    """Send the head and an answer of `SELECT ?s`, whose sequence is the number in the event's id."""
    return wire.head(chunked=chunked).raw(whole(name, *values))


def whole(name: str, *values: str) -> str:
    """Write the initial event of an answer of `SELECT ?s`."""
    return written(
        "initial",
        name,
        sequence=int(name.partition("-")[0]),
        initial=True,
        subscription="ab12",
        form="SELECT",
        head={"vars": ["s"]},
        added=rows(*values),
        removed=[],
    )


def update(name: str, added: str = "", removed: str = "", **members: Any) -> str:
    """Write an update of `SELECT ?s`, with a letter for each solution."""
    sequence = int(name.partition("-")[0])
    return written(
        "update",
        name,
        sequence=sequence,
        initial=False,
        added=rows(*added),
        removed=rows(*removed),
        **members,
    )


def rows(*values: str) -> list[Any]:
    """Make bindings."""
    return [{"s": {"type": "uri", "value": f"urn:{value}"}} for value in values]


def letters(solutions: Any) -> str:
    """Return the solutions of `SELECT ?s` as sorted letters."""
    return "".join(sorted(str(solution.s).removeprefix("urn:") for solution in solutions))


def _read_request(line: socket.socket) -> Asked | None:
    with line.makefile("rb") as stream:
        first = stream.readline().decode().split()
        headers: dict[str, str] = {}
        while text := stream.readline().decode().strip():
            name, _, value = text.partition(":")
            headers[name.lower()] = value.strip()
        body = stream.read(int(headers.get("content-length", "0"))).decode()
    return Asked(first[0], first[1], headers, body) if first else None


def _shut(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


class Cable:
    """A proxy in front of a server, whose connections can be cut."""

    def __init__(self, port: int) -> None:
        self.target = port
        """The port of the server; may change."""
        self.is_down = False
        """True if new connections are refused."""
        self.cut_after: deque[int] = deque()
        """Number of bytes of the server's answer that each new connection passes on; without one, all."""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self._lines: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def cut(self) -> None:
        """Cut all connections."""
        for line in tuple(self._lines):
            _shut(line)

    def close(self) -> None:
        """Cut all connections and accept no more."""
        end_accepting(self._listening, self._threads[0])
        self._listening.close()
        self.cut()
        for thread in tuple(self._threads):
            thread.join()

    def __enter__(self) -> Cable:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, work: Callable[..., None], *args: Any) -> None:
        self._threads.append(threading.Thread(target=work, args=args))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                if self.is_down:
                    near.close()
                    continue
                try:
                    far = socket.create_connection(("127.0.0.1", self.target))
                except OSError:  # the server is down
                    near.close()
                    continue
                self._lines |= {near, far}
                left = self.cut_after.popleft() if self.cut_after else None
                self._start(self._carry, near, far, None)
                self._start(self._carry, far, near, left)

    def _carry(self, source: socket.socket, target: socket.socket, left: int | None) -> None:
        with suppress(OSError):
            while piece := source.recv(1 << 16 if left is None else max(1, min(left, 1 << 16))):
                if left is not None:
                    piece = piece[:left]
                    left -= len(piece)
                target.sendall(piece)
                if left == 0:
                    break
        _shut(source)
        _shut(target)
        self._lines.discard(source)
        source.close()
