"""Parameters, FLOPs and memory of the construction kit: PyTorch counts too."""

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from attn_course.general_attention import Attention
from tests.general_attention.sizes import D_F, D_K, D_Q, D_V, D_W, N, Q


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
