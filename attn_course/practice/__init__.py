"""What a learner touches: `check` an answer, see a chapter's exercises, `play` with a function.

An exercise notebook imports this module alone, so it must load at once: PyTorch, the reference
and the widgets are imported when a function here first needs them.
"""

from typing import TYPE_CHECKING, Any

from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Exercise
    from attn_course.practice.feedback import Feedback, Notice, Overview

__all__ = ["check", "overview", "play"]

CELLS_MUST_PASS = "ATTN_COURSE_CELLS_MUST_PASS"  # set by the pytest plugin where nbval runs cells


def check(exercise_id: Any, answer: Any) -> "Feedback | Notice":
    """Check your answer: `practice.check("01.average_pooling", average_pooling)`.

    The last line of a cell shows the feedback. What you reached is remembered in the folder
    `.attn-course` beside the notebook.
    """
    from attn_course.practice import exercises, feedback, progress
    from attn_course.practice.classroom import classroom
    from attn_course.practice.numbers import Misuse, exercise_named
    from attn_course.practice.report import report_of

    if not isinstance(exercise_id, str):
        return feedback.Notice(
            _('The name of the exercise comes first, in quotes: practice.check("01.name", name).')
        )
    try:
        exercise = exercise_named(exercise_id, exercises.chapters())
    except Misuse as fault:
        return feedback.Notice(str(fault))
    complaint = _wrong_sort_of_answer(exercise, answer)
    if complaint:
        return feedback.Notice(complaint)

    result = exercise.check(exercise.local(answer))
    home = progress.home()
    remembered = progress.load(home)
    remembered.record(result)
    report = report_of(result, with_solution=classroom(home).solutions)
    return feedback.Feedback(report, notes=remembered.notes)


def overview(chapter: str) -> "Overview | Notice":
    """Show the exercises of a chapter as a table: `practice.overview("01")`."""
    from attn_course.practice import exercises, feedback
    from attn_course.practice.numbers import Misuse, chapters_named

    try:
        return feedback.Overview(chapters_named(str(chapter), exercises.chapters()))
    except Misuse as fault:
        return feedback.Notice(str(fault))


def play(function: Any, **ranges: Any) -> Any:
    """Put your own function under sliders: `practice.play(draw, w=(0.1, 20.0))`.

    A range is `(low, high)` or `(low, high, step)`: whole numbers give a slider of whole numbers.
    The slider starts at the function's default for that argument, if it has one.
    """
    from attn_course.practice.sliders import sliders_for

    return sliders_for(function, ranges)


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
