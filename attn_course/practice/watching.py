"""`attn-course watch`: check again whenever a notebook is saved, and go on when it is green.

It shows the first exercise that is not green yet. What is green stays so while the code that it
needs is the same; a change to it, or to what it uses, has it checked again.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from attn_course.inside.notebook import NotebookProblem, read_notebook
from attn_course.inside.selection import select
from attn_course.practice.checking import Checked, checked
from attn_course.practice.exercise import Exercise
from attn_course.practice.progress import Progress
from attn_course.practice.results import Verdict
from attn_course.practice.terminal import GOOD, clear, paint, show
from attn_course.translate import _

_SECONDS = 0.5  # between two looks at the files

Work = Sequence[tuple[Path, Sequence[Exercise]]]


class Watch:
    """The notebooks that are watched, and what of them is green."""

    def __init__(self, work: Work, remembered: Callable[[Path], Progress]) -> None:
        self._work = work
        self._remembered = remembered
        self._green: dict[tuple[Path, str], str] = {}  # the code that was right
        self._exercises = [exercise for _path, exercises in work for exercise in exercises]

    def run(self, pause: Callable[[float], None]) -> int:
        """Watch until all is green, or until Ctrl-C."""
        try:
            while True:
                before = self._moments()  # before the files are read: no save may be missed
                clear()
                if self._is_all_green():
                    return GOOD
                print("\n" + _("Save the notebook to check again; Ctrl-C ends."), flush=True)
                while self._moments() == before:
                    pause(_SECONDS)
        except KeyboardInterrupt:
            print("\n" + _("Stopped. `attn-course watch` goes on where you are."))
            return GOOD

    def _moments(self) -> list[tuple[int, int] | None]:
        """Return when each file was last saved, and its size."""
        return [_moment(path) for path, _exercises in self._work]

    def _is_all_green(self) -> bool:
        """Check what may have changed, up to the first exercise that is not green; show that."""
        try:
            for path, exercises in self._work:
                cells = read_notebook(path).cells
                for exercise in exercises:
                    code = select(cells, [exercise.name]).source
                    if self._green.get((path, exercise.id)) == code:
                        continue
                    remembered = self._remembered(path)
                    (found,) = checked(path, [exercise], remembered)
                    if found.verdict is not Verdict.PASSED:
                        self._show(found, path, remembered.notes)
                        return False
                    self._green[path, exercise.id] = code
                    print(found.headline(paint), flush=True)
        except NotebookProblem as fault:
            show(str(fault))
            return False
        count, points = len(self._exercises), sum(one.points for one in self._exercises)
        told = _("All exercises are green: {count} of {count}. Points: {points} of {points}.")
        print("\n" + told.format(count=count, points=points))
        return True

    def _show(self, found: Checked, path: Path, notes: Sequence[str]) -> None:
        exercise = found.exercise
        place = _("Exercise {number} of {count}: {title} ({id}) in {path}").format(
            number=self._exercises.index(exercise) + 1,
            count=len(self._exercises),
            title=exercise.title,
            id=exercise.id,
            path=path,
        )
        is_stub = found.is_unwritten and found.result is not None
        said = paint(_("Not written yet."), "grey") if is_stub else found.text(paint)
        show(f"\n{place}\n{exercise.goal}\n\n{said}")
        for line in [*found.advice(), *notes]:
            print(line)


def _moment(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None  # being replaced just now, perhaps
    return found.st_mtime_ns, found.st_size
