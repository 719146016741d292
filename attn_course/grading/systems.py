"""How five systems name what learners handed in, and what they tell about it.

Each reader follows what its system documents, or what its public source writes:

- canvas: "Download Submissions" of an assignment. Flat files, `doejane_LATE_123_456_name.ipynb`:
  the sortable name without blanks, the mark LATE, Canvas' id of the user and of the file. A file
  that is handed in again under its name gets `-1`, `-2` (Canvas' `content_zipper.rb`). No time.
- moodle: "Download all submissions", in folders, `Full Name_1234567_assignsubmission_file_/`, or
  flat, where the same is in front of each file's name. What was typed into Moodle is in
  `…_onlinetext_`. No login, and no time.
- gradescope: "Export Submissions". Folders `submission_123/`, and `submission_metadata.yml` with
  the submitters (name, sid, email) and the time of each.
- classroom: clones of GitHub Classroom, `<assignment>-<login>/`. Nothing of a clone is run, and git
  is not asked, since a clone's own settings can name programs to run. So the only time is that of
  the last commit in `.git/logs/HEAD`, which a fresh clone has not.
- nbgrader: `submitted/<student>/<assignment>/`, with `timestamp.txt`.

A time that a system does not tell may be known from the file, which is a guess, and is called so.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from attn_course.grading.download import File
from attn_course.grading.intake import Unreadable

BY_SYSTEM, BY_FILE = "system", "file"  # who told the time at which something was handed in
_NOTEBOOK = ".ipynb"
# No number is longer: Python refuses to read thousands of digits.
_CANVAS = re.compile(
    r"(?P<name>.+?)_(?P<late>late_)?(?P<user>\d{1,20})_(?P<file>\d{1,20})_(?P<own>.+)", re.I
)
_MOODLE = re.compile(r"(?P<name>.+)_(?P<id>\d+)_(assignsubmission_)?(file|onlinetext)_?")
_MOODLE_FLAT = re.compile(r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_file_(?P<own>.+)")
_METADATA = "submission_metadata.yml"
_TIMESTAMP = "timestamp.txt"
_SUBMITTED = "submitted"
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d+))?\s*(\S.*)?")
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")


@dataclass(frozen=True)
class Who:
    """What a system tells about a learner; most tell only some of it."""

    login: str = ""
    name: str = ""
    id: str = ""  # the system's own, or the school's
    email: str = ""

    def __str__(self) -> str:
        return self.login or self.email or "-".join(filter(None, [self.name, self.id]))


@dataclass(frozen=True)
class Submitted:
    """A notebook that was handed in: by whom, when, and what it is called without the rest."""

    who: Who
    file: File
    name: str
    time: datetime | None = None
    time_from: str = ""  # BY_SYSTEM or BY_FILE
    is_marked_late: bool = False
    order: int = 0  # of two by one learner, where there is no time: the later is larger


@dataclass(frozen=True)
class Reading:
    """The notebooks of which a system says whose they are, and those of which it does not.

    `others` are no notebooks: what learners handed in besides, or in place of one.
    """

    submitted: tuple[Submitted, ...]
    strange: tuple[File, ...]
    others: tuple[File, ...]


Logins = Mapping[str, str]  # in lower case: as they are written
Reader = Callable[[Sequence[File], Logins], Iterator[Submitted]]


def recognised(files: Sequence[File]) -> str:
    """Return the system that a download comes from, or nothing where that can't be told."""
    names = {file.name for file in files}
    notebooks = [file for file in files if file.name.endswith(_NOTEBOOK)]
    if _METADATA in names:
        return "gradescope"
    if _TIMESTAMP in names or any(_SUBMITTED in file.path[:-3] for file in notebooks):
        return "nbgrader"
    if any(_MOODLE.fullmatch(part) for file in files for part in file.path[:-1]):
        return "moodle"
    if any(_MOODLE_FLAT.fullmatch(file.name) for file in notebooks):
        return "moodle"
    if any(_CANVAS.fullmatch(file.name) for file in notebooks):
        return "canvas"
    if any(".git" in file.path for file in files) or _prefix(notebooks):
        return "classroom"
    return ""


def read_as(system: str, files: Sequence[File], logins: Iterable[str] = ()) -> Reading:
    """Return the notebooks in `files`; `logins` are those that may be at the end of a folder."""
    found = tuple(READERS[system](files, {login.lower(): login for login in logins}))
    taken = {one.file.path for one in found}
    strange = [f for f in files if f.name.endswith(_NOTEBOOK) and f.path not in taken]
    # A clone, or what nbgrader hands out, has files of its own next to the notebooks.
    has_own = system in ("classroom", "nbgrader")
    others = [f for f in files if not f.name.endswith((_NOTEBOOK, _METADATA)) and not has_own]
    return Reading(found, tuple(strange), tuple(others))


