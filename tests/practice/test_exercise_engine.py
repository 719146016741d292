from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import torch

from attn_course.inside.submission import LocalSubmission, SerialisedSubmission
from attn_course.practice.compare import same
from attn_course.practice.definition import Definition
from attn_course.practice.exercise import Case, Chapter, Exercise, KnownMistake, Solution
from attn_course.practice.results import FAULTS, WORST_FIRST, Mistake, Verdict, worst
from tests.practice.sample_exercises import (
    Linear,
    WithoutBias,
    changed,
    chapter,
    divides_by_the_largest,
    one_sum_for_all,
    row_weights,
    sums_over_the_columns,
    weight_count,
    with_a_loop,
)

right = row_weights.reference


def check(exercise, answer, seed=7):
    """Check directly and through bytes, which must come to the same."""
    direct = exercise.check(exercise.local(answer), seed)
    through_bytes = exercise.check(SerialisedSubmission(exercise.local(answer)), seed)
    assert_same_result(direct, through_bytes)
    return direct


def assert_same_result(one, other):
    if is_dataclass(one) and one is not other:
        for part in fields(one):
            assert_same_result(getattr(one, part.name), getattr(other, part.name))
    elif isinstance(one, tuple) and one and is_dataclass(one[0]):
        for left, right in zip(one, other, strict=True):
            assert_same_result(left, right)
    else:
        assert one is other or same(one, other)


def assert_guessed(result, mistake):
    """Hold that a known mistake is named with a "perhaps", and otherwise as it is."""
    (known,) = (one for one in result.exercise.mistakes if one.answer is mistake)
    assert result.mistake == Mistake(known.name, known.message, known.section, is_certain=False)
    assert result.mistake.sentence == f"Perhaps: {known.message}"


def assert_named(result, known):
    """Hold that a known mistake is named, without a "perhaps"."""
    assert result.mistake == Mistake(known.name, known.message, known.section)
    assert result.mistake.is_certain
    assert result.mistake.sentence == known.message


def verdicts(result):
    return [group.verdict for group in result.groups]


def test_the_reference_passes_with_all_points():
    for exercise in chapter.exercises.values():
        result = check(exercise, exercise.reference)
        assert (result.verdict, result.points) == (Verdict.PASSED, exercise.points)
        assert result.failure is None
        assert result.mistake is None


def test_metadata_comes_from_the_definition():
    assert row_weights.id == "01.row_weights"
    assert (row_weights.points, chapter.points) == (3, 6)
    assert list(chapter.exercises) == ["row_weights", "weight_count", "Linear"]


@pytest.mark.parametrize("exercise", chapter.exercises.values(), ids=lambda exercise: exercise.id)
def test_every_variant_passes_and_every_misconception_is_named(exercise):
    for variant in exercise.variants.values():
        assert check(exercise, variant).verdict is Verdict.PASSED
    for known in exercise.mistakes:
        result = check(exercise, known.answer)
        assert result.verdict is Verdict.FAILED
        assert_named(result, known)


@pytest.mark.parametrize(
    "convert",
    [
        lambda weights: weights.astype(np.float32),
        lambda weights: weights.tolist(),
        lambda weights: torch.from_numpy(weights),
        lambda weights: torch.from_numpy(weights).float().requires_grad_(),
    ],
    ids=["float32", "list", "tensor", "tensor with gradient"],
)
def test_every_form_of_the_right_numbers_is_accepted(convert):
    assert check(row_weights, lambda *args, **kwargs: convert(right(*args, **kwargs))).points == 3


def test_points_are_given_for_each_group_that_passes():
    result = check(row_weights, one_sum_for_all)
    assert verdicts(result) == [Verdict.PASSED, Verdict.FAILED]
    assert (result.verdict, result.points) == (Verdict.FAILED, 1)


def test_the_failure_shows_the_first_case_that_went_wrong_by_the_names_of_the_arguments():
    result = check(row_weights, one_sum_for_all)
    failure = result.failure
    assert list(failure.arguments) == ["scores", "scale"]
    assert failure.arguments["scores"].shape == (3, 5)
    assert same(failure.difference.got, one_sum_for_all(**failure.arguments))
    assert same(failure.difference.wanted, right(**failure.arguments))
    assert failure.sentence.startswith("15 of 15 numbers differ")


