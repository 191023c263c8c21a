"""Refuses rdflib's stores of SPARQL endpoints, because rdflive cannot see other programs' writes."""

from __future__ import annotations

import sys
from typing import Any

from rdflive.errors import UnsupportedStoreError
from rdflive.plugins.hookspecs import hookimpl

__all__ = ["rdflive_attach"]


@hookimpl
def rdflive_attach(store: Any) -> None:
    """Raise UnsupportedStoreError for a remote store."""
    # looked up, not imported, because it takes long: until a program imports it, no store is one
    remote = sys.modules.get("rdflib.plugins.stores.sparqlstore")
    if remote is not None and isinstance(store, remote.SPARQLStore):
        raise UnsupportedStoreError(
            f"a {type(store).__name__} cannot be watched: other programs can write to its endpoint. Mirror "
            "it into a local graph, rdflive.mirror(graph, rdflive.endpoint(URL)), and subscribe to that"
        )
