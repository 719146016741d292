"""What is said about a wrong answer whose mistake is not known: true, and never of a right one."""

import numpy as np
import pytest
import torch

from attn_course.inside.submission import SerialisedSubmission
from attn_course.practice.exercise import Case, Chapter


def exercise_of(reference, *groups, kind="function"):
    """Return an exercise without known mistakes: each group is a list of cases."""
    chapter = Chapter("01_test", title="A test", sections={"here": "Here"})
    described = {"title": "A test", "goal": "Test.", "difficulty": 1, "minutes": 1}
    made = chapter.exercise(**described, section="here", hints=("", "", ""), kind=kind)(reference)
    for number, cases in enumerate(groups, start=1):
        made.cases(points=1, label=f"group {number}")(lambda rng, cases=cases: iter(cases))
    return made


def said(exercise, answer):
    """Return the observations about an answer, from what it returns alone."""
    submission = SerialisedSubmission(exercise.local(answer))  # its source is out of reach
    return exercise.check(submission, seed=0, closer=True).observations


def masked_softmax(scores, mask, temperature):
    hidden = np.where(mask, scores / temperature, -np.inf)
    best = hidden.max(axis=-1, keepdims=True)
    exponentials = np.exp(hidden - np.where(np.isfinite(best), best, 0))
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total > 0, total, 1)


def softmax_cases():
    rng = np.random.default_rng(5)
    some = [
        np.array([[1, 1, 0], [0, 1, 1]], dtype=bool),
        np.array([[1, 0, 1, 1, 0]] * 3, dtype=bool),
    ]
    empty = np.array([[0, 0, 0], [1, 0, 1]], dtype=bool)
    cases = [Case(rng.normal(size=mask.shape), mask, 0.7) for mask in some]
    batch = np.stack([some[0], some[0] ^ True | some[0]])
    return [*cases, Case(rng.normal(size=batch.shape), batch, 1.9)], [
        Case(rng.normal(size=empty.shape), empty, 2.5)
    ]


SOFTMAX = exercise_of(masked_softmax, *softmax_cases())


def test_a_right_answer_gets_none():
    assert said(SOFTMAX, masked_softmax) == ()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda s, m, t: masked_softmax(s, m, 1 / t), "the right one for 1 / `temperature`"),
        (lambda s, m, t: masked_softmax(s, m, 1.0), "the right one for `temperature` = 1"),
        (lambda s, m, t: masked_softmax(s, ~m, t), "the right one for `mask` inverted"),
        (lambda s, m, t: masked_softmax(-s, m, t), "the right one for -`scores`"),
        (
            lambda s, m, t: masked_softmax(s, np.ones_like(m), t),
            "the right one for a `mask` that is True everywhere",
        ),
        (lambda s, m, t: s, "Your answer is `scores`, just as it came."),
        (lambda s, m, t: 3 * masked_softmax(s, m, t), "the right one times 3, in every case"),
        (lambda s, m, t: -masked_softmax(s, m, t), "Your answer has the wrong sign."),
        (lambda s, m, t: masked_softmax(s, m, t) + 0.5, "too large by 0.5, everywhere"),
        (lambda s, m, t: masked_softmax(s, m, t) - 0.25, "too small by 0.25, everywhere"),
        (lambda s, m, t: masked_softmax(s, m, t) ** 2, "is the square of the right one"),
        (
            lambda s, m, t: np.sqrt(masked_softmax(s, m, t)),
            "the right answer is the square of yours",
        ),
        (
            lambda s, m, t: masked_softmax(s, m, t)[..., ::-1],
            "the right one in reverse along axis -1",
        ),
        (
            lambda s, m, t: np.roll(masked_softmax(s, m, t), 1, axis=-1),
            "shifted by one place along axis -1",
        ),
        (
            lambda s, m, t: np.where(m.any(-1, keepdims=True), masked_softmax(s, m, t), 0.1),
            "Only rows in which `mask` is False everywhere are wrong.",
        ),
        (
            lambda s, m, t: np.where(m, masked_softmax(s, m, t), 1e-2),
            "Your answer is wrong only where `mask` is False.",
        ),
    ],
)
def test_what_is_seen_is_said(answer, sentence):
    assert any(sentence in one for one in said(SOFTMAX, answer)), said(SOFTMAX, answer)


