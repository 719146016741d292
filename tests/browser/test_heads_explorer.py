"""The heads explorer in a real browser: its numbers are those of `queries.MultiHeadAttention`."""

import pytest

from attn_course.figures.explorers import HeadsExplorer
from attn_course.running_example import WORDS
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import differences, shown


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(HeadsExplorer(), tmp_path_factory.mktemp("bare page"))


def expected(**moved):
    """Return the numbers for a state, computed in Python."""
    explorer = HeadsExplorer(**moved)
    return {
        "cell": explorer.cells.ravel().tolist(),
        "weight": explorer.weights.ravel().tolist(),
    }


# --- numbers: the page's against the package's --------------------------------------------------


def test_the_comparison_sees_a_small_error_in_every_number():
    assert checks.unseen_errors(expected()) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("Math.sqrt(size)", "(1.00001 * Math.sqrt(size))"), {"weight"}),
        (("entry * query[i]", "1.00001 * entry * query[i]"), {"weight"}),
        (("row * d + head * size + column;", "row * d + column * heads + head;"), {"cell"}),
    ],
)
def test_the_comparison_sees_a_wrong_module(visit, tmp_path, change, names):
    wrong = checks.alone(HeadsExplorer(), tmp_path, change=change)
    found = differences(shown(wrong.live(visit(wrong))), expected())
    assert names <= set(found)


def test_it_starts_with_the_packages_numbers(live):
    assert differences(shown(live), expected()) == []


# --- moving it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["transposed", "reshaped"])
@pytest.mark.parametrize("heads", [1, 2, 4])
def test_every_choice_agrees_with_the_package(visit, bare, heads, split):
    live = bare.live(visit(bare))
    live.get_by_role("combobox", name="Number of heads").select_option(str(heads))
    live.get_by_role("combobox", name="Split by").select_option(split)
    query = live.get_by_role("slider", name="Query")
    query.press("Home")
    for word in WORDS:
        numbers = expected(heads=heads, split=split, word=word)
        assert query.get_attribute("aria-valuetext") == word
        assert differences(shown(live), numbers) == []
        query.press("ArrowRight")


def test_without_the_transpose_the_report_names_the_words_of_the_first_head(live):
    report = live.get_by_role("status")
    assert "all six words" in report.inner_text()
    live.get_by_role("combobox", name="Split by").select_option("reshaped")
    assert "The first head sees only: the, small, cat." in report.inner_text()


# --- the picture --------------------------------------------------------------------------------


def test_a_cell_has_the_shade_of_its_head_in_both_tables(live):
    """24 cells in memory and the same 24 in the heads: an equal number has an equal shade."""
    live.get_by_role("combobox", name="Split by").select_option("reshaped")
    cells = live.locator("rect.cell.value").evaluate_all(
        "all => all.map(cell => [cell.nextElementSibling.textContent,"
        " cell.getAttribute('fill-opacity')])"
    )
    assert len(cells) == 48
    shades = dict(cells)
    assert len(shades) == 24
    assert all(shades[number] == shade for number, shade in cells)
    assert len({shades[str(number)] for number in range(1, 13)}) == 1
    assert shades["12"] != shades["13"]


# --- without JavaScript -------------------------------------------------------------------------


def test_without_javascript_the_figure_stands_with_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(shown(still), expected()) == []
