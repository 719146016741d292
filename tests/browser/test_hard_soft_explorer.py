"""The hard and soft explorer in a real browser: its numbers are those of `alignment`."""

import json

import numpy as np
import pytest

from attn_course import alignment
from attn_course.figures.explorers import HardSoftExplorer, LocalAlignmentExplorer
from tests.browser import explorer_checks as checks
from tests.browser import jupyter_server
from tests.browser.explorer_checks import differences, shown
from tests.browser.page_checks import DESKTOP


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(HardSoftExplorer(), tmp_path_factory.mktemp("bare page"))


def slider(explorer, name):
    return explorer.get_by_role("slider", name=name)


# --- numbers: the page's against the package's --------------------------------------------------


class Recorded(np.random.Generator):
    """A generator whose numbers are known beforehand: those that the page has."""

    def __init__(self, numbers):
        super().__init__(np.random.PCG64(0))
        self.numbers = np.array(numbers)

    def random(self, size):
        return self.numbers.reshape(size)


def expected(state):
    """Return the numbers for a state. Draws are averaged one by one, as the formula has it."""
    scores, values, rewards = (np.array(state[name]) for name in ("scores", "values", "rewards"))
    n, b = state["n"], state["baseline"]
    weights = alignment.softmax(scores)
    choices = alignment.hard(np.tile(scores, (n, 1)), Recorded(state["uniform"][:n]))
    earned = choices @ rewards
    gradient = alignment.expected_reward_gradient(scores, rewards)
    mean_reward = float(weights @ rewards)
    baselines = [b, 0.0, mean_reward, float(alignment.optimal_baseline(scores, rewards))]

    def distance(choice, reward, baseline):
        one = alignment.score_function_gradient(scores, choice[None], reward[None], baseline)
        return np.sum((one - gradient) ** 2)

    def exact(baseline):
        # E|g|^2 - |E g|^2, which is not how the explorer computes it
        lengths = np.sum((np.eye(len(scores)) - weights) ** 2, axis=-1)
        return weights @ ((rewards - baseline) ** 2 * lengths) - gradient @ gradient

    def drawn(baseline):
        return np.mean([distance(c, r, baseline) for c, r in zip(choices, earned, strict=True)])

    return {
        "n": [n],
        "soft": [weights @ values],
        "sampled": [np.mean(choices @ values)],
        "baseline": baselines,
        "true_variance": [exact(baseline) for baseline in baselines],
        "estimated_variance": [drawn(baseline) for baseline in baselines],
        "value": values.tolist(),
        "reward": rewards.tolist(),
        "weight": weights.tolist(),
        "share": choices.mean(axis=0).tolist(),
        "gradient": gradient.tolist(),
        "estimate": alignment.score_function_gradient(scores, choices, earned, b).tolist(),
    }


def test_the_comparison_sees_a_small_error_in_every_number(bare):
    assert checks.unseen_errors(expected({**bare.values, "baseline": 1.5})) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("(rewards[m] - b) *", "(rewards[m] - 1.00001 * b) *"), {"true_variance", "estimate"}),
        (("Math.exp(height - top)", "Math.exp(1.00001 * (height - top))"), {"weight", "soft"}),
        (("reached > u * sum", "reached > 0.9 * u * sum"), {"share", "sampled"}),
    ],
)
def test_the_comparison_sees_a_wrong_module(visit, tmp_path, change, names):
    wrong = checks.alone(HardSoftExplorer(baseline=1.5, n=100), tmp_path, change=change)
    found = differences(shown(wrong.live(visit(wrong))), expected(wrong.values))
    assert names <= set(found)


def test_it_starts_with_the_packages_numbers(live, bare):
    assert differences(shown(live), expected(bare.values)) == []


# --- moving it ----------------------------------------------------------------------------------


def test_an_arrow_key_draws_one_more(live, bare):
    n = slider(live, "Draws")
    n.focus()
    for i in range(1, 4):
        n.press("ArrowRight")
        state = {**bare.values, "n": bare.values["n"] + i}
        assert differences(shown(live), expected(state)) == []


def test_from_the_first_draw_to_the_last_the_page_agrees_with_the_package(live, bare):
    for key in ("Home", "PageUp", "PageUp", "End"):
        slider(live, "Draws").press(key)
        numbers = shown(live)
        state = {**bare.values, "n": int(numbers["n"][0])}
        assert differences(numbers, expected(state)) == []
    assert state["n"] == len(bare.values["uniform"])


