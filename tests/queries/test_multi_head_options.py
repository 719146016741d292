"""What practitioners expect of `MultiHeadAttention`: masks by name, dropout, PyTorch's weights."""

import re

import pytest
import torch
from torch import nn

from attn_course.alignment import causal_mask, sparsemax
from attn_course.attention import attend
from attn_course.general_attention import Attention, DecoderLayer, EncoderLayer, Transformer
from attn_course.queries import CapsuleAttention, MultiHeadAttention, SelfAttention
from attn_course.scale import KeyValueCache

B, Q, K, D, HEADS = 5, 3, 7, 12, 2
REAL = torch.arange(K) < torch.tensor([7, 4, 1, 0, 3])[:, None]  # (B, K); one example is empty
BOTH = pytest.mark.parametrize("need_weights", [True, False])


def tensor(*size, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*size, dtype=torch.float64, generator=generator)


def layer(**options):
    torch.manual_seed(0)
    return MultiHeadAttention(D, HEADS, dtype=torch.float64, **options)


QUERIES, KEYS = tensor(B, Q, D), tensor(B, K, D, seed=1)


# --- masks -------------------------------------------------------------------------------------


@BOTH
def test_a_mask_of_keys_is_the_same_for_all_queries_and_heads(need_weights):
    made, pairs = layer(), REAL[:, None, :].expand(B, Q, K)
    wanted, _ = made(QUERIES, KEYS, KEYS, pairs, need_weights)
    contexts, _ = made(QUERIES, KEYS, KEYS, need_weights=need_weights, key_mask=REAL)
    torch.testing.assert_close(contexts, wanted)


@BOTH
def test_a_mask_of_keys_is_not_mistaken_for_one_of_pairs_where_the_batch_is_as_large_as_q(
    need_weights,
):
    queries, real = tensor(B, B, D), REAL  # (B, K) could be read as (q, K), the same for all
    contexts, _ = layer()(queries, KEYS, KEYS, need_weights=need_weights, key_mask=real)
    for b in (0, 1, 2, 4):
        seen = KEYS[b : b + 1, real[b]]
        wanted, _ = layer()(queries[b : b + 1], seen, seen)
        torch.testing.assert_close(contexts[b : b + 1], wanted)


@BOTH
@pytest.mark.parametrize("q", [1, 3, 7])
def test_causal_queries_are_the_last_of_the_keys(need_weights, q):
    made = layer()
    whole, _ = made(KEYS, KEYS, KEYS, causal_mask(K, like=KEYS), need_weights)
    last, _ = made(KEYS[:, K - q :], KEYS, KEYS, need_weights=need_weights, causal=True)
    torch.testing.assert_close(last, whole[:, K - q :])


@BOTH
def test_all_masks_must_allow_a_pair(need_weights):
    made, odd = layer(), torch.rand(B, K, K, generator=torch.Generator().manual_seed(0)) < 0.7
    wanted, _ = made(KEYS, KEYS, KEYS, odd & REAL[:, None] & causal_mask(K, like=odd), need_weights)
    contexts, _ = made(KEYS, KEYS, KEYS, odd, need_weights, key_mask=REAL, causal=True)
    torch.testing.assert_close(contexts, wanted)


def test_decoding_from_a_cache_is_causal_at_the_right_offset():
    made, cache, pieces = layer(), KeyValueCache(), []
    wanted, _ = made(KEYS, KEYS, KEYS, causal=True)
    with torch.no_grad():
        for new in KEYS.split([2, 1, 4], dim=1):
            keys, values = cache.append(made.split(made.W_K(new)), made.split(made.W_V(new)))
            queries = made.split(made.W_q(new))
            pieces.append(made.attend_in_heads(queries, keys, values, None, False, causal=True)[0])
    torch.testing.assert_close(torch.cat(pieces, dim=1), wanted)


@pytest.mark.parametrize("make", [lambda: SelfAttention(D), lambda: Attention(D, query="self")])
def test_self_attention_has_the_same_masks(make):
    made = make().double()
    wanted, _ = made(KEYS, mask=REAL[:, None] & causal_mask(K, like=KEYS))
    contexts, _ = made(KEYS, key_mask=REAL, causal=True)
    torch.testing.assert_close(contexts, wanted)


