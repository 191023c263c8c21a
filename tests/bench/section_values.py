"""(ab) Comparisons of values by `<`, and their keys for ORDER BY, by datatype, beside rdflib's own."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from time import process_time
from typing import Any, Final

from rdflib import XSD, Literal

from bench.clock import interleave, middle, ratio, timed
from bench.page import Page
from bench.report import Section
from bench.sizes import Sizes
from rdflive.query.ordering import term_key
from rdflive.values import compare

_COUNT: Final = 20_000


def _day(random: Random) -> str:
    return f"{random.randrange(1900, 2100)}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}"


def _clock(random: Random) -> str:
    return f"T{random.randrange(24):02}:{random.randrange(60):02}:{random.randrange(60):02}"


KINDS: Final[dict[str, tuple[str, Callable[[Random], str]]]] = {
    "integer": ("integer", lambda random: str(random.randrange(10**6))),
    "decimal": ("decimal", lambda random: f"{random.randrange(10**4)}.{random.randrange(1, 10**4)}"),
    "double": ("double", lambda random: repr(random.random())),
    "float": ("float", lambda random: f"{random.random():.6f}"),
    "dateTime": ("dateTime", lambda random: f"{_day(random)}{_clock(random)}+00:00"),
    "dateTime, nanoseconds": (
        "dateTime",
        lambda random: f"{_day(random)}{_clock(random)}.{random.randrange(10**9):09}Z",
    ),
    "date": ("date", _day),
    "dayTimeDuration": (
        "dayTimeDuration",
        lambda random: f"P{random.randrange(99)}DT{random.randrange(24)}H",
    ),
}

_SHOWN = ("integer", "double", "dateTime", "dateTime, nanoseconds", "dayTimeDuration")
"""What the page shows."""
PAGE = Page(
    "ab",
    "Comparisons of values",
    "New literals are compared by `<` with each other, and given their key for ORDER BY.",
    "rdflib's own comparison takes turns with them.",
    "kind fresh key rdflib",
    lambda row: row["kind"] in _SHOWN,
)


def run(sizes: Sizes) -> Section:
    """Measure comparisons of terms that were not seen before, and of each with one constant, in CPU time."""
    section = Section(
        "values",
        "A comparison by <, and a key of ORDER BY: microseconds of CPU",
        _COUNT,
        "kind: datatype | fresh: two new terms, µs | constant: a new term and a constant, µs | "
        "of_integer: a new term and a constant, × an integer's | key: key of ORDER BY, µs | "
        "rdflib: rdflib's comparison, µs",
        repeat=sizes.repeat,
    )
    integer: list[float] = []
    for name, (datatype, write) in KINDS.items():
        seconds = interleave(_ways(datatype, write), sizes.repeat)
        integer = integer or seconds["constant"]
        section.add(
            kind=name,
            of_integer=ratio(seconds["constant"], integer),
            **{way: 1e6 * middle(found) / _COUNT for way, found in seconds.items()},
        )
    return section


def _ways(datatype: str, write: Callable[[Random], str]) -> dict[str, Callable[[int], float]]:
    def terms(number: int) -> list[Any]:
        random = Random(number)
        return [Literal(write(random), datatype=XSD[datatype], normalize=False) for _ in range(_COUNT)]

    def ways(work: Callable[[list[Any]], Any], offset: int) -> Callable[[int], float]:
        def measured(number: int) -> float:
            found = terms(3 * number + offset)
            return timed(lambda: work(found), process_time)[0]

        return measured

    def pairs(found: list[Any]) -> None:
        for one, other in zip(found[::2], found[1::2], strict=True):
            compare("<", one, other)
            compare("<", other, one)

    def constant(found: list[Any]) -> None:
        for term in found:
            compare("<", term, found[0])

    def rdflib_pairs(found: list[Any]) -> None:
        for one, other in zip(found[::2], found[1::2], strict=True):
            one < other  # noqa: B015
            other < one  # noqa: B015

    return {
        "fresh": ways(pairs, 0),
        "constant": ways(constant, 1),
        "key": ways(lambda found: [term_key(term) for term in found], 2),
        "rdflib": ways(rdflib_pairs, 0),
    }
