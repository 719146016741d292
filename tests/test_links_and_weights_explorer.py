"""The explorer of links and weights in Python (in a browser: tests/browser)."""

import re

import numpy as np
import pytest
import traitlets

from attn_course.evaluation.correctness import argmax_hits, attention_correctness
from attn_course.evaluation.links import alignment_error_rate, links_from_weights
from attn_course.figures.explorers import LinksAndWeightsExplorer, still
from attn_course.figures.explorers.links_and_weights import GOLD, RIVALS, SOURCE, SURE, TARGET
from tests.stills import exactly, numbers_in, still_of

# The buttons of the figure.
BARELY_RIGHT = {"right": [0.26] * 5, "gathered": [False] * 5}
BARELY_WRONG = {"right": [0.49] * 5, "gathered": [True] * 5}
UNIFORM = {"right": [0.25] * 5, "gathered": [False] * 5}
ONE_ROW_WRONG = {"right": [1.0, 0.0, 1.0, 1.0, 1.0], "gathered": [True] * 5}

POSSIBLE = np.array([[j == gold for j in range(4)] for gold in GOLD])


def drawn_by_lot(seed):
    """Return a state that a hand could set: hundredths, some of them at the edges and at ties."""
    rng = np.random.default_rng(seed)
    shares = np.where(rng.random(5) < 0.3, rng.choice([0, 25, 50, 100], 5), rng.integers(0, 101, 5))
    return {
        "right": (shares / 100).tolist(),
        "gathered": (rng.random(5) < 0.5).tolist(),
        "row": int(rng.integers(0, 6)),
    }


STATES = [{}, BARELY_RIGHT, BARELY_WRONG, UNIFORM, ONE_ROW_WRONG, *map(drawn_by_lot, range(40))]


def expected(explorer):
    """Return the numbers for a state, computed by the package."""
    counts = explorer.counts
    return {
        "weight": exactly(explorer.weights.ravel().tolist()),
        "source": [source + 1 for _target, source in sorted(explorer.links)],
        "share": exactly(explorer.correctness_by_row.tolist()),
        "drawn": [counts.drawn],
        "sure": [counts.sure],
        "drawn_and_sure": [counts.drawn_and_sure],
        "drawn_and_possible": [counts.drawn_and_possible],
        "aer": exactly([explorer.error_rate]),
        "correctness": exactly([explorer.correctness]),
        "uniform": exactly([explorer.uniform_correctness]),
    }


# --- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", STATES, ids=str)
def test_the_still_figure_shows_the_packages_numbers(state):
    explorer = LinksAndWeightsExplorer(**state)
    assert numbers_in(still_of(explorer)) == expected(explorer)


@pytest.mark.parametrize(
    ("state", "old", "new", "names"),
    [
        ({}, "? right[i] : wrong(j)", "? 1.00001 * right[i] : wrong(j)", {"weight", "correctness"}),
        ({}, "correctness: mean(", "correctness: 1.00001 * mean(", {"correctness"}),
        ({}, "errorRate: 1 - (", "errorRate: 1 - 1.00001 * (", {"aer"}),
        ({}, "uniform: 1 /", "uniform: 1.00001 /", {"uniform"}),
        ({}, "hit && sure[i]", "hit", {"drawn_and_sure", "aer"}),
        (UNIFORM, "row.indexOf(largest[i]))", "row.lastIndexOf(largest[i]))", {"source"}),
    ],
)
def test_a_small_error_in_the_module_is_seen(monkeypatch, state, old, new, names):
    pytest.importorskip("py_mini_racer")
    explorer = LinksAndWeightsExplorer(**state)
    sound = still.page.module_text
    assert sound(explorer.name).count(old) == 1
    monkeypatch.setattr(still.page, "module_text", lambda name: sound(name).replace(old, new))
    shown, wanted = numbers_in(still_of(explorer)), expected(explorer)
    assert names <= {name for name in wanted if shown[name] != wanted[name]}


@pytest.mark.parametrize("state", STATES, ids=str)
def test_the_properties_are_those_of_the_package_and_every_row_adds_up_to_one(state):
    explorer = LinksAndWeightsExplorer(**state)
    weights = explorer.weights
    assert weights.shape == (len(TARGET), len(SOURCE)) == POSSIBLE.shape
    np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-12)
    np.testing.assert_array_equal(weights[POSSIBLE], explorer.right)
    possible = {(i, j) for i, j in np.argwhere(POSSIBLE).tolist()}
    sure = {(i, j) for i, j in possible if SURE[i]}
    assert explorer.error_rate == alignment_error_rate(links_from_weights(weights), sure, possible)
    assert explorer.correctness == attention_correctness(weights, POSSIBLE)


def test_the_rest_of_a_row_goes_where_it_should():
    explorer = LinksAndWeightsExplorer([0.4] * 5, [False, True, False, True, False])
    np.testing.assert_allclose(explorer.weights[0], [0.2, 0.2, 0.4, 0.2])
    np.testing.assert_allclose(explorer.weights[1], [0, 0, 0.6, 0.4])
    np.testing.assert_allclose(explorer.weights[3], [0.6, 0.4, 0, 0])


def test_no_rival_is_a_gold_word():
    assert not any(rival == gold for rival, gold in zip(RIVALS, GOLD, strict=True))


