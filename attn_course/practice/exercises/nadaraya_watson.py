r"""The exercises of chapter 1: average pooling, kernels, leave-one-out, a training step.

Each exercise: the reference (from the package, never written a second time), the cases, the
mistakes we know by name, and right solutions written in other ways. Wrong solutions are made of
the few small functions at the top, so that each shows nothing but its mistake.
"""

import numpy as np
import torch
from torch import nn

from attn_course import nadaraya_watson
from attn_course.definitions import nadaraya_watson as definition
from attn_course.practice.exercise import Case, Chapter
from attn_course.running_example import features, positions
from attn_course.translate import _

chapter = Chapter(
    "01_nadaraya_watson",
    title=_("Attention before deep learning"),
    sections={
        "nw-average-pooling": _("Average pooling: attending to everything"),
        "nw-kernels": _('Kernels: what does "near" mean?'),
        "nw-nonparametric": _("The Nadaraya–Watson estimator"),
        "nw-parametric": _("One parameter"),
        "nw-sgd": _("How is this trained?"),
        "nw-leave-one-out": _("Why no point may look at itself"),
    },
)


# --- what the wrong solutions and the variants are made of ------------------------------------


def _distances(queries, keys):
    return queries[..., :, None] - keys[..., None, :]  # (..., q, k)


def _scores(queries, keys, w):
    return -0.5 * (w * _distances(queries, keys)) ** 2


