"""From a download to the folder that the grader reads: `<into>/<learner>/<NN_topic>.ipynb`.

Each notebook is given to a learner of the roster and to a chapter: by its name, or by the checks in
it where a learner has renamed it. Of several attempts one counts. `last` and `first` write that one
alone. `best` writes all of them, the last into `<learner>` and the earlier ones into
`<learner>.attempt1`, `<learner>.attempt2`; the grader judges each like a learner of its own, and
reports and exports then take the best one for the learner (`collected.counted`).

Several downloads can be collected into one folder, one after the other. Whoever is on the roster
has a folder afterwards, be it empty: so the grader names everybody who handed in nothing.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from attn_course.grading import folder
from attn_course.grading.collected import BY_INSTRUCTOR, FILE, Attempt, read_collected, to_csv
from attn_course.grading.desk import read_text
from attn_course.grading.download import Download, File
from attn_course.grading.intake import HandedIn, Unreadable, read
from attn_course.grading.roster import Learner, Roster
from attn_course.grading.safe_names import file_names
from attn_course.grading.submission_times import SubmissionTimes
from attn_course.grading.systems import BY_FILE, BY_SYSTEM, Submitted, read_as, recognised
from attn_course.practice.exercise import Chapter
from attn_course.practice.numbers import Misuse, chapter_of_file, exercise_named
from attn_course.translate import _

ATTEMPTS = ("last", "first", "best")
_CHECK = re.compile(rb"practice\.check\(\s*\\?[\"']([\w.]+)")  # as it is written in JSON
_EARLIER = ".attempt"
_OURS = re.compile(rf".*{re.escape(_EARLIER)}\d+", re.DOTALL)


class CollectProblem(Exception):  # noqa: N818  (the folder has a problem; nothing crashed)
    """A folder into which nothing can be collected: the text says why and what to do."""


@dataclass(frozen=True)
class Collection:
    """What came of it: sentences about what was not placed, and about choices that were made."""

    system: str
    learners: int  # who have a notebook in the folder now
    placed: int
    missing: Mapping[str, tuple[str, ...]]  # chapter: logins of the roster
    not_placed: tuple[str, ...]
    notices: tuple[str, ...]


@dataclass(frozen=True)
class _Candidate:
    attempt: Attempt
    read: Callable[[], bytes]
    is_new: bool
    order: int = 0
    has_stem: bool = False  # whether it was called as it was handed out


def collect(
    download: Download,
    system: str,
    roster: Roster | None,
    into: Path,
    attempt: str,
    chapters: Mapping[str, Chapter],
    times: SubmissionTimes | None = None,
) -> Collection:
    """Write the notebooks of a download into the folder `into`, and say what came of it."""
    system = recognised(download.files) if system == "auto" else system
    if not system:
        raise CollectProblem(
            _(
                "{place} looks like a download of no system that is known here: say --from canvas, "
                "moodle, gradescope, classroom or nbgrader. A folder for each learner needs no "
                "collecting: `attn-course grade` reads it as it is."
            ).format(place=download.place)
        )
    _prepare(into, download.place)
    reading = read_as(system, download.files, roster.logins if roster else ())
    places = _Places(roster, chapters, times or SubmissionTimes())
    for one in reading.submitted:
        places.put(one)
    for file in reading.strange:
        places.leave(file, _("its name does not say whose it is"))
    before = _before(into)
    written, notices = _Writer(into, before, attempt, _logins(roster, places, before)).write(places)
    return Collection(
        system=system,
        learners=len({one.learner for one in written if one.chapter}),
        placed=len({(one.learner, one.chapter) for one in places.new()}),
        missing=_missing(roster, places),
        not_placed=tuple(places.left),
        notices=(*download.notices, *notices, *map(_no_notebook, reading.others)),
    )


def _no_notebook(file: File) -> str:
    return _("Left aside: {file}, which is no notebook.").format(file=file)


def _before(into: Path) -> tuple[Attempt, ...]:
    """Return what earlier downloads have brought."""
    table = into / FILE
    if not table.is_file():
        return ()
    return read_collected(read_text(table), str(table))


def _prepare(into: Path, download: Path) -> None:
    if into.is_symlink() or (into.exists() and not into.is_dir()):
        raise CollectProblem(_("{into} is not a folder: name a new one.").format(into=into))
    inside, outside = into.resolve(), download.resolve()
    if inside.is_relative_to(outside) or outside.is_relative_to(inside):
        raise CollectProblem(
            _("{into} and {download} are inside of one another: name another folder.").format(
                into=into, download=download
            )
        )
    if into.is_dir() and any(into.iterdir()) and not (into / FILE).is_file():
        raise CollectProblem(
            _("{into} has files in it that were not collected: name a new folder.").format(
                into=into
            )
        )
    into.mkdir(mode=0o700, parents=True, exist_ok=True)  # who handed in what is private


class _Places:
    """The notebooks of a download, by learner and chapter."""

    def __init__(
        self, roster: Roster | None, chapters: Mapping[str, Chapter], times: SubmissionTimes
    ) -> None:
        self._roster = roster
        self._chapters = chapters
        self._times = times
        self.found: dict[tuple[str, str], list[_Candidate]] = defaultdict(list)
        self.left: list[str] = []

    def put(self, one: Submitted) -> None:
        learners = self._learners(one)
        if len(learners) != 1:
            several = _("several learners are called {who}: {logins}")
            unknown = _("{who} is not on the roster")
            names = ", ".join(learner.login for learner in learners)
            words = several if learners else unknown
            self.leave(one.file, words.format(who=one.who, logins=names))
            return
        try:
            content = one.file.read()
        except Unreadable as fault:
            self.leave(one.file, str(fault).rstrip("."))
            return
        chapter = chapter_of(one.name, content, self._chapters)
        if chapter is None:
            self.leave(one.file, _("it names no chapter, and has no checks of one"))
            return
        learner = learners[0].login
        time = None if one.time_from == BY_SYSTEM else self._times.of(learner, chapter.stem)
        attempt = Attempt(
            folder="",
            learner=learner,
            chapter=chapter.stem,
            handed_in=time or one.time,
            time_from=BY_SYSTEM if time else one.time_from,
            marked_late=one.is_marked_late,
            file=str(one.file),
            sha256=hashlib.sha256(content).hexdigest(),
        )
        has_stem = one.name.removesuffix(".ipynb") == chapter.stem
        candidate = _Candidate(attempt, one.file.read, True, one.order, has_stem)
        self.found[attempt.learner, attempt.chapter].append(candidate)

    def leave(self, file: File, why: str) -> None:
        sentence = _("Not placed: {file}, since {why}.")
        self.left.append(sentence.format(file=file, why=why))

    def new(self) -> list[Attempt]:
        return [one.attempt for several in self.found.values() for one in several]

    def _learners(self, one: Submitted) -> list[Learner]:
        if self._roster is None:
            return [Learner(str(one.who))]
        return self._roster.find(one.who)


def chapter_of(name: str, content: bytes, chapters: Mapping[str, Chapter]) -> Chapter | None:
    """Return the chapter that a notebook names, or whose exercises it checks."""
    named = chapter_of_file(name, chapters)
    if named is not None:
        return named
    for word in _CHECK.findall(content):
        try:
            return exercise_named(word.decode(errors="replace"), chapters).chapter
        except Misuse:
            continue
    return None


def _logins(roster: Roster | None, places: _Places, before: Iterable[Attempt]) -> list[str]:
    known = [one.login for one in roster.learners] if roster else []
    found = [learner for learner, _chapter in places.found]
    return list(dict.fromkeys([*known, *found, *(one.learner for one in before)]))


def _missing(roster: Roster | None, places: _Places) -> dict[str, tuple[str, ...]]:
    """Return who of the roster did not hand in a chapter that is in the download."""
    if roster is None:
        return {}
    stems = sorted({chapter for _learner, chapter in places.found})
    gone = {
        stem: tuple(one.login for one in roster.learners if (one.login, stem) not in places.found)
        for stem in stems
    }
    return {stem: logins for stem, logins in gone.items() if logins}


class _Writer:
    """Chooses among attempts, and writes those that are kept."""

    def __init__(
        self, into: Path, before: Sequence[Attempt], which: str, logins: Sequence[str]
    ) -> None:
        self._into = into
        self._before: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
        for one in before:
            self._before[one.learner, one.chapter].append(one)
        self._which = which
        for login in logins:
            if login == FILE or _OURS.fullmatch(login):
                raise CollectProblem(
                    _("The login {login} is a name of ours, for a file or an attempt.").format(
                        login=login
                    )
                )
        self._folders = file_names(logins)

    def write(self, places: _Places) -> tuple[tuple[Attempt, ...], list[str]]:
        kept = {
            (one.folder, one.chapter): one
            for whose, several in self._before.items()
            for one in several
            if whose not in places.found
        }
        notices: list[str] = []
        for (learner, chapter), new in sorted(places.found.items()):
            chosen, notice = self._chosen([*self._old(learner, chapter), *new])
            notices += notice
            for one in self._written(chosen):
                kept[one.folder, one.chapter] = one
        for login, name in self._folders.items():
            (self._into / name).mkdir(mode=0o700, exist_ok=True)
            if name != login:  # or nobody would know whose folder it is while it is empty
                kept[name, ""] = Attempt(name, login, "")
        self._remove_others(kept)
        attempts = tuple(kept.values())
        folder.write(self._into, FILE, to_csv(attempts))
        return attempts, notices

    def _old(self, learner: str, chapter: str) -> list[_Candidate]:
        """Return what an earlier download has brought."""
        found = []
        for one in self._before[learner, chapter]:
            place = self._into / one.folder / f"{chapter}.ipynb"
            if place.is_file():  # unless it was removed by hand
                handed_in = HandedIn(learner, chapter, place, str(place))
                found.append(_Candidate(one, partial(read, handed_in), False, one.attempt))
        return found

    def _chosen(self, several: list[_Candidate]) -> tuple[list[_Candidate], list[str]]:
        """Return what is kept, the earliest first, and a notice where that was a choice."""
        in_order = _in_order(_without_copies(several), self._which == "first")
        if self._which == "best" or len(in_order) == 1:
            return in_order, []
        chosen = in_order[0] if self._which == "first" else in_order[-1]
        others = [one for one in in_order if one is not chosen]
        sentence = _("{learner} has several notebooks for {chapter}: {file} counts, not {others}.")
        notice = sentence.format(
            learner=chosen.attempt.learner,
            chapter=chosen.attempt.chapter,
            file=chosen.attempt.file,
            others=", ".join(one.attempt.file for one in others),
        )
        return [chosen], [notice]

    def _written(self, chosen: list[_Candidate]) -> list[Attempt]:
        made = []
        contents = [one.read() for one in chosen]  # all before one is written: they change places
        for number, (one, content) in enumerate(zip(chosen, contents, strict=True), start=1):
            name = self._folders[one.attempt.learner]
            name = name if number == len(chosen) else f"{name}{_EARLIER}{number}"
            folder.write(self._into, f"{name}/{one.attempt.chapter}.ipynb", content)
            made.append(replace(one.attempt, folder=name, attempt=number, attempts=len(chosen)))
        return made

    def _remove_others(self, kept: Mapping[tuple[str, str], Attempt]) -> None:
        """Remove attempts that were kept before and are not now; nothing else is touched."""
        for one in chain.from_iterable(self._before.values()):
            if (one.folder, one.chapter) not in kept and _EARLIER in one.folder:
                place = self._into / one.folder
                (place / f"{one.chapter}.ipynb").unlink(missing_ok=True)
                if place.is_dir() and not any(place.iterdir()):
                    place.rmdir()


def _without_copies(several: Iterable[_Candidate]) -> list[_Candidate]:
    """Return each content once: where it came last, with the time when it came first.

    A time that an instructor wrote down stays.
    """
    found: dict[str, _Candidate] = {}
    for one in several:
        before = found.get(one.attempt.sha256, one)
        is_known = before.attempt.time_from == BY_INSTRUCTOR or not _is_earlier(one, before)
        found[one.attempt.sha256] = replace(
            one, attempt=before.attempt if is_known else one.attempt
        )
    return list(found.values())


def _is_earlier(one: _Candidate, other: _Candidate) -> bool:
    """Return whether a copy is known to have come before another: that one counts as handed in."""
    times = one.attempt.handed_in, other.attempt.handed_in
    if one.attempt.time_from != BY_SYSTEM or times[0] is None:
        return False
    return other.attempt.time_from != BY_SYSTEM or times[1] is None or times[0] < times[1]


def _in_order(several: Sequence[_Candidate], first_counts: bool) -> list[_Candidate]:
    """Return attempts in the order in which they came, as well as that is known.

    By their times, if the system tells them all; else by the download and by the system's own
    numbers. Of two that are alike in that, the one counts that has the name that was handed out.
    """
    told = all(one.attempt.handed_in and one.attempt.time_from != BY_FILE for one in several)

    def order(one: _Candidate) -> tuple[float, bool, int, bool, str]:
        time = one.attempt.handed_in.timestamp() if told and one.attempt.handed_in else 0.0
        return time, one.is_new, one.order, one.has_stem != first_counts, one.attempt.file

    return sorted(several, key=order)
