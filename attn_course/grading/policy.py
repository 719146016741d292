"""Deadlines, late work and extensions: one small file, `policy.toml`.

    [late]
    grace = "15 minutes"       # after the deadline, without a deduction
    per_day = 0.1              # share of the points, for each day begun after the deadline
    floor = 0.5                # late work keeps at least this share
    exports = "final"          # what other systems get: "final", or "raw", which is the default
    trust_file_times = false   # whether a file's own time counts where the system tells none

    [deadlines]                # with their zone; 05 is for all notebooks of chapter 05
    01 = 2026-10-05T23:59:00+02:00
    05 = 2026-11-02T23:59:00+01:00

    [extensions.ann]           # by login
    01 = "3 days"              # or another deadline
    all = "1 day"              # for all that is not named

    [assignments]              # what your system calls them, in Canvas with the id
    01 = "Attention before deep learning (10293)"

Points as they were earned are never changed by it: they are in every table, next to how late the
notebook was, what that costs and what is left.
"""

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from attn_course.grading.collected import Attempt
from attn_course.grading.systems import BY_FILE
from attn_course.practice.numbers import did_you_mean, is_number
from attn_course.translate import _

_DAY = timedelta(days=1)
_UNITS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": _DAY}
_LENGTH = re.compile(r"(\d{1,5}) (minute|hour|day)s?")
_TABLES = ("late", "deadlines", "extensions", "assignments")
_LATE = ("grace", "per_day", "floor", "exports", "trust_file_times")
_EXPORTS = ("raw", "final")
_ALL = "all"


class PolicyProblem(Exception):  # noqa: N818  (the file has a problem; nothing crashed)
    """A policy that can't be used: the text says where and why."""


@dataclass(frozen=True)
class Lateness:
    """How late a notebook was, and what that costs; `why` says it to the learner.

    `final` is None where there are no points, and `late_by` where no time is known.
    """

    late_by: timedelta | None
    deduction: float
    final: float | None
    why: str

    @property
    def late_by_text(self) -> str:
        """How late, for a table; a blank where that is not known."""
        return "" if self.late_by is None else in_words(self.late_by)


@dataclass(frozen=True)
class Policy:
    """What the file says; what it does not say deducts nothing."""

    grace: timedelta = timedelta()
    per_day: float = 0.0
    floor: float = 0.0
    exports: str = "raw"
    trust_file_times: bool = False
    deadlines: Mapping[str, datetime] = field(default_factory=dict)
    extensions: Mapping[str, Mapping[str, timedelta | datetime]] = field(default_factory=dict)
    assignments: Mapping[str, str] = field(default_factory=dict)

    def deadline(self, learner: str, chapter: str) -> datetime | None:
        """Return until when a learner has time; None where there is no deadline.

        An extension is added to the deadline of the chapter, or replaces it.
        """
        general = _of_chapter(self.deadlines, chapter)
        own = self.extensions.get(learner, {})
        extension = _of_chapter(own, chapter) or own.get(_ALL)
        if isinstance(extension, datetime) or general is None:
            return extension if isinstance(extension, datetime) else None
        return general + extension if extension else general

    def assignment(self, chapter: str) -> str:
        """Return what another system calls a chapter (a stem); by default the stem."""
        return self.assignments.get(_number(chapter), chapter)

    def lateness(
        self, learner: str, chapter: str, attempt: Attempt | None, points: float | None
    ) -> Lateness | None:
        """Return how late a notebook was; None where it has no deadline."""
        deadline = self.deadline(learner, chapter)
        if deadline is None:
            return None
        until = _("Your deadline was {moment}.").format(moment=_moment(deadline))
        time = attempt.handed_in if attempt and self._counts(attempt) else None
        if attempt is None or time is None:
            return Lateness(None, 0, points, f"{until} {_unknown(attempt)}")
        late_by = max(time - deadline, timedelta())
        time = time.astimezone(deadline.tzinfo)
        if not late_by:
            why = _("You handed this in on {moment}, in time.")
            return Lateness(late_by, 0, points, f"{until} {why.format(moment=_moment(time))}")
        came = _("You handed this in on {moment}, late by {late}.").format(
            moment=_moment(time), late=in_words(late_by)
        )
        if late_by <= self.grace:
            why = _("That is within the {grace} for which nothing is deducted.")
            said = why.format(grace=in_words(self.grace))
            return Lateness(late_by, 0, points, f"{until} {came} {said}")
        share = min(self.per_day * math.ceil(late_by / _DAY), 1 - self.floor)
        deduction = _plain((points or 0) * share)
        final = None if points is None else _plain(points - deduction)
        why = _("This costs {share:.4g} % of the points.").format(share=100 * share)
        return Lateness(late_by, deduction, final, f"{until} {came} {why}")

    def strangers(self, learners: Iterable[str]) -> list[str]:
        """Return the logins with an extension that are none of `learners`: misspelt, perhaps."""
        known = set(learners)
        return [one for one in self.extensions if one not in known]

    def _counts(self, attempt: Attempt) -> bool:
        return self.trust_file_times or attempt.time_from != BY_FILE


def read_policy(text: str, name: str) -> Policy:
    """Return the policy that a text in TOML states; or raise `PolicyProblem`, with the name."""
    try:
        return _policy(tomllib.loads(text))
    except (PolicyProblem, tomllib.TOMLDecodeError) as fault:
        raise PolicyProblem(f"{name}: {fault}") from fault


