"""One block of the Transformer's encoder: two sublayers, two sums, two norms."""

from math import exp, sqrt

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.transformer_block.feed_forward import feed_forward, network
from attn_course.practice.exercises.transformer_block.layer_norm import layer_norm, vectors
from attn_course.practice.inputs import all_of, readable, softmax, some_of
from attn_course.translate import _

EPS = 1e-5
POST, PRE = "post", "pre"


def _contexts(x, mask):
    """Return what self-attention without matrices makes of one sentence, in loops."""
    contexts = []
    for query in x:
        exponentials = [
            exp(sum(a * b for a, b in zip(query, key, strict=True)) / sqrt(len(key)))
            if seen
            else 0.0
            for key, seen in zip(x, mask, strict=True)
        ]
        total = sum(exponentials) or 1.0
        weights = [one / total for one in exponentials]
        contexts.append(sum(weight * key for weight, key in zip(weights, x, strict=True)))
    return np.array(contexts)


@reference
def encoder_layer(x, mask, gain_a, bias_a, W_1, b_1, W_2, b_2, gain_f, bias_f, norm):
    if norm not in (POST, PRE):
        raise ValueError(f"norm must be {POST!r} or {PRE!r}, but is {norm!r}")
    parameters = gain_a, bias_a, W_1, b_1, W_2, b_2, gain_f, bias_f
    if x.ndim > 2:
        sentences = zip(x, mask, strict=True)
        return np.stack([encoder_layer.reference(*one, *parameters, norm) for one in sentences])
    sublayers = (
        (lambda rows: _contexts(rows, mask), gain_a, bias_a),
        (lambda rows: feed_forward.reference(rows, W_1, b_1, W_2, b_2), gain_f, bias_f),
    )
    for sublayer, gain, bias in sublayers:
        if norm == PRE:
            x = x + sublayer(layer_norm.reference(x, gain, bias, EPS))
        else:
            x = layer_norm.reference(x + sublayer(x), gain, bias, EPS)
    return x


def _parameters(rng, d, d_ff):
    W_1, b_1, W_2, b_2 = network(rng, d, d_ff)
    norm_a, norm_f = (readable(rng, d), readable(rng, d)), (readable(rng, d), readable(rng, d))
    return *norm_a, W_1, b_1, W_2, b_2, *norm_f


def _case(rng, *size, d_ff, norm, mask=None, padding=0.0):
    """Return a case; without a mask there is no padding."""
    mask = all_of(*size[:-1]) if mask is None else mask
    # Half as large as elsewhere, because a softmax of large scores ignores all keys but one.
    x = np.round((vectors(rng, *size) - 2.5) / 2, 1)
    x = np.where(mask[..., None], x, x + padding)
    return Case(x, mask, *_parameters(rng, size[-1], d_ff), norm)


@encoder_layer.cases(points=2, label=_("the norm after the sum (post)"))
def norm_after(rng):
    yield _case(rng, 2, 3, d_ff=2, norm=POST)
    yield _case(rng, 3, 3, d_ff=3, norm=POST)
    yield _case(rng, 2, 3, d_ff=5, norm=POST)
    yield _case(rng, 5, 3, d_ff=7, norm=POST)


@encoder_layer.cases(points=2, label=_("the norm before the sublayer (pre)"))
def norm_before(rng):
    yield _case(rng, 2, 3, d_ff=2, norm=PRE)
    yield _case(rng, 3, 3, d_ff=3, norm=PRE)
    yield _case(rng, 2, 3, d_ff=5, norm=PRE)
    yield _case(rng, 5, 3, d_ff=7, norm=PRE)


@encoder_layer.cases(points=1, label=_("padding"))
def with_padding(rng):
    for norm in (POST, PRE):
        yield _case(rng, 3, 3, d_ff=2, norm=norm, mask=some_of(rng, 3), padding=2.0)
        yield _case(rng, 5, 3, d_ff=7, norm=norm, mask=some_of(rng, 5), padding=-3.0)


@encoder_layer.cases(points=1, label=_("batches"))
def batches(rng):
    for norm in (POST, PRE):
        yield _case(rng, 2, 5, 3, d_ff=7, norm=norm, mask=some_of(rng, 2, 5), padding=1.0)
        yield _case(rng, 3, 2, 2, 5, d_ff=3, norm=norm)


@encoder_layer.variant
def sublayer_by_sublayer(x, mask, gain_a, bias_a, W_1, b_1, W_2, b_2, gain_f, bias_f, norm):
    def attention(rows):
        scores = rows @ rows.mT / np.sqrt(rows.shape[-1])
        return softmax(scores, mask[..., None, :]) @ rows

    def perceptron(rows):
        return np.maximum(rows @ W_1.T + b_1, 0) @ W_2.T + b_2

    for sublayer, gain, bias in ((attention, gain_a, bias_a), (perceptron, gain_f, bias_f)):
        total = x if norm == PRE else x + sublayer(x)
        centred = total - total.mean(axis=-1, keepdims=True)
        normalised = centred / np.sqrt(total.var(axis=-1, keepdims=True) + EPS) * gain + bias
        x = x + sublayer(normalised) if norm == PRE else normalised
    return x


@encoder_layer.variant
def layer_of_torch(x, mask, gain_a, bias_a, W_1, b_1, W_2, b_2, gain_f, bias_f, norm):
    """PyTorch's own layer, with one head whose four matrices are the identity."""
    import torch

    d, dtype = x.shape[-1], torch.as_tensor(x).dtype
    layer = torch.nn.TransformerEncoderLayer(
        d, 1, len(b_1), 0.0, batch_first=True, norm_first=norm == "pre", dtype=dtype
    )
    one = torch.eye(d)
    given = {
        "self_attn.in_proj_weight": torch.cat([one, one, one]),
        "self_attn.in_proj_bias": torch.zeros(3 * d),
        "self_attn.out_proj.weight": one,
        "self_attn.out_proj.bias": torch.zeros(d),
    }
    parts = {
        "norm1": (gain_a, bias_a),
        "linear1": (W_1, b_1),
        "linear2": (W_2, b_2),
        "norm2": (gain_f, bias_f),
    }
    for name, (weight, bias) in parts.items():
        given[f"{name}.weight"] = torch.as_tensor(weight)
        given[f"{name}.bias"] = torch.as_tensor(bias)
    layer.load_state_dict(given)
    sentences = torch.as_tensor(x).reshape(-1, *x.shape[-2:])
    hidden = ~torch.as_tensor(mask).reshape(-1, x.shape[-2])  # True is padding there
    return layer(sentences, src_key_padding_mask=hidden).detach().reshape(x.shape)
