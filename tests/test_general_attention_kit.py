"""The construction kit: definitions in loops, counted FLOPs and numbers, and the survey's table."""

import copy
import importlib
import math
from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

import attn_course
from attn_course.alignment import causal_mask
from attn_course.attention import SoftmaxOutput, TaskModel
from attn_course.definitions import alignment as align_definition
from attn_course.definitions import attention as attention_definition
from attn_course.definitions import dimensionality as multi_definition
from attn_course.definitions import queries as query_definition
from attn_course.definitions import scoring as score_definition
from attn_course.general_attention import MODELS, Attention, find_models
from attn_course.general_attention.choices import ALIGNS, DIMENSIONS, MULTIPLICITIES, QUERIES
from attn_course.general_attention.combinations import RULES
from attn_course.learned_scores import SCORES

B, N, Q, D_F, D_Q, D_K, D_V, D_W = 2, 7, 3, 5, 19, 11, 13, 17
MASK = torch.tensor([[True] * 7, [True, True, False, True, True, False, False]])
seeds = st.integers(0, 2**31)


def tensor(*size, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*size, dtype=torch.float64, generator=generator)


def fresh(module, seed=0, std=0.7):
    """Return the module in double precision with every parameter drawn at random."""
    torch.manual_seed(seed)
    module = module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=std)
    return module


def numbers(module):
    return {name: p.detach().numpy() for name, p in module.named_parameters()}


def assert_close(tensors, wanted):
    np.testing.assert_allclose(tensors.detach(), wanted, atol=1e-10)


# --- the definitions in loops ------------------------------------------------------------------


def projected(layer, features, mask):
    """Return the real keys and values of one example by loops."""
    p = numbers(layer.one)
    real = features[mask].numpy()
    keys = [score_definition.times(p["W_K.weight"], f) for f in real]
    values = [score_definition.times(p["W_V.weight"], f) for f in real]
    return keys, values


@pytest.mark.parametrize("score", SCORES)
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
        real = MASK[:, None, :, None].expand_as(a)  # what padding asks is nobody's business
        torch.testing.assert_close(weights[hop][real], a[real])
    torch.testing.assert_close(contexts[MASK], refined[MASK])


# --- alignments --------------------------------------------------------------------------------


def scores_by_loops(layer, features, queries):
    keys = [score_definition.times(numbers(layer.one)["W_K.weight"], f) for f in features.numpy()]
    return [[score_definition.dot(q, k) for k in keys] for q in queries.numpy()]


@pytest.mark.parametrize("align", ["softmax", "sparsemax", "entmax15", "local_monotonic"])
def test_alignments_of_scores_agree_with_loops(align):
    D = 2
    layer = fresh(Attention(D_F, "dot", align, d_q=D_K, d_k=D_K, half_width=D), std=0.2)
    features, queries = tensor(B, N, D_F), tensor(B, Q, D_K, seed=1)
    _, weights = layer(features, queries, MASK[:, None])
    for b, i in np.ndindex(B, Q):
        e, mask = scores_by_loops(layer, features[b], queries[b])[i], MASK[b].tolist()
        if align == "local_monotonic":
            wanted = align_definition.local_monotonic(e, i + 1, D, mask)
        else:
            wanted = getattr(align_definition, align)(e, mask)
        assert_close(weights[b, i], wanted)


def test_a_predicted_window_agrees_with_loops_and_counts_the_words_there_are():
    layer = fresh(
        Attention(D_F, "dot", "local_predictive", d_q=D_K, d_k=D_K, d_w=D_W, half_width=2)
    )
    features, queries = tensor(B, N, D_F), tensor(B, Q, D_K, seed=1)
    mask = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    for given_mask, lengths in ((mask[:, None], (7, 4)), (None, (7, 7))):
        _, weights = layer(features, queries, given_mask)
        p = numbers(layer.one.align)
        for b, i in np.ndindex(B, Q):
            e = scores_by_loops(layer, features[b], queries[b])[i]
            place = align_definition.predict_position(
                queries[b, i].numpy(), p["w_p"], p["W_p"], lengths[b]
            )
            real = mask[b].tolist() if given_mask is not None else None
            assert_close(weights[b, i], align_definition.local_predictive(e, place, 2, real))


