"""Query parameters as rows: a table, or a stream of rows that are inserted and deleted.

A table becomes a part of the query. A row of a stream becomes quads of a reserved graph, which the stages
treat as all changes: set semantics, state and deletes. Example: the row (`<urn:S1>`, `"5"`) of the columns
`line` and `least` becomes

    _:1f… <urn:rdflive:parameter:line> <urn:S1> <urn:rdflive:parameters> .
    _:1f… <urn:rdflive:parameter:least> "5" <urn:rdflive:parameters> .
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from rdflib import BNode
from rdflib.term import Node

from rdflive.feeds.terms import RowError, RowReader, write_term
from rdflive.query.planning import check_row
from rdflive.syntax.writing import write_term as query_text
from rdflive_stores.spark.change_rows import PLACES
from rdflive_stores.spark.dataflow.matching import PARAMETERS

__all__ = ["Rows", "as_changes", "as_query"]

Rows: TypeAlias = Mapping[str, Node] | Iterable[Mapping[str, Node]]
"""One or several rows of parameters: rdflib terms by variable."""

_PREDICATE: Final = "<urn:rdflive:parameter:{}>"
_TAKEN: Final = ("op", *PLACES)
"""The columns that are not parameters: the operation and the position of a row."""
_LABEL_BITS: Final = 256
_VARIABLE: Final = re.compile(r"\w+")


def as_query(parameters: DataFrame | Rows) -> str:
    """Return a query whose solutions are the parameters; a table becomes its VALUES.

    Raises `ValueError` for a table without parameter columns or with cells that are not terms, and
    `TypeError` for rows that do not map variables to terms.
    """
    if not isinstance(parameters, DataFrame):
        names, rows = _of_mappings(parameters)
        return _table(_variables(names), rows)
    names = _names(parameters)
    variables = _variables(names)
    if parameters.isStreaming:
        links = " ; ".join(f"{_PREDICATE.format(name)} ?{name}" for name in names)
        return f"SELECT {variables} {{ GRAPH {PARAMETERS} {{ ?row {links} }} }}"
    rows = [tuple(row) for row in parameters.select(*names).toLocalIterator()]
    for row in rows:
        if None in row:
            raise ValueError(f"a parameter is NULL: {dict(zip(names, row, strict=True))}")
    return _table(variables, rows)


def _of_mappings(given: Rows) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the variables of rows of rdflib terms, and the terms of each row in N-Triples."""
    rows = [given] if isinstance(given, Mapping) else given
    if isinstance(rows, bytes) or not isinstance(rows, Iterable):
        raise TypeError(
            "parameters must be a query, the path of its file, a DataFrame, or rows as {'line': EX.S1}, got "
            f"{type(given).__name__}: {given!r}"
        )
    bare = []
    for row in rows:
        check_row(row)
        bare.append({name.lstrip("?$"): write_term(term) for name, term in row.items()})
    names = list(dict.fromkeys(name for row in bare for name in row))
    if not names:
        raise ValueError("parameters has no row that binds a variable")
    for terms in bare:
        if len(terms) < len(names):
            raise ValueError(f"every row of parameters must have {', '.join(names)}, got {terms}")
    return names, [tuple(terms[name] for name in names) for terms in bare]


def _variables(names: list[str]) -> str:
    for name in names:
        if not _VARIABLE.fullmatch(name):
            raise ValueError(f"a column of parameters is not a variable name: {name!r}")
    return " ".join(f"?{name}" for name in names)


def _table(variables: str, rows: list[tuple[str, ...]]) -> str:
    if not rows:
        raise ValueError("parameters has no row")
    # sorted, because the state belongs to the text of the query
    values = " ".join(f"({' '.join(map(_constant, row))})" for row in sorted(set(rows), key=str))
    return f"SELECT {variables} {{ VALUES ({variables}) {{ {values} }} }}"


def _constant(text: str) -> str:
    """Write a cell as a query constant; raise `ValueError` unless it is one IRI or literal."""
    reader = RowReader(text)
    try:
        term = reader.term("term")
    except RowError as error:
        raise ValueError(f"a parameter is not a term in N-Triples: {text!r}: {error}") from error
    if reader.rest or isinstance(term, BNode):
        raise ValueError(f"a parameter must be one IRI or literal, not {text!r}")
    return query_text(term)


def as_changes(parameters: DataFrame) -> DataFrame:
    """Return a stream of parameters as changes of quads; without `op`, all rows are inserts."""
    names = _names(parameters)
    row = F.sha2(F.concat_ws("\n", *(F.col(f"`{name}`") for name in names)), _LABEL_BITS)
    links = [
        F.struct(F.lit(_PREDICATE.format(name)).alias("p"), F.col(f"`{name}`").alias("o")) for name in names
    ]
    places = [name for name in PLACES if name in parameters.columns]
    operation = F.col("op") if "op" in parameters.columns else F.lit("A")
    linked = parameters.select(
        operation.alias("op"),
        F.concat(F.lit("_:"), row).alias("s"),
        F.explode(F.array(*links)).alias("link"),
        *places,
    )
    return linked.select("op", "s", "link.p", "link.o", F.lit(PARAMETERS).alias("g"), *places)


def _names(parameters: DataFrame) -> list[str]:
    names = [name for name in parameters.columns if not parameters.isStreaming or name not in _TAKEN]
    if not names:
        raise ValueError("parameters has no column: a column is a variable of the query")
    for name, kind in parameters.dtypes:
        if name in names and kind != "string":
            raise ValueError(
                f"the column {name!r} of parameters must hold strings, not {kind}: terms in N-Triples"
            )
    return names
