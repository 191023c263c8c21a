"""Refuses rdflib's stores in front of a SPARQL endpoint: others can write to it without us seeing."""

from __future__ import annotations

from typing import Any

from rdflib.plugins.stores.sparqlstore import SPARQLStore

from rdflive.errors import UnsupportedStoreError
from rdflive.plugins.hookspecs import hookimpl

__all__ = ["rdflive_attach"]


@hookimpl
def rdflive_attach(store: Any) -> None:
    """Explain why a remote store cannot be watched."""
    if isinstance(store, SPARQLStore):
        raise UnsupportedStoreError(
            f"a {type(store).__name__} cannot be watched: others can write to its endpoint unseen. Mirror "
            "it into a local graph, rdflive.mirror(graph, rdflive.endpoint(URL)), and subscribe to that"
        )
