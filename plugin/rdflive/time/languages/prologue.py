"""What stands before the query: PREFIX, BASE and REGISTER, with the operator that makes a stream of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rdflib import URIRef

from rdflive.syntax.tokens import Token
from rdflive.time.languages.brackets import read_duration
from rdflive.time.languages.cursor import Cursor
from rdflive.time.languages.names import NAMES, Names
from rdflive.time.windowed import Output

__all__ = ["Registration", "read_prologue"]

_OPERATORS: Final[dict[str, Output]] = {"ISTREAM": "istream", "DSTREAM": "dstream", "RSTREAM": "rstream"}
_FORMS: Final = ("SELECT", "CONSTRUCT", "ASK", "DESCRIBE")


@dataclass(frozen=True, slots=True)
class Registration:
    """The names of a text, and what REGISTER says: who the query is, what it gives, and how often."""

    names: Names
    name: str | URIRef | None = None
    output: Output = "delta"
    every: str | None = None


def read_prologue(cursor: Cursor) -> Registration:
    """Read all up to SELECT, CONSTRUCT or ASK, cut REGISTER out, and the operator wherever it stands.

    The prefixes may be declared before REGISTER or after its AS.

    >>> cursor = Cursor("REGISTER ISTREAM ex:q AS PREFIX ex: <http://e/> ASK {}")
    >>> read_prologue(cursor).output, cursor.rest
    ('istream', '                         PREFIX ex: <http://e/> ASK {}')
    """
    names = Names()
    called: Token | None = None
    operator: Token | None = None
    every: str | None = None
    while not any(cursor.meets(form) for form in _FORMS):
        register = cursor.token
        if cursor.take("PREFIX"):
            names.declare_prefix(cursor)
        elif cursor.take("BASE"):
            names.declare_base(cursor)
        elif called is None and cursor.take("REGISTER"):
            operator = _operator(cursor)
            called = _name(cursor)
            every = _every(cursor)
            _entailment(cursor)
            cursor.demand("AS")
            cursor.cut(register)
        else:
            wanted = "REGISTER, PREFIX, BASE" if called is None else "PREFIX, BASE"
            raise cursor.expected(f"{wanted}, SELECT, CONSTRUCT or ASK")
    operator = _after_form(cursor, operator)
    name = names.resolve(called) if called is not None and called.kind in NAMES else called and called.text
    return Registration(names, name, _OPERATORS[operator.text.upper()] if operator else "delta", every)


def _operator(cursor: Cursor) -> Token | None:
    """Take what may stand between REGISTER and the name."""
    token = cursor.token
    if any(cursor.take(word) for word in _OPERATORS):
        return token
    # either word may be there; neither says what the output is
    if not cursor.take("STREAM"):
        cursor.take("QUERY")
    return None


def _name(cursor: Cursor) -> Token:
    if cursor.token.kind not in (*NAMES, "word") or cursor.meets("AS"):
        raise cursor.expected("the name of the query, as in REGISTER QUERY name AS")
    return cursor.advance()


def _every(cursor: Cursor) -> str | None:
    if cursor.take("COMPUTE") or cursor.take("COMPUTED"):
        cursor.demand("EVERY")
        return read_duration(cursor)
    return None


def _entailment(cursor: Cursor) -> None:
    if cursor.meets("UNDER", "ENTAILMENT"):
        raise cursor.refused(
            cursor.token,
            "UNDER ENTAILMENT REGIME",
            "the text of a query does not choose its entailment",
            "leave it out, and choose where the query is registered",
        )


def _after_form(cursor: Cursor, operator: Token | None) -> Token | None:
    """Take the operator of SELECT RSTREAM or CONSTRUCT ISTREAM, and give the one that counts."""
    cursor.advance()
    token = cursor.token
    if not any(cursor.take(word) for word in _OPERATORS):
        return operator
    if operator is not None and operator.text.upper() != token.text.upper():
        raise cursor.wrong(
            token, f"the query has two operators, {operator.text} and {token.text}: choose one"
        )
    cursor.cut(token)
    return token
