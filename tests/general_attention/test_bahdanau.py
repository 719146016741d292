"""Bahdanau's model: a step in loops, PyTorch's GRU, and properties P9.1–P9.3."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call

from attn_course.alignment import window_mask
from attn_course.definitions import general_attention as definition
from attn_course.definitions.scoring import times
from attn_course.general_attention import BahdanauSeq2Seq, GatedUpdate
from tests import random_layers
from tests.random_layers import numbers, words

fresh = partial(random_layers.fresh, std=0.4)

B, T_X, T_Y, D_E, N_STATE, D_W, D_O = 3, 7, 5, 2, 11, 13, 17
SOURCE_WORDS, TARGET_WORDS = 19, 23
LENGTHS = (7, 4, 1)
MASK = torch.tensor([[j < length for j in range(T_X)] for length in LENGTHS])


SOURCE = words(B, T_X, vocabulary=SOURCE_WORDS)
TARGET = words(B, T_Y, vocabulary=TARGET_WORDS, seed=1)


def make(seed=0, **changes):
    sizes = dict(d_e=D_E, n=N_STATE, d_w=D_W, d_o=D_O) | changes
    return fresh(BahdanauSeq2Seq(SOURCE_WORDS, TARGET_WORDS, **sizes), seed)


# --- a step, in loops --------------------------------------------------------------------------


@pytest.mark.agrees("general_attention.GatedUpdate", "definitions.general_attention.gated_update")
@settings(max_examples=20)
@given(seed=st.integers(0, 2**31))
def test_the_gated_update_agrees_with_its_definition_in_loops(seed):
    cell = fresh(GatedUpdate(N_STATE, D_E, 3), seed)
    generator = torch.Generator().manual_seed(seed)
    s, y, c = (
        torch.randn(B, d, dtype=torch.float64, generator=generator) for d in (N_STATE, D_E, 3)
    )
    new = cell(s, y, c).detach()
    for b in range(B):
        wanted = definition.gated_update(s[b].numpy(), y[b].numpy(), c[b].numpy(), numbers(cell))
        np.testing.assert_allclose(new[b], wanted, atol=1e-12)


def decode_by_loops(model, h, s_0, before):
    """Return states, contexts and alignments of one sentence, step by step."""
    p, cell = numbers(model), numbers(model.update)
    s, steps = s_0, []
    for word in before:
        y = p["target_embedding.weight"][word]
        s, c, alpha = definition.decoder_step(s, y, h, p["v_a"], p["W_a"], p["U_a"], cell)
        steps.append((s, y, c, alpha))
    return steps


def logits_by_loops(model, s, y, c):
    p = numbers(model)
    parts = zip(times(p["U_o"], s), times(p["V_o"], y), times(p["C_o"], c), strict=True)
    pairs = [sum(part) for part in parts]
    maxout = [max(pairs[2 * i], pairs[2 * i + 1]) for i in range(D_O)]
    return times(p["W_o.weight"], maxout)


@pytest.mark.agrees(
    "general_attention.BahdanauSeq2Seq",
    "definitions.general_attention.decoder_step",
)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**31))
def test_alignments_and_logits_agree_with_the_decoder_in_loops(seed):
    model = make(seed)
    logits, alignments = model(SOURCE, TARGET, MASK)
    source = model.encode(SOURCE, MASK)
    assert logits.shape == (B, T_Y, TARGET_WORDS)
    for b, length in enumerate(LENGTHS):
        h = source.h[b, :length].detach().numpy()
        s_0 = source.s_0[b].detach().numpy()
        for i, (s, y, c, alpha) in enumerate(decode_by_loops(model, h, s_0, TARGET[b].tolist())):
            np.testing.assert_allclose(alignments[b, i, :length].detach(), alpha, atol=1e-12)
            assert (alignments[b, i, length:] == 0).all()
            wanted = logits_by_loops(model, s, y, c)
            np.testing.assert_allclose(logits[b, i].detach(), wanted, atol=1e-11)


@pytest.mark.agrees("general_attention.BahdanauSeq2Seq.encode", "PyTorch")
def test_the_encoder_is_pytorch_gru_on_each_sentence_alone():
    model = make()
    source = model.encode(SOURCE, MASK)
    directions = [nn.GRU(D_E, N_STATE, batch_first=True).double() for _ in range(2)]
    for direction, suffix in zip(directions, ("", "_reverse"), strict=True):
        weights = model.encoder.state_dict()
        direction.load_state_dict({k: weights[k + suffix] for k in direction.state_dict()})
    for b, length in enumerate(LENGTHS):
        x = model.source_embedding(SOURCE[b : b + 1, :length])
        forward, _ = directions[0](x)
        backward, _ = directions[1](x.flip(1))
        wanted = torch.cat([forward, backward.flip(1)], dim=-1)[0]
        torch.testing.assert_close(source.h[b, :length], wanted)
        assert (source.h[b, length:] == 0).all()
        # the backward state that has read the whole sentence, word 1 last
        s_0 = torch.tanh(model.W_s @ backward[0, -1])
        torch.testing.assert_close(source.s_0[b], s_0)


def test_it_is_not_the_cell_of_nn_gru():
    """The reset gate acts before U here, after it there; nothing to copy makes them equal."""
    cell = fresh(GatedUpdate(3, 2, 2))
    theirs = nn.GRUCell(2, 3, bias=False).double()
    with torch.no_grad():
        theirs.weight_ih.copy_(torch.cat([cell.W_r, -cell.W_z, cell.W]))
        theirs.weight_hh.copy_(torch.cat([cell.U_r, -cell.U_z, cell.U]))
    s, y = torch.ones(1, 3, dtype=torch.float64), torch.ones(1, 2, dtype=torch.float64)
    nothing = torch.zeros(1, 2, dtype=torch.float64)
    assert (cell(s, y, nothing) - theirs(y, s)).abs().max() > 1e-3
    with torch.no_grad():  # without U the gate r has nothing to act on: then they are the same
        cell.U.zero_()
        theirs.weight_hh[6:] = 0
    torch.testing.assert_close(cell(s, y, nothing), theirs(y, s))


# --- properties --------------------------------------------------------------------------------


@pytest.mark.proves("P9.1")
def test_with_one_source_word_the_context_never_changes():
    model = make()
    one = SOURCE[:, :1]
    logits, alignments = model(one, TARGET)
    assert (alignments == 1).all()
    source = model.encode(one)
    for b in range(B):  # a plain encoder-decoder: the same c = h_1 in every step
        h_1, s = source.h[b, 0].detach().numpy(), source.s_0[b].detach().numpy()
        for i, word in enumerate(TARGET[b].tolist()):
            y = numbers(model)["target_embedding.weight"][word]
            s = definition.gated_update(s, y, h_1, numbers(model.update))
            wanted = logits_by_loops(model, s, y, h_1)
            np.testing.assert_allclose(logits[b, i].detach(), wanted, atol=1e-11)
    with torch.no_grad():  # the score has no say
        model.v_a += 1
        model.W_a += 1
        model.U_a += 1
    torch.testing.assert_close(model(one, TARGET)[0], logits)


@pytest.mark.proves("P9.2")
def test_teacher_forcing_and_step_by_step_decoding_align_alike():
    model = make()
    logits, alignments = model(SOURCE, TARGET, MASK)
    source = model.encode(SOURCE, MASK)
    state = source.s_0
    for i in range(T_Y):
        state, step_logits, alpha = model.step(state, TARGET[:, i], source)
        torch.testing.assert_close(alpha, alignments[:, i])
        torch.testing.assert_close(step_logits, logits[:, i])
    prefix_logits, prefix = model(SOURCE, TARGET[:, :2], MASK)
    torch.testing.assert_close(prefix, alignments[:, :2])
    torch.testing.assert_close(prefix_logits, logits[:, :2])


@pytest.mark.proves("P9.2")
def test_what_greedy_decoding_said_is_aligned_alike_when_it_is_forced():
    model, never = make(), TARGET_WORDS  # a word that can't be said
    said, alignments = model.greedy(SOURCE, start=0, stop=never, steps=6, source_mask=MASK)
    before = torch.cat([torch.zeros(B, 1, dtype=torch.long), said[:, :-1]], dim=1)
    logits, forced = model(SOURCE, before, MASK)
    torch.testing.assert_close(alignments, forced)
    assert torch.equal(logits.argmax(-1), said)


@pytest.mark.proves("P9.3")
@pytest.mark.parametrize("junk", [0, 18])
def test_padding_the_source_changes_nothing(junk):
    model = make()
    padded = torch.cat([SOURCE, torch.full((B, 4), junk)], dim=1)
    mask = torch.cat([MASK, torch.zeros(B, 4, dtype=torch.bool)], dim=1)
    padded = padded.where(mask, junk)
    logits, alignments = model(padded, TARGET, mask)
    assert (alignments[:, :, T_X:] == 0).all()
    for b, length in enumerate(LENGTHS):
        alone, alone_weights = model(SOURCE[b : b + 1, :length], TARGET[b : b + 1])
        torch.testing.assert_close(logits[b], alone[0])
        torch.testing.assert_close(alignments[b, :, :length], alone_weights[0])


def test_a_source_of_no_words_gets_no_weight_and_what_stands_there_does_not_matter():
    model, mask = make(), MASK.clone()
    mask[1] = False
    logits, alignments = model(SOURCE, TARGET, mask)
    assert (alignments[1] == 0).all()
    changed = SOURCE.clone()
    changed[1] = (changed[1] + 1) % SOURCE_WORDS
    torch.testing.assert_close(model(changed, TARGET, mask)[0], logits)
    logits.square().sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


def test_a_later_target_word_changes_nothing_before_it():
    model = make()
    logits, alignments = model(SOURCE, TARGET, MASK)
    changed = TARGET.clone()
    changed[:, 3] = (changed[:, 3] + 1) % TARGET_WORDS
    other, other_alignments = model(SOURCE, changed, MASK)
    torch.testing.assert_close(other[:, :3], logits[:, :3])
    torch.testing.assert_close(other_alignments[:, :4], alignments[:, :4])  # asked before the word
    assert (other_alignments[0, 4] - alignments[0, 4]).abs().max() > 1e-6


# --- decoding, gradients, precision ------------------------------------------------------------


def test_greedy_decoding_ends_when_every_sentence_has_stopped(monkeypatch):
    model, stop = make(), 2
    script = torch.tensor([[5, stop, 6, 7], [3, 4, stop, 8], [stop, 9, 9, 9]])
    heard = []

    def say(state, previous, source):
        heard.append(previous)
        logits = nn.functional.one_hot(script[:, len(heard) - 1], TARGET_WORDS)
        return state, logits, torch.zeros(B, T_X)

    monkeypatch.setattr(model, "step", say)
    said, alignments = model.greedy(SOURCE, start=1, stop=stop, steps=9)
    assert said.tolist() == [[5, stop, stop], [3, 4, stop], [stop, stop, stop]]
    assert torch.stack(heard, dim=1).tolist() == [[1, 5, stop], [1, 3, 4], [1, stop, stop]]
    assert alignments.shape == (B, 3, T_X)
    with pytest.raises(ValueError, match="steps must be at least 1"):
        model.greedy(SOURCE, 0, stop, steps=0)


def test_every_parameter_learns():
    model = make()
    logits, _ = model(SOURCE, TARGET, MASK)
    nn.functional.cross_entropy(logits.flatten(0, 1), TARGET.flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.abs().max() > 1e-9, name


def test_gradients_are_right():
    model = make()
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    inputs = [value.clone().requires_grad_() for value in parameters.values()]

    def run(*values):
        changed = dict(zip(parameters, values, strict=True))
        return functional_call(model, changed, (SOURCE, TARGET[:, :2], MASK))

    assert torch.autograd.gradcheck(run, inputs, fast_mode=True)


def test_weights_come_only_when_asked_for():
    assert make()(SOURCE, TARGET, MASK, need_weights=False)[1] is None


def test_extreme_scores_stay_finite():
    model = make().float()
    with torch.no_grad():
        model.v_a *= 1e4
    logits, alignments = model(SOURCE, TARGET, MASK)
    assert logits.dtype == torch.float32
    assert torch.isfinite(logits).all()
    torch.testing.assert_close(alignments.sum(-1), torch.ones(B, T_Y))


def test_half_precision_stays_finite_and_near():
    model = make()
    wanted, _ = model(SOURCE, TARGET, MASK)
    logits, _ = model.bfloat16()(SOURCE, TARGET, MASK)
    assert logits.dtype == torch.bfloat16
    torch.testing.assert_close(logits.double(), wanted, atol=0.3, rtol=0.1)


def test_dropout_acts_in_training_only():
    model = make(dropout=0.5)
    torch.manual_seed(0)
    assert (model(SOURCE, TARGET)[0] - model(SOURCE, TARGET)[0]).abs().max() > 0.1
    model.eval()
    torch.testing.assert_close(model(SOURCE, TARGET)[0], make()(SOURCE, TARGET)[0])


def test_it_learns_to_copy_and_to_look_near_the_word_it_copies():
    torch.manual_seed(0)
    model = BahdanauSeq2Seq(7, 7, d_e=16, n=32)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(0)
    for _ in range(120):
        sentence = torch.randint(1, 7, (64, 5), generator=generator)
        before = torch.cat([torch.zeros(64, 1, dtype=torch.long), sentence[:, :-1]], dim=1)
        logits, _ = model(sentence, before)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), sentence.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    sentence = torch.randint(1, 7, (64, 5), generator=generator)
    said, alignments = model.greedy(sentence, 0, stop=7, steps=5)
    assert (said == sentence).double().mean() > 0.9
    near = window_mask(5, 5, half_width=1, like=alignments)  # 13 of 25 places
    assert (alignments * near).sum(-1).mean() > 0.7


def test_sources_and_masks_that_do_not_fit_are_refused():
    model = make()
    with pytest.raises(ValueError, match="padding must come after the words"):
        model(SOURCE, TARGET, MASK.flip(1))
    with pytest.raises(ValueError, match=r"they are \(3, 7\) and torch.bool \(3, 5\)"):
        model(SOURCE, TARGET, MASK[:, :5])
    with pytest.raises(ValueError, match=r"source must be \(batch, T_x\)"):
        model(SOURCE[0], TARGET)
