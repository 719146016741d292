"""Dates as people write them, with the place of every field known.

CLDR says for each language how a date is written, in four lengths: `EEEE, MMMM d, y` is
"Tuesday, March 5, 2024". The package Babel has these patterns. Here their fields are rendered
one by one, so that we know which characters are the day, the month and the year.

- `written` writes a day in one of the `FORMS`, a language and a length.
- `alphabet` are all signs that can occur.
"""

import re
from collections.abc import Callable
from datetime import date
from functools import cache
from typing import Any, Literal, NamedTuple

from attn_course._extras import missing

# Languages whose script matplotlib's own font can draw, so that every example has its figure.
LOCALES = (
    *("cs", "da", "de", "el", "en", "es", "fi", "fr", "hu"),
    *("hy", "it", "ka", "pl", "pt", "ru", "sv", "tr", "vi"),
)
Length = Literal["short", "medium", "long", "full"]
LENGTHS: tuple[Length, ...] = ("short", "medium", "long", "full")
FORMS = tuple((locale, length) for locale in LOCALES for length in LENGTHS)

# A century, so that two digits are enough to know the year.
FIRST_DAY, LAST_DAY = date(1950, 1, 1), date(2049, 12, 31)

_FIELDS = {"y": "year", "M": "month", "L": "month", "d": "day", "E": "weekday", "c": "weekday"}
# The part of a day that a field shows, as a day of its own: it need be rendered only once.
_SHOWN: dict[str, Callable[[date], date]] = {
    "year": lambda day: date(day.year, 1, 1),
    "month": lambda day: date(2000, day.month, 1),
    "day": lambda day: date(2000, 1, day.day),
    "weekday": lambda day: date(2001, 1, 1 + day.weekday()),  # which was a Monday
}
_PIECE = re.compile(r"'(?P<quoted>[^']*)'|(?P<field>(?P<letter>[A-Za-z])(?P=letter)*)|[^A-Za-z']+")


class Written(NamedTuple):
    """A date as a model reads it.

    `signs` are the language and then the characters: without the language it is not clear whether
    5/3/24 is in March or in May. `fields` has the places of day, month, year and weekday in them.
    """

    signs: tuple[str, ...]
    fields: dict[str, range]

    @property
    def text(self) -> str:
        """The date as people read it."""
        return "".join(self.signs[1:])


def written(day: date, locale: str, length: Length) -> Written:
    """Return a day as a language writes it.

    >>> written(date(2024, 3, 5), "en", "long").text
    'March 5, 2024'
    >>> written(date(2024, 3, 5), "en", "long").fields["day"]
    range(7, 8)
    """
    signs, fields = [locale], {}
    for text, field in _pieces(locale, length):
        if field:
            text = _rendered(locale, text, _SHOWN[field](day))
            fields[field] = range(len(signs), len(signs) + len(text))
        signs.extend(text)
    return Written(tuple(signs), fields)


@cache
def _pieces(locale: str, length: Length) -> tuple[tuple[str, str], ...]:
    """Return a pattern in pieces: field letters and what they show, or plain text and ""."""
    pieces = []
    for found in _PIECE.finditer(_babel().get_date_format(length, locale).pattern):
        if found["field"]:
            pieces.append((found["field"], _FIELDS[found["letter"]]))
        else:
            pieces.append((found[0] if found["quoted"] is None else found["quoted"], ""))
    return tuple(pieces)


@cache
def _rendered(locale: str, letters: str, day: date) -> str:
    shown: str = _babel().format_date(day, letters, locale)
    return shown


@cache
def _babel() -> Any:
    try:
        from babel import dates
    except ImportError as fault:
        raise missing("babel", "dates") from fault
    return dates


@cache
def alphabet() -> tuple[str, ...]:
    """Return every sign of every form, the languages among them."""
    # All days of a month have all weekdays and all digits; the firsts add the other months.
    days = [date(2000, 1, d) for d in range(1, 32)] + [date(2000, m, 1) for m in range(2, 13)]
    dates = [written(day, *form) for day in days for form in FORMS]
    return tuple(sorted({sign for source in dates for sign in source.signs}))
