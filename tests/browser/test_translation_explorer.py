"""The translation explorer in a real browser: its numbers are those of `evaluation`."""

import numpy as np
import pytest

from attn_course.evaluation.correctness import correctness_by_row
from attn_course.figures.explorers import TranslationExplorer
from attn_course.figures.explorers.translation import Translation
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import Place, differences, shown

STEPS = {1: 2, 2: 3, 3: 4}

SEED = 6  # of three links one is sure, one only possible, and one neither

# The longest number word there is room for in one line of a phone, and a much longer one.
LONG = "siebenhundertsiebenundsiebzig"
LONGEST = f"{LONG}tausend{LONG}"


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(TranslationExplorer(), tmp_path_factory.mktemp("bare page"))


def expected(explorer):
    """Return the numbers for a state, computed in Python."""
    shares = explorer.correctness
    possible = np.array(explorer.examples[explorer.example - 1]["possible"])
    chances = correctness_by_row(np.ones(possible.shape), possible)
    return {
        "weight": explorer.weights[explorer.step - 1].tolist(),
        "letter": (explorer.weights.argmax(axis=-1) + 1).tolist(),
        "share": shares[~np.isnan(shares)].tolist(),
        "chance": chances[~np.isnan(chances)].tolist(),
        "uniform": [explorer.uniform_correctness],
        "mean": [explorer.mean_correctness],
        "aer": [explorer.error_rate],
    }


def with_sure_links(word=LONG, target=("7", "7", "7", "stop"), **state):
    """Return an explorer of one word, whose weights are drawn by lot; the last sign has no gold."""
    rng = np.random.default_rng(SEED)
    weights = rng.dirichlet(np.ones(len(word)), size=len(target))
    possible = rng.random(weights.shape) < 0.4
    possible[-1] = False
    sure = possible & (rng.random(weights.shape) < 0.3)
    return TranslationExplorer([Translation(word, target, weights, possible, sure)], **state)


# --- numbers: the page's against the package's --------------------------------------------------


def test_the_comparison_sees_a_small_error_in_every_number():
    assert checks.unseen_errors(expected(with_sure_links())) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("/ addUp(row)", "/ (1.00001 * addUp(row))"), ["mean", "share"]),
        (("mean: mean(", "mean: 1.00001 * mean("), ["mean"]),
        (("/ row.length : null", "/ (1.00001 * row.length) : null"), ["chance", "uniform"]),
        (("errorRate: 1 - (met", "errorRate: 1 - 1.00001 * (met"), ["aer"]),
        (("+ met(possible))", "+ met(sure))"), ["aer"]),
        (("isGold(row) && j ===", "j ==="), ["aer"]),
        (('exact(weights[step - 1][j], \\"weight', 'exact(weights[0][j], \\"weight'), ["weight"]),
    ],
)
def test_the_comparison_sees_a_wrong_module(visit, tmp_path, change, names):
    explorer = with_sure_links()
    wrong = checks.alone(explorer, tmp_path, change=change)
    found = differences(shown(wrong.live(visit(wrong))), expected(explorer))
    assert found == names


def test_it_starts_with_the_packages_numbers(visit, bare):
    assert differences(shown(bare.live(visit(bare))), expected(TranslationExplorer())) == []


# --- moving it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("example", STEPS)
def test_every_step_agrees_with_the_package(visit, bare, example):
    live = bare.live(visit(bare))
    live.get_by_role("combobox", name="Word").select_option(str(example))
    slider = live.get_by_role("slider", name="Step")
    slider.press("Home")
    for step in range(1, STEPS[example] + 1):
        assert slider.get_attribute("aria-valuetext") == f"{step} of {STEPS[example]}"
        numbers = expected(TranslationExplorer(example=example, step=step))
        assert differences(shown(live), numbers) == []
        slider.press("ArrowRight")


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_so_it_does_with_sure_links(visit, tmp_path, step):
    explorer = with_sure_links(step=step)
    place = checks.alone(explorer, tmp_path)
    assert differences(shown(place.live(visit(place))), expected(explorer)) == []


