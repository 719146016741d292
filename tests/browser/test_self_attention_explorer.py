"""The self-attention explorer in a real browser: its numbers are those of `attention`."""

import numpy as np
import pytest

from attn_course.figures.explorers import SelfAttentionExplorer
from attn_course.running_example import WORDS
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import differences, shown

SHUFFLED = [3, 5, 0, 4, 1, 2]


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(SelfAttentionExplorer(), tmp_path_factory.mktemp("bare page"))


def expected(**state):
    """Return the numbers for a state."""
    explorer = SelfAttentionExplorer(**state)
    return {
        "weight": explorer.weights.ravel().tolist(),
        "context": explorer.contexts.ravel().tolist(),
    }


def press(explorer, word):
    explorer.get_by_role("button", name=word).click()


# --- numbers: the page's against the package's --------------------------------------------------


def test_the_comparison_sees_a_small_error_in_every_number():
    assert checks.unseen_errors(expected(order=SHUFFLED, positions=True)) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("dot(query, key) / root", "dot(query, key) / root * 1.00001"), {"weight", "context"}),
        (("weight * vectors[i][f]", "1.00001 * weight * vectors[i][f]"), {"context"}),
    ],
)
def test_the_comparison_sees_a_wrong_module(visit, bare, tmp_path, change, names):
    wrong = checks.alone(SelfAttentionExplorer(), tmp_path, change=change)
    assert set(differences(shown(wrong.live(visit(wrong))), expected())) == names


def test_it_starts_with_the_packages_numbers(live, bare):
    assert differences(shown(live), expected()) == []


# --- moving it ----------------------------------------------------------------------------------


def test_shuffling_moves_weights_with_their_words(live, bare):
    press(live, "shuffle")
    numbers = shown(live)
    assert differences(numbers, expected(order=SHUFFLED)) == []
    written = np.reshape(expected()["weight"], (6, 6))
    moved = written[np.ix_(SHUFFLED, SHUFFLED)]
    np.testing.assert_allclose(np.reshape(numbers["weight"], (6, 6)), moved, atol=1e-12)


def test_after_six_shuffles_the_sentence_is_itself_again(live, bare):
    for _ in WORDS:
        press(live, "shuffle")
    assert differences(shown(live), expected()) == []


def test_reversed_and_back(live, bare):
    press(live, "reverse")
    assert differences(shown(live), expected(order=[5, 4, 3, 2, 1, 0])) == []
    press(live, "shuffle")
    press(live, "as written")
    assert differences(shown(live), expected()) == []


def test_every_sharpness_agrees_with_the_package(live, bare):
    slider = live.get_by_role("slider", name="Sharpness")
    for key, sharpness in (("Home", 0.0), ("ArrowRight", 0.1), ("End", 4.0)):
        slider.press(key)
        assert differences(shown(live), expected(sharpness=sharpness)) == []


def test_positions_make_the_order_matter_and_the_page_says_so(live, bare):
    assert live.get_by_text("the same in every order").is_visible()
    live.get_by_role("checkbox", name="add positions").check()
    press(live, "shuffle")
    assert differences(shown(live), expected(order=SHUFFLED, positions=True)) == []
    assert live.get_by_text("it depends on the order").is_visible()


@pytest.mark.parametrize("word", WORDS)
def test_the_bars_are_the_row_of_the_word_that_asks(visit, bare, word):
    live = bare.live(visit(bare))
    live.get_by_label("Who asks?").select_option(word)
    widths = live.locator("rect.bar.weight").evaluate_all(
        "all => all.map(bar => bar.width.baseVal.value)"
    )
    row = SelfAttentionExplorer().weights[WORDS.index(word)]
    np.testing.assert_allclose(np.array(widths) / sum(widths), row, atol=1e-4)
    assert live.get_by_role("status").inner_text().startswith(f"Context of {word}:")


# --- without JavaScript -------------------------------------------------------------------------


def test_without_javascript_the_figure_stands_with_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(shown(still), expected()) == []
