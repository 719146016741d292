"""Attention over levels against its definitions in loops, and properties P4.20–P4.25."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from attn_course.definitions import features as definition
from attn_course.features import AttentionViaAttention, HierarchicalAttention
from tests.features.by_hand import assert_close, by_hand, keys_and_values, shaken

seeds = st.integers(0, 2**32 - 1)


def randn(generator, *size):
    return torch.randn(*size, generator=generator, dtype=torch.float64)


def numbers(rows):
    return torch.tensor(rows, dtype=torch.float64)


# --- attention via attention -------------------------------------------------------------------

Q, N_W, N_C = 2, 3, 7
D_Q, D_WORD, D_CHARACTER, D_W = 5, 11, 13, 17


def draw(seed=0, n_w=N_W):
    generator = torch.Generator().manual_seed(seed)
    inputs = (
        randn(generator, Q, D_Q),
        randn(generator, n_w, D_WORD),
        randn(generator, N_C, D_CHARACTER),
    )
    masks = [torch.rand(n, generator=generator) < 0.6 for n in (n_w, N_C)]
    return generator, inputs, masks


def via_attention(**options):
    torch.manual_seed(0)
    return AttentionViaAttention(D_Q, (D_WORD, D_CHARACTER), D_W, **options).double()


@pytest.mark.agrees("features.AttentionViaAttention", "definitions.features.via_attention")
@given(seed=seeds)
@settings(max_examples=8)
def test_attention_via_attention_agrees_with_its_definition_in_loops(seed):
    generator, (queries, words, characters), masks = draw(seed)
    layer = shaken(via_attention(d_k=(19, 23), d_v=(3, 2)), generator)
    at_words = keys_and_values(layer.words, words)
    at_characters = keys_and_values(layer.characters, characters)
    scores = by_hand(layer.score_w), by_hand(layer.score_c)
    for given_masks in ((None, None), masks):
        output, weights = layer(queries, words, characters, *given_masks)
        plain = [mask if mask is None else mask.tolist() for mask in given_masks]
        for i, query in enumerate(queries.tolist()):
            contexts, wanted = definition.via_attention(
                query, at_words, at_characters, *scores, *plain
            )
            assert_close(output[i].detach(), numbers([*contexts["c_w"], *contexts["c_c"]]))
            assert set(weights) == set(wanted)
            for name, a in weights.items():
                assert_close(a[i].detach(), numbers(wanted[name]))


@pytest.mark.agrees("features.AttentionViaAttention", "PyTorch")
def test_attention_via_attention_agrees_with_pytorch_own_kernel():
    generator = torch.Generator().manual_seed(0)
    queries, words = randn(generator, Q, D_Q), randn(generator, N_W, D_Q)
    characters = randn(generator, N_C, 2 * D_Q)
    layer = AttentionViaAttention(D_Q, (D_Q, 2 * D_Q), score="scaled_dot")
    output, _ = layer(queries, words, characters)
    c_w = scaled_dot_product_attention(queries, words, words)
    c_c = scaled_dot_product_attention(torch.cat([queries, c_w], -1), characters, characters)
    assert_close(output, torch.cat([c_w, c_c], -1))


@pytest.mark.proves("P4.20")
def test_blind_to_the_words_the_second_look_is_ordinary_attention():
    _, (queries, words, characters), _ = draw()
    layer = via_attention()
    layer.score_c.W_q.data[:, D_Q:] = 0
    assert layer.score_c.W_q.shape == (D_W, D_Q + D_WORD)
    _, weights = layer(queries, words, characters)
    score = by_hand(layer.score_c)
    score.keywords["W_q"] = [row[:D_Q] for row in score.keywords["W_q"]]
    keys = characters.tolist()
    for i, query in enumerate(queries.tolist()):
        _, wanted = definition.attend(query, keys, keys, score)
        assert_close(weights["a_c"][i].detach(), numbers(wanted))


@pytest.mark.proves("P4.20")
def test_otherwise_the_words_change_the_second_look():
    _, (queries, words, characters), _ = draw()
    layer = via_attention()
    _, weights = layer(queries, words, characters)
    _, others = layer(queries, -words, characters)
    assert not torch.allclose(weights["a_c"], others["a_c"])


@pytest.mark.proves("P4.21")
def test_a_single_word_is_found_by_every_query():
    _, (queries, words, characters), _ = draw(n_w=1)
    output, weights = via_attention()(queries, words, characters)
    assert (weights["a_w"] == 1).all()
    assert_close(output[:, :D_WORD], words.expand(Q, D_WORD))


def test_all_characters_are_attended_to_whatever_words_were_chosen():
    _, (queries, words, characters), _ = draw()
    only_first = torch.tensor([True, False, False])
    _, weights = via_attention()(queries, words, characters, word_mask=only_first)
    assert weights["a_w"].tolist() == [[1.0, 0.0, 0.0]] * Q
    assert (weights["a_c"] > 0).all()


def test_queries_of_one_step_can_ask_a_batch_of_sentences():
    _, (queries, words, characters), _ = draw()
    layer = via_attention()
    batch = torch.stack([characters, -characters, 2 * characters])
    output, _ = layer(queries, words, batch)
    assert output.shape == (3, Q, D_WORD + D_CHARACTER)
    assert_close(output[1], layer(queries, words, -characters)[0])


# --- hierarchical attention --------------------------------------------------------------------

S, N, D = 2, 3, 5


def document(seed=0):
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(S, N, generator=generator) < 0.5  # some sentences, some documents are empty
    return generator, randn(generator, S, N, D), mask


def hierarchical(d_f=D, **options):
    torch.manual_seed(0)
    return HierarchicalAttention(d_f, **options).double()


@pytest.mark.agrees("features.HierarchicalAttention", "definitions.features.hierarchical")
@given(seed=seeds)
@settings(max_examples=15)
def test_hierarchical_agrees_with_its_definition_in_loops(seed):
    generator, words, mask = document(seed)
    layer = shaken(hierarchical(d_w=(7, 11), d_k=(13, 17), d_v=(19, 2)), generator)
    pairs = [keys_and_values(layer.words, sentence) for sentence in words]
    maps = [m.weight.tolist() for m in (layer.sentences.key_map, layer.sentences.value_map)]
    scores = by_hand(layer.score_S), by_hand(layer.score_D)
    for given_mask in (None, mask):
        output, weights = layer(words, given_mask)
        masks = None if given_mask is None else given_mask.tolist()
        wanted, a_S, a_D = definition.hierarchical(pairs, *scores, *maps, masks)
        assert_close(output.detach(), numbers(wanted))
        assert_close(weights["a_S"].detach(), numbers(a_S))
        assert_close(weights["a_D"].detach(), numbers(a_D))


def attended(vectors, score):
    """The same level by PyTorch's own kernel: w asks tanh(W k + b)."""
    hidden = nn.functional.linear(vectors, score.W, score.b).tanh()
    query = score.w.expand(*vectors.shape[:-2], 1, -1)
    return scaled_dot_product_attention(query, hidden, vectors, scale=1.0)[..., 0, :]