def test_a_mistake_is_known_by_its_outputs_however_it_is_written():
    def another_way(scores, scale=1.0):
        total = sum(scores[..., row, :] for row in range(scores.shape[-2]))
        return scores / total[..., None, :]

    assert check(row_weights, another_way).mistake.name == "sums_over_the_columns"
    assert check(row_weights, another_way).mistake.section == "rows-and-columns"


def test_a_mistake_is_known_where_the_answer_is_right_elsewhere():
    def half_right(scores, scale=1.0):
        return right(scores) if scores.shape[-2] == 1 else divides_by_the_largest(scores)

    result = check(row_weights, half_right)
    assert verdicts(result) == [Verdict.PASSED, Verdict.FAILED]
    assert_guessed(result, divides_by_the_largest)


def test_an_unknown_mistake_has_no_name():
    result = check(row_weights, lambda scores, scale=1.0: scores * 0.123)
    assert result.verdict is Verdict.FAILED
    assert result.mistake is None


def test_a_function_that_changes_its_input_is_judged_by_what_it_returns():
    def spoils(scores, scale=1.0):
        scores /= scores.sum(-1, keepdims=True)
        return scores

    result = check(row_weights, spoils)
    assert result.verdict is Verdict.PASSED

    def spoils_and_errs(scores, scale=1.0):
        scores[:] = 0
        return scores

    failure = check(row_weights, spoils_and_errs).failure
    assert (failure.arguments["scores"] >= 1).all()  # as they were handed over
    assert np.allclose(failure.difference.wanted.sum(-1), 1)


def test_nan_is_reported():
    result = check(row_weights, lambda scores, scale=1.0: scores * np.nan)
    assert result.failure.sentence == "2 of 2 numbers are NaN or infinite."


def test_an_error_shows_what_was_raised_and_the_line():
    def wrong(scores, scale=1.0):
        return scores[99]

    result = check(row_weights, wrong)
    assert result.verdict is Verdict.ERROR
    assert result.points == 0
    assert result.failure.sentence.startswith("It raised IndexError: index 99")
    assert result.failure.raised.line == "return scores[99]"
    assert list(result.failure.arguments) == ["scores"]


def test_an_untouched_stub_is_called_once_and_is_to_do():
    calls = []

    def stub(scores, scale=1.0):
        calls.append(1)
        raise NotImplementedError("Write this.")

    result = row_weights.check(row_weights.local(stub))
    assert len(calls) == 1
    assert result.verdict is Verdict.TODO
    assert verdicts(result) == [Verdict.TODO, Verdict.TODO]
    assert result.failure is None
    assert result.mistake is None


def test_a_half_written_answer_gets_the_points_of_what_is_written():
    def half(scores, scale=1.0):
        if scores.shape[-2] > 1:
            raise NotImplementedError
        return right(scores, scale)

    result = check(row_weights, half)
    assert verdicts(result) == [Verdict.PASSED, Verdict.TODO]
    assert (result.verdict, result.points) == (Verdict.TODO, 1)


def test_pytorchs_own_not_implemented_error_is_an_error_of_the_learner():
    def softmax_of_whole_numbers(scores, scale=1.0):
        return torch.softmax(torch.ones(2, 3, dtype=torch.long), -1)

    result = check(row_weights, softmax_of_whole_numbers)
    assert result.verdict is Verdict.ERROR
    assert "not implemented for 'Long'" in result.failure.sentence


# No answer at all, and what only looks like it


@pytest.mark.parametrize("exercise", chapter.exercises.values(), ids=lambda exercise: exercise.id)
def test_an_answer_that_is_not_there_is_missing_and_is_asked_for_once(exercise):
    asked = []

    class Without(LocalSubmission):
        def request(self, op, payload):
            asked.append(op)
            return super().request(op, payload)

    others = {other.name: other.reference for other in chapter.exercises.values()}
    del others[exercise.name]
    for submission in (Without(others), SerialisedSubmission(LocalSubmission(others))):
        result = exercise.check(submission, seed=7)
        assert (result.verdict, result.points) == (Verdict.MISSING, 0)
        assert verdicts(result) == [Verdict.MISSING] * len(exercise.groups)
        assert result.failure is None
        assert result.mistake is None
    assert len(asked) == 1