# --- what it teaches ----------------------------------------------------------------------------


def measured(state):
    explorer = LinksAndWeightsExplorer(**state)
    return explorer.error_rate, explorer.correctness


def test_the_answer_to_the_question_is_true():
    explorer = LinksAndWeightsExplorer(**BARELY_RIGHT)
    assert explorer.error_rate == 0
    assert explorer.correctness == pytest.approx(0.26)
    assert explorer.uniform_correctness == 0.25
    assert (explorer.weights[POSSIBLE] > explorer.weights[~POSSIBLE].max()).all()


def test_the_two_measures_rank_two_examples_in_opposite_order():
    right, wrong = measured(BARELY_RIGHT), measured(BARELY_WRONG)
    assert right == (0, pytest.approx(0.26))
    assert wrong == (1, pytest.approx(0.49))


def test_correctness_can_be_high_where_a_link_is_wrong():
    assert measured(ONE_ROW_WRONG) == (pytest.approx(2 / 9), pytest.approx(0.8))


@pytest.mark.parametrize(("row", "price"), [(0, 2), (1, 2), (2, 1), (3, 2), (4, 2)])
def test_a_wrong_link_costs_two_ninths_where_the_gold_link_is_sure_and_one_elsewhere(row, price):
    right = [1.0] * 5
    right[row] = 0.0
    assert measured({"right": right, "gathered": [True] * 5})[0] == pytest.approx(price / 9)


def test_the_error_rate_does_not_change_until_the_largest_weight_does():
    rates = [
        measured({"right": [share / 100] * 5, "gathered": [False] * 5})[0] for share in range(101)
    ]
    assert rates[26:] == [0] * 75
    assert rates[25] == pytest.approx(7 / 9)  # a tie: Milch, the first word, is right for milk only


def test_of_uniform_weights_word_order_draws_the_links():
    explorer = LinksAndWeightsExplorer(**UNIFORM)
    assert explorer.links == {(i, 0) for i in range(5)}
    assert explorer.correctness == explorer.uniform_correctness
    backwards = links_from_weights(explorer.weights[:, ::-1])
    mirrored = {(i, 3 - j) for i, j in backwards}
    possible = set(enumerate(GOLD))
    sure = {(i, j) for i, j in possible if SURE[i]}
    # Read from the end, cat is right instead of milk: another link, as little deserved.
    assert mirrored & possible == {(1, 3)}
    assert alignment_error_rate(mirrored, sure, possible) == explorer.error_rate
    assert argmax_hits(explorer.weights, POSSIBLE) == 0.25  # the package shares a tie


# --- what it says -------------------------------------------------------------------------------


def report_of(**state):
    markup = still_of(LinksAndWeightsExplorer(**state))
    text = markup[markup.index('<output class="report">') : markup.index("</output>")]
    return re.sub("<[^>]*>", " ", text).replace("  ", " ")


def test_the_report_judges_the_row_and_shows_the_arithmetic():
    report = report_of()
    assert "cat puts 0.70 on Katze: its link is right." in report
    assert "AER = 1 − (3 + 4)/(5 + 4) = 0.22 ." in report
    assert "Correctness 0.59 (equal weights: 0.25)." in report
    assert "tie" not in report
    assert "drinking puts 0.45 on trinkt: its link is wrong." in report_of(row=4)
    assert "Right links: 4 of 5." in report_of(row=0)


def test_the_report_says_that_a_tie_has_no_link_of_its_own():
    report = report_of(**UNIFORM, row=5)
    assert "milk puts 0.25 on Milch, and as much on another word." in report
    assert "A tie: the first of the equal weights becomes the link" in report


def test_a_tie_between_wrong_words_is_wrong_and_no_tie():
    report = report_of(right=[1.0, 0.1, 1.0, 1.0, 1.0], gathered=[False] * 5, row=2)
    assert "cat puts 0.10 on Katze: its link is wrong." in report
    assert "A tie" not in report


def picture_of(**state):
    markup = still_of(LinksAndWeightsExplorer(**state))
    return markup[markup.index("<svg") : markup.index("</svg>")]


def test_the_picture_outlines_the_gold_links_and_dashes_the_possible_one():
    outlines = re.findall(r'<rect class="correct"[^>]*>', picture_of())
    assert ["stroke-dasharray" in outline for outline in outlines] == [not sure for sure in SURE]


def test_a_link_has_a_full_dot_and_a_tie_a_hollow_one():
    assert re.findall(r'<circle class="(\w+)"', picture_of()) == ["prediction"] * 5
    assert re.findall(r'<circle class="(\w+)"', picture_of(**UNIFORM)) == ["unjudged"] * 5


# --- what goes in -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("right", [0.5] * 4),
        ("right", [0.5] * 4 + [1.01]),
        ("right", [0.5] * 4 + [-0.01]),
        ("right", [0.5] * 4 + [float("nan")]),
        ("gathered", [True] * 4),
        ("row", 6),
        ("row", -1),
    ],
)
def test_what_it_cannot_show_is_refused(trait, value):
    with pytest.raises(traitlets.TraitError):
        setattr(LinksAndWeightsExplorer(), trait, value)
    with pytest.raises(traitlets.TraitError):
        LinksAndWeightsExplorer(**{trait: value})