@pytest.mark.agrees("features.HierarchicalAttention", "PyTorch")
def test_hierarchical_agrees_with_pytorch_own_kernel():
    _, words, _ = document()
    layer = hierarchical()
    assert_close(layer(words)[0], attended(attended(words, layer.score_S), layer.score_D))


@pytest.mark.proves("P4.22")
def test_the_only_sentence_is_the_document():
    _, words, _ = document()
    layer = hierarchical()
    output, weights = layer(words[:1])
    assert weights["a_D"].tolist() == [1.0]
    assert_close(output, weights["a_S"][0] @ words[0])


@pytest.mark.proves("P4.23")
def test_uniform_weights_give_the_mean_of_the_sentences_means():
    _, words, _ = document()
    layer = hierarchical()
    layer.score_S.w.data.zero_()
    layer.score_D.w.data.zero_()
    assert_close(
        layer(words)[0], words.reshape(S * N, D).mean(0)
    )  # equal lengths: the mean of all words
    mask = torch.tensor([[True, False, False], [True, True, True]])
    output, _ = layer(words, mask)
    assert_close(output, (words[0, 0] + words[1].mean(0)) / 2)
    assert not torch.allclose(output, words[mask].mean(0))


@pytest.mark.proves("P4.24")
def test_the_order_of_words_and_of_sentences_does_not_matter():
    _, words, _ = document()
    layer = hierarchical()
    output, weights = layer(words)
    permuted, permuted_weights = layer(words.flip(0)[:, [2, 0, 1]])
    assert_close(permuted, output)
    assert_close(permuted_weights["a_S"], weights["a_S"].flip(0)[:, [2, 0, 1]])
    assert_close(permuted_weights["a_D"], weights["a_D"].flip(0))


