"""Example queries for unknown data, and a test for queries that open quickly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import chain, count
from typing import Any, Final

import rdflib
from rdflib.namespace import RDF
from rdflib.term import Identifier

from rdflive.errors import QuerySyntaxError
from rdflive.model.term_text import is_writable
from rdflive.server.slices import QuadSlices
from rdflive.server.sparql.updating import FEW, has_few_matches
from rdflive.syntax.prefixes import bound_prefixes
from rdflive.syntax.reader import read_query
from rdflive.syntax.tree import Tree

__all__ = ["class_query", "node_query", "opens_quickly"]

_PLAIN: Final = frozenset({"modifier", "projection", "where"})
"""The parts of a query without cost."""


def opens_quickly(dataset: rdflib.Dataset, query: str, most: int = FEW) -> bool:
    """Return True if a query is one triple pattern with few matches, and no more than `most`.

    Waits for the store's lock. Returns False in doubt.

    >>> opens_quickly(rdflib.Dataset(), "SELECT * { ?train <urn:delay> ?minutes }")
    True
    >>> opens_quickly(rdflib.Dataset(), "SELECT * { ?train <urn:delay> ?minutes FILTER(?minutes > 5) }")
    False
    """
    try:
        pattern = _only_pattern(read_query(query, bound_prefixes(dataset)).query)
    except QuerySyntaxError:
        return False
    if pattern is None:
        return False
    # an upper bound, as it counts in all graphs
    return has_few_matches(dataset, pattern, min(FEW, most))


def _only_pattern(query: Tree) -> Any:
    """Return the triple pattern of a query that consists of one; None for other queries."""
    if query.name not in ("SelectQuery", "AskQuery") or not query.fields.keys() <= _PLAIN:
        return None
    if any(part.evar for part in query.projection or ()):
        return None
    triples = [triple for part in query.where.part or () for triple in part.triples or (None,)]
    is_plain = len(triples) == 1 and all(isinstance(term, Identifier) for term in triples[0] or (None,))
    return triples[0] if is_plain else None


_TYPE: Final = str(RDF.type)
_FEW_USES: Final = 1_000
"""The most instances of a suggested class."""
_TRIED: Final = 10
"""The most classes that are tried."""
_LOOKED_AT: Final = 20
"""The most instances whose predicates are read."""
_WIDE: Final = 100
"""The most triples that are read of an instance, and that the node of `node_query` may have."""
_COLUMNS: Final = 3
_LOCAL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def class_query(slices: QuadSlices, classes: Mapping[str, int], prefixes: Mapping[str, str]) -> str:
    """Return a query of the instances of a class with their usual predicates; "" without such a class.

    The class is the most used one with few instances, some of which a query can see: `classes` counts in all
    graphs, but a query may read only one. For trains that all have a delay, and some a label, the pattern is
    `?train a :Train . ?train :delay ?delay . OPTIONAL { ?train rdfs:label ?label }`.
    """
    few = [iri for iri, uses in classes.items() if uses <= _FEW_USES]
    likely = nlargest(_TRIED, few, key=lambda iri: (classes[iri], iri))
    return next(filter(None, (_query_of_class(slices, iri, prefixes) for iri in likely)), "")


def _query_of_class(slices: QuadSlices, chosen: str, prefixes: Mapping[str, str]) -> str:
    """Return the query of one class; "" if a query sees no instance with an IRI."""
    things = slices.take(slices.match(None, _TYPE, chosen), _LOOKED_AT)
    subjects = [slices.iri(triple[0]) for triple in things]
    having: Counter[str] = Counter()
    uses: Counter[str] = Counter()
    literals: Counter[str] = Counter()
    looked_at = [subject for subject in subjects if subject]
    if not looked_at:
        return ""
    for subject in looked_at:
        triples = slices.take(slices.match(subject, None, None), _WIDE)
        predicates = [slices.iri(triple[1]) for triple in triples]
        having.update(set(predicates))
        uses.update(predicates)
        literals.update(slices.iri(triple[1]) for triple in triples if not slices.iri(triple[2]))
    # single-valued, or the rows would be all combinations of values
    usual = [iri for iri in having if uses[iri] == having[iri] and iri != _TYPE and is_writable(iri)]
    usual.sort(key=lambda iri: (-having[iri], -literals[iri], iri))
    columns = usual[:_COLUMNS]
    names = _names([chosen, *columns])
    thing = names[0]
    lines = [f"  ?{thing} a {_short(chosen, prefixes)} ."]
    for iri, name in zip(columns, names[1:], strict=True):
        pattern = f"?{thing} {_short(iri, prefixes)} ?{name}"
        lines.append(f"  {pattern} ." if having[iri] == len(looked_at) else f"  OPTIONAL {{ {pattern} }}")
    title = " with ".join([_word(chosen) or "Thing", *([", ".join(names[1:])] if columns else [])])
    return _query(title, names, lines, [chosen, *columns], prefixes)


def node_query(slices: QuadSlices, triples: Iterable[Sequence[Any]], prefixes: Mapping[str, str]) -> str:
    """Return a query of the triples of one of the subjects; "" if none is suitable."""
    subjects = dict.fromkeys(slices.iri(triple[0]) for triple in triples)
    for subject in [iri for iri in subjects if is_writable(iri)][:_LOOKED_AT]:
        said = slices.take(slices.match(subject, None, None), _WIDE + 1)
        if 0 < len(said) <= _WIDE:
            title = f"Triples of {_word(subject) or 'a node'}"
            line = f"  {_short(subject, prefixes)} ?property ?value"
            return _query(title, ["property", "value"], [line], [subject], prefixes)
    return ""


def _query(
    title: str, names: Iterable[str], lines: Iterable[str], iris: Iterable[str], prefixes: Mapping[str, str]
) -> str:
    used = {prefix for iri in iris for prefix in [_prefix(iri, prefixes)] if prefix is not None}
    declared = [f"PREFIX {prefix}: <{prefixes[prefix]}>" for prefix in sorted(used)]
    variables = " ".join(f"?{name}" for name in names)
    return "\n".join([f"# {title}", *declared, f"SELECT {variables} WHERE {{", *lines, "}", ""])


def _short(iri: str, prefixes: Mapping[str, str]) -> str:
    prefix = _prefix(iri, prefixes)
    return f"<{iri}>" if prefix is None else f"{prefix}:{iri[len(prefixes[prefix]) :]}"


def _prefix(iri: str, prefixes: Mapping[str, str]) -> str | None:
    """Return the prefix with the longest namespace after which the rest needs no escape."""
    fitting = [
        prefix
        for prefix, namespace in prefixes.items()
        if namespace and iri.startswith(namespace) and _LOCAL.fullmatch(iri, len(namespace))
    ]
    return max(fitting, key=lambda prefix: (len(prefixes[prefix]), prefix), default=None)


def _names(iris: Iterable[str]) -> list[str]:
    """Return distinct variable names for IRIs."""
    names: list[str] = []
    for iri in iris:
        word = _word(iri)
        name = word[:1].lower() + word[1:] or "value"
        numbered = (f"{name}_{number}" for number in count(2))
        names.append(next(free for free in chain([name], numbered) if free not in names))
    return names


def _word(iri: str) -> str:
    """Return the last word of an IRI."""
    words = _WORD.findall(re.split("[#/:]", iri.rstrip("#/:"))[-1])
    return "_".join(words)
