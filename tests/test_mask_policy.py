"""The policy of `attention.mask_policy`, over every mechanism that has a mask.

Whatever is masked has no effect, on results and on gradients, even if it is NaN or inf.
"""

from functools import partial

import numpy as np
import pytest
import torch

from attn_course import alignment
from attn_course.alignment import causal_mask
from attn_course.attention import AttentionModel, SoftmaxOutput, TaskModel, attend, mean_feature
from attn_course.attention.mask_policy import all_finite
from attn_course.dimensionality import attend_multi, multi_scores
from attn_course.features import (
    AlternatingCoAttention,
    AttentionViaAttention,
    HierarchicalAttention,
    InteractiveCoAttention,
    MetaEmbedding,
    MultiGrainedCoAttention,
    ParallelCoAttention,
    RotatoryAttention,
)
from attn_course.general_attention import Attention, DecoderLayer, EncoderLayer
from attn_course.learned_scores import SCORE_NAMES, make_score
from attn_course.nadaraya_watson import regress
from attn_course.queries import (
    CapsuleAttention,
    MultiHeadAttention,
    MultiHopAttention,
    SelfAttention,
    SelfAttentivePooling,
    memory_hops,
)
from attn_course.scale import grouped_query_attention

B, Q, N, D = 2, 3, 7, 6
MASK = torch.tensor([[True] * 7, [True, False, True, True, False, False, False]])
PAIRS = MASK[:, None]
JUNK = [torch.nan, torch.inf, -torch.inf, 1e30]


def tensor(*size, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*size, dtype=torch.float64, generator=generator)


def drawn(module):
    """Return the module in double precision with every parameter drawn at random."""
    generator = torch.Generator().manual_seed(0)
    module = module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator))
    return module


QUERIES = tensor(B, Q, D, seed=1)
OTHER = tensor(B, Q, D, seed=2)
LOOKUP = {
    f"attend, {score}, {name}": (
        make_score(score, D, D),
        lambda layer, x, align=align: attend(QUERIES, x, x, layer, align, PAIRS)[0],
    )
    for score in SCORE_NAMES
    for name, align in {
        "softmax": alignment.softmax,
        "sparsemax": alignment.sparsemax,
        "entmax15": alignment.entmax15,
        "local": partial(alignment.local_monotonic, steps=torch.arange(Q) + 2, half_width=2),
    }.items()
}


def entry_scores(layer, queries, keys):
    W_q, W_k, W_d = (linear.weight for linear in layer)
    return multi_scores(queries, keys, W_d, W_q, W_k)


def three_maps():
    return torch.nn.ModuleList(torch.nn.Linear(D, D, bias=False) for _ in range(3))


