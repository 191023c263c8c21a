"""owlrl: the RDFS closure of a graph in Python, from scratch, at a size that it can manage."""

from __future__ import annotations

import json
import sys
from typing import Any

import rdflive
from bench.bibliography import SCHEMA, instances, to_graph
from bench.clock import timed

__all__ = ["owlrl_seconds"]


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


def main() -> None:
    """Read the task from standard input and print the row."""
    count = json.load(sys.stdin)["count"]
    graph = to_graph([*SCHEMA, *instances(count)])
    rdflive.saturate(graph).close()  # loads what is loaded once
    seconds, saturated = timed(lambda: rdflive.saturate(graph))
    saturated.close()
    row: dict[str, Any] = {"what": "bulk saturation", "triples": count, "unit": "s", "rdflive": seconds}
    theirs = owlrl_seconds(to_graph([*SCHEMA, *instances(count)]))
    if not isinstance(theirs, str):
        row["owlrl"] = theirs
    print(json.dumps({"row": row}))


if __name__ == "__main__":
    main()
