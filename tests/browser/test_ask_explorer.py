"""The explorer that asks six words, in a real browser: its numbers are those of `attend`."""

from math import log

import numpy as np
import pytest

from attn_course.attention import attend
from attn_course.figures.explorers import AskExplorer
from attn_course.running_example import features
from attn_course.scoring import dot
from tests.browser import explorer_checks as checks
from tests.browser.explorer_checks import differences, shown


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return checks.alone(AskExplorer(), tmp_path_factory.mktemp("bare page"))


def expected(query):
    """Return the numbers for a query."""
    words = features()
    asked = log(2) * np.array([query])
    context, weights = attend(asked, words, words, score=dot)
    return {
        "query": list(query),
        "score": dot(asked, words)[0].tolist(),
        "weight": weights[0].tolist(),
        "context": context[0].tolist(),
    }


def test_the_comparison_sees_a_small_error_in_every_number():
    assert checks.unseen_errors(expected([1.0, -0.5, 2.0])) == []


def test_the_comparison_sees_a_wrong_module(visit, bare, tmp_path):
    change = ("Math.LN2", "1.00001 * Math.LN2")
    wrong = checks.alone(AskExplorer(), tmp_path, change=change)
    found = differences(shown(wrong.live(visit(wrong))), expected(bare.values["query"]))
    assert set(found) == {"score", "weight", "context"}


def test_it_starts_with_the_packages_numbers(live, bare):
    assert differences(shown(live), expected(bare.values["query"])) == []


@pytest.mark.parametrize(("j", "name"), [*enumerate(["things?", "actions?", "qualities?"])])
def test_arrow_keys_move_each_number_of_the_query(visit, bare, j, name):
    live = bare.live(visit(bare))
    control = live.get_by_role("slider", name=name)
    control.focus()
    for _ in range(3):
        control.press("ArrowRight")
    wanted = list(bare.values["query"])
    wanted[j] += 1.5
    assert differences(shown(live), expected(wanted)) == []


def test_without_javascript_the_figure_is_there_with_its_numbers(browser, bare):
    with checks.without_javascript(browser, bare) as still:
        assert still.get_by_role("img").is_visible()
        assert differences(shown(still), expected(bare.values["query"])) == []