def test_attend_has_the_same_masks():
    wanted, _ = attend(KEYS, KEYS, KEYS, mask=REAL[:, None] & causal_mask(K, like=KEYS))
    contexts, _ = attend(KEYS, KEYS, KEYS, key_mask=REAL, causal=True)
    torch.testing.assert_close(contexts, wanted)
    last, _ = attend(KEYS[:, 4:], KEYS, KEYS, key_mask=REAL, causal=True)
    torch.testing.assert_close(last, wanted[:, 4:])


def test_layers_of_the_transformer_have_the_same_masks():
    encoder, decoder = EncoderLayer(D, HEADS, 13).double(), DecoderLayer(D, HEADS, 13).double()
    pairs = REAL[:, None] & causal_mask(K, like=KEYS)
    wanted, _ = encoder(KEYS, pairs)
    torch.testing.assert_close(encoder(KEYS, key_mask=REAL, causal=True)[0], wanted)
    wanted, _ = decoder(KEYS, KEYS, pairs, REAL[:, None])
    features, _ = decoder(KEYS, KEYS, key_mask=REAL, causal=True, memory_key_mask=REAL)
    torch.testing.assert_close(features, wanted)


# --- PyTorch's layer ---------------------------------------------------------------------------

THEIRS = {
    "of one width": dict(),
    "of three widths": dict(kdim=5, vdim=7),
    "without bias": dict(bias=False),
}


@BOTH
@pytest.mark.parametrize("options", THEIRS.values(), ids=THEIRS)
def test_a_copy_of_pytorch_layer_has_its_contexts_and_weights(options, need_weights):
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(D, 3, batch_first=True, dtype=torch.float64, **options)
    for bias in (theirs.in_proj_bias, theirs.out_proj.bias):
        if bias is not None:
            nn.init.normal_(bias)
    ours = MultiHeadAttention.from_torch(theirs)
    keys, values = tensor(B, K, theirs.kdim, seed=1), tensor(B, K, theirs.vdim, seed=2)
    real = REAL | (torch.arange(K) == 0)  # PyTorch returns NaN where there is no key at all
    contexts, weights = ours(QUERIES, keys, values, need_weights=need_weights, key_mask=real)
    wanted, their_weights = theirs(
        QUERIES, keys, values, key_padding_mask=~real, average_attn_weights=False
    )
    torch.testing.assert_close(contexts, wanted)
    if need_weights:
        torch.testing.assert_close(weights, their_weights)


def test_a_copy_owns_its_weights_and_keeps_mode_dropout_and_precision():
    theirs = nn.MultiheadAttention(D, 3, dropout=0.25, dtype=torch.bfloat16).eval()
    ours = MultiHeadAttention.from_torch(theirs)
    assert not ours.training
    assert ours.dropout == 0.25
    assert {p.dtype for p in ours.parameters()} == {torch.bfloat16}
    with torch.no_grad():
        theirs.in_proj_weight.zero_()
    assert ours.W_q.weight.abs().sum() > 0


@pytest.mark.parametrize("options", [dict(add_bias_kv=True), dict(add_zero_attn=True)])
def test_a_layer_that_adds_keys_is_not_copied(options):
    with pytest.raises(ValueError, match="which add a key to every input"):
        MultiHeadAttention.from_torch(nn.MultiheadAttention(D, 3, **options))


# --- options -----------------------------------------------------------------------------------


@BOTH
def test_dropout_sets_weights_to_zero_while_training_and_keeps_the_mean(need_weights):
    made = layer(dropout=0.5)
    keys = KEYS[:1]
    wanted, sure = made.eval()(keys, keys, keys, need_weights=need_weights)
    torch.testing.assert_close(made(keys, keys, keys, need_weights=need_weights)[0], wanted)
    torch.manual_seed(0)
    many = keys.expand(4000, K, D)
    contexts, weights = made.train()(many, many, many, need_weights=need_weights)
    torch.testing.assert_close(contexts.mean(0), wanted[0], atol=0.05, rtol=0)
    assert contexts.std(0).min() > 0.01
    if need_weights:
        dropped = weights == 0
        assert dropped.double().mean() == pytest.approx(0.5, abs=0.01)
        torch.testing.assert_close(weights[~dropped], 2 * sure.expand_as(weights)[~dropped])


