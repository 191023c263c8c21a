"""What the server sends for the page, and how the editor is built."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path

from support.served import Served

ROOT = Path(__file__).parents[3]
EDITOR = ROOT / "plugin" / "rdflive" / "page" / "static" / "editor"


def get(url: str, **headers: str) -> tuple[int, Message, str]:
    """Ask for something and give status, headers and text."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=names)) as response:
            return response.status, response.headers, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read().decode()


def test_page_has_a_strict_policy(served: Served) -> None:
    """Scripts come from the server alone, and styles too, but for the editor's, which need a new nonce."""
    nonces = set()
    for _ in range(2):
        _, headers, text = get(served.url)
        policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        nonce = re.fullmatch("'self' 'nonce-(.{22})'", policy["style-src"])
        assert nonce is not None
        assert f'nonce="{nonce[1]}"' in text
        nonces.add(nonce[1])
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert len(nonces) == 2


def test_page_has_no_script_or_style_of_its_own(served: Served) -> None:
    """All of it is in files, and none of them is elsewhere; only the names of prefixes stand in it."""
    text = re.sub(' data-prefixes="[^"<>]*"', "", get(served.url)[2])
    assert not re.search(r"<style|<script(?! type=\"module\" src=\"static/main.js\">)| on\w+=| style=", text)
    assert "//" not in text


def test_static_files_are_those_of_the_page(served: Served) -> None:
    """Nothing else can be had."""
    others = [
        "editor/package.json",
        "editor/graph.js",
        "..%2f..%2fapp.py",
        "index.html",
        "sign_in.html",
        ".",
        "no.js",
    ]
    assert {get(f"{served.url}static/{name}")[0] for name in others} == {404}


def test_static_files_are_sent_when_they_have_changed(served: Served) -> None:
    """A browser that has a file already is told so."""
    status, headers, text = get(f"{served.url}static/page.css")
    assert (status, headers["Content-Type"]) == (200, "text/css; charset=utf-8")
    assert text
    assert get(f"{served.url}static/page.css", If_None_Match=headers["ETag"])[0] == 304


def test_editor_is_pinned() -> None:
    """The lock names every package with its checksum, as its own file asks for it, and no registry."""
    asked = json.loads((EDITOR / "package.json").read_text())["dependencies"]
    packages = json.loads((EDITOR / "package-lock.json").read_text())["packages"]
    assert packages.pop("")["dependencies"] == asked
    assert all("integrity" in package and "resolved" not in package for package in packages.values())
    assert {name: packages[f"node_modules/{name}"]["version"] for name in asked} == asked


def test_bundles_are_in_the_page(served: Served) -> None:
    """The package that is tested was built with what is of others, and with the licences of it."""
    for name in ("editor", "graph"):
        assert f'data-{name}="{name}.js"' in get(served.url)[2]
        first, _, _ = get(f"{served.url}static/{name}.js")[2].partition("\n")
        assert re.fullmatch(r"/\* for rdflive's page, made of [0-9a-f]{64} \*/", first)


def test_licences_of_what_is_bundled_are_there() -> None:
    """Those of the editor and of what draws, each under its name."""
    text = (EDITOR.parent / "editor.LICENSES.txt").read_text()
    for name in ("@codemirror/view", "cytoscape", "cytoscape-fcose", "cose-base", "layout-base"):
        assert f"\n{name}\n{'=' * len(name)}\n" in f"\n{text}"
    assert "\nesbuild\n" not in text


ACCEPTED = {
    "gzip": True,
    "br, GZIP;q=0.5": True,
    "gzip;q=0, br": False,
    "gzip; q=0.0": False,
    "x-gzip2": False,
}


def test_static_files_are_compressed_for_who_takes_it(served: Served) -> None:
    """A request may name gzip to refuse it."""
    for accepted, is_packed in ACCEPTED.items():
        request = urllib.request.Request(
            f"{served.url}static/page.css", headers={"Accept-Encoding": accepted}
        )
        with urllib.request.urlopen(request) as response:
            assert (response.headers["Content-Encoding"] == "gzip") is is_packed, accepted
