"""The Gregorian calendar in both directions, for years of any size; the year 0 is 1 BC (XSD 1.1, E.3)."""

from __future__ import annotations

__all__ = ["civil", "date_text", "day_number", "days_in_month", "months_later", "year_text"]

_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def days_in_month(year: int, month: int) -> int:
    """Return the number of days of a month, 1 to 12.

    >>> days_in_month(2024, 2), days_in_month(1900, 2), days_in_month(0, 2)
    (29, 28, 29)
    """
    if month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        return 29
    return _LENGTHS[month - 1]


def day_number(year: int, month: int, day: int) -> int:
    """Return the number of days from 1970-01-01 to a date.

    >>> day_number(1970, 1, 1), day_number(2000, 3, 1), day_number(-216, 8, 2)
    (0, 11017, -798206)
    """
    # a year that begins in March ends with its leap day; every five months from March have 153 days
    shift = month < 3
    year -= shift
    return (
        365 * year + year // 4 - year // 100 + year // 400
        + (153 * (month + 9 if shift else month - 3) + 2) // 5 + day - 719_469
    )  # fmt: skip


def civil(number: int) -> tuple[int, int, int]:
    """Return year, month and day of a day since 1970-01-01.

    >>> civil(0), civil(-798206)
    ((1970, 1, 1), (-216, 8, 2))
    """
    cycle, day = divmod(number + 719_468, 146_097)  # 400 years, which begin on 1 March of year 0
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    shift = month >= 10
    return year + 400 * cycle + shift, month - 9 if shift else month + 3, day + 1


def months_later(number: int, months: int) -> int:
    """Return the day some months after (or before) a day, both counted since 1970-01-01.

    A day beyond the end of the month becomes its last day (XSD 1.1, E.3.3).

    >>> date_text(months_later(day_number(2024, 1, 31), 1)), date_text(months_later(0, -1))
    ('2024-02-29', '1969-12-01')
    """
    year, month, day = civil(number)
    years, month = divmod(month - 1 + months, 12)
    year, month = year + years, month + 1
    return day_number(year, month, min(day, days_in_month(year, month)))


def year_text(year: int) -> str:
    """Return a year as text with at least four digits.

    >>> year_text(-216), year_text(12000)
    ('-0216', '12000')
    """
    return f"{'-' if year < 0 else ''}{abs(year):04}"


def date_text(number: int) -> str:
    """Return a day since 1970-01-01 in the lexical form of xsd:date.

    >>> date_text(-798206)
    '-0216-08-02'
    """
    year, month, day = civil(number)
    return f"{year_text(year)}-{month:02}-{day:02}"
