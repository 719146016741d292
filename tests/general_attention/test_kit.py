"""The construction kit: the definitions in loops, and what every layer must do."""

import copy
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import nn

from attn_course.alignment import causal_mask
from attn_course.attention import SoftmaxOutput, TaskModel
from attn_course.definitions import attention as attention_definition
from attn_course.definitions import dimensionality as multi_definition
from attn_course.definitions import queries as query_definition
from attn_course.definitions import scoring as score_definition
from attn_course.general_attention import Attention
from attn_course.learned_scores import SCORE_NAMES
from tests.general_attention.sizes import D_F, D_K, D_Q, D_V, D_W, MASK, B, N, Q
from tests.random_layers import assert_close, fresh, numbers, seeds, tensor

# --- the definitions in loops ------------------------------------------------------------------


def projected(layer, features, mask):
    """Return the real keys and values of one example by loops."""
    p = numbers(layer.one)
    real = features[mask].numpy()
    keys = [score_definition.times(p["W_K.weight"], f) for f in real]
    values = [score_definition.times(p["W_V.weight"], f) for f in real]
    return keys, values


@pytest.mark.agrees("general_attention.Attention", "definitions.attention.attend")
@pytest.mark.parametrize("score", SCORE_NAMES)
@settings(max_examples=5)
@given(seed=seeds)
def test_any_score_with_basic_queries_agrees_with_loops(score, seed):
    d_q = D_K if score in ("dot", "scaled_dot", "cosine", "euclidean", "squared_euclidean") else D_Q
    layer = fresh(Attention(D_F, score, d_q=d_q, d_k=D_K, d_v=D_V), seed)
    features, queries = tensor(B, N, D_F, seed=seed), tensor(B, Q, d_q, seed=seed + 1)
    contexts, weights = layer(features, queries, MASK[:, None])
    by_loops = partial(getattr(score_definition, score), **numbers(layer.one.score))
    for b, i in np.ndindex(B, Q):
        keys, values = projected(layer, features[b], MASK[b])
        c, a = attention_definition.attend(queries[b, i].numpy(), keys, values, by_loops)
        assert_close(contexts[b, i], c)
        assert_close(weights[b, i, MASK[b]], a)


@pytest.mark.agrees("general_attention.Attention", "definitions.attention.attend")
def test_a_removed_query_agrees_with_loops():
    layer = fresh(Attention(D_F, "additive", query="removed", d_k=D_K, d_v=D_V, d_w=D_W))
    features = tensor(B, N, D_F)
    contexts, weights = layer(features, mask=MASK[:, None])
    p = numbers(layer.one.score)
    for b in range(B):
        keys, values = projected(layer, features[b], MASK[b])
        by_loops = partial(score_definition.no_query, **p)
        c, a = attention_definition.attend((), keys, values, lambda _, k, f=by_loops: f(k))
        assert_close(contexts[b, 0], c)
        assert_close(weights[b, 0, MASK[b]], a)


@pytest.mark.agrees("general_attention.Attention", "definitions.attention.attend")
@pytest.mark.parametrize("capsules", [0, 3])
def test_learned_queries_agree_with_loops(capsules):
    layer = fresh(Attention(D_F, "dot", query="learned", capsules=capsules, d_k=D_K, d_v=D_V))
    features = tensor(B, N, D_F)
    contexts, weights = layer(features, mask=MASK[:, None])
    assert contexts.shape == (B, capsules or 1, D_V)
    for b, i in np.ndindex(B, capsules or 1):
        keys, values = projected(layer, features[b], MASK[b])
        c, a = attention_definition.attend(
            numbers(layer)["q"][i], keys, values, score_definition.dot
        )
        assert_close(contexts[b, i], c)
        assert_close(weights[b, i, MASK[b]], a)


@pytest.mark.agrees("general_attention.Attention", "definitions.queries.self_attention")
def test_self_attention_agrees_with_loops():
    layer = fresh(Attention(D_F, query="self", d_k=D_K, d_v=D_V))
    features, mask = tensor(B, N, D_F), causal_mask(N, like=MASK) & MASK[:, None]
    contexts, weights = layer(features, None, mask)
    p = numbers(layer.one)
    for b in range(B):
        c, a = query_definition.self_attention(
            features[b].numpy(), p["W_Q.weight"], p["W_K.weight"], p["W_V.weight"], mask[b].tolist()
        )
        assert_close(contexts[b], c)
        assert_close(weights[b], a)


