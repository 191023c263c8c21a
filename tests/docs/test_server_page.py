"""The commands of docs/server.md that query, update, and read and write graphs run as they are printed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import rdflib
from rdflib.compare import isomorphic

from rdflive.cli import main
from support.chapter import WRITTEN, commands, curl
from support.pages import DOCS, blocks
from support.protocol import answered, asked
from support.serving import Serving, serving
from support.shared import ROOT

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = [
    pytest.mark.posix("the server forks"),
    pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl"),
]

PAGE = DOCS / "server.md"
RAILWAY = ROOT / "examples" / "railway.ttl"


def section(title: str, folder: Path) -> Path:
    """Write a section of the page as a page of its own."""
    parts = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (text,) = (part for part in parts if part.startswith(title + "\n"))
    page = folder / "section.md"
    page.write_text(text, encoding="utf-8")
    return page


def run(server: Serving, arguments: list[str]) -> str:
    """Run one command; curl must end well, and an HTTP error is not well."""
    program, *options = arguments
    if program == "curl":
        return curl(options)
    assert main(options) == 0
    return ""


def outputs(server: Serving, title: str, folder: Path) -> list[tuple[list[str], str]]:
    """Run the commands of a section; where the page shows what a block prints, it prints that."""
    found = []
    address = f"127.0.0.1:{server.port}"
    for block in blocks(section(title, folder)):
        printed = []
        for arguments in commands(block.code) if block.language == "sh" else ():
            shown = run(server, [argument.replace(WRITTEN, address) for argument in arguments])
            printed.append(shown.replace("\r\n", "\n"))
            found.append((arguments, printed[-1]))
        if block.printed is not None:
            assert "".join(printed).rstrip("\n") == block.printed.rstrip("\n")
    assert found, title
    return found


def test_queries_and_updates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries by GET and by a file, updates as text, as a form and by a file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "query.rq").write_text("ASK { <urn:a> <urn:p> 1 }")
    (tmp_path / "update.ru").write_text("INSERT DATA { <urn:from> <urn:a> <urn:file> }")
    with serving() as server:
        ran = outputs(server, "Queries and updates", tmp_path)
        assert len(ran) == 6
        assert answered(server, "ASK { <urn:from> <urn:a> <urn:file> }").json["boolean"]


def test_many_updates(tmp_path: Path) -> None:
    """The response has the headers that the section names."""
    with serving() as server:
        ((_, response),) = outputs(server, "Many updates", tmp_path)
        assert response.startswith("HTTP/1.1 204")
        assert "preference-applied: shared-commit\n" in response.lower()
        assert answered(server, "ASK { <urn:a> <urn:p> 1 }").json["boolean"]


def test_graphs_as_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file goes into the default graph and into a named one, which is read, and is gone after DELETE."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(RAILWAY, tmp_path)
    railway = rdflib.Graph().parse(RAILWAY)
    with serving() as server:
        ran = outputs(server, "Graphs as documents", tmp_path)
        assert [arguments[0] for arguments, _ in ran] == ["rdflive", "curl", "curl", "curl"]
        assert isomorphic(rdflib.Graph().parse(data=ran[2][1], format="nt"), railway)
        left = asked(server, "GET", "/store").body  # all of it is in the default graph
        assert isomorphic(rdflib.Graph().parse(data=left, format="nt"), railway)