# The mechanism, and its result for features `(B, N, D)` of which MASK says which are real.
MECHANISMS = LOOKUP | {
    "attend, key_mask": (None, lambda _, x: attend(QUERIES, x, x, key_mask=MASK)[0]),
    "attend_multi": (
        three_maps(),
        lambda layer, x: attend_multi(
            QUERIES, x, x, partial(entry_scores, layer), mask=MASK[:, None]
        )[0],
    ),
    "mean_feature": (None, lambda _, x: mean_feature(x, MASK)),
    "regress": (None, lambda _, x: regress(QUERIES[..., 0], x[..., 0], x[..., 1], 1.0, PAIRS)),
    "memory_hops": (None, lambda _, x: memory_hops(QUERIES, x, x, hops=2, mask=PAIRS)[0]),
    "grouped_query_attention": (
        None,
        lambda _, x: grouped_query_attention(
            QUERIES[:, None].expand(B, 4, Q, D),
            x[:, None].expand(B, 2, N, D),
            x[:, None].expand(B, 2, N, D),
            MASK[:, None, None],
        )[0],
    ),
    "MultiHeadAttention": (
        MultiHeadAttention(D, 2),
        lambda layer, x: layer(QUERIES, x, x, key_mask=MASK)[0],
    ),
    "MultiHeadAttention, general": (
        MultiHeadAttention(D, 2, score="general"),
        lambda layer, x: layer(QUERIES, x, x, key_mask=MASK)[0],
    ),
    "MultiHeadAttention, no weights": (
        MultiHeadAttention(D, 2),
        lambda layer, x: layer(QUERIES, x, x, key_mask=MASK, need_weights=False)[0],
    ),
    "MultiHeadAttention of itself": (
        MultiHeadAttention(D, 2),
        lambda layer, x: layer(x, x, x, key_mask=MASK, need_weights=False)[0][MASK],
    ),
    "SelfAttention": (SelfAttention(D), lambda layer, x: layer(x, key_mask=MASK)[0][MASK]),
    **{
        f"SelfAttentivePooling, {form}": (
            SelfAttentivePooling(D, form),
            lambda layer, x: layer(x, MASK)[0],
        )
        for form in ("removed", "learned", "structured")
    },
    "CapsuleAttention": (CapsuleAttention(D, 5), lambda layer, x: layer(x, MASK)[0].probabilities),
    "MultiHopAttention": (
        MultiHopAttention(D, D, hops=2),
        lambda layer, x: layer(x, x, MASK, MASK)[0],
    ),
    "AttentionModel": (
        AttentionModel(D, d_k=D, d_v=5),
        lambda layer, x: layer(x, QUERIES, MASK[:, None])[0],
    ),
    "TaskModel": (
        TaskModel(
            torch.nn.Identity(),
            torch.nn.Linear(D, D),
            AttentionModel(D, d_k=D, d_v=5),
            SoftmaxOutput(5, 3),
        ),
        lambda layer, x: layer(x, QUERIES, MASK[:, None])[0],
    ),
    "Attention, self": (
        Attention(D, query="self", d_k=D, d_v=5),
        lambda layer, x: layer(x, key_mask=MASK)[0][MASK],
    ),
    "Attention, heads and hops": (
        Attention(D, query="self", heads=2, hops=2),
        lambda layer, x: layer(x, key_mask=MASK)[0][MASK],
    ),
    "Attention, multi": (
        Attention(D, score="additive", dimension="multi", d_q=D, d_k=5),
        lambda layer, x: layer(x, QUERIES, key_mask=MASK)[0],
    ),
    **{
        f"EncoderLayer, {norm}": (
            EncoderLayer(D, 2, 11, norm),
            lambda layer, x: layer(x, key_mask=MASK, need_weights=False)[0][MASK],
        )
        for norm in ("pre", "post")
    },
    "DecoderLayer": (
        DecoderLayer(D, 2, 11),
        lambda layer, x: layer(x, OTHER, key_mask=MASK, causal=True, need_weights=False)[0][MASK],
    ),
    "DecoderLayer, memory": (
        DecoderLayer(D, 2, 11),
        lambda layer, x: layer(OTHER, x, memory_key_mask=MASK, need_weights=False)[0],
    ),
    **{
        type(layer).__name__: (layer, lambda layer, x: layer(x, OTHER, MASK)[0])
        for layer in (
            AlternatingCoAttention((D, D)),
            InteractiveCoAttention((D, D)),
            ParallelCoAttention((D, D)),
            MultiGrainedCoAttention((D, D)),
        )
    },
    "RotatoryAttention": (
        RotatoryAttention((D, D, D)),
        lambda layer, x: layer(OTHER, x, x, None, MASK, MASK)[0],
    ),
    "AttentionViaAttention": (
        AttentionViaAttention(D, (D, D)),
        lambda layer, x: layer(QUERIES, x, x, MASK, MASK)[0],
    ),
    "HierarchicalAttention": (HierarchicalAttention(D), lambda layer, x: layer(x, MASK)[0]),
    "MetaEmbedding": (
        MetaEmbedding((D, D), 5),
        lambda layer, x: layer([x, OTHER[:, :1]], torch.stack([MASK, MASK | True], -1))[0],
    ),
}


def with_gradients(layer, result_of, features):
    """Return the result, the gradient of the features and those of the parameters."""
    features = features.clone().requires_grad_()
    parameters = [] if layer is None else list(layer.parameters())
    result = result_of(layer, features)
    loss = result.square().sum()
    gradients = torch.autograd.grad(loss, [features, *parameters], materialize_grads=True)
    return [result, *gradients]


def ignores(name, junk):
    """Return whether junk in the masked features changes neither results nor gradients."""
    layer, result_of = MECHANISMS[name]
    layer = None if layer is None else drawn(layer)
    features = tensor(B, N, D)
    wanted = with_gradients(layer, result_of, features.masked_fill(~MASK[..., None], 0.0))
    got = with_gradients(layer, result_of, features.masked_fill(~MASK[..., None], junk))
    same = [
        mine.shape == clean.shape and torch.allclose(mine, clean, rtol=1e-7, atol=1e-7)
        for mine, clean in zip(got, wanted, strict=True)
    ]
    return all(same) and bool((got[1][~MASK] == 0).all())


@pytest.mark.parametrize("junk", JUNK)
def test_a_masked_feature_has_no_effect_on_results_and_gradients(junk):
    assert [name for name in MECHANISMS if not ignores(name, junk)] == []


