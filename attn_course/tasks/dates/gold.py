"""The gold alignment: which character of a written date determines which character of the ISO date.

For `2024-03-05`, written `March 5, 2024`:

- A digit that is written out has a *sure* link to the digit it becomes: 5 to 5.
- Every digit of a field has *possible* links to all characters of that field: both digits of the
  month to every letter of `March`, since no single letter determines the month.
- A digit that is not written has possible links only: the zero that pads the day, and the century
  where the year has two digits. They follow from the field, but no character of it says them.
- Hyphens are always the same. They have no link, and whatever a model looks at meanwhile is
  neither praised nor blamed.

A written month may have digits too: Vietnamese writes `tháng 3`. They are sure like any other.
"""

from attn_course.evaluation.links import Link
from attn_course.tasks.dates.rendering import Written

ISO_LENGTH = 10
_ISO_PLACES = {"year": range(0, 4), "month": range(5, 7), "day": range(8, 10)}


def gold_links(source: Written) -> tuple[set[Link], set[Link]]:
    """Return the sure and the possible links `(target, source)` between ISO date and `source`.

    >>> from datetime import date
    >>> from attn_course.tasks.dates.rendering import written
    >>> sure, possible = gold_links(written(date(2024, 3, 5), "en", "short"))  # en 3/5/24
    >>> sorted(sure)
    [(2, 5), (3, 6), (6, 1), (9, 3)]
    >>> sorted(possible - sure)
    [(0, 5), (0, 6), (1, 5), (1, 6), (2, 6), (3, 5), (5, 1), (8, 3)]
    """
    sure, possible = set(), set()
    for field, targets in _ISO_PLACES.items():
        places = source.fields[field]
        possible |= {(target, place) for target in targets for place in places}
        digits = [place for place in places if source.signs[place].isdigit()]
        # From the right: what is missing are zeros and the century, on the left.
        sure |= set(zip(reversed(targets), reversed(digits), strict=False))
    return sure, possible