def _canvas(files: Sequence[File], _logins: Logins) -> Iterator[Submitted]:
    for file in files:
        found = _CANVAS.fullmatch(file.name)
        if found and file.name.endswith(_NOTEBOOK):
            who = Who(name=found["name"], id=found["user"])
            late = bool(found["late"])
            yield _by_file(who, file, found["own"], late=late, order=int(found["file"]))


def _moodle(files: Sequence[File], _logins: Logins) -> Iterator[Submitted]:
    for file in _notebooks(files):
        folders = filter(None, map(_MOODLE.fullmatch, file.path[:-1]))
        folder, flat = next(folders, None), _MOODLE_FLAT.fullmatch(file.name)
        if folder:
            yield _by_file(Who(name=folder["name"]), file, file.name)
        elif flat:
            yield _by_file(Who(name=flat["name"]), file, flat["own"])


def _gradescope(files: Sequence[File], _logins: Logins) -> Iterator[Submitted]:
    told: dict[tuple[str, ...], tuple[list[Who], datetime | None]] = {}
    for file in files:
        if file.name == _METADATA:
            for name, one in _metadata(_text(file)).items():
                told[(*file.path[:-1], name)] = one
    for file in _notebooks(files):
        for depth in range(1, len(file.path)):
            submitters, time = told.get(file.path[:depth], ([], None))
            for who in submitters:  # of a group, each
                yield Submitted(who, file, file.name, time, BY_SYSTEM if time else "")


def _classroom(files: Sequence[File], logins: Logins) -> Iterator[Submitted]:
    prefix = _prefix([file for file in files if file.name.endswith(_NOTEBOOK)])
    times = {file.path[:-3]: _last_commit(_text(file)) for file in files if ".git" in file.path}
    for file in _notebooks(files):
        for depth in range(1, len(file.path)):
            login = _login_in(file.path[depth - 1], prefix, logins)
            if login:
                time = times.get(file.path[:depth])
                who = Who(login=login)
                if time:
                    yield Submitted(who, file, file.name, time, BY_SYSTEM)
                else:
                    yield _by_file(who, file, file.name)
                break


def _nbgrader(files: Sequence[File], _logins: Logins) -> Iterator[Submitted]:
    times = {f.path[:-1]: time_in(_text(f)) for f in files if f.name == _TIMESTAMP}
    for file in _notebooks(files):
        above = file.path[:-1]
        while above and above not in times and above[-3:-2] != (_SUBMITTED,):
            above = above[:-1]
        if len(above) < 2:
            continue
        who, time = Who(login=above[-2]), times.get(above)
        if time:
            yield Submitted(who, file, file.name, time, BY_SYSTEM)
        else:
            yield _by_file(who, file, file.name)


READERS: dict[str, Reader] = {
    "canvas": _canvas,
    "moodle": _moodle,
    "gradescope": _gradescope,
    "classroom": _classroom,
    "nbgrader": _nbgrader,
}


def _notebooks(files: Sequence[File]) -> list[File]:
    return [file for file in files if file.name.endswith(_NOTEBOOK) and ".git" not in file.path]


def _by_file(who: Who, file: File, name: str, late: bool = False, order: int = 0) -> Submitted:
    return Submitted(who, file, name, file.changed, BY_FILE if file.changed else "", late, order)


def _text(file: File) -> str:
    """Return a file as text; what can't be read tells nothing."""
    try:
        return file.read().decode("utf-8-sig", "replace")
    except Unreadable:
        return ""


def _metadata(text: str) -> dict[str, tuple[list[Who], datetime | None]]:
    """Return submitters and time of each submission.

    It is YAML as Ruby writes it, with `:name:` for keys and objects of Ruby's own, which no safe
    reader of YAML takes. All that is needed are the lines of a few keys, by how far they are
    indented: a submission's own `:created_at:` is not that of an earlier one in its history.
    """
    found: dict[str, tuple[list[Who], datetime | None]] = {}
    name, block, block_indent = "", "", 0
    for line in text.splitlines():
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        if indent == 0 and bare.endswith(":") and not bare.startswith((":", "-")):
            name, block = _unquoted(bare[:-1]), ""
            found[name] = ([], None)
            continue
        key, _colon, value = bare.removeprefix("- ").removeprefix(":").partition(":")
        if not name or not _colon:
            continue
        if bare.startswith(":") and (not block or indent <= block_indent):
            block, block_indent = key, indent
        submitters, time = found[name]
        if block == "submitters" and key in ("name", "sid", "email"):
            if bare.startswith("- "):
                submitters.append(Who())
            if submitters:
                submitters[-1] = _with(submitters[-1], key, _unquoted(value))
        elif block == "created_at" and key in (block, "utc") and time is None:
            found[name] = (submitters, time_in(_unquoted(value)))
    return {name: one for name, one in found.items() if one[0]}


