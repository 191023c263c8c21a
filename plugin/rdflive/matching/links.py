"""Generated code for events of one shape: their links, and the solutions of events with the same links.

See `shapes.py` for what shapes and links are. In the code, `s3`, `p3` and `o3` are the terms of the triple at
position 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rdflive.engine.source import Source
from rdflive.matching.automaton import Automaton
from rdflive.matching.filters import write_test
from rdflive.matching.libraries import Library
from rdflive.matching.views import names_of, write_entry
from rdflive.query.bgp import TriplePattern, Variable

__all__ = ["Answer", "Shape", "write_answer", "write_links"]

_MOST: Final = 64
"""Code is written for events with up to this many solutions, before filters."""

_PARTS: Final = {"s": "subject", "p": "predicate", "o": "object"}

Shape: TypeAlias = tuple[Any, ...]
"""The predicates of an event's triples, in order."""
Answer: TypeAlias = Callable[..., "Sequence[list[Any]] | None"]
Entries: TypeAlias = list[list[int]]
"""Per pattern of an automaton, the positions of the triples with its predicate."""
Chosen: TypeAlias = tuple[int, ...]
"""Per pattern of an automaton, the position of its triple in one solution."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """What the patterns read of a shape."""

    entries: list[Entries]
    """Per automaton."""
    terms: tuple[str, ...]
    """The names of all terms that are read."""
    linked: tuple[str, ...]
    """The names of those terms that patterns join."""


def write_links(
    automata: Sequence[Automaton],
    library: Library,
    shape: Shape,
    answers: Mapping[tuple[int, ...], Answer],
    learn: Callable[..., None],
) -> Answer:
    """Generate the function that finds the links of events of one shape, and calls the code for these links.

    Links without code are passed to `learn`, with the terms.
    """
    layout = _layout(automata, library, shape)
    source = Source("def answer(triples):")
    for place in sorted({int(name[1:]) for name in layout.terms}):
        if library.has_parts:
            source.line(f"t = triples[{place}]")
            for name in layout.terms:
                if int(name[1:]) == place:
                    source.line(f"{name} = t.{_PARTS[name[0]]}")
        else:
            source.line(f"s{place}, p{place}, o{place} = triples[{place}]")
    source.line("first = {}.setdefault")
    # per term the place of the first equal one: the terms (b, c, b) give the links (0, 1, 0)
    source.line(f"links = ({''.join(f'first({name}, {i}), ' for i, name in enumerate(layout.linked))})")
    source.line(f"code = {source.name(answers.get)}(links)")
    terms = ", ".join(layout.terms)
    # `learn` gives None, so this event is joined in the general way
    source.line(f"if code is None: return {source.name(learn)}(links, {terms})")
    source.line(f"return code({terms})")
    return source.function("answer")


def _layout(automata: Sequence[Automaton], library: Library, shape: Shape) -> _Layout:
    entries: list[Entries] = []
    terms: dict[str, None] = {}
    linked: dict[str, None] = {}
    for automaton in automata:
        found = [_places(pattern, shape, library) for pattern in automaton.patterns]
        entries.append(found)
        for pattern, places in zip(automaton.patterns, found, strict=True):
            roles = "spo" if isinstance(pattern.predicate, Variable) else "so"
            terms.update(dict.fromkeys(f"{role}{place}" for place in places for role in roles))
            # a pattern without a triple means no solution, so the links of the others need not be told apart
            if all(found):
                for place in places:
                    names = names_of(pattern, str(place))
                    linked.update(dict.fromkeys(names[v] for v in names if v in automaton.joining))
    return _Layout(entries, tuple(terms), tuple(linked))


def _places(pattern: TriplePattern, shape: Shape, library: Library) -> list[int]:
    """Give the positions of the triples that have a pattern's predicate."""
    if isinstance(pattern.predicate, Variable):
        return list(range(len(shape)))
    native = library.to_native(pattern.predicate)
    return [place for place, predicate in enumerate(shape) if predicate == native]


def write_answer(
    automata: Sequence[Automaton],
    shown: Sequence[Sequence[Any]],
    library: Library,
    shape: Shape,
    links: tuple[int, ...],
    sample: Sequence[Any],
) -> Answer:
    """Generate the function that answers events of one shape with the same links, from their terms.

    `sample` are the terms of one such event; others with terms of the same types are answered fastest.
    """
    layout = _layout(automata, library, shape)
    classes: dict[str, Any] = dict(zip(layout.linked, links, strict=True))
    chosen: list[list[Chosen]] = []
    for automaton, entries in zip(automata, layout.entries, strict=True):
        found = _solutions(automaton, _distinct(entries, shape, classes), classes)
        if found is None:
            return _unanswered
        chosen.append(found)
    source = Source(f"def answer({', '.join(layout.terms)}):")
    _write_types(source, library, layout, links, sample)
    _write_distinct(source, shape, chosen, classes)
    for i, (automaton, found) in enumerate(zip(automata, chosen, strict=True)):
        source.line(f"r{i} = []")
        _Writer(source, automaton, shown[i], library).write(found, f"r{i}")
    source.line(f"return ({''.join(f'r{i}, ' for i in range(len(automata)))})")
    return source.function("answer")


def _unanswered(*_: Any) -> None:
    """Leave the event to the general way: there would be too many solutions to generate code for."""


