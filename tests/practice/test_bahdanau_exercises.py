"""What is special to the exercises of page 07b; what holds for all is in `tests/course`."""

from functools import cache, partial
from math import log

import numpy as np
import pytest

from attn_course.practice.exercises import chapters, compiled
from attn_course.practice.exercises.bahdanau._bigrams import beams, is_finished, likeliest, score
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

chapter = chapters()["07b"]
SEEDS = range(10)


reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_step_is_right():
    h = np.array([[1.0, 4.0], [0.0, 8.0]])
    context, weights = reference("bahdanau_step")(
        np.ones(1), h, np.ones(2, dtype=bool),
        np.array([[100.0]]), np.array([[-100.0, 0.0]]), np.array([log(3)]),
    )  # fmt: skip
    np.testing.assert_allclose(weights, [0.25, 0.75])
    np.testing.assert_allclose(context, [0.25, 7.0])


def test_the_example_of_the_loss_is_right():
    logits = np.broadcast_to([log(2), 0.0, 0.0], (2, 2, 3))
    targets, mask = np.array([[0, 0], [2, 0]]), np.array([[True, True], [True, False]])
    loss = reference("masked_loss")
    assert loss(logits, targets, mask) == pytest.approx(4 / 3 * log(2))
    assert round(loss(logits, targets, mask), 4) == 0.9242
    means = [loss(logits[[n]], targets[[n]], mask[[n]]) for n in range(2)]
    assert round(float(np.mean(means)), 4) == 1.0397


PROBABILITIES = np.array(
    [[0.25, 0.25, 0.25, 0.25], [0.1, 0.1, 0.5, 0.3], [0.4, 0.2, 0.2, 0.2], [0.7, 0.1, 0.1, 0.1]]
)


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_the_example_of_greedy_search_is_right(limit):
    assert reference("greedy")(np.log(PROBABILITIES), 1, 0, limit) == [2]


def test_the_example_of_beam_search_is_right():
    table = np.log(PROBABILITIES)
    words, found = reference("beam")(table, 1, 0, 3, 2)
    assert words == [3]
    assert found == pytest.approx(log(0.21))
    assert round(found, 4) == -1.5606
    assert round(score(table, 1, (2, 0)), 4) == -1.6094
    first, second, third = beams(table, 1, 0, 3, 2)
    assert first == [(2,), (3,)]
    assert second == third == [(3, 0), (2, 0)]


def padded_batch():
    forward = np.array([[1.0, 2.0, 0.0], [4.0, 5.0, 6.0]])[..., None]
    backward = np.array([[10.0, 20.0, 0.0], [40.0, 50.0, 60.0]])[..., None]
    return forward, backward, np.array([2, 3])


def test_the_example_of_the_summary_is_right():
    summaries = reference("padded_state")(*padded_batch())
    np.testing.assert_array_equal(summaries, [[2, 10], [6, 40]])


# The stub that learners get to correct.


@cache
def stub():
    cells = compiled(chapter.stem)["notebook"]["cells"]
    answer = next(cell for cell in cells if cell["id"] == "padded_state-answer")
    names = {"np": np}
    exec("".join(answer["source"]), names)
    return names["padded_state"]


def test_the_example_says_what_the_stub_returns():
    np.testing.assert_array_equal(stub()(*padded_batch()), [[0, 0], [6, 60]])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_summary_as_handed_out_is_recognised(seed):
    exercise = chapter.exercises["padded_state"]
    result = exercise.check(exercise.local(stub()), seed=seed)
    assert result.verdict is Verdict.FAILED
    assert result.mistake.name == "as_handed_out"


# What the tasks say about all inputs.


def test_the_words_are_twice_as_wide_as_the_state():
    mask = np.ones(2, dtype=bool)
    with pytest.raises(ValueError, match="twice as wide"):
        reference("bahdanau_step")(
            np.ones(2), np.ones((2, 2)), mask, np.ones((1, 2)), np.ones((1, 2)), np.ones(1)
        )


def test_a_loss_needs_a_real_word():
    with pytest.raises(ValueError, match="at least one real word"):
        reference("masked_loss")(
            np.zeros((1, 2, 3)), np.zeros((1, 2), dtype=int), np.zeros((1, 2), dtype=bool)
        )


