"""The canonical text of an expression."""

from __future__ import annotations

import re
from typing import Any, Final

from rdflib.namespace import XSD
from rdflib.term import Literal, URIRef, Variable

from rdflive.model import DirectionalString, TripleTerm
from rdflive.query.expressions.nodes import arguments, elements, operands
from rdflive.syntax.tree import Tree

__all__ = ["to_text"]

# forms that SPARQL reads as this type with these characters; bare, the double "1.0" would be a decimal
_PLAIN: Final = {
    XSD.integer: re.compile(r"-?[0-9]+"),
    XSD.decimal: re.compile(r"-?[0-9]*\.[0-9]+"),
    XSD.boolean: re.compile("true|false"),
}
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"})
_LOGICAL: Final = {"ConditionalAndExpression": "&&", "ConditionalOrExpression": "||"}
_UNARY: Final = {"UnaryNot": "!", "UnaryMinus": "-", "UnaryPlus": "+"}
_SYNONYMS: Final = {"URI": "IRI", "isURI": "isIRI"}


def to_text(node: Any, base: str | None = None) -> str:
    """Write an expression as SPARQL with full IRIs; only equal expressions have equal texts."""
    if isinstance(node, Tree):
        return _compound(node, base)
    items = elements(node)
    if items is not None:
        return f"({', '.join(to_text(item, base) for item in items)})"
    if isinstance(node, Variable):
        return f"?{node}"
    if isinstance(node, Literal):
        return _literal(node)
    if isinstance(node, TripleTerm):
        return f"<<( {' '.join(map(to_text, node.parts))} )>>"
    # `n3` refuses an IRI with a space, which a binding may have
    return _iri(node) if isinstance(node, URIRef) else str(node.n3())


def _iri(iri: URIRef) -> str:
    return f"<{iri}>"


def _literal(term: Literal) -> str:
    """Write a literal with its exact lexical form, which rdflib's short forms would lose, and its exact
    language tag, because LANG returns its case.
    """
    plain = _PLAIN.get(term.datatype) if term.datatype is not None else None
    if plain is not None and plain.fullmatch(term):
        return str(term)
    if isinstance(term, DirectionalString):
        return term.n3()
    suffix = f"@{term.language}" if term.language else f"^^<{term.datatype}>" if term.datatype else ""
    return f'"{term.translate(_ESCAPES)}"{suffix}'


def _compound(node: Tree, base: str | None) -> str:
    name = node.name
    if name in _UNARY:
        return f"{_UNARY[name]}{_operand(node.expr, base)}"
    if name in _LOGICAL:
        return f" {_LOGICAL[name]} ".join(_operand(part, base) for part in operands(node))
    if name == "RelationalExpression":
        return f"{_operand(node.expr, base)} {node.op} {_operand(node.other, base)}"
    if name.endswith("Expression"):
        steps = (f" {op} {_operand(part, base)}" for op, part in zip(node.op, node.other, strict=True))
        return _operand(node.expr, base) + "".join(steps)
    if name == "TrueFilter":
        return "true"
    if name == "Function":
        # a function registered later under the same IRI is another function
        version = f"·{node.version}" if node.version else ""
        return f"{_iri(node.iri)}{version}{to_text(arguments(node), base)}"
    if name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
        return f"{'NOT ' if 'NOT' in name else ''}EXISTS {{ {_pattern(node.graph)} }}"
    if name.startswith("Builtin_"):
        short = name.removeprefix("Builtin_")
        short = _SYNONYMS.get(short, short)
        # nothing else reads the base, so `?x + 1` is the same expression in queries with different bases
        relative = f"BASE <{base}> " if short == "IRI" and base is not None else ""
        return f"{relative}{short}{to_text(arguments(node), base)}"
    return _pattern(node)


def _operand(node: Any, base: str | None) -> str:
    """Write a part of an operation, in brackets if it is an operation itself."""
    text = to_text(node, base)
    return f"({text})" if isinstance(node, Tree) and not _is_call(node) else text


def _is_call(node: Tree) -> bool:
    return node.name == "Function" or node.name.startswith("Builtin_")


def _pattern(node: Any) -> str:
    """Write the algebra of an EXISTS that was not replaced, in any form that distinguishes patterns."""
    if isinstance(node, Tree):
        inner = (f"{key}: {_pattern(value)}" for key, value in node.fields.items())
        return f"{node.name}({', '.join(inner)})"
    if isinstance(node, dict):
        return "{" + ", ".join(f"{_pattern(k)}: {_pattern(v)}" for k, v in node.items()) + "}"
    if isinstance(node, set | frozenset):
        # a set has no order
        return "{" + ", ".join(sorted(map(_pattern, node))) + "}"
    items = elements(node)
    if items is not None:
        return f"({', '.join(map(_pattern, items))})"
    return to_text(node) if hasattr(node, "n3") else repr(node)
