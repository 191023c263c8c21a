"""Refuses rdflib's stores of SPARQL endpoints, because rdflive cannot see other programs' writes."""

from __future__ import annotations

from typing import Any

from rdflib.plugins.stores.sparqlstore import SPARQLStore

from rdflive.errors import UnsupportedStoreError
from rdflive.plugins.hookspecs import hookimpl

__all__ = ["rdflive_attach"]


@hookimpl
def rdflive_attach(store: Any) -> None:
    """Raise UnsupportedStoreError for a remote store."""
    if isinstance(store, SPARQLStore):
        raise UnsupportedStoreError(
            f"a {type(store).__name__} cannot be watched: other programs can write to its endpoint. Mirror "
            "it into a local graph, rdflive.mirror(graph, rdflive.endpoint(URL)), and subscribe to that"
        )
