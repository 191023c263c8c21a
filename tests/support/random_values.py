"""Random literals of every datatype, also ill formed, and random calls of SPARQL's functions."""

from __future__ import annotations

from random import Random
from typing import Final

__all__ = ["random_call", "random_literal"]

_INTEGERS: Final = """integer nonPositiveInteger negativeInteger long int short byte nonNegativeInteger
unsignedLong unsignedInt unsignedShort unsignedByte positiveInteger"""
INTEGERS: Final = _INTEGERS.split()
_ZONES: Final = ["", "", "Z", "Z", "+00:00", "-00:00", "+14:00", "-14:00", "+05:30", "-00:30"]
_YEARS: Final = ["2024", "2024", "2024", "1999", "0001", "0000", "-0001", "-0216", "9999", "12000", "1900"]
_ILL_FORMED: Final = """1_000 x 1e 2024-02-30 2024-13-01T00:00:00 24:00:01 P PT P1S -P-1D 2024-05-01T10:00
+NaN 01:00 2024-05-01T10:00:00+15:00 --02-30 ---32 1.2.3 0x10 TRUE 99999999999999999999"""
_ILL: Final = _ILL_FORMED.split()
_SPECIAL: Final = """INF -INF NaN -0.0 0.0 1e400 -1e400 1e-400
1e99999999999999999999 -1E-99999999999999999999 1E38 3.5e38 0.1 16777217"""


def _digits(random: Random) -> str:
    return random.choice(
        ["0", "1", "7", "12", "255", "256", "1000000", "16777217", "2147483648", str(random.randrange(10**6))]
    )


def _decimal(random: Random) -> str:
    sign = random.choice(["", "", "", "-", "+"])
    fraction = random.choice(["", ".", ".0", ".5", ".25", ".1", ".10", ".05", f".{random.randrange(10**6)}"])
    return sign + (random.choice([_digits(random), "", "0"]) or ("" if len(fraction) > 1 else "0")) + fraction


def _double(random: Random) -> str:
    if random.random() < 0.3:
        return random.choice(_SPECIAL.split())
    return _decimal(random) + random.choice(["", "e0", "E2", "e-3", "E+10"])


def _date(random: Random) -> str:
    day = random.choice(["01", "15", "28", "29", "30", "31"])
    return f"{random.choice(_YEARS)}-{random.choice(['01', '02', '03', '05', '12'])}-{day}"


def _clock(random: Random) -> str:
    hour = random.choice(["00", "09", "10", "13", "14", "23", "24"])
    rest = ":00:00" if hour == "24" else random.choice([":00:00", ":30:00", ":59:59"])
    return hour + rest + random.choice(["", "", "", ".0", ".5", ".123456781", ".123456789"])


def _duration(random: Random, kind: str) -> str:
    months = random.choice(["1M", "1Y", "12M", "1Y2M", "0M", "13M"])
    days = random.choice(["1D", "30D", "31D", "32D", "365D", "T0S", "T1.5S", "1DT1H", "T36H", "T90M"])
    sign = random.choice(["", "", "", "-"])
    if kind == "duration" and random.random() < 0.4:
        return f"{sign}P{months}{days}"
    return (
        sign
        + "P"
        + (months if kind == "yearMonthDuration" or (random.random() < 0.5 and kind == "duration") else days)
    )


