"""The values of literals: numbers, moments, durations, strings and booleans."""

from rdflive.values.comparison import (
    UNORDERED,
    compare,
    compare_values,
    effective_boolean,
    equal,
    near,
    order_key,
    text,
    value_key,
)
from rdflive.values.datatypes import (
    DATATYPES,
    INTEGERS,
    Datatype,
    Value,
    is_well_formed,
    number,
    tag_of,
    typed_value,
    value_in,
    value_of,
)
from rdflive.values.literals import as_parsed, duration_literal, moment_literal, normal, number_literal, typed
from rdflive.values.moments import Duration, Moment, Seconds
from rdflive.values.numbers import Number, Single, in_fixed_context

__all__ = [
    "DATATYPES",
    "INTEGERS",
    "UNORDERED",
    "Datatype",
    "Duration",
    "Moment",
    "Number",
    "Seconds",
    "Single",
    "Value",
    "as_parsed",
    "compare",
    "compare_values",
    "duration_literal",
    "effective_boolean",
    "equal",
    "in_fixed_context",
    "is_well_formed",
    "moment_literal",
    "near",
    "normal",
    "number",
    "number_literal",
    "order_key",
    "tag_of",
    "text",
    "typed",
    "typed_value",
    "value_in",
    "value_key",
    "value_of",
]
