"""Rows as typed tables of Arrow, pandas and polars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, Final, NoReturn, TypeAlias

from rdflib import XSD

from rdflive.errors import MissingExtraError
from rdflive.extras import install_command
from rdflive.model.solution import Header, Terms
from rdflive.model.term_text import to_ntriples

__all__ = ["Framed"]

_INTEGERS: Final = (
    "integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger "
    "unsignedLong unsignedInt unsignedShort unsignedByte"
)
_KINDS: Final[dict[str, str]] = {
    **{str(XSD[name]): "integer" for name in _INTEGERS.split()},
    str(XSD.decimal): "decimal",
    str(XSD.double): "double",
    str(XSD.float): "double",
    str(XSD.boolean): "boolean",
    str(XSD.date): "date",
    str(XSD.dateTime): "dateTime",
    str(XSD.dateTimeStamp): "dateTime",
}
"""The column kind of each datatype; literals of all other datatypes are strings."""
_MOMENT: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_SPELT: Final = {
    "integer": r"^[+-]?[0-9]+$",
    "decimal": r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$",
    # rdflib spells INF and NaN in lower case
    "double": r"(?i)^([+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|inf)|nan)$",
    "boolean": "^(true|false|0|1)$",
    # Arrow has no dates with a time zone
    "date": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    # Arrow counts microseconds; finer times stay strings
    "local": rf"^{_MOMENT}$",
    "zoned": rf"^{_MOMENT}(Z|[+-][0-9]{{2}}:[0-9]{{2}})$",
}
"""The literal forms that a typed column accepts, by kind."""
_MOMENTS: Final = ("int64", -62_135_596_800_000_000, 253_402_300_799_999_999)
_FROM_1_TO_9999: Final = {"date": ("int32", -719_162, 2_932_896), "local": _MOMENTS, "zoned": _MOMENTS}
"""Arrow's integer type and range for the years 1 to 9999 in UTC, the limits of Python and pandas."""
_LANGUAGE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
_DIRECTION: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString"

Column: TypeAlias = tuple[list[str | None], list[str | None], set[str]]
"""The texts of a variable, their datatypes, and the set of kinds."""


class Framed:
    """Rows that `pyarrow`, pandas, polars and DuckDB read as a table, with a typed column per variable.

    Columns have the names of the variables; those of CONSTRUCT are subject, predicate and object. Empty
    tables have columns too. A column without any term has Arrow's type null.
    """

    __slots__ = ()

    def _framed(self) -> tuple[Header, Sequence[Terms]]:
        """Return the header, and the terms of each row."""
        raise NotImplementedError

    def to_arrow(self, *, datatypes: bool = False) -> Any:
        """Return a `pyarrow.Table`; with `datatypes`, a column NAME_datatype follows each column.

        Integers are int64, or beyond its range decimals without a scale. Decimals, also mixed with integers,
        are decimal128 or decimal256 with a scale for all their digits. Doubles and floats are float64,
        booleans bool, dates date32, and dateTimes timestamps in microseconds, in UTC if they have time zones.
        IRIs, blank nodes (`_:b`) and all other literals are strings. A column has strings, as the literals
        are written, if its terms have several of these types, if a literal is ill-formed, or if the type
        would lose digits. Unbound variables are null. The datatype of IRIs and blank nodes is null.

        Raises `MissingExtraError` without the extra `frames`, and ValueError for ASK or for two columns of
        the same name.

        >>> from rdflib import Literal
        >>> from rdflive.model import Answers
        >>> answers = Answers(Header("SELECT", ("train", "delay")), [(Literal("IC5"), Literal(7))])
        >>> answers.to_arrow().schema.types
        [DataType(string), DataType(int64)]
        """
        arrow = _library("pyarrow")
        header, rows = self._framed()
        if header.form == "ASK":
            raise ValueError("an ASK query has no columns: read bool(answers), or delta.answer")
        arrays: dict[str, Any] = {}
        for place, name in enumerate(header.columns):
            texts, types, kinds = _column([terms[place] for terms in rows])
            new = {name: _typed(arrow, texts, kinds)}
            if datatypes:
                new[f"{name}_datatype"] = _strings(arrow, types)
            for other in new.keys() & arrays.keys():
                raise ValueError(f"two columns would be named {other!r}: rename a variable with AS")
            arrays |= new
        return arrow.table(arrays)

    def to_pandas(self, *, datatypes: bool = False) -> Any:
        """Return a `pandas.DataFrame` with the columns of `to_arrow`.

        Integers have pandas' type Int64 and booleans its type boolean, so that a missing value changes
        neither the type nor a digit. Raises as `to_arrow` does, and `MissingExtraError` without pandas.

        >>> from rdflib import Literal
        >>> from rdflive.model import Answers
        >>> Answers(Header("SELECT", ("n",)), [(Literal(7),), (None,)]).to_pandas()["n"].dtype
        Int64Dtype()
        """
        pandas, arrow = _library("pandas"), _library("pyarrow")
        own = {arrow.int64(): pandas.Int64Dtype(), arrow.bool_(): pandas.BooleanDtype()}
        return self.to_arrow(datatypes=datatypes).to_pandas(types_mapper=own.get)

    def to_polars(self, *, datatypes: bool = False) -> Any:
        """Return a `polars.DataFrame` with the columns of `to_arrow`; raises like it, and without polars."""
        polars = _library("polars")
        return polars.from_arrow(self.to_arrow(datatypes=datatypes))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the table through Arrow's C stream interface."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __array__(self, *_: object, **__: object) -> NoReturn:
        """Raise TypeError: an array of numpy would have no names, and numbers as strings.

        `pandas.DataFrame(rows)` calls this method, because it does not look for `__arrow_c_stream__`.
        """
        raise TypeError(
            f"rdflive.{type(self).__name__} is a table, not an array: for pandas call .to_pandas(), or with "
            "pandas 3 DataFrame.from_arrow(rows); for numpy take a column, .to_arrow()['name'].to_numpy()"
        )