def _softmax(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _without_diagonal(scores):
    return np.where(np.eye(len(scores), dtype=bool), -np.inf, scores)


def _training_weights(inputs, w, leave_one_out=True):
    scores = _scores(inputs, inputs, w)
    return _softmax(_without_diagonal(scores) if leave_one_out else scores)


def _half_squares(weights, targets):
    return 0.5 * np.sum((weights @ targets - targets) ** 2)


def _gradient(inputs, targets, w, leave_one_out=True):
    weights = _training_weights(inputs, w, leave_one_out)
    predictions = weights @ targets
    squares = _distances(inputs, inputs) ** 2
    covariances = np.sum(weights * squares * (targets - predictions[:, None]), axis=-1)
    return -w * np.sum((predictions - targets) * covariances)


def _descend(inputs, targets, w, learning_rate, steps, leave_one_out=True):
    for _step in range(steps):
        w = w - learning_rate * _gradient(inputs, targets, w, leave_one_out)
    return w


# --- what the cases are drawn from ------------------------------------------------------------


def _readable(rng, n, low=-3.0, high=3.0):
    """Return `n` numbers with one decimal, none of them 0: a failure can be redone by hand."""
    numbers = np.round(rng.uniform(low, high, n), 1)
    return np.where(numbers == 0, 0.5, numbers)


def _apart(rng, n, low=0.4, high=1.0):
    """Return `n` places with one decimal, in no order, neighbours `low` to `high` apart."""
    return rng.permutation(np.round(np.cumsum(rng.uniform(low, high, n)), 1))


def _up_and_down(rng, n):
    """Return `n` targets that jump at every step, so that it matters who attends to whom."""
    return np.round(rng.uniform(0.5, 2.5, n), 1) * (-1.0) ** np.arange(n)


def _curve(rng, n, test_points):
    """Return training points of the chapter's curve and noise-free points to test on."""
    inputs, targets = nadaraya_watson.noisy_curve(rng, n)
    test_inputs = np.linspace(0, 5, test_points, endpoint=False)
    return (
        inputs.round(1),
        targets.round(1),
        test_inputs,
        nadaraya_watson.true_curve(test_inputs),
    )


# --- 1. average pooling -----------------------------------------------------------------------


@chapter.exercise(
    title=_("The simplest guess"),
    goal=_("Predict the mean of all values, whatever the query is."),
    difficulty=1,
    minutes=5,
    section="nw-average-pooling",
    hints=(
        _("The queries are not looked at. Only their number matters."),
        _("Compute one number from the values, then repeat it once for each query."),
        _("`np.full(n, x)` makes an array of `n` copies of `x`. Which `n`, and which `x`?"),
    ),
)
def average_pooling(queries, values):
    mean = definition.average_pooling(values)
    return np.full(len(queries), mean)


@average_pooling.cases(points=1, label=_("a few numbers"))
def a_few_numbers(rng):
    yield Case(_readable(rng, 2), _readable(rng, 3))
    yield Case(_readable(rng, 3), _readable(rng, 2))


@average_pooling.cases(points=1, label=_("many queries, and many values"))
def many_numbers(rng):
    yield Case(rng.normal(size=11), rng.normal(2.0, 1.0, size=5))
    yield Case(rng.normal(size=7), rng.normal(2.0, 1.0, size=13))
    yield Case(rng.normal(size=1), rng.normal(size=1))


@average_pooling.misconception(
    _(
        "You return one number. Its size is right, but every query wants a prediction of its own: "
        "repeat it, so that the shape is (q,)."
    )
)
def one_number_for_all_queries(queries, values):
    return values.mean()


@average_pooling.misconception(
    _("You return one prediction for each value. Each query wants one: the shape is (q,).")
)
def one_prediction_for_each_value(queries, values):
    return np.full(len(values), values.mean())


@average_pooling.misconception(
    _("You added the values up. A mean also divides by how many there are.")
)
def sum_of_the_values(queries, values):
    return np.full(len(queries), values.sum())


@average_pooling.misconception(
    _(
        "You divide the sum of the values by the number of queries. "
        "Divide by the number of values: they are what is averaged."
    )
)
def divided_by_the_number_of_queries(queries, values):
    return np.full(len(queries), values.sum() / len(queries))


@average_pooling.misconception(
    _(
        "You averaged the queries. They are the places where you are asked; "
        "the predictions are made of the values."
    )
)
def mean_of_the_queries(queries, values):
    return np.full(len(queries), queries.mean())


@average_pooling.misconception(
    _("You return the value in the middle, the median. Average pooling takes the mean.")
)
def median_of_the_values(queries, values):
    return np.full(len(queries), np.median(values))


@average_pooling.variant
def pooling_with_a_loop(queries, values):
    return [sum(values) / len(values) for _query in queries]


@average_pooling.variant
def pooling_as_uniform_weights(queries, values):
    weights = np.ones((len(queries), len(values))) / len(values)
    return weights @ values


@average_pooling.variant
def pooling_in_torch(queries, values):
    mean = torch.as_tensor(values, dtype=torch.float32).mean()
    return mean.expand(len(queries))


# --- 2. Gaussian weights ----------------------------------------------------------------------


@chapter.exercise(
    title=_("Look nearby with Gaussian weights"),
    goal=_("Turn distances between queries and keys into weights that sum to 1 for each query."),
    difficulty=2,
    minutes=15,
    section="nw-parametric",
    hints=(
        _("First make a table of all distances: one row for each query, one column for each key."),
        _(
            "`queries[..., :, None] - keys[..., None, :]` is that table, with or without a batch. "
            "The softmax runs along its last axis."
        ),
        _(
            "Softmax does not change when you subtract the same number from a whole row. "
            "Subtract each row's largest score before `np.exp`, then divide by the row's sum; "
            "`keepdims=True` keeps the axes aligned."
        ),
    ),
    without=("torch.softmax", "torch.nn.functional"),
)
def gaussian_weights(queries, keys, w):
    return nadaraya_watson.weights(queries, keys, w)


@gaussian_weights.cases(points=1, label=_("a few queries and keys"))
def a_few_places(rng):
    yield Case(_apart(rng, 1), _apart(rng, 2), 0.5)
    yield Case(_apart(rng, 2), _apart(rng, 3), 2.0)
    yield Case(rng.uniform(0, 5, 5), rng.uniform(0, 5, 7), 0.7)
    yield Case(rng.uniform(0, 5, 11), rng.uniform(0, 5, 3), 0.0)


@gaussian_weights.cases(points=1, label=_("a batch: queries (..., q), keys (..., k)"))
def batches_of_places(rng):
    yield Case(rng.uniform(0, 5, (2, 3)), rng.uniform(0, 5, (2, 5)), 1.5)
    yield Case(rng.uniform(0, 5, (3, 2, 7)), rng.uniform(0, 5, (3, 2, 5)), 0.6)


@gaussian_weights.cases(points=1, label=_("queries far away from every key"))
def places_far_away(rng):
    yield Case(100 + _apart(rng, 1), _apart(rng, 2), 2.0)
    yield Case(np.concatenate([_apart(rng, 2), -90 - _apart(rng, 3)]), _apart(rng, 7), 3.0)


@gaussian_weights.misconception(
    _(
        "Your weights sum to 1 over the queries; they should sum to 1 over the keys: "
        "each query shares out its attention among the keys, along the last axis."
    ),
    section="nw-nonparametric",
)
def sums_to_one_over_the_queries(queries, keys, w):
    return _softmax(_scores(queries, keys, w), axis=-2)


@gaussian_weights.misconception(
    _(
        "Your whole table sums to 1. Each row should: every query has a full 1 to share out, "
        "so take maximum and sum along the last axis, with keepdims=True."
    ),
    section="nw-nonparametric",
)
def whole_table_sums_to_one(queries, keys, w):
    return _softmax(_scores(queries, keys, w), axis=(-2, -1))


@gaussian_weights.misconception(
    _(
        "Your table has a row for each key and a column for each query. "
        "Turn it round: row i belongs to query i, so the shape is (..., q, k)."
    ),
    section="nw-nonparametric",
)
def keys_in_the_rows(queries, keys, w):
    return np.swapaxes(_softmax(_scores(queries, keys, w)), -2, -1)


@gaussian_weights.misconception(
    _(
        "In your scores w stands outside the square: w times the squared distance. "
        "It belongs inside, (w * distance) ** 2, so w counts twice."
    )
)
def weights_with_w_outside_the_square(queries, keys, w):
    return _softmax(-0.5 * w * _distances(queries, keys) ** 2)


@gaussian_weights.misconception(
    _("The factor one half is missing from your scores: they are -0.5 * (w * distance) ** 2.")
)
def weights_without_the_half(queries, keys, w):
    return _softmax(-((w * _distances(queries, keys)) ** 2))


@gaussian_weights.misconception(
    _(
        "You divide the distance by w. Here w is one over the bandwidth, so multiply: "
        "a larger w must make the weights narrower."
    )
)
@np.errstate(divide="ignore", invalid="ignore")
def weights_with_w_as_bandwidth(queries, keys, w):
    return _softmax(-0.5 * np.divide(_distances(queries, keys), w) ** 2)


@gaussian_weights.misconception(
    _("You take the distance itself, not its square. A Gaussian falls with the squared distance."),
    section="nw-kernels",
)
def weights_from_the_plain_distance(queries, keys, w):
    return _softmax(-0.5 * np.abs(w * _distances(queries, keys)))


@gaussian_weights.misconception(
    _(
        "Your weights grow with the distance: the farthest key wins. "
        "The score needs a minus sign, so that near keys score high."
    ),
    section="nw-nonparametric",
)
def farthest_key_wins(queries, keys, w):
    return _softmax(0.5 * (w * _distances(queries, keys)) ** 2)


@gaussian_weights.misconception(
    _(
        "You return the kernel values themselves. "
        "Divide each row by its sum, so that the weights of a query sum to 1."
    ),
    section="nw-nonparametric",
)
def weights_not_normalised(queries, keys, w):
    return np.exp(_scores(queries, keys, w))


@gaussian_weights.misconception(
    _(
        "Near the keys your weights are right. Far away np.exp underflows to 0 for every key, "
        "and 0/0 is NaN: subtract each row's largest score before np.exp."
    ),
    section="nw-nonparametric",
)
@np.errstate(invalid="ignore")
def weights_underflow_to_nan(queries, keys, w):
    kernel = np.exp(_scores(queries, keys, w))
    return kernel / kernel.sum(axis=-1, keepdims=True)


@gaussian_weights.misconception(
    _(
        "Far from every key your weights sum to 0 instead of 1: a small number in the "
        "denominator hides the 0/0. Subtract each row's largest score before np.exp instead."
    ),
    section="nw-nonparametric",
)
def weights_with_an_epsilon(queries, keys, w):
    kernel = np.exp(_scores(queries, keys, w))
    return kernel / (kernel.sum(axis=-1, keepdims=True) + 1e-9)


@gaussian_weights.misconception(
    _(
        "One row of queries works, a batch does not. Write the axes from the end, "
        "queries[..., :, None] and keys[..., None, :], and use axis=-1: a batch then comes along."
    )
)
def weights_for_one_row_only(queries, keys, w):
    return _softmax(-0.5 * (w * (queries[:, None] - keys[None, :])) ** 2)


@gaussian_weights.misconception(
    _(
        "Your softmax runs over axis 1. That is the keys for one row of queries, "
        "but in a batch it is the queries: axis=-1 is always the keys."
    ),
    section="nw-nonparametric",
)
def batch_normalised_over_axis_1(queries, keys, w):
    return _softmax(_scores(queries, keys, w), axis=1)


@gaussian_weights.misconception(
    _(
        "You subtract the largest score of the whole table. Rows far from all keys still "
        "underflow to 0/0: give each row its own maximum, with axis=-1 and keepdims=True."
    ),
    section="nw-nonparametric",
)
@np.errstate(invalid="ignore")
def one_maximum_for_the_whole_table(queries, keys, w):
    scores = _scores(queries, keys, w)
    kernel = np.exp(scores - scores.max())
    return kernel / kernel.sum(axis=-1, keepdims=True)


@gaussian_weights.variant
def weights_in_loops(queries, keys, w):
    if queries.ndim > 1:
        return np.stack([weights_in_loops(q, k, w) for q, k in zip(queries, keys, strict=True)])
    rows = []
    for query in queries:
        scores = [-0.5 * (w * (query - key)) ** 2 for key in keys]
        exponentials = [np.exp(score - max(scores)) for score in scores]
        rows.append([e / sum(exponentials) for e in exponentials])
    return rows


@gaussian_weights.variant
def weights_in_single_precision(queries, keys, w):
    queries, keys = queries.astype(np.float32), keys.astype(np.float32)
    return _softmax(_scores(queries, keys, np.float32(w)))


@gaussian_weights.variant
def weights_in_torch(queries, keys, w):
    queries, keys = torch.as_tensor(queries), torch.as_tensor(keys)
    difference = queries.unsqueeze(-1) - keys.unsqueeze(-2)
    return torch.softmax(-((w * difference) ** 2) / 2, dim=-1)


@gaussian_weights.variant
def weights_by_log_sum_exp(queries, keys, w):
    scores = _scores(queries, keys, w)
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1)[..., None])


