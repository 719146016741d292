"""What an answer was asked to do without is found in every spelling, and nowhere else."""

import pytest

from attn_course.inside.notebook import Cell
from attn_course.inside.shortcuts import shortcuts

AVOIDED = ["torch.softmax", "torch.nn.functional", "attn_course.scoring"]


def found(*sources):
    cells = [Cell(number, "code", source) for number, source in enumerate(sources, start=1)]
    return shortcuts(cells, "f", AVOIDED)


@pytest.mark.parametrize(
    ("head", "expression", "name"),
    [
        ("import torch", "torch.softmax(x, -1)", "torch.softmax"),
        ("import torch as t", "t.softmax(x, -1)", "torch.softmax"),
        ("from torch import softmax", "softmax(x, -1)", "torch.softmax"),
        ("from torch import softmax as s", "s(x, -1)", "torch.softmax"),
        ("import torch", "torch.nn.functional.softmax(x, -1)", "torch.nn.functional.softmax"),
        ("import torch.nn.functional as F", "F.relu(x)", "torch.nn.functional.relu"),
        ("from torch.nn import functional as F", "F.relu(x)", "torch.nn.functional.relu"),
        ("from torch.nn.functional import relu", "relu(x)", "torch.nn.functional.relu"),
        ("", "x.softmax(-1)", ".softmax"),
        ("from attn_course.scoring import dot", "dot(x, x)", "attn_course.scoring.dot"),
    ],
)
def test_every_spelling_is_found(head, expression, name):
    assert found(head, f"def f(x):\n    return {expression}") == [name]


def test_an_import_inside_the_function_is_found():
    source = "def f(x):\n    import torch.nn.functional as F\n    return F.relu(x)"
    assert found(source) == ["torch.nn.functional.relu"]


def test_a_function_of_one_s_own_that_the_answer_calls_is_read_too():
    helper = "def helper(x):\n    return torch.softmax(x, -1)"
    assert found("import torch", helper, "def f(x):\n    return helper(x)") == ["torch.softmax"]


@pytest.mark.parametrize(
    "sources",
    [
        ["import torch", "def f(x):\n    return torch.exp(x)"],
        ["def softmax(x):\n    return x", "def f(x):\n    return softmax(x)"],
        ["import torch", "def g(x):\n    return torch.softmax(x, -1)", "def f(x):\n    return x"],
        ["import torch", "weights = torch.softmax(torch.ones(3), -1)", "def f(x):\n    return x"],
        ["def f(x):\n    return 'torch.softmax(x)'  # torch.softmax"],
        ["def f(x:\n    return torch.softmax(x)"],
    ],
    ids=["another function", "one's own", "another answer", "a plot", "in a text", "no Python"],
)
def test_what_the_answer_does_not_use_is_not_found(sources):
    assert found(*sources) == []
