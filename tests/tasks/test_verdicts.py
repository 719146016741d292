"""What scores over seeds allow to say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course.tasks.verdicts import differ_in_solved, is_mixed, number_solved, told, verdict

HIGH = [0.97, 0.98, 0.99, 0.97, 0.98]
OPPOSITE = {"wins": "loses", "more reliable": "less reliable"}
OPPOSITE |= {loses: wins for wins, loses in OPPOSITE.items()}
five = st.lists(st.floats(0, 1), min_size=5, max_size=5)


@pytest.mark.parametrize(
    ("mechanism", "ablation", "said"),
    [
        (HIGH, [0.2, 0.3, 0.1, 0.2, 0.96], "wins"),  # every seed above every seed
        (HIGH, [0.2, 0.3, 0.1, 0.2, 0.97], "more reliable"),  # one touches: 5 of 5, 1 of 5
        (HIGH, [0.2, 0.3, 0.1, 0.97, 0.98], "not decided"),  # 5 of 5 against 2 of 5: p = 0.17
        ([0.2, 0.3, 0.1, 0.2, 0.97], HIGH, "less reliable"),
        (HIGH, [0.96, 0.97, 0.98, 0.97, 0.98], "ties"),
        ([0.5, 0.6, 0.7, 0.5, 0.6], [0.55, 0.65, 0.75, 0.65, 0.6], "not decided"),
        ([0.995] * 5, [0.991] * 5, "wins"),  # small, but never the other way round
        ([1.0] * 5, [1.0] * 5, "ties"),
        (HIGH[:4], [0.1] * 4, "too few seeds"),
        (HIGH, [0.1, 0.1, 0.1, 0.1, float("nan")], "not decided"),
    ],
)
def test_a_verdict_says_no_more_than_the_seeds_allow(mechanism, ablation, said):
    assert verdict(mechanism, ablation, solved_at=0.9) == said


@given(mechanism=five, ablation=five)
def test_a_verdict_is_symmetric(mechanism, ablation):
    said = verdict(mechanism, ablation, 0.9)
    opposite = OPPOSITE.get(said, said)
    assert verdict(ablation, mechanism, 0.9) == opposite
    errors = [[1 - score for score in scores] for scores in (mechanism, ablation)]
    assert verdict(*errors, 1 - 0.9, higher_is_better=False) == said or any(
        abs(score - 0.9) < 1e-6 for score in (*mechanism, *ablation)
    )


def test_solved_is_a_line_that_a_score_reaches_from_its_good_side():
    assert number_solved([0.89, 0.9, 0.91], 0.9) == 2
    assert number_solved([0.09, 0.1, 0.11], 0.1, higher_is_better=False) == 2


def test_fisher_tells_apart_what_chance_would_not_do():
    assert differ_in_solved(5, 5, 1, 5)
    assert not differ_in_solved(5, 5, 2, 5)
    assert differ_in_solved(20, 20, 14, 20)
    assert not differ_in_solved(7, 7, 4, 7)


def test_seeds_on_both_sides_of_the_line_have_no_mean():
    assert told(HIGH, 0.9) == "0.978 ± 0.008"
    assert told([0.2, 0.98, 0.97, 0.99, 0.3], 0.9) == "solved by 3 of 5 seeds"
    assert told([0.05, 0.2], 0.1, higher_is_better=False) == "solved by 1 of 2 seeds"
    assert told([0.9], 0.9) == "0.900 ± –"
    assert is_mixed([0.2, 0.98], 0.9)
    assert not is_mixed([0.2, 0.3], 0.9)
