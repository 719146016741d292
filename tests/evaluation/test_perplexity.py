"""Perplexity against PyTorch's cross-entropy and NLTK's language models."""

import re
from math import inf, nan

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from nltk.lm import MLE

from attn_course.evaluation.perplexity import bits_per_token, perplexity

SENTENCES, LENGTH, VOCABULARY = 3, 5, 7


def of_a_model(seed):
    generator = torch.Generator().manual_seed(seed)
    shape = SENTENCES, LENGTH, VOCABULARY
    logits = torch.randn(shape, generator=generator, dtype=torch.float64)
    tokens = torch.randint(VOCABULARY, shape[:2], generator=generator)
    logs = logits.log_softmax(-1).gather(-1, tokens[..., None])[..., 0]
    return logits, tokens, logs


@pytest.mark.agrees("evaluation.perplexity", "PyTorch")
@given(seed=st.integers(0, 2**32 - 1))
def test_perplexity_agrees_with_pytorch_cross_entropy_padding_left_out(seed):
    logits, tokens, logs = of_a_model(seed)
    mask = torch.arange(LENGTH) < torch.tensor([[5], [2], [3]])
    padded = tokens.masked_fill(~mask, -100)
    wanted = torch.nn.functional.cross_entropy(logits.flatten(0, 1), padded.flatten()).exp()
    p = logs.exp()
    for score in (
        perplexity(logs, mask=mask),
        perplexity(probabilities=p, mask=mask),
        perplexity(logs.numpy(), mask=mask.numpy()),
        perplexity(probabilities=p.numpy(), mask=mask.numpy()),
    ):
        assert score == pytest.approx(float(wanted))


@pytest.mark.agrees("evaluation.perplexity", "NLTK")
@pytest.mark.agrees("evaluation.bits_per_token", "NLTK")
def test_perplexity_agrees_with_nltk():
    model, text = MLE(1), list("abracadabra")
    model.fit([[(letter,) for letter in text]], vocabulary_text=text)
    probabilities = np.array([model.score(letter) for letter in text])
    wanted = model.perplexity([(letter,) for letter in text])
    assert perplexity(probabilities=probabilities) == pytest.approx(wanted)
    assert bits_per_token(probabilities=probabilities) == pytest.approx(
        model.entropy([(letter,) for letter in text])
    )


@given(st.lists(st.floats(1e-300, 1), min_size=1))
def test_perplexity_is_two_to_the_bits_and_at_least_1(probabilities):
    p = np.array(probabilities)
    assert perplexity(probabilities=p) == pytest.approx(2 ** bits_per_token(np.log(p)))
    assert perplexity(np.log(p)) >= 1


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_uniform_model_has_the_size_of_its_vocabulary(size):
    assert perplexity(probabilities=np.full((2, 3), 1 / size)) == pytest.approx(size)


def test_a_token_held_impossible_makes_it_infinite():
    assert perplexity(probabilities=np.array([0.5, 0.0])) == inf
    assert perplexity(torch.tensor([-1.0, -inf])) == inf
    assert perplexity(np.array([-1e6])) == inf  # beyond the largest float


def test_what_stands_at_padding_does_not_matter():
    logs = np.array([-1.0, nan, 3.0, -inf])
    assert perplexity(logs, mask=np.array([True, False, False, False])) == pytest.approx(np.e)


def test_few_bits_of_precision_are_summed_with_many():
    logs = torch.full((100_000,), -1.0, dtype=torch.float16)
    assert perplexity(logs) == pytest.approx(np.e)


def test_where_perplexity_misleads_it_falls_when_the_same_text_is_cut_finer():
    in_words = np.array([1 / 64, 1 / 16])
    in_letters = np.full(10, 0.5)
    assert in_words.prod() == in_letters.prod()
    assert perplexity(probabilities=in_words) == 32
    assert perplexity(probabilities=in_letters) == 2


LOGS = np.array([-1.0, -2.0])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: perplexity(), "but there are none"),
        (lambda: perplexity(LOGS, probabilities=LOGS), "but there are both"),
        (lambda: perplexity([-1.0]), "log_probabilities must be an array"),
        (lambda: perplexity(-LOGS), "Are they scores? Then take log_softmax first"),
        (lambda: perplexity(np.array([nan])), "some are above, or NaN"),
        (lambda: perplexity(probabilities=LOGS), "Are they log-probabilities?"),
        (lambda: perplexity(probabilities=-LOGS), "must be between 0 and 1"),
        (lambda: perplexity(LOGS[:0]), "no tokens to average over: log_probabilities are (0,)."),
        (lambda: perplexity(LOGS, mask=LOGS > 0), "and the mask hides them all"),
        (lambda: perplexity(LOGS, mask=LOGS), "but is float64 and (2,)"),
        (lambda: perplexity(LOGS, mask=np.array([True])), "but is bool and (1,)"),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()
