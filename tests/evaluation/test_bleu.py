"""BLEU against sacrebleu, NLTK and its definition in loops."""

import re
import warnings
from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate import bleu_score as nltk_bleu
from sacrebleu.metrics.bleu import BLEU

from attn_course.definitions import evaluation as definition
from attn_course.evaluation.bleu import corpus_bleu, sentence_bleu

words = str.split

SMOOTHINGS = ["none", "add-k", "floor", "exp"]
CAT = words("the cat sat on the mat")

letters = st.sampled_from(["a", "b", "c", "d", "e"])  # few, so that n-grams match now and then


def sentences(shortest=1):
    return st.lists(letters, min_size=shortest, max_size=13)


def corpora(shortest=1):
    pair = st.tuples(sentences(shortest), st.lists(sentences(shortest), min_size=1, max_size=3))
    return st.lists(pair, min_size=1, max_size=5)


def by_sacrebleu(corpus, **options):
    most = max(len(own) for _, own in corpus)
    columns = [
        [" ".join(own[k]) if k < len(own) else None for _, own in corpus] for k in range(most)
    ]
    metric = BLEU(tokenize="none", force=True, **options)
    return metric.corpus_score([" ".join(candidate) for candidate, _ in corpus], columns)


@pytest.mark.agrees("evaluation.corpus_bleu", "sacrebleu")
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("effective_order", [False, True])
@given(corpus=corpora(), n=st.integers(1, 5))
@settings(max_examples=25)
def test_corpus_bleu_agrees_with_sacrebleu(smoothing, effective_order, corpus, n):
    candidates, references = zip(*corpus, strict=True)
    ours = corpus_bleu(
        candidates, references, n=n, smoothing=smoothing, effective_order=effective_order
    )
    theirs = by_sacrebleu(
        corpus, smooth_method=smoothing, effective_order=effective_order, max_ngram_order=n
    )
    assert ours.score == pytest.approx(theirs.score / 100, abs=1e-9)
    assert ours.precisions == pytest.approx([p / 100 for p in theirs.precisions], abs=1e-9)
    assert ours.brevity_penalty == pytest.approx(theirs.bp)
    assert (ours.candidate_length, ours.reference_length) == (theirs.sys_len, theirs.ref_len)


@pytest.mark.agrees("evaluation.corpus_bleu", "sacrebleu")
@pytest.mark.parametrize(("smoothing", "value"), [("add-k", 0.3), ("floor", 0.02)])
def test_the_value_of_a_smoothing_is_the_one_of_sacrebleu(smoothing, value):
    corpus = [(words("a cat sat by the mat"), [CAT])]
    ours = corpus_bleu([corpus[0][0]], [[CAT]], smoothing=smoothing, smoothing_value=value)
    theirs = by_sacrebleu(corpus, smooth_method=smoothing, smooth_value=value)
    assert ours.score == pytest.approx(theirs.score / 100)