def _library(name: str) -> Any:
    try:
        # imported late, because it is an extra
        return import_module(name)
    except ImportError as error:
        # the extra has pyarrow; pandas and polars are the user's choice
        own = "" if name == "pyarrow" else f" {name}"
        message = f"tables need {name}: {install_command('frames')}{own}"
        raise MissingExtraError(message, name=error.name) from error


def _column(terms: Iterable[Any]) -> Column:
    texts: list[str | None] = []
    types: list[str | None] = []
    kinds: set[str] = set()
    # a cache by term equality, which is exact: few terms of a long column differ
    known: dict[Any, tuple[str, str | None]] = {}
    for term in terms:
        if term is None:
            texts.append(None)
            types.append(None)
            continue
        found = known.get(term)
        if found is None:
            found = known[term] = _read(term)
            kinds.add("string" if found[1] is None else _KINDS.get(found[1], "string"))
        texts.append(found[0])
        types.append(found[1])
    return texts, types, kinds


def _read(term: Any) -> tuple[str, str | None]:
    """Return the text of a term of rdflib or pyoxigraph, and the datatype of a literal."""
    is_rdflib = isinstance(term, str)
    text = str(term) if is_rdflib else getattr(term, "value", None)
    if hasattr(term, "language"):
        if getattr(term, "direction", None) is not None:
            return str(text), _DIRECTION
        if term.language:
            return str(text), _LANGUAGE
        datatype = term.datatype
        # a plain literal is an xsd:string
        return str(text), str(XSD.string if datatype is None else getattr(datatype, "value", datatype))
    if type(term).__name__ in ("BNode", "BlankNode"):
        return f"_:{text}", None
    # a triple, or a term of another library
    return (str(text) if isinstance(text, str) else to_ntriples(term)), None


def _strings(arrow: Any, texts: list[str | None]) -> Any:
    try:
        return arrow.array(texts, arrow.string())
    except UnicodeEncodeError:
        # half a surrogate pair has no UTF-8
        safe = [t and t.encode("utf-8", "backslashreplace").decode() for t in texts]
        return arrow.array(safe, arrow.string())


def _typed(arrow: Any, texts: list[str | None], kinds: set[str]) -> Any:
    """Return the column with the type of its kind, or strings if every type would lose data."""
    if not kinds:
        return arrow.nulls(len(texts))
    column = _strings(arrow, texts)
    compute = import_module("pyarrow.compute")
    if kinds == {"integer", "decimal"}:
        kinds = {"decimal"}  # loses no digit
    kind = kinds.pop() if len(kinds) == 1 else "string"
    if kind == "dateTime":
        kind = "local" if _is_spelt(compute, column, "local") else "zoned"
    if kind == "string" or not _is_spelt(compute, column, kind):
        return column
    # Arrow accepts no plus sign before integers
    unsigned = compute.replace_substring_regex(column, r"^\+", "") if kind == "integer" else column
    own = {
        "integer": [arrow.int64()],
        "double": [arrow.float64()],
        "boolean": [arrow.bool_()],
        "date": [arrow.date32()],
        "local": [arrow.timestamp("us")],
        "zoned": [arrow.timestamp("us", "UTC")],
    }.get(kind, [])
    if kind in ("integer", "decimal"):
        own += _decimals(arrow, compute, column)
    for type_ in own:
        try:
            made = compute.cast(unsigned, type_)
        except arrow.ArrowInvalid:  # out of range, or not a day of the calendar
            continue
        if kind not in _FROM_1_TO_9999:
            return made
        count, first, last = _FROM_1_TO_9999[kind]
        found = compute.min_max(made.view(count)).as_py()
        return made if first <= found["min"] and found["max"] <= last else column
    return column


def _is_spelt(compute: Any, column: Any, kind: str) -> bool:
    return bool(compute.all(compute.match_substring_regex(column, _SPELT[kind])).as_py())


def _decimals(arrow: Any, compute: Any, column: Any) -> list[Any]:
    """Return the types that hold all digits before and after the decimal point."""
    digits = compute.replace_substring_regex(column, r"^[+-]", "")
    front = compute.replace_substring_regex(compute.replace_substring_regex(digits, r"\..*$", ""), "^0+", "")
    back = compute.replace_substring_regex(digits, r"^[^.]*\.?", "")
    scale = compute.max(compute.utf8_length(back)).as_py()
    most = compute.max(compute.utf8_length(front)).as_py() + scale
    return [
        make(precision, scale)
        for make, precision in ((arrow.decimal128, 38), (arrow.decimal256, 76))
        if most <= precision
    ]