# --- 3. find the bug: kernels -----------------------------------------------------------------


@chapter.exercise(
    title=_("Find the bugs in three kernels"),
    goal=_("Find and mend two mistakes in a function that turns kernels into weights."),
    task="find the bug",
    difficulty=2,
    minutes=15,
    section="nw-kernels",
    hints=(
        _("Print the weights of two queries and three keys, and add up each row."),
        _("Two of the three kernels give the same numbers. Can that be?"),
        _(
            "One mistake is in the axis of a sum. The other is in the last kernel: "
            "a parabola has a square in it, a tent has an absolute value."
        ),
    ),
)
def kernel_weights(queries, keys, w, kernel):
    return nadaraya_watson.weights(queries, keys, w, kernel=kernel)


# No distance below is exactly one bandwidth but in `at_the_edge`, where the numbers are exact:
# else rounding would decide who is in reach.


@kernel_weights.cases(points=1, label=_("boxcar and triangular"))
def named_boxcar_and_triangular(rng):
    for kernel in ("boxcar", "triangular"):
        yield Case(_apart(rng, 2), _apart(rng, 3), 0.4, kernel)
        yield Case(rng.uniform(0, 5, 5), rng.uniform(0, 5, 7), 0.8, kernel)


@kernel_weights.cases(points=1, label=_("Epanechnikov"))
def named_epanechnikov(rng):
    yield Case(_apart(rng, 2), _apart(rng, 3), 0.4, "epanechnikov")
    yield Case(rng.uniform(0, 5, 5), rng.uniform(0, 5, 7), 0.8, "epanechnikov")


@kernel_weights.cases(points=1, label=_("keys at the edge, and no key in reach"))
def at_the_edge(rng):
    place = float(rng.integers(1, 6))
    keys = np.array([place, place + 1, place + 2])
    yield Case(np.array([place, place + 20]), keys, 1.0, "boxcar")
    yield Case(np.array([place + 0.5, place - 20]), keys, 1.0, "triangular")
    yield Case(np.array([place + 0.5, place - 20]), keys, 1.0, "epanechnikov")


_TENT = {
    "boxcar": lambda u: (np.abs(u) <= 1).astype(float),
    "triangular": lambda u: np.maximum(0, 1 - np.abs(u)),
}
_RIGHT = _TENT | {"epanechnikov": lambda u: np.maximum(0, 1 - u**2)}
_MISNAMED = _TENT | {"epanechnikov": _TENT["triangular"]}


def _kernel_shares(closeness, axis=-1):
    total = closeness.sum(axis=axis, keepdims=True)
    return closeness / np.where(total > 0, total, 1)


@kernel_weights.misconception(
    _(
        "This is the function as you found it, with both mistakes still in it. "
        "Redo the example of the task with it, then with two queries: which numbers surprise you?"
    )
)
def kernels_as_handed_out(queries, keys, w, kernel):
    return _kernel_shares(_MISNAMED[kernel](w * _distances(queries, keys)), axis=0)


@kernel_weights.misconception(
    _(
        "One mistake is mended: the sums now run over the keys. "
        'Your "epanechnikov" is still the triangular kernel; Epanechnikov is the parabola 1 - u².'
    )
)
def epanechnikov_is_a_triangle(queries, keys, w, kernel):
    return _kernel_shares(_MISNAMED[kernel](w * _distances(queries, keys)))


@kernel_weights.misconception(
    _(
        "The kernels are right. Your weights sum to 1 over the queries; "
        "they should sum to 1 over the keys, the last axis."
    ),
    section="nw-nonparametric",
)
def kernel_weights_over_the_queries(queries, keys, w, kernel):
    return _kernel_shares(_RIGHT[kernel](w * _distances(queries, keys)), axis=0)


@kernel_weights.misconception(
    _(
        "Where no key is in reach you divide 0 by 0 and get NaN. Such a query gets weights 0: "
        "keep the line that looks for an empty sum."
    )
)
@np.errstate(invalid="ignore")
def nan_out_of_reach(queries, keys, w, kernel):
    closeness = _RIGHT[kernel](w * _distances(queries, keys))
    return closeness / closeness.sum(axis=-1, keepdims=True)


@kernel_weights.misconception(
    _(
        "Where no key is in reach you spread the weight over all keys. "
        "Such a query has seen nothing nearby: its weights are 0."
    )
)
def uniform_out_of_reach(queries, keys, w, kernel):
    shares = _kernel_shares(_RIGHT[kernel](w * _distances(queries, keys)))
    return np.where(shares.sum(axis=-1, keepdims=True) > 0, shares, 1 / len(keys))


@kernel_weights.misconception(
    _(
        "Your Epanechnikov kernel goes below 0 beyond one bandwidth. "
        "Cut it off there, with np.maximum(0, …)."
    )
)
def epanechnikov_below_zero(queries, keys, w, kernel):
    kernels = _RIGHT | {"epanechnikov": lambda u: 1 - u**2}
    closeness = kernels[kernel](w * _distances(queries, keys))
    total = closeness.sum(axis=-1, keepdims=True)
    return closeness / np.where(total == 0, 1, total)


@kernel_weights.misconception(
    _(
        "Your boxcar reaches half a bandwidth to each side. "
        "In this course it reaches a whole one: it is 1 for |u| <= 1."
    )
)
def narrow_boxcar(queries, keys, w, kernel):
    kernels = _RIGHT | {"boxcar": lambda u: (np.abs(u) <= 0.5).astype(float)}
    return _kernel_shares(kernels[kernel](w * _distances(queries, keys)))


@kernel_weights.misconception(
    _(
        "Your kernels are not divided by their sum any more. "
        "The weights of a query sum to 1, unless no key is in reach."
    )
)
def kernel_values_not_shared_out(queries, keys, w, kernel):
    return _RIGHT[kernel](w * _distances(queries, keys))


