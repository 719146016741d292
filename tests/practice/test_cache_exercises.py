"""What is special to the exercises of page 10b; what holds for all is in `tests/course`."""

from functools import partial
from math import cos, exp, sin, sqrt

import numpy as np
import pytest

from attn_course.definitions import scale as definition
from attn_course.practice.exercises import chapters
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

chapter = chapters()["10b"]
SEEDS = range(20)

reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)


def mistake(exercise, name):
    """Return the wrong answer of this name."""
    return {one.name: one for one in chapter.exercises[exercise].mistakes}[name].answer


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_step_is_right():
    new_keys = np.array([[1.0, 0.0], [1.0, 0.0]])
    contexts, keys, values = reference("cached_attention")(
        np.zeros((2, 2)), new_keys, np.array([[0.0], [8.0]]), np.ones((1, 2)), np.array([[4.0]])
    )
    np.testing.assert_allclose(contexts, [[2], [4]])
    np.testing.assert_allclose(keys, [[1, 1], [cos(1), sin(1)], [cos(2), sin(2)]])
    assert np.round(keys[1:], 2).tolist() == [[0.54, 0.84], [-0.42, 0.91]]
    np.testing.assert_array_equal(values, [[4], [0], [8]])


def test_the_example_of_the_shared_heads_is_right():
    values = np.array([[[10.0]], [[20.0]]])
    contexts = reference("grouped_heads")(np.ones((4, 1, 1)), np.ones((2, 1, 1)), values)
    assert contexts.ravel().tolist() == [10, 10, 20, 20]


@pytest.mark.parametrize("chunks", [[2], [1, 1]])
def test_the_example_of_the_two_bugs_is_right(chunks):
    both = np.array([[2.0, 0.0], [2.0, 0.0]])
    values = np.array([[0.0], [1.0]])
    contexts = reference("restarted_positions")(both, both, values, chunks)
    own = 1 / (1 + exp(4 * (cos(1) - 1) / sqrt(2)))
    np.testing.assert_allclose(contexts, [[0], [own]])
    assert round(own, 3) == 0.786
    handed_out = mistake("restarted_positions", "as_handed_out")(both, both, values, chunks)
    assert round(float(handed_out[1, 0]), 3) == (0.786 if chunks == [2] else 0.214)


# Every split of a text has the same contexts.


@pytest.mark.parametrize("chunks", [[6], [1] * 6, [1, 5], [5, 1], [2, 3, 1]])
def test_steps_put_together_are_the_text_in_chunks_and_the_loops(chunks):
    rng = np.random.default_rng(0)
    queries, keys, values = (rng.normal(size=(1, 6, d)) for d in (4, 4, 3))
    old_keys, old_values, contexts, end = keys[:, :0], values[:, :0], [], 0
    for new in chunks:
        now, end = slice(end, end + new), end + new
        context, old_keys, old_values = reference("cached_attention")(
            queries[:, now], keys[:, now], values[:, now], old_keys, old_values
        )
        contexts.append(context)
    found = np.concatenate(contexts, axis=-2)
    wanted = reference("restarted_positions")(queries, keys, values, chunks)
    np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(wanted[0], definition.cached_attention(queries, keys, values)[:, 0])


# No group of cases is blind to the mistakes that the exercises are about.


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_has_a_cache_and_a_chunk(seed):
    for cases in groups_of("cached_attention", seed):
        caches = [case.args[3].shape[-2] for case in cases]
        news = [case.args[0].shape[-2] for case in cases]
        assert any(c and new > 1 for c, new in zip(caches, news, strict=True))
    for cases in groups_of("restarted_positions", seed):
        assert any(len(case.args[3]) > 1 for case in cases)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_has_key_value_heads_that_repeat_and_tile_differently(seed):
    for cases in groups_of("grouped_heads", seed):
        heads = [(case.args[0].shape[-3], case.args[1].shape[-3]) for case in cases]
        assert any(1 < kv < h for h, kv in heads)


@pytest.mark.parametrize("name", ["as_handed_out", "positions_still_restarted"])
def test_a_text_in_one_chunk_does_not_see_the_bugs(name):
    rng = np.random.default_rng(0)
    text = [rng.normal(size=(5, d)) for d in (4, 4, 3)]
    wrong, right = mistake("restarted_positions", name), reference("restarted_positions")
    np.testing.assert_allclose(wrong(*text, [5]), right(*text, [5]))
    assert not np.allclose(wrong(*text, [2, 3]), right(*text, [2, 3]))


@pytest.mark.parametrize(("heads", "kv_heads"), [(3, 1), (3, 3), (4, 2)])
def test_only_heads_in_between_see_a_tile(heads, kv_heads):
    rng = np.random.default_rng(0)
    queries = rng.normal(size=(heads, 2, 4))
    shared = rng.normal(size=(kv_heads, 5, 4)), rng.normal(size=(kv_heads, 5, 3))
    tiled = mistake("grouped_heads", "tiled")(queries, *shared)
    same = np.allclose(tiled, reference("grouped_heads")(queries, *shared))
    assert same == (kv_heads in (1, heads))


def keys_rotated_when_they_are_read(queries, keys, values, chunks):
    """Keep plain keys, and rotate all of them at every step: a right answer, if a slow one."""
    d, contexts, end = queries.shape[-1], [], 0
    theta = 10000.0 ** (-np.arange(0, d, 2) / d)

    def turned(x, positions):
        z = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * positions[:, None] * theta)
        return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)

    for new in chunks:
        start, end = end, end + new
        places = np.arange(end)
        q = turned(queries[..., start:end, :], places[start:])
        scores = q @ np.swapaxes(turned(keys[..., :end, :], places), -1, -2) / np.sqrt(d)
        scores = np.where(places <= places[start:, None], scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        contexts.append(weights @ values[..., :end, :])
    return np.concatenate(contexts, axis=-2)


@pytest.mark.parametrize("seed", SEEDS)
def test_keys_that_are_rotated_when_they_are_read_pass(seed):
    exercise = chapter.exercises["restarted_positions"]
    result = exercise.check(exercise.local(keys_rotated_when_they_are_read), seed=seed)
    assert result.verdict is Verdict.PASSED


# The references refuse what the tasks exclude, so no example is made smaller than a task allows.


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("cached_attention", np.ones((5, 2, 3)), "even"),
        ("cached_attention", (*np.ones((3, 2, 4)), np.ones((2, 4)), np.ones((1, 4))), "its value"),
        ("cached_attention", (*np.ones((2, 1, 4)), np.ones((2, 4)), *np.ones((2, 1, 4))), "query"),
        ("cached_attention", np.ones((5, 0, 4)), "query"),
        ("grouped_heads", (np.ones((3, 1, 2)), *np.ones((2, 2, 1, 2))), "divide"),
        ("grouped_heads", (np.ones((4, 1, 2)), np.ones((2, 1, 2)), np.ones((1, 1, 2))), "divide"),
        ("grouped_heads", (np.ones((2, 1, 2)), np.ones((2, 3, 2)), np.ones((2, 1, 2))), "value"),
        ("grouped_heads", (np.ones((2, 1, 3)), *np.ones((2, 2, 1, 2))), "width"),
        ("restarted_positions", (*np.ones((3, 2, 4)), [1]), "whole text"),
        ("restarted_positions", (*np.ones((3, 2, 4)), [2, 0]), "none of them empty"),
        ("restarted_positions", (*np.ones((3, 2, 3)), [2]), "even"),
    ],
)
def test_the_references_refuse_what_the_tasks_exclude(name, arguments, reason):
    with pytest.raises(ValueError, match=reason):
        reference(name)(*arguments)
