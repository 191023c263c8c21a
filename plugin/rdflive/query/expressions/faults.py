"""Calls that are errors whatever the graph: of unknown functions, and with invalid regular expressions."""

from __future__ import annotations

from typing import Any, NamedTuple

from rdflib.term import Literal

from rdflive.query.expressions.nodes import arguments
from rdflive.query.expressions.registry import registered, unknown
from rdflive.regex import RegexError, compiled, replaced
from rdflive.signatures import misfit
from rdflive.syntax.tree import Tree
from rdflive.values import text

__all__ = ["CallFault", "fault_of", "note_of"]


class CallFault(NamedTuple):
    """A call that is an error for every row: its node, its name, and the reason."""

    node: Tree
    construct: str
    reason: str


def fault_of(node: Tree) -> CallFault | None:
    """Return the fault of a call that does not depend on the values of its variables, if there is one."""
    if node.name == "Function":
        reason = unknown(node.iri)
        if node.distinct:
            reason = "with DISTINCT is an aggregate outside SPARQL, and rdflive knows none"
        parts = arguments(node)
        found = None if reason else registered(node.iri, node.version)
        if not reason and len(parts) != 1 and found is None:
            reason = f"is a cast, which takes one argument and not {len(parts)}"
        if found is not None and not found.is_raw and (wrong := misfit(found.called, *parts)):
            reason = f"is registered, but its function cannot take the arguments of this call: {wrong}"
        return CallFault(node, f"<{node.iri}>", reason) if reason else None
    given = _regular(node)
    if given is not None:
        try:
            compiled(*given)
        except RegexError as error:
            pattern, flags = given
            said = f"has {pattern!r}" + (f" with the flags {flags!r}" if flags else "")
            name = node.name.removeprefix("Builtin_")
            return CallFault(node, name, f"{said}, which cannot be matched as XPath defines: {error}")
    return None


def note_of(node: Tree) -> str:
    """Return why a call with a valid regular expression has no value in any row; empty if it may have one."""
    given = _regular(node)
    if given is not None and node.name == "Builtin_REPLACE":
        pattern, flags = given
        try:
            replaced("", pattern, _constant(node.replacement) or "", flags)
        except RegexError as error:
            return f"REPLACE has no value in any row: {error}"
    return ""


def _regular(node: Tree) -> tuple[str, str] | None:
    """Return the pattern and the flags of a call, if both are constants."""
    if node.name not in ("Builtin_REGEX", "Builtin_REPLACE"):
        return None
    pattern, flags = _constant(node.pattern), "" if node.flags is None else _constant(node.flags)
    return None if pattern is None or flags is None else (pattern, flags)


def _constant(node: Any) -> str | None:
    return text(node) if isinstance(node, Literal) else None
