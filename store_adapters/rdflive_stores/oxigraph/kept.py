"""The reserved graph of an Oxigraph store, which holds the texts that feeds keep beside the data.

An entry is a quad: the feed's name, the key, and the text as JSON, which can represent any Python string.
From the second text of a key on, a number follows the JSON. Of several quads for a key the one with the
highest number is valid. So one insert replaces a text, and the older quad can be deleted later. Testing if
the graph exists takes a fraction of the time of any other operation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias
from urllib.parse import quote, unquote

from pyoxigraph import Literal, NamedNode, Quad, Store

from rdflive.store import WriteRefusedError
from rdflive_stores.oxigraph.update import Request

__all__ = [
    "KEPT", "MARK", "KeptQuads", "has_kept", "kept_entries", "kept_quads", "may_meet_kept", "refuse_kept",
]  # fmt: skip

KEPT: Final = NamedNode("urn:x-rdflive:kept")
"""The name of the reserved graph."""

MARK: Final = NamedNode("urn:x-rdflive:commit")
"""The subject of the number of the last commit, which is no text of a feed."""

_NAME: Final = "urn:x-rdflive:name:"
_KEY: Final = "urn:x-rdflive:key:"
_HINT: Final = "x-rdflive"
"""Part of the reserved name. A text that names the graph contains it literally."""
_decode: Final = json.JSONDecoder().raw_decode


def has_kept(native: Store) -> bool:
    """True if the store has the reserved graph, which must be hidden."""
    return native.contains_named_graph(KEPT)


def kept_quads(native: Store) -> list[Quad]:
    """List the quads of the reserved graph."""
    return list(native.quads_for_pattern(None, None, None, KEPT))


def kept_entries(native: Store, name: str) -> dict[str, str]:
    """Return the texts kept under a name, by key; raises WriteRefusedError if a key has two valid texts."""
    quads: Iterable[Any] = native.quads_for_pattern(_iri(_NAME, name), None, None, KEPT)
    return {key: _read(found[-1])[1] for (_, key), found in _by_place(quads).items()}


_Place: TypeAlias = tuple[str, str]
"""A name and a key."""
_Places: TypeAlias = dict[_Place, list[Quad]]
"""The quads of each place; the last one is valid."""


class KeptQuads:
    """A cache of the quads of the reserved graph, by name and key.

    Without it, an in-memory Oxigraph would scan all deleted quads at each look-up: the old cursors of a whole
    feed.
    """

    def __init__(self) -> None:
        self._quads: _Places | None = None

    def replaced(self, native: Store, name: str, keep: Mapping[str, str | None]) -> tuple[_Places, _Places]:
        """Return the quads to delete and to insert, by place, in order to keep texts under a name."""
        places = {(name, key): text for key, text in keep.items()}
        held = self._follow(native, places)
        went: _Places = {}
        came: _Places = {}
        for place, text in places.items():
            old = held.get(place, [])
            if len(old) != 1 or text is None or _read(old[0])[1] != text:
                if old:
                    went[place] = old
                if text is not None:
                    came[place] = [_quad(place, text, old)]
        return went, came

    @contextmanager
    def following(self, went: _Places, came: _Places) -> Iterator[None]:
        """Update the cache after the block has written the changes; if it raises, the quads are read again.

        Ctrl-C may come at any moment, so the cache is empty between the two assignments.
        """
        quads, self._quads = self._quads, None
        yield
        if quads is not None:
            for place in went:
                del quads[place]
            quads.update(came)
        self._quads = quads

    def forget(self) -> None:
        """Empty the cache, because another stand-in may have written quads."""
        self._quads = None

    def _follow(self, native: Store, places: Iterable[_Place]) -> _Places:
        """Return all quads; they are read again if the store lacks a cached quad of one of these places."""
        quads = self._quads
        if quads is None or any(quad not in native for place in places for quad in quads.get(place, ())):
            quads = self._quads = _by_place(kept_quads(native))
        return quads


def _by_place(quads: Iterable[Any]) -> _Places:
    """Group the quads by name and key; raises WriteRefusedError if two have the highest number."""
    places: _Places = {}
    for quad in quads:
        if quad.subject == MARK:
            continue
        places.setdefault(_place(quad), []).append(quad)
    for (name, key), found in places.items():
        if len(found) > 1:
            found.sort(key=_read)
            (number, text), (other, other_text) = map(_read, found[-2:])
            if number == other:
                raise WriteRefusedError(
                    f"the store keeps two texts of {name!r} for {key!r}, {text!r} and {other_text!r}: "
                    "several stand-ins wrote to one store; remove the older quad from the graph "
                    f"{KEPT} of the native store, or mirror again under another name"
                )
    return places


def _quad(place: _Place, text: str, old: Sequence[Any]) -> Quad:
    """Return the quad of a text; it reuses the terms of the quad that it replaces."""
    subject = old[-1].subject if old else _iri(_NAME, place[0])
    predicate = old[-1].predicate if old else _iri(_KEY, place[1])
    number = f" {_read(old[-1])[0] + 1}" if old else ""
    return Quad(subject, predicate, Literal(json.dumps(text) + number), KEPT)


def _read(quad: Any) -> tuple[int, str]:
    """Return the number of a quad, and its text."""
    text, end = _decode(quad.object.value)
    return int(quad.object.value[end:] or 0), text


def _place(quad: Any) -> _Place:
    subject, predicate = quad.subject.value, quad.predicate.value
    return _unquoted(subject.removeprefix(_NAME)), _unquoted(predicate.removeprefix(_KEY))


def refuse_kept(graph: Any) -> None:
    """Raise WriteRefusedError if a graph is the reserved one."""
    if graph == KEPT:
        raise WriteRefusedError(
            f"{KEPT} is reserved: rdflive keeps the cursors of mirrored feeds in that graph; write to a "
            "graph of another name"
        )


def may_meet_kept(native: Store, request: Request) -> bool:
    """True if SPARQL updates may read, change or create the reserved graph without naming it.

    Raises WriteRefusedError for updates that name it.
    """
    # the store itself refuses a text that is no string
    if not has_kept(native) and not any(_HINT in str(text) for text in request.updates):
        return False
    graphs = request.graphs
    for name in graphs:
        refuse_kept(name)
    return None in graphs


def _iri(prefix: str, text: str) -> NamedNode:
    return NamedNode(prefix + quote(text, safe="", errors="surrogatepass"))


def _unquoted(text: str) -> str:
    return unquote(text, errors="surrogatepass")