def test_arrow_keys_move_the_baseline(live, bare):
    baseline = slider(live, "Baseline")
    baseline.press("Home")
    for _ in range(7):
        baseline.press("ArrowRight")
    state = {**bare.values, "baseline": float(baseline.input_value())}
    assert state["baseline"] == pytest.approx(bare.values["span"][0] + 0.7)
    assert differences(shown(live), expected(state)) == []


@pytest.mark.parametrize(("name", "row"), [("Nothing", 1), ("Expected", 2), ("Least", 3)])
def test_a_button_sets_a_baseline_worth_knowing(live, bare, name, row):
    live.get_by_role("button", name=name).press("Enter")
    numbers = shown(live)
    assert numbers["baseline"][0] == numbers["baseline"][row]
    state = {**bare.values, "baseline": numbers["baseline"][0]}
    assert differences(numbers, expected(state)) == []


def test_the_best_baseline_is_the_bottom_of_the_parabola(live):
    least = shown(live)["true_variance"][3]
    slider(live, "Baseline").press("Home")
    for _ in range(10):
        slider(live, "Baseline").press("PageUp")
        assert shown(live)["true_variance"][0] >= least


# --- the picture --------------------------------------------------------------------------------


def test_the_bars_are_as_high_as_the_weights(live, bare):
    heights = np.array(
        live.locator("rect.bar.weight").evaluate_all(
            "all => all.map(bar => bar.height.baseVal.value)"
        )
    )
    weights = np.array(expected(bare.values)["weight"])
    np.testing.assert_allclose(heights / heights.max(), weights / weights.max(), atol=1e-5)


def test_the_scale_ends_above_the_tallest_bar(live):
    for key in ("Home", "End"):
        slider(live, "Draws").press(key)
        marks = live.locator("rect.bar.weight, path.slipped").evaluate_all(
            "all => all.map(mark => mark.getBBox().y)"
        )
        top = live.locator("path.grid").evaluate_all("all => all.map(rule => rule.getBBox().y)")
        assert min(top) <= min(marks) + 0.01


def test_every_draw_so_far_has_its_circle(live, bare):
    assert live.locator("circle.seen").count() == bare.values["n"]
    slider(live, "Draws").press("End")
    assert live.locator("circle.seen").count() == len(bare.values["uniform"])


# --- without JavaScript -------------------------------------------------------------------------


def test_without_javascript_the_figure_stands_with_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(shown(still), expected(bare.values)) == []


# --- in JupyterLab, with Python behind it -------------------------------------------------------

# The local alignment explorer comes along: one server is enough for both.
CELLS = """
import json
from attn_course.figures.explorers import HardSoftExplorer, LocalAlignmentExplorer
explorer = HardSoftExplorer(n=10)
explorer
---
local = LocalAlignmentExplorer()
local
---
explorer.n = 150
local.half_width, local.slip = 3.5, True
---
hard = {"n": explorer.n, "baseline": explorer.baseline, "sampled": explorer.sampled}
print(json.dumps({**hard, "position": local.position, "total": local.total}))
"""


def test_in_jupyterlab_the_figures_and_python_move_each_other(browser, lab, bare):
    context = browser.new_context(viewport=DESKTOP)
    page = context.new_page()
    lab.open(page, "explorer.ipynb")

    figure = jupyter_server.run(page, 0).locator(".attn-explorer")
    figure.wait_for()
    local = jupyter_server.run(page, 1).locator(".attn-explorer")
    local.wait_for()
    assert differences(shown(figure), expected({**bare.values, "n": 10})) == []
    assert shown(local)["total"] == [pytest.approx(LocalAlignmentExplorer().total, rel=1e-12)]

    jupyter_server.run(page, 2)  # Python moves the figures
    moved = expected({**bare.values, "n": 150})
    jupyter_server.wait_for(page, lambda: differences(shown(figure), moved) == [])
    total = LocalAlignmentExplorer(half_width=3.5).total
    jupyter_server.wait_for(
        page, lambda: shown(local)["total"] == [pytest.approx(total, rel=1e-12)]
    )
    assert "slip_total" in shown(local)

    slider(figure, "Draws").press("ArrowRight")  # the figures move Python
    figure.get_by_role("button", name="Expected").press("Enter")
    slider(local, "Position").press("ArrowLeft")
    now = shown(figure) | {name: shown(local)[name] for name in ("position", "total")}
    assert (now["n"], now["position"]) == ([151], [pytest.approx(5.3)])

    def python_knows():
        output = jupyter_server.run(page, 3).locator(".jp-OutputArea-output").inner_text()
        there = {name: [number] for name, number in json.loads(output).items()}
        return differences(there, {name: now[name][:1] for name in there}) == []

    jupyter_server.wait_for(page, python_knows)
    context.close()
