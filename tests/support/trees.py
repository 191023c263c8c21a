"""Syntax trees up to blank node labels, and random texts from the grammar of SPARQL."""

from __future__ import annotations

from random import Random
from typing import Any

from rdflib.paths import Path
from rdflib.term import BNode

from rdflive.model import TripleTerm
from rdflive.syntax.grammar import Symbol
from rdflive.syntax.reader import SPARQL
from rdflive.syntax.tree import Tree, leaves, rewritten

__all__ = ["derived", "relabelled"]

WORDS: dict[str, list[str]] = {
    "iri": ["<urn:a>", "<http://e/p>", "<http://e/\\u00e9>", "<rel>", "<>"],
    "prefixed": [":a", "e:p", "e:a\\-b", ":%41", "e:a.b", ":"],
    "namespace": [":", "e:"],
    "variable": ["?x", "?y", "$z", "?é1"],
    "string": ["'a'", '"b\\n"', "'''c ' d'''", '"""e\n"""', "'tab\t'", "'\\u0041'", "''"],
    "number": ["1", "2.5", ".5", "1e3", "1.E0", "007"],
    "integer": ["1", "20"],
    "signed": ["-1", "+2.5", "-.5", "+1e-3"],
    "language": ["@en", "@en-GB", "@ar--rtl"],
    "blank": ["_:x", "_:y.z"],
    "anonymous": ["[]", "[ ]"],
    "nil": ["()", "( )"],
    "end": [""],
}
SPACES = [" ", " ", "\n", "\t", " # all\n", "  "]


def derived(random: Random, name: str = "Query", depth: int = 9) -> str:
    """Derive a random text from a production of the grammar, which may violate the grammar's notes."""
    pieces: list[str] = []
    # pending symbols, each with its maximal depth
    stack: list[tuple[Symbol, int]] = [(SPARQL.entry(name), depth)]
    while stack:
        symbol, left = stack.pop()
        match symbol.kind:
            case "token":
                word = symbol.name if symbol.name not in WORDS else random.choice(WORDS[symbol.name])
                pieces.append(word.lower() if random.random() < 0.2 and word.isalpha() else word)
            case "rule":
                stack.append((SPARQL.rules[symbol.name], left - 1))
            case "all":
                stack.extend((part, left) for part in reversed(symbol.parts))
            case "one":
                least = min(symbol.parts, key=_size)
                stack.append((random.choice(symbol.parts) if left > 0 else least, left - 1))
            case "maybe" | "many":
                while left > 0 and random.random() < 0.35:
                    stack.append((symbol.parts[0], left - 2))
                    if symbol.kind == "maybe":
                        break
    return "".join(piece + random.choice(SPACES) for piece in pieces)


def _size(symbol: Symbol, depth: int = 9) -> int:
    """Estimate the minimal number of tokens of a symbol."""
    match symbol.kind:
        case "token":
            return 1
        case "rule":
            return _size(SPARQL.rules[symbol.name], depth - 1) if depth else 99
        case "all":
            return sum(_size(part, depth) for part in symbol.parts)
        case "one":
            return min(_size(part, depth) for part in symbol.parts)
    return 0


def relabelled(tree: Tree) -> Tree:
    """Return a tree with blank nodes labelled in order of occurrence, and paths as text."""
    labels: dict[BNode, BNode] = {}
    for leaf in leaves(tree):
        if isinstance(leaf, BNode):
            labels.setdefault(leaf, BNode(f"n{len(labels)}"))

    def change(part: Any) -> Any:
        if isinstance(part, TripleTerm):
            return TripleTerm(*(rewritten(each, change) for each in part.parts))
        return str(part) if isinstance(part, Path) else labels.get(part) if isinstance(part, BNode) else None

    changed: Tree = rewritten(tree, change)
    return changed
