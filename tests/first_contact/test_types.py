"""What type checkers and completion know of rdflive."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import rdflib

import rdflive
from rdflive.api.target import GraphTarget
from rdflive.feeds import EndpointOptions, Entry, Feed, Snapshot, Target, feed_format
from rdflive.feeds.files import FileFeed
from support.shared import ROOT

pytest.importorskip("pyoxigraph", reason="the examples have a graph of pyoxigraph")

from typed import examples

LINE = b"+ <urn:s> <urn:p> <urn:o> .\n"
NQUADS = feed_format("nquads")
PATIENCE = 20.0
RUNS = sorted(name for name in vars(examples) if name.startswith("runs_"))


@pytest.fixture(autouse=True)
def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `install` adds to rdflib's graphs goes with the test."""
    for method in ("subscribe", "batch"):
        monkeypatch.setattr(rdflib.Graph, method, None, raising=False)


def mirrored(feed: Feed, graph: rdflib.Graph) -> tuple[threading.Thread, threading.Event]:
    """Mirror a feed in a thread; the event tells that its first entry is there."""
    begun = threading.Event()

    def run() -> None:
        rdflive.mirror(graph, feed, on_entry=lambda _: begun.set())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, begun


@pytest.mark.parametrize("name", RUNS)
def test_typed_programs_run(name: str) -> None:
    """What the checkers take for right runs."""
    if name == "runs_an_endpoint":
        pytest.importorskip("SPARQLWrapper", reason="endpoints need it")
    getattr(examples, name)()


def test_options_of_endpoints_are_those_that_its_feed_has() -> None:
    """No option is missing in the type, none is too many, and each has the type that the feed takes."""
    pytest.importorskip("SPARQLWrapper", reason="endpoints need it")
    from rdflive_stores.endpoint.feed import EndpointFeed

    taken = get_type_hints(EndpointFeed.__init__)
    for name in ("url", "patterns", "return"):
        del taken[name]
    assert get_type_hints(EndpointOptions) == taken


def test_closing_a_followed_file_ends_its_mirror(tmp_path: Path) -> None:
    """It ends at once, however rarely the file is looked at, and what is half written is no entry."""
    log = tmp_path / "log.nq"
    log.write_bytes(LINE + LINE[:12])
    graph = rdflib.Graph()
    feed = FileFeed(log, NQUADS, follow=3600)
    thread, begun = mirrored(feed, graph)
    assert begun.wait(PATIENCE)
    feed.close()
    feed.close()  # repeated
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert len(graph) == 1
    log.write_bytes(LINE + LINE.replace(b"urn:o", b"urn:later"))
    assert rdflive.mirror(graph, FileFeed(log, NQUADS)).entries == 1, "the next mirror goes on behind it"


def test_a_closed_feed_gives_nothing_more(tmp_path: Path) -> None:
    """Neither what was read ahead of it, nor anything to who asks later."""
    log = tmp_path / "log.nq"
    log.write_bytes(LINE * 3)
    for source in (log, BytesIO(LINE * 3)):
        feed = FileFeed(source, NQUADS)
        entries = feed.entries(None, {}, GraphTarget(rdflib.Graph()))
        next(entries)
        feed.close()
        assert list(entries) == []
        assert list(feed.entries(None, {}, GraphTarget(rdflib.Graph()))) == []


class WithoutClose:
    """A feed that cannot be closed."""

    source = "old"

    def entries(self, cursor: str | None, kept: Mapping[str, str], target: Target) -> Iterator[Entry]:
        return iter(())

    def snapshot(self, target: Target) -> Snapshot | None:
        return None


def test_a_feed_without_close_is_refused() -> None:
    """The message names the methods of a feed."""
    old: Any = WithoutClose()
    with pytest.raises(TypeError, match=r"a Feed \(source, entries, snapshot, close\), got .*WithoutClose"):
        rdflive.mirror(rdflib.Graph(), old)


@pytest.mark.parametrize("package", ["rdflive", "rdflive_stores"])
def test_packages_say_that_they_are_typed(package: str) -> None:
    """Without `py.typed` checkers take all of a package for Any; tox runs this on the wheel."""
    assert files(package).joinpath("py.typed").is_file()


def test_the_version_is_that_of_the_package() -> None:
    """One place has it: pyproject.toml."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert rdflive.__version__ == version("rdflive") == settings["project"]["version"]


def test_completion_shows_what_users_call() -> None:
    """`dir(rdflive)` is `__all__`, without the packages and modules that are imported."""
    assert dir(rdflive) == sorted(rdflive.__all__)
    assert {"subscribe", "GraphLike", "__version__"} < set(dir(rdflive))
    assert not {"api", "sys", "annotations"} & set(dir(rdflive))
    dir(rdflive).clear()
    assert dir(rdflive), "what was given is a copy"


def check(command: list[str], folder: Path) -> None:
    """Have a type checker look at the examples as those of a user, who has no settings of rdflive."""
    run = subprocess.run(
        [sys.executable, "-m", *command, str(ROOT / "tests" / "typed" / "examples.py")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        # no MYPYPATH: rdflive is found where it is installed, by its py.typed
        env={name: text for name, text in os.environ.items() if name != "MYPYPATH"},
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_mypy_knows_the_types(tmp_path: Path) -> None:
    """Strict mypy finds the faults that are marked, and no other."""
    pytest.importorskip("pyright", reason="`tox run -e packages` has both checkers")
    check(["mypy", "--strict", "--config-file=", "--no-incremental"], tmp_path)


def test_pyright_knows_the_types(tmp_path: Path) -> None:
    """Strict pyright finds the faults that are marked, and no other."""
    pytest.importorskip("pyright", reason="needs pyright: pip install pyright[nodejs]")
    check(["pyright", "--pythonpath", sys.executable], tmp_path)
