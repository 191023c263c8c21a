"""Parameters of a query that are rows of a DataFrame: a table, or a stream of rows that come and go.

A row of a stream becomes quads of a graph of its own, so that it is brought to set semantics, kept and taken
away as all changes are. Example: the row (`<urn:S1>`, `"5"`) of the columns `line` and `least` becomes

    _:1f… <urn:rdflive:parameter:line> <urn:S1> <urn:rdflive:parameters> .
    _:1f… <urn:rdflive:parameter:least> "5" <urn:rdflive:parameters> .
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from rdflib import BNode

from rdflive.feeds.terms import RowError, RowReader
from rdflive.feeds.writing import write_term
from rdflive_stores.spark.change_rows import PLACES
from rdflive_stores.spark.dataflow.matching import PARAMETERS

__all__ = ["as_changes", "as_query"]

_PREDICATE: Final = "<urn:rdflive:parameter:{}>"
_TAKEN: Final = ("op", *PLACES)
"""The columns that are no parameters: the operation, and where a row stands."""
_LABEL_BITS: Final = 256


def as_query(parameters: DataFrame) -> str:
    """Write the query whose rows are the parameters; a table is a part of it.

    Raises `ValueError` for a DataFrame without columns of parameters, or with cells that are no terms.
    """
    names = _names(parameters)
    variables = " ".join(f"?{name}" for name in names)
    if parameters.isStreaming:
        links = " ; ".join(f"{_PREDICATE.format(name)} ?{name}" for name in names)
        return f"SELECT {variables} {{ GRAPH {PARAMETERS} {{ ?row {links} }} }}"
    # in an order, because the state belongs to the text
    rows = sorted({tuple(row) for row in parameters.select(*names).toLocalIterator()}, key=str)
    for row in rows:
        if None in row:
            raise ValueError(f"a parameter is NULL: {dict(zip(names, row, strict=True))}")
    values = " ".join(f"({' '.join(map(_constant, row))})" for row in rows)
    return f"SELECT {variables} {{ VALUES ({variables}) {{ {values} }} }}"


def _constant(text: str) -> str:
    """Write a cell as the constant of a query that it is; raises `ValueError` where it is none, or more."""
    reader = RowReader(text)
    try:
        term = reader.term("term")
    except RowError as error:
        raise ValueError(f"a parameter is no term in N-Triples: {text!r}: {error}") from error
    if reader.rest or isinstance(term, BNode):
        raise ValueError(f"a parameter must be one IRI or literal, not {text!r}")
    return write_term(term)


def as_changes(parameters: DataFrame) -> DataFrame:
    """Write a stream of parameters as changes of quads; rows have `op` as changes do, or all are inserted."""
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
