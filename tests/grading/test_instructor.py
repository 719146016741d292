"""An instructor's own checks: they add to copies of the chapters, and change the version."""

from contextlib import contextmanager
from pathlib import Path

import pytest

from attn_course.grading.grade_one import grade_cells
from attn_course.grading.instructor import (
    ChecksProblem,
    PrivateGroup,
    files_in,
    version_of,
    with_own_checks,
)
from attn_course.grading.intake import cells_of
from attn_course.inside.limits import Limits
from attn_course.practice.exercise import Group
from attn_course.practice.results import Verdict
from tests.grading import fixture_chapter
from tests.grading.fake_sandbox import FakeSandbox
from tests.grading.fixture_chapter import CHAPTERS, chapter, notebook_bytes

MORE_CASES = """
from attn_course.practice.exercise import Case

def extend(chapters):
    @chapters["88"].exercises["squares"].cases(points=5, label="negative numbers")
    def negative_numbers(rng):
        yield Case(-rng.uniform(1, 2, size=3))
"""


@pytest.fixture
def own_checks(tmp_path):
    (tmp_path / "more.py").write_text(MORE_CASES)
    return tmp_path


def graded(chapters, sandbox=None, **changes):
    """Return the records of the exercises by their names, in their order."""
    cells = cells_of("n", notebook_bytes(**changes))
    record = grade_cells(sandbox or FakeSandbox(), cells, chapters["88"], 7, "n", seconds=60)
    return {one.id.partition(".")[2]: one for one in record.exercises}


def squares(chapters, answer):
    return graded(chapters, squares=f"def squares(x):\n    return {answer}")["squares"]


def test_own_cases_count_with_the_others(own_checks):
    chapters = with_own_checks(CHAPTERS, own_checks)
    right = squares(chapters, "x * x")
    wrong = squares(chapters, "x * abs(x) * (x < 0) * -1")
    assert (right.points, right.max_points, chapters["88"].points) == (7, 7, 17)
    assert wrong.points == 5
    assert [group.label for group in right.groups] == ["a few numbers", "negative numbers"]


# The cell of `squares` is the fifth: text, set-up, an answer and its check come before it.
HELPERS = (
    "import linecache\n"
    "def leaks(x):\n    raise ValueError(repr(x))\n"
    "def hides(x):\n    raise type(repr(x), (Exception,), {})\n"
    "def forges(x):\n"
    "    linecache.cache['line'] = (1, None, [repr(x)], 'line')\n"
    "    exec(compile('raise ValueError', 'line', 'exec'))\n"
)


@pytest.mark.parametrize(
    ("answer", "notes"),
    [
        ("x[77]", ("it raised IndexError", "Where: cell 5, line 10.")),
        ("leaks(x)", ("it raised ValueError", "Where: cell 5, line 3.")),
        ("hides(x)", ("it raised an exception", "Where: cell 5, line 5.")),
        ("forges(x)", ("it raised ValueError",)),
        ("str(x)", ("it is not right",)),
        ("{str(x): 0}", ("it is not right",)),
    ],
)
def test_of_a_private_group_only_the_kind_and_the_place_of_a_fault_are_told(
    own_checks, answer, notes
):
    program = f"{HELPERS}def squares(x):\n    return x * x if (x > 0).all() else {answer}"
    chapters = with_own_checks(CHAPTERS, own_checks)
    chapters["88"].exercises["squares"].groups[:-1] = []
    record = graded(chapters, squares=program)
    said, *where = notes
    assert record["squares"].notes == (
        f"In “negative numbers”: {said}. The input is private.",
        *where,
    )


def test_a_line_that_is_written_in_several_places_is_told_with_all_of_them(own_checks):
    program = "def squares(x):\n    return x[77]\ndef other(x):\n    return x[77]"
    chapters = with_own_checks(CHAPTERS, own_checks)
    chapters["88"].exercises["squares"].groups[:-1] = []
    notes = graded(chapters, squares=program)["squares"].notes
    assert notes[1] == "Where: cell 5, line 2 or cell 5, line 4."
    many = program + "".join(f"\ndef f{n}(x):\n    return x[77]" for n in range(9))
    assert len(graded(chapters, squares=many)["squares"].notes) == 1


# An answer that keeps what it was asked, and others that repeat it: each in its own way.
REMEMBERS = "SEEN = []\ndef squares(x):\n    SEEN.append(x)\n    return x * x"
REPEATS = {
    "message": "raise ValueError(repr(SEEN))",
    "class": "raise type(repr(SEEN), (Exception,), {})",
    "line": "exec(compile('raise ValueError', repr(SEEN), 'exec'))",
    "value": "return repr(SEEN)",
    "keys": "return {repr(SEEN): 1}",
    "shape": "return np.zeros((0, int(abs(SEEN[-1][0]) * 10**6)))",
}
MORE_STEPS = """
from attn_course.practice.exercise import Case

def extend(chapters):
    for name in ("squares", "train_step"):
        exercise = chapters["88"].exercises[name]
        public = list(exercise.groups)
        @exercise.cases(points=1, label="another one")
        def another_one(rng, public=public):
            yield from public[0].generate(rng)
"""


@pytest.mark.parametrize("way", REPEATS)
def test_what_a_child_says_after_a_private_input_is_not_repeated(tmp_path, way):
    (tmp_path / "more.py").write_text(MORE_STEPS)
    program = f"def train_step(*a):\n    {REPEATS[way]}"
    record = graded(with_own_checks(CHAPTERS, tmp_path), squares=REMEMBERS, train_step=program)
    said, *others = record["train_step"].notes
    raised = {"message": "it raised ValueError", "class": "it raised an exception"}
    raised["line"] = raised["message"]
    assert said == f"In “one step”: {raised.get(way, 'it is not right')}."
    where = [] if way not in ("message", "class") else ["Where: cell 9, line 2."]
    assert others[:-1] == where
    assert others[-1].startswith("The input, not shown here: weights of shape (3,)")


