"""The explorer of rankings in Python (in a browser: tests/browser)."""

from itertools import product

import numpy as np
import pytest
import traitlets

from attn_course.definitions import graphs as definition
from attn_course.definitions.alignment import softmax
from attn_course.figures.explorers import RankingExplorer
from attn_course.figures.explorers.ranking import LAYERS, NUMBERS
from tests.stills import exactly, numbers_in, still_of

STATES = [
    {},
    {"node": 3, "a_1": 1.0, "a_2": 0.5},
    {"node": 0, "a_1": -3.0, "a_2": 3.0},
    {"node": 2, "a_1": 1.75, "a_2": 0.0},
    {"node": 2, "a_1": 0.0, "a_2": 0.0},
    {"node": 1, "a_1": 0.5, "a_2": 2.5},
]


def by_loops(explorer):
    """Return the weights of both layers, from the definitions."""
    a = [explorer.a_1, explorer.a_2]
    scores = {
        "GAT": [[definition.gat_score([q], [k], [[1.0]], a) for k in NUMBERS] for q in NUMBERS],
        "GATv2": [
            [definition.gatv2_score([q], [k], [[1.0, -1.0], [-1.0, 1.0]], a) for k in NUMBERS]
            for q in NUMBERS
        ],
    }
    return {name: np.array([softmax(row) for row in rows]) for name, rows in scores.items()}


@pytest.mark.parametrize("state", STATES, ids=str)
def test_its_weights_are_those_of_the_loops(state):
    explorer = RankingExplorer(**state)
    wanted = by_loops(explorer)
    for name in LAYERS:
        np.testing.assert_allclose(explorer.weights[name], wanted[name], rtol=1e-12)


@pytest.mark.parametrize("state", STATES, ids=str)
def test_the_still_figure_shows_the_packages_numbers(state):
    explorer = RankingExplorer(**state)
    numbers = numbers_in(still_of(explorer))
    for name in LAYERS:
        ranking = explorer.rankings[name][explorer.node]
        favourites = [one for one in explorer.favourites[name] if one is not None]
        assert numbers[f"{name}_weight"] == exactly(explorer.weights[name][explorer.node].tolist())
        assert numbers[f"{name}_rank"] == [ranking.index(key) + 1 for key in range(len(NUMBERS))]
        assert numbers.get(f"{name}_favourite", []) == favourites
        assert numbers[f"{name}_served"] == [explorer.served[name]]
        assert numbers[f"{name}_rankings"] == [len(set(map(tuple, explorer.rankings[name])))]


def test_gat_has_one_ranking_and_serves_one_node_at_most_wherever_the_sliders_are():
    found = set()
    for a_1, a_2 in product(np.arange(-3, 3.5, 0.5), repeat=2):
        explorer = RankingExplorer(a_1=a_1, a_2=a_2)
        assert len(set(map(tuple, explorer.rankings["GAT"]))) == 1
        found.add(explorer.served["GAT"])
    assert found == {0, 1}  # none where a_2 is 0, because all are equally good


def test_the_answer_to_its_question_is_true():
    explorer = RankingExplorer(a_1=-2.0, a_2=-2.0)
    assert explorer.served == {"GAT": 1, "GATv2": 4}
    distances = np.abs(np.subtract.outer(NUMBERS, NUMBERS))
    logarithms = np.log(explorer.weights["GATv2"])
    differences = logarithms - logarithms.max(axis=-1, keepdims=True)
    np.testing.assert_allclose(differences, -1.6 * distances)


def test_where_neighbours_are_equally_good_there_is_no_favourite():
    explorer = RankingExplorer(a_1=1.0, a_2=0.0)
    assert explorer.favourites["GAT"] == [None] * 4
    assert "none" in still_of(explorer)


@pytest.mark.parametrize(
    ("trait", "value"),
    [("node", -1), ("node", 4), ("a_1", 3.5), ("a_2", -3.25), ("a_1", np.nan), ("a_2", np.inf)],
)
def test_what_it_cannot_show_is_refused(trait, value):
    with pytest.raises(traitlets.TraitError):
        setattr(RankingExplorer(), trait, value)
