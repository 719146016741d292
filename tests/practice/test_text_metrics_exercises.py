"""What is special to the exercises of page 08a; what holds for all is in `tests/course`."""

from functools import partial
from math import exp, log, sqrt

import numpy as np
import pytest

from attn_course.definitions import evaluation as definition
from attn_course.evaluation import corpus_bleu, count_chunks, perplexity
from attn_course.practice.exercises import chapters
from tests.practice import drawn_cases

chapter = chapters()["08a"]
SEEDS = range(20)

reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.


@pytest.mark.parametrize(("n", "counts"), [(1, (3, 4)), (2, (1, 3))])
def test_the_example_of_the_counts_is_right(n, counts):
    references = [["the", "cat", "sees", "the", "dog"], ["a", "cat"]]
    assert reference("modified_precision")(["the", "the", "the", "cat"], references, n) == counts


def test_the_example_of_bleu_is_right():
    candidates = [["the", "cat"], ["a", "dog", "sees", "milk"]]
    references = [[["the", "cat"]], [["the", "dog", "sees", "a", "cat", "and", "milk"]]]
    found = reference("corpus_bleu")(candidates, references, 2)
    np.testing.assert_allclose(found, (exp(-1 / 2) * sqrt(1 / 2), exp(-1 / 2)))
    np.testing.assert_allclose(found, (0.4289, 0.6065), atol=5e-5)


def test_the_example_of_the_penalty_is_right():
    links = np.array([[0, 3], [1, 0], [2, 1], [3, 2]])
    assert reference("meteor_penalty")(links) == (2, 0.0625)


def test_the_example_of_perplexity_is_right():
    logs = np.array([[-log(2)] * 3, [-5 * log(2), 0.0, 0.0]])
    mask = np.array([[True, True, True], [True, False, False]])
    assert reference("perplexity")(logs, mask) == pytest.approx(4.0)
    alone = [reference("perplexity")(row, real) for row, real in zip(logs, mask, strict=True)]
    assert alone == pytest.approx([2.0, 32.0])


# The right answers are those of the package.


@pytest.mark.parametrize("seed", SEEDS)
def test_the_package_agrees(seed):
    for case in drawn("corpus_bleu", seed):
        candidates, references, n = case.args
        package = corpus_bleu(candidates, references, n=n)
        found = reference("corpus_bleu")(*case.args)
        np.testing.assert_allclose(found, (package.score, package.brevity_penalty))
        assert found[0] == pytest.approx(definition.bleu(*case.args))
    for case in drawn("meteor_penalty", seed):
        links = [tuple(link) for link in case.args[0].tolist()]
        assert reference("meteor_penalty")(*case.args)[0] == count_chunks(links)
    for case in drawn("perplexity", seed):
        numbers, mask = case.args
        assert reference("perplexity")(numbers, mask) == pytest.approx(
            perplexity(numbers, mask=mask)
        )


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_a_corpus_always_has_several_sentences(seed):
    """One sentence cannot show whether counts are added up before they are divided."""
    assert all(len(case.args[0]) > 1 for case in drawn("corpus_bleu", seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_no_candidate_is_its_own_reference(seed):
    for case in drawn("modified_precision", seed):
        candidate, references, _n = case.args
        assert candidate not in references
    for case in drawn("corpus_bleu", seed)[:-2]:  # the two cases of very short sentences end it
        pairs = list(zip(*case.args[:2], strict=True))
        assert not all(candidate in references for candidate, references in pairs)


@pytest.mark.parametrize("seed", SEEDS)
def test_clipping_matters_in_the_first_groups(seed):
    for group in groups_of("modified_precision", seed)[:2]:
        for case in group:
            candidate, references, n = case.args
            matches, total = reference("modified_precision")(*case.args)
            often = [candidate, *references]  # every word is allowed as often as it is said
            assert 0 < matches < total
            assert matches < reference("modified_precision")(candidate, often, n)[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_of_counts_has_longer_n_grams_than_words(seed):
    assert all(
        max(case.args[2] for case in group) > 1 for group in groups_of("modified_precision", seed)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_brevity_is_punished_and_length_is_not(seed):
    penalties = [
        [reference("corpus_bleu")(*case.args)[1] for case in group]
        for group in groups_of("corpus_bleu", seed)[:3]
    ]
    for group in penalties:
        assert min(group) < 1
        assert max(group) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_links_are_one_to_one(seed):
    for case in drawn("meteor_penalty", seed):
        for column in case.args[0].T:
            assert len(set(column.tolist())) == len(column)


@pytest.mark.parametrize("seed", SEEDS)
def test_other_batches_have_the_same_perplexity(seed):
    cases = groups_of("perplexity", seed)[1]
    found = [reference("perplexity")(*case.args) for case in cases]
    assert found == pytest.approx([found[0]] * 4)
    assert len({case.args[0].shape for case in cases}) == 4


@pytest.mark.parametrize("seed", SEEDS)
def test_sentences_have_different_lengths_and_perplexities(seed):
    """Equal lengths cannot show whether sentences or tokens are averaged."""
    for case in drawn("perplexity", seed):
        _numbers, mask = case.args
        rows = mask.reshape(-1, mask.shape[-1])
        assert len(set(rows.sum(axis=-1).tolist())) > 1 or mask.ndim == 1
    assert sum(case.args[1].ndim == 1 for case in drawn("perplexity", seed)) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_the_arithmetic_mean_is_clearly_another_number(seed):
    """The first case with two orders is the example that its learner sees."""
    candidates, references, n = groups_of("corpus_bleu", seed)[0][1].args
    score, penalty = reference("corpus_bleu")(candidates, references, n)
    singles = reference("corpus_bleu")(candidates, references, 1)[0] / penalty
    pairs = (score / penalty) ** 2 / singles
    assert n == 2
    assert (singles + pairs) / 2 - score / penalty > 0.03


def test_words_that_look_alike_do_not_match():
    for case in groups_of("modified_precision", 0)[-1]:
        candidate, references, n = case.args
        right = reference("modified_precision")(candidate, references, n)
        lower = [word.lower() for word in candidate]
        joined = ["".join(candidate[i : i + n]) for i in range(len(candidate) - n + 1)]
        others = ["".join(one[i : i + n]) for one in references for i in range(len(one) - n + 1)]
        found = reference("modified_precision")(lower, references, n)
        assert found != right or sum(one in others for one in joined) != right[0]