def test_a_key_error_with_the_name_of_the_answer_is_an_error_and_the_points_stay():
    def raises_its_name(scores, scale=1.0):
        if scores.shape[-2] > 1:
            raise KeyError("row_weights")
        return right(scores, scale)

    result = check(row_weights, raises_its_name)
    assert verdicts(result) == [Verdict.PASSED, Verdict.ERROR]
    assert (result.verdict, result.points) == (Verdict.ERROR, 1)
    raised = result.failure.raised
    assert (raised.type, raised.message) == ("KeyError", "'row_weights'")
    assert raised.line == 'raise KeyError("row_weights")'
    assert result.failure.difference is None


def test_a_module_that_raises_a_key_error_with_its_name_is_an_error():
    class NotBuilt(torch.nn.Module):
        def __init__(self, width):
            raise KeyError("Linear")

    class NotRun(Linear.reference):
        def forward(self, x):
            raise KeyError("Linear")

    for answer in (NotBuilt, NotRun):
        result = check(Linear, answer)
        assert (result.verdict, result.points) == (Verdict.ERROR, 0)
        assert result.failure.sentence == "It raised KeyError: 'Linear'"


def test_an_answer_that_returns_the_word_missing_is_wrong_and_not_missing():
    result = check(row_weights, lambda scores, scale=1.0: {"missing": True})
    assert verdicts(result) == [Verdict.FAILED, Verdict.FAILED]


def test_the_worst_verdict_counts_and_without_a_bad_one_what_is_said_instead():
    for place, verdict in enumerate(WORST_FIRST):
        assert worst([Verdict.PASSED, *reversed(WORST_FIRST[place:])]) is verdict
    assert worst([Verdict.PASSED]) is worst([]) is Verdict.PASSED
    assert worst([Verdict.PASSED], otherwise=Verdict.GRADED) is Verdict.GRADED
    assert not set(FAULTS) & {Verdict.MISSING, Verdict.TODO, Verdict.ERROR, Verdict.FAILED}


def exercise_of(reference, *groups, mistakes=(), **metadata):
    """Return an exercise with a case for each input of each group, and what is known by name."""
    metadata = {"title": "", "goal": "", "difficulty": 1, "minutes": 1, "section": ""} | metadata
    made = Chapter("01_sample", title="", sections={}).exercise(**metadata, hints=())(reference)
    for inputs in groups:
        made.cases(points=1, label="")(lambda rng, inputs=inputs: [Case(x) for x in inputs])
    for mistake in mistakes:
        made.misconception(f"This is {mistake.__name__}.")(mistake)
    return made


SMALL, LARGE = np.array([[2.0, 3.0, 5.0]]), np.array([[[2.0, 3.0, 5.0]], [[7.0, 11.0, 13.0]]])


def rows_times_rows(x):
    return x @ np.swapaxes(x, -1, -2)


def turned_with_t(x):
    return x @ x.T


def test_an_exception_is_the_known_mistake_if_its_message_is_the_same():
    exercise = exercise_of(rows_times_rows, [SMALL], [LARGE], mistakes=[turned_with_t])
    known = exercise.mistakes[0]
    assert_named(check(exercise, turned_with_t), known)
    assert_named(check(exercise, lambda x: np.matmul(x, np.transpose(x))), known)


def test_an_exception_for_another_reason_is_named_with_a_perhaps():
    exercise = exercise_of(rows_times_rows, [SMALL], [LARGE], mistakes=[turned_with_t])
    result = check(exercise, lambda x: np.einsum("id,jd->ij", x, x))
    assert verdicts(result) == [Verdict.PASSED, Verdict.ERROR]
    assert "einstein sum" in result.failure.sentence
    assert_guessed(result, turned_with_t)


def rows_of_rows(x):
    return x[..., :2] * np.ones((7, 1))


def test_operands_in_another_order_raise_the_same_mistake():
    def one_axis_short(x):
        return x * np.ones(2)

    exercise = exercise_of(rows_of_rows, [SMALL], [LARGE], mistakes=[one_axis_short])
    assert_named(check(exercise, lambda x: np.ones(2) * x), exercise.mistakes[0])
    assert check(exercise, lambda x: np.ones(5) * x).mistake is None


