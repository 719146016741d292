"""What is special to the exercises of page 07c; what holds for all is in `tests/course`."""

from functools import cache, partial

import numpy as np
import pytest

from attn_course.practice.exercises import chapters, compiled
from tests.practice import drawn_cases

chapter = chapters()["07c"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_norm_is_right():
    x = np.array([1.0, 1.0, 5.0, 9.0])
    gain, bias = np.array([1.0, 2.0, 4.0, 4.0]), np.array([0.0, 0.0, 1.0, -1.0])
    plain = reference("layer_norm")(x, np.ones(4), np.zeros(4), 5.0)
    np.testing.assert_allclose(plain, [-0.75, -0.75, 0.25, 1.25])
    np.testing.assert_allclose(reference("layer_norm")(x, gain, bias, 5.0), [-0.75, -1.5, 2.0, 4.0])


def test_a_vector_of_equal_entries_becomes_the_bias():
    found = reference("layer_norm")(np.full((2, 3), 0.7), np.ones(3), np.array([1.0, 2, 3]), 1e-5)
    np.testing.assert_allclose(found, [[1, 2, 3], [1, 2, 3]])


def test_the_example_of_the_network_is_right():
    x = np.array([[2.0, -1.0], [-1.0, 1.0]])
    W_1, b_1 = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([0.0, 0.0, 1.0])
    W_2, b_2 = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 10.0]]), np.array([0.0, 1.0])
    np.testing.assert_array_equal(x @ W_1.T + b_1, [[2, -1, 2], [-1, 1, 1]])
    found = reference("feed_forward")(x, W_1, b_1, W_2, b_2)
    np.testing.assert_array_equal(found, [[4, 21], [1, 12]])


@pytest.mark.parametrize(("norm", "wanted"), [("post", [[-1, 2]]), ("pre", [[3, 19]])])
def test_the_example_of_the_block_is_right(norm, wanted):
    found = reference("encoder_layer")(
        np.array([[1.0, 3.0]]), np.array([True]), np.ones(2), np.zeros(2),
        np.array([[1.0, 2.0]]), np.zeros(1), np.array([[1.0], [5.0]]), np.zeros(2),
        np.array([2.0, 2.0]), np.array([1.0, 0.0]), norm,
    )  # fmt: skip
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_the_block_has_two_ways_to_normalise():
    case = drawn("encoder_layer", 0)[0]
    with pytest.raises(ValueError, match="must be 'post' or 'pre'"):
        reference("encoder_layer")(*case.args[:-1], "both")


def counted(d, heads, d_ff, words):
    """Return the parameters of attention, network and norms of a block, and of an embedding."""
    torch = pytest.importorskip("torch")
    layer = torch.nn.TransformerEncoderLayer(d, heads, d_ff)
    numbers = {name: value.numel() for name, value in layer.named_parameters()}
    parts = [
        sum(number for name, number in numbers.items() if name.startswith(start))
        for start in ("self_attn", "linear", "norm")
    ]
    return [*parts, torch.nn.Embedding(words, d).weight.numel()]


def test_the_example_of_the_parameters_is_right():
    assert counted(d=2, heads=1, d_ff=3, words=5) == [24, 17, 8, 10]


def test_the_parameters_are_what_pytorch_counts():
    answer = reference("where_parameters_are")
    assert answer[:4] == counted(d=10, heads=5, d_ff=50, words=70)
    assert answer[4] == counted(d=10, heads=2, d_ff=50, words=70)[0]


@pytest.mark.parametrize("d", [2, 7])
def test_two_thirds_of_the_matrices_are_in_the_network(d):
    torch = pytest.importorskip("torch")
    layer = torch.nn.TransformerEncoderLayer(d, 1, 4 * d)
    matrices = {name: value.numel() for name, value in layer.named_parameters() if value.ndim == 2}
    network = sum(number for name, number in matrices.items() if name.startswith("linear"))
    assert network / sum(matrices.values()) == pytest.approx(reference("where_parameters_are")[-1])


# The self-attention that learners are given.


@cache
def given():
    """Return what the first cell of the notebook defines."""
    cells = compiled(chapter.stem)["notebook"]["cells"]
    setup = next(cell for cell in cells if "def self_attention" in "".join(cell["source"]))
    definitions = "".join(setup["source"]).split("# The table shows")[0]
    names = {}
    exec(definitions, names)
    return names