def _policy(content: dict[str, Any]) -> Policy:
    _known(content, _TABLES, "")
    late = _table(content, "late")
    _known(late, _LATE, "late.")
    deadlines = {
        _chapter(key, "deadlines"): _time(value, f"deadlines.{key}")
        for key, value in _table(content, "deadlines").items()
    }
    extensions = {
        login: {
            key if key == _ALL else _chapter(key, f"extensions.{login}"): _extension(
                value, f"extensions.{login}.{key}"
            )
            for key, value in _table(_table(content, "extensions"), login, "extensions.").items()
        }
        for login in _table(content, "extensions")
    }
    assignments = {
        _chapter(key, "assignments"): _text(value, f"assignments.{key}")
        for key, value in _table(content, "assignments").items()
    }
    return Policy(
        grace=_length(late.get("grace", "0 minutes"), "late.grace"),
        per_day=_share(late.get("per_day", 0.0), "late.per_day"),
        floor=_share(late.get("floor", 0.0), "late.floor"),
        exports=_one_of(late.get("exports", "raw"), _EXPORTS, "late.exports"),
        trust_file_times=_one_of(
            late.get("trust_file_times", False), (True, False), "late.trust_file_times"
        ),
        deadlines=deadlines,
        extensions=extensions,
        assignments=assignments,
    )


def _known(table: Mapping[str, Any], names: tuple[str, ...], above: str) -> None:
    for name in table:
        if name not in names:
            raise PolicyProblem(
                _("{above}{name} is not known; there are: {names}.{meant}").format(
                    above=above, name=name, names=", ".join(names), meant=did_you_mean(name, names)
                )
            )


def _table(content: Mapping[str, Any], name: str, above: str = "") -> dict[str, Any]:
    found = content.get(name, {})
    if not isinstance(found, dict):
        raise PolicyProblem(
            _("{name} is a table, written [{name}], and not {found!r}.").format(
                name=above + name, found=found
            )
        )
    return found


def _chapter(key: str, where: str) -> str:
    """Return the number of a chapter, in two digits."""
    if not is_number(key):
        raise PolicyProblem(
            _("{where}.{key} names no chapter: write its number, such as 01 or 05b.").format(
                where=where, key=key
            )
        )
    digits = key.rstrip("abcdefghijklmnopqrstuvwxyz")
    return digits.zfill(2) + key[len(digits) :]


def _time(value: object, where: str) -> datetime:
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise PolicyProblem(
            _(
                "{where} is a moment with its zone, such as 2026-10-05T23:59:00+02:00, and not "
                "{value}."
            ).format(where=where, value=value)
        )
    return value


def _length(value: object, where: str) -> timedelta:
    found = _LENGTH.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise PolicyProblem(
            _(
                '{where} is a length such as "15 minutes", "2 hours" or "3 days", not {value}.'
            ).format(where=where, value=value)
        )
    return int(found[1]) * _UNITS[found[2]]


def _extension(value: object, where: str) -> timedelta | datetime:
    return _time(value, where) if isinstance(value, datetime) else _length(value, where)


def _share(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise PolicyProblem(
            _("{where} is a share from 0 to 1, such as 0.1 for 10 %, and not {value}.").format(
                where=where, value=value
            )
        )
    return float(value)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise PolicyProblem(
            _("{where} is a name in quotes, and not {value}.").format(where=where, value=value)
        )
    return value


def _one_of(value: Any, names: tuple[Any, ...], where: str) -> Any:
    if value not in names or isinstance(value, bool) != isinstance(names[0], bool):
        raise PolicyProblem(
            _("{where} is {names}, and not {value!r}.").format(
                where=where, names=_(" or ").join(map(repr, names)), value=value
            )
        )
    return value


def _of_chapter(table: Mapping[str, Any], chapter: str) -> Any:
    """Return what is said of a notebook, 05b, or of its whole chapter, 05."""
    number = _number(chapter)
    return table.get(number, table.get(number[:2]))


def _number(stem: str) -> str:
    return stem.partition("_")[0]


def _unknown(attempt: Attempt | None) -> str:
    if attempt and attempt.marked_late:
        return _(
            "Your system marked this as late; by how much is not known here, so nothing is "
            "deducted."
        )
    return _("When you handed this in is not known here, so nothing is deducted.")


def _plain(points: float) -> float:
    """Return points with two digits at most, and none where they are whole.

    >>> _plain(8.0), _plain(7.125)
    (8, 7.12)
    """
    short = round(points, 2)
    return int(short) if short == int(short) else short


def _moment(time: datetime) -> str:
    """Return a moment as people write it, with its zone.

    >>> _moment(datetime(2026, 10, 5, 23, 59, tzinfo=UTC))
    '2026-10-05 23:59 (UTC)'
    """
    zone = "UTC" if time.tzinfo is UTC else time.strftime("UTC%z")
    return f"{time:%Y-%m-%d %H:%M} ({zone})"


def in_words(length: timedelta) -> str:
    """Return a length of time: no second is lost that would make a day.

    >>> in_words(timedelta(days=1, hours=2, minutes=30)), in_words(timedelta(seconds=5))
    ('1 d 2 h 30 min', '1 min')
    """
    minutes = math.ceil(length / timedelta(minutes=1))
    days, rest = divmod(minutes, 24 * 60)
    hours, minutes = divmod(rest, 60)
    parts = [(days, _("{n} d")), (hours, _("{n} h")), (minutes, _("{n} min"))]
    return " ".join(words.format(n=n) for n, words in parts if n) or _("0 min")