def test_the_order_of_operands_tells_two_mistakes_apart_where_both_are_known():
    def one_way(x):
        return x * np.ones(2)

    def other_way(x):
        return np.ones(2) * x

    exercise = exercise_of(rows_of_rows, [SMALL], [LARGE], mistakes=[one_way, other_way])
    for known, answer in zip(exercise.mistakes, (one_way, other_way), strict=True):
        assert_named(check(exercise, answer), known)


def test_who_raises_everywhere_or_something_else_is_not_taken_for_a_known_mistake_that_raises():
    def no_axes(x):
        return x @ x

    exercise = exercise_of(rows_times_rows, [SMALL], [LARGE], mistakes=[no_axes])
    assert_named(check(exercise, no_axes), exercise.mistakes[0])
    assert check(exercise, lambda x: x @ x.T @ x.T).mistake is None
    assert check(exercise, lambda x: x @ misspelt).mistake is None  # noqa: F821


def shares(x):
    with np.errstate(invalid="ignore"):
        return x / x.sum(-1, keepdims=True)


def shares_or_zero(x):
    return np.nan_to_num(shares(x))


ZEROS = np.zeros((1, 3))


def test_nan_alone_names_a_mistake_with_a_perhaps():
    exercise = exercise_of(shares_or_zero, [SMALL], [ZEROS], mistakes=[shares])
    assert_guessed(check(exercise, lambda x: x * (np.nan if not x.any() else 0.1)), shares)

    def shares_that_sum_to_two(x):
        return 2 * shares(x)

    exercise = exercise_of(shares_or_zero, [SMALL], [ZEROS], mistakes=[shares_that_sum_to_two])
    known = exercise.mistakes[0]
    assert_named(check(exercise, lambda x: shares(x) + shares(x)), known)


def test_a_mistake_that_would_fail_where_the_answer_is_right_gives_way_to_one_that_would_not():
    def nan_everywhere_but_small(x):
        return shares(x) * (1 if x.sum() == 10 else np.nan)

    exercise = exercise_of(
        shares_or_zero,
        [SMALL],
        [LARGE],
        [ZEROS],
        [2 * SMALL],
        mistakes=[nan_everywhere_but_small, shares],
    )

    def two_mistakes(x):
        return shares(x) * (np.nan if x.sum() == 20 else 1)

    result = check(exercise, two_mistakes)
    assert verdicts(result) == [Verdict.PASSED, Verdict.PASSED, Verdict.FAILED, Verdict.FAILED]
    assert_guessed(result, shares)


def test_a_wrong_type_of_result_is_a_sentence():
    result = check(row_weights, lambda scores, scale=1.0: None)
    assert result.failure.sentence == "It returns nothing: is there a `return`?"
    result = check(row_weights, lambda scores, scale=1.0: lambda: None)
    assert "can't be handed over" in result.failure.sentence


def test_the_same_seed_gives_the_same_result_and_another_seed_another():
    once, again, other = (
        row_weights.check(row_weights.local(sums_over_the_columns), seed) for seed in (3, 3, 4)
    )
    assert_same_result(once, again)
    assert not same(once.failure.arguments, other.failure.arguments)


def test_without_a_seed_the_inputs_are_fresh():
    first, second = (row_weights.check(row_weights.local(one_sum_for_all)) for _ in range(2))
    assert not same(first.failure.arguments, second.failure.arguments)


# A value to predict


def test_the_right_value_is_not_given_away():
    result = check(weight_count, 36)
    assert result.failure.difference.is_secret
    assert result.failure.difference.wanted is None
    assert result.failure.difference.got == 36
    assert "35" not in repr(result.failure)


@pytest.mark.parametrize("answer", [35, 35.0, np.int64(35), np.float32(35), torch.tensor(35)])
def test_a_value_may_come_in_any_form(answer):
    assert check(weight_count, answer).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    "answer", [34, "35", np.array([35, 35]), [35], np.zeros((2, 3)), {}, float("nan")], ids=repr
)
def test_any_other_value_is_wrong_and_nothing_breaks(answer):
    assert check(weight_count, answer).verdict is Verdict.FAILED


def test_an_unanswered_value_is_to_do():
    assert check(weight_count, None).verdict is Verdict.TODO


