"""What is special to the exercises of page 08b; what holds for all is in `tests/course`."""

from functools import partial

import numpy as np
import pytest

from attn_course.evaluation import position_independent_error_rate, word_error_rate
from attn_course.practice.exercises import chapters
from tests.practice import drawn_cases

chapter = chapters()["08b"]
SEEDS = range(20)
RATES = {
    "word_error_rate": word_error_rate,
    "bag_error_rate": position_independent_error_rate,
}


reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)


def arrays(*sentences):
    return [np.array(one, dtype=int) for one in sentences]


def as_words(sentences):
    return [[f"w{word}" for word in one] for one in sentences]


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_table_is_right():
    table = reference("edit_table")(*arrays([1, 2], [1, 3, 2]))
    assert table.tolist() == [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 1, 1]]


def test_the_example_of_the_word_error_rate_is_right():
    said, heard = arrays([1], [2, 3, 4]), arrays([5, 6], [2, 3, 4])
    assert reference("word_error_rate")(said, heard) == 0.5
    one_by_one = [reference("word_error_rate")([a], [b]) for a, b in zip(said, heard, strict=True)]
    assert np.mean(one_by_one) == 1


def test_the_example_of_the_bags_is_right():
    said, heard = arrays([1, 2, 3], [4, 4]), arrays([3, 1], [4, 5, 6])
    assert reference("bag_error_rate")(said, heard) == 0.6


def test_the_examples_of_the_mean_are_right():
    edits, lengths = np.array([[0, 4], [1, 1]]), np.array([1, 9])
    rates = reference("mean_over_utterances")(edits, lengths)
    np.testing.assert_allclose(rates, [0.4, 0.2])
    as_handed_out = (edits / lengths).mean(axis=1)
    np.testing.assert_allclose(as_handed_out, [0.222, 0.556], atol=5e-4)
    rates = reference("mean_over_utterances")(np.array([[3, 1]]), np.array([0, 4]))
    np.testing.assert_allclose(rates, [1.0])  # as handed out: 1 / 4, the second utterance alone


# The references agree with the package.


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_rates_are_those_of_the_package(name, seed):
    for case in drawn(name, seed):
        right = RATES[name](*map(as_words, case.args))
        np.testing.assert_allclose(reference(name)(*case.args), right)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_entry_of_a_table_is_the_edit_distance(seed):
    for case in drawn("edit_table", seed):
        said, heard = case.args
        if len(said):
            rate = word_error_rate(as_words([said]), as_words([heard]))
            assert reference("edit_table")(said, heard)[-1, -1] == round(rate * len(said))


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_the_two_sequences_of_a_table_are_never_equally_long_unless_empty(seed):
    for case in drawn("edit_table", seed):
        n, m = map(len, case.args)
        assert n != m or n == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_neighbours_are_exchanged_in_short_and_in_longer_sequences(seed):
    """An exchange of neighbours costs two edits here; others count it as one."""
    for group in (0, 3):
        pairs = [map(list, case.args) for case in groups_of("edit_table", seed)[group]]
        assert any(
            said[i : i + 2] == heard[i : i + 2][::-1] and said[i] != said[i + 1]
            for said, heard in pairs
            for i in range(min(len(said), len(heard)) - 1)
        )


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_has_references_of_different_lengths(name, seed):
    """Where all are equally long, the mean of the rates is the rate of the sums."""
    for group in groups_of(name, seed):
        assert any(len({len(one) for one in case.args[0]}) > 1 for case in group)


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_group_tells_a_mean_of_rates_from_a_rate_of_sums(name, seed):
    for case in groups_of(name, seed)[0]:
        pairs = zip(*case.args, strict=True)
        mean = np.mean([reference(name)([said], [heard]) for said, heard in pairs])
        assert abs(mean - reference(name)(*case.args)) > 1e-3


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mean_of_the_rates_prefers_the_wrong_system_at_first(seed):
    edits, lengths = groups_of("mean_over_utterances", seed)[0][0].args
    means = (edits / lengths).mean(axis=1)
    rates = reference("mean_over_utterances")(edits, lengths)
    assert means[0] < means[1]
    assert rates[0] > rates[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_heard_in_silence_counts_in_a_group_of_its_own(seed):
    for edits, lengths in (case.args for case in groups_of("mean_over_utterances", seed)[1]):
        assert (edits[:, lengths == 0] > 0).all()
        assert (lengths == 0).any()
