"""The hard and soft explorer in Python (in a browser: tests/browser)."""

import re

import numpy as np
import pytest
import torch
import traitlets
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attn_course import alignment
from attn_course.figures.explorers import HardSoftExplorer, page
from tests.stills import exactly, numbers_in, still_of

baselines = st.floats(-10, 10)
rows = hnp.arrays(float, (3, 5), elements=st.floats(-3, 3))


# --- its numbers --------------------------------------------------------------------------------


def test_its_uniform_numbers_draw_what_the_package_draws():
    explorer = HardSoftExplorer(seed=7)
    edges = np.cumsum(explorer.weights)
    by_hand = np.searchsorted(edges, explorer.uniform, side="right")
    np.testing.assert_array_equal(explorer.choices.argmax(axis=-1), by_hand)
    assert (explorer.choices.sum(axis=-1) == 1).all()


def test_the_draws_stay_as_they_are_when_more_are_drawn():
    explorer = HardSoftExplorer(n=5)
    before = explorer.running[:5]
    explorer.n = 50
    np.testing.assert_array_equal(explorer.running[:5], before)


def test_another_seed_draws_others():
    assert HardSoftExplorer(seed=1).uniform != HardSoftExplorer(seed=2).uniform


def test_the_mean_of_many_draws_is_near_the_soft_context():
    explorer = HardSoftExplorer(n=300)
    values = np.array(explorer.values)
    deviation = np.sqrt(explorer.weights @ (values - explorer.soft) ** 2)
    assert abs(explorer.sampled - explorer.soft) < 3 * deviation / np.sqrt(300)
    assert explorer.sampled == pytest.approx(np.mean(explorer.choices @ values))


@given(rows, baselines)
def test_its_variance_is_the_mean_square_minus_the_squared_mean(rows, baseline):
    explorer = HardSoftExplorer(*rows)
    rewards, gradient = rows[2], explorer.gradient
    lengths = np.sum((np.eye(5) - explorer.weights) ** 2, axis=-1)
    square = explorer.weights @ ((rewards - baseline) ** 2 * lengths)
    assert explorer.variance(baseline) == pytest.approx(square - gradient @ gradient, abs=1e-9)


@given(rows, baselines)
def test_no_baseline_is_better_than_the_best(rows, baseline):
    explorer = HardSoftExplorer(*rows)
    assert explorer.variance(explorer.best_baseline) <= explorer.variance(baseline) + 1e-9


@given(rows, baselines)
def test_no_baseline_changes_the_mean(rows, baseline):
    explorer = HardSoftExplorer(*rows)
    scores, rewards = rows[0], rows[2]
    each = [
        alignment.score_function_gradient(scores, choice[None], earned[None], baseline)
        for choice, earned in zip(np.eye(5), rewards, strict=True)
    ]
    np.testing.assert_allclose(explorer.weights @ np.array(each), explorer.gradient, atol=1e-9)


def test_the_estimates_are_means_over_the_draws():
    explorer = HardSoftExplorer(n=12, baseline=1.5)
    choices = explorer.choices[:12]
    earned = choices @ np.array(explorer.rewards)
    each = [
        alignment.score_function_gradient(
            np.array(explorer.scores), choice[None], reward[None], 1.5
        )
        for choice, reward in zip(choices, earned, strict=True)
    ]
    np.testing.assert_allclose(explorer.estimate, np.mean(each, axis=0), rtol=1e-12)
    distances = np.sum((np.array(each) - explorer.gradient) ** 2, axis=-1)
    assert explorer.estimated_variance(1.5) == pytest.approx(distances.mean(), rel=1e-12)


def test_its_own_rewards_show_what_a_baseline_is_good_for():
    explorer = HardSoftExplorer()
    nothing, mean, least = (
        explorer.variance(b) for b in (0.0, explorer.expected_reward, explorer.best_baseline)
    )
    assert nothing > 5 * mean
    assert mean > 1.5 * least


# --- what it refuses ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (([1.0, 2.0], [1.0, 2.0], [1.0]), r"are \(2,\), \(2,\) and \(1,\)"),
        (([1.0], [1.0], [1.0]), "at least two keys"),
        (([1.0, np.inf], [1.0, 2.0], [1.0, 2.0]), "must be finite"),
    ],
)
def test_keys_that_do_not_fit_get_a_sentence(rows, sentence):
    with pytest.raises(ValueError, match=sentence):
        HardSoftExplorer(*rows)


@pytest.mark.parametrize(("trait", "value"), [("n", 0), ("n", 301), ("baseline", np.inf)])
def test_a_value_it_cannot_show_is_refused(trait, value):
    explorer = HardSoftExplorer()
    with pytest.raises(traitlets.TraitError):
        setattr(explorer, trait, value)


def test_equal_keys_and_tensors_can_be_shown():
    for rows in (np.ones((3, 4)), torch.zeros((3, 2), dtype=torch.float16)):
        assert "NaN" not in still_of(HardSoftExplorer(*rows, baseline=-4.5))


# --- its page -----------------------------------------------------------------------------------


def test_the_still_figure_shows_its_numbers():
    explorer = HardSoftExplorer(n=33, baseline=0.1 + 0.2)
    numbers = numbers_in(still_of(explorer))
    assert numbers["n"] == [33]
    assert numbers["sampled"] == exactly([explorer.sampled])
    assert numbers["estimate"] == exactly(explorer.estimate.tolist())
    assert numbers["baseline"][0] == explorer.baseline
    assert numbers["true_variance"][0] == exactly(explorer.variance(explorer.baseline))
    assert numbers["estimated_variance"][1] == exactly(explorer.estimated_variance(0.0))


def test_the_page_is_the_same_at_every_run():
    first, second = (HardSoftExplorer()._repr_mimebundle_()[0] for _ in range(2))
    assert first["text/html"] == second["text/html"]
    assert "n=20" in first["text/plain"]


def test_the_module_is_one_text_and_finds_its_words():
    text = page.module_text("hard_soft")
    assert "import " not in text
    assert text.count("export ") == 1
    asked = re.findall(r"words\.(\w+)", page.module_file("hard_soft").read_text())
    assert set(asked) <= set(HardSoftExplorer().words)


def test_words_are_escaped():
    explorer = HardSoftExplorer()
    explorer.words = {key: '<u>"&' for key in explorer.words}
    assert "<u>" not in explorer.to_html() + still_of(explorer)


def test_the_answer_to_its_question_is_true():
    explorer = HardSoftExplorer()
    assert explorer.best_baseline == pytest.approx(explorer.expected_reward, rel=0.5)
    assert explorer.best_baseline != pytest.approx(explorer.expected_reward, rel=0.1)
    second_differences = np.diff([explorer.variance(b) for b in range(6)], n=2)
    assert second_differences == pytest.approx(second_differences[0] * np.ones(4))  # a parabola
