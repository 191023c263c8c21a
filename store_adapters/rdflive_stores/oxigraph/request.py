"""Several SPARQL updates and changes of quads as one atomic native request.

INSERT DATA renames blank nodes, and DELETE DATA refuses them. So quads with blank nodes, and terms that
SPARQL text cannot safely express, are passed by number through custom functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Store

from rdflive.store import WriteRefusedError
from rdflive_stores.oxigraph.kept import KEPT, kept_quads

__all__ = ["execute", "spelled"]

_TRIPLE: Final = NamedNode("urn:x-rdflive:triple")
_GRAPH: Final = NamedNode("urn:x-rdflive:graph")
_DEFAULT: Final = DefaultGraph()
_DROP: Final = f"DROP SILENT GRAPH {KEPT}"

_IRI: Final = r'<[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>"{}|^`\\]*>'
_STRING: Final = r'"[^"\\\n\r]*(?:\\.[^"\\\n\r]*)*"'
_LITERAL: Final = rf"{_STRING}(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^{_IRI})?"
_GROUND: Final = re.compile(rf"({_IRI} {_IRI} (?:{_IRI}|{_LITERAL}))(?: ({_IRI}))?")
"""A quad printed by pyoxigraph that SPARQL reads as the same quad."""
_TERM: Final = re.compile(rf"{_IRI}|{_LITERAL}")


def execute(
    native: Store,
    updates: Sequence[str],
    went: Iterable[Quad] = (),
    came: Iterable[Quad] = (),
    *,
    hide_kept: bool = False,
    then: Sequence[str] = (),
    **options: Any,
) -> None:
    """Run updates, then delete and insert quads, in one transaction; errors of the store are raised.

    The updates are `Request.texts`, or other updates without prologue. With `hide_kept` the updates see no
    reserved graph and cannot change it; only the given quads can. `then` are operations that run at the end.
    `options` are those of `Store.update`. Raises WriteRefusedError for an update in Oxigraph's own syntax
    that cannot be part of a larger request.
    """
    went, came = list(went), list(came)
    if len(updates) == 1 and not (went or came or hide_kept or then):
        native.update(updates[0], **options)
        return
    if hide_kept:
        # before the updates, so that they do not see the graph, and after them, to remove their quads in it
        updates = [_DROP, *updates, _DROP]
        came = [*dict.fromkeys([*kept_quads(native), *came]).keys() - set(went)]
    try:
        _run(native, updates, went, came, _ground, then, options)
    except SyntaxError:  # the updates are valid, so a term comes from a lenient parser
        try:
            _run(native, updates, went, came, _never, then, options)
        except SyntaxError as error:
            raise WriteRefusedError(
                "an update that is neither SPARQL 1.1 nor 1.2 has to run with others here: write it without "
                f"PREFIX, BASE and a semicolon at its end ({error})"
            ) from error


_Spell: TypeAlias = Callable[[Quad], str | None]


def _run(
    native: Store,
    updates: Sequence[str],
    went: list[Quad],
    came: list[Quad],
    spell: _Spell,
    then: Sequence[str],
    options: Mapping[str, Any],
) -> None:
    numbered: list[Quad] = []
    changes = (*_changes("DELETE", went, spell, numbered), *_changes("INSERT", came, spell, numbered), *then)
    triples = {Literal(number): quad.triple for number, quad in enumerate(numbered)}
    graphs = {Literal(number): quad.graph_name for number, quad in enumerate(numbered)}
    functions = {
        **(options.get("custom_functions") or {}),
        # no Python code: Ctrl-C inside it would become an error of SPARQL, and a quad would be left out
        _TRIPLE: triples.__getitem__,
        _GRAPH: graphs.__getitem__,
    }
    # after line feeds, because an update may end in a comment
    text = "\n;\n".join(filter(None, (*updates, *changes)))
    native.update(text, **{**options, "custom_functions": functions})


def _changes(verb: str, quads: Iterable[Quad], spell: _Spell, numbered: list[Quad]) -> Iterator[str]:
    """Write the operations that insert or delete quads, and number the quads that SPARQL cannot spell."""
    spelled: list[str] = []
    rest: dict[bool, list[str]] = {False: [], True: []}
    for quad in quads:
        text = spell(quad)
        if text is not None:
            spelled.append(text)
        else:
            rest[quad.graph_name == _DEFAULT].append(str(len(numbered)))
            numbered.append(quad)
    if spelled:
        yield f"{verb} DATA {{\n" + "\n".join(spelled) + "\n}"
    for is_default, numbers in rest.items():
        if numbers:
            template = "?s ?p ?o" if is_default else "GRAPH ?g { ?s ?p ?o }"
            yield f"{verb} {{ {template} }} WHERE {{ VALUES ?i {{ {' '.join(numbers)} }} {_TERMS} }}"


_TERMS: Final = (
    f"BIND({_TRIPLE}(?i) AS ?t) BIND(SUBJECT(?t) AS ?s) BIND(PREDICATE(?t) AS ?p) BIND(OBJECT(?t) AS ?o) "
    f"BIND({_GRAPH}(?i) AS ?g)"
)


def spelled(term: Any) -> str | None:
    """Return the text of an IRI or a literal; None if SPARQL would not read the same term from it."""
    text = str(term)
    return text if _TERM.fullmatch(text) else None


def _ground(quad: Quad) -> str | None:
    """Write a quad for a data block; None if it has a blank node or an unusual term."""
    match = _GROUND.fullmatch(str(quad))
    if match is None:
        return None
    triple, graph = match.groups()
    return f"{triple} ." if graph is None else f"GRAPH {graph} {{ {triple} }}"


def _never(quad: Quad) -> None:
    """Return None, so that every quad is passed by number."""
