"""Grading as it arrives: look into the inbox every few seconds, and grade what has settled.

A file has settled when two looks in a row found the same file with the same size and time of
change, so nothing is graded while it is still being copied. Programs that write under another name
and rename at the end are served too: names that start with a dot, or name no chapter, are left
aside, and a file that was put in the place of another is noticed whatever its size and time.

Nothing is remembered here between two starts: the gradebook knows what was graded. It is open only
while something is graded, so other commands can use it in between.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from attn_course.grading import changes, intake, shards
from attn_course.grading.gradebook import Gradebook, GradebookProblem
from attn_course.grading.intake import HandedIn, Intake, IntakeProblem
from attn_course.grading.run import Settings, grade_notebooks, open_gradebook
from attn_course.translate import _

_Stamp = tuple[int, int, int]


class Arrivals:
    """Knows what the last look found, and what was taken already."""

    def __init__(self) -> None:
        self._before: dict[HandedIn, _Stamp] = {}
        self._taken: dict[HandedIn, _Stamp] = {}

    def settled(self, notebooks: Iterable[HandedIn]) -> tuple[HandedIn, ...]:
        """Return what is there, is as it was at the last look, and was not taken as it is."""
        stamps = {one: _stamp(one) for one in notebooks if one.is_there}
        now = {one: stamp for one, stamp in stamps.items() if stamp is not None}
        found = tuple(
            one for one in now if self._before.get(one) == now[one] != self._taken.get(one)
        )
        self._before = now
        return found

    def take(self, notebooks: Iterable[HandedIn]) -> None:
        """Remember that these were graded, as they were at the last look."""
        self._taken.update({one: self._before[one] for one in notebooks})


class Watch:
    """Grades what arrives, until it is stopped.

    `report` is called with the gradebook, the notebooks and the notices after each batch, `say`
    with sentences about what is in the way, `wait` between two looks.
    """

    def __init__(
        self,
        settings: Settings,
        report: Callable[[Gradebook, tuple[HandedIn, ...], tuple[str, ...]], None],
        say: Callable[[str], None],
        wait: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._report = report
        self._say = say
        self._wait = wait
        self._said = ""
        self._arrivals = Arrivals()
        self._versions = settings.versions()

    def run(self) -> None:
        """Look, grade, wait; only an exception ends it, such as Ctrl-C."""
        # What is wrong from the start is no reason to wait: it is raised.
        with open_gradebook(self._settings) as gradebook:
            shards.begin(gradebook, None, {})
        self._settings = replace(self._settings, fresh=False, seed=None)
        while True:
            try:
                self._look()
                self._said = ""
            except (GradebookProblem, IntakeProblem) as fault:
                self._complain(str(fault))
            self._wait()

    def _look(self) -> None:
        found = intake.find(self._settings.submissions, self._settings.chapters)
        settled = self._arrivals.settled(found.notebooks)
        if settled:
            self._grade(settled, found)
            self._arrivals.take(settled)

    def _grade(self, settled: tuple[HandedIn, ...], found: Intake) -> None:
        # A sandbox for each job takes seconds to start: no more than there are notebooks.
        few = replace(self._settings, jobs=min(self._settings.jobs, len(settled)))
        with open_gradebook(few) as gradebook:
            changes.begin(gradebook)  # each batch is a run of its own, whose changes are told
            grade_notebooks(few, gradebook, settled, self._versions)
            self._report(gradebook, settled, found.notices)

    def _complain(self, sentence: str) -> None:
        """Say what is in the way, once: the next look may find it gone."""
        if sentence != self._said:
            self._said = sentence
            self._say(_("{sentence} The next look tries again.").format(sentence=sentence))


def _stamp(one: HandedIn) -> _Stamp | None:
    """Return which file it is, its size and when it was changed; None where it is gone again."""
    try:
        status = one.path.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