@kernel_weights.variant
def kernels_in_loops(queries, keys, w, kernel):
    shape = getattr(definition, kernel)
    return [definition.weights(x, keys, w, kernel=shape) for x in queries]


@kernel_weights.variant
def kernels_in_single_precision(queries, keys, w, kernel):
    u = (w * _distances(queries, keys)).astype(np.float32)
    return _kernel_shares(_RIGHT[kernel](u))


@kernel_weights.variant
def kernels_with_nan_to_num(queries, keys, w, kernel):
    return np.nan_to_num(nan_out_of_reach(queries, keys, w, kernel))


@kernel_weights.variant
def kernels_in_torch(queries, keys, w, kernel):
    u = w * (torch.as_tensor(queries)[:, None] - torch.as_tensor(keys))
    inside = u.abs() <= 1
    shapes = {"boxcar": torch.ones_like(u), "triangular": 1 - u.abs(), "epanechnikov": 1 - u**2}
    closeness = torch.where(inside, shapes[kernel], 0.0)
    return closeness / closeness.sum(-1, keepdim=True).clamp_min(1e-30)


# --- 4. predict -------------------------------------------------------------------------------


def _thing():
    """Return the first number of each of the six words: how much it is a thing."""
    return features()[:, 0]


def _predict_words(query, w):
    predicted = nadaraya_watson.regress(np.array([query]), positions(), _thing(), w)
    return float(predicted[0])


@chapter.exercise(
    title=_("Predict what small and large w do"),
    goal=_("Say, before you compute it, what very small and very large w do to a prediction."),
    task="predict",
    difficulty=1,
    minutes=5,
    section="nw-parametric",
    kind="value",
    hints=(
        _("With w = 0 all scores are equal. What does softmax make of equal scores?"),
        _("With a huge w only the nearest key still counts. Which keys are nearest to 2.5?"),
        _(
            "First: the mean of all six values. Second: two keys are equally near and share the "
            "weight. Third: one key is nearest, and its value is the prediction."
        ),
    ),
)
def predicted_limits():
    return [_predict_words(2.5, 0.0), _predict_words(2.5, 1000.0), _predict_words(3.2, 1000.0)]


@predicted_limits.cases(points=2, label=_("three predictions"))
def three_predictions(rng):
    yield Case()


@predicted_limits.misconception(
    _(
        "You have the two ends the wrong way round. "
        "With w = 0 all keys share alike; with a huge w only the nearest one counts."
    )
)
def ends_swapped():
    return [1.5, 5 / 6, 5 / 6]


@predicted_limits.misconception(
    _(
        "Your first number says that w = 0 gives no weight at all. "
        "All scores are 0, and softmax turns equal scores into equal weights, 1/6 each."
    )
)
def nothing_at_zero():
    return [0.0, 1.5, 2.0]


@predicted_limits.misconception(
    _(
        "Your first number is the sum of the values. With w = 0 each of the six has weight 1/6, "
        "so the prediction is their mean."
    ),
    section="nw-average-pooling",
)
def sum_at_zero():
    return [5.0, 1.5, 2.0]


@predicted_limits.misconception(
    _(
        "Your first number is the weight of each word. The prediction multiplies "
        "each weight by its value and adds up."
    )
)
def weight_instead_of_prediction():
    return [1 / 6, 1.5, 2.0]


@predicted_limits.misconception(
    _(
        "For the query 2.5 you took the key to the left alone. "
        "The keys 2 and 3 are equally near, so they share the weight, however large w is."
    )
)
def left_neighbour_alone():
    return [5 / 6, 1.0, 2.0]


@predicted_limits.misconception(
    _(
        "For the query 2.5 you took the key to the right alone. "
        "The keys 2 and 3 are equally near, so they share the weight, however large w is."
    )
)
def right_neighbour_alone():
    return [5 / 6, 2.0, 2.0]


@predicted_limits.misconception(
    _(
        "You averaged the positions. The weights come from the positions (keys), "
        "but what is averaged are the values 0, 1, 2, 0, 0, 2."
    )
)
def positions_averaged():
    return [3.5, 2.5, 3.0]


@predicted_limits.misconception(
    _(
        "In your third number two keys share the weight. The query 3.2 is nearer to key 3 than to "
        "key 4, and a huge w leaves the nearest key alone."
    )
)
def neighbours_share_at_3_2():
    return [5 / 6, 1.5, 1.0]


@predicted_limits.misconception(
    _("You are right, only rounded. Write the fraction itself, as 1/3 and not as 0.33.")
)
def rounded_to_two_places():
    return [0.83, 1.5, 2.0]


@predicted_limits.misconception(
    _("You are right, only rounded to three places. Write the fraction itself: 1/3, not 0.333.")
)
def rounded_to_three_places():
    return [0.833, 1.5, 2.0]


@predicted_limits.variant
def limits_by_hand():
    return [5 / 6, 3 / 2, 2]


@predicted_limits.variant
def limits_as_a_tuple():
    return (0.8333, 1.5, 2.0)


@predicted_limits.variant
def limits_as_a_tensor():
    return torch.tensor([5 / 6, 1.5, 2.0])


# --- 5. leave-one-out loss --------------------------------------------------------------------


@chapter.exercise(
    title=_("Do not look at your own answer"),
    goal=_("Compute the training loss when each point is predicted from all the others."),
    difficulty=2,
    minutes=15,
    section="nw-leave-one-out",
    hints=(
        _("The training inputs are queries and keys at once: the table of scores is square."),
        _(
            "Point n stands in row n and in column n. Give those places, the diagonal, "
            "the score minus infinity before the softmax."
        ),
        _(
            "`np.fill_diagonal(scores, -np.inf)`, then a softmax over the last axis that subtracts "
            "each row's maximum, then `weights @ targets`, then half the sum of the squared errors."
        ),
    ),
)
def leave_one_out_loss(inputs, targets, w):
    return nadaraya_watson.loss(inputs, targets, w)


@leave_one_out_loss.cases(points=2, label=_("a few points"))
def loss_of_a_few_points(rng):
    yield Case(_apart(rng, 2), _up_and_down(rng, 2), 0.5)
    yield Case(_apart(rng, 3), _up_and_down(rng, 3), 1.5)
    yield Case(_apart(rng, 5), _up_and_down(rng, 5), 0.7)
    yield Case(rng.uniform(0, 5, 13), rng.normal(size=13), 2.0)


@leave_one_out_loss.cases(points=1, label=_("a lonely point, far from the others"))
def loss_with_a_lonely_point(rng):
    inputs = np.append(_apart(rng, 3), 80.0)
    yield Case(inputs, _up_and_down(rng, 4), 1.5)


@leave_one_out_loss.misconception(
    _(
        "Each point still attends to itself. Give the diagonal the score minus infinity before "
        "the softmax; a score of 0 would be the best score of all."
    )
)
def loss_with_the_self_key(inputs, targets, w):
    return _half_squares(_training_weights(inputs, w, leave_one_out=False), targets)


