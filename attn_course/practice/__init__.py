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


def check(exercise_id: Any, answer: Any) -> "Feedback | Notice":
    """Check your answer: `practice.check("01.average_pooling", average_pooling)`.

    The last line of a cell shows the feedback. What you reached is remembered in the folder
    `.attn-course` beside the notebook.
    """
    from attn_course.practice import feedback, progress
    from attn_course.practice.exercises import find_exercise

    if not isinstance(exercise_id, str):
        return feedback.Notice(
            _('The name of the exercise comes first, in quotes: practice.check("01.name", name).')
        )
    try:
        exercise = find_exercise(exercise_id)
    except KeyError as fault:
        return feedback.Notice(str(fault.args[0]))
    complaint = _wrong_sort_of_answer(exercise, answer)
    if complaint:
        return feedback.Notice(complaint)

    result = exercise.check(exercise.local(answer))
    remembered = progress.load(progress.home())
    remembered.record(result)
    return feedback.Feedback(result, notes=tuple(remembered.notes))


def overview(chapter: str) -> "Overview | Notice":
    """Show the exercises of a chapter as a table: `practice.overview("01")`."""
    from attn_course.practice import feedback
    from attn_course.practice.exercises import chapters

    known = chapters()
    if chapter not in known:
        return feedback.Notice(
            _("There is no chapter {number!r} with exercises; there are: {known}.").format(
                number=chapter, known=", ".join(known)
            )
        )
    return feedback.Overview(known[chapter])


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
