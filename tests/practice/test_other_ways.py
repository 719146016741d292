"""Other right ways to write an answer: which of the variants are shown, and where."""

import ast
import builtins
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from attn_course import practice
from attn_course.practice import exercises
from attn_course.practice.definition import Definition
from attn_course.practice.exercise import Solution
from attn_course.practice.feedback import Feedback
from attn_course.practice.other_ways import other_ways
from attn_course.practice.report import report_of
from tests.practice.sample_exercises import (
    Linear,
    changed,
    chapter,
    one_sum_for_all,
    row_weights,
    weight_count,
)

CHAPTERS = exercises.chapters  # the real ones
helper = np.ones(2)


def calls_itself(x):
    return x if x.ndim == 1 else [calls_itself(row) for row in x]


LOOP = """\
def with_a_loop(scores, scale=1.0):
    flat = [
        [float(x) / sum(map(float, row)) for x in row]
        for row in scores.reshape(-1, scores.shape[-1])
    ]
    return np.array(flat, dtype=np.float32).reshape(scores.shape)"""


@pytest.fixture(autouse=True)
def _solved(tmp_path, monkeypatch):
    """Give the sample a solution, as the exercises of the course have one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATTN_COURSE_HOME", raising=False)
    monkeypatch.setattr(exercises, "chapters", lambda: {"01": chapter})
    monkeypatch.setattr(row_weights, "solution", Solution("the answer", "the answer", "Why."))


def with_variants(*variants):
    """Return the sample with these variants alone."""
    definition = Definition(row_weights.reference, row_weights.groups)
    for one in variants:
        definition.variant(one)
    return changed(row_weights, definition=definition)


def folded(feedback):
    tree = ElementTree.fromstring(feedback._repr_html_())
    return [element for element in tree.iter() if element.tag == "details"]


def test_a_variant_is_shown_as_it_is_written_without_what_makes_it_one():
    assert other_ways(row_weights) == (LOOP,)


def test_the_shortest_come_first_and_three_at_most():
    def one(x):
        return x

    def two(x):
        x = x + 0
        return x

    def short(x):
        return x + 0

    def three(x):
        x = x + 0
        x = x + 0
        return x

    names = [source.split("(")[0] for source in other_ways(with_variants(three, two, short, one))]
    assert names == ["def one", "def short", "def two"]


def test_what_needs_something_of_the_course_is_left_out():
    def needs_a_constant(x):
        return x * helper

    def needs_a_function_deep_inside(x):
        return [folded(one) for one in x]

    def needs_a_module_of_the_course(x):
        return exercises.row_weights(x)

    def stands_alone(x):
        helper = x.sum()  # its own, whatever else has that name
        return np.exp(x) / helper

    needy = (needs_a_constant, needs_a_function_deep_inside, needs_a_module_of_the_course)
    assert other_ways(with_variants(*needy)) == ()
    shown = other_ways(with_variants(*needy, stands_alone, calls_itself))
    assert [source.split("(")[0] for source in shown] == ["def calls_itself", "def stands_alone"]


def test_other_decorators_stay():
    @np.errstate(all="ignore")
    def decorated(x):
        return x

    assert other_ways(with_variants(decorated)) == (
        '@np.errstate(all="ignore")\ndef decorated(x):\n    return x',
    )


def test_there_is_nothing_to_read_of_values_classes_and_what_has_no_file():
    namespace = {}
    exec("def typed(x):\n    return x", namespace)
    assert other_ways(with_variants(namespace["typed"], Linear.reference, np.sum)) == ()
    assert other_ways(changed(weight_count, definition=row_weights.definition)) == ()


def test_what_the_course_shows_is_right_and_runs_with_numpy_and_torch_alone():
    """Each is run in a namespace as bare as a notebook's, and checked."""
    import torch

    shown = 0
    for course in CHAPTERS().values():
        for exercise in course.exercises.values():
            for source in other_ways(exercise):
                (tree,) = ast.parse(source).body
                namespace = {"np": np, "torch": torch, "__builtins__": builtins}
                exec(source, namespace)
                result = exercise.check(exercise.local(namespace[tree.name]), seed=1)
                assert result.points == exercise.points, f"{exercise.id} {tree.name}"
                shown += 1
    assert shown > 30


# After green


def test_green_has_other_ways_folded_below_the_solution():
    feedback = practice.check("01.row_weights", row_weights.reference)
    solution, others = folded(feedback)
    assert solution[0].text == "One way to write it, and why"
    assert others.get("open") is None
    assert [part.tag for part in others] == ["summary", "pre"]
    assert others[0].text == "Other right ways to write it (1)"
    assert others[1].text == LOOP


def test_green_in_a_terminal_says_how_many_and_the_command():
    feedback = practice.check("01.row_weights", row_weights.reference)
    assert feedback.text().split("\n")[-1] == (
        "One way to write it, and other right ways (1): attn-course solution 01.row_weights"
    )
    assert "with_a_loop" not in feedback.text()


def test_they_are_off_where_the_call_says_so():
    feedback = practice.check("01.row_weights", row_weights.reference, others=False)
    assert folded(feedback) == []
    assert "ways" not in feedback.text()


def test_they_are_off_where_the_class_says_so(tmp_path):
    (tmp_path / "attn-course.toml").write_text("solutions = false")
    feedback = practice.check("01.row_weights", row_weights.reference)
    assert folded(feedback) == []
    assert "ways" not in feedback.text()


def test_they_are_never_shown_before_green():
    result = row_weights.check(row_weights.local(one_sum_for_all), seed=3)
    report = report_of(result, with_solution=True)
    assert report.others == ()
    assert folded(Feedback(report)) == []