def test_device_and_dtype_are_those_of_every_parameter():
    made = MultiHeadAttention(D, HEADS, score="general", device="meta", dtype=torch.float16)
    assert {(p.device.type, p.dtype) for p in made.parameters()} == {("meta", torch.float16)}


def test_alignments_are_chosen_by_name():
    for make in (
        lambda align: MultiHeadAttention(D, HEADS, align=align),
        lambda align: SelfAttention(D, align=align),
        lambda align: CapsuleAttention(D, 3, align=align),
        lambda align: EncoderLayer(D, HEADS, 13, align=align).attention,
        lambda align: DecoderLayer(D, HEADS, 13, align=align).cross_attention,
        lambda align: Transformer(5, 5, D, HEADS, 1, 13, align=align).decoder[0].attention,
    ):
        assert make("sparsemax").align is sparsemax
        with pytest.raises(ValueError, match="align must be one of softmax, sparsemax, entmax15"):
            make("sharpmax")
    _, weights = attend(KEYS, KEYS, KEYS, align="sparsemax")
    assert (weights == 0).any()


def test_scores_are_chosen_by_name_in_the_layers_too():
    for made in (
        EncoderLayer(D, HEADS, 13, score="general"),
        DecoderLayer(D, HEADS, 13, score="general"),
        Transformer(5, 5, D, HEADS, 1, 13, score="general"),
    ):
        assert "scores.0.W" in str(list(dict(made.named_parameters())))
    with pytest.raises(ValueError, match="score must be one of additive"):
        EncoderLayer(D, HEADS, 13, score="scaled dot")


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (dict(queries=torch.ones(B, Q, 5)), "queries must have the width 12 that the layer was"),
        (dict(keys=torch.ones(B, K, 5)), "keys must have the width 12 that the layer was made for"),
        (dict(queries=torch.ones(D)), "queries must be (..., n, width), but came as (12,)"),
        (dict(queries=torch.ones(3, Q, D)), "the leading axes do not fit: queries are (3, 3, 12)"),
        (dict(mask=REAL), "write key_mask=mask"),
        (dict(mask=REAL, causal=True), "mask must broadcast to (..., q, k) with the other masks"),
        (dict(key_mask=REAL[:, :4]), "key_mask must be (..., k) = (5, 7), one truth value per key"),
        (dict(key_mask=REAL[:, None]), "is (5, 1, 7). A mask over pairs of queries and keys is"),
        (dict(key_mask=REAL.double()), "key_mask must be boolean"),
        (dict(queries=torch.ones(B, 8, D), causal=True), "8 queries need 8 keys or more, not 7"),
    ],
)
@BOTH
def test_a_bad_input_gets_a_sentence_that_helps(change, sentence, need_weights):
    given = dict(queries=torch.ones(B, Q, D), keys=torch.ones(B, K, D), values=torch.ones(B, K, D))
    with pytest.raises(ValueError, match=re.escape(sentence)):
        MultiHeadAttention(D, HEADS)(**given | change, need_weights=need_weights)


@pytest.mark.parametrize("mask", ["mask", "key_mask"])
def test_attend_says_how_to_write_a_mask_of_keys(mask):
    sentence = {"mask": "write key_mask=mask", "key_mask": "key_mask must be (..., k) = (5, 7)"}
    wrong = {"mask": REAL, "key_mask": REAL[:, None]}[mask]
    with pytest.raises(ValueError, match=re.escape(sentence[mask])):
        attend(QUERIES, KEYS, KEYS, **{mask: wrong})


def test_what_follows_the_heads_is_given_by_name():
    with pytest.raises(TypeError, match="positional arguments"):
        MultiHeadAttention(32, 4, 0.1)
    with pytest.raises(ValueError, match="dropout is a probability from 0 to below 1, but is 32"):
        MultiHeadAttention(32, 4, dropout=32)
