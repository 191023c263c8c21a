"""`rdflive load` on a server in this process."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdflive.cli import main
from rdflive.server.access import Client, digest
from support.protocol import asked
from support.serving import Serving, serving

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.posix("the server forks")

TOKEN = "a-token-of-this-test"


@pytest.fixture
def server() -> Iterator[Serving]:
    """A server that knows one token."""
    with serving(tokens={digest(TOKEN): Client("test", frozenset({"read", "update"}))}) as running:
        yield running


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the token into the environment."""
    monkeypatch.setenv("TOKEN", TOKEN)


def load(server: Serving, *arguments: str) -> int:
    return main(["load", server.url, *arguments, "--token-env", "TOKEN"])


def held(server: Serving) -> list[str]:
    body = asked(server, "GET", "/store", Authorization=f"Bearer {TOKEN}").body
    return sorted(body.decode().splitlines())


def test_files_are_added_or_replace_a_graph(server: Serving, capsys: pytest.CaptureFixture[str]) -> None:
    """The ending decides the format, quads name their graphs, and a compressed file is sent as it is."""
    Path("a.nt").write_text("<urn:a> <urn:p> <urn:o> .\n")
    Path("b.nq.gz").write_bytes(gzip.compress(b"<urn:b> <urn:p> <urn:o> <urn:g> .\n"))
    Path("c.ttl").write_text("<urn:c> <urn:p> <urn:o>, <urn:o2>, <urn:o3> .\n")
    assert load(server, "a.nt", "b.nq.gz") == 0
    assert capsys.readouterr().out == "a.nt: written, commit 1\nb.nq.gz: written, commit 2\n"
    assert held(server) == ["<urn:a> <urn:p> <urn:o> .", "<urn:b> <urn:p> <urn:o> <urn:g> ."]
    assert load(server, "c.ttl", "a.nt", "--graph", "urn:g", "--replace", "--commit", "2") == 0
    lines = [f"<urn:c> <urn:p> <urn:o{n}> <urn:g> ." for n in ("", 2, 3)]
    assert held(server) == sorted(["<urn:a> <urn:p> <urn:o> .", "<urn:a> <urn:p> <urn:o> <urn:g> .", *lines])


def test_errors_name_the_file_and_the_remedy(server: Serving, capsys: pytest.CaptureFixture[str]) -> None:
    """A refused file ends the run; those before it are written."""
    Path("a.nt").write_text("<urn:a> <urn:p> <urn:o> .\n")
    Path("bad.nt").write_text("<urn:a> <urn:p> <urn:o> .\nno triple\n")
    Path("x.n3").write_text("")
    Path("q.nq").write_text("")
    for arguments, said in (
        (["a.nt", "bad.nt", "a.nt"], "bad.nt: the document cannot be parsed (line 2"),
        (["a.nt", "missing.nt"], "missing.nt"),
        (["x.n3"], "x.n3: servers read no n3"),
        (["q.nq", "--graph", "urn:g"], "q.nq: a dataset names its graphs; leave --graph out"),
        (["a.nt", "--graph", "relative"], "graph must be an absolute IRI"),
        (["a.nt", "--commit", "2000000"], "commit may be at most 1,000,000"),
    ):
        assert load(server, *arguments) == 2, arguments
        assert said in capsys.readouterr().err, arguments
    assert main(["load", server.url, "a.nt"]) == 2
    assert "name a variable with its token by --token-env" in capsys.readouterr().err
    assert main(["load", "http://127.0.0.1:1", "a.nt"]) == 2
    assert "cannot be reached" in capsys.readouterr().err
    assert held(server) == ["<urn:a> <urn:p> <urn:o> ."]