@leave_one_out_loss.misconception(
    _(
        "You took the own key away after the softmax, so the rest of a row sums to less than 1. "
        "Mask before the softmax, or divide each row by its sum again."
    )
)
def loss_masked_after_the_softmax(inputs, targets, w):
    weights = _training_weights(inputs, w, leave_one_out=False)
    np.fill_diagonal(weights, 0)
    return _half_squares(weights, targets)


@leave_one_out_loss.misconception(
    _("You average the squared errors. The loss of this chapter is half of their sum."),
    section="nw-sgd",
)
def mean_of_the_squares(inputs, targets, w):
    return _half_squares(_training_weights(inputs, w), targets) * 2 / len(inputs)


@leave_one_out_loss.misconception(
    _("You take half the mean of the squared errors. The loss is half of their sum."),
    section="nw-sgd",
)
def half_the_mean_of_the_squares(inputs, targets, w):
    return _half_squares(_training_weights(inputs, w), targets) / len(inputs)


@leave_one_out_loss.misconception(
    _(
        "The factor one half is missing: the loss is half the sum of the squared errors. "
        "The half cancels the 2 of the derivative later."
    ),
    section="nw-sgd",
)
def squares_without_the_half(inputs, targets, w):
    return _half_squares(_training_weights(inputs, w), targets) * 2


@leave_one_out_loss.misconception(
    _("You added up the errors without squaring them."), section="nw-sgd"
)
def errors_not_squared(inputs, targets, w):
    return 0.5 * np.sum(np.abs(_training_weights(inputs, w) @ targets - targets))


@leave_one_out_loss.misconception(
    _("Your loss does not change with w. Multiply the distances by w before you square them."),
    section="nw-parametric",
)
def loss_without_w(inputs, targets, w):
    return _half_squares(_training_weights(inputs, 1.0), targets)


@leave_one_out_loss.misconception(
    _("In your scores w stands outside the square. It belongs inside: -0.5 * (w * distance) ** 2."),
    section="nw-parametric",
)
def loss_with_w_outside_the_square(inputs, targets, w):
    scores = -0.5 * w * _distances(inputs, inputs) ** 2
    return _half_squares(_softmax(_without_diagonal(scores)), targets)


@leave_one_out_loss.misconception(
    _(
        "Your softmax runs over the queries, axis 0. The table is square, so nothing complains; "
        "the weights of a point should sum to 1 over the keys, the last axis."
    ),
    section="nw-nonparametric",
)
def loss_normalised_over_the_queries(inputs, targets, w):
    scores = _without_diagonal(_scores(inputs, inputs, w))
    return _half_squares(_softmax(scores, axis=0), targets)


@leave_one_out_loss.misconception(
    _(
        "You left out the same point everywhere. Which key is hidden depends on the query: "
        "key n from query n, the diagonal of the table."
    )
)
def last_key_hidden_from_all(inputs, targets, w):
    scores = _scores(inputs, inputs, w)
    scores[:, -1] = -np.inf
    return _half_squares(_softmax(scores), targets)


@leave_one_out_loss.misconception(
    _(
        "You took the softmax of the kernel values, so the exponential is applied twice. "
        "Softmax wants the scores, -0.5 * (w * distance) ** 2."
    ),
    section="nw-nonparametric",
)
def softmax_of_the_kernel(inputs, targets, w):
    kernel = np.exp(_scores(inputs, inputs, w))
    return _half_squares(_softmax(_without_diagonal(kernel)), targets)


@leave_one_out_loss.misconception(
    _(
        "For a point far from all others every np.exp underflows to 0, and 0/0 is NaN. "
        "Subtract each row's largest score before np.exp."
    ),
    section="nw-nonparametric",
)
@np.errstate(invalid="ignore")
def loss_underflows_to_nan(inputs, targets, w):
    kernel = np.exp(_without_diagonal(_scores(inputs, inputs, w)))
    return _half_squares(kernel / kernel.sum(axis=-1, keepdims=True), targets)


@leave_one_out_loss.variant
def loss_in_loops(inputs, targets, w):
    loss = 0.0
    for n in range(len(inputs)):
        others = [i for i in range(len(inputs)) if i != n]
        scores = [-0.5 * (w * (inputs[n] - inputs[i])) ** 2 for i in others]
        exponentials = [np.exp(score - max(scores)) for score in scores]
        prediction = sum(e * targets[i] for e, i in zip(exponentials, others, strict=True))
        loss += 0.5 * (prediction / sum(exponentials) - targets[n]) ** 2
    return loss


@leave_one_out_loss.variant
def loss_in_single_precision(inputs, targets, w):
    return nadaraya_watson.loss(inputs.astype(np.float32), targets.astype(np.float32), w)


@leave_one_out_loss.variant
def loss_in_torch(inputs, targets, w):
    x, y = torch.as_tensor(inputs), torch.as_tensor(targets)
    scores = -0.5 * (w * (x[:, None] - x)) ** 2
    scores = scores.masked_fill(torch.eye(len(x), dtype=torch.bool), -torch.inf)
    return ((torch.softmax(scores, dim=1) @ y - y) ** 2).sum() / 2


@leave_one_out_loss.variant
def loss_with_a_large_negative_score(inputs, targets, w):
    scores = _scores(inputs, inputs, w) - 1e9 * np.eye(len(inputs))
    return _half_squares(_softmax(scores), targets)


# --- 6. a training step -----------------------------------------------------------------------


@chapter.exercise(
    title=_("One step of gradient descent"),
    goal=_("Write the gradient of the loss in closed form and take one step downhill."),
    task="complete the training step",
    difficulty=3,
    minutes=25,
    section="nw-sgd",
    hints=(
        _(
            "Go backwards: the loss depends on the predictions, a prediction on the weights, "
            "the weights on w. The chapter has the product of the three."
        ),
        _(
            "For point n you need the covariance of squared distance and target under its weights: "
            "`weights * distances**2 * (targets[None, :] - predictions[:, None])`, "
            "summed over the keys."
        ),
        _(
            "With `covariances` of shape (n,): "
            "`gradient = -w * np.sum((predictions - targets) * covariances)`, "
            "then `return w - learning_rate * gradient`."
        ),
    ),
)
def gradient_step(inputs, targets, w, learning_rate):
    return w - learning_rate * nadaraya_watson.loss_gradient(inputs, targets, w)


@gradient_step.cases(points=2, label=_("three points"))
def step_on_three_points(rng):
    yield Case(_apart(rng, 3, 0.4, 0.9), _up_and_down(rng, 3), 0.8, 0.5)
    yield Case(_apart(rng, 3, 0.4, 0.9), _up_and_down(rng, 3), 1.5, 0.2)