@pytest.mark.agrees("evaluation.corpus_bleu", "NLTK")
@pytest.mark.parametrize(
    ("smoothing", "method"),
    [("none", "method0"), ("floor", "method1"), ("add-k", "method2"), ("exp", "method3")],
)
@given(corpus=corpora(shortest=4))
@settings(max_examples=25)
def test_corpus_bleu_agrees_with_nltk_where_no_candidate_is_shorter_than_n(
    smoothing, method, corpus
):
    candidates, references = zip(*corpus, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NLTK warns of scores that are 0
        theirs = nltk_bleu.corpus_bleu(
            references,
            candidates,
            smoothing_function=getattr(nltk_bleu.SmoothingFunction(), method),
        )
    assert corpus_bleu(candidates, references, smoothing=smoothing).score == pytest.approx(
        theirs, abs=1e-6
    )


def test_nltk_counts_an_ngram_where_a_short_candidate_has_none():
    candidates, references = [CAT, ["thanks", "!"]], [[CAT], [["thanks", "!"]]]
    assert corpus_bleu(candidates, references).score == 1.0
    assert corpus_bleu(candidates, references).totals == (8, 6, 4, 3)
    assert nltk_bleu.corpus_bleu(references, candidates) < 0.95


@pytest.mark.agrees("evaluation.corpus_bleu", "definitions.evaluation.bleu")
@given(corpus=corpora(), n=st.integers(1, 4))
def test_corpus_bleu_agrees_with_its_definition_in_loops(corpus, n):
    candidates, references = zip(*corpus, strict=True)
    wanted = definition.bleu(candidates, references, n)
    assert corpus_bleu(candidates, references, n=n).score == pytest.approx(wanted)


@given(corpus=corpora(), smoothing=st.sampled_from(SMOOTHINGS))
def test_bleu_lies_between_0_and_1_and_is_the_product_that_it_shows(corpus, smoothing):
    bleu = corpus_bleu(*zip(*corpus, strict=True), smoothing=smoothing)
    assert 0 <= float(bleu) <= 1
    product = bleu.brevity_penalty
    for p in bleu.precisions:
        product *= p**0.25
    assert float(bleu) == pytest.approx(product)


@given(sentence=sentences(shortest=4))
def test_a_sentence_that_is_one_of_its_references_scores_1(sentence):
    assert sentence_bleu(sentence, [CAT, sentence]).score == pytest.approx(1)


def test_counts_are_pooled_before_they_are_divided():
    candidates = [CAT, words("a dog ran off to sea")]
    references = [[CAT], [["a", "dog", "ran", "home"]]]
    pooled = corpus_bleu(candidates, references).score
    alone = [sentence_bleu(c, r).score for c, r in zip(candidates, references, strict=True)]
    assert alone == [1.0, 0.0]
    assert 0.5 < pooled < 1


def test_a_word_counts_at_most_as_often_as_one_reference_has_it():
    bleu = sentence_bleu(["the"] * 7, [CAT, words("there is a cat on the mat")], n=1)
    assert bleu.precisions == (2 / 7,)


def test_of_two_references_as_close_in_length_the_shorter_counts():
    bleu = sentence_bleu(["a"] * 5, [["a"] * 7, ["a"] * 3])
    assert (bleu.reference_length, bleu.brevity_penalty) == (3, 1.0)


def test_the_brevity_penalty_is_that_of_the_formula():
    assert sentence_bleu(CAT[:4], [CAT]).score == pytest.approx(exp(1 - 6 / 4))


def test_an_empty_candidate_scores_0():
    assert sentence_bleu([], [CAT]).score == 0.0
    assert sentence_bleu([], [CAT], smoothing="add-k", effective_order=True).score == 0.0
    assert corpus_bleu([[], CAT], [[CAT], [CAT]]).brevity_penalty == pytest.approx(exp(-1))


def test_where_bleu_misleads_no_smoothing_tells_the_opposite_from_the_paraphrase():
    reference = words("the patient does not need to see a doctor after the fall")
    paraphrase = words("a doctor is not needed following this accident")
    opposite = words("the patient does need to see a doctor after the fall")
    for smoothing in SMOOTHINGS:
        high = sentence_bleu(opposite, [reference], smoothing=smoothing).score
        assert high > 0.7 > 0.2 > sentence_bleu(paraphrase, [reference], smoothing=smoothing).score


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: corpus_bleu([], []), "nothing to score: 0 candidates and 0 references"),
        (lambda: corpus_bleu([CAT], []), "there are 1 candidates and 0 references"),
        (lambda: sentence_bleu(CAT, []), "references needs at least one sentence"),
        (lambda: sentence_bleu(CAT, [[]]), "references[0] has no words"),
        (lambda: sentence_bleu(CAT, CAT), "For a single reference write [reference]"),
        (lambda: sentence_bleu(CAT, "the cat"), "references must be a list of sentences"),
        (lambda: sentence_bleu("the cat", [CAT]), "Split it first"),
        (lambda: corpus_bleu([[CAT]], [[CAT]]), "Is there a pair of brackets too many?"),
        (lambda: sentence_bleu(CAT, [CAT], n=0), "n must be at least 1, but is 0"),
        (lambda: sentence_bleu(CAT, [CAT], smoothing="some"), "none, add-k, floor, exp"),
        (
            lambda: sentence_bleu(CAT, [CAT], smoothing="exp", smoothing_value=1.0),
            "goes with the smoothings add-k and floor, but is 1.0 with exp",
        ),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()
