"""Others that materialise a graph from scratch: reasonable, OWL 2 RL in Rust, and owlrl, RDFS in Python."""

from __future__ import annotations

from typing import Any

from bench.clock import timed

__all__ = ["owlrl_seconds", "reasonable_seconds"]


def owlrl_seconds(graph: Any) -> float | str:
    """Give the seconds of the closure; a text says why it cannot be had."""
    try:
        import owlrl
    except ImportError as error:
        return f"owlrl cannot be imported: {error}"
    before = len(graph)
    seconds, _ = timed(lambda: owlrl.DeductiveClosure(owlrl.RDFS_Semantics).expand(graph))
    if len(graph) <= before:
        raise AssertionError("owlrl inferred nothing")
    return seconds


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