@gradient_step.cases(points=1, label=_("more points, other learning rates, and w below 0"))
def step_on_many_points(rng):
    yield Case(_apart(rng, 5), _up_and_down(rng, 5), 0.6, 0.3)
    yield Case(_apart(rng, 7), _up_and_down(rng, 7), -0.7, 0.1)
    yield Case(_apart(rng, 13, 0.2, 0.5), rng.normal(size=13), 1.3, 0.05)
    yield Case(np.append(_apart(rng, 3), 50.0), _up_and_down(rng, 4), 1.5, 0.2)  # a lonely point


@gradient_step.misconception(
    _(
        "You walk uphill: your w moves in the direction in which the loss grows. "
        "Subtract the gradient, and check the signs of -w and of (prediction - target)."
    )
)
def step_uphill(inputs, targets, w, learning_rate):
    return w + learning_rate * _gradient(inputs, targets, w)


@gradient_step.misconception(
    _(
        "The factor w is missing from your gradient. The score is -0.5 w² d², "
        "and its derivative with respect to w is -w d²."
    )
)
def step_without_the_factor_w(inputs, targets, w, learning_rate):
    return w - learning_rate * _gradient(inputs, targets, w) / w


@gradient_step.misconception(
    _(
        "Your gradient has w² where it should have w: "
        "the derivative of -0.5 w² d² with respect to w is -w d²."
    )
)
def step_with_w_squared(inputs, targets, w, learning_rate):
    return w - learning_rate * _gradient(inputs, targets, w) * w


@gradient_step.misconception(
    _(
        "You use the targets themselves where the covariance needs targets minus prediction. "
        "When one weight grows the others shrink: that is what the prediction is subtracted for."
    )
)
def step_not_centred(inputs, targets, w, learning_rate):
    weights = _training_weights(inputs, w)
    products = np.sum(weights * _distances(inputs, inputs) ** 2 * targets, axis=-1)
    return w + learning_rate * w * np.sum((weights @ targets - targets) * products)


@gradient_step.misconception(
    _(
        "You subtract each point's own target inside the covariance. "
        "Subtract its prediction: the mean of the targets under the weights of that point."
    )
)
def step_centred_at_the_target(inputs, targets, w, learning_rate):
    weights = _training_weights(inputs, w)
    around = targets - targets[:, None]
    products = np.sum(weights * _distances(inputs, inputs) ** 2 * around, axis=-1)
    return w + learning_rate * w * np.sum((weights @ targets - targets) * products)


@gradient_step.misconception(
    _(
        "In your covariance each key's target meets the prediction of the same point. "
        "Row n needs the prediction of point n: write predictions[:, None]."
    )
)
def step_with_predictions_along_the_keys(inputs, targets, w, learning_rate):
    weights = _training_weights(inputs, w)
    errors = weights @ targets - targets
    products = np.sum(weights * _distances(inputs, inputs) ** 2 * -errors, axis=-1)
    return w + learning_rate * w * np.sum(errors * products)


@gradient_step.misconception(
    _(
        "The weights are missing from your covariance: "
        "multiply by weights before you sum over the keys."
    )
)
def step_without_weights(inputs, targets, w, learning_rate):
    predictions = _training_weights(inputs, w) @ targets
    squares = _distances(inputs, inputs) ** 2
    products = np.sum(squares * (targets - predictions[:, None]), axis=-1)
    return w + learning_rate * w * np.sum((predictions - targets) * products)


@gradient_step.misconception(
    _(
        "You take the distance where the covariance needs its square: "
        "the score falls with d², so its derivative has d² in it."
    )
)
def step_with_the_plain_distance(inputs, targets, w, learning_rate):
    weights = _training_weights(inputs, w)
    predictions = weights @ targets
    around = np.abs(_distances(inputs, inputs)) * (targets - predictions[:, None])
    return w + learning_rate * w * np.sum((predictions - targets) * np.sum(weights * around, -1))


@gradient_step.misconception(
    _(
        "Each point attends to itself here. For training, hide its own key: "
        "the diagonal gets the score minus infinity."
    ),
    section="nw-leave-one-out",
)
def step_with_the_self_key(inputs, targets, w, learning_rate):
    return w - learning_rate * _gradient(inputs, targets, w, leave_one_out=False)


@gradient_step.misconception(
    _(
        "Your gradient is averaged over the points. The loss here is half the sum of the squares, "
        "so the gradient is a sum over the points."
    )
)
def step_averaged_over_the_points(inputs, targets, w, learning_rate):
    return w - learning_rate * _gradient(inputs, targets, w) / len(inputs)


@gradient_step.misconception(
    _(
        "Your gradient is twice as large as it should be. "
        "The loss has a factor one half, which cancels the 2 of the square."
    )
)
def step_twice_as_long(inputs, targets, w, learning_rate):
    return w - learning_rate * 2 * _gradient(inputs, targets, w)


@gradient_step.misconception(
    _("Your step is the whole gradient. Multiply it by the learning rate first.")
)
def step_without_learning_rate(inputs, targets, w, learning_rate):
    return w - _gradient(inputs, targets, w)


@gradient_step.misconception(
    _("You return the gradient. Return the new w: w - learning_rate * gradient.")
)
def gradient_instead_of_w(inputs, targets, w, learning_rate):
    return _gradient(inputs, targets, w)


@gradient_step.misconception(_("You return the change of w alone. Add it to the old w."))
def change_instead_of_w(inputs, targets, w, learning_rate):
    return -learning_rate * _gradient(inputs, targets, w)


@gradient_step.misconception(
    _(
        "For a point far from all others every np.exp underflows to 0, and 0/0 is NaN. "
        "Keep the largest score of each row taken away before np.exp, as it was handed out."
    ),
    section="nw-nonparametric",
)
@np.errstate(invalid="ignore")
def step_underflows_to_nan(inputs, targets, w, learning_rate):
    kernel = np.exp(_without_diagonal(_scores(inputs, inputs, w)))
    weights = kernel / kernel.sum(axis=-1, keepdims=True)
    predictions = weights @ targets
    around = _distances(inputs, inputs) ** 2 * (targets - predictions[:, None])
    return w + learning_rate * w * np.sum((predictions - targets) * np.sum(weights * around, -1))


@gradient_step.variant
def step_in_loops(inputs, targets, w, learning_rate):
    gradient = definition.loss_gradient(inputs, targets, w)
    return w - learning_rate * gradient


@gradient_step.variant
def step_by_autograd(inputs, targets, w, learning_rate):
    parameter = torch.tensor(w, dtype=torch.float64, requires_grad=True)
    loss = nadaraya_watson.loss(torch.as_tensor(inputs), torch.as_tensor(targets), parameter)
    (gradient,) = torch.autograd.grad(loss, parameter)
    return (parameter - learning_rate * gradient).item()


@gradient_step.variant
def step_in_single_precision(inputs, targets, w, learning_rate):
    x, y = inputs.astype(np.float32), targets.astype(np.float32)
    return w - learning_rate * _gradient(x, y, np.float32(w))