def test_hard_alignment_draws_one_key_as_often_as_softmax_says():
    generator = torch.Generator().manual_seed(0)
    layer = fresh(Attention(D_F, "dot", "hard", d_q=D_F, rng=generator))
    soft = Attention(D_F, "dot", d_q=D_F)
    features, query = 0.5 * tensor(1, N, D_F), tensor(1, 1, D_F, seed=1)
    contexts, draws = layer(features.expand(20_000, N, D_F), query.expand(20_000, 1, D_F))
    assert ((draws == 0) | (draws == 1)).all()
    assert (draws.sum(-1) == 1).all()
    torch.testing.assert_close(contexts, draws @ features)
    _, chances = soft(features, query)
    np.testing.assert_allclose(draws.mean(0), chances[0], atol=0.02)


def test_reinforced_alignment_is_softmax_over_a_drawn_subset_and_its_selector_learns():
    generator = torch.Generator().manual_seed(3)
    layer = fresh(Attention(D_F, "dot", "reinforced", d_q=D_K, d_k=D_K, d_w=D_W, rng=generator))
    features, queries = tensor(B, N, D_F), tensor(B, Q, D_K, seed=1)
    _, weights = layer(features, queries, MASK[:, None])
    p = numbers(layer.one.align)
    p["b_0"] = float(p["b_0"])
    for b in range(B):
        chosen = (weights[b] > 0).any(0)
        assert not chosen[~MASK[b]].any()
        for i in range(Q):
            e = scores_by_loops(layer, features[b], queries[b])[i]
            assert_close(weights[b, i], align_definition.softmax(e, chosen.tolist()))
        chances = align_definition.selection_probabilities(features[b, MASK[b]].numpy(), **p)
        wanted = align_definition.selection_log_probability(chances, chosen[MASK[b]].tolist())
        assert_close(layer.one.align.log_probability[b], wanted)
    layer.one.align.log_probability.sum().backward()
    for name, parameter in layer.one.align.named_parameters():
        assert parameter.grad.abs().max() > 1e-9, name


# --- every combination -------------------------------------------------------------------------

MANY = {
    "singular": {},
    "heads": dict(heads=2),
    "hops": dict(hops=2),
    "heads and hops": dict(heads=2, hops=2),
    "capsules": dict(capsules=3),
    "capsules and heads": dict(capsules=3, heads=2),
}


def combinations():
    for score, align, dimension, query, many in product(
        SCORES, ALIGNS, DIMENSIONS, QUERIES, MANY.values()
    ):
        yield dict(score=score, align=align, dimension=dimension, query=query) | many


def build(**choices):
    return Attention(6, **choices, half_width=3, d_q=6 if choices["query"] == "basic" else None)


def test_every_combination_works_or_says_what_does():
    torch.manual_seed(0)
    features, queries = tensor(B, N, 6).float(), tensor(B, Q, 6, seed=1).float()
    mask = MASK[:, None]
    works, made, refused = [], set(), set()
    for choices in combinations():
        try:
            layer = build(**choices)
        except ValueError as error:
            refused.add(str(error))
            continue
        works.append(choices)
        made.add(layer.choices.multiplicity)
        contexts, weights = layer(features, queries, mask)
        rows = {"basic": Q, "self": N, "removed": 1, "learned": layer.choices.capsules or 1}
        q = 1 if layer.choices.multiplicity == "hops" else rows[layer.choices.query]
        assert contexts.shape == (B, q, 6), choices
        assert torch.isfinite(contexts).all(), choices
        for each in weights if isinstance(weights, list) else [weights]:
            over = each.movedim(-2, -1) if choices["dimension"] == "multi" else each
            assert over.shape[-1] == N, choices
            assert (over >= 0).all(), choices
            assert (over.sum(-1) < 1 + 1e-5).all(), choices
            assert (over[1][..., ~MASK[1]] == 0).all(), choices
    assert len(works) > 250
    # Each score, alignment, dimension, type of query and multiplicity is good for something.
    for axis, choices in dict(
        score=SCORES, align=ALIGNS, dimension=DIMENSIONS, query=QUERIES
    ).items():
        assert {c[axis] for c in works} == set(choices)
    assert made == set(MULTIPLICITIES)
    assert all(" makes no sense: " in message and ". Use " in message for message in refused)
    for rule in RULES:
        assert any(f"{rule.why}. Use {rule.instead}." in message for message in refused), rule.what


