"""What is special to the exercises of page 07a; what holds for all is in `tests/course`."""

import re
from functools import cache, partial
from itertools import combinations, product
from math import log

import numpy as np
import pytest

from attn_course.general_attention.models import MODELS
from attn_course.practice.exercises import chapters, compiled
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

chapter = chapters()["07a"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)

# The examples that the tasks work out by hand, with the numbers printed there.


@pytest.mark.parametrize(
    ("align", "wanted", "context"),
    [
        ("softmax", [1 / 7, 3 / 7, 3 / 7], 9.0),
        ("hard", [0, 1, 0], 7.0),
        ("local", [1 / 4, 3 / 4, 0], 5.25),
    ],
)
def test_the_example_of_the_three_alignments_is_right(align, wanted, context):
    query, keys = np.zeros((1, 4)), np.zeros((3, 4))
    query[0, 0], keys[1:, 0] = log(9), 1.0
    values, nothing = np.array([[0.0], [7.0], [14.0]]), np.zeros((4, 4))
    contexts, weights = reference("build_from_words")(
        query, keys, values, np.ones(3, dtype=bool), "scaled_dot", align,
        nothing, nothing, nothing, np.zeros(4),
    )  # fmt: skip
    np.testing.assert_allclose(weights, [wanted])
    np.testing.assert_allclose(contexts, [[context]])


LOOKALIKES = ("additive", "graph", "mean", "column", "decode")


def zero_and_hundred():
    one = np.ones((1, 1))
    queries, keys = np.array([[0.0], [100.0]]), np.array([[0.0], [100.0], [100.0]])
    values, edges = np.array([[0.0], [7.0], [14.0]]), np.ones((2, 3), dtype=bool)
    return queries, keys, values, edges, one, one, np.array([log(3)])


def printed_row(title):
    """Return the contexts of the five mechanisms in a row of the task's table."""
    row = re.search(rf"^\| {title} \|(.*)\|$", cell("not_attention-task"), re.MULTILINE)[1]
    return [[[float(number)] for number in entry.split(",")] for entry in row.split("|")]


def test_the_example_of_the_lookalikes_is_right():
    for name, printed in zip(LOOKALIKES, printed_row("after the fix"), strict=True):
        found = reference("not_attention")(name, *zero_and_hundred())
        np.testing.assert_allclose(found, printed, atol=1e-12)


# The stub that learners get to correct.


@cache
def cell(name):
    """Return the text of a cell of the notebook that learners get."""
    cells = compiled(chapter.stem)["notebook"]["cells"]
    return "".join(next(one for one in cells if one["id"] == name)["source"])


def function_of(text):
    names = {}
    first = cell("cell-02").split("# The table shows")[0]
    exec(first.replace("from attn_course import practice", "") + text, names)
    return names["not_attention"]


@pytest.fixture(scope="module")
def stub():
    return function_of(cell("not_attention-answer"))


def test_the_example_says_what_the_stub_returns(stub):
    for name, printed in zip(LOOKALIKES, printed_row("as you find it"), strict=True):
        np.testing.assert_allclose(stub(name, *zero_and_hundred()), printed, atol=1e-12)


@pytest.mark.parametrize("mistake", ["decode_sees_everything", "mean_of_the_contexts"])
def test_the_example_refutes_what_is_right_for_a_single_query(mistake):
    exercise = chapter.exercises["not_attention"]
    name = mistake.split("_")[0]
    known = next(one for one in exercise.mistakes if one.name == mistake)
    right = reference("not_attention")(name, *zero_and_hundred())
    assert not np.allclose(known.answer(name, *zero_and_hundred()), right)


@pytest.mark.parametrize("name", LOOKALIKES)
@pytest.mark.parametrize("seed", SEEDS)
def test_another_query_changes_the_right_context_and_not_that_of_the_stub(name, seed, stub):
    """The test that the task recommends finds all five bugs."""
    case = next(c for c in drawn("not_attention", seed) if c.args[0] == name and len(c.args[2]) > 2)
    _name, queries, *rest = case.args
    rest[2] = rest[2][:1]  # the edges of the first query
    others = [factor * queries[:1] for factor in (1.0, -1.0, 9.0, -9.0, 0.2)]
    found = np.array([stub(name, query, *rest) for query in others])
    np.testing.assert_allclose(found, found[:1].repeat(5, axis=0), atol=1e-9)
    wanted = np.array([reference("not_attention")(name, query, *rest) for query in others])
    assert np.ptp(wanted, axis=0).max() > 1e-3


# From each line as handed out to the line of the solution.
FIXES = {
    "additive_still_without_tanh": ("softmax(hidden @ w)", "softmax(np.tanh(hidden) @ w)"),
    "graph_still_without_leaky_relu": ("softmax(hidden @ w, ", "softmax(leaky_relu(hidden) @ w, "),
    "mean_still_of_everything": (
        "queries, keys, values = (x.mean(axis=0, keepdims=True) for x in (queries, keys, values))",
        "queries = queries.mean(axis=0, keepdims=True)",
    ),
    "column_still_over_one_element": ("softmax(column)[:, :, 0]", "softmax(column[:, :, 0])"),
    "decode_still_counts_from_the_first_key": ("dtype=bool))", "dtype=bool), k - q)"),
}
UNFIXED = [left for size in range(1, 6) for left in combinations(FIXES, size)]


