"""What a notebook costs us, counted and not timed: nothing is worked out twice."""

from collections import Counter

import numpy as np
import pytest

from attn_course.practice.exercise import Case, Chapter
from attn_course.practice.exercises import chapters
from attn_course.practice.results import Verdict

ONCE = 2  # a conversion goes through a list twice: what is in it, then into an array


class Watched(list):
    """A list that counts how often somebody goes through it."""

    count = 0

    def __iter__(self):
        self.count += 1
        return super().__iter__()


class AnswersWithLists:
    """A submission whose answers are nested lists: right ones, but for one number."""

    def __init__(self, exercise):
        self._right = exercise.local(exercise.reference)
        self.given = []

    def request(self, op, payload):
        value = self._right.request(op, payload)["value"]
        nested = [Watched(part.tolist()) for part in np.atleast_1d(value) * 1.0]
        nested[0][0] = 777.0
        self.given += nested
        return {"value": nested}


@pytest.mark.parametrize("name", ["03.masked_softmax", "03.local_monotonic", "04.multi_weights"])
def test_an_answer_is_converted_once_however_many_mistakes_are_known(name):
    number, _dot, function = name.partition(".")
    exercise = chapters()[number].exercises[function]
    assert len(exercise.mistakes) > 10
    answers = AnswersWithLists(exercise)
    result = exercise.check(answers, seed=7)
    assert result.verdict is Verdict.FAILED
    assert max(part.count for part in answers.given) == ONCE


def test_an_answer_in_parts_is_converted_once_in_whatever_order_its_parts_are_tried():
    chapter = Chapter("77_pair", title="A pair", sections={"a": "A"})
    described = {"title": "Pair", "goal": "g", "difficulty": 1, "minutes": 1, "section": "a"}

    @chapter.exercise(**described, hints=("a", "b", "c"))
    def pair(x):
        return x, 2 * x, 3 * x, 4 * x

    @pair.cases(points=1, label="one")
    def one(rng):
        yield Case(rng.normal(size=(3, 5)))

    given = [Watched([[0.0] * 5] * 3) for _part in range(4)]

    class Answers:
        def request(self, op, payload):
            return {"value": tuple(given)}

    assert pair.check(Answers(), seed=7).verdict is Verdict.FAILED
    assert max(part.count for part in given) <= 2 * ONCE  # by itself, and with the others


def test_a_list_that_changes_between_two_checks_is_converted_anew():
    exercise = chapters()["03"].exercises["masked_softmax"]
    answers = AnswersWithLists(exercise)
    for _check in range(2):
        exercise.check(answers, seed=7)
    half = len(answers.given) // 2
    assert half > 1
    assert {part.count for part in answers.given} == {ONCE}


def counting_chapter(called):
    chapter = Chapter("77_counted", title="Counted", sections={"a": "A"})
    described = {"title": "Count", "goal": "g", "difficulty": 1, "minutes": 1, "section": "a"}

    @chapter.exercise(**described, hints=("a", "b", "c"))
    def total(x):
        called[f"right {len(x)}"] += 1
        return x.sum()

    @total.misconception("You took the mean.")
    def mean(x):
        called[f"wrong {len(x)}"] += 1
        return x.mean()

    @total.cases(points=1, label="drawn")
    def drawn(rng):
        yield Case(rng.normal(size=3))

    @total.cases(points=1, label="the notebook's own")
    def fixed(rng):
        yield Case(np.arange(5.0))

    return total


class Wrong:
    def request(self, op, payload):
        return {"value": payload["args"][0].sum() + 1}


def test_what_does_not_depend_on_the_seed_is_worked_out_once_for_a_whole_class():
    called = Counter()
    total = counting_chapter(called)
    for seed in range(10):
        assert total.check(Wrong(), seed).points == 0
    assert called.pop("wrong 5", 0) <= 1  # not asked where an earlier case tells already
    assert called == {"right 3": 10, "right 5": 1, "wrong 3": 10}


def test_another_input_of_the_same_shape_is_worked_out_anew():
    called = Counter()
    total = counting_chapter(called)
    outcomes = {float(total.check(Right(), seed).points) for seed in range(5)}
    assert outcomes == {2.0}
    assert called["right 3"] == 5


class Right:
    def request(self, op, payload):
        return {"value": payload["args"][0].sum()}


def test_without_a_seed_nothing_is_kept():
    called = Counter()
    total = counting_chapter(called)
    for _check in range(3):
        total.check(Right())
    assert called == {"right 3": 3, "right 5": 3}


def test_no_more_is_kept_than_the_last_submission_needed():
    total = counting_chapter(Counter())
    for seed in range(10):
        total.check(Wrong(), seed)
    assert len(total.drawn.cases) == 2
    assert total.drawn.seed == 9