FOUR = [0.75, (2, 3), 2 / 3, 42]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (0.75, "It should be a list of 4 things; yours is a float."),
        ("3/4", "It should be a list of 4 things; yours is a str."),
        ([0.75], "It should be a list of 4 things; yours has 1."),
        (["3/4", (2, 3), 2 / 3, 42], "Part 1: It should be one number; yours is a str."),
        ([0.75, 6, 2 / 3, 42], "Part 2: It should be a shape, such as (2, 3); yours is a int."),
        ([0.5, (3, 2), 1 / 3, 41], "That is not it yet."),
        ([0.75, (2, 3), 1 / 3, 41], "That is not it yet. Right so far: part 1, part 2."),
        (
            (0.5, [2, 3], 0.67, 42.0),
            "That is not it yet. Right so far: part 2, part 4. Give more digits: part 3.",
        ),
    ],
    ids=repr,
)
def test_of_several_values_it_is_told_what_sort_they_are_and_which_are_right(answer, sentence):
    result = check(exercise_of(lambda: FOUR, [()], kind="value"), answer)
    assert result.failure.sentence == sentence
    assert result.failure.difference.is_secret
    assert result.failure.difference.wanted is None


# A module


class Renamed(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.matrix = torch.nn.Parameter(torch.zeros(3, width))
        self.bias = torch.nn.Parameter(torch.zeros(3))

    def forward(self, x):
        return torch.as_tensor(x, dtype=torch.float32) @ self.matrix.T + self.bias


class Detached(Linear.reference):
    def forward(self, x):
        return super().forward(x).detach()


class InATuple(Linear.reference):
    def forward(self, x):
        return super().forward(x), x


class Returnless(Linear.reference):
    def forward(self, x):
        super().forward(x)


class Ragged(Linear.reference):
    def forward(self, x):
        return [[1.0], [1.0, 2.0]]


class Transposed(Linear.reference):
    def __init__(self, width):
        super().__init__(width)
        self.weight = torch.nn.Parameter(torch.zeros(width, 3))

    def forward(self, x):
        return torch.as_tensor(x, dtype=torch.float32) @ self.weight + self.bias


class Unregistered(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = torch.zeros(3, width), torch.zeros(3)

    forward = Linear.reference.forward


class NoModule:
    def __init__(self, width):
        pass


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (Renamed, "parameters: There is matrix, bias; there should be weight, bias."),
        (Unregistered, "parameters: There is none; there should be weight, bias."),
        (Transposed, "parameters: weight: It is (2, 3); it should be (3, 2)."),
        (Detached, "gradients: weight: 6 of 6 numbers differ"),
        (WithoutBias, "output: 15 of 15 numbers differ"),
        (InATuple, "output: It is a tuple; it should be an array of shape (5, 3)."),
        (Returnless, "output: It returns nothing: is there a `return`?"),
        (Ragged, "output: It is a list; it should be an array of shape (5, 3)."),
        (NoModule, "It raised AttributeError: 'NoModule' object has no attribute"),
        (lambda: None, "It raised TypeError:"),
    ],
    ids=lambda thing: getattr(thing, "__name__", ""),
)
def test_what_is_wrong_with_a_module_is_told(answer, sentence):
    assert check(Linear, answer).failure.sentence.startswith(sentence)


def test_a_module_that_starts_with_other_weights_and_precision_passes():
    class Doubles(Linear.reference):
        def __init__(self, width):
            super().__init__(width)
            torch.nn.init.normal_(self.weight)
            self.double()

        def forward(self, x):
            return torch.as_tensor(x) @ self.weight.T + self.bias

    assert check(Linear, Doubles).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    "parameters",
    [
        {"weight": (3_000_000_000,)},
        {"weight": (100_000, 100_000)},
        {"weight": (-1,)},
        {"weight": ("a", "b")},
        {"weight": 7},
        {1: (2, 2)},
        [("weight", (2, 2))],
        None,
    ],
)
def test_parameters_that_a_module_makes_up_are_never_drawn(parameters):
    class Liar:
        def request(self, op, payload):
            return {"value": {"construct": 0, "parameters": parameters}.get(op)}

    result = Linear.check(Liar(), seed=7)
    assert (result.verdict, result.points) == (Verdict.ERROR, 0)
    assert "not tensors of a reasonable size" in result.failure.sentence


