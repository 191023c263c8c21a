"""The mapping from table rows to triples: a small JSON language in the manner of R2RML.

The mapping is an object with a member per table. A table name is `schema.table`, `database.schema.table` or
the last part alone. The longest matching name applies, and `*` matches every other table. Tables without a
mapping are ignored, with a warning. A table is described by templates::

    {"public.customers": {
        "subject": "http://e/customer/{id}",
        "class": "http://e/Customer",
        "predicates": {
            "name": "http://e/name",
            "motto": {"predicate": "http://e/motto", "language": "en"},
            "born": {"predicate": "http://e/born", "datatype": "http://www.w3.org/2001/XMLSchema#date"},
            "country": {"predicate": "http://e/country", "object": "http://e/country/{country}"}},
        "graph": "http://e/graph/{region}",
        "key": ["id"]}}

`subject`, `object` and `graph` are IRI templates: `{column}` stands for the column's value, percent-encoded
except for letters, digits and `-._~`. `class` is an IRI or a list of IRIs. Each member of `predicates` makes
one triple from a column. If the column, or a column of a template of the triple, is NULL or missing, there is
no triple. A column without `datatype` and `language` becomes a literal of the feed's type.

Or by columns that hold full terms in N-Triples syntax::

    {"public.quads": {
        "quads": {"subject": "s", "predicate": "p", "object": "o", "graph": "g"},
        "key": ["id"]}}

`graph` may be left out here too; without it, or where it is NULL, the quad is in the default graph.

`key` lists the columns that identify a row, which are those of the primary key. Its default is the columns of
the `subject` template, or those of `quads`. Unknown names are refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rdflive.feeds.json_lines import read_value
from rdflive.feeds.lines import Line
from rdflive.feeds.tables.cells import Row
from rdflive.feeds.tables.templates import (
    ColumnTriple,
    MappingError,
    QuadColumns,
    Template,
    Templates,
    to_iri,
    to_language,
)
from rdflive.feeds.terms import RowError
from rdflive.model import Quad

__all__ = ["MappingError", "RowMapping", "TableMapping", "read_mapping"]

Mapped: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | RowMapping"

_TABLE: Final = ("subject", "class", "predicates", "graph", "quads", "key")
_PREDICATE: Final = ("predicate", "object", "datatype", "language")
_QUADS: Final = ("subject", "predicate", "object", "graph")


@dataclass(frozen=True, slots=True)
class TableMapping:
    """The mapping of one table's rows to quads."""

    shape: Templates | QuadColumns
    key: tuple[str, ...]
    """The columns that identify a row."""
    is_key_declared: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the quads use."""
        return self.shape.columns

    def quads(self, row: Row) -> tuple[Quad, ...]:
        """Return the quads of a row; raises `RowError` for a column without a valid term."""
        return tuple(self.shape.quads(row))


@dataclass(frozen=True, slots=True)
class RowMapping:
    """A checked mapping."""

    tables: Mapping[str, TableMapping]
    digest: str
    """Equal for equal mappings."""

    def find(self, name: tuple[str, ...]) -> TableMapping | None:
        """Return the mapping of a table by the parts of its name; None for an ignored table."""
        names = (".".join(name[start:]) for start in range(len(name)))
        return next((self.tables[n] for n in (*names, "*") if n in self.tables), None)


def read_mapping(given: Mapped) -> RowMapping:
    """Read a mapping from a JSON file or a dict; raises `MappingError` if it is invalid.

    >>> mapping = read_mapping({"customers": {"subject": "http://e/{id}", "predicates": {"n": "http://e/n"}}})
    >>> mapping.tables["customers"].key
    ('id',)
    """
    if isinstance(given, RowMapping):
        return given
    if not isinstance(given, str | os.PathLike):
        return _to_mapping(given, "the mapping")
    path = os.fspath(given)
    try:
        with open(path, encoding="utf-8-sig") as file:
            value = read_value(Line(file.read(), 1))
    except (RowError, UnicodeDecodeError) as error:
        raise MappingError(f"{path}: {error}") from error
    return _to_mapping(value, path)


def _to_mapping(value: object, where: str) -> RowMapping:
    tables = _object(value, where, "table names and their mappings")
    if not tables:
        raise MappingError(f"{where}: it maps no table; name one, or use * for all")
    read = {name: _to_table(table, f"{where}: table {name!r}") for name, table in tables.items()}
    # independent of the order of members
    text = json.dumps(tables, sort_keys=True, default=str)
    return RowMapping(read, hashlib.sha256(text.encode()).hexdigest()[:16])


def _to_table(value: object, where: str) -> TableMapping:
    table = _object(value, where, "subject and predicates, or quads", _TABLE)
    if ("subject" in table) == ("quads" in table):
        raise MappingError(f"{where}: give either 'subject' or 'quads'")
    shape = _to_quad_columns(table, where) if "quads" in table else _to_templates(table, where)
    default = shape.columns if isinstance(shape, QuadColumns) else shape.subject.columns
    key = _texts(table["key"], f"{where}: 'key'") if "key" in table else default
    if not key:
        raise MappingError(f"{where}: no column identifies a row; name those of its primary key as 'key'")
    return TableMapping(shape, key, "key" in table)


def _to_templates(table: Mapping[str, Any], where: str) -> Templates:
    predicates = _object(table.get("predicates", {}), f"{where}: 'predicates'", "columns and predicates")
    classes = _texts(table.get("class", []), f"{where}: 'class'")
    if not predicates and not classes:
        raise MappingError(f"{where}: its rows produce no triples; give 'predicates' or 'class'")
    graph = table.get("graph")
    return Templates(
        Template.parse(table["subject"], f"{where}: 'subject'"),
        tuple(to_iri(iri, f"{where}: 'class'") for iri in classes),
        tuple(_to_triple(column, given, where) for column, given in predicates.items()),
        None if graph is None else Template.parse(graph, f"{where}: 'graph'"),
    )


def _to_triple(column: str, given: object, where: str) -> ColumnTriple:
    where = f"{where}: the predicate of column {column!r}"
    if isinstance(given, str):
        return ColumnTriple(column, to_iri(given, where))
    options = _object(given, where, "an IRI, or 'predicate' and options", _PREDICATE)
    if len(options.keys() & {"object", "datatype", "language"}) > 1:
        raise MappingError(f"{where}: 'object', 'datatype' and 'language' exclude each other")
    return ColumnTriple(
        column,
        to_iri(options.get("predicate"), f"{where}: 'predicate'"),
        Template.parse(options["object"], f"{where}: 'object'") if "object" in options else None,
        to_iri(options["datatype"], f"{where}: 'datatype'") if "datatype" in options else None,
        to_language(options["language"], f"{where}: 'language'") if "language" in options else None,
    )


def _to_quad_columns(table: Mapping[str, Any], where: str) -> QuadColumns:
    for name in ("class", "predicates", "graph"):
        if name in table:
            raise MappingError(f"{where}: {name!r} goes with 'subject', not with 'quads'")
    where = f"{where}: 'quads'"
    given = _object(table["quads"], where, "columns", _QUADS)
    for role in _QUADS:
        column = given.get(role)
        if not isinstance(column, str) and (role != "graph" or column is not None):
            raise MappingError(f"{where}: {role!r} must be the name of a column, not {column!r:.60}")
    return QuadColumns(given["subject"], given["predicate"], given["object"], given.get("graph"))


def _object(
    value: object, where: str, accepted: str, names: tuple[str, ...] | None = None
) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise MappingError(f"{where}: it must be an object with {accepted}, not {value!r:.60}")
    unknown = [] if names is None else [name for name in value if name not in names]
    if unknown:
        raise MappingError(f"{where}: {unknown[0]!r} is unknown here; accepted: {', '.join(names or ())}")
    return value


def _texts(value: object, where: str) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise MappingError(f"{where} must be text or a list of texts, not {value!r:.60}")
    return tuple(texts)
