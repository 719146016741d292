"""The class report: right numbers, planted mistakes in their order, and a page that is safe."""

import csv
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from attn_course import cli
from attn_course.grading import similarity
from attn_course.grading.class_report import Alike, page
from attn_course.grading.class_statistics import LEAST_LEARNERS, correlation, statistics_of
from attn_course.grading.gradebook import Entry
from attn_course.grading.records import ExerciseRecord, GroupRecord, Record
from attn_course.grading.report_options import ReportOptions
from attn_course.inside.notebook import Cell
from attn_course.practice.results import Verdict
from benchmarks.grader.synthetic_course import Mix, make_course
from tests.grading.fixture_chapter import ANSWERS, WRONG_ROWS, notebook_bytes
from tests.grading.test_command import FIXTURE, fakes, hand_in  # noqa: F401  (a fixture)

HARMLESS = Mix(broken=0, hostile=0, missing=0, copied=0.1)
EVIL = '</title><script>alert("x")</script><img src=x onerror=alert(1)>'


def exercise(name, points, most=2, mistake="", verdict=None, **others):
    verdict = verdict or (Verdict.PASSED if points == most else Verdict.FAILED)
    groups = (
        GroupRecord("small", 1, Verdict.PASSED if points else Verdict.FAILED),
        GroupRecord("large", most - 1, Verdict.PASSED if points == most else Verdict.FAILED),
    )
    message = f"You {mistake.replace('_', ' ')}." if mistake else ""
    fields = {"groups": groups, "mistake": mistake, "mistake_message": message} | others
    return ExerciseRecord(
        *(f"88.{name}", name.title(), "function", "Rows", points, most, verdict), **fields
    )


def entry(learner, *exercises, seconds=1.0):
    record = Record(Verdict.GRADED, 4, exercises=exercises, title="A fixture")
    return Entry(learner, "88_fixture", "c", "v", "A", seconds, record)


def a_class(pairs):
    return [
        entry(f"l{n:02d}", exercise("a", one), exercise("b", other))
        for n, (one, other) in enumerate(pairs)
    ]


# --- numbers ---------------------------------------------------------------------------------


def test_difficulty_is_the_mean_share_of_the_points():
    facts = statistics_of(a_class([(2, 0), (1, 0), (0, 0), (2, 2)]))
    found = {(one.exercise, one.label): one for one in facts.items}
    assert found["88.a", ""].difficulty == 5 / 8
    assert found["88.a", "small"].difficulty == 3 / 4
    assert found["88.a", "large"].difficulty == 2 / 4
    assert (found["88.a", ""].right, found["88.a", ""].judged) == (2, 4)


