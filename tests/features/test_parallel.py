"""Parallel co-attention: the definitions in loops, and properties P4.10–P4.14."""

import re

import pytest
import torch
from hypothesis import given, settings
from torch import nn
from torch.overrides import TorchFunctionMode

from attn_course.definitions import features as definition
from attn_course.features import ParallelCoAttention
from tests.features.by_hand import assert_close, keys_and_values, shaken
from tests.features.two_inputs import (
    AFFINITIES,
    D_1,
    D_2,
    D_K,
    D_V,
    D_W,
    FORMS,
    N_1,
    N_2,
    assert_agrees,
    draw,
    numbers,
    parallel,
    plain,
    same_keys,
    seeds,
)


def parallel_by_hand(layer, features, mask_1=None, mask_2=None, act="tanh"):
    pairs = [
        keys_and_values(layer.input_1, features[0]),
        keys_and_values(layer.input_2, features[1]),
    ]
    keys = pairs[0][0], pairs[1][0]
    if layer.affinity == "bilinear":
        A = definition.affinity_bilinear(*keys, layer.W_A.tolist(), act)
    else:
        A = definition.affinity_concat(*keys, layer.w_A.tolist())
    if layer.reading == "max":
        scores = definition.scores_max(A, mask_1, mask_2)
    else:
        parameters = {name: getattr(layer, name).tolist() for name in ("W_1", "W_2", "w_1", "w_2")}
        scores = definition.scores_projected(
            A, *keys, **parameters, act=act, mask_1=mask_1, mask_2=mask_2
        )
    return definition.parallel(*pairs, scores, mask_1, mask_2)


@pytest.mark.agrees("features.ParallelCoAttention", "definitions.features.parallel")
@pytest.mark.parametrize(("affinity", "reading"), FORMS)
@given(seed=seeds)
@settings(max_examples=8)
def test_parallel_agrees_with_its_definition_in_loops(affinity, reading, seed):
    generator, features, masks = draw(seed)
    d_k = same_keys if affinity == "concat" else D_K
    layer = ParallelCoAttention((D_1, D_2), affinity, reading, d_w=D_W, d_k=d_k, d_v=D_V).double()
    shaken(layer, generator)
    for given_masks in ((None, None), masks):
        output, weights = layer(*features, *given_masks)
        assert_agrees(output, weights, *parallel_by_hand(layer, features, *plain(given_masks)))


def test_parallel_takes_any_activation():
    _, features, _ = draw()
    layer = parallel(act="relu")
    assert_agrees(*layer(*features), *parallel_by_hand(layer, features, act="relu"))


def test_the_contexts_can_be_added():
    _, features, _ = draw()
    layer = parallel(combine="add", d_v=(D_W, D_W))
    contexts, _ = parallel_by_hand(layer, features)
    assert_close(layer(*features)[0].detach(), numbers(contexts["c_1"]) + numbers(contexts["c_2"]))


@pytest.mark.agrees("features.ParallelCoAttention.affinity_matrix", "PyTorch")
def test_the_bilinear_affinity_agrees_with_pytorch_own_bilinear():
    _, (first, second), _ = draw()
    layer = parallel()
    pairs = first[:, None].expand(-1, N_2, -1), second[None].expand(N_1, -1, -1)
    theirs = nn.functional.bilinear(
        *(p.reshape(N_1 * N_2, -1) for p in pairs), weight=layer.W_A[None]
    )
    assert_close(layer.affinity_matrix(first, second), theirs.reshape(N_1, N_2).tanh())


def test_w_1_and_w_2_are_shared_between_the_two_sides():
    assert {name: tuple(p.shape) for name, p in parallel().named_parameters()} == {
        "W_A": (D_1, D_2),
        "W_1": (D_W, D_1),
        "W_2": (D_W, D_2),
        "w_1": (D_W,),
        "w_2": (D_W,),
    }


