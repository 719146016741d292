"""The corruptions explorer in a real browser: its numbers are those of `evaluation`."""

import pytest

from attn_course.figures.explorers import CorruptionsExplorer
from attn_course.figures.explorers.corruptions import CORRUPTIONS, METRICS, REFERENCE, scores_of
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import Place, differences, setting, shown


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(CorruptionsExplorer(), tmp_path_factory.mktemp("bare page"))


def expected(corruption="swap", position=5):
    """Return the numbers for a state, computed by the package."""
    explorer = CorruptionsExplorer(corruption, position)
    sound = scores_of(list(REFERENCE))
    return {
        **{name: [score] for name, score in explorer.scores.items()},
        "sound": [sound[name] for name in METRICS],
        "change": [explorer.changes[name] for name in METRICS],
    }


def word(explorer):
    return explorer.get_by_role("slider", name="Word")


def choose(explorer, corruption):
    explorer.get_by_label("Corruption").select_option(corruption)


def test_the_comparison_sees_a_small_error_in_every_number():
    assert checks.unseen_errors(expected("drop", 5)) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("Math.exp(addUp(logs) / 4)", "Math.exp(addUp(logs) / 4.00005)"), {"bleu", "change"}),
        (("(1 - 0.5 * (pieces / m)", "(1 - 0.500005 * (pieces / m)"), {"meteor", "sound"}),
        (("wer: 1 - edits(", "wer: 1.00001 - edits("), {"wer", "sound"}),
        (("row[j] + (word === other ? 0 : 1)", "row[j] + (word === other ? 0 : 2)"), {"wer"}),
        (("per: 1 - (longer", "per: 1.00001 - (longer"), {"per", "sound"}),
    ],
)
def test_the_comparison_sees_a_wrong_module(visit, tmp_path, change, names):
    # In the page the module is JSON, in which this code has no sign that is written differently.
    wrong = checks.alone(CorruptionsExplorer("different", 5), tmp_path, change=change)
    found = differences(shown(wrong.live(visit(wrong))), expected("different", 5))
    assert names <= set(found)


def test_it_starts_with_the_packages_numbers(live):
    assert differences(shown(live), expected()) == []


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_every_corruption_of_every_word_agrees_with_the_package(visit, bare, corruption):
    live = bare.live(visit(bare))
    choose(live, corruption)
    word(live).press("Home")
    last = 8 - (corruption in ("swap", "truncate"))
    for position in range(1, last + 1):
        assert word(live).input_value() == str(position)
        assert differences(shown(live), expected(corruption, position)) == []
        word(live).press("ArrowRight")
    assert word(live).input_value() == str(last)


def test_the_last_word_is_left_when_it_has_no_next_one(visit, bare):
    live = bare.live(visit(bare))
    choose(live, "drop")
    word(live).press("End")
    assert word(live).input_value() == "8"
    choose(live, "swap")
    assert word(live).input_value() == "7"
    assert differences(shown(live), expected("swap", 7)) == []


def test_the_question_can_be_answered_with_the_figure(live):
    choose(live, "drop")
    assert word(live).get_attribute("aria-valuetext") == "5: not"
    assert "“not” is missing." in live.get_by_role("status").inner_text()
    without_not = shown(live)
    word(live).press("ArrowLeft")
    assert "“does” is missing." in live.get_by_role("status").inner_text()
    assert differences(shown(live), without_not) == []


def test_a_blind_metric_is_marked_in_the_picture_and_named_in_the_report(live):
    picture = live.get_by_role("img")
    assert picture.get_by_text("1.000 blind").count() == 1
    assert "Blind to it: 1 − PER." in live.get_by_role("status").inner_text()
    choose(live, "drop")
    assert picture.get_by_text("blind").count() == 0
    assert "Every metric reacts." in live.get_by_role("status").inner_text()


def test_the_bars_are_as_long_as_the_scores(live):
    choose(live, "truncate")
    widths = [
        [float(width) for width in live.locator(mark).evaluate_all(WIDTHS)]
        for mark in (".bar.score:not(.sign)", ".hollow:not(.sign)")
    ]
    numbers = shown(live)
    whole = widths[1][0]  # BLEU of the reference is 1
    scores = [numbers[name][0] for name in METRICS]
    assert [width / whole for width in widths[0]] == pytest.approx(scores, abs=1e-6)
    assert [width / whole for width in widths[1]] == pytest.approx(numbers["sound"], abs=1e-6)


WIDTHS = "all => all.map(one => one.getAttribute('width'))"


# --- links --------------------------------------------------------------------------------------


def at(place, query):
    return Place(place.name, f"{place.address}#{place.name}?{query}", place.values)


@pytest.mark.parametrize(
    ("query", "state"),
    [
        ("corruption=drop", ("drop", 5)),
        ("corruption=drop&position=8", ("drop", 8)),
        ("position=1", ("swap", 1)),
    ],
)
def test_an_address_sets_the_figure(visit, bare, query, state):
    live = bare.live(visit(at(bare, query)))
    assert differences(shown(live), expected(*state)) == []
    assert word(live).input_value() == str(state[1])


@pytest.mark.parametrize(
    "query", ["position=8", "position=0", "position=2.5", "corruption=translate", "reference=a"]
)
def test_a_link_that_no_hand_could_follow_sets_nothing(visit, bare, query):
    started = setting(bare.live(visit(bare)))
    assert setting(bare.live(visit(at(bare, query)))) == started


def test_without_javascript_the_figure_stands_with_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(shown(still), expected()) == []
