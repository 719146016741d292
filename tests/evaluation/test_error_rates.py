"""Error rates against jiwer and their definition in loops."""

import random
import re
import tracemalloc
from itertools import permutations

import jiwer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_course.definitions import evaluation as definition
from attn_course.evaluation.error_rates import (
    edit_alignment,
    phoneme_error_rate,
    position_independent_error_rate,
    word_error_rate,
)

words = str.split

SAID = words("we recognise speech")


def sentences(shortest=0, longest=13):
    return st.lists(st.sampled_from("abcd"), min_size=shortest, max_size=longest)


@pytest.mark.agrees("evaluation.word_error_rate", "jiwer")
@pytest.mark.agrees("evaluation.phoneme_error_rate", "jiwer")
@given(st.lists(st.tuples(sentences(shortest=1), sentences()), min_size=1, max_size=5))
def test_word_and_phoneme_error_rate_agree_with_jiwer(pairs):
    references, hypotheses = zip(*pairs, strict=True)
    joined = [[" ".join(tokens) for tokens in corpus] for corpus in (references, hypotheses)]
    wanted = jiwer.wer(*joined)
    assert word_error_rate(references, hypotheses) == pytest.approx(wanted)
    assert phoneme_error_rate(references, hypotheses) == pytest.approx(wanted)


@pytest.mark.agrees("evaluation.edit_alignment", "jiwer")
@given(reference=sentences(shortest=1), hypothesis=sentences())
def test_the_counts_are_those_of_jiwer_or_of_an_alignment_with_more_hits(reference, hypothesis):
    ours = edit_alignment(reference, hypothesis)
    theirs = jiwer.process_words(" ".join(reference), " ".join(hypothesis))
    assert ours.errors == theirs.substitutions + theirs.deletions + theirs.insertions
    assert ours.hits >= theirs.hits
    if ours.hits == theirs.hits:
        assert (ours.substitutions, ours.deletions, ours.insertions) == (
            theirs.substitutions,
            theirs.deletions,
            theirs.insertions,
        )


@pytest.mark.agrees("evaluation.edit_alignment", "definitions.evaluation.edit_distance")
@given(reference=sentences(), hypothesis=sentences())
def test_an_alignment_spells_both_sentences_with_the_fewest_edits(reference, hypothesis):
    alignment = edit_alignment(reference, hypothesis)
    assert [one for one, _ in alignment.pairs if one is not None] == reference
    assert [other for _, other in alignment.pairs if other is not None] == hypothesis
    assert alignment.errors == definition.edit_distance(reference, hypothesis)
    parts = alignment.substitutions, alignment.deletions, alignment.insertions
    assert sum(parts) == alignment.errors


def most_hits(reference, hypothesis):
    """Return (edits, -hits) of the best alignment, by trying all."""
    if not reference or not hypothesis:
        return len(reference) + len(hypothesis), 0
    hit = reference[0] == hypothesis[0]
    ways = [(most_hits(reference[1:], hypothesis[1:]), (not hit, -hit))]
    ways += [(most_hits(reference[1:], hypothesis), (1, 0))]
    ways += [(most_hits(reference, hypothesis[1:]), (1, 0))]
    return min((edits + e, hits + h) for (edits, hits), (e, h) in ways)


@given(reference=sentences(longest=5), hypothesis=sentences(longest=5))
@settings(max_examples=50)
def test_of_the_alignments_with_the_fewest_edits_one_with_the_most_hits_is_shown(
    reference, hypothesis
):
    alignment = edit_alignment(reference, hypothesis)
    assert (alignment.errors, -alignment.hits) == most_hits(reference, hypothesis)


def test_an_alignment_prints_reference_hypothesis_and_edits_below_one_another():
    said, heard = words("the quick fox is here"), words("a quick brown fox is")
    assert str(edit_alignment(said, heard)).splitlines() == [
        "REF: the quick ***** fox is here",
        "HYP:   a quick brown fox is ****",
        "       S           I           D",
    ]
    assert str(edit_alignment([], [])) == "REF:\nHYP:\n"


@given(sentence=sentences(shortest=1))
def test_nothing_heard_is_all_lost_and_all_heard_is_nothing_lost(sentence):
    for rate in (word_error_rate, phoneme_error_rate, position_independent_error_rate):
        assert rate([sentence], [[]]) == 1
        assert rate([sentence], [sentence]) == 0


def test_over_a_corpus_edits_are_summed_before_they_are_divided():
    references, hypotheses = [["a"] * 9, ["a"]], [["a"] * 9, ["b"]]
    for rate in (word_error_rate, phoneme_error_rate, position_independent_error_rate):
        assert rate(references, hypotheses) == 0.1
    assert word_error_rate([*references, []], [*hypotheses, ["b", "c"]]) == 0.3


@pytest.mark.agrees(
    "evaluation.position_independent_error_rate",
    "definitions.evaluation.edit_distance",
)
@given(reference=sentences(shortest=1, longest=6), hypothesis=sentences(longest=5))
@settings(max_examples=50)
def test_the_position_independent_rate_is_that_of_the_best_order(reference, hypothesis):
    orders = {tuple(order) for order in permutations(hypothesis)}
    best = min(definition.edit_distance(reference, order) for order in orders)
    rate = position_independent_error_rate([reference], [hypothesis])
    assert rate == pytest.approx(best / len(reference))
    assert rate <= word_error_rate([reference], [hypothesis])


def test_where_error_rates_mislead_each_in_its_way():
    assert word_error_rate([["stop"]], [words("well I should stop now")]) == 4.0
    said = words("um do not stop")
    harmless, grave = words("do not stop"), words("um do stop")
    assert word_error_rate([said], [harmless]) == word_error_rate([said], [grave]) == 0.25
    bat = words("b ae t")
    near, far = words("p ae t"), words("b m t")
    assert phoneme_error_rate([bat], [near]) == phoneme_error_rate([bat], [far])
    said, opposite = words("the dog bit the man"), words("the man bit the dog")
    assert position_independent_error_rate([said], [opposite]) == 0


@pytest.mark.parametrize("rate", [word_error_rate, position_independent_error_rate])
@pytest.mark.parametrize(
    ("references", "hypotheses", "sentence"),
    [
        ([], [], "nothing to score: 0 references and 0 hypotheses"),
        ([SAID], [SAID, SAID], "there are 1 references and 2 hypotheses"),
        ([[]], [SAID], "but they have no words"),
        (["we"], ["we"], "references[0] must be a list of words, but is 'we'. Split it first"),
        ([SAID], [[1, 2]], "hypotheses[0] must be a list of words, each a string, but contains 1"),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(rate, references, hypotheses, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        rate(references, hypotheses)
    if sentence.startswith("references[0]"):
        with pytest.raises(ValueError, match="reference must be a list of words"):
            edit_alignment(*references, *hypotheses)


@given(
    st.lists(st.sampled_from("abcd"), max_size=80), st.lists(st.sampled_from("abcde"), max_size=80)
)
def test_the_rate_counts_the_edits_of_the_alignment(reference, hypothesis):
    reference = ["z", *reference]
    edits = edit_alignment(reference, hypothesis).errors
    assert word_error_rate([reference], [hypothesis]) == edits / len(reference)
    assert word_error_rate([["z"], []], [["z"], hypothesis]) == len(hypothesis)


def test_a_rate_needs_no_table_of_all_pairs_of_words():
    rng = random.Random(0)
    said, heard = (rng.choices("abcdefgh", k=1600) for _ in range(2))
    tracemalloc.start()
    word_error_rate([said], [heard])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 * 1600
