"""Conversion of Kafka Connect values by their schema: decimals in bytes, days and ticks since 1970.

The names are Kafka Connect's logical types and Debezium's semantic types. A value with any other name is
converted by its type. Values that do not fit their type are refused.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

from rdflive.feeds.tables.cells import NOT_FINITE, Cell, to_cell, to_double
from rdflive.feeds.terms import RowError
from rdflive.values import is_well_formed
from rdflive.values.calendar import date_text, year_text

__all__ = ["UNAVAILABLE", "column_schemas", "to_cell_by_schema"]

Schema: TypeAlias = Mapping[str, Any]
Converter: TypeAlias = Callable[[Any, Schema], Cell]

_UNAVAILABLE_TEXT: Final = "__debezium_unavailable_value"
UNAVAILABLE: Final = (_UNAVAILABLE_TEXT, base64.b64encode(_UNAVAILABLE_TEXT.encode()).decode())
"""The placeholders that Debezium sends for a large value that an update left unchanged."""

_DAY: Final = 86_400
_MAX_SCALE: Final = 1000
_SCALE: Final = re.compile(r"-?[0-9]{1,9}")
_INTEGER: Final = re.compile(r"-?[0-9]{1,20}")
_INTERVAL: Final = re.compile(
    r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)


def to_cell_by_schema(value: object, schema: Schema) -> Cell:
    """Convert a value that is not null; raises `RowError` if it does not fit its schema.

    >>> to_cell_by_schema(17_000, {"type": "int32", "name": "io.debezium.time.Date"})
    Cell(text='2016-07-18', datatype='date')
    """
    name = schema.get("name") or schema.get("type")
    convert = _CONVERTERS.get(name) if isinstance(name, str) else None
    if convert is None:
        convert = _CONVERTERS.get(str(schema.get("type")))
    if convert is None:
        return to_cell(value)
    try:
        return convert(value, schema)
    except RowError as error:
        raise RowError(f"is not a valid {name}: {error}") from error


def column_schemas(schema: object, field: str = "") -> dict[str, Schema]:
    """Return the schemas of the columns of the schema, or of its struct `field`, by name."""
    for name in [field] if field else []:
        schema = _fields(schema).get(name)
    return _fields(schema)


def _fields(schema: object) -> dict[str, Schema]:
    fields = schema.get("fields") if isinstance(schema, Mapping) else None
    found = fields if isinstance(fields, list) else []
    return {
        field["field"]: field
        for field in found
        if isinstance(field, Mapping) and isinstance(field.get("field"), str)
    }


def _decimal(value: Any, schema: Schema) -> Cell:
    parameters = schema.get("parameters")
    scale = parameters.get("scale") if isinstance(parameters, Mapping) else None
    if not isinstance(scale, str) or _SCALE.fullmatch(scale) is None:
        raise RowError(f"its schema has the scale {scale!r:.40}, which must be a short integer as text")
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        # the JSON converter's form with decimal.format=NUMERIC
        return _plain(Decimal(value))
    return _scaled(value, int(scale))


def _variable_decimal(value: Any, schema: Schema) -> Cell:  # noqa: ARG001 - the value holds its scale
    if not isinstance(value, Mapping) or type(value.get("scale")) is not int:
        raise RowError(f"it must be an object with 'scale' and 'value', not {value!r:.40}")
    return _scaled(value.get("value"), value["scale"])


def _scaled(value: Any, scale: int) -> Cell:
    """Return the decimal of a big-endian two's complement integer in base 64."""
    _check_scale(scale)
    unscaled = int.from_bytes(_bytes(value), signed=True)
    try:
        digits = tuple(map(int, str(abs(unscaled))))
    except ValueError as error:  # Python converts no integer of more than 4300 digits
        raise RowError("it has too many digits") from error
    return _plain(Decimal((int(unscaled < 0), digits, -scale)))


def _plain(number: Decimal) -> Cell:
    _check_scale(-int(number.as_tuple().exponent))
    return Cell(format(number, "f"), "decimal")


def _check_scale(scale: int) -> None:
    if abs(scale) > _MAX_SCALE:
        raise RowError(f"the scale is {scale}; accepted are {-_MAX_SCALE} to {_MAX_SCALE}")


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise RowError(f"it must be bytes in base 64, not {value!r:.40}") from error


def _binary(value: Any, schema: Schema) -> Cell:  # noqa: ARG001 - all bytes are alike
    _bytes(value)
    return Cell(value, "base64Binary")


def _real(datatype: str) -> Converter:
    def convert(value: Any, schema: Schema) -> Cell:  # noqa: ARG001 - the type is known
        if isinstance(value, str) and value in NOT_FINITE:
            return Cell(NOT_FINITE[value], datatype)
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise RowError(f"it must be a number, not {value!r:.40}")
        return to_double(value, datatype)

    return convert


def _text(value: Any, schema: Schema) -> Cell:  # noqa: ARG001 - all text is alike
    return Cell(_string(value))


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise RowError(f"it must be text, not {value!r:.40}")
    return value


