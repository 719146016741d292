"""Co-attention against its definitions in loops, and properties P4.1–P4.15."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from attn_course.definitions import features as definition
from attn_course.features import (
    AlternatingCoAttention,
    InteractiveCoAttention,
    MultiGrainedCoAttention,
    ParallelCoAttention,
)
from tests.features_by_hand import assert_close, by_hand, keys_and_values, shaken

N_1, N_2, D_1, D_2 = 3, 7, 5, 2  # every axis its own prime: a swapped axis can't pass
D_K, D_V, D_W = (11, 13), (17, 19), 23
same_keys = (11, 11)
seeds = st.integers(0, 2**32 - 1)


def draw(seed=0, n_1=N_1, n_2=N_2, d_1=D_1, d_2=D_2):
    generator = torch.Generator().manual_seed(seed)
    features = [
        torch.randn(n, d, generator=generator, dtype=torch.float64)
        for n, d in ((n_1, d_1), (n_2, d_2))
    ]
    masks = [torch.rand(n, generator=generator) < 0.6 for n in (n_1, n_2)]  # some are empty
    return generator, features, masks


def numbers(rows):
    return torch.tensor(rows, dtype=torch.float64)


def plain(masks):
    return [None if mask is None else mask.tolist() for mask in masks]


def joined(contexts, names=("c_1", "c_2")):
    return numbers([x for name in names for x in contexts[name]])


def assert_agrees(output, weights, contexts, wanted):
    assert_close(output.detach(), joined(contexts))
    assert set(weights) == set(wanted)
    for name, a in weights.items():
        assert_close(a.detach(), numbers(wanted[name]))


# --- alternating -------------------------------------------------------------------------------


@pytest.mark.agrees("features.AlternatingCoAttention", "definitions.features.alternating")
@pytest.mark.parametrize("shared", [True, False])
@given(seed=seeds)
@settings(max_examples=8)
def test_alternating_agrees_with_its_definition_in_loops(shared, seed):
    generator, features, masks = draw(seed)
    layer = AlternatingCoAttention((D_1, D_2), D_W, shared=shared, d_k=D_K, d_v=D_V).double()
    shaken(layer, generator)
    pairs = [
        keys_and_values(layer.input_1, features[0]),
        keys_and_values(layer.input_2, features[1]),
    ]
    scores = by_hand(layer.score_0), by_hand(layer.score_2), by_hand(layer.score_1)
    for given_masks in ((None, None), masks):
        output, weights = layer(*features, *given_masks)
        assert_agrees(
            output, weights, *definition.alternating(*pairs, *scores, *plain(given_masks))
        )


def alternating(**options):
    torch.manual_seed(0)
    return AlternatingCoAttention((D_1, D_2), D_W, **options).double()


@pytest.mark.proves("P4.1")
def test_with_shared_weights_and_no_query_step_3_repeats_step_1():
    _, features, _ = draw()
    layer = alternating()
    layer.score_1.W_q.data.zero_()
    output, weights = layer(*features)
    assert_close(weights["a_1"], weights["a_0"])
    assert_close(output[:D_1], weights["a_0"] @ features[0])  # c_1 = c_0


def test_the_weights_are_shared_and_stay_shared_when_they_are_trained():
    _, features, _ = draw()
    layer = alternating(shared=True)
    before = layer.score_0.W.detach().clone()
    layer(*features)[0].sum().backward()
    torch.optim.SGD(layer.parameters(), lr=0.1).step()
    assert layer.score_0.W is layer.score_1.W_k
    assert layer.score_0.w is layer.score_1.w
    assert layer.score_0.b is layer.score_1.b
    assert not torch.equal(layer.score_0.W, before)


def test_weights_of_its_own_cost_step_3_as_many_parameters_as_step_1_has():
    shared, separate = (
        sum(p.numel() for p in alternating(shared=s).parameters()) for s in (True, False)
    )
    assert shared == D_W * (D_1 + D_2 + 2) + D_W * (D_2 + D_1 + 2)
    assert separate - shared == D_W * D_1 + 2 * D_W


@pytest.mark.proves("P4.2")
def test_without_its_query_input_2_does_not_depend_on_input_1():
    _, features, _ = draw()
    _, others, _ = draw(seed=1)
    layer = alternating()
    with_query = [layer(f, features[1])[0][D_1:] for f in (features[0], others[0])]
    assert not torch.allclose(*with_query)
    layer.score_2.W_q.data.zero_()
    without = [layer(f, features[1])[0][D_1:] for f in (features[0], others[0])]
    assert_close(*without)


@pytest.mark.proves("P4.3")
def test_a_single_feature_of_input_1_is_both_of_its_contexts():
    _, features, _ = draw(n_1=1)
    layer = alternating(d_v=(D_1, D_2))
    output, weights = layer(*features)
    assert weights["a_0"].tolist() == weights["a_1"].tolist() == [1.0]
    assert_close(output[:D_1], layer.input_1.value_map(features[0])[0])


@pytest.mark.proves("P4.4")
@pytest.mark.parametrize("shared", [True, False])
def test_the_order_of_features_does_not_matter(shared):
    _, (first, second), _ = draw()
    layer = alternating(shared=shared)
    wanted, weights = layer(first, second)
    order_1, order_2 = torch.tensor([2, 0, 1]), torch.tensor([6, 1, 0, 3, 5, 2, 4])
    output, permuted = layer(first[order_1], second[order_2])
    assert_close(output, wanted)
    assert_close(permuted["a_0"], weights["a_0"][order_1])
    assert_close(permuted["a_1"], weights["a_1"][order_1])
    assert_close(permuted["a_2"], weights["a_2"][order_2])


@pytest.mark.proves("P4.5")
def test_exchanging_the_inputs_gives_another_result():
    _, (first, second), _ = draw(d_2=D_1)
    torch.manual_seed(0)
    layer = AlternatingCoAttention((D_1, D_1), D_W).double()
    layer.score_2.load_state_dict(layer.score_1.state_dict())  # even if both sides weigh alike
    output, _ = layer(first, second)
    exchanged, _ = layer(second, first)
    assert not torch.allclose(exchanged[D_1:], output[:D_1])
    assert not torch.allclose(exchanged[:D_1], output[D_1:])


@pytest.mark.agrees("features.AlternatingCoAttention", "PyTorch")
def test_alternating_with_dot_products_agrees_with_pytorch_own_kernel():
    _, (first, second), _ = draw(d_2=D_1)
    torch.manual_seed(0)
    layer = AlternatingCoAttention((D_1, D_1), D_W, score="scaled_dot", shared=False).double()
    output, _ = layer(first, second)
    hidden = torch.tanh(nn.functional.linear(first, layer.score_0.W, layer.score_0.b))
    c_0 = scaled_dot_product_attention(layer.score_0.w[None], hidden, first, scale=1.0)
    c_2 = scaled_dot_product_attention(c_0, second, second)
    c_1 = scaled_dot_product_attention(c_2, first, first)
    assert_close(output, torch.cat([c_1[0], c_2[0]]))


# --- interactive -------------------------------------------------------------------------------


@pytest.mark.agrees("features.InteractiveCoAttention", "definitions.features.interactive")
@pytest.mark.parametrize("score", ["activated_general", "additive", "general"])
@given(seed=seeds)
@settings(max_examples=8)
def test_interactive_agrees_with_its_definition_in_loops(score, seed):
    generator, features, masks = draw(seed)
    layer = InteractiveCoAttention((D_1, D_2), D_W, score, d_k=D_K, d_v=D_V).double()
    shaken(layer, generator)
    pairs = [
        keys_and_values(layer.input_1, features[0]),
        keys_and_values(layer.input_2, features[1]),
    ]
    scores = by_hand(layer.score_1), by_hand(layer.score_2)
    for given_masks in ((None, None), masks):
        output, weights = layer(*features, *given_masks)
        assert_agrees(
            output, weights, *definition.interactive(*pairs, *scores, *plain(given_masks))
        )


def interactive(d_1=D_1, d_2=D_2, **options):
    torch.manual_seed(0)
    return InteractiveCoAttention((d_1, d_2), **options).double()


def test_interactive_uses_the_activated_general_score_of_its_paper():
    layer = interactive()
    assert layer.score_1.W.shape == (D_1, D_2)
    assert layer.score_2.W.shape == (D_2, D_1)
    assert sum(p.numel() for p in layer.parameters()) == 2 * D_1 * D_2 + 2


@pytest.mark.proves("P4.6")
def test_exchanging_inputs_and_parameters_exchanges_the_outputs():
    _, (first, second), (mask_1, mask_2) = draw()
    layer, exchanged = interactive(), interactive(D_2, D_1)
    exchanged.score_1.load_state_dict(layer.score_2.state_dict())
    exchanged.score_2.load_state_dict(layer.score_1.state_dict())
    output, weights = layer(first, second, mask_1, mask_2)
    other, other_weights = exchanged(second, first, mask_2, mask_1)
    assert_close(other, torch.cat([output[D_1:], output[:D_1]]))
    assert_close(other_weights["a_1"], weights["a_2"])


@pytest.mark.proves("P4.7")
def test_a_single_feature_is_its_own_mean():
    _, (first, second), _ = draw(n_2=1)
    layer = interactive()
    _, weights = layer(first, second)
    wanted = [by_hand(layer.score_1)(second[0].tolist(), k) for k in first.tolist()]
    assert_close(weights["a_1"], numbers(wanted).softmax(0))
    assert weights["a_2"].tolist() == [1.0]


@pytest.mark.proves("P4.8")
def test_writing_input_2_twice_changes_nothing():
    _, (first, second), _ = draw()
    layer = interactive()
    output, weights = layer(first, second)
    twice, twice_weights = layer(first, second.repeat(2, 1))
    assert_close(twice, output)
    assert_close(twice_weights["a_2"], weights["a_2"].repeat(2) / 2)


@pytest.mark.proves("P4.9")
def test_the_mean_is_over_the_true_length():
    _, (first, second), _ = draw()
    layer = interactive()
    wanted, _ = layer(first, second)
    padded = torch.cat([second, torch.full((4, D_2), 100.0, dtype=torch.float64)])
    mask = torch.arange(N_2 + 4) < N_2
    assert_close(layer(first, padded, mask_2=mask)[0], wanted)
    zeros = torch.cat([second, torch.zeros(4, D_2, dtype=torch.float64)])
    assert_close(layer(first, zeros, mask_2=mask)[0], wanted)  # zeros too would shorten the mean


@pytest.mark.agrees("features.InteractiveCoAttention", "PyTorch")
def test_interactive_with_dot_products_agrees_with_pytorch_own_kernel():
    _, (first, second), _ = draw(d_2=D_1)
    output, _ = interactive(d_2=D_1, score="scaled_dot")(first, second)
    c_1 = scaled_dot_product_attention(second.mean(0, keepdim=True), first, first)
    c_2 = scaled_dot_product_attention(first.mean(0, keepdim=True), second, second)
    assert_close(output, torch.cat([c_1[0], c_2[0]]))


# --- parallel ----------------------------------------------------------------------------------

AFFINITIES = ("bilinear", "concat")
FORMS = [(affinity, scores) for affinity in AFFINITIES for scores in ("projected", "max")]


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
    if layer.scores == "max":
        scores = definition.scores_max(A, mask_1, mask_2)
    else:
        parameters = {name: getattr(layer, name).tolist() for name in ("W_1", "W_2", "w_1", "w_2")}
        scores = definition.scores_projected(
            A, *keys, **parameters, act=act, mask_1=mask_1, mask_2=mask_2
        )
    return definition.parallel(*pairs, scores, mask_1, mask_2)


@pytest.mark.agrees("features.ParallelCoAttention", "definitions.features.parallel")
@pytest.mark.parametrize(("affinity", "scores"), FORMS)
@given(seed=seeds)
@settings(max_examples=8)
def test_parallel_agrees_with_its_definition_in_loops(affinity, scores, seed):
    generator, features, masks = draw(seed)
    d_k = same_keys if affinity == "concat" else D_K
    layer = ParallelCoAttention((D_1, D_2), affinity, scores, d_w=D_W, d_k=d_k, d_v=D_V).double()
    shaken(layer, generator)
    for given_masks in ((None, None), masks):
        output, weights = layer(*features, *given_masks)
        assert_agrees(output, weights, *parallel_by_hand(layer, features, *plain(given_masks)))


def parallel(affinity="bilinear", scores="projected", d_f=(D_1, D_2), **options):
    torch.manual_seed(0)
    return ParallelCoAttention(d_f, affinity, scores, d_w=D_W, **options).double()


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
@pytest.mark.parametrize("scores", ["projected", "max"])
def test_exchanging_inputs_and_parameters_exchanges_the_two_sides(scores):
    _, (first, second), (mask_1, mask_2) = draw(seed=3)
    layer, exchanged = parallel(scores=scores), parallel(scores=scores, d_f=(D_2, D_1))
    exchanged.W_A.data = layer.W_A.data.T
    if scores == "projected":
        for name, other in (("W_1", "W_2"), ("W_2", "W_1"), ("w_1", "w_2"), ("w_2", "w_1")):
            getattr(exchanged, name).data = getattr(layer, other).data
    output, weights = layer(first, second, mask_1, mask_2)
    other, other_weights = exchanged(second, first, mask_2, mask_1)
    assert_close(other, torch.cat([output[D_1:], output[:D_1]]))
    assert_close(other_weights["a_1"], weights["a_2"])
    assert_close(other_weights["a_2"], weights["a_1"])


@pytest.mark.proves("P4.12")
@pytest.mark.parametrize(("affinity", "scores"), FORMS)
def test_permuting_input_2_keeps_side_1_and_permutes_side_2(affinity, scores):
    _, (first, second), _ = draw()
    layer = parallel(affinity, scores, d_k=same_keys)
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
    layer = parallel(scores="max")
    by_row = affinity_gradients(layer, first, second, "a_1") != 0
    assert by_row.sum(1).tolist() == [1] * N_1
    by_column = affinity_gradients(parallel(scores="max"), first, second, "a_2") != 0
    assert by_column.sum(0).tolist() == [1] * N_2


@pytest.mark.proves("P4.14")
def test_of_equal_affinities_one_takes_the_whole_gradient():
    _, (first, second), _ = draw()
    second = second[:1].repeat(N_2, 1)  # every row of A is constant
    gradient = affinity_gradients(parallel(scores="max"), first, second, "a_1")
    assert (gradient != 0).sum(1).tolist() == [1] * N_1


@pytest.mark.proves("P4.14")
def test_padding_never_wins_the_maximum():
    _, (first, second), _ = draw()
    layer = parallel(scores="max")
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
    output, weights = parallel(scores="max")(first, second, mask_2=mask_2)
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


# --- multi-grained -----------------------------------------------------------------------------


@pytest.mark.proves("P4.15")
@pytest.mark.parametrize("coarse", ["interactive", "alternating"])
@pytest.mark.parametrize(("affinity", "scores"), FORMS)
def test_each_block_is_the_output_of_its_own_mechanism(coarse, affinity, scores):
    _, features, masks = draw(seed=3)
    coarse = interactive() if coarse == "interactive" else alternating()
    fine = parallel(affinity, scores, d_k=same_keys)
    layer = MultiGrainedCoAttention((D_1, D_2), coarse, fine)
    output, weights = layer(*features, *masks)
    coarse_output, coarse_weights = coarse(*features, *masks)
    fine_output, fine_weights = fine(*features, *masks)
    width = D_1 + D_2
    assert output.shape == (2 * width,)
    assert_close(output[:width], coarse_output)
    assert_close(output[width:], fine_output)
    assert len(weights) == len(coarse_weights) + len(fine_weights)
    for name, a in coarse_weights.items():
        assert_close(weights[f"{name}_coarse"], a)
    for name, a in fine_weights.items():
        assert_close(weights[f"{name}_fine"], a)


@pytest.mark.proves("P4.15")
@pytest.mark.agrees(
    "features.MultiGrainedCoAttention",
    "definitions.features.interactive",
    "definitions.features.parallel",
)
@given(seed=seeds)
@settings(max_examples=8)
def test_by_default_the_blocks_are_those_of_the_paper(seed):
    generator, features, masks = draw(seed, d_2=D_1)
    layer = shaken(MultiGrainedCoAttention((D_1, D_1)).double(), generator)
    output, weights = layer(*features, *masks)
    pairs = [(f.tolist(), f.tolist()) for f in features]
    W_1, W_2 = layer.coarse.score_1.W.tolist(), layer.coarse.score_2.W.tolist()
    coarse, a_coarse = definition.interactive(
        *pairs,
        lambda q, k: sum(k[i] * W_1[i][j] * q[j] for i in range(D_1) for j in range(D_1)),
        lambda q, k: sum(k[i] * W_2[i][j] * q[j] for i in range(D_1) for j in range(D_1)),
        *plain(masks),
    )
    A = definition.affinity_concat(pairs[0][0], pairs[1][0], layer.fine.w_A.tolist())
    fine, a_fine = definition.parallel(
        *pairs, definition.scores_max(A, *plain(masks)), *plain(masks)
    )
    assert_close(output.detach(), torch.cat([joined(coarse), joined(fine)]))
    for side in ("a_1", "a_2"):
        assert_close(weights[f"{side}_coarse"].detach(), numbers(a_coarse[side]))
        assert_close(weights[f"{side}_fine"].detach(), numbers(a_fine[side]))


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: AlternatingCoAttention((5, 2), score="general"), "or shared=False"),
        (lambda: AlternatingCoAttention((5, 2), score="sum"), "score must be one of additive"),
        (lambda: AlternatingCoAttention(5), "d_f must be 2 widths, for features_1, features_2"),
        (lambda: InteractiveCoAttention((5, 2), d_k=(3,)), "d_k must be 2 widths"),
        (lambda: ParallelCoAttention((5, 2), "dot"), "affinity must be one of bilinear, concat"),
        (lambda: ParallelCoAttention((5, 2), scores="min"), "scores must be one of projected, max"),
        (lambda: ParallelCoAttention((5, 2), combine="sum"), "combine must be one of concat, add"),
        (lambda: ParallelCoAttention((5, 2), act="tan"), "act must be one of tanh"),
        (lambda: ParallelCoAttention((5, 2), "concat"), "but are 5 and 2 wide. Give d_k"),
        (lambda: ParallelCoAttention((5, 2), combine="add"), "but are 5 and 2 wide. Give d_v"),
    ],
)
def test_a_layer_that_cannot_be_made_says_why(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()
