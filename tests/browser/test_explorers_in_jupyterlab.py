"""Explorers of chapters 2 to 4 in a live JupyterLab: figure and Python move each other."""

import json
import math

import pytest

from attn_course.figures.explorers import (
    MultiDimensionalExplorer,
    ScoresExplorer,
    SoftmaxExplorer,
)
from tests.browser import jupyter_server
from tests.browser.explorer_checks import shown
from tests.browser.page_checks import DESKTOP

CELLS = """
import json
from attn_course.figures import explorers
scores = explorers.ScoresExplorer(query=(2.0, 1.0))
scores
---
softmax = explorers.SoftmaxExplorer()
softmax
---
multi = explorers.MultiDimensionalExplorer()
multi
---
scores.d_k, scores.similarity = 50, "euclidean"
softmax.mask = [True, False, True, True, True, False]
multi.spread, multi.query = 0.25, "cat"
---
print(json.dumps([scores.query, softmax.scores, multi.normalise, softmax.mask]))
"""


def agree(numbers, expected):
    return len(numbers) == len(expected) and all(
        math.isclose(n, e, rel_tol=1e-12) for n, e in zip(numbers, expected, strict=True)
    )


def test_in_jupyterlab_the_figures_and_python_move_each_other(browser, lab):
    context = browser.new_context(viewport=DESKTOP)
    page = context.new_page()
    lab.open(page, "explorer.ipynb")
    figures = [jupyter_server.run(page, number).locator(".attn-explorer") for number in range(3)]
    scores, softmax, multi = figures
    for figure in figures:
        figure.wait_for()
        assert figure.count() == 1
    assert agree(shown(scores)["additive"], [ScoresExplorer().scores["additive"]])
    assert agree(shown(softmax)["weight"], SoftmaxExplorer().weights)
    assert agree(shown(multi)["context"], MultiDimensionalExplorer().context)

    jupyter_server.run(page, 3)  # Python moves the figures
    far = ScoresExplorer(d_k=50, similarity="euclidean")
    hidden = SoftmaxExplorer(mask=[True, False, True, True, True, False])
    cat = MultiDimensionalExplorer(spread=0.25, query="cat")
    jupyter_server.wait_for(
        page,
        lambda: (
            agree(shown(scores)["similarity"], [far.scores["similarity"]])
            and agree(shown(softmax)["weight"], hidden.weights)
            and agree(shown(multi)["context"], cat.context)
        ),
    )

    scores.get_by_role("slider", name="q2").press("ArrowRight")
    softmax.get_by_role("slider", name="cat").press("ArrowLeft")  # the figures move Python
    multi.get_by_label("add up to 1").select_option("features")
    mask = [True, False, True, True, True, False]
    moved = [shown(scores)["query"], shown(softmax)["score"], "features", mask]
    assert moved[0] == pytest.approx([2.0, 1.1])
    assert moved[1][2] == pytest.approx(2.4)

    def python_knows():  # not at once: the widget sends what is newest when the kernel has time
        output = jupyter_server.run(page, 4).locator(".jp-OutputArea-output").inner_text()
        return json.loads(output) == moved

    jupyter_server.wait_for(page, python_knows)

    for figure in figures:  # and both go back to where the figure was when it was first shown
        figure.get_by_role("button", name="Start again").press("Enter")
    moved = [[2.0, 1.0], SoftmaxExplorer().scores, "positions", [True] * 6]
    assert shown(softmax)["score"] == moved[1]
    jupyter_server.wait_for(page, python_knows)
    context.close()
