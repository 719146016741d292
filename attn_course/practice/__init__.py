"""What a learner touches: `check` an answer, see your progress, `play` with a function.

An exercise notebook imports this module alone, so it must load at once: PyTorch, the reference
and the widgets are imported when a function here first needs them.
"""

import os
from typing import TYPE_CHECKING, Any

from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Exercise
    from attn_course.practice.feedback import Feedback, Notice
    from attn_course.practice.tables import Tables

__all__ = ["CELLS_MUST_PASS", "NotPassed", "check", "overview", "play", "summary"]


class NotPassed(AssertionError):  # noqa: N818  (an answer is not right; nothing broke)
    """An answer that is not right, where a cell must fail for it: see `pytest_plugin`."""

    def _render_traceback_(self) -> list[str]:
        """Return what IPython, and so nbval, shows in place of a traceback through this file."""
        return [f"{type(self).__name__}: {self}"]


CELLS_MUST_PASS = "ATTN_COURSE_CELLS_MUST_PASS"  # set by the pytest plugin where nbval runs cells


def check(exercise_id: Any, answer: Any, others: bool = True) -> "Feedback | Notice":
    """Check your answer: `practice.check("01.average_pooling", average_pooling)`.

    The last line of a cell shows the feedback. What you reached is remembered in the folder
    `.attn-course` next to the notebook. After green, other right ways to write it are there to
    unfold; `others=False` leaves them out, and so does the setting of a class.
    """
    from attn_course.inside.submission import FirstPrints
    from attn_course.practice import exercises, feedback, progress
    from attn_course.practice.classroom import classroom
    from attn_course.practice.notebook_cells import note_on_age
    from attn_course.practice.numbers import Misuse, exercise_named
    from attn_course.practice.report import report_of
    from attn_course.practice.results import Verdict

    if not isinstance(exercise_id, str):
        return _not_checked(
            _('The name of the exercise comes first, in quotes: practice.check("01.name", name).')
        )
    try:
        exercise = exercise_named(exercise_id, exercises.chapters())
    except Misuse as fault:
        return _not_checked(str(fault))
    complaint = _wrong_sort_of_answer(exercise, answer)
    if complaint:
        return _not_checked(complaint)

    answers = FirstPrints(exercise.local(answer))
    result = exercise.check(answers, closer=True)
    if answers.printed:
        print(answers.printed, end="")
    home = progress.home()
    remembered = progress.load(home)
    remembered.record(result)
    report = report_of(result, with_solution=others and classroom(home).solutions)
    age = note_on_age(exercise.name, answer)
    shown = feedback.Feedback(report, notes=[*([age] if age else []), *remembered.notes])
    if os.environ.get(CELLS_MUST_PASS) and result.verdict is not Verdict.PASSED:
        raise NotPassed(shown.text())
    return shown


def overview(chapter: str) -> "Tables | Notice":
    """Show the exercises of a chapter as a table: `practice.overview("01")`.

    When you come back, it shows your progress: your best points, and how the last check went.
    """
    from attn_course.practice import exercises, feedback, progress, tables
    from attn_course.practice.numbers import Misuse, chapters_named

    try:
        found = chapters_named(str(chapter), exercises.chapters())
    except Misuse as fault:
        return feedback.Notice(str(fault))
    if os.environ.get(CELLS_MUST_PASS):  # outputs are compared, and progress is another each time
        return tables.overview(found)
    return tables.overview(found, progress.load(progress.home()))


def summary(chapter: str) -> "Tables | Notice":
    """Show your points and what is missing, before you hand in: `practice.summary("01")`."""
    from attn_course.practice import exercises, feedback, progress, tables
    from attn_course.practice.numbers import Misuse, chapters_named

    try:
        found = chapters_named(str(chapter), exercises.chapters())
    except Misuse as fault:
        return feedback.Notice(str(fault))
    return tables.summary(found, progress.load(progress.home()))


def play(function: Any, beside: str | None = None, **ranges: Any) -> Any:
    """Put your own function under sliders: `practice.play(draw, w=(0.1, 20.0))`.

    A range is `(low, high)` or `(low, high, step)`: whole numbers give a slider of whole numbers.
    The slider starts at the function's default for that argument, if it has one.

    With `beside`, your answer to an exercise is shown next to the right one, on the examples of its
    check: `practice.play(affinity, beside="05c.affinity", W_A=(-2.0, 2.0))`. There a range
    multiplies an array, and replaces a number.
    """
    if beside is None:
        from attn_course.practice.sliders import sliders_for

        return sliders_for(function, ranges)
    if os.environ.get(CELLS_MUST_PASS):  # outputs are compared, and a widget is another each time
        return None
    from attn_course.practice import exercises, feedback
    from attn_course.practice.numbers import Misuse, exercise_named
    from attn_course.practice.sliders import sliders_beside

    try:
        exercise = exercise_named(beside, exercises.chapters())
    except Misuse as fault:
        return feedback.Notice(str(fault))
    return sliders_beside(function, exercise, ranges)


def _not_checked(sentence: str) -> "Notice":
    """Return why nothing could be checked; where a cell must pass, it fails with that."""
    from attn_course.practice.feedback import Notice

    if os.environ.get(CELLS_MUST_PASS):
        raise NotPassed(sentence)
    return Notice(sentence)


def _wrong_sort_of_answer(exercise: "Exercise", answer: Any) -> str | None:
    """Return a sentence for a learner who handed over a result instead of a function, say."""
    call = f'practice.check("{exercise.id}", {exercise.name})'
    if exercise.kind == "value":
        if callable(answer):
            return _("{name} is a value here, and you handed over a function: {call}.").format(
                name=exercise.name, call=call
            )
        return None
    if exercise.kind == "module" and not isinstance(answer, type) and callable(answer):
        if hasattr(answer, "named_parameters"):
            return _(
                "You handed over a module that is already built. "
                "Hand over the class itself, without brackets: {call}."
            ).format(call=call)
        return None  # a function that builds the module will do
    if callable(answer):
        return None
    return _(
        "You handed over a {kind}: what {name} returns, perhaps. "
        "Hand over {name} itself, without brackets: {call}."
    ).format(kind=type(answer).__name__, name=exercise.name, call=call)
