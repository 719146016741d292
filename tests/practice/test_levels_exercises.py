"""What is special to the exercises of page 05d; what holds for all is in `tests/course`."""

from functools import cache, partial
from math import log

import numpy as np
import pytest

from attn_course.practice.exercises import chapters, compiled
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

chapter = chapters()["05d"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_words_is_right():
    words = np.array([[[1.0, 0.0], [0.0, 4.0]], [[0.0, 2.0], [9.0, 9.0]]])
    mask = np.array([[True, True], [True, False]])
    W, b, u = np.array([[50.0, 0.0]]), np.zeros(1), np.array([log(3)])
    sentences, weights = reference("word_level")(words, mask, W, b, u)
    np.testing.assert_allclose(weights, [[0.75, 0.25], [1.0, 0.0]])
    np.testing.assert_allclose(sentences, [[0.75, 1.0], [0.0, 2.0]])


def test_the_example_of_the_sentences_is_right():
    sentences = np.array([[2.0, 0.0], [0.0, 4.0], [9.0, 9.0]])
    mask = np.array([[True, True], [True, False], [False, False]])
    W, b, u = np.array([[0.0, 50.0]]), np.zeros(1), np.array([log(3)])
    document, weights = reference("sentence_level")(sentences, mask, W, b, u)
    np.testing.assert_allclose(weights, [0.25, 0.75, 0.0])
    np.testing.assert_allclose(document, [0.5, 3.0])


def test_the_example_of_words_and_characters_is_right():
    query, words, characters = np.ones(1), np.array([[0.0], [2.0]]), np.array([[0.0], [4.0]])
    everything = np.ones(2, dtype=bool)
    W_w, W_c = np.array([[log(3) / 2]]), np.array([[0.0, log(3) / 6]])
    answer = reference("via_words")(query, words, characters, everything, everything, W_w, W_c)
    np.testing.assert_allclose(answer, [1.5, 3.0])


def the_document_of_the_example():
    words = np.array([[[8.0], [9.0]], [[2.0], [4.0]]])
    mask = np.array([[True, False], [True, True]])
    nothing = [np.zeros((1, 1)), np.zeros(1), np.zeros(1)]
    return words, mask, *nothing, *nothing


def test_the_example_of_the_document_is_right():
    document, shares = reference("swapped_level_masks")(*the_document_of_the_example())
    np.testing.assert_allclose(document, [5.5])
    np.testing.assert_allclose(shares, [[0.5, 0.0], [0.25, 0.25]])


# The stub that learners get to correct.


@cache
def stub():
    cells = compiled(chapter.stem)["notebook"]["cells"]
    names = {"practice": None}
    setup = next(cell for cell in cells if "def softmax" in "".join(cell["source"]))
    answer = next(cell for cell in cells if cell["id"] == "swapped_level_masks-answer")
    definitions = "".join(setup["source"]).split("# The table shows")[0]
    exec(definitions.replace("from attn_course import practice", ""), names)
    exec("".join(answer["source"]), names)
    return names["swapped_level_masks"]


def test_the_example_says_what_the_stub_returns():
    document, _weights = stub()(*the_document_of_the_example())
    np.testing.assert_allclose(document, [3.5])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_levels_as_handed_out_are_recognised(seed):
    exercise = chapter.exercises["swapped_level_masks"]
    result = exercise.check(exercise.local(stub()), seed=seed)
    assert result.verdict is Verdict.FAILED
    assert result.mistake.name == "as_handed_out"


# The cases are never blind.


@pytest.mark.parametrize("name", ["word_level", "sentence_level", "swapped_level_masks"])
@pytest.mark.parametrize("seed", SEEDS)
def test_there_are_never_as_many_sentences_as_words(name, seed):
    masks = [case.args[1] for case in drawn(name, seed)]
    assert all(mask.shape[-2] != mask.shape[-1] for mask in masks)
    assert all(mask.shape[-2] > 1 for mask in masks)


@pytest.mark.parametrize("name", ["sentence_level", "swapped_level_masks"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_sentences_of_a_document_differ_in_length(name, seed):
    for case in drawn(name, seed):
        lengths = case.args[1].sum(axis=-1)
        documents = lengths.reshape(-1, lengths.shape[-1])
        assert all(len(set(one[one > 0])) > 1 for one in documents if one.any())


@pytest.mark.parametrize("name", ["sentence_level", "swapped_level_masks"])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_single_position_and_no_two_words_make_a_sentence(name, seed):
    """A rule that looks at the first or last word, or wants two, must fail somewhere."""
    masks = [case.args[1] for case in drawn(name, seed)]
    for rule in (
        lambda mask: mask[..., 0],
        lambda mask: mask[..., -1],
        lambda mask: mask.sum(axis=-1) > 1,
        lambda mask: mask.all(axis=-1),
    ):
        assert any((rule(mask) != mask.any(axis=-1)).any() for mask in masks)


@pytest.mark.parametrize("seed", SEEDS)
def test_words_need_not_be_in_front(seed):
    masks = [case.args[1].astype(int) for case in drawn("word_level", seed)]
    assert any((np.diff(mask, axis=-1) > 0).any() for mask in masks)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_empty_level_has_padding_that_would_show(seed):
    """Were the padding 0, its mean would be the right answer."""
    seen = set()
    for case in groups_of("via_words", seed)[-1]:
        for number, (features, mask) in enumerate(zip(case.args[1:3], case.args[3:5], strict=True)):
            if not mask[-1].any():
                seen.add(number)
                assert (features[-1] != 0).all()
    assert seen == {0, 1}


@pytest.mark.parametrize("seed", SEEDS)
def test_there_are_never_as_many_words_as_characters(seed):
    masks = [(case.args[3], case.args[4]) for case in drawn("via_words", seed)]
    assert all(words.shape[-1] != characters.shape[-1] for words, characters in masks)