@gradient_step.variant
def step_by_moments(inputs, targets, w, learning_rate):
    weights = _training_weights(inputs, w)
    squares = _distances(inputs, inputs) ** 2
    predictions = weights @ targets
    covariances = (weights * squares) @ targets - (weights * squares).sum(axis=1) * predictions
    return w + learning_rate * w * (predictions - targets) @ covariances


# --- 7. the model as a module -----------------------------------------------------------------

NadarayaWatson = chapter.exercise(
    title=_("A model with one parameter"),
    goal=_("Write the regression as a PyTorch module whose w an optimiser can train."),
    difficulty=2,
    minutes=15,
    section="nw-parametric",
    kind="module",
    hints=(
        _("A module has two parts: `__init__` makes the parameter, `forward` uses it."),
        _(
            "`self.w = nn.Parameter(torch.tensor(1.0))` is a parameter of shape (). "
            "`forward` is your exercise 2 in PyTorch, followed by one product with the values."
        ),
        _(
            "`scores = -0.5 * (self.w * (queries[..., :, None] - keys[..., None, :])) ** 2`, "
            "then `weights = torch.softmax(scores, dim=-1)`, "
            "then sum `weights * values[..., None, :]` over the last axis."
        ),
    ),
)(nadaraya_watson.NadarayaWatson)


def _places_and_values(rng, q, k, scale=1.0, batch=()):
    """Return float32 tensors; no query stands between two keys, so that no rounding decides.

    The check loads a random w into the module. Whatever it is, one of the scales in the cases
    is about one bandwidth, so that a mistake shows.
    """
    keys = np.arange(k) + rng.uniform(-0.1, 0.1, (*batch, k))
    queries = rng.integers(0, k, (*batch, q)) + rng.uniform(0.2, 0.3, (*batch, q))
    values = rng.normal(size=(*batch, k))
    return [torch.tensor(a, dtype=torch.float32) for a in (scale * queries, scale * keys, values)]


@NadarayaWatson.cases(points=2, label=_("one row of queries: output and gradient of w"))
def module_on_one_row(rng):
    yield Case(*_places_and_values(rng, 2, 3))
    yield Case(*_places_and_values(rng, 5, 7))
    yield Case(*_places_and_values(rng, 7, 5, scale=30.0))


@NadarayaWatson.cases(points=1, label=_("a batch: queries (..., q), keys and values (..., k)"))
def module_on_a_batch(rng):
    yield Case(*_places_and_values(rng, 3, 5, batch=(2,)))
    yield Case(*_places_and_values(rng, 5, 3, scale=30.0, batch=(2,)))