@pytest.mark.agrees("general_attention.Attention", "definitions.dimensionality.attend_multi")
@pytest.mark.parametrize("query", ["basic", "removed"])
def test_a_weight_for_every_feature_agrees_with_loops(query):
    d_q = D_Q if query == "basic" else None
    layer = fresh(
        Attention(D_F, "additive", "softmax", "multi", query, d_q=d_q, d_k=D_K, d_v=D_V, d_w=D_W)
    )
    features, queries = tensor(B, N, D_F), tensor(B, Q, D_Q, seed=1)
    contexts, weights = layer(features, queries, MASK[:, None])
    p = numbers(layer.one.score)
    p.setdefault("W_q", [()] * D_W)
    for b, i in np.ndindex(B, contexts.shape[1]):
        keys, values = projected(layer, features[b], MASK[b])
        ask = queries[b, i].numpy() if query == "basic" else ()
        c, a = multi_definition.attend_multi(multi_definition.multi_scores(ask, keys, **p), values)
        assert_close(contexts[b, i], c)
        assert_close(weights[b, i, MASK[b]], a)


@pytest.mark.agrees("general_attention.Attention", "definitions.queries.multi_head")
@pytest.mark.parametrize("query", ["basic", "self", "learned"])
def test_heads_agree_with_loops(query):
    d_q = {"basic": D_Q, "self": None, "learned": D_Q}[query]
    layer = fresh(
        Attention(D_F, query=query, heads=2, d_q=d_q, d_k=D_K, d_v=D_V, d_out=23 if d_q else None)
    )
    features, queries = tensor(B, N, D_F), tensor(B, Q, D_Q, seed=1)
    contexts, weights = layer(features, queries, MASK[:, None])
    p = numbers(layer.heads[0])
    heads = list(zip(*(np.split(p[f"W_{x}.weight"], 2) for x in "qKV"), strict=True))
    for b, i in np.ndindex(B, contexts.shape[1]):
        learned = getattr(layer, "q", queries[0]).detach()
        asks = {"basic": queries[b], "self": features[b], "learned": learned}[query]
        c, a = query_definition.multi_head(
            asks[i].numpy(), features[b].numpy(), features[b].numpy(), heads, p["W_O.weight"],
            mask=MASK[b].tolist(),
        )  # fmt: skip
        assert_close(contexts[b, i], c)
        assert_close(weights[b, :, i], a)


@pytest.mark.agrees("general_attention.Attention", "definitions.queries.multi_hop")
@pytest.mark.parametrize("query", ["basic", "self"])
def test_hops_agree_with_loops(query):
    layer = fresh(
        Attention(D_F, "additive", query=query, hops=3, d_q=D_Q if query == "basic" else None)
    )
    features, queries = tensor(B, N, D_F), tensor(B, Q, D_Q, seed=1)
    contexts, weights = layer(features, queries, MASK[:, None])
    scores, query_scores = (
        [partial(score_definition.additive, **numbers(each[0]))] * 3
        for each in (layer.hops.scores, layer.hops.query_scores)
    )
    for b in range(B):
        real = features[b, MASK[b]].numpy()
        asked = queries[b].numpy() if query == "basic" else real
        cs, all_a = query_definition.multi_hop(asked, real, scores, query_scores, "both")
        assert_close(contexts[b, 0], cs[-1])
        for ours, a in zip(weights, all_a, strict=True):
            assert_close(ours[b, 0, MASK[b]], a)


def test_heads_and_hops_refine_the_features_layer_after_layer():
    layer = fresh(Attention(D_F, query="self", heads=2, hops=3, d_k=D_K))
    features = tensor(B, N, D_F)
    contexts, weights = layer(features, mask=MASK[:, None])
    refined = features
    for hop in range(3):
        one = Attention(D_F, query="self", heads=2, d_k=D_K).double()
        one.heads[0].load_state_dict(layer.heads[hop].state_dict())
        context, a = one(refined, mask=MASK[:, None])
        norm = layer.norms[hop]
        refined = nn.functional.layer_norm(refined + context, (D_F,), norm.weight, norm.bias)
        real = MASK[:, None, :, None].expand_as(a)  # weights of padded queries do not matter
        torch.testing.assert_close(weights[hop][real], a[real])
    torch.testing.assert_close(contexts[MASK], refined[MASK])


