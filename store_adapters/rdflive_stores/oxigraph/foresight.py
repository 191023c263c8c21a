"""Finds the changes that a write will make in an Oxigraph store, before the write.

The update runs in a transaction of the store that fails at its end. Before that it passes the resulting quads
to a function, and these are compared with the quads in the store. For example, the update
`DELETE { ?t :delay ?d } WHERE { ?t :delay ?d }` passes no quad with `:delay`, so it will delete all of them.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Store, Triple

from rdflive_stores.oxigraph.changes import matching
from rdflive_stores.oxigraph.kept import KEPT
from rdflive_stores.oxigraph.request import execute, spelled
from rdflive_stores.oxigraph.update import ANYTHING, Pattern

__all__ = ["Foreseen", "foresee", "turn_unspelled"]

_STOP: Final = NamedNode("urn:x-rdflive:stop")
# names that no update uses
_SEE: Final = NamedNode(f"urn:x-rdflive:see:{uuid.uuid4().hex}")
_IN: Final = NamedNode(f"urn:x-rdflive:in:{uuid.uuid4().hex}")
"""Also the name of the default graph, which has none."""
_DONE: Final = Literal("done")
_GIVE_UP: Final = f"CREATE GRAPH {_STOP} ; CREATE GRAPH {_STOP}"
"""Makes the request fail, at its second operation at the latest."""
_NOTHING: Final = f"INSERT {{ {_STOP} {_STOP} ?nothing }}"
"""Inserts nothing, because the result of `_SEE` is unbound."""
_TURNS_GRAPHS: Final = re.compile(r"\b(CREATE|DROP|CLEAR|MOVE|COPY|ADD|LOAD|GRAPH|WITH)\b", re.IGNORECASE)
"""Words of updates that may drop or create a graph without quads, such as one that is filled and emptied."""
_DEFAULT: Final = DefaultGraph()
_NAMES: Final = ("?s", "?p", "?o")

Name: TypeAlias = NamedNode | BlankNode


class Foreseen(NamedTuple):
    """The changes that a write will make."""

    went: list[Quad]
    came: list[Quad]
    dropped: list[Name]
    """Names of graphs that will be dropped, with or without quads."""
    made: list[Name]

    @property
    def graphs(self) -> list[str]:
        """The updates that drop and create the graphs whose names SPARQL can spell."""
        turned = [("DROP", self.dropped), ("CREATE", self.made)]
        texts = [f"{verb} SILENT GRAPH {name}" for verb, names in turned for name in names if spelled(name)]
        return [" ;\n".join(texts)] if texts else []


def turn_unspelled(native: Store, dropped: Iterable[Name], made: Iterable[Name]) -> None:
    """Drop and create the graphs that no update can name: blank nodes, and IRIs from lenient parsers."""
    for names, turn in ((dropped, native.remove_graph), (made, native.add_graph)):
        for name in names:
            if not spelled(name):
                turn(name)


def foresee(
    native: Store,
    updates: Sequence[str],
    patterns: Iterable[Pattern],
    went: Iterable[Quad] = (),
    came: Iterable[Quad] = (),
    *,
    hide_kept: bool = False,
    **options: Any,
) -> Foreseen:
    """Return the changes that updates, and then changes of quads, would make to the quads of some patterns.

    `options` are those of `Store.update`. Errors of the store for the updates are raised.
    """
    patterns = _readable(patterns)
    turns_graphs = any(_TURNS_GRAPHS.search(text) for text in updates)
    seen: list[Any] = []
    functions = {**(options.get("custom_functions") or {}), _SEE: seen.append}
    then = [f"{_NOTHING} WHERE {{ {where} }}" for where in _looks(patterns)]
    if turns_graphs:
        then.append(f"{_NOTHING} WHERE {{ GRAPH ?g {{}} BIND({_SEE}(?g) AS ?nothing) }}")
    then += [f"{_NOTHING} WHERE {{ BIND({_SEE}({_DONE}) AS ?nothing) }}", _GIVE_UP]
    try:
        execute(
            native,
            updates,
            went,
            came,
            hide_kept=hide_kept,
            then=then,
            **{**options, "custom_functions": functions},
        )
    except RuntimeError:
        if not seen or seen[-1] != _DONE:
            raise
    now = {_quad(each) for each in seen if isinstance(each, Triple) and each.subject != KEPT}
    gone = []
    for quad in {quad for pattern in patterns for quad in matching(native, pattern)}:
        if quad in now:
            now.remove(quad)
        else:
            gone.append(quad)
    names = {each for each in seen if isinstance(each, NamedNode | BlankNode) and each != KEPT}
    before = {name for name in native.named_graphs() if name != KEPT} if turns_graphs else set()
    return Foreseen(gone, list(now), list(before - names), list(names - before))


def _readable(patterns: Iterable[Pattern]) -> list[Pattern]:
    """Return patterns that SPARQL can spell, and that match at least the same quads."""
    listed = list(dict.fromkeys(patterns))
    constants = {term for pattern in listed for term in pattern if term is not None and term != _DEFAULT}
    return [ANYTHING] if ANYTHING in listed or None in map(spelled, constants) else listed


def _looks(patterns: list[Pattern]) -> Iterator[str]:
    """Write the graph patterns that pass the matching quads to the function."""
    triples: list[str] = []
    quads: list[str] = []
    for s, p, o, graph in patterns:
        if None not in (s, p, o, graph):
            (triples if graph == _DEFAULT else quads).append(" ".join(map(_text, (s, p, o, graph))))
            continue
        places = [name if term is None else str(term) for term, name in zip((s, p, o), _NAMES, strict=True)]
        if graph is None or graph == _DEFAULT:
            yield f"{' '.join(places)} {_see(places, _IN)}"
        if graph != _DEFAULT:
            at = "?g" if graph is None else graph
            yield f"GRAPH {at} {{ {' '.join(places)} }} {_see(places, at)}"
    if triples:
        yield f"VALUES (?s ?p ?o) {{ {_rows(triples)} }} ?s ?p ?o {_see(_NAMES, _IN)}"
    if quads:
        yield f"VALUES (?s ?p ?o ?g) {{ {_rows(quads)} }} GRAPH ?g {{ ?s ?p ?o }} {_see(_NAMES, '?g')}"


def _rows(texts: Iterable[str]) -> str:
    return " ".join(f"({text})" for text in texts)


def _text(term: Any) -> str:
    return "" if term == _DEFAULT else str(term)


def _see(triple: Iterable[str], graph: Any) -> str:
    """Write the call that passes a quad as one term: a triple whose object is a triple.

    The function is no Python code, because Ctrl-C inside Python code would become an error of SPARQL.
    """
    return f"BIND({_SEE}(TRIPLE({graph}, {_IN}, TRIPLE({', '.join(triple)}))) AS ?nothing)"


def _quad(seen: Triple) -> Quad:
    within: Any = seen.object
    graph: Any = _DEFAULT if seen.subject == _IN else seen.subject
    return Quad(within.subject, within.predicate, within.object, graph)
