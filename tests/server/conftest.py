"""The servers of the tests of the protocols."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import rdflib

from support.serving import Serving, serving


@pytest.fixture(scope="module", params=["default", "Oxigraph", "disk"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server over each kind of store."""
    dataset = rdflib.Dataset("default" if request.param == "default" else "Oxigraph")
    if request.param == "disk":
        dataset.open(str(tmp_path_factory.mktemp("disk") / "store"))
    with serving(dataset) as running:
        yield running
    dataset.close()