# --- what every layer must do ------------------------------------------------------------------


LAYERS = {
    "basic": dict(score="additive", d_q=D_F, d_k=D_K, d_v=D_V, d_w=D_W),
    "learned": dict(score="biased_general", query="learned", d_q=D_Q, d_k=D_K),
    "capsules": dict(score="dot", query="learned", capsules=3),
    "removed": dict(score="additive", query="removed", d_v=D_V),
    "self": dict(score="activated_general", query="self", d_q=3, d_k=D_K),
    "multi": dict(score="additive", dimension="multi", query="self", d_q=3),
    "multi without query": dict(score="additive", dimension="multi", query="removed"),
    "heads": dict(score="general", d_q=D_F, heads=2, d_k=3),
    "hops": dict(score="additive", d_q=D_F, hops=2),
    "heads and hops": dict(query="self", heads=2, hops=2, d_k=3),
    "local_predictive": dict(score="dot", align="local_predictive", d_q=D_F, half_width=9),
}


def run(layer, features, mask=None):
    queries = tensor(B, Q, D_F, seed=1).to(features.dtype)
    return layer(features, queries, None if mask is None else mask[:, None])[0]


@pytest.mark.parametrize("name", LAYERS)
def test_junk_behind_the_mask_changes_nothing_not_even_a_gradient(name):
    layer, features = fresh(Attention(D_F, **LAYERS[name])), tensor(B, N, D_F)
    mask = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    gradients = []
    for inputs in (features, features.masked_fill(~mask[..., None], torch.nan)):
        contexts = run(layer, inputs, mask)
        rows = mask if layer.choices.query == "self" else torch.ones(contexts.shape[:-1]).bool()
        loss = contexts[rows].square().sum()
        gradients.append([contexts[rows], *torch.autograd.grad(loss, layer.parameters())])
    for clean, spoiled in zip(*gradients, strict=True):
        torch.testing.assert_close(spoiled, clean)


# With heads and hops the features themselves are left, normalised: see the test after.
@pytest.mark.parametrize("name", [name for name in LAYERS if name != "heads and hops"])
def test_an_input_that_is_masked_out_whole_gives_nothing(name):
    layer = fresh(Attention(D_F, **LAYERS[name]))
    features = tensor(B, N, D_F).requires_grad_()
    contexts = run(layer, features, torch.zeros(B, N, dtype=torch.bool))
    assert (contexts == 0).all()
    (gradient,) = torch.autograd.grad(contexts.sum(), features)
    assert (gradient == 0).all()


def test_heads_and_hops_that_may_see_nothing_keep_the_features():
    layer, features = fresh(Attention(D_F, **LAYERS["heads and hops"])), tensor(B, N, D_F)
    contexts, weights = layer(features, mask=torch.zeros(B, 1, N, dtype=torch.bool))
    wanted = features
    for norm in layer.norms:
        wanted = nn.functional.layer_norm(wanted, (D_F,), norm.weight, norm.bias)
    torch.testing.assert_close(contexts, wanted)
    assert all((each == 0).all() for each in weights)


def test_a_feature_that_nobody_may_see_can_still_ask():
    layer, features = fresh(Attention(D_F, query="self", d_k=D_K)), tensor(B, N, D_F)
    strictly_before = causal_mask(N, like=features) & ~torch.eye(N, dtype=torch.bool)
    p = numbers(layer.one)
    contexts, weights = layer(features, mask=strictly_before)
    for b in range(B):
        c, a = query_definition.self_attention(
            features[b].numpy(),
            p["W_Q.weight"],
            p["W_K.weight"],
            np.eye(D_F),
            strictly_before.tolist(),
        )
        assert_close(contexts[b], c)
        assert_close(weights[b], a)


