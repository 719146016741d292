"""What a test may need besides Python: found if present, skipped if not, and demanded where asked.

`ATTN_COURSE_REQUIRE=chromium,bubblewrap make test` turns every such skip into a failure;
`.ci/run` does so, and nothing is skipped there.
"""

import os
import shutil

import pytest

from tools import chromium

# What it is called here: the programs that will do, best first, and what is left out without them.
PROGRAMS = {
    "chromium": (chromium.PROGRAMS, "the tests in a real browser"),
    "bubblewrap": (("bwrap",), "the tests in the strongest sandbox"),
}


def need(name: str) -> str:
    """Return the path of the program `name`; without it, skip the test, or fail if demanded."""
    path = find(name)
    if path:
        return path
    if name in demanded():
        pytest.fail(f"{name} is demanded by ATTN_COURSE_REQUIRE and is not installed", False)
    pytest.skip(f"{name} is not installed", allow_module_level=True)


def find(name: str) -> str | None:
    """Return the path of the program `name`, or None."""
    programs, _ = PROGRAMS[name]
    return next(filter(None, map(shutil.which, programs)), None)


def demanded() -> set[str]:
    """Return the names in ATTN_COURSE_REQUIRE; an unknown one is an error, not a wish ignored."""
    names = {name.strip() for name in os.environ.get("ATTN_COURSE_REQUIRE", "").split(",")} - {""}
    unknown = names - set(PROGRAMS)
    if unknown:
        raise pytest.UsageError(
            f"ATTN_COURSE_REQUIRE names {', '.join(sorted(unknown))}; known: {', '.join(PROGRAMS)}"
        )
    return names


def done_without() -> list[str]:
    """Return a line for each program that is missing: what was left out."""
    return [
        f"done without {name}: {purpose} did not run"
        for name, (_, purpose) in PROGRAMS.items()
        if find(name) is None
    ]