def _with(who: Who, key: str, value: str) -> Who:
    fields = {"name": who.name, "sid": who.id, "email": who.email} | {key: value}
    return Who(name=fields["name"], id=fields["sid"], email=fields["email"])


def _unquoted(text: str) -> str:
    """Return a plain value of YAML, whose quotes may be single or double.

    >>> _unquoted(" 'O''Hara' "), _unquoted('"Ann"'), _unquoted(" 12 "), _unquoted("null")
    ("O'Hara", 'Ann', '12', '')
    """
    text = text.strip()
    if text[:1] == text[-1:] == "'" and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text[:1] == text[-1:] == '"' and len(text) > 1:
        inside = re.sub(r"\\u([0-9A-Fa-f]{4})", lambda m: chr(int(m[1], 16)), text[1:-1])
        return inside.replace('\\"', '"')
    return "" if text in ("null", "~") else text


def time_in(text: str) -> datetime | None:
    """Return a moment with its zone, as Gradescope, nbgrader or ISO 8601 write it; or None.

    >>> str(time_in("2015-02-02 15:58:23.948203 America/Los_Angeles"))
    '2015-02-02 23:58:23+00:00'
    >>> str(time_in("2026-10-05 21:59:00 Z")), time_in("yesterday"), time_in("2026-10-05 21:59:00")
    ('2026-10-05 21:59:00+00:00', None, None)
    """
    found = _TIME.search(text.strip())
    zone = _zone((found[4] or "").strip()) if found else None
    if found is None or zone is None:
        return None
    try:
        return datetime.fromisoformat(f"{found[1]} {found[2]}").replace(tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(word: str) -> timezone | ZoneInfo | None:
    if word in ("Z", "UTC", "GMT"):
        return UTC
    offset = _OFFSET.fullmatch(word)
    if offset:
        size = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(size if offset[1] == "+" else -size) if size < timedelta(days=1) else None
    try:
        return ZoneInfo(word) if re.fullmatch(r"[A-Za-z]+(/[\w+-]+)*", word) else None
    except (OSError, KeyError, ValueError):  # no such zone
        return None


def _last_commit(reflog: str) -> datetime | None:
    """Return when the last commit was made on this computer; a clone or a pull is none.

    A line is `<before> <after> Name <email> <seconds> <zone>\\t<what was done>`.
    """
    last = reflog.rstrip("\n").rpartition("\n")[2]
    who, _tab, done = last.partition("\t")
    found = re.search(r"> (\d{1,11}) [+-]\d{4}$", who)
    if not found or not done.startswith("commit"):
        return None
    return datetime.fromtimestamp(int(found[1]), UTC)


def _prefix(notebooks: Sequence[File]) -> str:
    """Return what the folders of clones have in common, `<assignment>-`; or nothing."""
    folders = {part for file in notebooks for part in file.path[:1]}
    if len(folders) == 1:  # a folder around them all
        (around,) = folders
        inner = {file.path[1] for file in notebooks if len(file.path) > 2}
        if around.endswith("-submissions") and inner:
            prefix = around.removesuffix("submissions")
            return prefix if all(one.startswith(prefix) for one in inner) else ""
        folders = inner
    return _common_words(sorted(folders)) if len(folders) > 1 else ""


def _common_words(folders: Sequence[str]) -> str:
    """Return the words with which all begin, with the hyphen; each has a word of its own left.

    >>> _common_words(["week-1-ann", "week-1-bob-li"]), _common_words(["ann", "bob"])
    ('week-1-', '')
    """
    common = []
    for words in zip(*(folder.split("-")[:-1] for folder in folders), strict=False):
        if len(set(words)) > 1:
            break
        common.append(f"{words[0]}-")
    return "".join(common)


def _login_in(folder: str, prefix: str, logins: Logins) -> str:
    """Return the login at the end of a clone's folder: one of `logins`, or what is left.

    >>> _login_in("week-1-Bob-Li", "", {"li": "li", "bob-li": "bob-li"})
    'bob-li'
    """
    words = folder.lower().split("-")
    for place in range(len(words)):  # the longest first
        login = logins.get("-".join(words[place:]))
        if login:
            return login
    is_around = folder == f"{prefix}submissions"  # all clones are in it
    is_clone = prefix and folder.startswith(prefix) and not is_around
    return folder.removeprefix(prefix) if is_clone else ""
