"""What the rehearsal of a course claims: what was planted against what the desk found.

Everything is read from the files that an instructor would read: the tables, the report, the
feedback, the exports, and what the commands said.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from itertools import combinations
from pathlib import Path

from benchmarks.grader.claim import Claim, apart, compared, content, read_table
from benchmarks.grader.rehearsal_class import COMMENT, Decided
from benchmarks.grader.synthetic_course import Planted

_EXPORTS = ("grades.csv", "canvas.csv", "moodle.csv", "gradescope/*/*.json")
_MISSING = re.compile(r"^Missing from (\S+): (.*)\.$", re.MULTILINE)
_UNREADABLE = ("cut off", "empty", "no notebook")


def claims(
    planted: Planted, decided: Decided, folder: Path, has_dask: bool = True
) -> Iterator[Claim]:
    """Yield every claim about the rehearsal in `folder`."""
    before = read_table(folder / "before" / "grades.csv")
    yield _nothing_lost(planted, folder, before)
    yield _missing_named(planted, folder)
    yield _absent_blank(planted, before)
    yield _late_named(planted, decided, before)
    yield _unreadable_blank(planted, before)
    yield _hostile_unrewarded(planted, before)
    yield _answers_judged(planted, folder)
    yield _mistakes_ranked(planted, folder)
    yield _copies_found(planted, folder)
    yield _same_exports("parts merged = one run", folder / "before", folder / "merged")
    if has_dask:
        yield _same_exports("Dask run = one run", folder / "before", folder / "dask")
    yield _override_survives(decided, folder)
    yield _changes_named(decided, folder, before)
    yield _comment_shown(decided, folder)


# --- what was handed in ----------------------------------------------------------------------


def _handed_in(planted: Planted) -> set[tuple[str, str]]:
    return {(path.parent.name, path.stem) for path in planted.folder.glob("*/*.ipynb")}


def _nothing_lost(planted: Planted, folder: Path, before: list[dict[str, str]]) -> Claim:
    handed_in = _handed_in(planted)
    collected = {(row["learner"], row["chapter"]) for row in _collected(folder)}
    graded = {(row["learner"], row["chapter"]) for row in before}
    lost = [
        *apart("not collected", handed_in - collected),
        *apart("not graded", handed_in - graded),
    ]
    return Claim("every notebook that was handed in has a result", len(handed_in), tuple(lost))


def _collected(folder: Path) -> list[dict[str, str]]:
    return read_table(folder / "submissions" / "collected.csv")


def _not_handed_in(planted: Planted) -> set[tuple[str, str]]:
    """Return whom a chapter lacks, of all chapters that anybody handed in."""
    handed_in = _handed_in(planted)
    stems = {stem for _learner, stem in handed_in}
    return {(one, stem) for one in planted.kinds for stem in stems} - handed_in


def _missing_named(planted: Planted, folder: Path) -> Claim:
    expected = _not_handed_in(planted)
    said = (folder / "steps" / "collect.txt").read_text(encoding="utf-8")
    named = {
        (one, stem) for stem, names in _MISSING.findall(said) for one in names.split(", ") if one
    }
    what = "collect names whoever is missing from a chapter"
    return Claim(what, len(expected), compared(expected, named))


def _absent_blank(planted: Planted, before: list[dict[str, str]]) -> Claim:
    expected = _not_handed_in(planted)
    named = {
        (row["learner"], row["chapter"])
        for row in before
        if row["status"] == "nothing handed in" and not row["points"]
    }
    what = "what was not handed in has a line, a reason and no points"
    return Claim(what, len(expected), compared(expected, named))


def _late_named(planted: Planted, decided: Decided, before: list[dict[str, str]]) -> Claim:
    """Compare who is late, and what it costs; one learner has an extension."""
    found, expected = set(), set()
    for row in before:
        late = planted.late.get(row["learner"], timedelta())
        if row["learner"] == decided.extended:
            late = timedelta()
        share = min(0.1 * math.ceil(late / timedelta(days=1)), 0.5)
        if row["deduction"]:  # there are points to deduct from
            points = float(row["points"])
            expected.add((row["learner"], row["chapter"], f"{points * share:.1f}"))
            found.add((row["learner"], row["chapter"], f"{float(row['deduction']):.1f}"))
    tried = sum(learner in planted.late for learner, _chapter, _cost in found)
    return Claim("late work costs what the policy says", tried, compared(expected, found))


def _unreadable_blank(planted: Planted, before: list[dict[str, str]]) -> Claim:
    expected = {key for key, how in planted.broken.items() if how in _UNREADABLE}
    found = {(row["learner"], row["chapter"]) for row in before if row["status"] == "unreadable"}
    points = [
        f"points for what can't be read: {row['learner']} {row['chapter']}"
        for row in before
        if row["status"] == "unreadable" and row["points"]
    ]
    return Claim(
        "what can't be read is blank, and nothing else is",
        len(expected),
        (*compared(expected, found), *points),
    )


def _hostile_unrewarded(planted: Planted, before: list[dict[str, str]]) -> Claim:
    rows = [row for row in before if (row["learner"], row["chapter"]) in planted.hostile]
    full = [
        f"{row['learner']} {row['chapter']}" for row in rows if row["points"] == row["max_points"]
    ]
    return Claim("no hostile notebook has all points", len(rows), tuple(full))


# --- what was found --------------------------------------------------------------------------


def _answers_judged(planted: Planted, folder: Path) -> Claim:
    text = (folder / "before" / "results.json").read_text(encoding="utf-8")
    differing = planted.differing(json.loads(text)["results"])
    words = [
        f"{who}, {exercise}: {was or 'right'}, judged {is_}"
        for who, exercise, was, is_ in differing
    ]
    return Claim(
        "right answers pass, planted mistakes get their name", len(planted.answers), tuple(words)
    )


def _mistakes_ranked(planted: Planted, folder: Path) -> Claim:
    """Compare how many share a mistake; answers that rest on wrong ones are not counted."""
    rows = [row for row in read_table(folder / "results/report/mistakes.csv") if row["mistake"]]
    found: Counter[tuple[str, str]] = Counter()
    for row in rows:
        known = [one for one in row["who"].split("; ") if (one, row["exercise"]) in planted.answers]
        if known:
            found[row["exercise"], row["mistake"]] += len(known)
    expected = {(*mistake, str(count)) for mistake, count in planted.ranked()}
    differences = compared(expected, {(*one, str(count)) for one, count in found.items()})
    counts = [int(row["learners"]) for row in rows]
    unordered = () if counts == sorted(counts, reverse=True) else ("the commonest are not first",)
    return Claim("the report ranks the planted mistakes", len(expected), differences + unordered)


def _copies_found(planted: Planted, folder: Path) -> Claim:
    """Compare pairs; two who copied from the same learner look alike too.

    Of answers that are right, none of the code is anyone's own, so that not every copy can be seen;
    and two may be wrong alike. The numbers stand in the claim.
    """
    groups: dict[str, set[str]] = {}
    for learner, source, _stem in planted.copies:
        groups.setdefault(source, {source}).add(learner)
    expected = {two for group in groups.values() for two in combinations(sorted(group), 2)}
    rows = read_table(folder / "results/report/alike.csv")
    found = {tuple(sorted((row["learner"], row["other"]))) for row in rows}
    shown, innocent = len(found & expected), len(found - expected)
    what = (
        f"the report shows most planted copies ({shown}) and hardly anyone else ({innocent}): "
        "four in five at least, and one pair in twenty at most"
    )
    is_so = 5 * shown >= 4 * len(expected) and 20 * innocent <= len(found)
    return Claim(what, len(expected), () if is_so else compared(expected, found))


def _same_exports(what: str, one: Path, other: Path) -> Claim:
    names = sorted(
        {
            str(path.relative_to(place))
            for place in (one, other)
            for pattern in _EXPORTS
            for path in place.glob(pattern)
        }
    )
    differing = [name for name in names if content(one / name) != content(other / name)]
    return Claim(f"{what}, in every table and export, byte for byte", len(names), tuple(differing))


# --- what was decided ------------------------------------------------------------------------


def _override_survives(decided: Decided, folder: Path) -> Claim:
    rows = read_table(folder / "results" / "grades.csv")
    row = next(
        row for row in rows if row["learner"] == decided.learner and row.get(decided.exercise)
    )
    found = row[decided.exercise]
    if found == str(decided.points) and decided.exercise in row.get("overrides", ""):
        return Claim("an override survives a second attempt and a regrade", 1, ())
    wrong = f"{decided.learner}, {decided.exercise}: {found} points, override {decided.points}"
    return Claim("an override survives a second attempt and a regrade", 1, (wrong,))


def _changes_named(decided: Decided, folder: Path, before: list[dict[str, str]]) -> Claim:
    """Compare whose points changed; a second attempt has every solution."""
    expected = {
        (row["learner"], row["chapter"])
        for row in before
        if (row["learner"], row["chapter"]) in decided.again and row["points"] != row["max_points"]
    }
    rows = read_table(folder / "results" / "changes.csv")
    found = {(row["learner"], row["chapter"]) for row in rows}
    return Claim(
        "a regrade names whose points changed", len(decided.again), compared(expected, found)
    )


def _comment_shown(decided: Decided, folder: Path) -> Claim:
    """Compare who reads the comment: whoever still makes the mistake after the regrade."""
    results = json.loads((folder / "results" / "results.json").read_text(encoding="utf-8"))
    expected = {
        (result["learner"], result["chapter"])
        for result in results["results"]
        for one in result["exercises"]
        if one["id"] == decided.exercise and one["mistake"] == decided.mistake
    }
    found = {
        (result["learner"], result["chapter"])
        for result in results["results"]
        for one in result["exercises"]
        if COMMENT in json.dumps(one, ensure_ascii=False)
    }
    what = "a comment is shown to everyone with the mistake, and to no one else"
    return Claim(what, len(expected), compared(expected, found))