def test_discrimination_is_the_correlation_with_the_rest_of_the_notebook():
    pairs = [(n % 3, (n + n // 4) % 3) for n in range(12)]
    facts = statistics_of(a_class(pairs))
    expected = np.corrcoef(np.array(pairs).T)[0, 1]
    found = {one.exercise: one.discrimination for one in facts.items if not one.label}
    assert found["88.a"] == pytest.approx(expected)
    assert found["88.b"] == pytest.approx(expected)


def test_discrimination_of_a_group_leaves_the_group_out_of_the_total():
    pairs = [(n % 3, (n * n) % 3) for n in range(12)]
    facts = statistics_of(a_class(pairs))
    small = np.array([min(one, 1) for one, _other in pairs])
    rest = np.array([sum(pair) for pair in pairs]) - small
    (found,) = [o for o in facts.items if (o.exercise, o.label) == ("88.a", "small")]
    assert found.discrimination == pytest.approx(np.corrcoef(small, rest)[0, 1])


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([(2, 2), (0, 0)] * 10, "tells well"),
        ([(2, 0), (0, 2)] * 10, "negative"),
        ([(2, 2), (2, 0)] * 10, "all have the same points"),
        ([(2, 2), (2, 0), (0, 2), (0, 0)] * 5, "hardly tells"),
        ([(2, 2), (0, 0)], "too few learners"),
    ],
)
def test_discrimination_is_said_in_words(pairs, words):
    first = statistics_of(a_class(pairs)).items[0]
    assert words in first.words
    assert (first.judged < LEAST_LEARNERS) == ("few" in words)


def test_a_correlation_without_variance_is_none():
    assert correlation([(1, 2), (1, 3)]) is None
    assert correlation([]) is None


def test_a_notebook_that_nobody_handed_in_is_not_counted():
    nothing = Entry("zoe", "88_fixture", "", "", "", 0.0, Record(Verdict.NOTHING_HANDED_IN, 4))
    (chapter,) = statistics_of([*a_class([(2, 2), (0, 2)]), nothing]).chapters
    assert (chapter.notebooks, len(chapter.percents)) == (2, 2)


def test_what_was_not_judged_counts_neither_as_0_nor_in_the_mean():
    left = exercise("b", None, verdict=Verdict.NOT_JUDGED, notes=("The check stopped.",))
    facts = statistics_of([*a_class([(2, 2), (0, 2)]), entry("zoe", exercise("a", 2), left)])
    found = {one.exercise: one for one in facts.items if not one.label}
    assert (found["88.b"].judged, found["88.b"].difficulty) == (2, 1.0)
    assert len(facts.chapters[0].percents) == 2
    (blank,) = facts.blanks
    assert (blank.learner, blank.reason) == ("zoe", "88.b: The check stopped.")


def test_mistakes_are_ranked_by_how_many_share_them_among_those_who_answered():
    entries = [
        *(entry(f"q{n}", exercise("a", 0, mistake="over_queries")) for n in range(3)),
        entry("r", exercise("a", 1, mistake="forgot_the_scale")),
        entry("s", exercise("a", 2)),
        entry("t", exercise("a", 0, verdict=Verdict.TODO)),
    ]
    first, second = statistics_of(entries).mistakes
    assert (first.name, first.learners, first.answered) == ("over_queries", ("q0", "q1", "q2"), 5)
    assert (second.name, len(second.learners)) == ("forgot_the_scale", 1)


def test_observations_are_ranked_where_no_mistake_is_known():
    seen = {"observations": ("Your answer is the right one times 2.",)}
    entries = [entry(f"q{n}", exercise("a", 0, **seen)) for n in range(2)]
    facts = statistics_of([*entries, entry("r", exercise("a", 0, mistake="known", **seen))])
    (found,) = facts.observations
    assert (found.message, len(found.learners)) == (seen["observations"][0], 2)


# --- the page --------------------------------------------------------------------------------


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.open = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "rect", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def evil_class():
    bad = {"notes": (EVIL,), "observations": (EVIL,)}
    made = exercise("a", 0, mistake="named", **bad)
    return [
        Entry(
            f"{EVIL}{n}",
            "88_fixture",
            "c",
            "v",
            "A",
            1.0,
            Record(
                Verdict.GRADED,
                4,
                EVIL,
                (made, exercise("b", 0, **bad), exercise("c", None, verdict=Verdict.NOT_JUDGED)),
                title=EVIL,
            ),
        )
        for n in range(3)
    ]


def evil_pair():
    code = "\n".join(f"x{n} = np.exp(a.sum(axis={n})) / b  # {EVIL}" for n in range(60))
    cells = (Cell(1, "code", code),)
    notebooks = {f"{EVIL}{n}": cells for n in range(2)}
    found = similarity.pairs([similarity.compare("88_fixture", notebooks, ())])
    assert found
    sources = {(learner, "88_fixture", 1): code for learner in notebooks}
    return Alike(found, sources, 2)


def test_nothing_that_a_stranger_wrote_becomes_markup():
    text = page(statistics_of(evil_class()), evil_pair(), "2026-01-01")
    elements = Elements(text)
    assert elements.open == []
    tags = {tag for tag, _attrs in elements.found}
    assert not tags & {"script", "img", "iframe", "link", "object"}
    assert not [name for _tag, attrs in elements.found for name in attrs if name.startswith("on")]
    assert "&lt;script&gt;" in text
    assert "default-src 'none'" in text


def test_the_page_asks_nothing_of_the_network():
    text = page(statistics_of(a_class([(2, 0)] * 12)), Alike(), "2026-01-01")
    assert not re.search(r"(src|href)=\"(?!#)", text)
    assert "url(" not in text
    assert "@import" not in text


def test_charts_have_titles_tables_have_heads_and_sections_have_links():
    text = page(statistics_of(a_class([(2, 0), (0, 2), (1, 1)] * 4)), Alike(), "2026-01-01")
    elements = Elements(text)
    for tag, attrs in elements.found:
        if tag == "svg":
            assert (attrs["role"], bool(attrs["aria-label"])) == ("img", True)
    assert text.count("<svg") <= text.count("<title>") - 1
    ids = {attrs["id"] for tag, attrs in elements.found if tag == "section"}
    links = {attrs["href"][1:] for tag, attrs in elements.found if tag == "a"}
    assert links == ids
    assert "prefers-color-scheme: dark" in text
    assert all(a.get("scope") for tag, a in elements.found if tag == "th")


def test_a_mistake_links_the_section_to_read():
    read = {"section_label": "rows", "section_page": "03b_masks"}
    made = entry("q", exercise("a", 0, mistake="over_queries", **read))
    options = ReportOptions(book="https://example.org/book")
    text = page(statistics_of([made]), Alike(), "2026-01-01", options)
    assert 'href="https://example.org/book/03b_masks.html#rows"' in text
    assert "1 of 1 in 88.a: over queries." in text
    assert "Read 03b, “Rows”." in text


def test_an_empty_class_has_a_page():
    assert "No mistake that has a name" in page(statistics_of([]), Alike(), "2026-01-01")


# --- the command -----------------------------------------------------------------------------


@pytest.fixture
def graded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hand_in("ann", notebook_bytes())
    for name in ("bob", "cy"):
        hand_in(name, notebook_bytes(row_weights=WRONG_ROWS, squares="def squares(x): return 7*x"))
    run("grade", "in", "--out", "out", "--checks", FIXTURE, "--chapters", "88", "--seed", "5")
    return tmp_path


def run(*words):
    return cli.main(list(words))


def table(name):
    with Path("out/report", f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_report_is_written_next_to_the_grades(graded, capsys):
    capsys.readouterr()
    assert run("report", "out") == 0
    said = capsys.readouterr().out
    assert "2 of 3 in 88.row_weights: one sum for all. Read 88, “Rows”." in said
    assert "Report: out/report.html" in said
    assert "hint and not a verdict" in Path("out/report.html").read_text()
    assert oct(Path("out/report.html").stat().st_mode)[-3:] == "600"
    mistake = table("mistakes")[0]
    assert (mistake["mistake"], mistake["learners"], mistake["who"]) == (
        "one_sum_for_all",
        "2",
        "bob; cy",
    )
    rows = {(one["exercise"], one["group"]): one for one in table("exercises")}
    assert rows["88.row_weights", ""]["mean_share"] == str(round(5 / 9, 3))
    assert rows["88.row_weights", "one row"]["mean_share"] == "1.0"


def test_an_override_counts_in_the_report(graded):
    run("override", "bob", "88.row_weights", "--points", "3", "--reason", "x", "--in", "out")
    run("report", "out")
    (row,) = [
        o for o in table("exercises") if (o["exercise"], o["group"]) == ("88.row_weights", "")
    ]
    assert row["mean_share"] == str(round(7 / 9, 3))
    assert (
        "points an instructor has set, and which count as set: 1."
        in Path("out/report.html").read_text()
    )


def test_copies_are_in_the_report_and_files_that_changed_are_not_compared(graded, capsys):
    long = "\n".join(f"    x = x.exp(axis={n}) + x.sum({n})" for n in range(30))
    copied = ANSWERS["row_weights"] + f"\ndef helper(x):\n{long}"
    for name in ("ann", "bob"):
        Path("in", name, "88_fixture.ipynb").write_bytes(notebook_bytes(row_weights=copied))
    run("grade", "in", "--out", "out", "--checks", FIXTURE, "--chapters", "88")
    run("report", "out")
    assert [(one["learner"], one["other"]) for one in table("alike")] == [("ann", "bob")]
    Path("in/bob/88_fixture.ipynb").write_bytes(notebook_bytes())
    run("report", "out")
    assert table("alike") == []
    assert "have changed since, and were not compared: 1." in Path("out/report.html").read_text()


def test_without_the_notebooks_the_report_says_so(graded, capsys):
    Path("in").rename("elsewhere")
    assert run("report", "out") == 0
    assert "name their folder with --submissions" in capsys.readouterr().out
    assert run("report", "out", "--submissions", "elsewhere") == 0
    assert "Pairs of learners who look alike: 0" in capsys.readouterr().out
    assert run("report", "out", "--no-alike") == 0
    assert "as you asked" in capsys.readouterr().out


def test_chapters_can_be_chosen_and_unknown_ones_are_refused(graded, capsys):
    assert run("report", "out", "--chapters", "88") == 0
    assert run("report", "out", "--chapters", "04") == 2
    assert "there are: 88" in capsys.readouterr().err


def test_a_folder_without_a_gradebook_has_no_report(tmp_path, capsys):
    assert run("report", str(tmp_path)) == 1
    assert "There is no gradebook" in capsys.readouterr().err


def test_planted_mistakes_are_ranked_as_planted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    planted = make_course(Path("in"), 16, 3, ["06f_capsules", "08b_error_rates"], HARMLESS)
    run("grade", "in", "--out", "out", "--chapters", "06f", "08b", "--seed", "1")
    results = json.loads(Path("out/results.json").read_text())["results"]
    assert planted.differing(results) == []
    run("report", "out")
    found = Counter()
    for row in table("mistakes"):
        for learner in row["who"].split("; "):
            if planted.answers.get((learner, row["exercise"])):
                found[row["exercise"], row["mistake"]] += 1
    assert dict(found) == dict(planted.ranked()) != {}
    counts = [int(row["learners"]) for row in table("mistakes") if row["mistake"]]
    assert counts == sorted(counts, reverse=True)