def test_the_concat_affinity_never_builds_a_vector_for_every_pair():
    class Largest(TorchFunctionMode):
        size = 0

        def __torch_function__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor):
                self.size = max(self.size, result.numel())
            return result

    _, features, _ = draw(n_1=31, n_2=37, d_2=D_1)
    layer = parallel("concat", "max", (D_1, D_1))
    with Largest() as largest:
        layer(*features)
    assert largest.size == 31 * 37  # and not 3 * D_1 times as much


@pytest.mark.proves("P4.10")
def test_without_affinity_both_sides_attend_without_a_query():
    _, (first, second), _ = draw()
    layer = parallel()
    layer.W_A.data.zero_()
    _, weights = layer(first, second)
    for name, features, w, W in (("a_1", first, "w_1", "W_1"), ("a_2", second, "w_2", "W_2")):
        hidden = nn.functional.linear(features, getattr(layer, W)).tanh()
        assert_close(
            weights[name], nn.functional.linear(hidden, getattr(layer, w)[None])[:, 0].softmax(0)
        )


@pytest.mark.proves("P4.11")
@pytest.mark.parametrize("reading", ["projected", "max"])
def test_exchanging_inputs_and_parameters_exchanges_the_outputs(reading):
    _, (first, second), (mask_1, mask_2) = draw(seed=3)
    layer, exchanged = parallel(reading=reading), parallel(reading=reading, d_f=(D_2, D_1))
    exchanged.W_A.data = layer.W_A.data.T
    if reading == "projected":
        for name, other in (("W_1", "W_2"), ("W_2", "W_1"), ("w_1", "w_2"), ("w_2", "w_1")):
            getattr(exchanged, name).data = getattr(layer, other).data
    output, weights = layer(first, second, mask_1, mask_2)
    other, other_weights = exchanged(second, first, mask_2, mask_1)
    assert_close(other, torch.cat([output[D_1:], output[:D_1]]))
    assert_close(other_weights["a_1"], weights["a_2"])
    assert_close(other_weights["a_2"], weights["a_1"])


@pytest.mark.proves("P4.12")
@pytest.mark.parametrize(("affinity", "reading"), FORMS)
def test_permuting_input_2_keeps_side_1_and_permutes_side_2(affinity, reading):
    _, (first, second), _ = draw()
    layer = parallel(affinity, reading, d_k=same_keys)
    output, weights = layer(first, second)
    order = torch.tensor([6, 1, 0, 3, 5, 2, 4])
    permuted, permuted_weights = layer(first, second[order])
    assert_close(permuted, output)
    assert_close(permuted_weights["a_1"], weights["a_1"])
    assert_close(permuted_weights["a_2"], weights["a_2"][order])


@pytest.mark.proves("P4.13")
def test_adding_a_constant_to_every_affinity_changes_no_weight():
    _, (first, second), _ = draw(d_2=D_1)
    first[:, 0], second[:, 0] = 1.0, 0.0  # so that the first entry of w_A is added to all of A
    layer = parallel("concat", "max", (D_1, D_1))
    A = layer.affinity_matrix(first, second).detach()
    output, weights = layer(first, second)
    layer.w_A.data[0] += 3.0
    assert_close(layer.affinity_matrix(first, second), A + 3.0)
    shifted, shifted_weights = layer(first, second)
    assert_close(shifted, output)
    assert_close(shifted_weights["a_1"], weights["a_1"])
    assert_close(shifted_weights["a_2"], weights["a_2"])


@pytest.mark.proves("P4.13")
@pytest.mark.parametrize("affinity", AFFINITIES)
def test_with_one_feature_in_input_2_its_affinities_are_the_scores(affinity):
    _, (first, second), _ = draw(n_2=1)
    layer = parallel(affinity, "max", d_k=same_keys)
    _, weights = layer(first, second)
    A = layer.affinity_matrix(layer.input_1.key_map(first), layer.input_2.key_map(second))
    assert_close(weights["a_1"], A[:, 0].softmax(0))
    assert weights["a_2"].tolist() == [1.0]


