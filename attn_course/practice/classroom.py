"""What a class has switched off: `attn-course.toml` in the folder of the notebooks, or above it.

`attn-course handout` puts such a file into the zip for learners:

    solutions = false

Then no check shows a solution, and `attn-course solution` refuses. It is a request, not a lock:
whoever installed the package can read the solutions in it.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

FILE = "attn-course.toml"


@dataclass(frozen=True)
class Classroom:
    """The settings of a class, and the file they come from, if there is one."""

    solutions: bool = True
    file: Path | None = None


def classroom(folder: Path) -> Classroom:
    """Return the settings for `folder`; a file that can't be read switches nothing off."""
    here = folder.resolve()
    file = next((place / FILE for place in (here, *here.parents) if (place / FILE).is_file()), None)
    if file is None:
        return Classroom()
    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return Classroom(file=file)
    return Classroom(solutions=settings.get("solutions") is not False, file=file)
