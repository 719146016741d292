"""The whole run: find the notebooks, grade those that need it, keep every result at once.

What was graded already, in this run or one that was stopped, is not graded again. The records
depend on the notebooks, the checks and the seed, and not on the number of jobs, on their order or
on how often the run was stopped.
"""

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Protocol

from attn_course._progress_bar import ProgressBar
from attn_course.grading import folder, intake, jobs, shards
from attn_course.grading.grade_one import Opens, grade_cells, seed_of_submission
from attn_course.grading.gradebook import Entry, Gradebook
from attn_course.grading.instructor import version_of
from attn_course.grading.intake import HandedIn, Intake, Unreadable
from attn_course.grading.jobs import Done, Jobs, ToGrade
from attn_course.grading.records import Record, cut
from attn_course.grading.safe_names import shown
from attn_course.grading.shards import Shard
from attn_course.inside.limits import Limits
from attn_course.practice.exercise import Chapter
from attn_course.practice.results import Verdict
from attn_course.translate import _

_ATTEMPTS = 2  # with a new sandbox, when the old one failed us
# When a job is overdue: each attempt may take the time of a submission twice, a fresh kernel once,
# and starting a sandbox takes time of our own.
_OVERDUE, _OWN_SECONDS = 5, 300.0
_MOST_SHOWN = 8  # of the notebooks that are being graded: elsewhere there may be thousands

# What grades notebooks somewhere else: tasks go in, and come out in any order.
Engine = Callable[[Iterator[ToGrade]], Iterator[Done]]


class RunsNotebooks(Protocol):
    """What says whether a notebook runs from top to bottom: `FreshKernel`, or a fake."""

    def run(self, content: bytes) -> str:
        """Return "yes", or "no" or "not run" with the reason."""
        ...

    def is_answered(self, runs: str) -> bool:
        """Return whether an answer from before will do."""
        ...


@dataclass(frozen=True)
class Settings:
    """What a run needs to know.

    `open_sandbox` makes the sandbox of a job, in the job; `after_fork` is called here each time
    that a job was forked. Where there is an `engine`, it does the work and opens its own sandboxes.
    """

    submissions: Path
    out: Path
    chapters: Mapping[str, Chapter]
    open_sandbox: Callable[[], Opens]
    rung: str
    limits: Limits = field(default_factory=Limits)
    after_fork: Callable[[], None] = lambda: None
    jobs: int = 1
    seed: int | None = None
    fresh: bool = False
    own_checks: tuple[Path, ...] = ()
    fresh_kernel: RunsNotebooks | None = None  # asked too, where it is wanted
    show_progress: bool = True
    shard: Shard | None = None  # the learners to grade; all where there is none
    engine: Engine | None = None

    def versions(self) -> dict[str, str]:
        """Return by number of the chapter the version of what judges it."""
        return {
            number: version_of(chapter, self.limits, self.own_checks)
            for number, chapter in self.chapters.items()
        }


class NotebookGrader:
    """What a job does its work with: a sandbox, renewed when it fails, and the chapters."""

    def __init__(
        self,
        open_sandbox: Callable[[], Opens],
        chapters: Mapping[str, Chapter],
        limits: Limits,
        fresh_kernel: RunsNotebooks | None = None,
    ) -> None:
        self._open_sandbox = open_sandbox
        self._chapters = chapters
        self._limits = limits
        self._fresh_kernel = fresh_kernel
        _rehearse_a_gradient()
        self._sandbox: Opens | None = open_sandbox()

    def grade(self, task: ToGrade) -> Record:
        """Return how a notebook went."""
        record = self._graded(task)
        if self._fresh_kernel is None or record.status in (Verdict.UNREADABLE, Verdict.NOT_GRADED):
            return record
        return replace(record, runs=cut(self._fresh_kernel.run(task.content)))

    def _graded(self, task: ToGrade) -> Record:
        chapter = self._chapters[task.chapter]
        try:
            cells = intake.cells_of(task.name, task.content)
        except (Unreadable, MemoryError) as fault:
            return Record(
                Verdict.UNREADABLE, chapter.points, cut(str(fault) or type(fault).__name__)
            )
        for _attempt in range(_ATTEMPTS):
            try:
                if self._sandbox is None:
                    self._sandbox = self._open_sandbox()
                return grade_cells(
                    self._sandbox,
                    cells,
                    chapter,
                    task.seed,
                    f"{chapter.stem}.ipynb",
                    self._limits.submission_seconds,
                )
            except Exception as fault:  # an InfrastructureFault, or a mistake of ours
                why = str(fault) or type(fault).__name__
                self.close()
        return _not_graded(chapter, why)

    def close(self) -> None:
        """Put the sandbox away."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            sandbox.close()


def _rehearse_a_gradient() -> None:
    """Load what PyTorch loads only at its first gradient, while the sandbox warms up."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)  # a job each core: threads would only wait for one another
        one = torch.ones(1, requires_grad=True)
        torch.autograd.grad(one * one, one, torch.ones(1))


def grade_folder(settings: Settings, gradebook: Gradebook) -> Intake:
    """Grade what was handed in and is not in the `gradebook`; return what was found."""
    versions = settings.versions()
    stems = {settings.chapters[number].stem: version for number, version in versions.items()}
    shards.begin(gradebook, settings.shard, stems)
    found = intake.find(settings.submissions, settings.chapters)
    if settings.shard is not None:
        # Of all that were found: who lacks a chapter that others handed in is known only then.
        mine = (one for one in found.notebooks if settings.shard.has(storable(one.learner)))
        found = replace(found, notebooks=tuple(mine))
    grade_notebooks(settings, gradebook, found.notebooks, versions)
    shards.end(gradebook, found.notices)
    return found


