"""Each mistake of an exercise in words: its change, its output, its nearest neighbour."""

import re

import numpy as np
import pytest

from attn_course.authoring.neighbours import mistakes_in_words
from attn_course.practice.definition import Case
from attn_course.practice.exercise import Chapter
from attn_course.practice.exercises import chapters
from tests.practice.sample_exercises import chapter as sample


def paragraphs(exercise, seed: int = 0) -> dict[str, list[str]]:
    """Return the lines about each mistake by its name."""
    parts = (part.split("\n") for part in mistakes_in_words(exercise, seed).split("\n\n"))
    return {name: lines for name, *lines in parts}


@pytest.fixture(scope="module")
def gaussian_weights():
    return paragraphs(chapters()["01"].exercises["gaussian_weights"])


def test_every_mistake_has_its_paragraph_with_its_message(gaussian_weights):
    exercise = chapters()["01"].exercises["gaussian_weights"]
    assert list(gaussian_weights) == [known.name for known in exercise.mistakes]
    for known in exercise.mistakes:
        assert gaussian_weights[known.name][0] == f"  {known.message}"


def test_the_change_is_shown_as_lines_taken_out_and_put_in(gaussian_weights):
    lines = gaussian_weights["sums_to_one_over_the_queries"]
    assert lines[1:5] == [
        "    -    scores = scores - scores.max(axis=-1, keepdims=True)  # the best score becomes 0",
        "    +    scores = scores - scores.max(axis=-2, keepdims=True)  # the best score becomes 0",
        "    -    return exponentials / exponentials.sum(axis=-1, keepdims=True)",
        "    +    return exponentials / exponentials.sum(axis=-2, keepdims=True)",
    ]
    assert lines[5] == "  on the smallest case that shows it:"


def test_the_output_is_shown_with_the_arguments_and_the_right_one(gaussian_weights):
    lines = gaussian_weights["sums_to_one_over_the_queries"]
    shown = [line.strip() for line in lines[6:]]
    assert [line.partition(" = ")[0] for line in shown[:3]] == ["queries", "keys", "w"]
    assert shown[3].startswith("2 of 2 numbers differ")
    assert shown[4] == "[[1.0, 1.0]]"
    assert shown[5] == "instead of"
    assert sum(map(float, shown[6].strip("[]").split(","))) == pytest.approx(1, abs=1e-3)


def test_a_case_is_chosen_on_which_the_mistake_shows(gaussian_weights):
    for lines in gaussian_weights.values():
        at = lines.index("    instead of") if "    instead of" in lines else 0
        if at:
            size = len(lines) - at - 2  # the last line is the neighbour
            assert lines[at - size : at] != lines[at + 1 : at + 1 + size]
        else:
            assert any(line.startswith("    It raised") for line in lines)


def test_the_nearest_neighbour_is_told_with_the_number_of_cases(gaussian_weights):
    nearest = gaussian_weights["sums_to_one_over_the_queries"][-1]
    assert re.fullmatch(r"  nearest: \w+, the same on \d of 8 cases", nearest)
    names = set(gaussian_weights)
    for name, lines in gaussian_weights.items():
        if lines[-1].startswith("  nearest: "):
            other = lines[-1].removeprefix("  nearest: ").partition(",")[0]
            assert other in names - {name}


def test_another_seed_shows_other_numbers():
    exercise = chapters()["01"].exercises["average_pooling"]
    assert mistakes_in_words(exercise, 0) == mistakes_in_words(exercise, 0)
    assert mistakes_in_words(exercise, 0) != mistakes_in_words(exercise, 1)


def test_a_value_and_a_module_are_shown_too():
    value = paragraphs(chapters()["01"].exercises["predicted_limits"])
    assert value["ends_swapped"][1:7] == [
        "    -predicted_limits = [5 / 6, 3 / 2, 2]",
        "    +predicted_limits = [3 / 2, 5 / 6, 5 / 6]",
        "  on the smallest case that shows it:",
        *value["ends_swapped"][4:5],  # how many numbers differ
        "    [1.5000, 0.8333, 0.8333]",
        "    instead of",
    ]
    module = paragraphs(sample.exercises["Linear"])
    lines = module["WithoutBias"]
    assert "    width = 2" in lines
    (at,) = (number for number, line in enumerate(lines) if line.startswith("    output: 15 of 15"))
    # Five rows each: only the part that differs is shown, and not gradients and parameters.
    assert lines[at + 6] == "    instead of"
    assert len(lines) == at + 13


def test_a_mistake_in_python_is_shown_by_its_code():
    lines = paragraphs(sample.exercises["row_weights"])["divides_by_the_largest"]
    assert "    def divides_by_the_largest(scores, scale=1.0):" in lines
    assert "        return scores / scores.max(-1, keepdims=True)" in lines


def test_an_exception_is_shown_as_what_was_raised_and_a_right_answer_as_right():
    chapter = Chapter("90_trial", title="A trial", sections={"s": "S"})

    @chapter.exercise(
        title="T", goal="G", difficulty=1, minutes=1, section="s", hints=("1", "2", "3")
    )
    def double(x):
        return 2 * x

    @double.cases(points=1, label="numbers")
    def _cases(rng):
        yield Case(np.zeros(2))
        yield Case(np.ones(2))

    @double.misconception("It can't be done.")
    def refuses(x):
        raise ValueError("no")

    double.misconception("It is right.")(eval("lambda x: x + x"))

    @double.misconception("It squares.")
    def squares(x):
        return x**2

    found = paragraphs(double)
    assert "    It raised ValueError: no" in found["refuses"]
    assert found["refuses"][-1] == "  no other mistake agrees with it on any case"
    right = found["<lambda>"]
    assert right[-2:] == [
        "  right on every case",
        "  nearest: squares, the same on 1 of 2 cases",
    ]
    assert right[1].startswith("    <function <lambda>")  # its code is not in a file
    # On zeros it is right, so the second case is the one to show.
    assert "    x = [1.0, 1.0]    # shape (2,)" in found["squares"]


def test_an_only_mistake_has_no_neighbour():
    lines = paragraphs(sample.exercises["weight_count"])["adds_the_axes"]
    assert lines[-1] == "  no other mistake agrees with it on any case"