def test_an_argument_that_makes_no_difference_is_named():
    def blind(scores, mask, temperature):
        return np.cos(scores) * temperature  # wrong in every way, but of the mask it knows nothing

    assert "Your answer does not depend on `mask`." in said(SOFTMAX, blind)
    assert not any("`scores`" in one or "`temperature`" in one for one in said(SOFTMAX, blind))


def test_an_argument_that_matters_somewhere_is_not_called_unused():
    def sometimes(scores, mask, temperature):
        return np.cos(scores) + (mask.sum() if scores.ndim > 2 else 0)

    assert "Your answer does not depend on `mask`." not in said(SOFTMAX, sometimes)


def test_nan_is_not_said_to_depend_on_nothing():
    assert not any("depend" in one for one in said(SOFTMAX, lambda s, m, t: np.nan * s))


def test_two_arguments_may_be_exchanged():
    rng = np.random.default_rng(0)
    exercise = exercise_of(
        lambda queries, keys: queries**2 - keys, [Case(*rng.normal(size=(2, n))) for n in (3, 5)]
    )
    (sentence,) = said(exercise, lambda queries, keys: keys**2 - queries)
    assert sentence == "Your answer is the right one with `queries` and `keys` exchanged."


def test_a_factor_may_be_a_size():
    rng = np.random.default_rng(0)
    exercise = exercise_of(
        lambda x: x.sum(axis=-1), [Case(rng.normal(size=(2, n))) for n in (3, 5, 7)]
    )
    (sentence,) = said(exercise, lambda x: x.mean(axis=-1))
    assert sentence == "Your answer is the right one times 1 / x.shape[-1]."
    (sentence,) = said(exercise, lambda x: x.sum(axis=-1) * np.sqrt(x.shape[-1]))
    assert sentence == "Your answer is the right one times √(x.shape[-1])."


def test_a_transposed_table_is_told():
    rng = np.random.default_rng(0)
    exercise = exercise_of(
        lambda q, k: np.outer(q, k + 1),
        [Case(rng.normal(size=2), rng.normal(size=n)) for n in (3, 5)],
    )
    (sentence,) = said(exercise, lambda q, k: np.outer(q, k + 1).T)
    assert sentence == "Your answer is the right one with rows and columns exchanged."


def test_a_vector_may_come_where_the_first_case_has_a_matrix():
    """Such an array has no second axis to exchange, and no size along it to scale by."""

    def for_vectors_alone(x):
        assert x.ndim == 1
        return np.cumsum(x) + 4

    rng = np.random.default_rng(0)
    cases = [Case(rng.normal(size=size)) for size in ((2, 3), (3,), (5,))]
    exercise = exercise_of(lambda x: (x + 1) ** 2, cases)
    assert said(exercise, for_vectors_alone) == ()


def weights(scores):
    return np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)


WEIGHTS = exercise_of(
    weights, [Case(np.random.default_rng(n).normal(size=(n, n + 2))) for n in (2, 3, 5)]
)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            lambda s: np.exp(s) / np.exp(s).sum(axis=-2, keepdims=True),
            "Your numbers sum to 1 along axis -2; they should along axis -1.",
        ),
        (
            lambda s: np.exp(s) / np.exp(s).sum(),
            "All your numbers together sum to 1; those along axis -1 should.",
        ),
        (lambda s: s, "Your answer is `scores`, just as it came."),
        (lambda s: s + 0.1 * np.sin(s), "Along axis -1 one of your sums is"),
    ],
)
def test_over_what_weights_sum_to_1_is_told(answer, sentence):
    assert any(one.startswith(sentence) for one in said(WEIGHTS, answer)), said(WEIGHTS, answer)


