"""Pages of another origin, such as that of a development server: those that the server allows, and others."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from support.browser import Page, Watched, expect
from support.served import RAILWAY, Served

PREFIX = "PREFIX : <http://example.org/> "
LATE = PREFIX + "SELECT ?train ?minutes { ?train :delay ?minutes }"
TOKEN = "a-token-of-alice"
REFUSED = "CORS policy|ERR_FAILED|status of 403"
YASGUI = "@zazuko/yasgui@4.6.2"

FOLLOW = """url => {
  window.seen = [];
  const source = new EventSource(url);
  source.onerror = () => window.seen.push(["error", source.readyState]);
  for (const type of ["initial", "update"]) {
    source.addEventListener(type, event => window.seen.push([type, JSON.parse(event.data).added.length]));
  }
}"""
SUBSCRIBE = """async ({ server, query, token }) => {
  const { subscribe } = await import(`${server}static/client.js`);
  window.seen = [];
  const onState = ({ name, why }) => name === "ended" && window.seen.push([name, why]);
  subscribe(query, ({ added }) => window.seen.push(added.length), { token, onState });
}"""
CHANGES = """async url => {
  const response = await fetch(url, { headers: { "Last-Event-ID": "0-x" } }).catch(() => null);
  return response && [response.status, (await response.json()).title];
}"""
UPDATE = """async ({ url, body, token }) => {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const options = { method: "POST", body: new URLSearchParams({ update: body }), headers };
  const response = await fetch(url, options).catch(() => null);
  return response && [response.status, response.headers.get("Rdflive-Sequence"), await response.text()];
}"""
QUERY_BOX = """<!doctype html>
<title>YASGUI</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="package/build/yasgui.min.css">
<div id="yasgui"></div>
<script type="module">
import Yasgui from "./package/build/yasgui.esm.js";
const requestConfig = { endpoint: new URLSearchParams(location.search).get("endpoint") };
window.yasgui = new Yasgui(document.getElementById("yasgui"), { requestConfig, copyEndpointOnNewTab: false });
</script>
"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The origin and the folder of a development server."""
    (tmp_path / "index.html").write_text(
        '<!doctype html><title>Elsewhere</title><link rel="icon" href="data:,">'
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", tmp_path
    server.shutdown()
    thread.join()
    server.server_close()


def seen(page: Page, count: int) -> list[Any]:
    """Wait for so many events."""
    page.wait_for_function("count => window.seen.length >= count", arg=count)
    found: list[Any] = page.evaluate("window.seen")
    return found


def test_event_source_and_updates_of_a_development_server(
    page: Page, site: tuple[str, Path], watched: Watched
) -> None:
    """Its page subscribes, updates, and reads the number of the commit and the reason of an error."""
    origin, _ = site
    with Served("--allow-origin", origin) as served:
        served.update(RAILWAY)
        page.goto(origin)
        page.evaluate(FOLLOW, f"{served.url}subscribe?{urlencode({'query': LATE})}")
        assert seen(page, 1) == [["initial", 2]]
        insert = {"url": f"{served.url}update", "body": PREFIX + "INSERT DATA { :T3 :delay 9 }"}
        status, sequence, _ = page.evaluate(UPDATE, insert)
        assert (status, int(sequence)) == (204, 2)
        assert seen(page, 2) == [["initial", 2], ["update", 1]]
        watched.allow("status of 410")
        # the header of a stream that continues needs a preflight, and the page reads why it cannot
        assert page.evaluate(CHANGES, f"{served.url}changes") == [410, "Gone"]


def test_pages_of_other_origins_are_refused(page: Page, site: tuple[str, Path], watched: Watched) -> None:
    """Without the option, and with another origin, the page reads nothing and changes nothing."""
    origin, _ = site
    watched.allow(REFUSED)
    for arguments in ((), ("--allow-origin", "http://127.0.0.1:9")):
        with Served(*arguments) as served:
            served.update(RAILWAY)
            page.goto(origin)
            page.evaluate(FOLLOW, f"{served.url}subscribe?{urlencode({'query': LATE})}")
            assert seen(page, 1) == [["error", 2]]
            insert = {"url": f"{served.url}update", "body": PREFIX + "INSERT DATA { :T3 :delay 9 }"}
            assert page.evaluate(UPDATE, insert) is None
            assert page.evaluate(CHANGES, f"{served.url}changes") is None
            assert b":T3" not in served.query(LATE)


def test_client_with_a_token(page: Page, site: tuple[str, Path], watched: Watched, tmp_path: Path) -> None:
    """A page imports the client from a server with tokens, and sends its own one as a header."""
    origin, _ = site
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(f'[alice]\ntoken = "{TOKEN}"\nrights = ["read", "update", "subscribe"]\n')
    with Served("--allow-origin", origin, "--tokens", tokens) as served:
        served.update(RAILWAY, Authorization=f"Bearer {TOKEN}")
        page.goto(origin)
        asked = {"server": served.url, "query": LATE}
        page.evaluate(SUBSCRIBE, {**asked, "token": TOKEN})
        assert seen(page, 1) == [2]
        update = {"url": f"{served.url}update", "body": PREFIX + "INSERT DATA { :T3 :delay 9 }"}
        assert page.evaluate(UPDATE, {**update, "token": TOKEN})[0] == 204
        assert seen(page, 2) == [2, 1]
        watched.allow("status of 401")
        page.evaluate(SUBSCRIBE, {**asked, "token": "another-token-than-hers"})
        assert seen(page, 1) == [["ended", "the token is unknown to this server"]]


def test_yasgui_of_another_origin(page: Page, site: tuple[str, Path]) -> None:
    """The usual editor of SPARQL queries the server, with the headers that it sends, and shows errors."""
    origin, folder = site
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs npm, which brings YASGUI")
    packed = subprocess.run([npm, "pack", YASGUI], cwd=folder, capture_output=True, text=True, timeout=120)
    if packed.returncode != 0:
        pytest.skip(f"npm cannot bring {YASGUI}: {packed.stderr.strip()[-200:]}")
    with tarfile.open(folder / packed.stdout.split()[-1]) as package:
        package.extractall(folder, filter="data")
    (folder / "yasgui.html").write_text(QUERY_BOX)
    with Served("--allow-origin", origin) as served:
        served.update(RAILWAY)
        page.goto(f"{origin}/yasgui.html?{urlencode({'endpoint': f'{served.url}query'})}")
        page.wait_for_function("window.yasgui")
        page.evaluate("text => { yasgui.getTab().setQuery(text) }", LATE)
        page.evaluate("() => { yasgui.getTab().query() }")
        expect(page.locator(".yasr table tbody tr")).to_have_count(2)
        expect(page.locator(".yasr")).to_contain_text("T2")
