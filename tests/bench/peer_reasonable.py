"""reasonable: an OWL 2 RL reasoner in Rust, which materialises a graph from scratch."""

from __future__ import annotations

from typing import Any

from bench.clock import timed

__all__ = ["reasonable_seconds"]


def reasonable_seconds(graph: Any) -> float | str:
    """Give the seconds that it takes to read an rdflib graph and to reason; a text says why it cannot."""
    try:
        import reasonable
    except ImportError as error:
        return f"reasonable cannot be imported: {error}"
    reasoner = reasonable.PyReasoner()

    def materialise() -> int:
        reasoner.from_graph(graph)
        return len(reasoner.reason())

    seconds, count = timed(materialise)
    if count < len(graph):
        raise AssertionError(f"reasonable gave {count:,} of {len(graph):,} triples")
    return seconds
