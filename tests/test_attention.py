"""The general attention model against its definition in loops, and its properties P0.1–P0.7."""

import re

import array_api_strict
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import nn

from attn_course import running_example
from attn_course.attention import (
    AttentionModel,
    SoftmaxOutput,
    TaskModel,
    attend,
    attend_by_scores,
    mean_feature,
)
from attn_course.definitions import attention as definition
from attn_course.definitions.scoring import dot as dot_of_one_pair
from attn_course.definitions.scoring import no_query as no_query_of_one_key
from attn_course.definitions.scoring import times
from attn_course.scoring import dot, no_query

Q, K, D, D_V = 3, 7, 5, 2  # every axis its own prime: a swapped axis can't pass


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draw(rng, *batch, q=Q, k=K, d=D, d_v=D_V):
    return (
        rng.normal(size=(*batch, q, d)),
        rng.normal(size=(*batch, k, d)),
        rng.normal(size=(*batch, k, d_v)),
    )


seeds = st.integers(0, 2**32 - 1)


# --- agreement ---------------------------------------------------------------------------------


@pytest.mark.agrees("attention.attend", "definitions.attention.attend")
@given(seed=seeds, q=st.sampled_from([1, 3]), k=st.sampled_from([1, 2, 7]))
def test_attend_agrees_with_its_definition_in_loops(seed, q, k):
    queries, keys, values = draw(np.random.default_rng(seed), q=q, k=k)
    context, weights = attend(queries, keys, values)
    for i in range(q):
        c, a = definition.attend(queries[i], keys, values)
        np.testing.assert_allclose(context[i], c, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(weights[i], a, rtol=1e-12, atol=1e-14)


@pytest.mark.agrees("attention.attend", "definitions.attention.attend")
@given(seed=seeds)
def test_a_masked_attend_agrees_with_its_definition_in_loops(seed):
    rng = np.random.default_rng(seed)
    queries, keys, values = draw(rng)
    mask = rng.random((Q, K)) < 0.4  # some rows are masked out whole
    context, weights = attend(queries, keys, values, mask=mask)
    for i in range(Q):
        c, a = definition.attend(queries[i], keys, values, mask=mask[i])
        np.testing.assert_allclose(context[i], c, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(weights[i], a, rtol=1e-12, atol=1e-14)


@pytest.mark.agrees("attention.attend", "PyTorch")
def test_attend_agrees_with_pytorch_own_kernel(rng):
    queries, keys, values = (torch.from_numpy(a) for a in draw(rng, 2, 11))
    mask = torch.from_numpy(rng.random((2, 1, 1, K)) < 0.7)
    mask[..., 0] = True
    context, _ = attend(queries, keys, values, mask=mask)
    theirs = nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    torch.testing.assert_close(context, theirs)


def test_numpy_pytorch_and_the_strict_array_api_agree(rng):
    arrays = draw(rng, 2)
    mask = rng.random((2, Q, K)) < 0.5
    wanted_context, wanted_weights = attend(*arrays, mask=mask)
    for library in (torch, array_api_strict):
        context, weights = attend(*(library.asarray(a) for a in arrays), mask=library.asarray(mask))
        np.testing.assert_allclose(np.asarray(context), wanted_context, atol=1e-14)
        np.testing.assert_allclose(np.asarray(weights), wanted_weights, atol=1e-14)


def test_masks_of_keys_and_of_the_future_are_the_same_in_every_library(rng):
    arrays, real = draw(rng, 2), rng.random((2, K)) < 0.6
    past = np.tri(Q, K, K - Q, dtype=bool)  # the last query is at the last key
    wanted_context, wanted_weights = attend(*arrays, mask=real[:, None] & past)
    for library in (np, torch, array_api_strict):
        context, weights = attend(
            *(library.asarray(a) for a in arrays), key_mask=library.asarray(real), causal=True
        )
        np.testing.assert_allclose(np.asarray(context), wanted_context, atol=1e-14)
        np.testing.assert_allclose(np.asarray(weights), wanted_weights, atol=1e-14)


def test_the_mean_feature_counts_what_is_there_in_every_library(rng):
    features, mask = rng.normal(size=(5, K, D)), rng.random((5, K)) < 0.5
    mask[3] = False
    features[~mask] = np.nan
    wanted = [
        one[keep].mean(0) if keep.any() else np.zeros(D)
        for one, keep in zip(features, mask, strict=True)
    ]
    np.testing.assert_allclose(mean_feature(features, mask), wanted)
    np.testing.assert_allclose(mean_feature(features[mask]), features[mask].mean(0))
    for library in (torch, array_api_strict):
        mean = mean_feature(library.asarray(features), library.asarray(mask))
        np.testing.assert_allclose(np.asarray(mean), wanted)


def test_a_batch_is_the_same_as_one_at_a_time(rng):
    queries, keys, values = draw(rng, 5)
    context, weights = attend(queries, keys, values)
    for b in range(5):
        c, a = attend(queries[b], keys[b], values[b])
        np.testing.assert_allclose(context[b], c)
        np.testing.assert_allclose(weights[b], a)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_the_dtype_of_the_inputs_is_kept(dtype):
    x = torch.eye(3, dtype=dtype)
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    for given_mask in (None, mask):
        context, weights = attend(x, x, x, mask=given_mask)
        assert context.dtype == weights.dtype == dtype
        assert torch.isfinite(context).all()


# --- the numbered properties of the general module ---------------------------------------------


@pytest.mark.proves("P0.1")
def test_permuting_keys_with_values_permutes_weights_and_keeps_the_context(rng):
    queries, keys, values = draw(rng)
    order = rng.permutation(K)
    context, weights = attend(queries, keys, values)
    permuted_context, permuted_weights = attend(queries, keys[order], values[order])
    np.testing.assert_allclose(permuted_weights, weights[:, order])
    np.testing.assert_allclose(permuted_context, context)


@pytest.mark.proves("P0.2")
@given(seed=seeds)
def test_weights_are_a_distribution_and_the_context_stays_between_the_values(seed):
    queries, keys, values = draw(np.random.default_rng(seed))
    context, weights = attend(queries, keys, values)
    assert (weights > 0).all()
    np.testing.assert_allclose(weights.sum(-1), 1)
    assert (context >= values.min(0) - 1e-12).all()
    assert (context <= values.max(0) + 1e-12).all()


@pytest.mark.proves("P0.3")
def test_equal_keys_give_the_mean(rng):
    queries, keys, values = draw(rng)
    context, weights = attend(queries, np.tile(keys[:1], (K, 1)), values)
    np.testing.assert_allclose(weights, 1 / K)
    np.testing.assert_allclose(context, np.tile(values.mean(0), (Q, 1)))


@pytest.mark.proves("P0.4")
def test_a_single_key_takes_all_the_weight(rng):
    queries, keys, values = draw(rng, k=1)
    context, weights = attend(queries, keys, values)
    np.testing.assert_array_equal(weights, np.ones((Q, 1)))
    np.testing.assert_allclose(context, np.tile(values, (Q, 1)))


@pytest.mark.proves("P0.5")
def test_equal_values_come_out_unchanged(rng):
    queries, keys, values = draw(rng)
    context, _ = attend(queries, keys, np.tile(values[:1], (K, 1)))
    np.testing.assert_allclose(context, np.tile(values[:1], (Q, 1)))


@pytest.mark.proves("P0.6")
def test_an_affine_map_of_the_values_maps_the_context(rng):
    queries, keys, values = draw(rng)
    M, u = rng.normal(size=(3, D_V)), rng.normal(size=3)
    context, _ = attend(queries, keys, values)
    mapped, _ = attend(queries, keys, values @ M.T + u)
    np.testing.assert_allclose(mapped, context @ M.T + u)


@pytest.mark.proves("P0.7")
def test_doubling_every_pair_halves_the_weights_and_keeps_the_context(rng):
    queries, keys, values = draw(rng)
    context, weights = attend(queries, keys, values)
    again, halves = attend(queries, np.tile(keys, (2, 1)), np.tile(values, (2, 1)))
    np.testing.assert_allclose(halves, np.tile(weights / 2, (1, 2)))
    np.testing.assert_allclose(again, context)


def test_the_gradient_of_the_scores_is_a_times_g_times_value_minus_context(rng):
    queries, keys, values = (torch.from_numpy(a) for a in draw(rng, q=1))
    scores = torch.from_numpy(rng.normal(size=(1, K))).requires_grad_()
    context, weights = attend(queries, keys, values, score=lambda q, k: scores)
    g = torch.from_numpy(rng.normal(size=(1, D_V)))
    (gradient,) = torch.autograd.grad(context, scores, g)
    a, c = weights[0].detach(), context[0].detach()
    expected = [float(a[j] * (g[0] @ (values[j] - c))) for j in range(K)]
    np.testing.assert_allclose(gradient[0], expected, atol=1e-14)
    assert abs(float(gradient.sum())) < 1e-14  # shifting all scores changes nothing


def test_gradcheck_with_and_without_a_mask(rng):
    arrays = [torch.from_numpy(a).requires_grad_() for a in draw(rng)]
    mask = torch.from_numpy(rng.random((Q, K)) < 0.5)
    mask[1] = False
    assert torch.autograd.gradcheck(lambda *a: attend(*a), arrays)
    assert torch.autograd.gradcheck(lambda *a: attend(*a, mask=mask), arrays)


# --- masks -------------------------------------------------------------------------------------


def test_a_fully_masked_row_gets_no_weight_no_context_and_no_gradient(rng):
    arrays = [torch.from_numpy(a).requires_grad_() for a in draw(rng)]
    mask = torch.ones(Q, K, dtype=torch.bool)
    mask[1] = False
    context, weights = attend(*arrays, mask=mask)
    assert (weights[1] == 0).all()
    assert (context[1] == 0).all()
    queries, keys, values = torch.autograd.grad(context.sum(), arrays)
    assert (queries[1] == 0).all()
    assert all(torch.isfinite(g).all() for g in (queries, keys, values))


@pytest.mark.parametrize("junk", [np.nan, np.inf, -np.inf, 1e30])
def test_what_is_masked_never_reaches_the_context(rng, junk):
    queries, keys, values = draw(rng)
    mask = np.tril(np.ones((K, K), dtype=bool))[2 : 2 + Q]  # causal: each query its own mask
    wanted, _ = attend(queries, keys, values, mask=mask)
    spoiled = values.copy()
    spoiled[3] = junk  # the first query (row 2 of the triangle) may not see position 3
    context, _ = attend(queries, keys, spoiled, mask=mask)
    np.testing.assert_array_equal(context[0], wanted[0])
    if not np.isfinite(junk):  # the second may, and gets what it asked for
        np.testing.assert_array_equal(context[1], np.full(D_V, junk))


@given(where=arrays(np.bool_, (3, K, D_V)))
def test_a_mask_of_ones_is_no_mask_for_values_that_are_not_finite(where):
    queries, keys, values = draw(np.random.default_rng(0))
    for junk, places in zip([np.inf, -np.inf, np.nan], where, strict=True):
        values[places] = junk
    with np.errstate(invalid="ignore"):  # inf - inf
        plain, _ = attend(queries, keys, values)
        masked, _ = attend(queries, keys, values, mask=np.ones((Q, K), dtype=bool))
    np.testing.assert_allclose(masked, plain)


def test_a_broken_number_spoils_only_its_own_feature(rng):
    queries, keys, values = draw(rng)
    values[0, 1] = np.nan
    context, _ = attend(queries, keys, values, mask=np.ones((1, K), dtype=bool))
    assert np.isfinite(context[:, 0]).all()
    assert np.isnan(context[:, 1]).all()


def test_attend_can_be_vectorised_over_a_batch_by_pytorch(rng):
    queries, keys, values = (torch.from_numpy(a) for a in draw(rng, 5))
    mask = torch.from_numpy(rng.random((5, Q, K)) < 0.5)

    def one(q, k, v, m):
        return attend(q, k, v, mask=m)[0]

    together = torch.func.vmap(one)(queries, keys, values, mask)  # no number is known in there
    torch.testing.assert_close(together, attend(queries, keys, values, mask=mask)[0])


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")
@pytest.mark.parametrize("junk", [0.0, np.nan, np.inf])
def test_attend_can_be_compiled_as_one_graph_by_pytorch(rng, junk):
    queries, keys, values = (torch.from_numpy(a) for a in draw(rng))
    values[2] = junk
    mask = torch.ones(Q, K, dtype=torch.bool).tril()  # the first two may not see it
    compiled = torch.compile(attend, fullgraph=True, backend="eager")
    context, weights = compiled(queries, keys, values, mask=mask)
    wanted_context, wanted_weights = attend(queries, keys, values, mask=mask)
    torch.testing.assert_close(context, wanted_context, equal_nan=True)
    torch.testing.assert_close(weights, wanted_weights)
    assert torch.isfinite(context[:2]).all()


def test_padding_changes_nothing(rng):
    queries, keys, values = draw(rng)
    context, weights = attend(queries, keys, values)
    junk = rng.normal(size=(4, D)) * 100
    mask = np.arange(K + 4) < K
    padded_context, padded_weights = attend(
        queries,
        np.concatenate([keys, junk]),
        np.concatenate([values, junk[:, :D_V]]),
        mask=mask[None],
    )
    np.testing.assert_allclose(padded_context, context)
    np.testing.assert_allclose(padded_weights[:, :K], weights)


# --- without a query ---------------------------------------------------------------------------


@pytest.mark.agrees("attention.attend_by_scores", "definitions.attention.attend")
@given(seed=seeds)
def test_attention_by_scores_of_keys_alone_agrees_with_its_definition_in_loops(seed):
    rng = np.random.default_rng(seed)
    _, keys, values = draw(rng)
    w, W, mask = rng.normal(size=7), rng.normal(size=(7, D)), rng.random(K) < 0.6
    context, weights = attend_by_scores(no_query(keys, w, W), values, mask=mask)
    c, a = definition.attend((), keys, values, lambda _, k: no_query_of_one_key(k, w, W), mask)
    np.testing.assert_allclose(context, [c], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(weights, [a], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("broken", [0.0, np.nan, np.inf])
def test_attend_is_attention_by_the_scores_of_its_queries_and_keys(rng, broken):
    queries, keys, values = draw(rng, 2)
    values[0, 2] += broken
    mask = rng.random((2, Q, K)) < 0.5
    for given_mask in (None, mask):
        context, weights = attend(queries, keys, values, dot, mask=given_mask)
        again, the_same = attend_by_scores(dot(queries, keys), values, mask=given_mask)
        np.testing.assert_array_equal(again, context)
        np.testing.assert_array_equal(the_same, weights)


def test_scores_and_values_that_do_not_fit_are_refused_with_their_shapes():
    sentence = r"scores are \(1, 3\), values are \(4, 2\), so 3 scores meet 4 values"
    with pytest.raises(ValueError, match=sentence):
        attend_by_scores(np.ones((1, 3)), np.ones((4, 2)))
    with pytest.raises(ValueError, match=r"scores must be .*\(\.\.\., q, k\)"):
        attend_by_scores(np.ones(3), np.ones((3, 2)))
    with pytest.raises(ValueError, match="mask must be boolean"):
        attend_by_scores(np.ones((1, 3)), np.ones((3, 2)), mask=np.ones((1, 3)))


# --- the four models ---------------------------------------------------------------------------


@pytest.mark.agrees(
    "attention.TaskModel",
    "definitions.attention.attend",
    "definitions.attention.softmax_output",
)
def test_task_model_is_the_five_equations(rng):
    torch.manual_seed(0)
    n, d_x, d_f, d_k, d_v, d_y = 7, 3, 5, 2, 11, 13
    model = TaskModel(
        feature_model=nn.Linear(d_x, d_f),
        query_model=nn.Linear(17, d_k),
        attention=AttentionModel(d_f, d_k=d_k, d_v=d_v, score=dot),
        output_model=SoftmaxOutput(d_v, d_y),
    ).double()
    inputs = torch.from_numpy(rng.normal(size=(1, n, d_x)))
    query_inputs = torch.from_numpy(rng.normal(size=(1, 1, 17)))
    predictions, weights = model(inputs, query_inputs)
    assert predictions.shape == (1, 1, d_y)
    assert weights.shape == (1, 1, n)

    with torch.no_grad():
        features = model.feature_model(inputs)[0].numpy()
        query = model.query_model(query_inputs)[0, 0].numpy()
    W_K, W_V = (m.weight.detach().numpy() for m in _maps(model.attention))
    keys = [times(W_K, feature) for feature in features]
    values = [times(W_V, feature) for feature in features]
    context, a = definition.attend(query, keys, values, score=dot_of_one_pair)
    W_c = model.output_model.logits.weight.detach().numpy()
    b_c = model.output_model.logits.bias.detach().numpy()
    np.testing.assert_allclose(weights.detach()[0, 0], a)
    np.testing.assert_allclose(
        predictions.detach()[0, 0], definition.softmax_output(context, W_c, b_c)
    )


def _maps(attention):
    return attention.key_map, attention.value_map


def test_without_widths_the_features_are_the_keys_and_the_values(rng):
    features = torch.from_numpy(running_example.features())
    query = features[2:3]
    context, weights = AttentionModel(d_f=3)(features, query)
    wanted_context, wanted_weights = attend(query, features, features)
    assert torch.equal(context, wanted_context)
    assert torch.equal(weights, wanted_weights)


def test_a_query_model_without_inputs_sees_the_features(rng):
    class MeanQuery(nn.Module):
        def forward(self, features):
            return features.mean(-2, keepdim=True)

    features = torch.from_numpy(running_example.features())
    model = TaskModel(nn.Identity(), MeanQuery(), AttentionModel(d_f=3), nn.Identity())
    context, weights = model(features)
    wanted, _ = attend(features.mean(0, keepdim=True), features, features)
    assert torch.equal(context, wanted)
    assert weights.shape == (1, 6)


def test_every_parameter_of_the_task_model_learns(rng):
    torch.manual_seed(0)
    model = TaskModel(
        nn.Linear(3, 5), nn.Linear(5, 2), AttentionModel(5, d_k=2, d_v=7), SoftmaxOutput(7, 11)
    )
    predictions, _ = model(torch.randn(13, 6, 3), mask=torch.ones(13, 1, 6, dtype=torch.bool))
    (-predictions[..., 0].log().mean()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.abs().sum() > 0, name


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (dict(keys=np.ones((4, D))), "4 keys meet 7 values"),
        (dict(keys=np.ones((K, 3))), "same width: queries are (3, 5), keys are (7, 3)"),
        (dict(keys=np.ones(D)), "keys must be (..., k, d_k), but came as (5,)"),
        (dict(values=np.ones(K)), "values must be (..., k, d_v), but came as (7,)"),
        (dict(queries=np.ones(D)), "queries must be (..., q, d_q), but came as (5,)"),
        (dict(queries=[[1.0] * D]), "queries must be an array (NumPy, PyTorch, …), but is a list"),
        (dict(queries=torch.ones(Q, D)), "all arrays must come from one library"),
        (dict(mask=np.ones((Q, K))), "mask must be boolean"),
        (dict(mask=np.ones((K, Q), dtype=bool)), "mask must broadcast to the scores (3, 7)"),
        (dict(keys=np.ones((0, D)), values=np.ones((0, D_V))), "there are no keys to attend to"),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(change, sentence):
    given = dict(queries=np.ones((Q, D)), keys=np.ones((K, D)), values=np.ones((K, D_V))) | change
    with pytest.raises(ValueError, match=re.escape(sentence)):
        attend(**given)


@pytest.mark.parametrize("name", ["queries", "keys", "values"])
def test_batches_that_do_not_fit_are_named(name):
    arrays = dict(queries=torch.ones(2, Q, D), keys=torch.ones(2, K, D), values=torch.ones(2, K, 3))
    arrays[name] = arrays[name][:1].expand(5, -1, -1)
    with pytest.raises(ValueError, match="the leading axes do not fit"):
        attend(**arrays)
