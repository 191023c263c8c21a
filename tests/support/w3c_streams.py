"""W3C tests as streams of micro-batches, and the right answer after each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from rdflib import Literal

from rdflive.feeds.terms import RowReader, write_term
from support.effort import drawn_from
from support.one_process import Row
from support.solutions import State, folded, isomorphic, row
from support.w3c import Case, Quad
from support.w3c_exceptions import NOT_THE_RESULT
from support.w3c_world import ENGINES, World, full

__all__ = ["Step", "answers", "check", "draw_steps", "written"]

Step: TypeAlias = "list[tuple[str, Quad]]"
"""The operations of a micro-batch, A or D, in order."""


def draw_steps(case: Case) -> list[Step]:
    """Draw the micro-batches of a test's data: inserts with some deletes, and finally deletes of all."""
    draw, quads = drawn_from(case.id, "steps"), case.shuffled("stream")
    cuts = sorted(draw.randint(0, len(quads)) for _ in range(draw.randrange(3)))
    steps: list[Step] = []
    for begin, end in zip([0, *cuts], [*cuts, len(quads)], strict=True):
        gone = draw.sample(quads[:begin], min(begin, draw.randint(0, 3)))
        steps.append([("D", quad) for quad in gone] + [("A", quad) for quad in quads[begin:end]])
    # insert present and deleted quads once more
    steps.append([("A", quad) for quad in quads])
    draw.shuffle(quads)
    half = draw.randint(0, len(quads))
    return [*steps, *([("D", quad) for quad in part] for part in (quads[:half], quads[half:]))]


def written(step: Step) -> Iterator[tuple[str, str, str, str, str]]:
    """Write operations as changes on Spark, with an empty text for the default graph."""
    for op, quad in step:
        s, p, o, graph = ("" if term is None else write_term(term) for term in quad)
        yield op, s, p, o, graph


def answers(case: Case, steps: Iterable[Step]) -> Iterator[State]:
    """Yield the answer after each step: Oxigraph's, or rdflib's if one of the two stores other data.

    Like Spark, rdflib distinguishes the terms that Oxigraph identifies.
    """
    is_held = NOT_THE_RESULT.keys().isdisjoint((case.id, engine) for engine in ENGINES)
    world = World(case, "oxigraph" if is_held else "memory")
    for step in steps:
        for op, quad in step:
            world.write(1 if op == "A" else -1, quad)
        found = full(world)
        yield found if isinstance(found, bool) else found.copy()


def check(expected: State, names: Sequence[str], total: Counter[Row]) -> None:
    """Compare the sum of deltas, in columns of these names, with an answer."""
    assert min(total.values(), default=1) > 0, "no solution is there less than once"
    rows = (zip(names, map(_term, texts), strict=True) for texts in total.elements())
    found = bool(total) if isinstance(expected, bool) else Counter(map(row, rows))
    assert isomorphic(folded(found), folded(expected)), (
        f"the deltas add up to {found}, but the answer is {expected}"
    )


def _term(text: str | None) -> Any:
    term = None if text is None else RowReader(text).term("term")
    # spelt as rdflib spells the terms of Oxigraph
    return Literal(str(term), term.language, term.datatype) if isinstance(term, Literal) else term
