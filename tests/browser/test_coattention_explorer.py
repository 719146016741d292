"""The co-attention explorer in a real browser: its numbers are those of `attend`."""

import pytest

from attn_course.figures.explorers import CoattentionExplorer
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import differences, shown


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(CoattentionExplorer(), tmp_path_factory.mktemp("bare page"))


def expected(**moved):
    """Return the numbers for a state, computed by the package."""
    explorer = CoattentionExplorer(**moved)
    numbers = {}
    for place, (weights, vector) in enumerate(
        zip(explorer.weights, explorer.vectors, strict=True), start=1
    ):
        numbers[f"weight_{place}"] = weights.tolist()
        numbers[f"vector_{place}"] = vector.tolist()
    return numbers


def slider(explorer, name):
    return explorer.get_by_role("slider", name=name)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("answered([1, 0, 0]", "answered([1.0001, 0, 0]"), {"weight_1", "weight_2", "weight_3"}),
        (("weight * keys[i][f]", "1.00001 * weight * keys[i][f]"), {"vector_1", "vector_3"}),
    ],
)
def test_the_comparison_sees_a_wrong_module(visit, tmp_path, change, names):
    wrong = checks.alone(CoattentionExplorer(), tmp_path, change=change)
    found = differences(shown(wrong.live(visit(wrong))), expected())
    assert names <= set(found)


def test_it_starts_with_the_packages_numbers(live):
    assert differences(shown(live), expected()) == []


@pytest.mark.parametrize("third", ["answer", "summary"])
@pytest.mark.parametrize("form", ["alternating", "interactive"])
def test_every_choice_agrees_with_the_package(visit, bare, form, third):
    live = bare.live(visit(bare))
    live.get_by_label("Form").select_option(form)
    live.get_by_label("Step 3 asks with").select_option(third)
    for key in ("Home", "ArrowRight", "PageUp", "End"):
        slider(live, "Sharpness").press(key)
        moved = {"form": form, "third": third}
        moved["sharpness"] = float(slider(live, "Sharpness").input_value())
        assert differences(shown(live), expected(**moved)) == []


def test_a_step_that_is_not_played_yet_has_question_marks(live):
    assert live.get_by_text("?", exact=True).count() == 5
    slider(live, "Step").press("ArrowRight")
    assert live.get_by_text("?", exact=True).count() == 2
    slider(live, "Step").press("ArrowRight")
    assert live.get_by_text("?", exact=True).count() == 0


def test_the_slip_is_called_one(live):
    slider(live, "Step").press("End")
    report = live.get_by_role("status")
    assert "slip" not in report.inner_text()
    live.get_by_label("Step 3 asks with").select_option("summary")
    assert "A slip" in report.inner_text()


def test_without_javascript_the_figure_stands_with_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(shown(still), expected()) == []