def test_a_row_that_should_sum_to_0_is_not_told_to_sum_to_1():
    def near(x):
        closeness = np.where(np.abs(x) <= 1, 1 - x**2, 0)
        return closeness / np.where((total := closeness.sum(-1, keepdims=True)) > 0, total, 1)

    def without_a_limit(x):
        return np.where(x <= 1, 1 - x**2, 0)  # far on the left it is negative

    rows = np.array([[0.3, 0.6], [-4.0, -5.0]])
    exercise = exercise_of(near, [Case(rows)], [Case(-rows[:, ::-1] * [[-1], [1]])])
    assert "Along axis -1 one of your sums is -39; it should be 0." in said(
        exercise, without_a_limit
    )


def test_a_missing_step_is_told():
    assert "One step is missing: the right answer is the share along axis -1 of yours." in said(
        WEIGHTS, np.exp
    )


def test_only_batches_and_the_only_group_that_fails_are_told():
    rng = np.random.default_rng(0)
    exercise = exercise_of(
        lambda x: x.sum(axis=-1), [Case(rng.normal(size=3))], [Case(rng.normal(size=(2, 5)))]
    )
    for wrong in (lambda x: x.sum(axis=0), lambda x: x[0] + x[1] + x[2]):  # it raises
        sentences = said(exercise, wrong)
        (told,) = (one for one in sentences if one.startswith("Without a batch"))
        assert "Without a batch your answer is right; with one it is not." in told
        assert "A batch adds its axes in front, so count axes from the end" in told
        assert "Everything else is right. The only case that fails: group 2." in sentences


def test_the_part_of_an_answer_is_named():
    rng = np.random.default_rng(0)
    exercise = exercise_of(lambda x: (x.sum(), x + 1), [Case(rng.normal(size=n)) for n in (3, 5)])
    assert said(exercise, lambda x: (x.sum(), 2 * x + 2)) == (
        "Part 2 of your answer is the right one times 2, in every case.",
        "Only part 2 of your answer is wrong; the others are right.",
    )
    assert "Only part" not in " ".join(said(exercise, lambda x: (x.sum() + 1, x + 2)))


def test_a_part_may_be_the_right_one_for_another_input():
    rng = np.random.default_rng(0)
    cases = [Case(rng.normal(size=n), rng.normal(size=n)) for n in (3, 5)]
    exercise = exercise_of(lambda x, state: (x * x + state, x + state), cases)
    first, second = said(exercise, lambda x, state: (x * x, x + state))
    assert first == "Part 1 of your answer is the right one for `state` = 0."
    assert second == "Only part 1 of your answer is wrong; the others are right."


def test_two_rows_of_whole_numbers_may_be_exchanged():
    rng = np.random.default_rng(0)
    cases = [Case(rng.integers(0, 9, size=(2, n))) for n in (3, 5)]
    exercise = exercise_of(lambda edges: edges[0] - 2.0 * edges[1], cases)
    (sentence,) = said(exercise, lambda edges: edges[1] - 2.0 * edges[0])
    assert sentence == ("Your answer is the right one with `edges[0]` and `edges[1]` exchanged.")
    counted_from_1 = said(exercise, lambda edges: (edges[0] + 1) - 2.0 * (edges[1] + 1))
    assert counted_from_1[0] == "Your answer is the right one for `edges` + 1."