@pytest.mark.parametrize("left", UNFIXED, ids="+".join)
def test_whoever_fixes_some_lines_is_told_of_one_that_is_left(left):
    """Lines are fixed one after the other, in any order, with a check in between.

    An entry for the whole stub would be named in place of a line: it explains every failing case.
    """
    text = cell("not_attention-answer")
    for name, (bug, fix) in FIXES.items():
        assert text.count(bug) == 1
        if name not in left:
            text = text.replace(bug, fix)
    exercise = chapter.exercises["not_attention"]
    result = exercise.check(exercise.local(function_of(text)), seed=0)
    assert result.verdict is Verdict.FAILED
    assert result.mistake.name in left
    assert result.points == 5 - len(left)


# The models are those of the package's table, and the task's own words are about them.


def test_the_names_are_those_of_the_table_of_models():
    names = set(re.findall(r'= "([^"]+)"', cell("name_models-answer")))
    survey = {model.name for model in MODELS}
    split = {"Xu 2015 (soft)", "Xu 2015 (hard)"}  # one row of the table, two of the task
    assert names == survey - {"Xu 2015"} | split | {"Yu 2019 (MCAN)"}
    assert set(reference("name_models")) < names
    assert names - set(reference("name_models")) == {"Kiela 2018", "Wallaart & Frasincar 2019"}


WORDS = {"scaled dot": "scaled_dot", "one key": "hard"}


def test_the_rows_say_of_each_model_what_the_table_of_models_says():
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|", cell("name_models-task"), re.MULTILINE)
    assert [int(number) for number, *_rest in rows] == list(range(1, 11))
    known = {model.name: model for model in MODELS}
    for (_number, score, align), name in zip(rows, reference("name_models"), strict=True):
        model = known.get(re.sub(r" \((soft|hard)\)", "", name))
        if model is None:
            assert name == "Yu 2019 (MCAN)"
            continue
        score, align = score.split(",")[0].strip(), align.split(",")[0].strip()
        assert WORDS.get(score, score) in model.score
        assert WORDS.get(align, align) in model.align


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_all_twelve_combinations_are_checked_with_padding(seed):
    scores = ("dot", "scaled_dot", "general", "additive")
    wanted = set(product(scores, ("softmax", "hard", "local")))
    _scores, _alignments, padded, batches = groups_of("build_from_words", seed)
    assert {case.args[4:6] for case in padded} == wanted
    assert {case.args[4:6] for case in batches} == wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_no_hard_choice_depends_on_rounding(seed):
    """The best score is far above the next, or exactly equal to it, in single precision too."""
    right = reference("build_from_words")
    for case in drawn("build_from_words", seed):
        if case.args[5] == "hard":
            single = [
                a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype == float else a
                for a in case.args
            ]
            np.testing.assert_array_equal(right(*case.args)[1], right(*single)[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_highest_score_often_belongs_to_padding(seed):
    """Otherwise a search for the best key needs no mask."""
    cases = [c.args for c in groups_of("build_from_words", seed)[2] if c.args[5] == "hard"]
    finite = [args for args in cases if np.isfinite(args[1]).all()]
    assert len(finite) == 4
    for queries, keys, values, mask, *rest in finite:
        right = reference("build_from_words")(queries, keys, values, mask, *rest)[1]
        wrong = reference("build_from_words")(queries, keys, values, mask | True, *rest)[1]
        assert (right != wrong).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_some_best_key_has_an_equal_further_right(seed):
    ties = 0
    for case in groups_of("build_from_words", seed)[1]:
        queries, keys, _values, _mask, score, align, *_parameters = case.args
        if align == "hard" and "dot" in score:
            scores = queries @ keys.T
            if (scores == scores.max(axis=-1, keepdims=True)).sum() > len(queries):
                ties += 1
                assert_no_formula_rounds(queries, keys, score)
    assert ties == 2


def assert_no_formula_rounds(queries, keys, score):
    """Queries, keys or scores may be divided: halves are exact, and so are their products."""
    scale = np.sqrt(keys.shape[-1]) if score == "scaled_dot" else 1.0
    for array in (queries, keys, queries / scale, keys / scale, queries @ keys.T / scale):
        np.testing.assert_array_equal(2 * array % 1, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_width_of_a_key_is_never_1_and_the_first_scores_have_square_matrices(seed):
    """A width of 1 hides the scale; a square matrix runs when it is transposed."""
    for case in drawn("build_from_words", seed):
        assert case.args[1].shape[-1] > 1
    squares = [case.args[6].shape for case in groups_of("build_from_words", seed)[0]][:4]
    assert squares == [(2, 2)] * 4


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_of_lookalikes_sees_the_bug_that_it_is_about(seed, stub):
    """A score far above the others hides some bugs, so a single case may miss one."""
    right = reference("not_attention")
    for group in groups_of("not_attention", seed):
        seen = [not np.allclose(stub(*c.args), right(*c.args), atol=1e-2) for c in group]
        assert sum(seen) >= 2


@pytest.mark.parametrize("known", chapter.exercises["not_attention"].mistakes, ids=lambda m: m.name)
def test_the_example_that_is_shown_has_a_key_for_every_query(known):
    exercise = chapter.exercises["not_attention"]
    result = exercise.check(exercise.local(known.answer), seed=0, closer=True)
    assert len(result.failure.arguments["queries"]) <= len(result.failure.arguments["keys"])


def test_more_queries_than_positions_are_refused():
    queries, *rest = zero_and_hundred()
    with pytest.raises(ValueError, match="4 queries can't be the last of 3 positions"):
        reference("not_attention")("decode", np.repeat(queries, 2, axis=0), *rest)