def test_the_attention_of_the_notebook_ignores_padding_whatever_it_contains():
    rng = np.random.default_rng(0)
    x, mask = rng.normal(size=(2, 5, 3)), np.array([[True] * 5, [True, False, True, True, False]])
    clean = given()["self_attention"](x, mask)
    broken = given()["self_attention"](np.where(mask[..., None], x, np.nan), mask)
    np.testing.assert_allclose(broken[mask], clean[mask])
    torch = pytest.importorskip("torch")
    asked = torch.as_tensor(x)
    fused = torch.nn.functional.scaled_dot_product_attention(
        asked, asked, asked, torch.as_tensor(mask)[:, None, :]
    )
    np.testing.assert_allclose(clean, fused.numpy())


def test_the_notebook_and_the_check_use_the_same_eps():
    from attn_course.practice.exercises.transformer_block.encoder_layer import EPS

    assert given()["EPS"] == EPS


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_no_group_of_norms_has_only_means_of_zero_or_gains_of_one(seed):
    for group in groups_of("layer_norm", seed):
        assert any(np.abs(case.args[0].mean(axis=-1)).min() > 0.1 for case in group)
        assert any((case.args[1] != 1).any() and (case.args[2] != 0).any() for case in group)


@pytest.mark.parametrize("seed", SEEDS)
def test_eps_is_visible_in_every_group_of_norms(seed):
    """With a tiny eps it makes no difference where it is, or whether it is there at all."""
    for group in groups_of("layer_norm", seed):
        variances = [(case.args[0].var(axis=-1), case.args[3]) for case in group]
        assert any((eps > 0.01 * variance).any() for variance, eps in variances)


@pytest.mark.parametrize("seed", SEEDS)
def test_pytorch_may_normalise_what_is_far_from_zero(seed):
    """Its kernel rounds more than NumPy does, and is a right answer all the same."""
    exercise = chapter.exercises["layer_norm"]
    answer = exercise.variants["norm_in_torch"]
    assert exercise.check(exercise.local(answer), seed=seed).points == exercise.points


@pytest.mark.parametrize("seed", SEEDS)
def test_a_variance_that_loses_its_digits_is_seen_far_from_zero_alone(seed):
    exercise = chapter.exercises["layer_norm"]
    (known,) = (one for one in exercise.mistakes if one.name == "variance_as_a_difference")
    result = exercise.check(exercise.local(known.answer), seed=seed)
    assert [group.label for group in result.groups if group.failure] == [result.groups[-1].label]
    assert result.mistake.name == known.name


@pytest.mark.parametrize("seed", SEEDS)
def test_some_hidden_values_are_negative_and_some_positive(seed):
    for group in groups_of("feed_forward", seed):
        before = [x @ W_1.T + b_1 for x, W_1, b_1, _W_2, _b_2 in (case.args for case in group)]
        assert any((hidden > 0).any() and (hidden < 0).any() for hidden in before)
        assert all(np.abs(hidden).min() > 0.01 for hidden in before)  # rounding switches no unit


@pytest.mark.parametrize("seed", SEEDS)
def test_a_single_position_has_units_of_both_signs(seed):
    """Otherwise an answer that is wrong below 0 looks right without a batch."""
    (case,) = (one for one in drawn("feed_forward", seed) if one.args[0].ndim == 1)
    x, W_1, b_1, _W_2, _b_2 = case.args
    before = x @ W_1.T + b_1
    assert (before > 0).any()
    assert (before < 0).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_hidden_layer_is_seldom_as_wide_as_the_input(seed):
    for group in groups_of("feed_forward", seed):
        assert any(case.args[1].shape[0] != case.args[1].shape[1] for case in group)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_vectors_of_a_block_have_more_than_two_entries(seed):
    """The norm of two entries is always (-1, 1) or (1, -1), whatever they are."""
    cases = drawn("encoder_layer", seed)
    assert all(case.args[0].shape[-1] > 2 for case in cases)
    assert all((case.args[2] != case.args[8]).any() for case in cases)


@pytest.mark.parametrize("seed", SEEDS)
def test_padding_occurs_with_both_norms(seed):
    _post, _pre, padding, batches = groups_of("encoder_layer", seed)
    for group in (padding, batches):
        masked = {case.args[-1] for case in group if not case.args[1].all()}
        assert masked == {"post", "pre"}
