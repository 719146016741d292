"""`attn-course report`: the class as one page and a few tables, from the gradebook alone.

To say who looks alike, it reads the notebooks that were graded, and runs nothing of them.
"""

import argparse
import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attn_course.grading.command import address, explained
from attn_course.practice.terminal import GOOD
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.grading.class_report import Alike
    from attn_course.grading.class_statistics import ClassStatistics, Shared
    from attn_course.grading.gradebook import Entry
    from attn_course.grading.report_options import ReportOptions
    from attn_course.inside.notebook import Cell
    from attn_course.practice.exercise import Chapter

PAGE = "report.html"
_EXAMPLES = """\
  attn-course report results
  attn-course report results --submissions submissions --chapters 03

results then has report.html, and in the folder report: exercises.csv, mistakes.csv and alike.csv.
The page contains names, points and code of learners: it is for you alone."""
_MOST_SAID = 5


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add `report` to the commands of `attn-course`."""
    help_ = _("describe how a class did, which mistakes it shares, and who looks alike")
    made: argparse.ArgumentParser = commands.add_parser(
        "report",
        help=help_ + _(" (for instructors)"),
        description=help_[:1].upper() + help_[1:] + ".",
        epilog=_("examples:") + "\n" + _EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(run=run)
    made.add_argument(
        "results", type=Path, metavar="RESULTS", help=_("the results of `attn-course grade`")
    )
    made.add_argument(
        "--submissions",
        type=Path,
        metavar="DIR",
        help=_("the notebooks, to say who looks alike (the folder that was graded last)"),
    )
    made.add_argument("--chapters", nargs="+", metavar="NN", help=_("only these (all by default)"))
    made.add_argument(
        "--book",
        type=address,
        metavar="URL",
        help=_("where learners read the book, for links (as the grades were written)"),
    )
    made.add_argument(
        "--no-alike", action="store_true", help=_("do not compare notebooks with each other")
    )
    return made


def run(arguments: argparse.Namespace) -> int:
    """Write the report."""
    return explained(lambda: _written(arguments))


def _written(arguments: argparse.Namespace) -> int:
    from dataclasses import replace

    from attn_course.grading import class_report, folder, outputs
    from attn_course.grading.class_statistics import statistics_of
    from attn_course.grading.gradebook import existing

    with existing(arguments.results) as gradebook:
        options = outputs.options_of(gradebook)
        entries = _asked(outputs.counting(gradebook, options), arguments.chapters)
        submissions = arguments.submissions or outputs.submissions_of(gradebook)
    if arguments.book is not None:
        options = replace(options, book=arguments.book)
    facts = statistics_of(entries)
    alike = (
        class_report.Alike(why_not=_("Notebooks were not compared, as you asked."))
        if arguments.no_alike
        else _alike(entries, submissions, options)
    )
    day = datetime.now(UTC).date().isoformat()
    folder.write(arguments.results, PAGE, class_report.page(facts, alike, day, options))
    for name, rows in _tables(facts, alike, options).items():
        folder.write(arguments.results, f"report/{name}.csv", _csv(rows))
    _say(facts, alike, arguments.results / PAGE)
    return GOOD


def _asked(entries: list["Entry"], words: Sequence[str] | None) -> list["Entry"]:
    """Return the results of the chapters that are asked for: 03 means 03e too."""
    from attn_course.practice.numbers import Misuse

    if words is None:
        return entries
    wanted = [one.zfill(2) if one.isdigit() else one for word in words for one in word.split(",")]
    numbers = {entry.chapter: entry.chapter.partition("_")[0] for entry in entries}
    for one in wanted:
        if not any(_means(one, number) for number in numbers.values()):
            known = ", ".join(dict.fromkeys(numbers.values()))
            raise Misuse(
                _("There is no result of chapter {word!r}; there are: {known}.").format(
                    word=one, known=known
                )
            )
    return [e for e in entries if any(_means(one, numbers[e.chapter]) for one in wanted)]


def _means(word: str, number: str) -> bool:
    return number == word or (
        word.isdigit() and number.rstrip("abcdefghijklmnopqrstuvwxyz") == word
    )


# --- who looks alike -------------------------------------------------------------------------


def _alike(
    entries: Sequence["Entry"], submissions: Path | None, options: "ReportOptions"
) -> "Alike":
    from attn_course.grading import similarity
    from attn_course.grading.class_report import Alike

    if submissions is None or not submissions.is_dir():
        why = _("Notebooks were not compared: name their folder with --submissions.")
        return Alike(why_not=why)
    notebooks, left = _read(entries, submissions, options)
    compared = [
        similarity.compare(stem, of_learners, similarity.given_code(stem))
        for stem, of_learners in sorted(notebooks.items())
    ]
    sources = {
        (learner, stem, cell.number): cell.source
        for stem, of_learners in notebooks.items()
        for learner, cells in of_learners.items()
        for cell in cells
    }
    words = _("Notebooks that are gone or have changed since, and were not compared: {count}.")
    return Alike(
        pairs=similarity.pairs(compared),
        sources=sources,
        learners=len({learner for several in notebooks.values() for learner in several}),
        notes=(words.format(count=left),) if left else (),
    )


def _read(
    entries: Sequence["Entry"], submissions: Path, options: "ReportOptions"
) -> tuple[Mapping[str, Mapping[str, Sequence["Cell"]]], int]:
    """Return the code cells by chapter and learner of the files that were graded.

    And how many of the files are other ones now.
    """
    from attn_course.grading import intake
    from attn_course.grading.run import content_hash, storable

    graded = {(e.learner, e.chapter): e.content for e in entries if e.content}
    chapters = _chapters(entries)
    found: dict[str, dict[str, Sequence[Cell]]] = defaultdict(dict)
    for one in intake.find(submissions, chapters).notebooks:
        key = options.desk.login(storable(one.learner)), chapters[one.chapter].stem
        if key not in graded:
            continue
        try:
            content = intake.read(one)
            if content_hash(content) == graded[key]:
                found[key[1]][key[0]] = intake.cells_of(one.name, content)
                del graded[key]
        except intake.Unreadable:
            del graded[key]  # so it was when it was graded
    return found, len(graded)


def _chapters(entries: Sequence["Entry"]) -> Mapping[str, "Chapter"]:
    """Return the chapters that were graded, for their names: your own are among them."""
    from attn_course.practice.exercise import Chapter

    made = [Chapter(stem, stem, {}) for stem in sorted({entry.chapter for entry in entries})]
    return {chapter.number: chapter for chapter in made}


# --- tables ----------------------------------------------------------------------------------


def _tables(
    facts: "ClassStatistics", alike: "Alike", options: "ReportOptions"
) -> dict[str, list[Sequence[object]]]:
    from attn_course.grading.safe_names import cell

    items = [
        [
            *(one.chapter, one.exercise, cell(one.title), cell(one.label), one.most, one.judged),
            *(one.answered, one.right, _rounded(one.difficulty), _rounded(one.discrimination)),
            one.words,
        ]
        for one in facts.items
    ]
    columns = ("chapter", "exercise", "title", "group", "max_points", "judged", "answered")
    more = ("all_points", "mean_share", "discrimination", "in_words")
    pairs = [
        [
            *(options.name(learner) for learner in pair.learners),
            overlap.chapter,
            *(len(overlap.shared), _rounded(overlap.share), pair.shared, _rounded(pair.share)),
        ]
        for pair in alike.pairs
        for overlap in pair.overlaps
    ]
    head = ("learner", "other", "chapter", "shared", "share", "shared_in_all", "share_in_all")
    return {
        "exercises": [[*columns, *more], *items],
        "mistakes": [
            ("exercise", "mistake", "learners", "answered", "message", "read", "who"),
            *(_mistake_row(one, options) for one in (*facts.mistakes, *facts.observations)),
        ],
        "alike": [head, *pairs],
    }


def _mistake_row(one: "Shared", options: "ReportOptions") -> Sequence[object]:
    from attn_course.grading.class_report import reading_of
    from attn_course.grading.safe_names import cell

    who = "; ".join(map(options.name, one.learners))
    told = (cell(one.message), cell(reading_of(one)), cell(who))
    return (one.exercise, one.name, len(one.learners), one.answered, *told)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _csv(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _say(facts: "ClassStatistics", alike: "Alike", page: Path) -> None:
    from attn_course.grading.class_report import reading_of, sentence_of
    from attn_course.grading.safe_names import line

    for one in facts.mistakes[:_MOST_SAID]:
        print(line(f"{sentence_of(one)} {reading_of(one)}"))
    if alike.why_not:
        print(alike.why_not)
    else:
        words = _("Pairs of learners who look alike: {count} (a hint, not a verdict)")
        print(words.format(count=len(alike.pairs)))
    print(_("Report: {page}").format(page=page))
