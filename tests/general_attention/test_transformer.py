"""The Transformer: PyTorch's own stacks, and properties P9.4–P9.8."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call

from attn_course.alignment import causal_mask
from attn_course.definitions import positions as definition
from attn_course.general_attention import (
    Transformer,
    learning_rate,
)
from tests.general_attention.pytorch_layers import (
    D_FF,
    HEADS,
    LAYERS,
    NORMS,
    SOURCE_MASK,
    TARGET_MASK,
    B,
    D,
    M,
    N,
    fresh,
    their_decoder_layer,
    their_encoder_layer,
)
from tests.random_layers import words

SOURCE_WORDS, TARGET_WORDS = 17, 19
SOURCE = words(B, N, vocabulary=SOURCE_WORDS)
TARGET = words(B, M, vocabulary=TARGET_WORDS, seed=1)


def make(norm="post", seed=0, **changes):
    sizes = dict(d=D, heads=HEADS, layers=LAYERS, d_ff=D_FF, norm=norm) | changes
    return fresh(Transformer(SOURCE_WORDS, TARGET_WORDS, **sizes), seed)


# --- PyTorch's own stacks ----------------------------------------------------------------------


@pytest.mark.agrees("general_attention.Transformer", "PyTorch")
@pytest.mark.parametrize("norm", NORMS)
def test_the_whole_model_is_pytorch_stacks_on_words_and_positions(norm):
    ours = make(norm)
    encoder = [their_encoder_layer(layer, norm) for layer in ours.encoder]
    decoder = [their_decoder_layer(layer, norm) for layer in ours.decoder]
    waves = torch.tensor(np.array([definition.sinusoidal_position(pos, D) for pos in range(N)]))
    memory = math.sqrt(D) * ours.source_embedding(SOURCE) + waves
    for layer in encoder:
        memory = layer(memory, src_key_padding_mask=~SOURCE_MASK)
    memory = ours.encoder_norm(memory)
    x = math.sqrt(D) * ours.target_embedding(TARGET) + waves[:M]
    for layer in decoder:
        x = layer(x, memory, tgt_mask=~causal_mask(M, like=x), memory_key_padding_mask=~SOURCE_MASK)
    wanted = ours.logits(ours.decoder_norm(x))
    logits, weights = ours(SOURCE, TARGET, SOURCE_MASK)
    torch.testing.assert_close(logits, wanted)
    assert isinstance(ours.encoder_norm, nn.LayerNorm) == (norm == "pre")
    shapes = {name: tuple(w.shape) for name, w in weights[1].items()}
    assert len(weights) == LAYERS
    assert shapes == {
        "encoder": (B, HEADS, N, N),
        "decoder": (B, HEADS, M, M),
        "cross": (B, HEADS, M, N),
    }
    without, none = ours(SOURCE, TARGET, SOURCE_MASK, need_weights=False)
    torch.testing.assert_close(without, wanted)
    assert none is None


# --- properties --------------------------------------------------------------------------------


@pytest.mark.proves("P9.4")
def test_without_positions_the_encoder_is_equivariant_and_with_them_not():
    order = torch.tensor([3, 1, 6, 0, 5, 2, 4])
    for positions in (True, False):
        model = make(positions=positions)
        memory, _ = model.encode(SOURCE)
        permuted, _ = model.encode(SOURCE[:, order])
        apart = (memory[:, order] - permuted).abs().max()
        assert apart > 0.1 if positions else apart < 1e-10


@pytest.mark.proves("P9.5")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("need_weights", [True, False])
def test_a_later_word_changes_nothing_before_it(norm, need_weights):
    model = make(norm)
    logits, _ = model(SOURCE, TARGET, need_weights=need_weights)
    for t in range(M):
        changed = TARGET.clone()
        changed[:, t] = (changed[:, t] + 1) % TARGET_WORDS
        other, _ = model(SOURCE, changed, need_weights=need_weights)
        torch.testing.assert_close(other[:, :t], logits[:, :t])
        assert (other[:, t] - logits[:, t]).abs().max() > 1e-6


@pytest.mark.proves("P9.5")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("pieces", [(1, 1, 1, 1, 1), (2, 1, 2), (5,)])
def test_cached_decoding_equals_the_full_pass(norm, pieces):
    model = make(norm)
    full, full_weights = model(SOURCE, TARGET, SOURCE_MASK)
    state = model.start(SOURCE, SOURCE_MASK)
    done = 0
    for piece in pieces:
        rows = slice(done, done + piece)
        logits, weights = model.step(TARGET[:, rows], state)
        done += piece
        torch.testing.assert_close(logits, full[:, rows], atol=1e-10, rtol=0)
        for mine, wanted in zip(weights, full_weights, strict=True):
            torch.testing.assert_close(mine["cross"], wanted["cross"][:, :, rows])
            torch.testing.assert_close(mine["decoder"], wanted["decoder"][:, :, rows, :done])
    assert len(state.caches[0].past) == M


@pytest.mark.proves("P9.7")
@pytest.mark.parametrize("norm", NORMS)
def test_the_first_word_attends_to_itself_alone(norm):
    _, weights = make(norm)(SOURCE, TARGET)
    for layer in weights:
        first = layer["decoder"][..., 0, :]
        wanted = torch.zeros_like(first)
        wanted[..., 0] = 1
        torch.testing.assert_close(first, wanted)


def padded_left(tokens, count, junk):
    padding = torch.full((len(tokens), count), junk)
    mask = torch.cat([torch.zeros_like(padding), torch.ones_like(tokens)], dim=1).bool()
    return torch.cat([padding, tokens], dim=1), mask


@pytest.mark.proves("P9.8")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("need_weights", [True, False])
def test_padding_on_the_left_leaves_empty_rows_finite_and_changes_nothing(norm, need_weights):
    model = make(norm)
    target, mask = padded_left(TARGET, 3, junk=11)
    logits, weights = model(SOURCE, target, target_mask=mask, need_weights=need_weights)
    wanted, _ = model(SOURCE, TARGET)
    assert torch.isfinite(logits).all()
    torch.testing.assert_close(logits[:, 3:], wanted)
    if need_weights:
        assert (weights[0]["decoder"][:, :, :3] == 0).all()
    logits.square().sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


@pytest.mark.proves("P9.8")
def test_prompts_padded_on_the_left_can_be_decoded_from_a_cache():
    model = make()
    target, mask = padded_left(TARGET, 2, junk=11)
    wanted, _ = model(SOURCE, TARGET)
    state = model.start(SOURCE)
    prompt, _ = model.step(target[:, :4], state, mask[:, :4])
    rest, _ = model.step(target[:, 4:], state)
    together = torch.cat([prompt, rest], dim=1)[:, 2:]
    torch.testing.assert_close(together, wanted, atol=1e-10, rtol=0)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_the_source_changes_nothing(norm, side):
    model = make(norm)
    junk, mask = padded_left(SOURCE, 4, junk=13)
    if side == "right":
        junk, mask = junk.roll(-4, dims=1), mask.roll(-4, dims=1)
    wanted, _ = model(SOURCE, TARGET)
    for need_weights in (True, False):
        logits, _ = model(junk, TARGET, source_mask=mask, need_weights=need_weights)
        torch.testing.assert_close(logits, wanted)


def test_a_source_of_no_words_is_finite_and_gets_no_weight():
    model = make()
    mask = SOURCE_MASK.clone()
    mask[1] = False
    logits, weights = model(SOURCE, TARGET, mask)
    assert torch.isfinite(logits).all()
    assert (weights[0]["cross"][1] == 0).all()
    changed = SOURCE.clone()
    changed[1] = (changed[1] + 1) % SOURCE_WORDS
    torch.testing.assert_close(model(changed, TARGET, mask)[0], logits)


# --- decoding ----------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
def test_greedy_decoding_says_what_the_full_pass_finds_likeliest(norm):
    model, start = make(norm), 0
    never = TARGET_WORDS  # a word that can't be said
    said, weights = model.greedy(SOURCE, start, never, steps=4, source_mask=SOURCE_MASK)
    assert said.shape == (B, 4)
    before = torch.cat([torch.full((B, 1), start), said[:, :-1]], dim=1)
    logits, full = model(SOURCE, before, SOURCE_MASK)
    assert torch.equal(logits.argmax(-1), said)
    for mine, wanted in zip(weights, full, strict=True):
        torch.testing.assert_close(mine["cross"], wanted["cross"])


def test_greedy_decoding_ends_when_every_sentence_has_stopped(monkeypatch):
    model, stop = make(), 2
    script = torch.tensor([[5, stop, 6, 7], [3, 4, stop, 8]])  # 6 comes after a stop
    heard = []

    def say(words, state):
        heard.append(words)
        weights = [{"cross": torch.zeros(B, HEADS, 1, N)}] * LAYERS
        return nn.functional.one_hot(script[:, len(heard) - 1 : len(heard)], TARGET_WORDS), weights

    monkeypatch.setattr(model, "step", say)
    said, weights = model.greedy(SOURCE, start=1, stop=stop, steps=9)
    assert said.tolist() == [[5, stop, stop], [3, 4, stop]]
    assert torch.cat(heard, dim=1).tolist() == [[1, 5, stop], [1, 3, 4]]
    assert weights[1]["cross"].shape == (B, HEADS, 3, N)
    with pytest.raises(ValueError, match="steps must be at least 1"):
        model.greedy(SOURCE, 0, stop, steps=0)


# --- gradients, cost, precision ----------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
def test_every_parameter_learns_but_the_key_biases(norm):
    model = make(norm)
    logits, _ = model(SOURCE, TARGET, SOURCE_MASK, TARGET_MASK)
    nn.functional.cross_entropy(logits.flatten(0, 1), TARGET.flatten()).backward()
    for name, parameter in model.named_parameters():
        # q . b_K is the same for every key, so the softmax drops it
        dead = name.endswith("W_K.bias")
        assert (parameter.grad.abs().max() < 1e-14) == dead, name


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("need_weights", [True, False])
def test_gradients_are_right(norm, need_weights):
    model = make(norm, layers=1)
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    picked = ["source_embedding.weight", "encoder.0.attention.W_q.weight", "logits.weight"]
    picked += [
        "decoder.0.cross_attention.W_V.weight",
        "decoder.0.around_attention.normalise.weight",
    ]

    def run(*values):
        changed = parameters | dict(zip(picked, values, strict=True))
        masks = (SOURCE_MASK, TARGET_MASK, need_weights)
        return functional_call(model, changed, (SOURCE, TARGET, *masks))[0]

    inputs = [parameters[name].clone().requires_grad_() for name in picked]
    assert torch.autograd.gradcheck(run, inputs, fast_mode=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("norm", NORMS)
def test_every_precision_stays_finite(dtype, norm):
    model = make(norm).to(dtype)
    target, mask = padded_left(TARGET, 2, junk=1)
    logits, _ = model(SOURCE, target, SOURCE_MASK, mask)
    assert logits.dtype == dtype
    assert torch.isfinite(logits).all()
    said, _ = model.greedy(SOURCE, 0, 1, steps=3)
    assert said.shape[1] <= 3


def test_dropout_acts_in_training_only():
    model = make(dropout=0.5)
    torch.manual_seed(0)
    assert (model(SOURCE, TARGET)[0] - model(SOURCE, TARGET)[0]).abs().max() > 0.1
    model.eval()
    torch.testing.assert_close(model(SOURCE, TARGET)[0], make()(SOURCE, TARGET)[0])


def test_more_batch_axes_or_none_work_alike():
    model = make()
    wanted, _ = model(SOURCE, TARGET, SOURCE_MASK, TARGET_MASK)
    alone, _ = model(SOURCE[1], TARGET[1], SOURCE_MASK[1], TARGET_MASK[1])
    torch.testing.assert_close(alone, wanted[1])
    deep, _ = model(SOURCE[None], TARGET[None], SOURCE_MASK[None], TARGET_MASK[None])
    torch.testing.assert_close(deep[0], wanted)


def test_words_enter_as_large_as_their_positions():
    torch.manual_seed(0)
    model = Transformer(1000, 1000, d=64, heads=4, layers=1, d_ff=8)
    x = math.sqrt(64) * model.source_embedding.weight
    assert x.std().item() == pytest.approx(1, abs=0.05)


def test_it_learns_to_copy():
    torch.manual_seed(0)
    model = Transformer(7, 7, d=16, heads=2, layers=1, d_ff=32, norm="pre")
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(0)
    for _ in range(150):
        sentence = torch.randint(1, 7, (32, 4), generator=generator)
        before = torch.cat([torch.zeros(32, 1, dtype=torch.long), sentence[:, :-1]], dim=1)
        logits, _ = model(sentence, before, need_weights=False)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), sentence.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    sentence = torch.randint(1, 7, (64, 4), generator=generator)
    said, _ = model.greedy(sentence, 0, stop=7, steps=4)
    assert (said == sentence).double().mean() > 0.9


def test_the_learning_rate_rises_in_a_line_and_falls_like_a_root():
    d, warmup = 512, 400
    rates = [learning_rate(t, d, warmup) for t in range(1, 2000)]
    assert rates.index(max(rates)) + 1 == warmup
    assert max(rates) == pytest.approx((d * warmup) ** -0.5)
    assert learning_rate(100, d, warmup) == pytest.approx(100 * learning_rate(1, d, warmup))
    assert learning_rate(1600, d, warmup) == pytest.approx(learning_rate(400, d, warmup) / 2)


def test_choices_and_masks_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="norm must be one of post, pre, but is 'both'"):
        make("both")
    with pytest.raises(ValueError, match="layers must be at least 1, but is 0"):
        make(layers=0)
    with pytest.raises(ValueError, match=r"one truth value a word, \(2, 7\), but is torch.bool"):
        make()(SOURCE, TARGET, SOURCE_MASK[:, :5])
    with pytest.raises(ValueError, match="a mask must be boolean"):
        make()(SOURCE, TARGET, target_mask=TARGET_MASK.int())