def test_an_unwritten_module_is_to_do():
    class NotBuilt(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            raise NotImplementedError

    class NoForward(Linear.reference):
        def forward(self, x):
            raise NotImplementedError("Write this.")

    assert check(Linear, NotBuilt).verdict is Verdict.TODO
    assert check(Linear, NoForward).verdict is Verdict.TODO


def test_a_module_that_returns_several_things_is_compared_in_every_part():
    sample = Chapter("01_sample", title="", sections={})
    metadata = {"title": "", "goal": "", "difficulty": 1, "minutes": 1, "section": ""}

    @sample.exercise(**metadata, hints=(), kind="module")
    class Both(Linear.reference):
        def forward(self, x):
            output = super().forward(x)
            return output, output.detach() ** 2

    @Both.cases(points=1, label="")
    def numbers(rng):
        yield Case(rng.normal(size=(5, 2)), width=2)

    class SecondWrong(Both.reference):
        def forward(self, x):
            output, _squares = super().forward(x)
            return output, output.detach() ** 3

    assert check(Both, Both.reference).verdict is Verdict.PASSED
    assert check(Both, SecondWrong).failure.sentence.startswith("output: Part 2: ")


def test_of_two_mistakes_at_once_the_one_in_the_first_failing_group_is_named():
    chapter = Chapter("01_two_groups", title="Two groups", sections={})

    @chapter.exercise(title="t", goal="g", difficulty=1, minutes=1, section="s", hints=("h",) * 3)
    def double(x):
        return 2 * x

    @double.cases(points=1, label="small")
    def small(rng):
        yield Case(rng.uniform(1, 2))

    @double.cases(points=1, label="large")
    def large(rng):
        yield Case(rng.uniform(1000, 2000))

    @double.misconception("You squared it.")
    def squares(x):
        return x**2

    def squares_and_gives_up(x):
        return x**2 if x < 10 else float("nan")

    result = double.check(double.local(squares_and_gives_up), seed=0)
    assert result.verdict is Verdict.FAILED
    assert_guessed(result, squares)

    @double.misconception("You multiplied it with itself.")
    def times_itself(x):
        return x * x

    # Two known mistakes explain the first group, and neither the rest: no guess is made.
    assert double.check(double.local(squares_and_gives_up), seed=0).mistake is None


# What a class shares


def counted(calls):
    sample = Chapter("01_sample", title="Sample", sections={"a": "A"})

    @sample.exercise(
        title="t", goal="g", difficulty=1, minutes=1, section="a", hints=("a", "b", "c")
    )
    def double(x):
        calls.append("reference")
        return 2 * x

    @double.cases(points=1, label="numbers")
    def numbers(rng):
        yield Case(rng.normal(size=3))
        yield Case(rng.normal(size=5))

    @double.misconception("You tripled.")
    def triple(x):
        calls.append("mistake")
        return 3 * x

    return double


def test_with_one_seed_reference_and_mistakes_are_asked_once_for_a_whole_class():
    calls = []
    exercise = counted(calls)
    answers = [lambda x: 2 * x, lambda x: 3 * x, lambda x: x + x, lambda x: 4 * x]
    results = [exercise.check(exercise.local(answer), seed=5) for answer in answers]
    assert [result.points for result in results] == [1, 0, 1, 0]
    assert [result.mistake is not None for result in results] == [False, True, False, False]
    assert (calls.count("reference"), calls.count("mistake")) == (2, 2)


def test_other_seeds_and_fresh_draws_share_nothing():
    calls, seen = [], []
    exercise = counted(calls)
    for seed in (1, 2, 1, None, None):
        exercise.check(exercise.local(lambda x: seen.append(x) or 2 * x), seed=seed)
    assert calls.count("reference") == 10
    first = [numbers[0] for numbers in seen[::2]]
    assert first[0] == first[2]
    assert len(set(first)) == 4


def test_a_group_that_is_added_after_a_check_counts_in_the_next_with_the_same_seed():
    exercise = counted([])
    assert exercise.check(exercise.local(lambda x: 2 * x), seed=5).points == 1
    exercise.cases(points=3, label="one number")(lambda rng: [Case(rng.uniform(1, 2))])
    result = exercise.check(exercise.local(lambda x: 2 * x), seed=5)
    assert (len(result.groups), result.points, exercise.points) == (2, 4, 4)


# What is compiled and what is loaded


PROGRAM = (
    "import numpy as np\n\n\ndef row_weights(scores, scale=1.0):\n"
    "    assert DTYPE in (None, scores.dtype)\n"
    "    return scores / np.sum(scores, axis=-1, keepdims=True)\n\n\nDTYPE = None\n"
)


def test_the_compiled_solution_is_a_variant_in_both_precisions():
    single = PROGRAM.replace("DTYPE = None", "DTYPE = np.float32")
    exercise = changed(row_weights, solution=Solution("", PROGRAM))
    assert list(exercise.variants) == [
        "the_solution",
        "the_solution_in_single_precision",
        "with_a_loop",
    ]
    for answer in exercise.variants.values():
        assert check(exercise, answer).verdict is Verdict.PASSED

    exercise = changed(row_weights, solution=Solution("", single))
    double, in_single, _loop = exercise.variants.values()
    assert check(exercise, double).verdict is Verdict.ERROR  # it is given doubles
    assert check(exercise, in_single).verdict is Verdict.PASSED


def test_a_value_and_a_module_have_one_compiled_variant():
    value = changed(weight_count, solution=Solution("", "weight_count = 7 * 5"))
    assert value.variants == {"the_solution": 35}
    program = "import torch\n\n\nclass Linear(torch.nn.Module):\n    pass"
    module = changed(Linear, solution=Solution("", program))
    assert list(module.variants) == ["the_solution"]


def test_compiled_mistakes_come_first_and_are_made_once_and_only_when_wanted():
    made = []

    def make():
        made.append(1)
        return lambda scores, scale=1.0: scores * 0.5

    halves = KnownMistake("halves", "You halved.", "rows-and-columns", make)
    exercise = changed(row_weights, solution=Solution("", PROGRAM, mistakes=(halves,)))
    assert [known.name for known in exercise.mistakes] == [
        "halves",
        *(known.name for known in row_weights.mistakes),
    ]
    assert check(exercise, right).mistake is None
    assert made == []
    assert_named(check(exercise, lambda scores, scale=1.0: scores / 2), halves)
    assert made == [1]


def test_what_describes_an_exercise_costs_no_loading_and_points_are_those_of_the_groups_then():
    loaded = []

    def load():
        loaded.append(1)
        definition = Definition(right)
        definition.cases(points=5, label="one")(lambda rng: [Case(np.ones((1, 2)))])
        return definition

    exercise = Exercise(
        chapter, "rows", "Rows", "g", 1, 5, "row-weights", (), load, stated_points=4
    )
    assert (exercise.id, exercise.points, loaded) == ("01.rows", 4, [])
    assert exercise.check(exercise.local(right)).points == 5
    assert (exercise.points, loaded) == (5, [1])


def test_what_is_added_to_an_exercise_stays_out_of_the_definition_it_was_loaded_from():
    shared = Definition(right)
    described = {"title": "", "goal": "", "difficulty": 1, "minutes": 1, "section": "", "hints": ()}
    one, other = (Exercise(chapter, "rows", load=lambda: shared, **described) for _ in range(2))
    one.cases(points=1, label="")(lambda rng: [Case(SMALL)])
    one.misconception("You took all.")(one_sum_for_all)
    one.variant(with_a_loop)
    assert (len(one.groups), len(one.mistakes), len(one.variants)) == (1, 1, 1)
    assert (other.groups, other.mistakes, other.variants) == ([], [], {})


def test_decorators_return_what_they_decorate():
    exercise = counted([])
    for decorate in (
        exercise.cases(points=1, label=""),
        exercise.misconception("No."),
        exercise.variant,
    ):
        assert decorate(one_sum_for_all) is one_sum_for_all


def test_an_exercise_uses_those_before_it():
    earlier = Chapter("01_sample", title="", sections={})
    metadata = {"title": "", "goal": "", "difficulty": 1, "minutes": 1, "section": "", "hints": ()}
    with pytest.raises(AssertionError, match="earlier exercises"):
        earlier.exercise(**metadata, uses=("shares",))
    earlier.exercise(**metadata)(shares)
    assert earlier.exercise(**metadata, uses=("shares",))(shares_or_zero).uses == ("shares",)