class _Wrong(nn.Module):
    """The right module, so that each wrong one shows its mistake alone."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(1.0))

    def score(self, d):
        return -0.5 * (self.w * d) ** 2

    def forward(self, queries, keys, values):
        scores = self.score(queries[..., :, None] - keys[..., None, :])
        return (torch.softmax(scores, dim=-1) * values[..., None, :]).sum(dim=-1)


@NadarayaWatson.misconception(
    _(
        "Your module has no parameter: an optimiser would find nothing to train. "
        "A plain tensor is not enough, write self.w = nn.Parameter(torch.tensor(1.0))."
    ),
    section="nw-sgd",
)
class WIsNoParameter(_Wrong):
    def __init__(self):
        nn.Module.__init__(self)
        self.w = torch.tensor(1.0, requires_grad=True)  # type: ignore[assignment]


@NadarayaWatson.misconception(
    _(
        "Your output is right, but no gradient reaches w: somewhere it became a plain number. "
        "Use self.w as it is, without .item(), float(), .data or .detach()."
    ),
    section="nw-sgd",
)
class WIsCutOff(_Wrong):
    def score(self, d):
        return -0.5 * (self.w.item() * d) ** 2


@NadarayaWatson.misconception(
    _(
        "Your w has shape (1,), a list with one number. "
        "Make it a single number of shape (): nn.Parameter(torch.tensor(1.0))."
    )
)
class WIsAVector(_Wrong):
    def __init__(self):
        nn.Module.__init__(self)
        self.w = nn.Parameter(torch.ones(1))


@NadarayaWatson.misconception(
    _(
        "In your scores w stands outside the square. "
        "It belongs inside: -0.5 * (self.w * distance) ** 2."
    )
)
class ModuleWithWOutsideTheSquare(_Wrong):
    def score(self, d):
        return -0.5 * self.w * d**2


@NadarayaWatson.misconception(
    _("The factor one half is missing from your scores: -0.5 * (self.w * distance) ** 2.")
)
class ModuleWithoutTheHalf(_Wrong):
    def score(self, d):
        return -((self.w * d) ** 2)


@NadarayaWatson.misconception(
    _(
        "You divide the distance by w. Here w is one over the bandwidth: multiply, "
        "so that a larger w looks at nearer keys."
    )
)
class ModuleWithWAsBandwidth(_Wrong):
    def score(self, d):
        return -0.5 * (d / self.w) ** 2


@NadarayaWatson.misconception(
    _(
        "Your model attends to the farthest key. "
        "The score needs a minus sign, so that near keys score high."
    ),
    section="nw-nonparametric",
)
class FarthestKeyWins(_Wrong):
    def score(self, d):
        return 0.5 * (self.w * d) ** 2


@NadarayaWatson.misconception(
    _("Your softmax runs over the queries. It should run over the keys, the last axis: dim=-1."),
    section="nw-nonparametric",
)
class ModuleSoftmaxOverTheQueries(_Wrong):
    def forward(self, queries, keys, values):
        scores = self.score(queries[..., :, None] - keys[..., None, :])
        return (torch.softmax(scores, dim=-2) * values[..., None, :]).sum(dim=-1)


@NadarayaWatson.misconception(
    _(
        "One row of queries works, a batch does not. Write the axes from the end: "
        "queries[..., :, None], keys[..., None, :], values[..., None, :] and dim=-1."
    )
)
class ModuleForOneRowOnly(_Wrong):
    def forward(self, queries, keys, values):
        return torch.softmax(self.score(queries[:, None] - keys[None, :]), dim=1) @ values


@NadarayaWatson.variant
class ModuleWithBatchedProduct(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(()))

    def forward(self, queries, keys, values):
        u = self.w * (queries.unsqueeze(-1) - keys.unsqueeze(-2))
        weights = nn.functional.softmax(-(u**2) / 2, dim=-1)
        return (weights @ values.unsqueeze(-1)).squeeze(-1)


@NadarayaWatson.variant
class ModuleWithKernelSums(nn.Module):
    def __init__(self, w=0.5):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(w), requires_grad=True)

    def forward(self, queries, keys, values):
        scores = -0.5 * self.w**2 * (queries[..., None] - keys[..., None, :]) ** 2
        kernel = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
        return torch.einsum("...qk,...k->...q", kernel, values) / kernel.sum(dim=-1)


# --- 8. an experiment -------------------------------------------------------------------------


@chapter.exercise(
    title=_("Train, then test"),
    goal=_("Train w on noisy points with your own step, and measure the error on a clean curve."),
    task="reproduce",
    difficulty=3,
    minutes=20,
    section="nw-leave-one-out",
    hints=(
        _("Training is a loop around `gradient_step`. Testing is one use of `gaussian_weights`."),
        _(
            "For the test, the queries are the test inputs, and the keys and values are all "
            "training points: nothing is left out, since no test point is a key."
        ),
        _(
            "In the loop: `w = gradient_step(inputs, targets, w, learning_rate)`. "
            "Then `predictions = gaussian_weights(test_inputs, inputs, w) @ targets`, "
            "and the error is `np.mean((predictions - test_targets) ** 2)`."
        ),
    ),
    uses=("gradient_step", "gaussian_weights"),
)
def train_and_test(inputs, targets, test_inputs, test_targets, w, learning_rate, steps):
    path = nadaraya_watson.gradient_descent(inputs, targets, w, learning_rate, steps)
    predictions = nadaraya_watson.regress(test_inputs, inputs, targets, path[-1])
    return path[-1], float(np.mean((predictions - test_targets) ** 2))


@train_and_test.cases(points=2, label=_("a few points, a few steps"))
def a_few_steps(rng):
    yield Case(*_curve(rng, 5, 3), 0.6, 0.1, 1)
    yield Case(*_curve(rng, 7, 5), 0.7, 0.05, 3)
    yield Case(*_curve(rng, 13, 11), 0.8, 0.02, 5)


@train_and_test.cases(points=2, label=_("the experiment of the chapter: 50 points, 150 steps"))
def the_experiment(rng):
    inputs, targets = nadaraya_watson.noisy_curve(np.random.default_rng(0))
    test_inputs = np.arange(0, 5, 0.1)
    test_targets = nadaraya_watson.true_curve(test_inputs)
    yield Case(inputs, targets, test_inputs, test_targets, 0.5, 0.1, 150)


def _test_error(test_inputs, test_targets, inputs, targets, w):
    predictions = _softmax(_scores(test_inputs, inputs, w)) @ targets
    return np.mean((predictions - test_targets) ** 2)


@train_and_test.misconception(
    _(
        "While training, each point attends to itself, so w only ever grows. "
        "Leave the own key out in every training step."
    )
)
def trained_with_the_self_key(inputs, targets, x, y, w, learning_rate, steps):
    w = _descend(inputs, targets, w, learning_rate, steps, leave_one_out=False)
    return w, _test_error(x, y, inputs, targets, w)


@train_and_test.misconception(
    _("Your w walks uphill: subtract the gradient in each step."), section="nw-sgd"
)
def trained_uphill(inputs, targets, x, y, w, learning_rate, steps):
    w = _descend(inputs, targets, w, -learning_rate, steps)
    return w, _test_error(x, y, inputs, targets, w)


@train_and_test.misconception(
    _(
        "Your w is the start after one single step. "
        "Take all the steps, each from where the last one ended: w = gradient_step(…) in the loop."
    ),
    section="nw-sgd",
)
def only_one_step(inputs, targets, x, y, w, learning_rate, steps):
    # A loop that forgets to pass w on comes to the same.
    w = _descend(inputs, targets, w, learning_rate, 1)
    return w, _test_error(x, y, inputs, targets, w)


@train_and_test.misconception(
    _("You stop one step too early: take exactly steps steps."), section="nw-sgd"
)
def one_step_too_few(inputs, targets, x, y, w, learning_rate, steps):
    w = _descend(inputs, targets, w, learning_rate, steps - 1)
    return w, _test_error(x, y, inputs, targets, w)


@train_and_test.misconception(
    _(
        "Your w is right, but the test used the w you started from. "
        "Compute the test predictions after training, with the new w."
    )
)
def tested_with_the_first_w(inputs, targets, x, y, w, learning_rate, steps):
    trained = _descend(inputs, targets, w, learning_rate, steps)
    return trained, _test_error(x, y, inputs, targets, w)


@train_and_test.misconception(
    _(
        "Your test points look up their own targets: keys and values came from the test points. "
        "At test time the keys and values are the training points."
    )
)
def tested_on_its_own_targets(inputs, targets, x, y, w, learning_rate, steps):
    w = _descend(inputs, targets, w, learning_rate, steps)
    return w, _test_error(x, y, x, y, w)


@train_and_test.misconception(
    _("You trained on the test points. Keep them for the test; w is found on the training points.")
)
def trained_on_the_test_points(inputs, targets, x, y, w, learning_rate, steps):
    w = _descend(x, y, w, learning_rate, steps)
    return w, _test_error(x, y, inputs, targets, w)


@train_and_test.misconception(
    _("Your w is right. Your error is half the sum of the squares; the test error is their mean."),
    section="nw-sgd",
)
def half_sum_at_the_test(inputs, targets, x, y, w, learning_rate, steps):
    w = _descend(inputs, targets, w, learning_rate, steps)
    return w, _test_error(x, y, inputs, targets, w) * len(x) / 2


@train_and_test.misconception(
    _("Your w is right. You took the root of the mean squared error; leave the root out."),
    section="nw-sgd",
)
def root_at_the_test(inputs, targets, x, y, w, learning_rate, steps):
    w = _descend(inputs, targets, w, learning_rate, steps)
    return w, np.sqrt(_test_error(x, y, inputs, targets, w))


@train_and_test.variant
def experiment_in_numpy(inputs, targets, x, y, w, learning_rate, steps):
    w = _descend(inputs, targets, w, learning_rate, steps)
    return [w, _test_error(x, y, inputs, targets, w)]


@train_and_test.variant
def experiment_in_single_precision(inputs, targets, x, y, w, learning_rate, steps):
    x, y, inputs, targets = (a.astype(np.float32) for a in (x, y, inputs, targets))
    w = _descend(inputs, targets, np.float32(w), np.float32(learning_rate), steps)
    return w, _test_error(x, y, inputs, targets, w)


@train_and_test.variant
def experiment_with_an_optimiser(inputs, targets, x, y, w, learning_rate, steps):
    x, y, inputs, targets = (torch.as_tensor(a) for a in (x, y, inputs, targets))
    others = ~torch.eye(len(inputs), dtype=torch.bool)
    model = nadaraya_watson.NadarayaWatson(w).double()
    with torch.no_grad():
        model.w.fill_(w)  # a float32 start would be a little off
    optimiser = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for _step in range(steps):
        optimiser.zero_grad()
        loss = 0.5 * ((model(inputs, inputs, targets, others) - targets) ** 2).sum()
        loss.backward()
        optimiser.step()
    return model.w.item(), ((model(x, inputs, targets) - y) ** 2).mean().item()
