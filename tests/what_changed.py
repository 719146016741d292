"""What has changed since everything was tested, so that the longest tests run for that alone.

`.ci/nightly` tests everything and then keeps fingerprints in `.ci/tested.json`: each says that the
tests of one part passed with this code. A part whose fingerprint is another is tested in full; of
the others one is picked by the commit, so that each has its turn. `ATTN_COURSE_EVERYTHING=1` leaves
nothing out.

    python -m tests.what_changed        keep the fingerprints of today, after all tests have passed
"""

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attn_course._sources import files_behind, fingerprint

ROOT = Path(__file__).parents[1]
TESTED = ROOT / ".ci" / "tested.json"
left_out: dict[str, int] = {}  # how many parts of each kind were left out, for the summary


def to_test(kind: str, parts: Mapping[str, str]) -> list[str]:
    """Return the parts of a kind whose fingerprint is not the one kept, and one more."""
    if os.environ.get("ATTN_COURSE_EVERYTHING"):
        return list(parts)
    kept = json.loads(TESTED.read_text(encoding="utf-8")) if TESTED.is_file() else {}
    same = [name for name in parts if kept.get(kind, {}).get(name) == parts[name]]
    wanted = {name for name in parts if name not in same} | {picked(same, commit())}
    left_out[kind] = len(set(parts) - wanted)
    return [name for name in parts if name in wanted]


def picked(names: Sequence[str], word: str) -> str | None:
    """Return one of the names, chosen by a word; None where there are no names."""
    return names[int.from_bytes(word.encode()) % len(names)] if names else None


def commit() -> str:
    """Return the hash of the commit that is checked out, or "" where there is none."""
    command = ["git", "rev-parse", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def sentences() -> list[str]:
    """Return a line for each kind of tests that was left out in part."""
    return [
        f"unchanged since everything was tested: {count} {kind} "
        "(ATTN_COURSE_EVERYTHING=1 runs them too)"
        for kind, count in left_out.items()
        if count
    ]


# The parts


def mutants() -> dict[str, str]:
    """Return a fingerprint of each exercise: its text, its Python, and what checks it."""
    from attn_course.practice.exercises import chapters

    others = "attn_course.practice.exercises"
    checking = fingerprint(
        _python(files_behind(["attn_course.authoring.survivors"], without=[others]))
    )
    found = {}
    for chapter in chapters().values():
        text = ROOT / "solutions" / f"{chapter.stem}.md"
        topic = chapter.stem.partition("_")[2]
        for exercise in chapter.exercises.values():
            own = _python(files_behind([f"{others}.{topic}.{exercise.name}"], without=[others]))
            found[exercise.id] = fingerprint([*own, text], checking)
    return found


def _python(files: Iterable[Path]) -> list[Path]:
    return [path for path in files if path.suffix == ".py"]


def attacks() -> dict[str, str]:
    """Return for each attack a fingerprint of the grader and of all attacks."""
    from tests.grading.attacks.all_attacks import ATTACKS

    files = files_behind(["attn_course.grading.sandbox", "attn_course.inside.worker"])
    grader = {path for path in files if {"grading", "inside"} & set(path.parts)}
    now = fingerprint({*grader, *(ROOT / "tests" / "grading" / "attacks").glob("*.py")})
    return dict.fromkeys(ATTACKS, now)


def explorers() -> dict[str, str]:
    """Return a fingerprint of each explorer: its code, its chapter, the styles, all tests."""
    from tests.browser.chapters import CHAPTERS

    browser, book = ROOT / "tests" / "browser", ROOT / "book"
    styles = [*(book / "_static").glob("*.css"), ROOT / "_config.yml"]
    shared = [*styles, *browser.glob("*.py"), ROOT / "tools" / "chromium.py"]
    found = {}
    for kind, chapter in CHAPTERS.items():
        own = files_behind([kind.__module__])
        found[kind.name] = fingerprint([*own, *shared, book / f"{chapter}.md"])
    return found


KINDS = {
    "mutants": mutants,
    "attacks on lower rungs": attacks,
    "explorers in the browser": explorers,
}

if __name__ == "__main__":
    tested = {kind: parts() for kind, parts in KINDS.items()}
    TESTED.write_text(json.dumps(tested, indent=1) + "\n", encoding="utf-8")
    print(f"kept what was tested in {TESTED.relative_to(ROOT)}")