# Where each query has a mask of its own: the last feature is broken, and only the last query may
# attend to it. The others must not notice.
CAUSAL = causal_mask(N, like=QUERIES)
OWN = tensor(B, N, D, seed=3)
OF_PAIRS = {
    **{
        f"attend, {score}": (
            make_score(score, D, D),
            lambda layer, x: attend(OWN, x, x, layer, causal=True)[0],
        )
        for score in SCORE_NAMES
    },
    "attend, sparsemax": (None, lambda _, x: attend(OWN, x, x, align="sparsemax", mask=CAUSAL)[0]),
    "attend_multi": (
        three_maps(),
        lambda layer, x: attend_multi(OWN, x, x, partial(entry_scores, layer), mask=CAUSAL)[0],
    ),
    **{
        f"MultiHeadAttention, need_weights={need_weights}": (
            MultiHeadAttention(D, 2),
            lambda layer, x, need=need_weights: layer(x, x, x, None, need, causal=True)[0],
        )
        for need_weights in (True, False)
    },
    "SelfAttention": (SelfAttention(D), lambda layer, x: layer(x, causal=True)[0]),
    "AttentionModel": (AttentionModel(D, D, 5), lambda layer, x: layer(x, OWN, CAUSAL)[0]),
    "Attention, self": (
        Attention(D, query="self", d_k=D, d_v=5),
        lambda layer, x: layer(x, causal=True)[0],
    ),
    "Attention, heads": (
        Attention(D, query="self", heads=2),
        lambda layer, x: layer(x, causal=True)[0],
    ),
    "Attention, multi": (
        Attention(D, score="additive", dimension="multi", query="self"),
        lambda layer, x: layer(x, causal=True)[0],
    ),
}


@pytest.mark.parametrize("junk", [torch.nan, torch.inf])
@pytest.mark.parametrize("name", OF_PAIRS)
def test_a_pair_that_is_masked_has_no_effect_where_another_query_sees_the_key(name, junk):
    layer, result_of = OF_PAIRS[name]
    layer = None if layer is None else drawn(layer)
    features = tensor(B, N, D)
    spoiled = features.clone()
    spoiled[:, -1] = junk

    def of_the_others(layer, x):
        return result_of(layer, x)[:, :-1]

    wanted = with_gradients(layer, of_the_others, features)
    got = with_gradients(layer, of_the_others, spoiled)
    for mine, clean in zip(got, wanted, strict=True):
        torch.testing.assert_close(mine, clean)
    assert not result_of(layer, spoiled)[:, -1].isfinite().all()


def test_a_broken_query_that_may_attend_nowhere_has_no_effect():
    x, square = tensor(B, N, D), MASK[:, :, None] & MASK[:, None, :]
    broken = x.masked_fill(~MASK[..., None], torch.nan)
    wanted = with_gradients(None, lambda _, x: attend(x, x, x, mask=square)[0], x)
    got = with_gradients(None, lambda _, x: attend(x, x, x, mask=square)[0], broken)
    for mine, clean in zip(got, wanted, strict=True):
        torch.testing.assert_close(mine, clean)
    assert (got[0][~MASK] == 0).all()


def test_a_key_of_minus_infinity_that_is_seen_counts_as_the_formula_says():
    keys, values = np.array([[-np.inf], [1.0], [2.0]]), np.array([[5.0], [7.0], [9.0]])
    query, everything = np.array([[1.0]]), np.ones((1, 3), dtype=bool)
    plain, _ = attend(query, keys, values)
    masked, _ = attend(query, keys, values, mask=everything)
    np.testing.assert_array_equal(masked, plain)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_many_finite_numbers_are_finite_in_any_precision(dtype):
    ones = torch.ones(70_000, dtype=dtype)  # their sum is above the largest number of float16
    assert all_finite(ones, ones)
    ones[-1] = torch.inf
    assert not all_finite(ones)
    assert not all_finite(ones, -ones)


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")
@pytest.mark.parametrize("need_weights", [True, False])
def test_the_policy_is_kept_in_a_compiled_layer_too(need_weights):
    layer, features = drawn(MultiHeadAttention(D, 2)), tensor(B, N, D)
    broken = features.masked_fill(~MASK[..., None], torch.nan)
    compiled = torch.compile(layer, fullgraph=True, backend="eager")

    def by(module):
        return lambda _, x: module(QUERIES, x, x, need_weights=need_weights, key_mask=MASK)[0]

    wanted = with_gradients(layer, by(layer), features.masked_fill(~MASK[..., None], 0.0))
    got = with_gradients(layer, by(compiled), broken)
    for mine, clean in zip(got, wanted, strict=True):
        torch.testing.assert_close(mine, clean)