def test_beam_search_refuses_a_choice_that_rounding_decides():
    table = np.log(PROBABILITIES)
    table[1, 2] = table[1, 3]
    with pytest.raises(ValueError, match="nearly equal"):
        reference("beam")(table, 1, 0, 3, 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_beam_of_width_1_is_greedy_search(seed):
    for case in drawn("greedy", seed)[:5]:
        table, start, stop, limit = case.args
        try:
            words, _score = reference("beam")(table, start, stop, limit, 1)
        except ValueError:  # two words are equally probable
            continue
        assert words == reference("greedy")(table, start, stop, limit)


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_of_losses_has_lengths_that_differ(seed):
    """With equal lengths a mean of means is right, and without padding every mean is."""
    for group in groups_of("masked_loss", seed):
        masks = [case.args[2] for case in group]
        assert all(len(set(mask.sum(axis=-1))) > 1 and not mask.all() for mask in masks)


@pytest.mark.parametrize("seed", SEEDS)
def test_word_0_is_a_real_target_in_every_batch(seed):
    assert all((case.args[1][case.args[2]] == 0).any() for case in drawn("masked_loss", seed))


@pytest.mark.parametrize("seed", range(30))
def test_a_real_target_is_so_improbable_that_its_softmax_vanishes(seed):
    """Otherwise the logarithm of a softmax is right, and so is one with a small number added."""
    for case in groups_of("masked_loss", seed)[1][1:]:
        logits, targets, mask = case.args
        chosen = np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
        assert (chosen - logits.max(axis=-1))[mask].min() < -1000


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_of_summaries_has_several_sentences_of_different_lengths(seed):
    for group in groups_of("padded_state", seed):
        lengths = [case.args[2] for case in group]
        assert any(len(set(one)) > 1 and one[0] < one.max() for one in lengths)
        assert any(len(set(one)) > 1 and one[-1] != one[0] for one in lengths)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_batch_is_once_as_large_as_the_number_of_source_words(seed):
    """There a state without an axis for the words broadcasts, and reaches the wrong words."""
    shapes = [case.args[2].shape for case in drawn("bahdanau_step", seed)]
    assert (3, 3) in shapes


@pytest.mark.parametrize("seed", SEEDS)
def test_greedy_search_meets_every_end(seed):
    ended, unended, special = groups_of("greedy", seed)
    for case in ended:
        assert 0 < len(likeliest(*case.args)) < case.args[3]
    assert all(len(likeliest(*case.args)) == case.args[3] for case in unended)
    assert any(start == stop for _table, start, stop, _limit in (case.args for case in special))
    assert any(likeliest(*case.args) == [] for case in special)


@pytest.mark.parametrize("seed", SEEDS)
def test_greedy_search_writes_the_start_sign_in_the_middle(seed):
    """There an answer that removes start signs, or ends at a word that repeats, is wrong."""
    unended = groups_of("greedy", seed)[1]
    found = [(case.args[1], likeliest(*case.args)) for case in unended]
    assert any(start in words[1:] and start != words[0] for start, words in found)


@pytest.mark.parametrize("limit", [0, 2.0, 2.5])
def test_a_limit_is_a_whole_number(limit):
    """With others the check would say `right for the root of limit` of sentences that are short."""
    with pytest.raises(ValueError, match="whole number"):
        reference("greedy")(np.log(PROBABILITIES), 1, 0, limit)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_padding_of_summaries_is_once_zero(seed):
    """There the last state that is not 0 is right, so the check can tell it from the last one."""
    last = [case.args[0][:, -1] for case in drawn("padded_state", seed)]
    assert any((states == 0).all() for states in last)


# Arguments belong to the call.


@pytest.mark.parametrize("name", sorted(chapter.exercises))
def test_an_answer_may_change_its_arguments(name):
    exercise = chapter.exercises[name]

    def answer(*args):
        found = exercise.reference(*args)
        for one in args:
            if isinstance(one, np.ndarray):
                one[...] = 0
        return found

    assert exercise.check(exercise.local(answer), seed=0).verdict is Verdict.PASSED


def beam_cases(group, seed):
    return [case.args for case in groups_of("beam", seed)[group]]


@pytest.mark.parametrize("seed", SEEDS)
def test_beam_search_beats_greedy_search_or_is_too_narrow(seed):
    cases = beam_cases(0, seed)
    for table, start, stop, limit, width in cases[:3]:
        words, found = reference("beam")(table, start, stop, limit, width)
        first = likeliest(table, start, stop, limit)
        assert words != first
        assert found > score(table, start, (*first, stop))
    for *settings, width in cases[3:]:
        found, wider = (reference("beam")(*settings, n)[1] for n in (width, 2 * width))
        assert found < wider


@pytest.mark.parametrize("seed", SEEDS)
def test_hypotheses_finish_early(seed):
    for settings in beam_cases(1, seed):
        *early, _last = beams(*settings)
        assert any(is_finished(signs, settings[2]) for kept in early for signs in kept)


@pytest.mark.parametrize("seed", SEEDS)
def test_at_the_limit_the_best_hypothesis_is_not_finished(seed):
    nothing, *others = [
        [is_finished(signs, settings[2]) for signs in list(beams(*settings))[-1]]
        for settings in beam_cases(2, seed)
    ]
    assert not any(nothing)
    assert all(not kept[0] and any(kept) for kept in others)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_beam_is_once_narrow_and_once_wider_than_the_table(seed):
    widths = [(settings[-1], len(settings[0])) for settings in beam_cases(3, seed)]
    assert any(width == 1 for width, _words in widths)
    assert any(width > words for width, words in widths)