_FORMS: Final = {
    **dict.fromkeys(INTEGERS, lambda random: random.choice(["", "", "-", "+", "0"]) + _digits(random)),
    "decimal": _decimal,
    "float": _double,
    "double": _double,
    "boolean": lambda random: random.choice(["true", "false", "1", "0"]),
    "string": lambda random: random.choice(["", "a", "ab", "1", "true", "é", "2024-05-01", "P1D", " 5 "]),
    "dateTime": lambda random: f"{_date(random)}T{_clock(random)}{random.choice(_ZONES)}",
    "dateTimeStamp": lambda random: f"{_date(random)}T{_clock(random)}{random.choice(_ZONES[2:])}",
    "date": lambda random: _date(random) + random.choice(_ZONES),
    "time": lambda random: _clock(random) + random.choice(_ZONES),
    "gYear": lambda random: random.choice(_YEARS) + random.choice(_ZONES),
    "gYearMonth": lambda random: (
        f"{random.choice(_YEARS)}-{random.choice(['01', '12'])}{random.choice(_ZONES)}"
    ),
    "gMonthDay": lambda random: random.choice(["--01-01", "--02-29", "--12-31"]) + random.choice(_ZONES),
    "gMonth": lambda random: random.choice(["--01", "--12"]) + random.choice(_ZONES),
    "gDay": lambda random: random.choice(["---01", "---31"]) + random.choice(_ZONES),
    **{
        kind: lambda random, kind=kind: _duration(random, kind)
        for kind in ("duration", "yearMonthDuration", "dayTimeDuration")
    },
}
_PARTS: Final = "gYear gYearMonth gMonthDay gMonth gDay"
_FAMILIES: Final = [
    [*INTEGERS[:1] * 4, *INTEGERS, *["decimal", "float", "double"] * 5],
    ["string", "boolean"],
    ["dateTime"] * 4
    + ["dateTimeStamp", "date", "date", "time", "gYear", "gYearMonth", "gMonthDay", "gMonth", "gDay"],
    ["duration", "yearMonthDuration", "dayTimeDuration"],
]
_OTHERS: Final = [
    '"a"',
    '"ab"',
    '"a"@en',
    '"ab"@EN',
    '"a"@fr',
    '"x"^^<urn:t>',
    "<urn:a>",
    "<http://e/a>",
    '"en"',
]


def random_literal(random: Random, family: int | None = None) -> str:
    """Draw the text of a term, mostly a literal, of a family: 0 numbers, 2 moments, 3 durations."""
    if family is None and random.random() < 0.2:
        return random.choice(_OTHERS)
    kind = random.choice(_FAMILIES[random.randrange(4) if family is None else family])
    form = random.choice(_ILL) if random.random() < 0.07 else _FORMS[kind](random)
    return f'"{form}"^^xsd:{kind}'


_ORDERS: Final = "= != < > <= >="
_ONE: Final = """! - + isIRI isURI isBLANK isLITERAL isNUMERIC STR LANG DATATYPE ABS ROUND CEIL FLOOR STRLEN
UCASE LCASE ENCODE_FOR_URI YEAR MONTH DAY HOURS MINUTES SECONDS TIMEZONE TZ MD5 SHA1 SHA256 SHA384 SHA512
IRI URI"""
_TWO: Final = """sameTerm CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER CONCAT LANGMATCHES SUBSTR COALESCE
REGEX STRLANG"""
_THREE: Final = [
    "IF({}, {}, {})", "{} IN ({}, {})", "{} NOT IN ({}, {})", "{} && {} || {}", "SUBSTR({}, {}, {})",
    "REGEX({}, {}, {})", "REPLACE({}, {}, {})", "COALESCE({} / 0, {}, {})",
]  # fmt: skip
_CASTS: Final = "integer decimal float double boolean string dateTime"
_MORE_CASTS: Final = f"date time {_PARTS} duration yearMonthDuration dayTimeDuration"


def random_call(random: Random) -> str:
    """Draw the text of a call or an operation on one to three random terms."""
    roll = random.random()
    family = random.choice([0, 2, 3, None])
    one, other = random_literal(random, family), random_literal(random, family)
    if roll < 0.35:
        return f"{one} {random.choice(_ORDERS.split())} {other}"
    if roll < 0.55:
        pair = random.choice([(0, 0), (0, 0), (2, 3), (2, 2), (3, 3), (None, None)])
        left, right = (random_literal(random, kind) for kind in pair)
        return f"{left} {random.choice('+-*/')} {right}"
    if roll < 0.75:
        return f"{random.choice(_ONE.split())}({random_literal(random, random.choice([0, 2, None]))})"
    if roll < 0.82:
        return f"{random.choice(_TWO.split())}({one}, {other})"
    if roll < 0.86:
        form = random.choice(_THREE)
        return form.format(one, other, random_literal(random, family))
    if roll < 0.9:
        datatype = random.choice([*_FORMS, "string"])
        return f'STRDT("{random.choice([*_ILL, _FORMS[datatype](random)])}", xsd:{datatype})'
    if roll < 0.95:
        return f"xsd:{random.choice(_CASTS.split())}({random_literal(random)})"
    return f"xsd:{random.choice(_MORE_CASTS.split())}({random_literal(random, random.choice([2, 3, None]))})"
