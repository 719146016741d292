"""Multi-hop attention: the definitions in loops, and properties P5.16–P5.21."""

from functools import partial

import numpy as np
import pytest
import torch

from attn_course import scoring
from attn_course.attention import attend
from attn_course.definitions import queries as definition
from attn_course.definitions import scoring as score_definition
from attn_course.queries import MultiHopAttention, memory_hops
from tests.queries.poolings import B, D, N
from tests.random_layers import fresh, numbers, tensor


def hop_scores(modules, hops):
    """Return the score of every hop as a function of one query and one key."""
    each = []
    for hop in range(hops):
        p = numbers(modules[hop % len(modules)])
        each.append(partial(score_definition.additive, **p))
    return each


@pytest.mark.agrees("queries.MultiHopAttention", "definitions.queries.multi_hop")
@pytest.mark.parametrize("transform", ["query", "context", "both", "identity"])
@pytest.mark.parametrize("tied", [True, False])
def test_hops_agree_with_their_definition_in_loops(transform, tied):
    layer = fresh(MultiHopAttention(3, 5, hops=3, transform=transform, tied=tied))
    question, features = tensor(B, 11, 3), tensor(B, N, 5)
    contexts, weights = layer(question, features)
    for b in range(B):
        query_scores = hop_scores(layer.query_scores, 3) if transform != "identity" else []
        cs, ws = definition.multi_hop(
            question[b].numpy(),
            features[b].numpy(),
            hop_scores(layer.scores, 3),
            query_scores,
            transform,
        )
        np.testing.assert_allclose(contexts[b, 0].detach(), cs[-1], atol=1e-12)
        for ours, theirs in zip(weights, ws, strict=True):
            np.testing.assert_allclose(ours[b, 0].detach(), theirs, atol=1e-12)


@pytest.mark.proves("P5.16")
@pytest.mark.proves("P5.17")
@pytest.mark.parametrize("hops", [1, 4])
def test_without_the_context_every_hop_is_plain_attention(hops):
    layer = fresh(MultiHopAttention(3, 5, hops=hops, transform="identity"))
    with torch.no_grad():
        layer.scores[0].W_q[:, 3:] = 0  # the block that acts on the context
    question, features = tensor(B, 1, 3), tensor(B, N, 5)
    contexts, weights = layer(question, features)
    score = layer.scores[0]
    plain = partial(scoring.additive, w=score.w, W_q=score.W_q[:, :3], W_k=score.W_k, b=score.b)
    wanted, wanted_weights = attend(question, features, features, plain)
    torch.testing.assert_close(contexts, wanted)
    for hop in weights:
        torch.testing.assert_close(hop, wanted_weights)


@pytest.mark.proves("P5.18")
def test_equal_values_come_out_unchanged():
    layer = fresh(MultiHopAttention(3, 5, hops=2))
    features = tensor(B, 1, 5).expand(B, N, 5)
    torch.testing.assert_close(layer(tensor(B, 11, 3), features)[0], features[:, :1])


@pytest.mark.proves("P5.19")
def test_tied_hops_have_as_many_parameters_as_one():
    def count(hops, tied):
        return sum(p.numel() for p in MultiHopAttention(3, 5, hops, tied=tied).parameters())

    assert count(1, True) == count(5, True)
    assert count(5, False) == 5 * count(1, True)


@pytest.mark.proves("P5.20")
@pytest.mark.agrees("queries.memory_hops", "definitions.queries.memory_hops")
def test_one_memory_hop_is_dot_product_attention_and_hops_agree_with_loops():
    query, keys, values = tensor(1, D), tensor(N, D, seed=1), tensor(N, D, seed=2)
    updated, _ = memory_hops(query, keys, values, hops=1)
    torch.testing.assert_close(updated - query, attend(query, keys, values, scoring.dot)[0])
    three, weights = memory_hops(query, keys, values, hops=3)
    wanted = definition.memory_hops(query[0].numpy(), keys.numpy(), values.numpy(), 3)
    np.testing.assert_allclose(three[0], wanted)
    assert len(weights) == 3
    H = tensor(D, D, seed=3)
    mapped, _ = memory_hops(query, keys, values, hops=1, H=H)
    torch.testing.assert_close(mapped - updated, query @ H.mT - query)


@pytest.mark.proves("P5.21")
def test_hops_do_not_see_the_order_of_the_features():
    layer, order = fresh(MultiHopAttention(3, 5, hops=2)), torch.randperm(N)
    question, features = tensor(B, 11, 3), tensor(B, N, 5)
    torch.testing.assert_close(layer(question, features)[0], layer(question, features[:, order])[0])


def test_aggregations_take_the_last_the_sum_or_a_projection():
    question, features = tensor(B, 11, 3), tensor(B, N, 5)
    outputs = {}
    for aggregate in ("last", "sum", "concat"):
        layer = fresh(MultiHopAttention(3, 5, hops=2, aggregate=aggregate))
        outputs[aggregate], weights = layer(question, features)
        contexts = [w @ features for w in weights]
        if aggregate == "last":
            torch.testing.assert_close(outputs[aggregate], contexts[1])
        elif aggregate == "sum":
            torch.testing.assert_close(outputs[aggregate], contexts[0] + contexts[1])
        else:
            joined = torch.cat(contexts, dim=-1) @ layer.W_O.weight.mT
            torch.testing.assert_close(outputs[aggregate], joined)


def test_choices_of_hops_that_do_not_exist_are_refused_with_the_list():
    with pytest.raises(ValueError, match="transform must be one of query, context, both, identity"):
        MultiHopAttention(3, 5, 2, transform="concat")
    with pytest.raises(ValueError, match="aggregate must be one of last, sum, concat"):
        MultiHopAttention(3, 5, 2, aggregate="mean")
    with pytest.raises(ValueError, match="hops must be at least 1"):
        MultiHopAttention(3, 5, 0)
