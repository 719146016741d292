"""The benchmark of the grader compares like with like; no test measures time."""

import json

import pytest

from attn_course.practice.results import Verdict
from benchmarks.grader import learners
from benchmarks.grader.__main__ import Line
from benchmarks.grader.assignment import PIECES, SETUP, SIZES, chapter, source_of_test
from benchmarks.grader.our_grader import Run

SOURCES = {"right": (1, 1), "wrong": (0, 0), "stub": (0, 0)}


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
@pytest.mark.parametrize("kind", SOURCES)
def test_ours_and_the_tests_for_the_peers_judge_alike(piece, kind):
    space = {}
    exec(f"{SETUP}\n{getattr(piece, kind)}", space)
    exercise = chapter.exercises[piece.name]
    ours = exercise.check(exercise.local(space[piece.name]), learners.SEED)
    passed = [group.verdict is Verdict.PASSED for group in ours.groups]
    assert passed == [raises_nothing(source_of_test(piece, n, 7), space) for n in SIZES.values()]
    assert tuple(passed) == SOURCES[kind]


def raises_nothing(source, space):
    try:
        exec(source, dict(space))
    except (AssertionError, NotImplementedError, ValueError):
        return False
    return True


def test_there_are_eight_exercises_and_one_is_a_torch_module():
    kinds = [exercise.kind for exercise in chapter.exercises.values()]
    assert sorted(kinds) == ["function"] * 7 + ["module"]
    assert chapter.points == len(PIECES) * len(SIZES)


def test_a_class_has_right_and_wrong_and_unfinished_notebooks():
    right = [piece.right for piece in PIECES]
    counts = [
        sum(answer == piece for answer, piece in zip(learners.answers(n), right, strict=True))
        for n in range(learners.PERIOD)
    ]
    assert counts == [8, 8, 7, 5, 4]


def test_every_grader_gets_the_same_answers(tmp_path):
    count = learners.PERIOD
    learners.for_ours(tmp_path / "ours", count)
    learners.for_nbgrader(tmp_path / "nbgrader", count)
    learners.for_otter(tmp_path / "otter", count)
    for number in range(count):
        name = learners.learner(number)
        files = [
            tmp_path / "ours" / name / learners.FILE,
            tmp_path / "nbgrader" / "submitted" / name / "ps" / "ps.ipynb",
            tmp_path / "otter" / f"{name}.ipynb",
        ]
        for file in files:
            sources = [cell["source"] for cell in json.loads(file.read_text())["cells"]]
            assert set(learners.answers(number)) <= set(sources)
    assert len(list((tmp_path / "otter" / "tests").iterdir())) == len(PIECES)


@pytest.mark.parametrize(
    ("bounds", "kept"),
    [
        ({}, True),
        ({"at_most": 2.0}, True),
        ({"at_most": 1.0}, False),
        ({"at_least": 1.0}, True),
        ({"at_least": 2.0}, False),
        ({"at_least": 0.5, "at_most": 1.0}, False),
    ],
)
def test_a_line_says_whether_its_bounds_are_kept(bounds, kept):
    line = Line("a ratio", 1.5, **bounds)
    assert line.kept == kept
    assert ("FAIL" in str(line)) == (not kept)


def test_rate_and_memory_are_those_of_the_wanted_part_of_a_run():
    run = Run(100, graded=[(10, 5.0), (20, 6.0), (100, 14.0)])
    run.memory = [(when / 10, 7 if when < 60 else 9) for when in range(140)]
    assert run.rate == pytest.approx(10)
    assert run.memory_in(0, 10) == 7
    assert run.memory_in(20, 100) == 9
