"""The explorer of rankings in a real browser: its numbers are those of the package."""

import pytest

from attn_course.figures.explorers import RankingExplorer
from attn_course.figures.explorers.ranking import LAYERS, NUMBERS
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import differences, shown

SLIDERS = {"node": "Node that asks", "a_1": "first", "a_2": "second"}


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(RankingExplorer(), tmp_path_factory.mktemp("bare page"))


def expected(**moved):
    """Return the numbers for a state, computed in Python."""
    explorer = RankingExplorer(**moved)
    numbers = {}
    for name in LAYERS:
        ranking = explorer.rankings[name][explorer.node]
        numbers |= {
            f"{name}_weight": explorer.weights[name][explorer.node].tolist(),
            f"{name}_rank": [ranking.index(key) + 1 for key in range(len(NUMBERS))],
            f"{name}_rankings": [len(set(map(tuple, explorer.rankings[name])))],
            f"{name}_served": [explorer.served[name]],
        }
        favourites = [one for one in explorer.favourites[name] if one is not None]
        if favourites:
            numbers[f"{name}_favourite"] = favourites
    return numbers


def slider(live, trait):
    return live.get_by_role("slider", name=SLIDERS[trait])


# --- numbers: the page's against the package's --------------------------------------------------


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("leaky(a_1 * query", "leaky(1.00001 * a_1 * query"), {"GAT_weight"}),
        (("a_2 * leaky(key", "1.00001 * a_2 * leaky(key"), {"GATv2_weight"}),
        (("0.2 * x", "0.200002 * x"), {"GAT_weight", "GATv2_weight"}),
    ],
)
def test_the_comparison_sees_a_wrong_module(visit, tmp_path, change, names):
    moved = {"a_1": 1.0, "a_2": -2.0}  # where the sum of GAT has both signs
    wrong = checks.alone(RankingExplorer(**moved), tmp_path, change=change)
    found = differences(shown(wrong.live(visit(wrong))), expected(**moved))
    assert names <= set(found)


def test_it_starts_with_the_packages_numbers(live):
    assert differences(shown(live), expected()) == []


# --- moving it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("node", range(len(NUMBERS)))
def test_every_node_and_many_numbers_agree_with_the_package(visit, bare, node):
    live = bare.live(visit(bare))
    slider(live, "node").press("Home")
    for _ in range(node):
        slider(live, "node").press("ArrowRight")
    slider(live, "a_1").press("Home")
    slider(live, "a_2").press("End")
    a_1, a_2 = -3.0, 3.0
    for _ in range(6):
        assert differences(shown(live), expected(node=node, a_1=a_1, a_2=a_2)) == []
        for _ in range(3):
            slider(live, "a_1").press("ArrowRight")
        for _ in range(4):
            slider(live, "a_2").press("ArrowLeft")
        a_1, a_2 = a_1 + 0.75, a_2 - 1.0


def test_the_dotted_lines_of_gat_all_end_at_one_node(live):
    lines = live.locator("path.gaze").evaluate_all("all => all.map(one => one.getAttribute('d'))")
    ends = [line.split("L")[1] for line in lines]
    assert len(ends) == 2 * len(NUMBERS)
    assert len(set(ends[: len(NUMBERS)])) == 1
    assert len(set(ends[len(NUMBERS) :])) == len(NUMBERS)


def test_where_all_are_equally_good_no_dotted_line_is_drawn(live):
    for _ in range(8):
        slider(live, "a_2").press("ArrowRight")
    for _ in range(8):
        slider(live, "a_1").press("ArrowRight")
    assert live.locator("path.gaze").count() == 0
    assert differences(shown(live), expected(a_1=0.0, a_2=0.0)) == []


def test_the_report_counts_rankings_and_nodes_served(live):
    report = live.get_by_role("status").inner_text()
    assert "GAT: node 1 prefers 0; rankings: 1; served: 1 of 4." in report
    assert "GATv2: node 1 prefers 1; rankings: 4; served: 4 of 4." in report


# --- without JavaScript -------------------------------------------------------------------------


def test_without_javascript_the_figure_has_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(shown(still), expected()) == []