@pytest.mark.proves("P4.24")
def test_moving_a_word_to_another_sentence_changes_the_document():
    _, words, _ = document()
    layer = hierarchical()
    exchanged = words.clone()
    exchanged[0, 0], exchanged[1, 0] = words[1, 0], words[0, 0]
    assert not torch.allclose(layer(exchanged)[0], layer(words)[0])


@pytest.mark.proves("P4.25")
@pytest.mark.parametrize("junk", [0.0, 1e3, float("nan"), float("inf")])
def test_padding_words_and_padding_sentences_change_nothing(junk):
    _, words, _ = document()
    layer = hierarchical()
    wanted, wanted_weights = layer(words)
    padded = torch.full((S + 2, N + 2, D), junk, dtype=torch.float64)
    padded[:S, :N] = words
    mask = torch.zeros(S + 2, N + 2, dtype=torch.bool)
    mask[:S, :N] = True
    output, weights = layer(padded, mask)
    assert_close(output, wanted)
    assert_close(weights["a_S"][:S, :N], wanted_weights["a_S"])
    assert_close(weights["a_D"][:S], wanted_weights["a_D"])
    assert (weights["a_S"][~mask] == 0).all()
    assert (weights["a_D"][S:] == 0).all()


@pytest.mark.proves("P4.25")
def test_an_empty_sentence_in_the_middle_is_left_out():
    _, words, _ = document()
    layer = hierarchical()
    three = torch.stack([words[0], torch.full_like(words[0], 9.0), words[1]])
    mask = torch.tensor([True, False, True])[:, None].expand(3, N)
    assert_close(layer(three, mask)[0], layer(words)[0])


class Encoder(nn.Module):
    """A bidirectional GRU over the real sentences, one document at a time."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(D, 7, bidirectional=True, batch_first=True)

    def forward(self, sentences, mask):
        states = sentences.new_zeros(*sentences.shape[:-1], 14)
        for b in range(len(sentences)):
            real = slice(None) if mask is None else mask[b]
            states[b, real] = self.gru(sentences[b, real])[0]
        return states


def test_a_sentence_encoder_stands_between_the_levels():
    _, words, _ = document()
    torch.manual_seed(0)
    layer = HierarchicalAttention(D, sentence_encoder=Encoder(), d_s=14).double()
    output, weights = layer(words[None])
    assert output.shape == (1, 14)
    sentences = attended(words, layer.score_S)
    states, _ = layer.sentence_encoder.gru(sentences)
    assert_close(output[0], attended(states, layer.score_D))
    padded = torch.full((1, S + 3, N, D), float("nan"), dtype=torch.float64)
    padded[0, 1], padded[0, 3] = words
    mask = torch.tensor([False, True, False, True, False])[:, None].expand(S + 3, N)
    padded_output, padded_weights = layer(padded, mask)
    assert_close(padded_output, output)
    assert_close(padded_weights["a_D"][0, [1, 3]], weights["a_D"][0])


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: HierarchicalAttention(5, d_w=(3,)),
            "d_w must be 2 widths, for sentence, document",
        ),
        (lambda: HierarchicalAttention(5, d_s=3), "width of what sentence_encoder returns"),
        (lambda: HierarchicalAttention(5)(torch.ones(3, 5)), "write words[None]"),
        (
            lambda: HierarchicalAttention(5)(torch.ones(2, 3, 7)),
            "with d_f = 5, but came as (2, 3, 7)",
        ),
        (
            lambda: HierarchicalAttention(5)(torch.ones(2, 3, 5), torch.ones(3, dtype=torch.int64)),
            "the mask of words must be boolean",
        ),
        (
            lambda: AttentionViaAttention(2, (3, 5), score="dot"),
            "needs d_q = d_k, but d_q = 2 and d_k = 3",
        ),
        (
            lambda: AttentionViaAttention(2, (3, 5))(
                torch.ones(1, 2), torch.ones(0, 3), torch.ones(7, 5)
            ),
            "words has no features to attend to",
        ),
        (
            lambda: AttentionViaAttention(2, (3, 5))(
                torch.ones(2), torch.ones(2, 3), torch.ones(7, 5)
            ),
            "queries must be (..., q, d_q), but came as (2,)",
        ),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()
