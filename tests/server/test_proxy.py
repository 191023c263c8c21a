"""The reverse proxy of docs/operations.md in front of a server."""

from __future__ import annotations

import json
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
import rdflib

from rdflive.server.access import Client, digest
from rdflive.server.access_log import AccessLog
from support.pages import DOCS, blocks
from support.serving import serving
from support.waiting import until

pytestmark = pytest.mark.posix("the server forks")

TOKEN = "board-board-board-board"
TOKENS = {digest(TOKEN): Client("board", frozenset({"read", "update", "subscribe"}))}
STREAM = "/subscribe?query=SELECT+*+%7B%3Fs+%3Fp+%3Fo%7D"
MAIN = """\
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{server}
}}
"""


def free_port() -> int:
    """Return a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def proxied(folder: Path, behind: int) -> Iterator[int]:
    """Run nginx with the configuration of the page; give its port."""
    nginx, openssl = shutil.which("nginx"), shutil.which("openssl")
    if nginx is None or openssl is None:
        pytest.skip("nginx and openssl are not installed")
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=rail.example.org", "-days", "2"]
    subprocess.run([openssl, *request, *files], check=True, capture_output=True)
    (server,) = (each.code for each in blocks(DOCS / "operations.md") if each.language == "nginx")
    port = free_port()
    for written, used in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/rail.pem", str(folder / "cert.pem")),
        ("/etc/ssl/rail.key", str(folder / "key.pem")),
        ("127.0.0.1:8000", f"127.0.0.1:{behind}"),
    ):
        assert written in server
        server = server.replace(written, used)
    config = folder / "nginx.conf"
    config.write_text(MAIN.format(folder=folder, server=server))
    with subprocess.Popen(
        [nginx, "-c", str(config), "-p", str(folder)], stderr=subprocess.DEVNULL
    ) as process:
        try:
            until(lambda: _answers(port))
            yield port
        finally:
            process.terminate()


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionRefusedError:
        return False
    return True


@contextmanager
def asked(port: int, path: str, body: bytes | None = None, **headers: str) -> Iterator[Any]:
    """Send a request to the proxy as a browser does that knows it as rail.example.org."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with closing(HTTPSConnection("127.0.0.1", port, timeout=30, context=context)) as connection:
        given = {"Host": "rail.example.org", "Authorization": f"Bearer {TOKEN}", **headers}
        connection.request("GET" if body is None else "POST", path, body, given)
        yield connection.getresponse()


def test_the_proxy_of_the_page_passes_all_on(tmp_path: Path) -> None:
    """Queries, updates from the page, and events at once; the log has the address that the proxy saw."""
    log = AccessLog(str(tmp_path / "access.log"))
    update = {"Content-Type": "application/sparql-update", "Origin": "https://rail.example.org"}
    dataset = rdflib.Dataset(store="Oxigraph")
    with (
        serving(dataset, tokens=TOKENS, proxies=["127.0.0.1"], access_log=log) as served,
        proxied(tmp_path, served.port) as port,
    ):
        with asked(port, STREAM) as stream:
            assert stream.status == 200
            assert until(lambda: b"event: initial" in stream.readline())
            with asked(port, "/update", b"INSERT DATA { <urn:a> <urn:p> 1 }", **update) as answer:
                assert answer.status == 204
            # it is not buffered
            assert until(lambda: b'"value": "urn:a"' in stream.readline())
        with asked(port, "/update", b"", **{**update, "Origin": "https://other.example"}) as answer:
            assert answer.status == 403
        with asked(port, "/ready", **{"X-Forwarded-For": "203.0.113.9"}) as answer:
            assert answer.status == 200
        lines = until(lambda: (found := (tmp_path / "access.log").read_text()).count("\n") == 4 and found)
    log.close()
    found = [json.loads(line) for line in lines.splitlines()]
    assert {line["path"] for line in found} == {"/update", "/subscribe", "/ready"}
    # nginx appends the address that it saw, and 127.0.0.1 is the proxy: the one before it is the client's
    assert found[-1]["address"] == "203.0.113.9"
    assert not re.search(TOKEN, lines)


def test_a_large_document_passes_the_proxy(tmp_path: Path) -> None:
    """And pages at any port of the proxy are those of the server."""
    body = b"".join(b"<urn:s%d> <urn:p> <urn:o> .\n" % number for number in range(50_000))
    with (
        serving(rdflib.Dataset(store="Oxigraph"), tokens=TOKENS, proxies=["127.0.0.1"]) as served,
        proxied(tmp_path, served.port) as port,
    ):
        host = f"rail.example.org:{port}"
        given = {"Content-Type": "application/n-triples", "Host": host, "Origin": f"https://{host}"}
        with asked(port, "/store?default", body, **given) as answer:
            assert answer.status == 204
