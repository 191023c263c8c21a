"""Values of Kafka Connect by their schema: decimals in bytes, days and ticks since 1970.

The names are those of Kafka Connect's logical types and of Debezium's semantic types; a type without a name
here is taken as JSON has it.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

from rdflive.feeds.tables.cells import Cell, to_cell, to_double
from rdflive.feeds.terms import RowError
from rdflive.values.calendar import date_text, year_text

__all__ = ["UNAVAILABLE", "column_schemas", "to_cell_by_schema"]

Schema: TypeAlias = Mapping[str, Any]
Converter: TypeAlias = Callable[[Any, Schema], Cell]

_UNAVAILABLE_TEXT: Final = "__debezium_unavailable_value"
UNAVAILABLE: Final = (_UNAVAILABLE_TEXT, base64.b64encode(_UNAVAILABLE_TEXT.encode()).decode())
"""What Debezium sends in place of a large value that an update has left as it was."""

_DAY: Final = 86_400
_MAX_SCALE: Final = 1000
_INTEGER: Final = re.compile(r"-?[0-9]{1,9}")


def to_cell_by_schema(value: object, schema: Schema) -> Cell:
    """Convert a value that is not null; raises `RowError` where it does not fit its schema.

    >>> to_cell_by_schema(17_000, {"type": "int32", "name": "io.debezium.time.Date"})
    Cell(text='2016-07-18', datatype='date')
    """
    name = schema.get("name") or schema.get("type")
    convert = _CONVERTERS.get(name) if isinstance(name, str) else None
    if convert is None:
        # a name that is not known here says what the value means; its type says how it is written
        convert = _CONVERTERS.get(str(schema.get("type")))
    if convert is None:
        return to_cell(value)
    try:
        return convert(value, schema)
    except RowError as error:
        raise RowError(f"is no {name}: {error}") from error


def column_schemas(schema: object, field: str = "") -> dict[str, Schema]:
    """List the schemas of a struct's columns; the struct is a field of the schema, or the schema itself."""
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
    if not isinstance(scale, str) or _INTEGER.fullmatch(scale) is None:
        raise RowError(f"its schema has the scale {scale!r:.40}, which must be a short integer as text")
    return _scaled(value, int(scale))


def _variable_decimal(value: Any, schema: Schema) -> Cell:  # noqa: ARG001 - the value has its scale itself
    if not isinstance(value, Mapping) or type(value.get("scale")) is not int:
        raise RowError(f"it must be an object with 'scale' and 'value', not {value!r:.40}")
    return _scaled(value.get("value"), value["scale"])


def _scaled(value: Any, scale: int) -> Cell:
    """Make a decimal of big-endian two's complement in base 64."""
    if abs(scale) > _MAX_SCALE:
        raise RowError(f"the scale is {scale}; accepted are {-_MAX_SCALE} to {_MAX_SCALE}")
    unscaled = int.from_bytes(_bytes(value), signed=True)
    try:
        digits = tuple(map(int, str(abs(unscaled))))
    except ValueError as error:  # Python converts no integer of more than 4300 digits
        raise RowError("it has too many digits") from error
    return Cell(format(Decimal((int(unscaled < 0), digits, -scale)), "f"), "decimal")


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
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise RowError(f"it must be a number, not {value!r:.40}")
        return to_double(value, datatype)

    return convert


def _text(datatype: str) -> Converter:
    def convert(value: Any, schema: Schema) -> Cell:  # noqa: ARG001 - the type is known
        if not isinstance(value, str):
            raise RowError(f"it must be text, not {value!r:.40}")
        return Cell(value, datatype)

    return convert


def _ticks(write: Callable[[int, int], Cell], second: int) -> Converter:
    """Convert an integer that counts parts of a second."""

    def convert(value: Any, schema: Schema) -> Cell:  # noqa: ARG001 - the unit is known
        return write(_integer(value), second)

    return convert


def _integer(value: Any) -> int:
    if type(value) is not int or abs(value) >= 1 << 63:
        raise RowError(f"it must be an integer of 64 bits, not {value!r:.40}")
    return value


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
    "io.debezium.time.ZonedTimestamp": _text("dateTime"),
    "io.debezium.time.ZonedTime": _text("time"),
    "io.debezium.time.IsoDate": _text("date"),
    "io.debezium.time.IsoTime": _text("time"),
    "io.debezium.time.IsoTimestamp": _text("dateTime"),
    "io.debezium.time.Year": _year,
}
