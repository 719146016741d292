"""The exercises of the course: what is asked, the checks, the known mistakes.

`NN_topic.json` is compiled from `solutions/NN_topic.md` by `attn-course release` and holds all that
a person reads, and the programs of solutions and mistakes. The folder `<topic>` holds what has to
be Python, one file an exercise, which is imported when an answer is first checked.
"""

import json
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from attn_course.practice.definition import Definition
from attn_course.practice.exercise import Chapter, Exercise, KnownMistake, Solution, run_program

FOLDER = Path(__file__).parent


def chapters() -> dict[str, Chapter]:
    """Return every notebook that has exercises, by its number, in order.

    >>> list(chapters())[:1]
    ['01']
    """
    found = [_chapter(path) for path in sorted(FOLDER.glob("*.json"))]
    return {chapter.number: chapter for chapter in found}


def compiled(stem: str) -> dict[str, Any]:
    """Return all that was compiled of a source, its notebook too."""
    content: dict[str, Any] = json.loads((FOLDER / f"{stem}.json").read_text(encoding="utf-8"))
    return content


def definition_of(stem: str, name: str) -> Definition:
    """Return the part of an exercise that is Python."""
    topic = stem.partition("_")[2]
    found = getattr(import_module(f"{__name__}.{topic}.{name}"), name)
    assert isinstance(found, Definition), f"{name} must be decorated with @reference"
    return found


@cache
def _chapter(path: Path) -> Chapter:
    return chapter_from(compiled(path.stem))


def chapter_from(content: dict[str, Any]) -> Chapter:
    """Return the chapter that a compiled source describes."""
    sections: dict[str, list[str]] = content["sections"]
    chapter = Chapter(
        content["stem"],
        content["title"],
        {label: heading for label, (heading, _page) in sections.items()},
        {label: page for label, (_heading, page) in sections.items()},
    )
    for one in content["exercises"]:
        chapter.exercises[one["name"]] = _exercise(chapter, one)
    return chapter


def _exercise(chapter: Chapter, content: dict[str, Any]) -> Exercise:
    mistakes = tuple(
        KnownMistake(
            one["name"],
            one["message"],
            one.get("section", content["section"]),
            partial(run_program, one["program"], content["name"]),
            one["program"],
        )
        for one in content["mistakes"]
    )
    return Exercise(
        chapter=chapter,
        name=content["name"],
        title=content["title"],
        goal=content["goal"],
        difficulty=content["difficulty"],
        minutes=content["minutes"],
        section=content["section"],
        hints=tuple(content["hints"]),
        load=partial(definition_of, chapter.stem, content["name"]),
        kind=content["kind"],
        task=content["task"],
        without=tuple(content["without"]),
        uses=tuple(content["uses"]),
        stated_points=content["points"],
        solution=Solution(
            content["answer"], content["program"], content["explanation"], mistakes
        ),
    )