@pytest.mark.parametrize(
    ("choices", "better", "message"),
    [
        (dict(dimension="multi", score="dot"), dict(score="additive"), "needs the matrix W_d"),
        (dict(query="removed", score="dot"), dict(score="additive"), "without a query"),
        (dict(query="removed", score="additive", hops=2), dict(query="self"), "no query to split"),
        (dict(hops=2, score="dot"), dict(score="general"), "wider than a key"),
        (dict(hops=2, score="general", query="learned"), dict(query="self"), "a new query"),
        (dict(heads=2, hops=2, query="basic"), dict(query="self"), "the Transformer's way"),
        (dict(capsules=2, query="basic"), dict(query="learned"), "learns a query of its own"),
        (dict(capsules=2, query="learned", heads=2), dict(heads=1), "several queries already"),
        (dict(align="local_monotonic", query="learned"), dict(query="self"), "no steps"),
        (dict(align="local_predictive", query="removed", score="additive"),
         dict(query="learned"), "predicted from the query"),
        (dict(align="local_predictive", heads=2, query="self"), dict(heads=1), "of its own"),
        (dict(align="local_monotonic", hops=2, query="self", score="general"), dict(hops=1),
         "no step of an output"),
        (dict(dimension="multi", score="additive", heads=2, query="self"), dict(heads=1),
         "one head for each feature"),
    ],
)  # fmt: skip
def test_nonsense_is_refused_with_a_reason_and_a_choice_that_works(choices, better, message):
    choices = dict(query="basic") | choices
    with pytest.raises(ValueError, match=message):
        build(**choices)
    build(**choices | better)


def test_choices_that_do_not_exist_are_refused_with_the_list():
    with pytest.raises(ValueError, match="score must be one of additive, dot, scaled_dot"):
        Attention(D_F, score="bilinear", d_q=D_F)
    with pytest.raises(ValueError, match="align must be one of softmax, sparsemax"):
        Attention(D_F, align="soft", d_q=D_F)
    with pytest.raises(ValueError, match="query must be one of basic, learned, removed, self"):
        Attention(D_F, query="constant")
    with pytest.raises(ValueError, match=r"use a layer of attn_course\.features"):
        Attention(D_F, query="specialised")
    with pytest.raises(ValueError, match="heads must be at least 1, but is 0"):
        Attention(D_F, heads=0, d_q=D_F)
    with pytest.raises(ValueError, match="capsules must be at least 0, but is -1"):
        Attention(D_F, capsules=-1, d_q=D_F)


def test_widths_that_are_missing_or_in_vain_are_refused():
    with pytest.raises(ValueError, match="give their width as d_q"):
        Attention(D_F)
    with pytest.raises(ValueError, match="d_q = 19 would change nothing"):
        Attention(D_F, "additive", query="removed", d_q=D_Q)
    with pytest.raises(ValueError, match="d_k = 11 would change nothing"):
        Attention(D_F, "additive", hops=2, d_q=D_Q, d_k=D_K)
    with pytest.raises(ValueError, match="d_out = 3 would change nothing"):
        Attention(D_F, d_q=D_F, d_out=3)
    with pytest.raises(ValueError, match="2 heads can't share a width of 5 equally"):
        Attention(D_F, query="self", heads=2)
    with pytest.raises(ValueError, match="needs d_q = d_k, but d_q = 19 and d_k = 5"):
        Attention(D_F, "dot", d_q=D_Q)
    with pytest.raises(ValueError, match="act is for attention without heads or hops"):
        Attention(D_F, "additive", d_q=D_Q, hops=2, act="relu")
    for align in ("local_monotonic", "local_predictive"):
        with pytest.raises(ValueError, match="a local alignment needs half_width"):
            Attention(D_F, "dot", align, d_q=D_F)


def test_inputs_that_do_not_fit_are_refused():
    layer = Attention(D_F, d_q=D_F).double()
    with pytest.raises(ValueError, match="query='basic' needs queries"):
        layer(tensor(B, N, D_F))
    with pytest.raises(ValueError, match=r"mask must broadcast to the scores \(2, 3, 7\)"):
        layer(tensor(B, N, D_F), tensor(B, Q, D_F), MASK[:, None, :4])
    with pytest.raises(ValueError, match="mask must be boolean"):
        layer(tensor(B, N, D_F), tensor(B, Q, D_F), MASK[:, None].double())


# --- costs: PyTorch counts too -----------------------------------------------------------------


def mv_flops(matrix_shape, vector_shape, *_args, **_kwargs):
    return 2 * matrix_shape[0] * matrix_shape[1]  # PyTorch's counter leaves this product out


