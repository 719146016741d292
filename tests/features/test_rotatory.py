"""Rotatory attention against its definition in loops, and properties P4.16–P4.19."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from attn_course.definitions import features as definition
from attn_course.features import RotatoryAttention
from tests.features.by_hand import assert_close, by_hand, keys_and_values, shaken

N_T, N_L, N_R = 2, 3, 5
D_F = D_T, D_L, D_R = 7, 11, 13
D_K, D_V = (17, 19, 23), (D_T, 5, 3)  # several hops need values as wide as the target
NAMES = ("r_l", "r_r", "r_lt", "r_rt")


def draw(seed=0, sizes=(N_T, N_L, N_R), widths=D_F):
    generator = torch.Generator().manual_seed(seed)
    features = [
        torch.randn(n, d, generator=generator, dtype=torch.float64)
        for n, d in zip(sizes, widths, strict=True)
    ]
    masks = [torch.rand(n, generator=generator) < 0.5 for n in sizes]  # some are empty
    return generator, features, masks


def rotatory(widths=D_F, **options):
    torch.manual_seed(0)
    return RotatoryAttention(widths, **options).double()


@pytest.mark.agrees("features.RotatoryAttention", "definitions.features.rotatory")
@pytest.mark.parametrize("hops", [1, 2, 3])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=6)
def test_rotatory_agrees_with_its_definition_in_loops(hops, seed):
    generator, features, masks = draw(seed)
    layer = shaken(RotatoryAttention(D_F, hops, d_k=D_K, d_v=D_V).double(), generator)
    inputs = layer.target, layer.left, layer.right
    target, left, right = (keys_and_values(i, f) for i, f in zip(inputs, features, strict=True))
    names = ("score_l", "score_r", "score_lt", "score_rt")
    scores = {name: by_hand(getattr(layer, name)) for name in names}
    for given_masks in ((None, None, None), masks):
        output, weights = layer(*features, *given_masks)
        target_mask, left_mask, right_mask = (m if m is None else m.tolist() for m in given_masks)
        contexts, wanted = definition.rotatory(
            (features[0].tolist(), *target),
            left,
            right,
            **scores,
            hops=hops,
            target_mask=target_mask,
            left_mask=left_mask,
            right_mask=right_mask,
        )
        flat = [x for name in NAMES for x in contexts[name]]
        assert_close(output.detach(), torch.tensor(flat, dtype=torch.float64))
        assert len(weights) == hops
        for ours, theirs in zip(weights, wanted, strict=True):
            assert set(ours) == set(theirs)
            for name, a in ours.items():
                assert_close(a.detach(), torch.tensor(theirs[name], dtype=torch.float64))


def test_each_of_the_four_scores_has_its_own_matrix_and_number():
    layer = rotatory(d_k=D_K, d_v=D_V)
    shapes = {name: tuple(p.shape) for name, p in layer.named_parameters() if "score" in name}
    assert shapes == {
        "score_l.W": (D_K[1], D_T),
        "score_r.W": (D_K[2], D_T),
        "score_lt.W": (D_K[0], D_V[1]),
        "score_rt.W": (D_K[0], D_V[2]),
        "score_l.b": (),
        "score_r.b": (),
        "score_lt.b": (),
        "score_rt.b": (),
    }
    d = 5
    assert sum(p.numel() for p in rotatory((d, d, d)).parameters()) == 4 * d**2 + 4


@pytest.mark.agrees("features.RotatoryAttention", "PyTorch")
def test_rotatory_with_dot_products_agrees_with_pytorch_own_kernel():
    _, (target, left, right), _ = draw(widths=(D_T,) * 3)
    output, _ = rotatory((D_T,) * 3, score="scaled_dot", hops=2)(target, left, right)
    r_lt = r_rt = target.mean(0, keepdim=True)
    for _ in range(2):
        r_l = scaled_dot_product_attention(r_lt, left, left)
        r_r = scaled_dot_product_attention(r_rt, right, right)
        r_lt = scaled_dot_product_attention(r_l, target, target)
        r_rt = scaled_dot_product_attention(r_r, target, target)
    assert_close(output, torch.cat([r_l[0], r_r[0], r_lt[0], r_rt[0]]))


@pytest.mark.proves("P4.16")
@pytest.mark.parametrize("hops", [1, 3])
def test_a_target_of_one_word_is_found_from_both_sides(hops):
    _, (target, left, right), _ = draw(sizes=(1, N_L, N_R))
    output, weights = rotatory(hops=hops)(target, left, right)
    assert_close(output[D_L + D_R :], target[0].repeat(2))
    assert weights[-1]["a_lt"].tolist() == weights[-1]["a_rt"].tolist() == [1.0]


@pytest.mark.proves("P4.17")
@pytest.mark.parametrize("hops", [1, 3])
def test_equal_contexts_with_tied_parameters_give_equal_sides(hops):
    _, (target, left, _), _ = draw()
    layer = rotatory((D_T, D_L, D_L), hops=hops)
    layer.score_r.load_state_dict(layer.score_l.state_dict())
    layer.score_rt.load_state_dict(layer.score_lt.state_dict())
    output, weights = layer(target, left, left)
    r_l, r_r, r_lt, r_rt = output.split([D_L, D_L, D_T, D_T])
    assert_close(r_l, r_r)
    assert_close(r_lt, r_rt)
    assert_close(weights[-1]["a_lt"], weights[-1]["a_rt"])


@pytest.mark.proves("P4.18")
def test_the_first_of_several_hops_is_the_plain_rotation():
    _, features, masks = draw(seed=1)
    _, plain = rotatory(hops=1)(*features, *masks)
    _, several = rotatory(hops=3)(*features, *masks)
    assert len(plain) == 1
    for name, a in plain[0].items():
        assert_close(several[0][name], a)


def test_a_second_hop_asks_the_left_with_the_left_and_the_right_with_the_right():
    _, (target, left, right), _ = draw()
    once, _ = rotatory(hops=1)(target, left, right)
    r_lt, r_rt = once[D_L + D_R :].split(D_T)
    assert not torch.allclose(r_lt, r_rt)
    _, weights = rotatory(hops=2)(target, left, right)
    # A target of one word is its own mean, so the plain layer can ask with any vector.
    _, from_left = rotatory(hops=1)(r_lt[None], left, right)
    _, from_right = rotatory(hops=1)(r_rt[None], left, right)
    assert_close(weights[1]["a_l"], from_left[0]["a_l"])
    assert_close(weights[1]["a_r"], from_right[0]["a_r"])


@pytest.mark.proves("P4.19")
@pytest.mark.parametrize("hops", [1, 2])
@pytest.mark.parametrize("how", ["masked", "of length 0"])
def test_an_empty_context_is_zero_and_makes_the_target_uniform(hops, how):
    _, (target, left, right), _ = draw()
    layer = rotatory(hops=hops)
    layer.score_lt.b.data.fill_(0.7)
    wanted, _ = layer(target, left, right)
    if how == "masked":
        mask = torch.zeros(N_L, dtype=torch.bool)
        output, weights = layer(target, left, right, left_mask=mask)
        assert (weights[-1]["a_l"] == 0).all()
    else:
        output, weights = layer(target, left[:0], right)
        assert weights[-1]["a_l"].shape == (0,)
    assert (output[:D_L] == 0).all()
    assert_close(weights[-1]["a_lt"], torch.full((N_T,), 1 / N_T, dtype=torch.float64))
    assert_close(output[D_L + D_R : -D_T], target.mean(0))
    assert_close(output[D_L : D_L + D_R], wanted[D_L : D_L + D_R])  # the other side does not notice
    assert_close(output[-D_T:], wanted[-D_T:])


@pytest.mark.proves("P4.19")
def test_in_a_batch_each_example_may_stand_at_an_edge():
    _, (target, left, right), _ = draw()
    layer = rotatory(hops=2)
    batch = [x.expand(3, *x.shape) for x in (target, left, right)]
    left_mask = torch.ones(3, N_L, dtype=torch.bool)
    right_mask = torch.ones(3, N_R, dtype=torch.bool)
    left_mask[0], right_mask[2] = False, False
    output, _ = layer(*batch, None, left_mask, right_mask)
    assert_close(output[0], layer(target, left[:0], right)[0])
    assert_close(output[1], layer(target, left, right)[0])
    assert_close(output[2], layer(target, left, right[:0])[0])


def test_a_batch_without_any_left_context_trains_without_nan():
    layer = rotatory(hops=2)
    _, (target, _, right), _ = draw()
    target = target.expand(3, N_T, D_T)
    left = torch.zeros(3, 0, D_L, dtype=torch.float64)
    output, weights = layer(target, left, right.expand(3, N_R, D_R))
    assert weights[0]["a_l"].shape == (3, 0)
    (output**2).sum().backward()
    assert layer.score_l.W.grad is None  # nothing was asked there
    assert layer.score_r.W.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: RotatoryAttention((7, 11, 13), hops=0), "hops must be at least 1, but is 0"),
        (lambda: RotatoryAttention((7, 11)), "d_f must be 3 widths, for target, left, right"),
        (
            lambda: RotatoryAttention((7, 11, 13), hops=2, d_v=(5, 5, 5)),
            "need the width d_f = 7, but d_v = 5",
        ),
        (
            lambda: RotatoryAttention((7, 11, 13))(
                torch.ones(0, 7), torch.ones(3, 11), torch.ones(5, 13)
            ),
            "target has no features to attend to: it is (0, 7)",
        ),
        (
            lambda: RotatoryAttention((7, 11, 13))(
                torch.ones(2, 11), torch.ones(3, 7), torch.ones(5, 13)
            ),
            "target must be (..., n, d_f) with d_f = 7, but came as (2, 11)",
        ),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()
