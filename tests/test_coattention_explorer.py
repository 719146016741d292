"""The co-attention explorer in Python (in a browser: tests/browser)."""

import numpy as np
import pytest
import traitlets

from attn_course.figures.explorers import CoattentionExplorer
from attn_course.running_example import features
from tests.stills import exactly, numbers_in, still_of

STATES = [
    {"step": 3},
    {"step": 3, "third": "summary"},
    {"step": 2, "form": "interactive", "sharpness": 0.7},
    {"sharpness": 2.3},
]


@pytest.mark.parametrize("state", STATES, ids=str)
def test_the_still_figure_shows_the_packages_numbers(state):
    explorer = CoattentionExplorer(**state)
    numbers = numbers_in(still_of(explorer))
    for place in range(3):
        assert numbers[f"weight_{place + 1}"] == exactly(explorer.weights[place].tolist())
        assert numbers[f"vector_{place + 1}"] == exactly(explorer.vectors[place].tolist())


def test_with_the_slip_the_other_input_has_no_say():
    right, slip = (CoattentionExplorer(third=third).weights for third in ("answer", "summary"))
    np.testing.assert_array_equal(right[1], slip[1])
    assert not np.allclose(right[2], slip[2])


def test_the_interactive_form_asks_with_means():
    explorer = CoattentionExplorer(form="interactive")
    scores = features()[1:3] @ features()[3:].mean(axis=0)
    wanted = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(explorer.weights[2], wanted)


def test_the_answer_to_the_question_is_true():
    first, _there, back = CoattentionExplorer().weights
    slip = CoattentionExplorer(third="summary").weights[2]
    assert [round(float(weights[1]), 2) for weights in (first, back, slip)] == [0.73, 0.81, 0.66]


@pytest.mark.parametrize(
    ("trait", "value"), [("step", 0), ("step", 4), ("sharpness", np.nan), ("form", "parallel")]
)
def test_what_it_cannot_show_is_refused(trait, value):
    with pytest.raises(traitlets.TraitError):
        setattr(CoattentionExplorer(), trait, value)