def _distinct(entries: Entries, shape: Shape, classes: Mapping[str, Any]) -> Entries:
    """Leave out triples that are certainly equal to an earlier one."""

    def kept(places: list[int]) -> list[int]:
        first: dict[Any, int] = {}
        for place in places:
            key = (shape[place], classes.get(f"s{place}", f"s{place}"), classes.get(f"o{place}", f"o{place}"))
            first.setdefault(key, place)
        return list(first.values())

    return [kept(places) for places in entries]


def _solutions(automaton: Automaton, entries: Entries, classes: Mapping[str, Any]) -> list[Chosen] | None:
    """Join the patterns by equality of terms alone; None if there are too many solutions."""
    found: list[tuple[dict[int, int], dict[Variable, Any]]] = [({}, {})]
    for i in automaton.order([len(places) for places in entries]):
        found = [
            ({**chosen, i: place}, {**bound, **own})
            for chosen, bound in found
            for place in entries[i]
            for own in [
                {v: classes.get(n, n) for v, n in names_of(automaton.patterns[i], str(place)).items()}
            ]
            if all(bound.get(v, c) == c for v, c in own.items())
        ]
        if len(found) > _MOST:
            return None
    return [tuple(chosen[i] for i in range(len(entries))) for chosen, _ in found]


def _write_types(
    source: Source, library: Library, layout: _Layout, links: tuple[int, ...], sample: Sequence[Any]
) -> None:
    """Write the test that leaves events with terms of other types than the library's to the general way.

    That way reports them as errors. The types of the sample are compared first, and of equal terms only one.
    """
    if library.has_parts or not layout.terms:
        return
    equal = {name for i, (name, link) in enumerate(zip(layout.linked, links, strict=True)) if link != i}
    kinds: dict[type, list[str]] = {}
    for name, term in zip(layout.terms, sample, strict=True):
        if name not in equal:
            kinds.setdefault(type(term), []).append(f"type({name})")
    tests = [f"{source.name(kind)} is {' is '.join(names)}" for kind, names in kinds.items()]
    subjects = [term for name, term in zip(layout.terms, sample, strict=True) if name[0] == "s"]
    if not (library.subjects.issuperset(map(type, subjects)) and library.terms.issuperset(map(type, sample))):
        tests = ["False"]
    accepted = []
    for types, roles in ((library.subjects, "s"), (library.terms, "spo")):
        terms = "".join(f"{name}, " for name in layout.terms if name[0] in roles)
        accepted.append(f"{source.name(types)}.issuperset(map(type, ({terms})))")
    source.line(f"if not ({' and '.join(tests)} or {' and '.join(accepted)}): return None")


def _write_distinct(
    source: Source, shape: Shape, chosen: Sequence[Sequence[Chosen]], classes: Mapping[str, Any]
) -> None:
    """Write the test that leaves events with a repeated triple to the general way."""
    used = sorted({place for found in chosen for places in found for place in places})
    groups: dict[Any, list[int]] = {}
    for place in used:
        groups.setdefault((shape[place], classes.get(f"s{place}")), []).append(place)
    for (_, subject), places in groups.items():
        is_listed = all(f"o{place}" in classes for place in places)
        if len(places) == 1 or (subject is not None and is_listed):
            continue
        texts = [f"o{place}" if subject is not None else f"(s{place}, o{place})" for place in places]
        source.line(f"if len({{{', '.join(texts)}}}) < {len(places)}: return None")


class _Writer:
    """Writes the solutions of one automaton."""

    def __init__(self, source: Source, automaton: Automaton, shown: Sequence[Any], library: Library) -> None:
        self.source = source
        self.automaton = automaton
        self.shown = shown
        self.library = library
        self.rest = (*(c.condition for c in automaton.comparisons), *automaton.conditions)
        self.tests: dict[tuple[int, int], str] = {}

    def write(self, found: Sequence[Chosen], rows: str) -> None:
        """Write the code that adds the rows of the solutions that pass their tests."""
        for chosen in found:
            names: dict[Variable, str] = {}
            for pattern, place in zip(self.automaton.patterns, chosen, strict=True):
                names = {**names_of(pattern, str(place)), **names}
            tests = [test for i, place in enumerate(chosen) if (test := self._entry(i, place, found))]
            tests += [write_test(self.source, c, names, self.library) for c in self.rest]
            parts = [names[v] if isinstance(v, Variable) else self.source.name(v) for v in self.shown]
            guard = f"if {' and '.join(tests)}: " if tests else ""
            self.source.line(f"{guard}{rows}.append(({''.join(f'{part}, ' for part in parts)}))")

    def _entry(self, i: int, place: int, found: Sequence[Chosen]) -> str:
        """Write the test that lets a triple into a view, once for all its solutions."""
        if (i, place) in self.tests:
            return self.tests[i, place]
        pattern, filters = self.automaton.patterns[i], self.automaton.filters[i]
        text = " and ".join(
            write_entry(self.source, self.library, pattern, filters, str(place), is_known=True)
        )
        # a triple in several solutions is tested once
        if text and sum(chosen[i] == place for chosen in found) > 1:
            name = f"e{i}_{place}"
            self.source.line(f"{name} = {text}")
            text = name
        self.tests[i, place] = text
        return text
