"""What every layer over feature sets promises: batches, masks, padding, gradients, dtypes, errors.

`MetaEmbedding`, whose mask is over types of embedding and not over places, has its own tests.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pytest
import torch

from attn_course import features
from tests.features.by_hand import assert_close, shaken

N_1, N_2, N_3 = 2, 3, 5
D_1, D_2, D_3 = 3, 2, 5
B, Q, S = 2, 3, 2


class Case(NamedTuple):
    make: Callable
    sets: tuple  # shapes of the inputs that have a mask
    queries: tuple = ()  # shapes of the inputs that have none


pair = ((N_1, D_1), (N_2, D_2))
maps = dict(d_k=(7, 7), d_v=(2, 3))
CASES = {
    "alternating": Case(lambda: features.AlternatingCoAttention((D_1, D_2), 5), pair),
    "alternating, own weights": Case(
        lambda: features.AlternatingCoAttention((D_1, D_2), 5, shared=False, **maps), pair
    ),
    "interactive": Case(lambda: features.InteractiveCoAttention((D_1, D_2), **maps), pair),
    "parallel": Case(lambda: features.ParallelCoAttention((D_1, D_2), d_w=5), pair),
    "parallel, concat": Case(
        lambda: features.ParallelCoAttention((D_1, D_2), "concat", d_w=5, **maps), pair
    ),
    "parallel, max": Case(
        lambda: features.ParallelCoAttention((D_1, D_2), "concat", "max", **maps), pair
    ),
    "multi-grained": Case(
        lambda: features.MultiGrainedCoAttention((D_1, D_1)), ((N_1, D_1), (N_2, D_1))
    ),
    "rotatory": Case(lambda: features.RotatoryAttention((D_1, D_2, D_3)), (*pair, (N_3, D_3))),
    "rotatory, hops": Case(
        lambda: features.RotatoryAttention((D_1, D_2, D_3), 2, d_k=(7, 5, 2), d_v=(D_1, 3, 2)),
        (*pair, (N_3, D_3)),
    ),
    "via attention": Case(
        lambda: features.AttentionViaAttention(7, (D_1, D_2), 5, **maps), pair, ((Q, 7),)
    ),
    "hierarchical": Case(lambda: features.HierarchicalAttention(D_1), ((S, N_2, D_1),)),
    "hierarchical, maps": Case(
        lambda: features.HierarchicalAttention(D_1, (5, 7), **maps), ((S, N_2, D_1),)
    ),
}
every_layer = pytest.mark.parametrize("name", CASES)


def prepare(name, batch=(B,), dtype=torch.float64):
    """Return the layer, its queries, its feature sets, and a mask for each of them."""
    case = CASES[name]
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    layer = shaken(case.make(), generator).to(dtype)
    queries, sets = (
        [
            torch.randn(*batch, *size, generator=generator, dtype=torch.float64).to(dtype)
            for size in sizes
        ]
        for sizes in (case.queries, case.sets)
    )
    masks = [torch.ones(s.shape[:-1], dtype=torch.bool) for s in sets]
    for mask in masks:
        mask[..., -1] = False  # the last feature of every set is padding
    return layer, queries, sets, masks


def tensors(weights):
    """Return the weights of a layer, a dict or one a hop, as a list of tensors."""
    hops = weights if isinstance(weights, list) else [weights]
    return [a for hop in hops for a in hop.values()]


@every_layer
def test_a_batch_is_the_same_as_one_at_a_time(name):
    layer, queries, sets, masks = prepare(name)
    output, weights = layer(*queries, *sets, *masks)
    assert output.shape[-1] == getattr(layer, "d_out", output.shape[-1])
    for b in range(B):
        one, one_weights = layer(*(x[b] for x in (*queries, *sets, *masks)))
        assert_close(output[b], one)
        for a, wanted in zip(tensors(weights), tensors(one_weights), strict=True):
            assert_close(a[b], wanted)


@every_layer
def test_several_batch_axes_and_a_mask_for_all_of_them_will_do(name):
    layer, queries, sets, masks = prepare(name, batch=(2, B))
    shared = [mask[0, 0] for mask in masks]  # without batch axes: the same for every example
    output, _ = layer(*queries, *sets, *shared)
    assert_close(output[1, 0], layer(*(x[1, 0] for x in (*queries, *sets)), *shared)[0])


@every_layer
def test_a_mask_of_ones_changes_nothing(name):
    layer, queries, sets, masks = prepare(name)
    wanted, _ = layer(*queries, *sets)
    assert_close(layer(*queries, *sets, *(torch.ones_like(m) for m in masks))[0], wanted)


@every_layer
def test_one_truth_value_can_stand_for_all_features_of_an_example(name):
    layer, queries, sets, masks = prepare(name)
    short = [torch.ones_like(m[..., :1]) for m in masks]
    short[0][0] = False  # the first example has nothing in its first input
    output, _ = layer(*queries, *sets, *short)
    full = [s.expand_as(m) for s, m in zip(short, masks, strict=True)]
    assert_close(output, layer(*queries, *sets, *full)[0])


@every_layer
def test_weights_are_distributions_over_what_is_real(name):
    layer, queries, sets, masks = prepare(name)
    _, weights = layer(*queries, *sets, *masks)
    for a in tensors(weights):
        assert (a >= 0).all()
        assert_close(a.sum(-1), torch.ones_like(a.sum(-1)))
        if a.shape[-1] != S or name not in ("hierarchical", "hierarchical, maps"):
            assert (a[..., -1] == 0).all()  # the padding


@every_layer
def test_weights_can_be_left_out(name):
    layer, queries, sets, masks = prepare(name)
    output, weights = layer(*queries, *sets, *masks, need_weights=False)
    assert weights is None
    assert torch.equal(output, layer(*queries, *sets, *masks)[0])


@every_layer
@pytest.mark.parametrize("junk", [1e3, float("nan"), float("inf")])
def test_padding_changes_nothing_and_gets_no_gradient(name, junk):
    layer, queries, sets, _ = prepare(name)
    wanted, _ = layer(*queries, *sets)
    padded, masks = [], []
    for s in sets:
        rest = torch.full((*s.shape[:-2], 4, s.shape[-1]), junk, dtype=s.dtype)
        padded.append(torch.cat([s, rest], dim=-2).requires_grad_())
        masks.append((torch.arange(s.shape[-2] + 4) < s.shape[-2]).expand(padded[-1].shape[:-1]))
    output, _ = layer(*queries, *padded, *masks)
    assert_close(output, wanted)
    (output**2).sum().backward()
    for p, mask in zip(padded, masks, strict=True):
        assert (p.grad[~mask] == 0).all()
        assert torch.isfinite(p.grad).all()
    for parameter_name, parameter in layer.named_parameters():
        assert torch.isfinite(parameter.grad).all(), parameter_name


@every_layer
def test_an_input_that_is_all_padding_gets_no_weight_and_no_gradient(name):
    for empty in range(len(CASES[name].sets)):
        layer, queries, sets, masks = prepare(name)
        masks[empty][0] = False  # in the first example of the batch
        sets = [s.requires_grad_() for s in sets]
        output, weights = layer(*queries, *sets, *masks)
        n = sets[empty].shape[-2]
        for a in tensors(weights):
            if a.shape[-1] == n:  # every set has a length of its own
                assert (a[0] == 0).all()
                assert (a[1].sum(-1) > 0).all()
        assert torch.isfinite(output).all()
        (output**2).sum().backward()
        assert (sets[empty].grad[0] == 0).all()
        assert (sets[empty].grad[1] != 0).any()
        for parameter_name, parameter in layer.named_parameters():
            assert torch.isfinite(parameter.grad).all(), parameter_name


@every_layer
def test_when_everything_is_padding_the_output_is_zero(name):
    layer, queries, sets, masks = prepare(name)
    output, weights = layer(*queries, *sets, *(torch.zeros_like(m) for m in masks))
    assert (output == 0).all()
    assert all((a == 0).all() for a in tensors(weights))


@every_layer
def test_every_parameter_learns(name):
    layer, queries, sets, _ = prepare(name)
    output, _ = layer(*queries, *sets)
    (output**2).sum().backward()
    for parameter_name, parameter in layer.named_parameters():
        assert (parameter.grad.abs() > 1e-9).any(), parameter_name


@every_layer
def test_gradcheck(name):
    layer, queries, sets, masks = prepare(name, batch=())
    inputs = [x.requires_grad_() for x in (*queries, *sets)]

    def run(*_):
        return layer(*inputs)[0], layer(*inputs, *masks)[0]

    # fast_mode: one random direction instead of every number of every parameter
    assert torch.autograd.gradcheck(run, [*inputs, *layer.parameters()], fast_mode=True)


@every_layer
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_the_dtype_is_kept_and_large_features_stay_finite(name, dtype):
    layer, queries, sets, masks = prepare(name, dtype=dtype)
    size = 30 if dtype == torch.float16 else 1e4  # the squares of more overflow in float16
    inputs = [(size * x).requires_grad_() for x in (*queries, *sets)]
    for given_masks in ([], masks):
        output, weights = layer(*inputs, *given_masks)
        assert {x.dtype for x in (output, *tensors(weights))} == {dtype}
        assert torch.isfinite(output).all()
        for gradient in torch.autograd.grad(output.sum(), inputs, allow_unused=True):
            assert gradient is None or torch.isfinite(gradient).all()


def test_a_mean_in_half_precision_does_not_overflow():
    layer = features.InteractiveCoAttention((1, 1), score="dot").half()
    many = torch.full((100, 1), 1000.0, dtype=torch.float16)  # their sum is above 65504
    few = torch.zeros(2, 1, dtype=torch.float16)
    mask = torch.ones(100, dtype=torch.bool)
    for given_mask in (None, mask):
        output, weights = layer(many, few, mask_1=given_mask)
        assert output.tolist() == [pytest.approx(1000, rel=0.01), 0]
        assert weights["a_2"].tolist() == [0.5, 0.5]


def test_an_unbatched_input_can_meet_a_batch():
    layer, _, (first, second), _ = prepare("alternating")
    output, _ = layer(first[0], second)
    for b in range(B):
        assert_close(output[b], layer(first[0], second[b])[0])
    layer, _, (target, left, right), _ = prepare("rotatory")
    output, _ = layer(target[0], left, right[0])
    for b in range(B):
        assert_close(output[b], layer(target[0], left[b], right[0])[0])


@every_layer
def test_a_layer_comes_back_from_its_saved_state(name):
    layer, queries, sets, masks = prepare(name)
    again = CASES[name].make().double()
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again(*queries, *sets, *masks)[0], layer(*queries, *sets, *masks)[0])


def evenly(scores, mask=None):
    """An alignment that does not look at the scores."""
    allowed = torch.ones_like(scores) if mask is None else mask.expand_as(scores).to(scores)
    return allowed / allowed.sum(-1, keepdim=True)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (partial(features.AlternatingCoAttention, (D_1, D_2)), "alternating"),
        (partial(features.InteractiveCoAttention, (D_1, D_2)), "interactive"),
        (partial(features.ParallelCoAttention, (D_1, D_2)), "parallel"),
        (partial(features.RotatoryAttention, (D_1, D_2, D_3), 2), "rotatory"),
        (partial(features.AttentionViaAttention, 7, (D_1, D_2)), "via attention"),
        (partial(features.HierarchicalAttention, D_1), "hierarchical"),
    ],
)
def test_another_alignment_takes_the_place_of_softmax_everywhere(make, name):
    _, queries, sets, _ = prepare(name)
    _, weights = make(align=evenly).double()(*queries, *sets)
    for a in tensors(weights):
        assert_close(a, torch.full_like(a, 1 / a.shape[-1]))


# --- errors ------------------------------------------------------------------------------------

ones = torch.ones


def interactive(*inputs, **masks):
    return features.InteractiveCoAttention((3, 2))(*inputs, **masks)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: interactive(ones(4, 2), ones(4, 3)),
            "features_1 must be (..., n, d_f) with d_f = 3, but came as (4, 2)",
        ),
        (lambda: interactive(ones(3), ones(4, 2)), "d_f = 3, but came as (3,)"),
        (lambda: interactive(ones(4, 3), ones(0, 2)), "features_2 has no features to attend to"),
        (
            lambda: interactive(ones(4, 3), ones(5, 2), mask_1=ones(4)),
            "the mask of features_1 must be boolean with True where there is a feature",
        ),
        (
            lambda: interactive(ones(4, 3), ones(5, 2), mask_2=ones(4) > 0),
            "the mask of features_2 must broadcast to (5,), one truth value a feature, but is (4,)",
        ),
        (
            lambda: interactive(ones(4, 3), ones(5, 2), mask_2=ones(1, 5) > 0),
            "It has no axis of queries",
        ),
        (
            lambda: interactive(ones(4, 3), ones(5, 2), mask_2=ones(()) > 0),
            "must broadcast to (5,), one truth value a feature, but is ()",
        ),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()