def test_another_word_begins_with_its_first_step(visit, bare):
    """So the later ones can be predicted."""
    live = bare.live(visit(bare))
    live.get_by_role("combobox", name="Word").select_option("3")
    assert live.get_by_role("slider", name="Step").get_attribute("aria-valuetext") == "1 of 4"
    assert live.locator("svg text", has_text="?").count() == 3


def test_a_click_on_a_row_shows_its_step(visit, bare):
    live = bare.live(visit(bare))
    live.get_by_role("combobox", name="Word").select_option("3")
    slider, cells = live.get_by_role("slider", name="Step"), live.locator("rect.cell.weight")
    for step in (4, 2, 3):
        cells.nth(30 * (step - 1) + 7).click()
        assert slider.input_value() == str(step)
    live.locator("rect.cell.value").first.click(force=True)  # the letters are of no step
    assert slider.input_value() == "3"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("example=3&step=2", (3, 2)),
        ("example=2", (2, 2)),
        ("step=1", (1, 1)),
        ("example=1&step=3", (1, 2)),
        ("example=4", (1, 2)),
        ("example=0", (1, 2)),
        ("example=1.5", (1, 2)),
        ("example=3&step=1.5", (1, 2)),
    ],
)
def test_a_link_sets_it_if_a_hand_could(visit, bare, query, wanted):
    there = Place(bare.name, f"{bare.address}#translation?{query}", bare.values)
    live = there.live(visit(there))
    word, step = live.get_by_role("combobox"), live.get_by_role("slider")
    assert (word.input_value(), step.input_value()) == tuple(map(str, wanted))


# --- the picture --------------------------------------------------------------------------------


def test_the_bars_are_as_high_as_the_weights(visit, bare):
    live = bare.live(visit(bare))
    heights = [float(one.get_attribute("height")) for one in live.locator("rect.bar.weight").all()]
    weights = np.array(shown(live)["weight"])
    np.testing.assert_allclose(heights / np.sum(heights), weights / weights.sum(), atol=1e-5)


def test_the_dot_of_each_step_is_on_its_largest_weight(visit, bare):
    there = Place(bare.name, f"{bare.address}#translation?example=3&step=4", bare.values)
    live = there.live(visit(there))
    cells = [cell.bounding_box() for cell in live.locator("rect.cell.weight").all()]
    dots = [dot.bounding_box() for dot in live.locator("circle").all()]
    peaks = TranslationExplorer(example=3).weights.argmax(axis=-1).tolist()
    assert len(dots) == len(peaks) == 4
    for step, (dot, peak) in enumerate(zip(dots, peaks, strict=True)):
        cell, (x, y) = cells[30 * step + peak], (dot["width"] / 2, dot["height"] / 2)
        assert cell["x"] < dot["x"] + x < cell["x"] + cell["width"]
        assert cell["y"] < dot["y"] + y < cell["y"] + cell["height"]


@pytest.mark.parametrize("screen", checks.PHONES, ids=lambda screen: f"{screen['width']} px")
@pytest.mark.parametrize("word", [LONG, LONGEST], ids=len)
def test_long_words_can_be_read_on_a_phone(visit, tmp_path, word, screen):
    signs = [*"777777", "stop"] if word == LONGEST else [*"777", "stop"]
    place = checks.alone(with_sure_links(word, signs), tmp_path)
    page = visit(place, viewport=screen)
    assert checks.phone_faults(page, place.live(page)) == []


@pytest.mark.parametrize("word", [LONG, LONGEST], ids=len)
def test_long_words_and_controls_share_the_screen_of_a_phone(visit, tmp_path, word):
    signs = [*"777777", "stop"] if word == LONGEST else [*"777", "stop"]
    place = checks.alone(with_sure_links(word, signs), tmp_path)
    live = place.live(visit(place, viewport=checks.SMALL_SCREEN))
    figure, foot = live.locator(".scene").bounding_box(), live.locator(".foot").bounding_box()
    assert foot["y"] + foot["height"] - figure["y"] <= checks.SMALL_SCREEN["height"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_marks_of_an_alignment_can_be_seen(visit, tmp_path, theme):
    place = checks.alone(with_sure_links(), tmp_path)
    page = visit(place, forced_colors="active", color_scheme=theme)
    assert checks.marks_hard_to_see(place.live(page)) == []
