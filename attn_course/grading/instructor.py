"""An instructor's own checks, which stay private: `attn-course grade … --checks DIR`.

Every Python file in DIR may add to the chapters that there are:

    from attn_course.practice.exercise import Case

    def extend(chapters):
        @chapters["01"].exercises["average_pooling"].cases(points=2, label="many numbers")
        def many_numbers(rng):
            yield Case(rng.normal(size=1009))

and may have a chapter of its own, `chapter = Chapter("90_project", …)`, written as the course
writes its exercises. The label of a group is shown to learners. Its inputs are not, nor what an
answer says once it has seen them, in this exercise or in a later one: of an exception only the kind
and the place are told (see `notes`). Exercises with private groups are asked last, so that the
others can be told about freely. Still an answer may tell something by the line in which it stops,
or by what it gets wrong. So draw cases at random: every submission then meets inputs of its own,
and what it finds out is of no use to the next one. Trust no fixed input to stay secret.
The files are yours: they run as you, here, with no sandbox around them.
"""

import copy
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

import attn_course
from attn_course.inside.limits import Limits
from attn_course.practice.definition import Group
from attn_course.practice.exercise import Chapter, Exercise
from attn_course.translate import _


class ChecksProblem(Exception):  # noqa: N818  (the files have a problem; nothing crashed here)
    """Checks that can't be used: the text says which file, and why."""


class PrivateGroup(Group):
    """A group of cases that an instructor added."""


def with_own_checks(chapters: Mapping[str, Chapter], place: Path) -> dict[str, Chapter]:
    """Return copies of `chapters`, extended by the Python files in the folder (or file) `place`."""
    extended = copy.deepcopy(dict(chapters))  # the course itself stays as it is
    public = {group for one in _exercises(extended) for group in one.groups}
    for path in files_in(place):
        module = _loaded(path)
        own = getattr(module, "chapter", None)
        extend = getattr(module, "extend", None)
        if not isinstance(own, Chapter) and not callable(extend):
            raise ChecksProblem(
                _("{path} has neither `def extend(chapters)` nor a `chapter`.").format(path=path)
            )
        if isinstance(own, Chapter):
            extended[own.number] = own
        if callable(extend):
            try:
                extend(extended)
            except Exception as fault:
                raise ChecksProblem(_stopped(path, fault)) from fault
    for one in _exercises(extended):
        one.groups[:] = [
            group if group in public else PrivateGroup(group.label, group.points, group.generate)
            for group in one.groups
        ]
    return dict(sorted(extended.items()))


def private_groups(chapters: Mapping[str, Chapter]) -> list[str]:
    """Return the groups that an instructor added, as `<id of exercise> <label>`."""
    return [
        f"{one.id} {group.label}"
        for one in _exercises(chapters)
        for group in one.groups
        if isinstance(group, PrivateGroup)
    ]


def _exercises(chapters: Mapping[str, Chapter]) -> list[Exercise]:
    return [one for chapter in chapters.values() for one in chapter.exercises.values()]


def files_in(place: Path) -> list[Path]:
    """Return the Python files of an instructor's checks."""
    if place.is_file():
        return [place]
    found = sorted(place.glob("*.py"))
    if not found:
        raise ChecksProblem(_("There is no Python file in {place}.").format(place=place))
    return found


def version_of(chapter: Chapter, limits: Limits, own_checks: Iterable[Path] = ()) -> str:
    """Return a short text that changes whenever a notebook might be judged differently.

    It covers the code of the course, an instructor's own checks, the chapter's definition and
    the limits. Too often is harmless: grading again returns the same points. Too seldom is not.
    """
    package = Path(attn_course.__file__).parent
    data = (package / "practice" / "exercises").glob("*.json")
    named = (*package.rglob("*.py"), *data, *own_checks, *_sources(chapter))
    files = {path.resolve() for path in named}  # each once, however it was named
    digest = hashlib.sha256(f"{attn_course.__version__} {limits}".encode())
    # Not in the order of their folders: on another machine, checks may be before the course.
    for name, content in sorted((path.name, path.read_bytes()) for path in files):
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _sources(chapter: Chapter) -> set[Path]:
    """Return the files in which the cases of a chapter are written."""
    cases = (g.generate for one in chapter.exercises.values() for g in one.groups)
    codes = (getattr(generate, "__code__", None) for generate in cases)
    paths = {Path(code.co_filename) for code in codes if code is not None}
    return {path for path in paths if path.is_file()}


def _loaded(path: Path) -> ModuleType:
    name = f"attn_course_own_checks_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ChecksProblem(_("{path} is no Python file.").format(path=path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as fault:
        raise ChecksProblem(_stopped(path, fault)) from fault
    finally:
        sys.modules.pop(name, None)
    return module


def _stopped(path: Path, fault: Exception) -> str:
    return _("{path} stopped with {type}: {message}").format(
        path=path, type=type(fault).__name__, message=fault
    )