def shares(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


SHARES = exercise_of(
    shares, [Case(np.random.default_rng(n).normal(size=(n, n + 2))) for n in (2, 3, 5)]
)


def test_rows_in_the_right_proportion_are_told():
    (sentence, *_) = said(SHARES, np.exp)
    assert "the right answer is the share along axis -1 of yours" in sentence
    off_by_one = exercise_of(
        lambda x: np.exp(x) / (1 + np.exp(x).sum(axis=-1, keepdims=True)),
        [Case(np.random.default_rng(n).normal(size=(n, n + 2))) for n in (2, 3, 5)],
    )
    off_by_three = lambda x: np.exp(x) / (3 + np.exp(x).sum(axis=-1, keepdims=True))  # noqa: E731
    (sentence, *_) = said(off_by_one, off_by_three)
    assert sentence.startswith("In each row your numbers are in the right proportion")
    (sentence, *_) = said(off_by_one, lambda x: off_by_one.reference(x) * x[:1])
    assert sentence.startswith("In each column your numbers are in the right proportion")
    several = said(SHARES, lambda x: shares(x) ** 1.1)
    assert "proportion" not in " ".join(several)


def test_rows_that_are_off_by_one_amount_each_are_told():
    exercise = exercise_of(
        lambda x: x * 2, [Case(np.random.default_rng(n).normal(size=(n, n + 2))) for n in (2, 3, 5)]
    )
    (sentence, *_) = said(exercise, lambda x: x * 2 - x.max(axis=-1, keepdims=True))
    assert sentence.startswith("In each row all your numbers are off by the same amount")


def test_numbers_of_one_sign_that_alone_are_wrong_are_told():
    cases = [Case(np.random.default_rng(n).normal(size=(n, n + 2))) for n in (2, 3, 5)]
    leaky = exercise_of(lambda x: np.where(x > 0, x, 0.2 * x), cases)
    (sentence, *_) = said(leaky, lambda x: np.where(x > 0, x, 0.01 * x))
    assert sentence == "Your answer is wrong only where the right answer is negative."
    shifted = exercise_of(lambda x: np.where(x > 0, x, np.expm1(x)) + 1, cases)
    (sentence, *_) = said(shifted, lambda x: np.maximum(x, 0) + 1)
    assert sentence == "Your answer is wrong only where `x` is negative."
    assert "only where" not in " ".join(said(leaky, np.sin))


def test_whether_true_is_missing_or_too_frequent_is_told():
    cases = [Case(np.arange(n), n - 3) for n in (5, 7, 11)]
    window = exercise_of(lambda x, width: (x < width) | (x == 3), cases)
    (sentence, *_) = said(window, lambda x, width: (x < width) ^ (x == 3))
    assert sentence == "Every True of your answer is right, but some are missing."
    (sentence, *_) = said(window, lambda x, width: (x < width) | (x == 3) | (x == x[-2]))
    assert sentence == "No True is missing in your answer, but there are too many."
    both = said(window, lambda x, width: (x < width - 1) | (x == x[-2]))
    assert "True" not in " ".join(both)


def test_an_answer_that_is_right_in_its_first_row_is_told():
    exercise = exercise_of(
        lambda x: np.cumsum(x, axis=-2),
        [Case(np.random.default_rng(n).normal(size=(n + 1, n + 2))) for n in (2, 3, 5)],
    )
    (sentence, *_) = said(exercise, lambda x: np.cumprod(x, axis=-2))
    assert sentence == (
        "Your answer is right in its first row, in every case; only later rows go wrong."
    )
    assert "first row" not in " ".join(said(exercise, lambda x: np.cumsum(x[::-1], axis=-2) ** 3))


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor(1.0))
        self.b = torch.nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return self.w * x + self.b


class Cut(Scale):
    def forward(self, x):
        return self.w.detach() * x + self.b


def test_a_parameter_that_no_gradient_reaches_is_named():
    exercise = exercise_of(Scale, [Case(torch.ones(3)), Case(torch.arange(5.0))], kind="module")
    (sentence,) = said(exercise, Cut)
    assert sentence.startswith("The output is right, but no gradient reaches `w`.")
    assert "torch.no_grad()" in sentence


def test_the_parameters_that_were_loaded_are_kept_and_can_be_redone_by_hand():
    exercise = exercise_of(Scale, [Case(torch.arange(1.0, 4.0))], kind="module")

    class Wrong(Scale):
        def forward(self, x):
            return self.w * x - self.b

    failure = exercise.check(exercise.local(Wrong), seed=0, closer=True).failure
    w, b = (float(failure.parameters[name]) for name in ("w", "b"))
    assert (w, b) == (round(w, 1), round(b, 1))
    assert np.allclose(failure.difference.got, w * np.asarray(failure.arguments["x"]) - b)


def pairs(rows, columns):
    return rows[:, None] + 2 * columns[None, :]


