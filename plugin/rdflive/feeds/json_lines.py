"""A JSON Lines reader stricter than Python's `json`, and a reader of terms in SPARQL's JSON results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from decimal import Decimal, DecimalException
from typing import Any, Final, NamedTuple, NoReturn, TypeVar

from rdflib.term import BNode, Literal, URIRef

from rdflive.feeds.formats import Frame
from rdflive.feeds.lines import Line
from rdflive.feeds.terms import RdflibTerm, RowError
from rdflive.model import exact_literal

__all__ = ["UnitPlace", "group", "member", "optional", "read_object", "read_solution", "read_value"]

T = TypeVar("T")

_HALF: Final = re.compile(r"[\ud800-\udfff]")
_MAYBE_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_FRAGMENT: Final = re.compile(r'[}\]]|"(?:[^"\\]|\\.)*"\s*[:,]|.*[{\[,:]\Z', re.DOTALL)
_WHOLE: Final = "each line must hold one complete JSON value; write it without line breaks, as `jq -c .` does"
_KINDS: Final[dict[type, str]] = {
    dict: "an object", list: "an array", str: "a string", int: "an integer", bool: "true or false",
    Decimal: "a number", type(None): "null",
}  # fmt: skip


def read_object(line: Line) -> dict[str, Any]:
    """Return the JSON object of a line; raises `RowError` for anything else.

    >>> read_object(Line('{"a": [1, 1.50]}', 1))
    {'a': [1, Decimal('1.50')]}
    """
    value = read_value(line)
    if not isinstance(value, dict):
        raise RowError(f"the line must hold a JSON object, not {_kind(value)}", line.number)
    return value


def read_value(line: Line) -> Any:
    """Return the JSON value of a line.

    Numbers with a fraction or an exponent become `Decimal`, so none is rounded. NaN, infinities, duplicate
    keys, escapes that are no character and too deep nesting raise `RowError`.
    """
    try:
        value = json.loads(
            line.text, parse_float=_number, parse_constant=_refuse_constant, object_pairs_hook=_object
        )
        # most lines have none, which saves a walk through their values
        if _MAYBE_HALF.search(line.text):
            _refuse_surrogates(value)
    except json.JSONDecodeError as error:
        raise RowError(_explain(line.text, error), line.number) from error
    except RowError as error:
        raise RowError(str(error), line.number) from error
    except RecursionError as error:
        raise RowError("the JSON value is nested too deeply", line.number) from error
    except ValueError as error:  # Python converts no integer of more than 4300 digits
        raise RowError(f"the JSON value holds a number that is too long: {error}", line.number) from error
    return value


def member(record: Mapping[str, Any], name: str, kind: type[T], where: str = "the record") -> T:
    """Return a required member of an object; raises `RowError` if it is missing or of another kind.

    >>> member({"id": "7"}, "id", int)
    Traceback (most recent call last):
    rdflive.feeds.terms.RowError: 'id' of the record must be an integer, not a string
    """
    if name not in record:
        raise RowError(f"{where} lacks {name!r}, which must be {_KINDS[kind]}")
    value = record[name]
    # True is an int to Python
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RowError(f"{name!r} of {where} must be {_KINDS[kind]}, not {_kind(value)}")
    return value


def optional(record: Mapping[str, Any], name: str, kind: type[T], where: str = "the record") -> T | None:
    """Return a member of an object, None if absent or null; raises `RowError` if of another kind."""
    return None if record.get(name) is None else member(record, name, kind, where)


class UnitPlace(NamedTuple):
    """The position of a record in its unit."""

    unit: Hashable
    is_first: bool
    is_last: bool


def group(records: Iterator[Line], place: Callable[[Line], UnitPlace]) -> Iterator[Frame]:
    """Group consecutive records of one unit; yield each unit when its last record arrives.

    A record that `place` refuses with a `RowError` ends the current unit.
    """
    frame: list[Line] = []
    unit: Hashable = None
    for line in records:
        here = _try_place(line, place)
        # the previous unit is incomplete; yield it for `decode` to refuse
        if frame and here is not None and (here.is_first or here.unit != unit):
            yield tuple(frame)
            frame = []
        frame.append(line)
        if here is None or here.is_last:
            yield tuple(frame)
            frame = []
        else:
            unit = here.unit
    if frame:
        yield tuple(frame)


def _try_place(line: Line, place: Callable[[Line], UnitPlace]) -> UnitPlace | None:
    try:
        return place(line)
    except RowError:
        return None  # `decode` raises the error


def _kind(value: object) -> str:
    return _KINDS[type(value)]


def _number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except DecimalException as error:
        raise RowError(f"the number {text[:40]} is beyond any range") from error


def _refuse_constant(name: str) -> NoReturn:
    raise RowError(f"{name} is no JSON value")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    # `json` would silently keep the last one
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RowError(f"an object has the key {twice!r} twice")
    return found


def _refuse_surrogates(value: Any) -> None:
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            waiting.extend((*found, *found.values()))
        elif isinstance(found, list):
            waiting.extend(found)
        elif isinstance(found, str) and _HALF.search(found):
            raise RowError("a string has an escape that is no character (half of a surrogate pair)")


def _explain(text: str, error: json.JSONDecodeError) -> str:
    reason = f"not JSON: {error.msg} at column {error.colno}"
    return f"{reason}; {_WHOLE}" if _FRAGMENT.match(text.strip()) else reason


def read_solution(binding: Any) -> dict[str, RdflibTerm]:
    """Return the terms of a solution by variable, with exact spelling; raises `RowError`.

    >>> read_solution({"x": {"type": "literal", "value": "hi", "xml:lang": "en"}})
    {'x': rdflib.term.Literal('hi', lang='en')}
    """
    if not isinstance(binding, dict):
        raise RowError("a binding must be an object from names of variables to terms")
    return {name: _read_term(member(binding, name, dict, "a binding")) for name in binding}


def _read_term(term: Mapping[str, Any]) -> RdflibTerm:
    kind = member(term, "type", str, "a term")
    if kind not in ("uri", "bnode", "literal", "typed-literal"):
        raise RowError(f"'type' of a term must be 'uri', 'bnode' or 'literal', not {kind!r}")
    value = member(term, "value", str, "a term")
    if kind == "uri":
        return URIRef(value)
    return BNode(value) if kind == "bnode" else _read_literal(term, value)


def _read_literal(term: Mapping[str, Any], value: str) -> Literal:
    if "its:dir" in term:
        raise RowError("a literal has a direction ('its:dir'), which rdflib cannot hold")
    language = optional(term, "xml:lang", str, "a term")
    datatype = optional(term, "datatype", str, "a term")
    try:
        # rdflib refuses a datatype with a language, but some producers write rdf:langString
        return exact_literal(value, language or None, None if language else datatype)
    except ValueError as error:
        raise RowError(f"a literal is malformed: {error}") from error
