"""The looks of strangers: complete, judged, and every right answer among them accepted."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from attn_course.authoring.first_look import JUDGEMENTS, looked_at, looks_by_exercise, rates
from attn_course.authoring.release import source_chapter
from attn_course.authoring.selftest import Examination, report
from attn_course.practice.exercises import chapters
from attn_course.practice.results import Verdict

pytestmark = pytest.mark.filterwarnings("ignore")  # a stranger's answer may divide by zero

ROOT = Path(__file__).parents[2]
EXERCISES = {one.id: one for chapter in chapters().values() for one in chapter.exercises.values()}
NAMES = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    *("tenth", "eleventh"),
)
FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH, EIGHTH, NINTH, TENTH, ELEVENTH = ALL = [
    looks_by_exercise(ROOT, Path("tests", f"{name}_look")) for name in NAMES
]


@cache
def source(stem):
    return source_chapter(ROOT, stem)


def test_every_exercise_has_ten_mistakes_and_three_right_answers_of_a_first_look():
    assert set(FIRST) == set(EXERCISES)
    for looks in FIRST.values():
        assert Counter(look.is_wrong for look in looks) == {True: 10, False: 3}


@pytest.mark.parametrize(
    ("found", "least"),
    [
        (SECOND, 45),
        (THIRD, 13),
        (FOURTH, 6),
        (FIFTH, 6),
        (SIXTH, 6),
        (SEVENTH, 8),
        (EIGHTH, 8),
        (NINTH, 6),
        (TENTH, 8),
        (ELEVENTH, 8),
    ],
)
def test_a_part_of_the_exercises_has_a_later_look(found, least):
    assert set(found) <= set(EXERCISES)
    assert len(found) >= least
    for looks in found.values():
        assert Counter(look.is_wrong for look in looks) in (
            {True: 5, False: 1},
            {True: 10, False: 2},
        )


def test_the_third_look_is_at_other_exercises_than_the_second():
    assert not set(SECOND) & set(THIRD)


def test_every_mistake_was_judged():
    looks = [look for found in ALL for one in found.values() for look in one]
    assert {look.judged for look in looks if look.is_wrong} <= set(JUDGEMENTS)


@pytest.mark.parametrize("looks", ALL)
def test_every_right_answer_of_a_stranger_is_accepted(looks):
    refused = []
    for name, found in looks.items():
        exercise = EXERCISES[name]
        for look in found:
            if not look.is_wrong:
                result = looked_at(source(exercise.chapter.stem), exercise, look, seed=7)
                if result is None or result.verdict is not Verdict.PASSED:
                    refused.append((name, look.words))
    assert refused == []


def test_the_rate_is_told_for_each_exercise_and_for_all():
    found = rates(look for looks in FIRST.values() for look in looks)
    assert sum(found.judged.values()) == 1358  # of 1370, 12 turned out to be right
    assert (found.wrong, found.helpful, found.refused) == (1358, 1101, 2)
    last = rates(
        look for name, looks in FIRST.items() if name.startswith(("09", "10")) for look in looks
    )
    assert (last.wrong, last.helpful) == (157, 133)  # as README says
    name = "01.average_pooling"
    text = report([Examination(EXERCISES[name], (), (), ())], (), FIRST)
    one = rates(FIRST[name])
    assert f"{one.helpful} of {one.wrong}" in text.split("\n")[1]
    assert f"First look: {one.helpful} of {one.wrong} mistakes" in text


@pytest.mark.parametrize(
    ("looks", "wrong", "helpful", "unhelpful", "untrue"),
    [
        (SECOND, 305, 271, 3, 4),
        (THIRD, 180, 159, 0, 1),
        (FOURTH, 30, 25, 0, 0),
        (FIFTH, 30, 26, 0, 0),
        (SIXTH, 30, 22, 0, 1),
        (SEVENTH, 40, 33, 0, 1),
        (EIGHTH, 40, 34, 0, 3),
        (NINTH, 30, 25, 0, 0),
        (TENTH, 40, 33, 0, 3),
        (ELEVENTH, 40, 37, 0, 2),
    ],
)
def test_what_readme_says_of_the_later_looks_is_so(looks, wrong, helpful, unhelpful, untrue):
    found = rates(look for one in looks.values() for look in one)
    judged = (found.judged["unhelpful"], found.judged["untrue"])
    assert (found.wrong, found.helpful, *judged, found.refused) == (
        *(wrong, helpful, unhelpful, untrue, 0),
    )
