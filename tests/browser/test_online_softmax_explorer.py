"""The explorer of online softmax in a real browser: its numbers are those of the package."""

import pytest

from attn_course.figures.explorers import OnlineSoftmaxExplorer
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import differences, shown


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(OnlineSoftmaxExplorer(), tmp_path_factory.mktemp("bare page"))


def expected(**moved):
    """Return the numbers for a state, computed in Python."""
    explorer = OnlineSoftmaxExplorer(**moved)
    return {
        **{
            name: [getattr(kept, name) for kept in explorer.kept]
            for name in explorer.kept[0]._fields
        },
        "context": explorer.contexts.tolist(),
        "score": [explorer.scores[l] for l in explorer.places],
        "weight": explorer.weights.tolist(),
        "correct": explorer.correct.tolist(),
    }


# --- numbers: the page's against the package's --------------------------------------------------


def test_the_comparison_sees_a_small_error_in_every_number():
    assert checks.unseen_errors(expected()) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("Math.exp(before - m)", "1.00001 * Math.exp(before - m)"), {"factor", "total", "o"}),
        (("Math.exp(scores[l] - m)", "Math.exp(1.00001 * (scores[l] - m))"), {"total", "weight"}),
        (("powers[i] * values[l]", "1.00001 * powers[i] * values[l]"), {"o", "context"}),
        (("share / total", "1.00001 * share / total"), {"weight"}),
    ],
)
def test_the_comparison_sees_a_wrong_module(visit, tmp_path, change, names):
    wrong = checks.alone(OnlineSoftmaxExplorer(), tmp_path, change=change)
    found = differences(shown(wrong.live(visit(wrong))), expected())
    assert names <= set(found)


def test_it_starts_with_the_packages_numbers(live):
    assert differences(shown(live), expected()) == []


# --- moving it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rescale", [True, False])
@pytest.mark.parametrize("order", ["sentence", "rising", "falling"])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_every_step_agrees_with_the_package(visit, bare, block, order, rescale):
    live = bare.live(visit(bare))
    live.get_by_role("combobox", name="Words in a block").select_option(str(block))
    live.get_by_role("combobox", name="Order of arrival").select_option(order)
    live.get_by_role("checkbox", name="Rescale the sums").set_checked(rescale)
    steps = live.get_by_role("slider", name="Blocks seen")
    steps.press("Home")
    count = 6 // block
    for step in range(1, count + 1):
        numbers = expected(step=step, order=order, block=block, rescale=rescale)
        assert steps.get_attribute("aria-valuetext") == f"{step} / {count}"
        assert differences(shown(live), numbers) == []
        steps.press("ArrowRight")


def test_larger_blocks_never_leave_the_slider_beyond_its_end(live):
    live.get_by_role("combobox", name="Words in a block").select_option("1")
    steps = live.get_by_role("slider", name="Blocks seen")
    steps.press("End")
    live.get_by_role("combobox", name="Words in a block").select_option("3")
    assert steps.get_attribute("aria-valuetext") == "2 / 2"
    assert differences(shown(live), expected(step=2, block=3)) == []


def test_without_rescaling_the_correct_weights_are_outlined_and_the_report_says_why(live):
    outlines = live.locator("rect.correct")
    assert outlines.count() == 0
    live.get_by_role("checkbox", name="Rescale the sums").uncheck()
    heights = outlines.evaluate_all("all => all.map(bar => bar.height.baseVal.value)")
    assert heights == pytest.approx([88 * weight for weight in expected()["correct"]], abs=1e-3)
    report = live.get_by_role("status").inner_text()
    assert "Not rescaled: the words of the blocks before the rise count too much." in report
    assert "Correct context" in report


def test_with_falling_scores_the_mistake_does_not_show(live):
    live.get_by_role("checkbox", name="Rescale the sums").uncheck()
    live.get_by_role("combobox", name="Order of arrival").select_option("falling")
    assert live.locator("rect.correct").count() == 0
    assert "Not rescaled, and still right" in live.get_by_role("status").inner_text()


# --- without JavaScript -------------------------------------------------------------------------


def test_without_javascript_the_figure_has_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(shown(still), expected()) == []
