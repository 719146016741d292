"""Small changes of a program: one at a time, taken back, in words that name the place."""

import ast

import pytest

from attn_course.practice.small_changes import small_changes


def changed_to(source, wanted):
    """Return the words for the change that turns a program into `wanted`, or None."""
    wanted = ast.unparse(ast.parse(wanted))
    tree = ast.parse(source)
    for change in small_changes(source, tree):
        if ast.unparse(ast.fix_missing_locations(tree)) == wanted:
            return change.sentence
    return None


def function(*lines):
    return "def f(x, y, n):\n" + "\n".join(f"    {line}" for line in lines)


@pytest.mark.parametrize(
    ("wrong", "right", "words"),
    [
        ("return x - y", "return x + y", "another operator in `x - y`"),
        ("return (x < n) ^ (y < n)", "return (x < n) | (y < n)", "another operator in"),
        ("return x.sum(axis=0)", "return x.sum(axis=1)", "another axis than `0`"),
        ("return x.sum(axis=-2)", "return x.sum(axis=-3)", "another axis than `-2`"),
        ("return x.sum()", "return x.sum(axis=-1, keepdims=True)", "another axis, or another"),
        ("return np.tile(x, n)", "return np.repeat(x, n)", "another function than `tile`"),
        ("return x / y.shape[0]", "return x / x.shape[0]", "another variable than `y`"),
        ("return x[:n]", "return x[:n - 1]", "one more or one less than `n`"),
        ("return np.zeros(len(x))", "return np.zeros(x.shape[-2])", "length of another axis"),
        ("return x * y + n", "return x * (y + n)", "brackets belong elsewhere"),
        ("return g(x @ y)", "return g(x) @ g(y)", "`g` belongs elsewhere in `g(x @ y)`"),
        ("return g(x) @ g(y)", "return g(x @ y)", "`g` belongs elsewhere in"),
        ("return x @ y", "return x @ y.swapaxes(-1, -2)", "it needs `y` transposed"),
        ("return x * y", "return x * y[..., None]", "a new axis at `y`"),
        (
            "return np.maximum(x, -10000.0)",
            "return np.maximum(x, -1e284)",
            "number than `-10000.0`",
        ),
        ("return np.exp(x)", "return np.exp(x) * y", "a step with `y` is missing at `np.exp(x)`"),
    ],
)
def test_one_expression_is_changed(wrong, right, words):
    said = changed_to(function(wrong), function(right))
    assert said is not None
    assert words in said
    assert f"Look at the line `{wrong}`" in said


LOOP = ("out = []", "for i in x:", "    y = y / n", "    y += i", "    out.append(y)", "return out")
OUTSIDE = (LOOP[0], "y = y / n", LOOP[1], *LOOP[3:])


@pytest.mark.parametrize(
    ("right", "words"),
    [
        (
            (
                "out = []",
                "y = y / n",
                "for i in x:",
                "    y += i",
                "    out.append(y)",
                "return out",
            ),
            "Look at the line `y = y / n`: it belongs outside the block",
        ),
        (
            (*LOOP[:4], "    out.append(y.copy())", LOOP[5]),
            "Look at the line `out.append(y)`: `y` is changed later, so it needs a copy here",
        ),
        ((*LOOP[:3], "    y = y + i", *LOOP[4:]), "another way to update its variable"),
        ((*LOOP[:2], LOOP[3], LOOP[2], *LOOP[4:]), "it belongs earlier or later"),
        (
            (*LOOP[:5], "    n = y", LOOP[5]),
            "Look at the line `for i in x:`: at its end `n` has to get its new value",
        ),
    ],
)
def test_a_line_is_moved_left_out_or_added(right, words):
    said = changed_to(function(*LOOP), function(*right))
    assert said is not None
    assert words in said


def test_the_same_code_is_changed_everywhere_at_once():
    wrong = function("a = np.repeat(x, n, axis=-2)", "b = np.repeat(y, n, axis=-2)", "return a @ b")
    said = changed_to(wrong, wrong.replace("-2", "-3"))
    assert said is not None
    assert "another axis than `-2`, here and wherever else you wrote that" in said


def test_the_tree_is_as_it_was_after_every_change():
    source = function(*LOOP)
    tree = ast.parse(source)
    count = sum(1 for _change in small_changes(source, tree))
    assert ast.dump(tree) == ast.dump(ast.parse(source))
    assert count > 200