@pytest.mark.parametrize("name", LAYERS)
def test_padding_changes_nothing(name):
    layer, features = fresh(Attention(D_F, **LAYERS[name])), tensor(B, N, D_F)
    longer = torch.cat([features, tensor(B, 4, D_F, seed=5)], dim=1)
    mask = torch.arange(N + 4).expand(B, -1) < N
    padded, plain = run(layer, longer, mask), run(layer, features)
    torch.testing.assert_close(padded[:, : plain.shape[1]], plain)


@pytest.mark.parametrize("name", LAYERS)
def test_every_parameter_learns_and_gradients_are_right(name):
    layer, features = fresh(Attention(D_F, **LAYERS[name]), std=0.4), tensor(B, N, D_F)
    run(layer, features, MASK).square().sum().backward()
    for parameter_name, parameter in layer.named_parameters():
        assert parameter.grad.abs().max() > 1e-9, parameter_name
    features.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: run(layer, x, MASK), features, fast_mode=True)


@pytest.mark.parametrize("align", ["hard", "reinforced"])
def test_a_draw_passes_no_gradient_on(align):
    """Dead by construction: the scores under `hard`, the selector under `reinforced`."""
    layer = fresh(Attention(D_F, "general", align, d_q=D_F, d_k=D_K, d_v=D_V))
    torch.manual_seed(0)
    run(layer, tensor(B, N, D_F), MASK).square().sum().backward()
    learn = {name for name, p in layer.named_parameters() if p.grad is not None and p.grad.any()}
    hard, reinforced = {"one.W_V.weight"}, {"one.W_V.weight", "one.W_K.weight", "one.score.W"}
    assert learn == (hard if align == "hard" else reinforced)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_large_features_in_any_precision_stay_finite(name, dtype):
    layer = fresh(Attention(D_F, **LAYERS[name])).to(dtype)
    contexts = run(layer, (tensor(B, N, D_F) * 30).to(dtype), MASK)
    assert contexts.dtype == dtype
    assert torch.isfinite(contexts).all()


@pytest.mark.parametrize("name", LAYERS)
def test_weights_come_only_when_asked_for_and_a_layer_can_be_copied(name):
    layer = fresh(Attention(D_F, **LAYERS[name]))
    arguments = tensor(B, N, D_F), tensor(B, Q, D_F)
    contexts, weights = copy.deepcopy(layer)(*arguments, need_weights=False)
    assert weights is None
    torch.testing.assert_close(contexts, layer(*arguments)[0])


@pytest.mark.parametrize("name", LAYERS)
def test_it_is_the_attention_of_a_task_model(name):
    layer = Attention(D_F, **LAYERS[name])
    width = {"heads": D_F}.get(name, layer.sizes.d_out)
    model = TaskModel(nn.Linear(3, D_F), nn.Linear(2, D_F), layer, SoftmaxOutput(width, 4))
    predictions, _ = model(torch.ones(B, N, 3), torch.ones(B, Q, 2), MASK[:, None])
    assert predictions.shape[-1] == 4
    torch.testing.assert_close(predictions.sum(-1), torch.ones(predictions.shape[:-1]))


@pytest.mark.parametrize("name", ["basic", "heads", "multi"])
def test_batches_broadcast_and_may_be_left_out(name):
    choices = LAYERS["basic"] | dict(dimension="multi") if name == "multi" else LAYERS[name]
    layer, features, queries = fresh(Attention(D_F, **choices)), tensor(N, D_F), tensor(B, Q, D_F)
    contexts, _ = layer(features, queries, MASK[:, None])
    for b in range(B):
        alone, _ = layer(features, queries[b], MASK[b, None])
        torch.testing.assert_close(contexts[b], alone)


@pytest.mark.parametrize("name", ["basic", "heads"])
def test_batches_that_do_not_fit_are_named(name):
    layer = Attention(D_F, **LAYERS[name]).double()
    with pytest.raises(ValueError, match="the leading axes do not fit"):
        layer(tensor(B, N, D_F), tensor(5, Q, D_F))


def test_a_layer_prints_its_choices():
    text = repr(Attention(D_F, "additive", query="removed"))
    assert "score='additive', align='softmax', dimension='single', query='removed'" in text
