"""Who takes the course: a table with a line for each learner, and how learners are found in it.

It is CSV with a header. A column `login` is all that is needed; `name` (or first and last name),
`email`, `id`, `github` and `section` help to recognise who handed something in. What your system
exports will do as it is: the names of columns that Canvas' gradebook, Moodle's participants,
Gradescope's roster and GitHub Classroom's grades have are known.
"""

import csv
import io
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from attn_course.grading.systems import Who
from attn_course.translate import _

_COLUMNS = {
    "login": ("login", "username", "user name", "learner", "sis login id", "login id"),
    "name": ("name", "full name", "student", "student name"),
    "first": ("first name", "first", "given name"),
    "last": ("last name", "last", "surname", "family name"),
    "email": ("email", "e-mail", "email address"),
    "id": ("id", "canvas id", "canvas user id"),
    "sis_id": ("sis user id", "sid", "student id", "id number"),
    "github": ("github", "github username", "github login"),
    "section": ("section", "sections"),
}
_NOBODY = ("points possible", "manual posting", "student, test", "")  # lines of Canvas' own


class RosterProblem(Exception):  # noqa: N818  (the file has a problem; nothing crashed)
    """A roster that can't be used: the text says why and what to do."""


@dataclass(frozen=True)
class Learner:
    """A learner; only the login is always there."""

    login: str
    name: str = ""
    id: str = ""
    sis_id: str = ""
    email: str = ""
    github: str = ""
    section: str = ""


class Roster:
    """The learners of a course, by whatever a system calls them."""

    def __init__(self, learners: Iterable[Learner]) -> None:
        self.learners = tuple(learners)
        self.by_login = {one.login: one for one in self.learners}
        self._known: dict[str, list[Learner]] = defaultdict(list)
        self._named: dict[str, list[Learner]] = defaultdict(list)
        for one in self.learners:
            for word in {one.login, one.id, one.sis_id, one.email, one.github} - {""}:
                self._known[_folded(word)].append(one)
            for key in _name_keys(one.name):
                self._named[key].append(one)

    @property
    def logins(self) -> list[str]:
        """What may be at the end of a clone's folder."""
        return [word for one in self.learners for word in (one.github, one.login) if word]

    def find(self, who: Who) -> list[Learner]:
        """Return the learners who are meant: one, none, or several of the same name.

        By login, number or address; and by name where none of these is told or known.
        """
        for word in (who.login, who.id, who.email):
            if word and _folded(word) in self._known:
                return self._known[_folded(word)]
        return self._named.get(_squashed(who.name), []) if who.name else []


def read_roster(text: str, name: str) -> Roster:
    """Return the roster that a text in CSV has; or raise `RosterProblem`, with the name."""
    try:
        lines = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as fault:
        raise RosterProblem(_("{file} is no CSV: {why}.").format(file=name, why=fault)) from fault
    columns = _columns(lines[0] if lines else [], name)
    learners: dict[str, Learner] = {}
    places: dict[str, int] = {}
    for number, line in enumerate(lines[1:], start=2):
        cells = {
            column: line[place].strip() if place < len(line) else ""
            for column, place in columns.items()
        }
        if not any(cells.values()):
            continue
        one = _learner(cells)
        if not one.login:
            if one.name.casefold() in _NOBODY:
                continue
            raise RosterProblem(
                _("Line {number} of {file} has no login: {name}.").format(
                    number=number, file=name, name=one.name
                )
            )
        before = places.setdefault(_folded(one.login), number)
        if before != number:
            raise RosterProblem(
                _("{file} has the login {login} twice, in lines {first} and {second}.").format(
                    file=name, login=one.login, first=before, second=number
                )
            )
        learners[one.login] = one
    if not learners:
        raise RosterProblem(_("{file} names no learner.").format(file=name))
    return Roster(learners.values())


def _columns(header: list[str], file: str) -> dict[str, int]:
    """Return where each thing is that we know a use for."""
    places = {" ".join(word.replace("_", " ").lower().split()): n for n, word in enumerate(header)}
    found = {
        name: next(places[word] for word in words if word in places)
        for name, words in _COLUMNS.items()
        if any(word in places for word in words)
    }
    if not {"login", "email", "github", "sis_id"} & found.keys():
        raise RosterProblem(
            _(
                "The first line of {file} must name its columns, one of them login (or username, "
                "SIS Login ID, email): it has {header}."
            ).format(file=file, header=", ".join(filter(None, header)) or _("none"))
        )
    return found


def _learner(cells: dict[str, str]) -> Learner:
    name = cells.get("name") or " ".join(
        filter(None, [cells.get("first", ""), cells.get("last", "")])
    )
    login = next((cells[one] for one in ("login", "email", "github", "sis_id") if one in cells), "")
    others = ("id", "sis_id", "email", "github", "section")
    return Learner(login, name, **{one: cells.get(one, "") for one in others})


def _name_keys(name: str) -> set[str]:
    """Return what a name becomes wherever a system begins to write it.

    >>> sorted(_name_keys("Jane Q. Doe"))
    ['doejaneq', 'janeqdoe', 'qdoejane']
    """
    words = name.replace(",", " ").split()
    return {_squashed("".join(words[n:] + words[:n])) for n in range(len(words))} - {""}


def _squashed(name: str) -> str:
    """Return the letters and digits of a name; all of it where it has none, such as an emoji."""
    folded = _folded(name)
    return "".join(letter for letter in folded if letter.isalnum()) or "".join(folded.split())


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