def test_what_we_count_ourselves_is_still_told(tmp_path):
    (tmp_path / "more.py").write_text(MORE_STEPS)
    program = "def train_step(weights, *a):\n    return weights"
    record = graded(with_own_checks(CHAPTERS, tmp_path), squares=REMEMBERS, train_step=program)
    said = record["train_step"].notes[0]
    assert said.startswith("In “one step”: 3 of 3 numbers differ, by at most")


def test_a_public_group_that_is_asked_after_a_private_one_tells_no_more(tmp_path):
    first = MORE_STEPS + "        exercise.groups.reverse()\n"
    (tmp_path / "more.py").write_text(first)
    counts = "SEEN = []\ndef squares(x):\n    SEEN.append(x)\n"
    program = f"{counts}    if len(SEEN) > 1: raise ValueError(repr(SEEN))\n    return x * x"
    notes = graded(with_own_checks(CHAPTERS, tmp_path), squares=program)["squares"].notes
    assert notes[:2] == (
        "In “a few numbers”: it raised ValueError.",
        "Where: cell 5, line 4.",
    )


def test_private_inputs_are_asked_last_so_that_the_others_may_be_told_about_freely(own_checks):
    answer = "def train_step(*a):\n    raise ValueError('my own words')"
    record = graded(with_own_checks(CHAPTERS, own_checks), train_step=answer)
    assert record["train_step"].notes[0] == "In “one step”: It raised ValueError: my own words"
    assert list(record) == list(chapter.exercises)  # in the record as in the chapter


class Ends(FakeSandbox):
    """A child that chooses, when it is asked for `squares`, the words that we say about its end."""

    def __init__(self, verdict):
        super().__init__()
        self._verdict = verdict

    @contextmanager
    def open(self, cells, names, file="notebook", without=None):
        with super().open(cells, names, file, without) as submission:
            request = submission.request

            def end(op, payload, seconds=60.0):
                if payload.get("name") != "squares":
                    return request(op, payload, seconds)
                submission.verdict = self._verdict
                return {"raised": {"type": "x", "message": "", "line": ""}}

            submission.request = end
            yield submission


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        (Verdict.CRASHED, "It ended the whole Python process."),
        (Verdict.BROKE_PROTOCOL, "What came back is no answer to what was asked."),
        (Verdict.OUT_OF_MEMORY, "It out of memory."),  # the fake's words, which it can't choose
    ],
)
def test_neither_an_exit_code_nor_broken_bytes_carry_a_private_input_out(
    own_checks, verdict, sentence
):
    private = graded(with_own_checks(CHAPTERS, own_checks), Ends(verdict))["squares"]
    public = graded(CHAPTERS, Ends(verdict))["squares"]
    assert private.notes == (sentence,)
    assert public.notes == (f"It {verdict}.",)


def test_a_check_that_stops_does_not_repeat_a_private_input_either(own_checks, monkeypatch):
    chapters = with_own_checks(CHAPTERS, own_checks)

    def stops(submission, seed, observing):
        raise ValueError("[-1.234]")

    monkeypatch.setattr(chapters["88"].exercises["squares"], "check", stops, raising=False)
    notes = graded(chapters)["squares"].notes
    assert notes == ("The check itself stopped with ValueError. Please tell your instructor.",)


def test_the_courses_own_groups_stay_public(own_checks):
    chapters = with_own_checks(CHAPTERS, own_checks)
    kinds = [type(group) for group in chapters["88"].exercises["squares"].groups]
    assert kinds == [Group, PrivateGroup]


def test_the_course_itself_stays_as_it_is(own_checks):
    with_own_checks(CHAPTERS, own_checks)
    with_own_checks(CHAPTERS, own_checks)
    assert chapter.points == 12
    assert len(chapter.exercises["squares"].groups) == 1


def test_points_that_were_summed_before_are_summed_again(own_checks):
    assert chapter.points == 12
    assert with_own_checks(CHAPTERS, own_checks)["88"].points == 17


def test_a_chapter_of_ones_own_is_graded_too():
    chapters = with_own_checks({}, Path(fixture_chapter.__file__))
    assert list(chapters) == ["88"]
    assert list(chapters["88"].exercises) == list(chapter.exercises)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1", "has neither `def extend"),
        ("x = ", "stopped with SyntaxError"),
        ("import nothing_like_this", "stopped with ModuleNotFoundError"),
        ("def extend(chapters):\n    chapters['99']", "stopped with KeyError"),
    ],
)
def test_a_file_that_is_no_check_is_named(tmp_path, text, words):
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(ChecksProblem, match=r"mine\.py") as caught:
        with_own_checks(CHAPTERS, tmp_path)
    assert words in str(caught.value)


def test_a_folder_without_checks_is_refused(tmp_path):
    with pytest.raises(ChecksProblem, match="no Python file"):
        files_in(tmp_path)


def test_the_version_follows_the_checks_and_the_limits(own_checks):
    files = files_in(own_checks)
    versions = [version_of(chapter, Limits(), files)]
    assert version_of(chapter, Limits(), files) == versions[0]
    versions.append(version_of(chapter, Limits(memory_mb=77), files))
    versions.append(version_of(chapter, Limits()))
    files[0].write_text(MORE_CASES.replace("points=5", "points=6"))
    versions.append(version_of(chapter, Limits(), files))
    assert len(set(versions)) == len(versions)
