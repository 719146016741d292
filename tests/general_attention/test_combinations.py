"""Every combination of choices makes a layer that works, or says which choice would."""

from itertools import product

import pytest
import torch

from attn_course.general_attention import Attention
from attn_course.general_attention.choices import ALIGNS, DIMENSIONS, MULTIPLICITIES, QUERIES
from attn_course.general_attention.combinations import RULES
from attn_course.learned_scores import SCORE_NAMES
from tests.general_attention.sizes import D_F, D_K, D_Q, MASK, B, N, Q
from tests.random_layers import tensor

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
        SCORE_NAMES, ALIGNS, DIMENSIONS, QUERIES, MANY.values()
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
        score=SCORE_NAMES, align=ALIGNS, dimension=DIMENSIONS, query=QUERIES
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