def add_flops(one, other, *_args, out_shape=None, **_kwargs):
    """Count W_q q + W_k k, for every pair: PyTorch's counter leaves sums out, and we the biases."""
    is_for_pairs = len(one) > 2 and len(other) > 2
    return math.prod(out_shape) if is_for_pairs else 0


COUNTED_TOO = {torch.ops.aten.mv: mv_flops, torch.ops.aten.add: add_flops}


class Held(TorchDispatchMode):
    """Counts the numbers that come out of softmax and tanh: the weights and hidden layers."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function in (torch.ops.aten._softmax.default, torch.ops.aten.tanh.default):
            self.count += result.numel()
        return result


COSTED = [
    dict(score="additive", d_q=D_Q, d_w=D_W),
    dict(score="dot", d_q=D_K, d_k=D_K, d_v=D_V),
    dict(score="scaled_dot", d_q=D_F, d_v=D_V),
    dict(score="general", d_q=D_Q, d_k=D_K),
    dict(score="biased_general", d_q=D_Q, d_k=D_K, d_v=D_V),
    dict(score="additive", query="removed", d_k=D_K, d_w=D_W),
    dict(score="additive", dimension="multi", d_q=D_Q, d_k=D_K, d_v=D_V, d_w=D_W),
    dict(score="additive", dimension="multi", query="removed", d_v=D_V),
    dict(score="additive", dimension="multi", query="self", d_w=D_W),
    dict(score="dot", query="learned", capsules=3),
    dict(score="scaled_dot", query="self", d_k=D_K, d_v=D_V),
    dict(score="scaled_dot", query="self", heads=3, d_k=D_K, d_v=D_V),
    dict(score="additive", query="basic", heads=2, d_q=4, d_out=23),
    dict(score="general", query="learned", heads=2, d_q=D_Q, d_k=D_K),
    dict(score="scaled_dot", query="self", heads=3, hops=2, d_k=D_K),
    dict(score="additive", hops=3, d_q=D_Q),
    dict(score="general", hops=3, query="self"),
]
WITHOUT_MEMORY = [  # tanh appears in these for other reasons, or no softmax does
    dict(score="activated_general", d_q=D_Q, d_k=D_K),
    dict(score="dot", align="local_predictive", d_q=D_F, d_w=D_W, half_width=2),
    dict(score="dot", align="reinforced", d_q=D_F, d_w=D_W),
]


def run_counted(layer):
    features, queries = torch.ones(N, D_F), torch.ones(Q, layer.sizes.d_q)
    held = Held()
    with FlopCounterMode(display=False, custom_mapping=COUNTED_TOO) as counter:
        layer(features, queries)
    with held:
        layer(features, queries)
    return counter.get_total_flops(), held.count


@pytest.mark.parametrize("choices", COSTED + WITHOUT_MEMORY, ids=str)
def test_flops_and_parameters_are_what_pytorch_counts(choices):
    layer = Attention(D_F, **choices)
    cost = layer.report(N, Q)
    assert cost.parameters == sum(p.numel() for p in layer.parameters())
    assert cost.flops == run_counted(layer)[0]


@pytest.mark.parametrize("choices", COSTED, ids=str)
def test_memory_is_keys_values_weights_and_hidden_layers(choices):
    layer = Attention(D_F, **choices)
    kept = []
    for name, module in layer.named_modules():
        if name.endswith(("W_K", "W_V")):
            module.register_forward_hook(lambda _m, _i, output: kept.append(output))
    _, held = run_counted(layer)
    distinct = {t.data_ptr(): t.numel() for t in kept[: len(kept) // 2]}  # it ran twice
    if layer.choices.multiplicity == "hops":  # features and what the query is made of
        rows = N if layer.choices.query == "self" else Q
        distinct = {"features": N * D_F, "queries": rows * layer.sizes.d_q}
    assert layer.report(N, Q).memory == held + sum(distinct.values())


def test_a_similarity_costs_what_its_formula_says():
    n, q, d = N, Q, D_F
    for kind, wanted in dict(cosine=2 * d * n * q + 2 * d * n, euclidean=3 * d * n * q).items():
        cost = Attention(D_F, kind, d_q=D_F).report(N, Q)
        assert cost.flops == wanted + 2 * d * n * q
        assert cost.parameters == 0


def test_an_additive_score_is_a_sum_a_product_and_a_sum_for_every_hidden_entry():
    n, q, d = 256, 256, 64
    additive, dot = (
        Attention(d, kind, d_q=d).report(n, q).flops - 2 * d * n * q for kind in ("additive", "dot")
    )
    assert additive == 2 * d * d * (q + n) + 3 * d * n * q
    assert additive / dot == 2


def test_the_cost_of_multi_head_self_attention_is_the_papers():
    d, n = 24, 7
    cost = Attention(d, query="self", heads=4).report(n)
    assert cost.parameters == 4 * d**2
    assert cost.flops == 8 * n * d**2 + 4 * n**2 * d
    assert cost.memory == 4 * n**2 + 2 * n * d


# --- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("Bahdanau 2015", dict(score="additive", d_q=3)),
        ("Luong 2015", dict(score="dot", d_q=D_F)),
        ("Luong 2015", dict(score="general", d_q=3)),
        ("Luong 2015", dict(score="dot", align="local_predictive", d_q=D_F, half_width=2)),
        ("Luong 2015", dict(score="general", align="local_monotonic", d_q=3, half_width=2)),
        ("Xu 2015", dict(score="additive", align="hard", d_q=3)),
        ("Vaswani 2017", dict(query="self", heads=2, d_k=3)),
        ("Vaswani 2017", dict(query="self", heads=2, hops=2, d_k=3)),
        ("Vaswani 2017", dict(query="basic", heads=2, d_q=4)),
        ("Shen 2018 (DiSAN)", dict(score="additive", dimension="multi", query="self")),
        ("Shen 2018 (DiSAN)", dict(score="additive", dimension="multi", query="removed")),
        ("Wang 2018 (RNN-Capsule)", dict(score="dot", query="learned", capsules=2)),
        (None, dict(score="cosine", d_q=D_F)),
        (None, dict(score="scaled_dot", query="self")),  # one head is not Vaswani's
        (None, dict(score="additive", query="self", heads=2, d_k=3)),
        (None, dict(score="additive", align="sparsemax", d_q=3)),
        (None, dict(score="dot", query="learned")),
        (None, dict(score="additive", query="removed")),  # one level of HAN, but not HAN
        (None, dict(score="activated_general", d_q=3, hops=2)),  # LCR-Rot-hop has three inputs
    ],
)
def test_the_kit_names_the_model_it_makes(name, choices):
    assert Attention(D_F, **choices).name() == name


def test_the_table_is_that_of_the_survey():
    rows = {model.name: model.describe() for model in MODELS}
    assert len(rows) == 10
    assert rows["Bahdanau 2015"] == dict(
        score="additive", align="global", dimension="single", query="basic",
        multiplicity="singular", features="singular", levels="single", representations="single",
    )  # fmt: skip
    assert rows["Luong 2015"]["align"] == "global, local"
    assert rows["Vaswani 2017"]["query"] == "self-attentive, basic"
    assert rows["Wallaart & Frasincar 2019"]["score"] == "activated general"
    assert rows["Wang 2018 (RNN-Capsule)"]["multiplicity"] == "capsule-based"
    only = {
        ("levels", "hierarchical"): ["Lu 2016", "Yang 2016 (HAN)"],
        ("representations", "multi"): ["Kiela 2018"],
        ("features", "rotatory"): ["Wallaart & Frasincar 2019"],
        ("dimension", "multi"): ["Shen 2018 (DiSAN)"],
        ("align", "hard"): ["Xu 2015"],
        ("query", "specialised"): ["Lu 2016", "Wallaart & Frasincar 2019"],
        ("score", "scaled multiplicative"): ["Vaswani 2017"],
    }
    for (axis, choice), names in only.items():
        assert [model.name for model in find_models(**{axis: choice})] == names
    with pytest.raises(ValueError, match="an axis is one of score, align, dimension"):
        find_models(scoring="additive")


def thing(dotted):
    module, name = dotted.rsplit(".", 1)
    return getattr(importlib.import_module(f"{attn_course.__name__}.{module}"), name)


def test_every_axis_is_listed_and_what_is_made_elsewhere_exists():
    axes = Attention.axes()
    assert set(axes) == {
        "features", "levels", "representations",
        "score", "align", "dimension", "query", "multiplicity",
    }  # fmt: skip
    for axis in ("features", "levels", "representations"):
        for choice, where in axes[axis].items():
            assert where == "this kit" or isinstance(thing(where), type), choice
    for axis, choices in axes.items():
        for model in MODELS:
            assert set(getattr(model, axis)) <= set(choices), (model.name, axis)
    assert all(isinstance(thing(model.made_by), type) for model in MODELS)


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
