"""The exercises, one module a chapter: what is asked, the checks, the known mistakes.

A module here has the name of the chapter's topic (`nadaraya_watson`) and a variable `chapter`.
"""

import pkgutil
from importlib import import_module

from attn_course.practice.exercise import Chapter, Exercise
from attn_course.translate import _


def chapters() -> dict[str, Chapter]:
    """Return every chapter that has exercises, by its two-digit number, in order.

    >>> list(chapters())[:1]
    ['01']
    """
    modules = (
        import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)
    )
    found = sorted((module.chapter for module in modules), key=lambda chapter: chapter.stem)
    return {chapter.number: chapter for chapter in found}


def find_exercise(exercise_id: str) -> Exercise:
    """Return the exercise with an id such as `01.average_pooling`; KeyError tells what exists."""
    number, _dot, name = exercise_id.partition(".")
    known = chapters()
    if number not in known:
        raise KeyError(
            _("There is no chapter {number!r} with exercises; there are: {known}.").format(
                number=number, known=", ".join(known)
            )
        )
    exercises = known[number].exercises
    if name not in exercises:
        raise KeyError(
            _("Chapter {number} has no exercise {name!r}; it has: {known}.").format(
                number=number, name=name, known=", ".join(exercises)
            )
        )
    return exercises[name]
