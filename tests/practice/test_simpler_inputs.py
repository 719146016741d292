"""On which simpler inputs a wrong answer is right: said only if true, and if it means something."""

import numpy as np

from attn_course.practice.exercise import Case, Chapter


def exercise_of(reference, cases):
    """Return an exercise without known mistakes."""
    chapter = Chapter("01_test", title="A test", sections={"here": "Here"})
    described = {"title": "A test", "goal": "Test.", "difficulty": 1, "minutes": 1}
    made = chapter.exercise(**described, section="here", hints=("", "", ""))(reference)
    made.cases(points=1, label="all")(lambda rng: iter(cases))
    return made


def said(exercise, answer):
    """Return all that is said about an answer, as one text."""
    return " ".join(exercise.check(exercise.local(answer), seed=0, closer=True).observations)


def attention(queries, keys, values, mask, block):
    scores = np.where(mask, queries @ keys.T, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ values


def cases():
    rng = np.random.default_rng(3)
    for q, k, d, d_v, block in ((2, 5, 3, 4, 2), (3, 7, 2, 5, 3), (5, 11, 3, 2, 4)):
        mask = rng.random(k) < 0.7
        mask[0] = True
        keys, values = rng.normal(size=(k, d)), rng.normal(size=(k, d_v))
        yield Case(rng.normal(size=(q, d)), keys, values, mask, block)


ATTENTION = exercise_of(attention, list(cases()))


def blocks_averaged(queries, keys, values, mask, block):
    starts = range(0, len(keys), block)
    parts = [slice(start, start + block) for start in starts]
    contexts = [
        attention(queries, keys[part], values[part], mask[part], block)
        for part in parts
        if mask[part].any()
    ]
    return np.mean(contexts, axis=0)


def test_one_block_is_told():
    assert "right as long as `block` is larger than every axis." in said(ATTENTION, blocks_averaged)


def test_a_mask_that_hides_nothing_is_told():
    def masked_scores_are_zero(queries, keys, values, mask, block):
        return attention(queries, np.where(mask[:, None], keys, 0), values, mask | True, block)

    assert "right as long as `mask` is True everywhere." in said(ATTENTION, masked_scores_are_zero)


def test_one_query_is_told():
    def one_maximum_for_all(queries, keys, values, mask, block):
        right = attention(queries, keys, values, mask, block)
        return right + (right - right.mean(axis=0)) ** 2

    assert "right as long as `queries.shape[-2]` = 1." in said(ATTENTION, one_maximum_for_all)


def test_one_key_says_nothing():
    def scores_squared(queries, keys, values, mask, block):
        scores = np.where(mask, (queries @ keys.T) ** 2, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True) @ values

    assert "as long as" not in said(ATTENTION, scores_squared)


def test_a_state_of_zero_is_told_where_a_case_has_one():
    rng = np.random.default_rng(1)

    def read(x, state):
        return np.cumsum(x, axis=0) ** 2 + state

    states = (np.zeros(2), rng.normal(size=3), rng.normal(size=5))
    exercise = exercise_of(
        read, [Case(rng.normal(size=(4 + len(state), len(state))), state) for state in states]
    )

    def state_in_the_square(x, state):
        return (np.cumsum(x, axis=0) + state) ** 2

    def state_doubled(x, state):
        return np.cumsum(x, axis=0) ** 2 + state + 3.0 * state * x

    assert "right as long as `state` = 0." in said(exercise, state_in_the_square)
    assert "right as long as `state` = 0." in said(exercise, state_doubled)
    never_zero = exercise_of(
        read,
        [Case(rng.normal(size=(4 + n, n)), rng.normal(size=n)) for n in (2, 3, 5)],
    )
    assert "as long as" not in said(never_zero, state_in_the_square)
