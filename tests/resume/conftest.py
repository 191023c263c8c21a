"""A graph with one train, and the file of its subscribers."""

from __future__ import annotations

from pathlib import Path

import pytest
import rdflib

from support.resume import add


@pytest.fixture
def graph() -> rdflib.Graph:
    graph = rdflib.Graph()
    add(graph, "ic1")
    return graph


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trains.db"
