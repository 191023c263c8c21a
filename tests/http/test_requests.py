"""Requests end in time, report errors, and reveal no more than needed."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from rdflive.http import Exchange, Http, HttpFault, split_url
from support.event_server import PATIENCE, EventServer, Script, Wire, event_server


@pytest.fixture
def server() -> Iterator[EventServer]:
    with event_server() as server:
        yield server


def send(http: Http, url: str, **options: object) -> Exchange:
    return http.send("GET", url, **{"timeout": PATIENCE, **options})  # type: ignore[arg-type]  # as it takes them


def text(status: int, body: str = "", **headers: str) -> Script:
    """Make a script that answers and closes."""
    return lambda wire: wire.head(status, "text/plain", **headers).raw(body)


WAITS: dict[str, Script] = {
    "for the status": lambda wire: wire.wait(),
    "for a header": lambda wire: wire.raw("HTTP/1.1 200 OK\r\nx: ").wait(),
    "for the body": lambda wire: wire.head().wait(),
    "for the rest of the body": lambda wire: wire.head(Content_Length="9").raw("some").wait(),
    "for a chunk": lambda wire: wire.head(chunked=True).raw("some").wait(),
}


@pytest.mark.parametrize("end", [Http.cut, Http.close], ids=["cut", "close"])
@pytest.mark.parametrize("script", WAITS.values(), ids=WAITS)
def test_any_thread_can_end_a_wait(server: EventServer, script: Script, end: Callable[[Http], None]) -> None:
    """Whatever is waited for, the wait ends at once, and what was read is not taken for an answer."""
    reached = threading.Event()
    server.play(lambda wire: (reached.set(), script(wire)))
    http = Http()

    def read() -> bytes:
        with send(http, server.url) as exchange:
            return exchange.read()

    with ThreadPoolExecutor(1) as other:
        reading = other.submit(read)
        assert reached.wait(PATIENCE)
        end(http)
        with pytest.raises(HttpFault, match="closed on this side"):
            reading.result(PATIENCE / 2)


def test_any_thread_can_end_a_handshake() -> None:
    """A server that accepts connections without TLS does not block a request."""
    http = Http()
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as other:
        sending = other.submit(send, http, f"https://127.0.0.1:{listening.getsockname()[1]}/")
        with listening.accept()[0] as connection:
            assert connection.recv(1)
            http.cut()
            with pytest.raises(HttpFault, match="closed on this side"):
                sending.result(PATIENCE / 2)


def test_a_cut_ends_what_is_under_way_alone(server: EventServer) -> None:
    """After a cut requests go on, after closing none is sent."""
    server.play(text(200, "fine"))
    http = Http()
    http.cut()
    with send(http, server.url) as exchange:
        assert exchange.read() == b"fine"
    http.close()
    assert http.closed.wait(PATIENCE)
    with pytest.raises(HttpFault, match="closed on this side"):
        send(http, server.url)
    assert len(server.asked) == 1


def test_what_was_closed_is_not_read(server: EventServer) -> None:
    """An unread rest of a body is lost with the connection."""
    server.play(text(200, "fine"))
    with send(Http(), server.url) as exchange:
        pass
    with pytest.raises(HttpFault):
        exchange.read()
    with pytest.raises(HttpFault):
        next(iter(exchange))


def test_all_of_an_answer_may_have_a_time(server: EventServer) -> None:
    """Pieces that each come in time do not make an answer last for ever."""

    def drip(wire: Wire) -> None:
        wire.head()
        while True:
            wire.raw("x")

    server.play(drip)
    with (
        send(Http(), server.url, total=0.1) as exchange,
        pytest.raises(HttpFault, match=r"timed out after 0\.1 s"),
    ):
        exchange.read()


@pytest.mark.parametrize("whole", [False, True])
def test_silence_is_a_fault(server: EventServer, whole: bool) -> None:
    """The time that a server may be silent can be changed behind the headers."""
    server.play(lambda wire: wire.head().wait())
    with send(Http(), server.url) as exchange:
        exchange.wait_up_to(0.05)
        with pytest.raises(HttpFault, match=r"timed out after 0\.05 s") as raised:
            exchange.read() if whole else list(exchange)
    assert raised.value.passes


def test_pieces_come_as_they_are_sent(server: EventServer) -> None:
    """A piece ends where a line does, or where the server has said no more yet."""
    read = threading.Event()

    def script(wire: Wire) -> None:
        wire.head(chunked=True).raw("one\ntwo\r\nth")
        assert read.wait(PATIENCE)
        wire.raw("ree").raw("")

    server.play(script)
    with send(Http(), server.url) as exchange:
        pieces = iter(exchange)
        assert [next(pieces) for _ in range(3)] == [b"one\n", b"two\r\n", b"th"]
        read.set()
        assert list(pieces) == [b"ree"]


def test_headers_replace_each_other_in_any_case(server: EventServer) -> None:
    """Those of a request go before those of all requests; characters go as UTF-8.

    Nothing packed is asked for, and no body is unpacked, so a small one cannot become a large one.
    """
    packed = gzip.compress(b"bomb")
    server.play(lambda wire: wire.head(Content_Encoding="gzip").raw(packed))
    http = Http({"user-agent": "mine", "x-a": "1", "X-B": "2"})
    with send(http, server.url, headers={"X-A": "é€"}) as exchange:
        assert exchange.read() == packed
    headers = server.asked[0].headers
    assert (headers["user-agent"], headers["x-a"], headers["x-b"]) == ("mine", "é€", "2")
    assert headers["accept-encoding"] == "identity"


def test_errors_say_what_is_wrong_and_whether_it_may_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is not there may come back; what cannot be done will never be."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    with pytest.raises(HttpFault, match=r"^\[Errno \d+\] .*refused$") as raised:
        send(Http(), url)
    assert raised.value.passes
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("http_proxy", "gopher://127.0.0.1/")
    with pytest.raises(HttpFault, match="gopher") as raised:
        send(Http(proxies=True), url)
    assert not raised.value.passes


def test_redirects_are_followed_where_that_was_asked_for(server: EventServer) -> None:
    """Up to ten on the same origin: a 303 is fetched with GET, and without the body."""
    server.play(text(303, Location="/other"), text(200, "fine"))
    with Http(redirects=True).send("POST", server.url, timeout=PATIENCE, body=b"x") as exchange:
        assert exchange.read() == b"fine"
    assert [(asked.method, asked.target, asked.body) for asked in server.asked] == [
        ("POST", "/", "x"),
        ("GET", "/other", ""),
    ]
    server.play(text(302, Location="/again"))
    for http, count in [(Http(redirects=True), 11), (Http(), 1)]:
        server.asked.clear()
        with send(http, server.url) as exchange:
            assert exchange.status == 302
        assert len(server.asked) == count


def test_no_redirect_leads_elsewhere(server: EventServer) -> None:
    """Another host, port or scheme is never asked: the answer is the redirect."""
    for place in ("http://127.0.0.2:{}/", "//127.0.0.2:{}/", "https://127.0.0.1:{}/"):
        target = place.format(server.port)
        server.asked.clear()
        server.play(text(307, Location=target))
        with send(Http({"X-Key": "secret"}, redirects=True), server.url) as exchange:
            assert (exchange.status, exchange.headers["location"]) == (307, target)
        assert len(server.asked) == 1


def test_proxies_are_asked_where_that_was_asked_for(
    server: EventServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment names them, with a password if need be, and the hosts that are asked directly."""
    server.play(text(200))
    monkeypatch.setenv("http_proxy", f"me:p%40ss@127.0.0.1:{server.port}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    send(Http(proxies=True), "http://example.org/x").close()
    assert server.asked[0].target == "http://example.org/x"
    assert server.asked[0].headers["proxy-authorization"] == "Basic bWU6cEBzcw=="
    send(Http(proxies=True), f"{server.url}/y").close()
    monkeypatch.setenv("no_proxy", "")
    send(Http(), f"{server.url}/z").close()
    assert [asked.target for asked in server.asked[1:]] == ["/y", "/z"]


def test_a_request_that_has_ended_leaves_nothing(server: EventServer) -> None:
    """Neither sockets, nor threads, nor requests that a later cut would look at."""
    server.play(text(200, "fine"), lambda wire: None)
    http = Http()
    with send(http, server.url, total=PATIENCE) as exchange:
        assert exchange.read() == b"fine"
    with pytest.raises(HttpFault):
        send(http, server.url, total=PATIENCE)
    assert not http._under_way
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    with closing(exchange):
        http.cut()


def test_urls_of_http_are_taken_apart() -> None:
    """A host, and a port that can be; what no request can be sent to is told before one is."""
    for url in ("http://e/", "HTTPS://e:9/?x#y", "http://[::1]:1/"):
        parts = split_url(url)
        assert parts is not None
        assert parts.hostname in ("e", "::1")
    for other in (
        "",
        "x",
        "ftp://e/",
        "http://",
        "http://e:x/",
        "http://e:0/",
        "http://[e/",
        "http://e/ ",
        "http://é/",
    ):
        assert split_url(other) is None
    assert split_url(None) is None
