"""Names for blank nodes that stay the same when an edited file is read again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from rdflib import BNode

from rdflive.model import Quad, Term, to_ntriples

__all__ = ["named_by_content"]

_ROUNDS: Final = 32
"""The longest distance, in steps between blank nodes, that names depend on."""


def named_by_content(quads: Iterable[Quad]) -> list[Quad]:
    """Rename each blank node by a hash of its quads, and of those of the blank nodes around it.

    A node is named in the first round that distinguishes it from all others, so more distant changes keep its
    name. Nodes that no round distinguishes are numbered. The result is always isomorphic to the input; a node
    with changed quads gets a new name.

    >>> from rdflib import Literal, URIRef
    >>> p = URIRef("urn:p")
    >>> once, again = ([Quad(BNode(), p, Literal(n)) for n in (1, 2, 2)] for _ in "ab")
    >>> named_by_content(once) == named_by_content(again)
    True
    """
    listed = list(quads)
    around: defaultdict[BNode, list[tuple[int, Quad]]] = defaultdict(list)
    for quad in listed:
        for place, term in enumerate(quad):
            if isinstance(term, BNode):
                around[term].append((place, quad))
    names: dict[Term, BNode] = {}
    colours = dict.fromkeys(around, "")
    unnamed, kinds = list(around), 1
    for _ in range(_ROUNDS):
        colours = {node: _colour(node, quads, colours) for node, quads in around.items()}
        counts = Counter(colours[node] for node in unnamed)
        names.update({node: BNode(f"b{colours[node]}") for node in unnamed if counts[colours[node]] == 1})
        unnamed = [node for node in unnamed if node not in names]
        if not unnamed or len(counts) == kinds:
            break
        kinds = sum(count > 1 for count in counts.values())
    numbers: Counter[str] = Counter()
    for node in unnamed:
        names[node] = BNode(f"b{colours[node]}n{numbers[colours[node]]}")
        numbers[colours[node]] += 1
    return [Quad(*(names.get(term, term) for term in quad)) for quad in listed]


def _colour(node: BNode, quads: list[tuple[int, Quad]], colours: dict[BNode, str]) -> str:
    """Return the hash of a node after one more round."""

    def shown(term: Term) -> str:
        if not isinstance(term, BNode):
            return to_ntriples(term)
        return "_:" if term == node else f"_:{colours[term]}"

    lines = sorted(f"{place} {' '.join(map(shown, quad))}" for place, quad in quads)
    return blake2b(
        "\n".join([colours[node], *lines]).encode("utf-8", "surrogatepass"), digest_size=10
    ).hexdigest()