def grade_notebooks(
    settings: Settings,
    gradebook: Gradebook,
    notebooks: tuple[HandedIn, ...],
    versions: Mapping[str, str],
) -> None:
    """Grade those of the `notebooks` that are not in the `gradebook`."""
    with ProgressBar(
        len(notebooks), _("grading"), _("notebooks"), settings.show_progress
    ) as progress:
        _Run(settings, gradebook, notebooks, versions, progress).run()


def graded_here(settings: Settings, tasks: Iterator[ToGrade]) -> Iterator[Done]:
    """Yield what was graded on this machine, by as many jobs as are wanted."""
    make_grader = partial(
        NotebookGrader,
        settings.open_sandbox,
        settings.chapters,
        settings.limits,
        settings.fresh_kernel,
    )
    if not jobs.can_fork():
        return jobs.in_this_process(make_grader, tasks)
    seconds = _OVERDUE * settings.limits.submission_seconds + _OWN_SECONDS
    return Jobs(settings.jobs, make_grader, seconds, settings.after_fork).run(tasks)


def open_gradebook(settings: Settings) -> Gradebook:
    """Return the gradebook in the folder for results, which is made ready for it."""
    intake.entries_of(settings.submissions)  # or raises: a misspelt name must change nothing
    folder.prepare(settings.out, settings.submissions, settings.fresh)
    return Gradebook(settings.out, settings.seed)


class _Run:
    def __init__(
        self,
        settings: Settings,
        gradebook: Gradebook,
        notebooks: tuple[HandedIn, ...],
        versions: Mapping[str, str],
        progress: ProgressBar,
    ) -> None:
        self._settings = settings
        self._gradebook = gradebook
        self._notebooks = notebooks
        self._versions = versions
        self._progress = progress
        self._running: dict[int, str] = {}

    def run(self) -> None:
        engine = self._settings.engine or partial(graded_here, self._settings)
        for one in engine(self._tasks()):
            self._keep_graded(one)

    def _tasks(self) -> Iterator[ToGrade]:
        """Read the notebooks one by one, and yield those that must be graded."""
        for number, one in enumerate(self._notebooks):
            try:
                content = intake.read(one)
            except Unreadable as fault:
                self._keep_unread(one, str(fault))
                continue
            if self._is_graded(one, content):
                self._progress.advance()
                continue
            self._running[number] = one.name
            self._show_running()
            seed = seed_of_submission(self._gradebook.seed, storable(one.learner), content)
            yield ToGrade(number, seed, one.chapter, one.name, content)

    def _keep_unread(self, one: HandedIn, why: str) -> None:
        chapter = self._settings.chapters[one.chapter]
        if not one.is_there and self._gradebook.has_result(storable(one.learner), chapter.stem):
            self._progress.advance()  # a folder that was emptied takes no points away
            return
        status = Verdict.UNREADABLE if one.is_there else Verdict.NOTHING_HANDED_IN
        record = Record(status, chapter.points, cut(why))
        self._keep(one, b"", record, 0.0, self._settings.rung)

    def _keep_graded(self, done: Done) -> None:
        one = self._notebooks[done.task.number]
        record = done.record or _without_a_word(self._settings.chapters[one.chapter], done)
        self._running.pop(done.task.number)
        self._show_running()
        rung = done.rung or self._settings.rung
        self._keep(one, done.task.content, record, done.seconds, rung)

    def _keep(
        self, one: HandedIn, content: bytes, record: Record, seconds: float, rung: str
    ) -> None:
        chapter = self._settings.chapters[one.chapter]
        message = " ".join(filter(None, [one.note, record.message]))
        record = replace(record, title=chapter.title, message=cut(message))
        self._gradebook.add(
            Entry(
                learner=storable(one.learner),
                chapter=chapter.stem,
                content=content_hash(content),
                checks=self._versions[one.chapter],
                rung=rung,
                seconds=seconds,
                record=record,
            )
        )
        self._progress.advance()

    def _is_graded(self, one: HandedIn, content: bytes) -> bool:
        stem = self._settings.chapters[one.chapter].stem
        version = self._versions[one.chapter]
        learner = storable(one.learner)
        known = content_hash(content)
        return self._gradebook.is_graded(learner, stem, known, version, self._is_enough)

    def _is_enough(self, record: Record) -> bool:
        kernel = self._settings.fresh_kernel
        return kernel is None or kernel.is_answered(record.runs)

    def _show_running(self) -> None:
        self._progress.now(shown(", ".join(islice(self._running.values(), _MOST_SHOWN))))


def _not_graded(chapter: Chapter, why: str) -> Record:
    sentence = _("It could not be graded, which is not the learner's fault: {why}. Run this again.")
    return Record(Verdict.NOT_GRADED, chapter.points, cut(sentence.format(why=why.rstrip("."))))


def _without_a_word(chapter: Chapter, done: Done) -> Record:
    """Return the record of a notebook whose job sent none."""
    if not done.is_overdue:
        return _not_graded(chapter, _("the process that graded it ended twice"))
    sentence = _(
        "It was still being judged after {seconds:g} seconds, and was stopped. Look into it before "
        "you run this again."
    )
    return Record(Verdict.NOT_GRADED, chapter.points, sentence.format(seconds=done.seconds))


def content_hash(content: bytes) -> str:
    """Return by what the gradebook knows the content of a notebook."""
    return hashlib.sha256(content).hexdigest() if content else ""


def storable(name: str) -> str:
    """Return the name under which the gradebook knows a learner."""
    return name.encode(errors="backslashreplace").decode()