def affinity_gradients(layer, first, second, side):
    kept = {}
    plain = layer.affinity_matrix

    def watched(*keys):
        kept["A"] = plain(*keys)
        kept["A"].retain_grad()
        return kept["A"]

    layer.affinity_matrix = watched
    _, weights = layer(first, second)
    (weights[side] * torch.arange(1.0, len(weights[side]) + 1)).sum().backward()
    return kept["A"].grad


@pytest.mark.proves("P4.14")
def test_the_gradient_of_a_maximum_goes_to_one_entry_a_row_or_column():
    _, (first, second), _ = draw()
    layer = parallel(reading="max")
    by_row = affinity_gradients(layer, first, second, "a_1") != 0
    assert by_row.sum(1).tolist() == [1] * N_1
    by_column = affinity_gradients(parallel(reading="max"), first, second, "a_2") != 0
    assert by_column.sum(0).tolist() == [1] * N_2


@pytest.mark.proves("P4.14")
def test_of_equal_affinities_one_takes_the_whole_gradient():
    _, (first, second), _ = draw()
    second = second[:1].repeat(N_2, 1)  # every row of A is constant
    gradient = affinity_gradients(parallel(reading="max"), first, second, "a_1")
    assert (gradient != 0).sum(1).tolist() == [1] * N_1


@pytest.mark.proves("P4.14")
def test_padding_never_wins_the_maximum():
    _, (first, second), _ = draw()
    layer = parallel(reading="max")
    first, second = -first.abs(), second.abs()
    layer.W_A.data = layer.W_A.data.abs()  # every affinity is below 0, that of a padding 0 is 0
    wanted, wanted_weights = layer(first, second)
    padded = torch.cat([second, torch.zeros(2, D_2, dtype=torch.float64)])
    output, weights = layer(first, padded, mask_2=torch.arange(N_2 + 2) < N_2)
    assert_close(output, wanted)
    assert_close(weights["a_1"], wanted_weights["a_1"])


def test_without_partners_every_feature_counts_alike_under_the_maximum():
    _, (first, second), _ = draw()
    mask_2 = torch.zeros(N_2, dtype=torch.bool)
    output, weights = parallel(reading="max")(first, second, mask_2=mask_2)
    assert_close(weights["a_1"], torch.full((N_1,), 1 / N_1, dtype=torch.float64))
    assert (output[D_1:] == 0).all()


def test_additive_scores_are_not_a_special_case_of_projected_ones():
    # With n_2 = 1 the score of k_1 is w act(W_1 k_1 + A W_2 k_2): additive only if A were 1.
    _, (first, second), _ = draw(n_2=1)
    layer = parallel()
    _, weights = layer(first, second)

    def additive(scale):
        rows = nn.functional.linear(first, layer.W_1)
        rows = rows + scale * nn.functional.linear(second, layer.W_2)
        return nn.functional.linear(rows.tanh(), layer.w_1[None])[:, 0].softmax(0)

    assert not torch.allclose(weights["a_1"], additive(1.0))
    assert_close(weights["a_1"], additive(layer.affinity_matrix(first, second)))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: ParallelCoAttention((5, 2), "dot"), "affinity must be one of bilinear, concat"),
        (lambda: ParallelCoAttention((5, 2), reading="min"), "reading must be one of projected"),
        (lambda: ParallelCoAttention((5, 2), combine="sum"), "combine must be one of concat, add"),
        (lambda: ParallelCoAttention((5, 2), act="tan"), "act must be one of tanh"),
        (lambda: ParallelCoAttention((5, 2), "concat"), "but are 5 and 2 wide. Give d_k"),
        (lambda: ParallelCoAttention((5, 2), combine="add"), "but are 5 and 2 wide. Give d_v"),
    ],
)
def test_a_layer_that_cannot_be_made_says_why(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()
