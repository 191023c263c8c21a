"""Plans of queries that were asked before: nothing is read again where a text differs in constants alone.

Say a text has `?t :line :S1`, of which `:S1` became a parameter. Then the plan is noted under the tokens
of the text with holes for its constants, what fills the holes that are no parameters, and which hole is which
parameter. A later text with `?t :line :S2` finds the plan by that, with `:S2` as the term of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rdflib.term import Node

from rdflive.query.expressions import is_current
from rdflive.query.given import check_bindings
from rdflive.query.parse import parse_query
from rdflive.query.plan import Plan, make_plan
from rdflive.query.segment import Algorithm
from rdflive.syntax.skeleton import Skeleton, skeleton_of

__all__ = ["Asked", "find_plan"]

_MOST: Final = 1024
"""Plans that are kept; the oldest goes first."""
_Holes: TypeAlias = tuple[int | None, ...]
"""For each hole the number of the parameter that it is, None where it tells plans apart."""
_Fixed: TypeAlias = tuple[tuple[Node, str | None], ...]
"""What fills the holes that are no parameters, each with its language tag as it is written."""
_Key: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """The plan of a query, which it may share with others, and what it asks for by itself."""

    plan: Plan
    terms: tuple[Node, ...] = ()
    """The terms of its own, one for each parameter of the plan."""


_holes: Final[dict[_Key, tuple[_Holes, ...]]] = {}
_plans: Final[dict[tuple[_Key, _Holes, _Fixed], Asked]] = {}


def find_plan(
    text: str,
    *,
    init_ns: Mapping[str, Any],
    init_bindings: Mapping[str, Node] | None = None,
    algorithm: Algorithm = "auto",
    family: bool = False,
    clock: bool = False,
) -> Asked:
    """Give the plan of a query, parsed and planned unless one is known; errors are those of `parse_query`.

    With `family` the constants in which queries may differ are parameters of the plan, and so are variables
    of `init_bindings` where one can be. With a `clock` times may be compared with NOW().
    """
    check_bindings(init_bindings)
    bindings = {str(name).lstrip("?$"): term for name, term in (init_bindings or {}).items()}
    found = skeleton_of(text, init_ns)
    names = tuple(sorted(bindings))
    key = found.tokens, names, algorithm, family, clock
    fills = *found.constants, *(bindings[name] for name in names)
    for holes in _holes.get(key, ()):
        known = _plans.get((key, holes, _fixed(holes, fills)))
        if known is not None and not is_current(known.plan.query.functions):
            known = None
        terms = None if known is None else _terms(known, holes, fills, found)
        if known is not None and terms is not None:
            return Asked(known.plan, terms)
    written: list[Node] = []
    parsed = parse_query(
        text, init_ns=init_ns, init_bindings=bindings, family=family, clock=clock, constants=written
    )
    asked = Asked(make_plan(parsed, algorithm), tuple(parsed.parameters.values()))
    # of `?a -1` the skeleton has the constant -1, and the reader 1: such a text shares no plan with another
    _note(asked, key, fills, found if tuple(written) == found.constants else None, names)
    return asked


def _note(
    asked: Asked, key: _Key, fills: tuple[Node, ...], found: Skeleton | None, names: Sequence[str]
) -> None:
    query = asked.plan.query
    number = {variable: at for at, variable in enumerate(query.parameters)}
    constants = {term: number[v] for v, term in query.parameters.items() if v not in query.bound.values()}
    holes: _Holes = (
        *(
            constants.get(term) if found is not None and found.may_change(term) else None
            for term in fills[: len(fills) - len(names)]
        ),
        *(number[query.bound[name]] if name in query.bound else None for name in names),
    )
    if len(_plans) >= _MOST:
        _forget()
    _plans[key, holes, _fixed(holes, fills)] = asked
    if holes not in _holes.get(key, ()):
        _holes[key] = (*_holes.get(key, ()), holes)


def _forget() -> None:
    """Forget the oldest plan."""
    oldest, *others = list(_plans)  # listed at once: other threads note plans too
    _plans.pop(oldest, None)
    if not any(key == oldest[0] for key, _, _ in others):
        _holes.pop(oldest[0], None)


def _fixed(holes: _Holes, fills: tuple[Node, ...]) -> _Fixed:
    # to rdflib "x"@en equals "x"@EN, and LANG tells them apart
    return tuple(
        (fill, getattr(fill, "language", None))
        for hole, fill in zip(holes, fills, strict=True)
        if hole is None
    )


def _terms(known: Asked, holes: _Holes, fills: tuple[Node, ...], found: Skeleton) -> tuple[Node, ...] | None:
    """Give the terms of the parameters; None where constants are equal that were not, or the reverse."""
    terms = list(known.terms)
    filled: dict[int, Node] = {}
    for hole, fill in zip(holes, fills, strict=True):
        if hole is not None:
            if filled.setdefault(hole, fill) != fill:
                return None
            terms[hole] = fill
    written = {hole for hole in holes[: len(found.constants)] if hole is not None}
    own = {filled[hole] for hole in written}
    if len(own) < len(written) or not all(map(found.may_change, own)):
        return None
    others = (fill for hole, fill in zip(holes, found.constants, strict=False) if hole is None)
    return None if own.intersection(others) else tuple(terms)