PAIRS = exercise_of(
    pairs,
    [Case(*(np.random.default_rng(n).normal(size=size) for size in (n, n + 2))) for n in (2, 3, 5)],
)
IN_OTHER_PLACES = "Your answer has the right numbers, but in other places."


def test_right_numbers_in_other_places_are_told_with_what_a_reshape_does():
    def reshaped(rows, columns):
        return pairs(rows, columns).T.reshape(len(rows), len(columns))

    (sentence,) = said(PAIRS, reshaped)
    assert sentence.startswith(IN_OTHER_PLACES)
    assert "it keeps the order in which numbers are read" in sentence


def test_of_numbers_in_a_row_nothing_is_said_about_a_reshape():
    exercise = exercise_of(
        lambda x: x + 1, [Case(np.random.default_rng(n).normal(size=n)) for n in (3, 5)]
    )
    (sentence,) = said(exercise, lambda x: np.sort(x + 1))
    assert sentence == IN_OTHER_PLACES


@pytest.mark.parametrize(
    "answer",
    [
        lambda rows, columns: pairs(rows, columns).T,  # that has a sentence of its own
        lambda rows, columns: pairs(rows, columns)[::-1],  # and so has that
        lambda rows, columns: np.sort(pairs(rows, columns) + 0.1 * rows[:, None]),
    ],
    ids=["transposed", "in reverse", "other numbers"],
)
def test_numbers_are_not_said_to_be_in_other_places_where_it_is_not_so_or_more_is_known(answer):
    assert not any(IN_OTHER_PLACES in one for one in said(PAIRS, answer))


def test_few_different_numbers_in_other_places_say_nothing():
    """Any permutation of ones and zeros has the right numbers, whatever the mistake."""
    exercise = exercise_of(
        lambda x: (x == x.max()).astype(float),
        [Case(np.random.default_rng(n).normal(size=(2, n))) for n in (3, 5)],
    )
    assert not any(
        IN_OTHER_PLACES in one for one in said(exercise, lambda x: (x == x.min()).astype(float))
    )


def scores_of(queries, keys, W):
    return np.exp(queries @ W @ keys.T)


def score_cases():
    rng = np.random.default_rng(3)
    return [Case(*(rng.normal(size=size) for size in ((2, d), (3, d), (d, d)))) for d in (2, 3, 5)]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            lambda q, k, W: scores_of(q, k, W / np.sqrt(q.shape[-1])),
            "Your answer is the right one for `queries` / √(queries.shape[-1]).",
        ),
        (
            lambda q, k, W: scores_of(q, k, W * np.sqrt(q.shape[-1])),
            "Your answer is the right one for `queries` times √(queries.shape[-1]).",
        ),
    ],
)
def test_a_scale_by_the_root_of_a_size_is_seen_behind_a_function(answer, sentence):
    assert sentence in said(exercise_of(scores_of, score_cases()), answer)


def test_arguments_may_be_exchanged_where_some_cases_do_not_allow_it():
    """With two widths the exchanged matrices do not fit, so both raise there."""
    rng = np.random.default_rng(3)
    exercise = exercise_of(
        lambda x, W_1, W_2: np.exp(x @ W_1) @ W_2,
        [
            Case(*(rng.normal(size=size) for size in ((2, d), (d, m), (m, d))))
            for d, m in ((2, 2), (3, 3), (2, 3))
        ],
    )
    sentences = said(exercise, lambda x, W_1, W_2: np.exp(x @ W_2) @ W_1)
    assert "Your answer is the right one with `W_1` and `W_2` exchanged." in sentences


def test_an_answer_that_raises_where_the_exchange_is_possible_is_not_called_an_exchange():
    rng = np.random.default_rng(3)
    exercise = exercise_of(
        lambda one, other: one - other**2, [Case(*rng.normal(size=(2, n))) for n in (3, 5, 7)]
    )

    def stops_at_seven(one, other):
        if len(one) == 7:
            raise ValueError(one.shape)
        return other - one**2

    assert not any("exchanged" in one for one in said(exercise, stops_at_seven))