def _moment(datatype: str) -> Converter:
    """Return a converter that keeps the text of a date, a time or both."""

    def convert(value: Any, schema: Schema) -> Cell:  # noqa: ARG001 - the type is known
        # Java writes a plus before years beyond 9999; XML Schema does not allow one
        cell = Cell(_string(value).removeprefix("+"), datatype)
        if not is_well_formed(cell.to_literal()):
            raise RowError(f"{value!r:.40} is not a valid xsd:{datatype}")
        return cell

    return convert


def _interval(value: Any, schema: Schema) -> Cell:  # noqa: ARG001 - it is text
    """Convert an interval such as `P1Y2M3DT4H5M6.78S`, each part of which may be negative."""
    match = _INTERVAL.fullmatch(_string(value))
    if match is None or not any(match.groups()):
        raise RowError(f"it must be an interval such as 'P1Y2M3DT4H5M6.78S', not {value!r:.60}")
    years, months, days, hours, minutes, seconds = (Decimal(part or 0) for part in match.groups())
    if "-" not in value and value[-1] != "T":
        return Cell(value, "duration")
    months += 12 * years
    seconds += 60 * (minutes + 60 * (hours + 24 * days))
    if months * seconds < 0:
        raise RowError(f"months and days of different signs form no xsd:duration: {value!r:.60}")
    sign = "-" if months < 0 or seconds < 0 else ""
    return Cell(f"{sign}P{abs(months)}MT{abs(seconds):f}S", "duration")


def _boolean(value: Any, schema: Schema) -> Cell:  # noqa: ARG001 - it is true or false
    if not isinstance(value, bool):
        raise RowError(f"it must be true or false, not {value!r:.40}")
    return to_cell(value)


def _whole(bits: int) -> Converter:
    def convert(value: Any, schema: Schema) -> Cell:  # noqa: ARG001 - the type is known
        return to_cell(_integer(value, bits))

    return convert


def _ticks(write: Callable[[int, int], Cell], second: int) -> Converter:
    """Return a converter of integers that count parts of a second."""

    def convert(value: Any, schema: Schema) -> Cell:  # noqa: ARG001 - the unit is known
        return write(_integer(value), second)

    return convert


def _integer(value: Any, bits: int = 64) -> int:
    """Return an integer; some converters write it as text for JSON readers without 64-bit integers."""
    number = int(value) if isinstance(value, str) and _INTEGER.fullmatch(value) else value
    if type(number) is not int or not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise RowError(f"it must be an integer of {bits} bits, not {value!r:.40}")
    return number


def _date(value: Any, schema: Schema) -> Cell:  # noqa: ARG001 - the unit is known
    return Cell(date_text(_integer(value)), "date")


def _year(value: Any, schema: Schema) -> Cell:  # noqa: ARG001 - the unit is known
    return Cell(year_text(_integer(value)), "gYear")


def _datetime(ticks: int, second: int) -> Cell:
    day, rest = divmod(ticks, _DAY * second)
    return Cell(f"{date_text(day)}T{_write_clock(rest, second)}", "dateTime")


def _time(ticks: int, second: int) -> Cell:
    if not 0 <= ticks <= _DAY * second:
        raise RowError(f"it must be a time of the day, from 0 to {_DAY * second}, not {ticks}")
    return Cell(_write_clock(ticks, second), "time")


def _write_clock(ticks: int, second: int) -> str:
    seconds, fraction = divmod(ticks, second)
    minutes, seconds = divmod(seconds, 60)
    text = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
    return f"{text}.{fraction:0{len(str(second)) - 1}}".rstrip("0") if fraction else text


_MILLI: Final = 1_000
_MICRO: Final = 1_000_000
_NANO: Final = 1_000_000_000

_CONVERTERS: Final[dict[str, Converter]] = {
    "int8": _whole(8),
    "int16": _whole(16),
    "int32": _whole(32),
    "int64": _whole(64),
    "boolean": _boolean,
    "string": _text,
    "bytes": _binary,
    "float": _real("float"),
    "double": _real("double"),
    "org.apache.kafka.connect.data.Decimal": _decimal,
    "org.apache.kafka.connect.data.Date": _date,
    "org.apache.kafka.connect.data.Time": _ticks(_time, _MILLI),
    "org.apache.kafka.connect.data.Timestamp": _ticks(_datetime, _MILLI),
    "io.debezium.data.VariableScaleDecimal": _variable_decimal,
    "io.debezium.time.Date": _date,
    "io.debezium.time.Time": _ticks(_time, _MILLI),
    "io.debezium.time.MicroTime": _ticks(_time, _MICRO),
    "io.debezium.time.NanoTime": _ticks(_time, _NANO),
    "io.debezium.time.Timestamp": _ticks(_datetime, _MILLI),
    "io.debezium.time.MicroTimestamp": _ticks(_datetime, _MICRO),
    "io.debezium.time.NanoTimestamp": _ticks(_datetime, _NANO),
    "io.debezium.time.ZonedTimestamp": _moment("dateTime"),
    "io.debezium.time.ZonedTime": _moment("time"),
    "io.debezium.time.IsoDate": _moment("date"),
    "io.debezium.time.IsoTime": _moment("time"),
    "io.debezium.time.IsoTimestamp": _moment("dateTime"),
    "io.debezium.time.Year": _year,
    "io.debezium.time.Interval": _interval,
}
