r"""The exercises of chapter 2: the seven scores, the scale, two bugs, a bound, a training step.

Each exercise: the reference (from the package, never written a second time), the cases, the
mistakes we know by name, and right solutions written in other ways. Wrong solutions are made of
the few small functions at the top, so that each shows nothing but its mistake.
"""

from math import log, sqrt

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from attn_course import scoring
from attn_course.alignment import softmax
from attn_course.definitions import scoring as definition
from attn_course.learned_scores import AdditiveScore as PackageAdditiveScore
from attn_course.practice.exercise import Case, Chapter
from attn_course.translate import _

chapter = Chapter(
    "02_scoring",
    title=_("Scoring functions"),
    sections={
        "scoring-dot": _("Dot-product score"),
        "scoring-scaled-dot": _("Scaled dot-product score"),
        "scoring-additive": _("Additive score"),
        "scoring-general": _("General score"),
        "scoring-biased-general": _("Biased general score"),
        "scoring-activated-general": _("Activated general score"),
        "scoring-similarity": _("Similarity score"),
        "scoring-spaces": _("Do query and key share a space?"),
    },
)


# --- what the wrong solutions and the variants are made of ------------------------------------


def _turned(table):
    return np.swapaxes(table, -2, -1)


def _dot(queries, keys):
    return np.einsum("...qd,...kd->...qk", queries, keys)


def _general(queries, keys, W):
    return np.einsum("...qj,ij,...ki->...qk", queries, W, keys)


def _softmax(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _table_by_table(function, queries, keys, *rest):
    """Return a function of one table, written in loops, for every table of a batch."""
    if queries.ndim > 2:
        pairs = zip(queries, keys, strict=True)
        return np.stack([_table_by_table(function, q, k, *rest) for q, k in pairs])
    return np.array([[function(q, k, *rest) for k in keys] for q in queries])


def _single(*arrays):
    return [np.asarray(array).astype(np.float32) for array in arrays]


# --- what the cases are drawn from ------------------------------------------------------------


def _readable(rng, *size, low=-2.0, high=2.0):
    """Return numbers with one decimal, none of them 0: a failure can be redone by hand."""
    numbers = np.round(rng.uniform(low, high, size), 1)
    return np.where(numbers == 0, 0.5, numbers)


def _pair(rng, q, k, d_q, d_k=None, batch=()):
    """Return readable queries and keys."""
    return _readable(rng, *batch, q, d_q), _readable(rng, *batch, k, d_k or d_q)


def _gentle_matrix(rng, queries, keys):
    """Return a matrix for which the largest score is about 1: neither tanh nor softmax saturate."""
    W = rng.uniform(-1, 1, (keys.shape[-1], queries.shape[-1]))
    return np.round(W / np.abs(_general(queries, keys, W)).max(), 3)


# --- 1. dot, cosine, distance -----------------------------------------------------------------


@chapter.exercise(
    title=_("Three ways to compare"),
    goal=_("Score every key for every query by dot product, by cosine, and by distance."),
    difficulty=2,
    minutes=20,
    section="scoring-similarity",
    hints=(
        _("Begin with the dot product: one matrix product makes the whole table of scores."),
        _(
            "`np.swapaxes(keys, -2, -1)` turns the keys round, with or without a batch. "
            "A cosine is the dot product of vectors that were first divided by their lengths."
        ),
        _(
            "`np.linalg.norm(keys, axis=-1, keepdims=True)` are the lengths; divide by 1 where "
            "one is 0. For the distance, `queries[..., :, None, :] - keys[..., None, :, :]` has "
            "the shape (..., q, k, d): square, sum over the last axis, take the root, negate."
        ),
    ),
    without=("torch.nn.functional", "torch.cdist", "scipy.spatial"),
)
def compare(queries, keys, kind):
    return (
        scoring.dot(queries, keys)
        if kind == "dot"
        else scoring.similarity(queries, keys, kind=kind)
    )


@compare.cases(points=1, label=_("dot"))
def tables_of_dots(rng):
    yield Case(*_pair(rng, 1, 2, 3), "dot")
    yield Case(*_pair(rng, 3, 5, 2), "dot")


@compare.cases(points=1, label=_("cosine"))
def tables_of_cosines(rng):
    yield Case(*_pair(rng, 1, 2, 3), "cosine")
    queries, keys = _pair(rng, 5, 3, 2)
    yield Case(queries * 0.1, keys * 3, "cosine")  # shorter than 1, longer than 1


@compare.cases(points=1, label=_("euclidean"))
def tables_of_distances(rng):
    yield Case(*_pair(rng, 1, 2, 3), "euclidean")
    yield Case(*_pair(rng, 3, 5, 2), "euclidean")
    yield Case(*_every_query_among_the_keys(rng, 17, 19, 11), "euclidean")


def _every_query_among_the_keys(rng, q, k, d):
    """Return so many queries that q² - 2 q·k + k² comes out below 0 for one of them.

    The numbers are halves and a hair: single precision rounds the hair away and makes no mistake
    in the rest, so that there the distance of a query from itself is 0 in every way to write it.
    """
    keys = rng.integers(1, 5, (k, d)) / 2 + 1e-10 * rng.normal(size=(k, d))
    keys *= rng.choice([-1, 1], (k, d))
    return rng.permutation(keys)[:q], keys


@compare.cases(points=1, label=_("a vector of zeros has the cosine 0 with everything"))
def tables_with_zeros(rng):
    queries, keys = _pair(rng, 3, 2, 5)
    queries[1] = 0
    keys[0] = 0
    yield Case(queries, keys, "cosine")
    yield Case(queries, keys, "euclidean")


@compare.cases(points=1, label=_("a batch: queries (..., q, d), keys (..., k, d)"))
def batches_to_compare(rng):
    for kind in ("dot", "cosine", "euclidean"):
        yield Case(*_pair(rng, 3, 5, 7, batch=(2,)), kind)
        yield Case(*_pair(rng, 7, 2, 11, batch=(5, 3)), kind)


def _length(vectors):
    return np.sqrt((vectors**2).sum(axis=-1, keepdims=True))


def _unit(vectors):
    length = _length(vectors)
    return vectors / np.where(length > 0, length, 1)


def _cosine(queries, keys):
    return _dot(_unit(queries), _unit(keys))


def _differences(queries, keys):
    return queries[..., :, None, :] - keys[..., None, :, :]


def _euclidean(queries, keys):
    return -np.sqrt((_differences(queries, keys) ** 2).sum(axis=-1))


def _compared(queries, keys, kind, **wrong):
    """Return the right table, with some of the three ways replaced by a wrong one."""
    ways = {"dot": _dot, "cosine": _cosine, "euclidean": _euclidean} | wrong
    return ways[kind](queries, keys)


@compare.misconception(
    _(
        "Your table has a row for each key and a column for each query. "
        "Turn it round: row i belongs to query i, so the shape is (..., q, k)."
    ),
    section="scoring-dot",
)
def compared_with_keys_in_the_rows(queries, keys, kind):
    return _turned(_compared(queries, keys, kind))


@compare.misconception(
    _(
        "You divide the dot product by the root of the width. That is the scaled dot product, "
        "the next exercise; a plain dot product is not divided by anything."
    ),
    section="scoring-dot",
)
def dot_with_a_scale(queries, keys, kind):
    return _compared(queries, keys, kind, dot=scoring.scaled_dot)


@compare.misconception(
    _(
        "Your cosine is the dot product: it still grows with the lengths of the vectors. "
        "Divide each query and each key by its length first."
    )
)
def cosine_without_lengths(queries, keys, kind):
    return _compared(queries, keys, kind, cosine=_dot)


@compare.misconception(
    _(
        "Your cosine divides by the lengths of the queries alone. "
        "Divide by the lengths of the keys as well, else long keys win."
    )
)
def cosine_without_the_lengths_of_keys(queries, keys, kind):
    return _compared(queries, keys, kind, cosine=lambda q, k: _dot(_unit(q), k))


@compare.misconception(
    _(
        "Your cosine divides by the lengths of the keys alone. "
        "Divide by the lengths of the queries as well, so that it lies between -1 and 1."
    )
)
def cosine_without_the_lengths_of_queries(queries, keys, kind):
    return _compared(queries, keys, kind, cosine=lambda q, k: _dot(q, _unit(k)))


@compare.misconception(
    _(
        "Your cosine divides by one length for the whole table. Each row of queries and of keys "
        "has a length of its own: np.linalg.norm(…, axis=-1, keepdims=True)."
    )
)
def cosine_with_one_length_for_all(queries, keys, kind):
    def cosine(q, k):
        return _dot(q, k) / (np.linalg.norm(q) * np.linalg.norm(k))

    return _compared(queries, keys, kind, cosine=cosine)


@compare.misconception(
    _(
        "Your cosine divides by the squared lengths. "
        "A length is the root of the sum of squares: take the root before you divide."
    )
)
def cosine_with_squared_lengths(queries, keys, kind):
    def over_its_square(vectors):
        square = _length(vectors) ** 2
        return vectors / np.where(square > 0, square, 1)

    def cosine(q, k):
        return _dot(over_its_square(q), over_its_square(k))

    return _compared(queries, keys, kind, cosine=cosine)


@compare.misconception(
    _(
        "A vector of zeros has the length 0, and you divide 0 by 0. Divide by 1 where a length is "
        "0: then the cosine is 0."
    )
)
@np.errstate(invalid="ignore")
def cosine_of_zeros_is_nan(queries, keys, kind):
    def cosine(q, k):
        return _dot(q, k) / (_length(q) * _turned(_length(k)))

    return _compared(queries, keys, kind, cosine=cosine)


@compare.misconception(
    _(
        "Your distances are positive, so the farthest key scores highest. "
        "Put a minus sign in front: closer must mean higher."
    )
)
def farthest_key_scores_highest(queries, keys, kind):
    return _compared(queries, keys, kind, euclidean=lambda q, k: -_euclidean(q, k))


@compare.misconception(
    _(
        "Your distances are squared. The Euclidean distance is the root of the sum of squares: "
        "take the root, then the minus sign."
    )
)
def distance_without_the_root(queries, keys, kind):
    return _compared(queries, keys, kind, euclidean=lambda q, k: -(_euclidean(q, k) ** 2))


@compare.misconception(
    _(
        "You return minus half the squared distance, the Gaussian kernel's score. "
        "Here the plain distance is asked for: no half, and a root instead of the square."
    )
)
def half_the_squared_distance(queries, keys, kind):
    return _compared(queries, keys, kind, euclidean=lambda q, k: -0.5 * _euclidean(q, k) ** 2)


@compare.misconception(
    _(
        "You add up the absolute differences, the way a taxi drives. "
        "The Euclidean distance squares them, adds up, and takes the root."
    )
)
def distance_of_a_taxi(queries, keys, kind):
    def taxi(q, k):
        return -np.abs(_differences(q, k)).sum(axis=-1)

    return _compared(queries, keys, kind, euclidean=taxi)


@compare.misconception(
    _(
        "Where query and key are the same, rounding makes the square slightly negative and its "
        "root NaN: np.maximum(…, 0) first."
    )
)
@np.errstate(invalid="ignore")
def root_of_a_square_below_zero(queries, keys, kind):
    def euclidean(q, k):
        q_squares, k_squares = (q**2).sum(axis=-1), (k**2).sum(axis=-1)
        return -np.sqrt(q_squares[..., :, None] + k_squares[..., None, :] - 2 * q @ _turned(k))

    return _compared(queries, keys, kind, euclidean=euclidean)


@compare.misconception(
    _(
        "One table works, a batch does not. Count the axes from the end: "
        "np.swapaxes(keys, -2, -1) instead of keys.T, axis=-1 instead of axis=1, "
        "queries[..., :, None, :] and keys[..., None, :, :], '...' in einsum."
    ),
    section="scoring-dot",
)
def compared_for_one_table_only(queries, keys, kind):
    def cosine(q, k):
        return _unit(q) @ _unit(k).T

    def euclidean(q, k):
        return -np.sqrt(((q[:, None] - k[None]) ** 2).sum(axis=-1))

    return _compared(
        queries, keys, kind, dot=lambda q, k: q @ k.T, cosine=cosine, euclidean=euclidean
    )


@compare.variant
def compared_in_loops(queries, keys, kind):
    return _table_by_table(getattr(definition, kind), queries, keys)


@compare.variant
def compared_by_matrix_products(queries, keys, kind):
    dots = queries @ np.swapaxes(keys, -2, -1)
    q_squares = (queries**2).sum(axis=-1)[..., :, None]
    k_squares = (keys**2).sum(axis=-1)[..., None, :]
    if kind == "cosine":
        return dots / np.maximum(np.sqrt(q_squares * k_squares), 1e-12)
    if kind == "euclidean":
        return -np.sqrt(np.maximum(q_squares - 2 * dots + k_squares, 0))
    return dots


@compare.variant
def compared_in_torch(queries, keys, kind):
    queries, keys = torch.as_tensor(queries), torch.as_tensor(keys)
    if kind == "cosine":
        return functional.cosine_similarity(queries.unsqueeze(-2), keys.unsqueeze(-3), dim=-1)
    if kind == "euclidean":
        return -torch.cdist(queries, keys)
    return queries @ keys.mT


@compare.variant
def compared_in_single_precision(queries, keys, kind):
    queries, keys = _single(queries, keys)
    return _compared(queries, keys, kind)


# --- 2. find the bug: the scale ---------------------------------------------------------------


@chapter.exercise(
    title=_("Find the bugs in a scale"),
    goal=_("Find and mend two mistakes in a scaled dot product."),
    task="find the bug",
    difficulty=1,
    minutes=10,
    section="scoring-scaled-dot",
    hints=(
        _("Redo the example of the task with the code. By which number does it divide?"),
        _("Leave one key out. The scores of the others must not change; here they do."),
        _(
            "The scale is about the width of a key, which is the last axis of the keys. "
            "And the spread of a dot product grows like the root of that width."
        ),
    ),
)
def scaled_dot(queries, keys):
    return scoring.scaled_dot(queries, keys)


@scaled_dot.cases(points=1, label=_("one table"))
def scaled_tables(rng):
    yield Case(*_pair(rng, 1, 2, 3))
    yield Case(*_pair(rng, 2, 3, 5))
    yield Case(*_pair(rng, 5, 3, 2))


@scaled_dot.cases(points=1, label=_("a batch: queries (..., q, d_k), keys (..., k, d_k)"))
def scaled_batches(rng):
    yield Case(*_pair(rng, 3, 5, 7, batch=(2,)))
    yield Case(*_pair(rng, 7, 2, 11, batch=(5, 3)))


@scaled_dot.misconception(
    _(
        "This is the function as you found it, with both mistakes still in it: it divides by the "
        "number of keys. Which number should it be, and is anything done to it first?"
    )
)
def scale_as_handed_out(queries, keys):
    return _dot(queries, keys) / keys.shape[-2]


@scaled_dot.misconception(
    _(
        "One mistake is mended: d_k is now the width of a key. You divide by d_k itself; "
        "divide by its root, since that is how the spread of a dot product grows."
    )
)
def scaled_by_d(queries, keys):
    return _dot(queries, keys) / keys.shape[-1]


@scaled_dot.misconception(
    _(
        "The root is there. Its number is not: you take the root of the number of keys. "
        "d_k is the width of a key, the last axis of the keys."
    )
)
def scaled_by_the_root_of_the_number_of_keys(queries, keys):
    return _dot(queries, keys) / np.sqrt(keys.shape[-2])


@scaled_dot.misconception(
    _("There is no scale left: you return plain dot products. Divide them by the root of d_k.")
)
def not_scaled(queries, keys):
    return _dot(queries, keys)


@scaled_dot.misconception(
    _(
        "You multiply by the root of d_k, so wide keys score even higher. "
        "Divide by it: the scale is there to undo the growth."
    )
)
def multiplied_by_the_root(queries, keys):
    return _dot(queries, keys) * np.sqrt(keys.shape[-1])


@scaled_dot.misconception(
    _(
        "You divide by the root of the number of queries. "
        "How many queries ask changes no score: take the width of a key."
    )
)
def scaled_by_the_root_of_the_number_of_queries(queries, keys):
    return _dot(queries, keys) / np.sqrt(queries.shape[-2])


@scaled_dot.misconception(
    _(
        "One table is right. In a batch axis 1 is the number of keys: "
        "the width is always the last axis, keys.shape[-1]."
    )
)
def width_from_axis_1(queries, keys):
    return _dot(queries, keys) / np.sqrt(keys.shape[1])


@scaled_dot.misconception(
    _(
        "One table is mended, a batch is not. Count the axes from the end: "
        "np.swapaxes(keys, -2, -1) instead of keys.T, '...' in einsum."
    ),
    section="scoring-dot",
)
def scaled_for_one_table_only(queries, keys):
    return queries @ keys.T / np.sqrt(keys.shape[-1])


@scaled_dot.misconception(
    _(
        "The scale is right, and then your table is turned round: a row for each key. "
        "Row i belongs to query i, so the shape is (..., q, k)."
    ),
    section="scoring-dot",
)
def scaled_with_keys_in_the_rows(queries, keys):
    return _turned(scoring.scaled_dot(queries, keys))


@scaled_dot.misconception(
    _(
        "You return weights: a softmax came after the scale. "
        "Scores are asked for here; leave the softmax out."
    )
)
def weights_instead_of_scores(queries, keys):
    return _softmax(scoring.scaled_dot(queries, keys))


@scaled_dot.variant
def scaled_in_loops(queries, keys):
    return _table_by_table(definition.scaled_dot, queries, keys)


@scaled_dot.variant
def scaled_on_both_sides(queries, keys):
    fourth_root = keys.shape[-1] ** 0.25
    return (queries / fourth_root) @ np.swapaxes(keys / fourth_root, -2, -1)


@scaled_dot.variant
def scaled_in_torch(queries, keys):
    queries, keys = torch.as_tensor(queries), torch.as_tensor(keys)
    return torch.einsum("...qd,...kd->...qk", queries, keys) * keys.shape[-1] ** -0.5


@scaled_dot.variant
def scaled_in_single_precision(queries, keys):
    queries, keys = _single(queries, keys)
    return _dot(queries, keys) / np.float32(sqrt(keys.shape[-1]))


# --- 3. an experiment: why scale --------------------------------------------------------------


@chapter.exercise(
    title=_("Why scale? Measure it"),
    goal=_("Measure how dot products of wide vectors spread, and what a softmax makes of them."),
    task="reproduce",
    difficulty=2,
    minutes=25,
    section="scoring-scaled-dot",
    hints=(
        _(
            "Three numbers from one table of scores: its variance, and twice the same entropy, "
            "of the scores as they are and of the scores divided by a root."
        ),
        _(
            "Write a small function that turns scores into the mean entropy: a softmax over the "
            "keys, minus the sum of weight times logarithm in each row, the mean over the rows."
        ),
        _(
            "Take logarithms without going through the weights: with `z = scores - row maximum`, "
            "`log_weights = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))`. "
            "Then 0 times a large negative number is 0, and nothing is NaN."
        ),
    ),
)
def scale_experiment(queries, keys):
    scores = scoring.dot(queries, keys)
    return (
        float(scores.var()),
        _reference_entropy(scores),
        _reference_entropy(scoring.scaled_dot(queries, keys)),
    )


def _reference_entropy(scores):
    return float(torch.special.entr(torch.as_tensor(softmax(scores))).sum(dim=-1).mean())


@scale_experiment.cases(points=1, label=_("a few queries and keys"))
def a_few_to_measure(rng):
    yield Case(*_pair(rng, 2, 3, 5))
    yield Case(*_pair(rng, 5, 2, 3))
    yield Case(*_pair(rng, 11, 7, 13))


# In the two groups below all scores are whole numbers, so that they are exact also in single
# precision. Their gaps are so small, or so large, that rounding decides nothing.


@scale_experiment.cases(points=1, label=_("scores so large that np.exp overflows"))
def scores_that_overflow(rng):
    queries = np.column_stack([np.full(2, 30), rng.integers(-1, 2, (2, 2))]).astype(float)
    keys = np.column_stack([np.full(5, 30), rng.integers(-1, 2, (5, 2))]).astype(float)
    yield Case(queries, keys)  # 900 and a little, in every place


@scale_experiment.cases(points=1, label=_("weights so small that they become 0"))
def weights_that_vanish(rng):
    # Scores 0, -1600, -3200, …, for the first query with two keys at 0: its entropy is ln 2.
    levels = [[0, 0, -1, -2, -3], [0, -1, -2, -3, -4], [1, 1, 1, 1, 1]]
    keys = 40.0 * np.column_stack([rng.permutation(column) for column in levels])
    yield Case(40.0 * np.eye(3)[:2], keys)


@scale_experiment.cases(points=1, label=_("the experiment: 500 queries, 16 keys, width 256"))
def the_scale_experiment(rng):
    fixed = np.random.default_rng(0)
    queries = fixed.normal(size=(500, 256))
    yield Case(queries, fixed.normal(size=(16, 256)))


def _entropies(scores, axis=-1, log=np.log):
    """Return the entropy of each row of scores, safe from overflow and from 0 log 0."""
    weights = _softmax(scores, axis)
    return -(weights * log(np.where(weights > 0, weights, 1))).sum(axis=axis)


def _entropy(scores):
    return _entropies(scores).mean()


def _measured(queries, keys, entropy=_entropy, scale=None, swapped=False):
    scores = _dot(queries, keys)
    scaled = scores / (sqrt(keys.shape[-1]) if scale is None else scale)
    found = [entropy(scores), entropy(scaled)]
    return scores.var(), *(found[::-1] if swapped else found)


@scale_experiment.misconception(
    _(
        "Your entropies are right. Your first number is the standard deviation; "
        "the variance is its square, scores.var()."
    )
)
def deviation_instead_of_variance(queries, keys):
    _variance, *entropies = _measured(queries, keys)
    return _dot(queries, keys).std(), *entropies


@scale_experiment.misconception(
    _(
        "Your entropies are right. Your variance divides by the number of scores less 1, as "
        "tensor.var() does by default; divide by their number: correction=0, or NumPy's var()."
    )
)
def variance_of_a_sample(queries, keys):
    _variance, *entropies = _measured(queries, keys)
    return _dot(queries, keys).var(ddof=1), *entropies


@scale_experiment.misconception(
    _(
        "Your first number is the variance of the scaled scores, about 1. "
        "Take the variance of the plain dot products: it shows what the scale is for."
    )
)
def variance_of_the_scaled_scores(queries, keys):
    variance, *entropies = _measured(queries, keys)
    return variance / keys.shape[-1], *entropies


@scale_experiment.misconception(
    _(
        "You divide by d_k itself. Then wide keys score almost alike, and the weights are nearly "
        "equal: divide by the root of d_k."
    )
)
def experiment_scaled_by_d(queries, keys):
    return _measured(queries, keys, scale=keys.shape[-1])


@scale_experiment.misconception(
    _(
        "Your two entropies are the same number. "
        "Divide the scores by the root of d_k before you take the softmax for the second one."
    )
)
def experiment_without_a_scale(queries, keys):
    return _measured(queries, keys, scale=1)


@scale_experiment.misconception(
    _("Your entropies are the wrong way round: first without the scale, then with it.")
)
def entropies_swapped(queries, keys):
    return _measured(queries, keys, swapped=True)


@scale_experiment.misconception(
    _("You measure entropy in bits. Here it is in nats: take the natural logarithm, np.log.")
)
def entropy_in_bits(queries, keys):
    return _measured(queries, keys, entropy=lambda s: _entropies(s, log=np.log2).mean())


@scale_experiment.misconception(
    _(
        "Your entropies are negative. Logarithms of weights are below 0: "
        "the minus sign in front of the sum makes up for it."
    )
)
def entropy_without_the_minus(queries, keys):
    return _measured(queries, keys, entropy=lambda s: -_entropies(s).mean())


@scale_experiment.misconception(
    _("You add up the entropies of all queries. Take their mean, the entropy of one query.")
)
def entropies_added_up(queries, keys):
    return _measured(queries, keys, entropy=lambda s: _entropies(s).sum())


@scale_experiment.misconception(
    _(
        "Your mean runs over all entries of the table. The entropy of a query is a sum over its "
        "keys; only then comes the mean, over the queries."
    )
)
def mean_over_all_entries(queries, keys):
    return _measured(queries, keys, entropy=lambda s: _entropies(s).mean() / s.shape[-1])


@scale_experiment.misconception(
    _(
        "Your softmax runs over the queries, so each key shares itself out. "
        "It should run over the keys, the last axis: each query shares out its attention."
    )
)
def experiment_over_the_queries(queries, keys):
    return _measured(queries, keys, entropy=lambda s: _entropies(s, axis=-2).mean())


@scale_experiment.misconception(
    _(
        "Where scores are large, np.exp overflows to infinity, and you get NaN. "
        "Subtract each row's largest score first: the weights stay the same."
    )
)
@np.errstate(over="ignore", invalid="ignore")
def entropy_that_overflows(queries, keys):
    def entropy(scores):
        weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
        return -(weights * np.log(np.where(weights == 0, 1, weights))).sum(axis=-1).mean()

    return _measured(queries, keys, entropy=entropy)


@scale_experiment.misconception(
    _(
        "Where a weight is 0 you multiply 0 by the logarithm of 0, and get NaN. Such a key adds "
        "nothing to the entropy: compute the logarithm from the scores, or leave those keys out."
    )
)
@np.errstate(divide="ignore", invalid="ignore")
def zero_times_the_logarithm_of_zero(queries, keys):
    def entropy(scores):
        weights = _softmax(scores)
        return -(weights * np.log(weights)).sum(axis=-1).mean()

    return _measured(queries, keys, entropy=entropy)


@scale_experiment.variant
def experiment_with_safe_logarithms(queries, keys):
    return _measured(queries, keys)


@scale_experiment.variant
def experiment_by_log_sum_exp(queries, keys):
    # The entropy is the normaliser minus the expected score.
    def entropy(scores):
        normaliser = np.logaddexp.reduce(scores, axis=-1)
        return (normaliser - (_softmax(scores) * scores).sum(axis=-1)).mean()

    return list(_measured(queries, keys, entropy=entropy))


@scale_experiment.variant
def experiment_in_torch(queries, keys):
    scores = torch.as_tensor(queries) @ torch.as_tensor(keys).T
    pair = torch.stack([scores, scores / sqrt(keys.shape[-1])])
    entropies = torch.distributions.Categorical(logits=pair).entropy().mean(dim=-1)
    return scores.var(correction=0), *entropies


@scale_experiment.variant
def experiment_in_single_precision(queries, keys):
    return _measured(*_single(queries, keys))


# --- 4. the additive score as a module --------------------------------------------------------

AdditiveScore = chapter.exercise(
    title=_("The additive score"),
    goal=_("Write the additive score as a PyTorch module, for queries and keys of any widths."),
    difficulty=2,
    minutes=20,
    section="scoring-additive",
    kind="module",
    hints=(
        _("Map the queries and the keys to width d_w each. Only then can they be added."),
        _(
            "`queries @ self.W_q.T` has the shape (..., q, d_w). To add every query to every key, "
            "give it an axis for the keys, and give the keys an axis for the queries."
        ),
        _(
            "`hidden = torch.tanh(from_queries[..., :, None, :] + from_keys[..., None, :, :] + "
            "self.b)` has the shape (..., q, k, d_w). `hidden @ self.w` sums its last axis."
        ),
    ),
)(PackageAdditiveScore)


def _to_add(rng, q, k, d_q, d_k, d_w, batch=()):
    """Return a case; its numbers are small, so that tanh does not saturate."""
    inputs = [0.4 * rng.normal(size=(*batch, *size)) for size in ((q, d_q), (k, d_k))]
    queries, keys = (torch.tensor(array, dtype=torch.float32) for array in inputs)
    return Case(queries, keys, d_q=d_q, d_k=d_k, d_w=d_w)


@AdditiveScore.cases(points=2, label=_("one table: output and gradients"))
def additive_tables(rng):
    yield _to_add(rng, 1, 2, 3, 2, 5)
    yield _to_add(rng, 2, 3, 5, 7, 11)
    yield _to_add(rng, 5, 2, 3, 3, 7)


@AdditiveScore.cases(points=1, label=_("a batch: queries (..., q, d_q), keys (..., k, d_k)"))
def additive_batches(rng):
    yield _to_add(rng, 3, 5, 7, 11, 13, batch=(2,))
    yield _to_add(rng, 5, 7, 3, 2, 11, batch=(3, 2))


class _Additive(nn.Module):
    """The right module, so that each wrong one shows its mistake alone."""

    def __init__(self, d_q, d_k, d_w):
        super().__init__()
        self.w = nn.Parameter(torch.randn(d_w))
        self.W_q = nn.Parameter(torch.randn(d_w, d_q))
        self.W_k = nn.Parameter(torch.randn(d_w, d_k))
        self.b = nn.Parameter(torch.zeros(d_w))

    def forward(self, queries, keys):
        from_queries, from_keys = queries @ self.W_q.mT, keys @ self.W_k.mT
        return self.score(from_queries[..., :, None, :], from_keys[..., None, :, :])

    def score(self, from_queries, from_keys):
        return torch.tanh(from_queries + from_keys + self.b) @ self.w


@AdditiveScore.misconception(
    _(
        "There is no tanh in your score. Without it the query adds the same number to every key, "
        "and a softmax does not notice it: put torch.tanh around the sum."
    )
)
class NoActivation(_Additive):
    def score(self, from_queries, from_keys):
        return (from_queries + from_keys + self.b) @ self.w


@AdditiveScore.misconception(
    _(
        "Your tanh came last, after the product with w. "
        "It belongs inside: tanh of the sum first, then the product with w."
    )
)
class ActivationLast(_Additive):
    def score(self, from_queries, from_keys):
        return torch.tanh((from_queries + from_keys + self.b) @ self.w)


@AdditiveScore.misconception(
    _(
        "You take tanh of the query and of the key apart, and add afterwards. "
        "Then the query is the same number for every key: add first, then take tanh of the sum."
    )
)
class ActivationOfEachPart(_Additive):
    def score(self, from_queries, from_keys):
        return (torch.tanh(from_queries) + torch.tanh(from_keys + self.b)) @ self.w


@AdditiveScore.misconception(
    _(
        "Your b stands outside the tanh, where it adds the same number to every score. "
        "Put it inside: tanh(W_q q + W_k k + b)."
    )
)
class BiasOutside(_Additive):
    def score(self, from_queries, from_keys):
        return (torch.tanh(from_queries + from_keys) + self.b) @ self.w


@AdditiveScore.misconception(
    _("Your module has a b and does not use it. Add it to the sum inside the tanh.")
)
class BiasNotUsed(_Additive):
    def score(self, from_queries, from_keys):
        return torch.tanh(from_queries + from_keys) @ self.w


@AdditiveScore.misconception(
    _(
        "Your module has no parameter b. The first papers had none either; here it is asked for: "
        "self.b = nn.Parameter(torch.zeros(d_w)), inside the tanh."
    )
)
class NoBias(BiasNotUsed):
    def __init__(self, d_q, d_k, d_w):
        super().__init__(d_q, d_k, d_w)
        del self.b


@AdditiveScore.misconception(
    _(
        "Your b is a single number. Here it is a vector of d_w numbers, "
        "one for each entry inside the tanh: nn.Parameter(torch.zeros(d_w))."
    )
)
class BiasIsANumber(_Additive):
    def __init__(self, d_q, d_k, d_w):
        super().__init__(d_q, d_k, d_w)
        self.b = nn.Parameter(torch.zeros(()))


@AdditiveScore.misconception(
    _(
        "You multiply what comes from query and key. The additive score adds them: "
        "W_q q + W_k k + b."
    )
)
class ProductInsteadOfSum(_Additive):
    def score(self, from_queries, from_keys):
        return torch.tanh(from_queries * from_keys + self.b) @ self.w


@AdditiveScore.misconception(
    _(
        "You add up the entries of the tanh without w. "
        "Weigh them: the product with self.w makes the score."
    )
)
class EntriesNotWeighed(_Additive):
    def score(self, from_queries, from_keys):
        return torch.tanh(from_queries + from_keys + self.b).sum(dim=-1)


@AdditiveScore.misconception(
    _(
        "Your table has a row for each key and a column for each query. "
        "Put the new axes the other way: from_queries[..., :, None, :], from_keys[..., None, :, :]."
    ),
    section="scoring-dot",
)
class AdditiveWithKeysInTheRows(_Additive):
    def forward(self, queries, keys):
        return super().forward(queries, keys).mT


@AdditiveScore.misconception(
    _(
        "Your matrices are turned round, (d_q, d_w) and (d_k, d_w). Make them (d_w, d_q) and "
        "(d_w, d_k), as in the formula W_q q, and write queries @ self.W_q.T."
    )
)
class MatricesTurnedRound(_Additive):
    def __init__(self, d_q, d_k, d_w):
        super().__init__(d_q, d_k, d_w)
        self.W_q = nn.Parameter(torch.randn(d_q, d_w))
        self.W_k = nn.Parameter(torch.randn(d_k, d_w))

    def forward(self, queries, keys):
        from_queries, from_keys = queries @ self.W_q, keys @ self.W_k
        return self.score(from_queries[..., :, None, :], from_keys[..., None, :, :])


@AdditiveScore.misconception(
    _(
        "Your w has the shape (d_w, 1), so each score comes in a list of one. "
        "Make it a vector of shape (d_w,): then the product with it is a number."
    )
)
class WIsAColumn(_Additive):
    def __init__(self, d_q, d_k, d_w):
        super().__init__(d_q, d_k, d_w)
        self.w = nn.Parameter(torch.randn(d_w, 1))


@AdditiveScore.misconception(
    _(
        "Your scores are right, but no gradient reaches the parameters: torch.no_grad, .detach, "
        ".data or .numpy cuts it. Compute from the parameters to the scores with torch alone."
    )
)
class GradientCut(_Additive):
    def score(self, from_queries, from_keys):
        return super().score(from_queries, from_keys).detach()


@AdditiveScore.misconception(
    _(
        "You used nn.Linear, so the parameters are called W_q.weight, W_k.weight and w.weight. "
        "It computes the same; but the check looks for w, W_q, W_k and b, each an nn.Parameter."
    )
)
class LinearLayers(nn.Module):
    def __init__(self, d_q, d_k, d_w):
        super().__init__()
        self.W_q = nn.Linear(d_q, d_w, bias=False)
        self.W_k = nn.Linear(d_k, d_w, bias=False)
        self.w = nn.Linear(d_w, 1, bias=False)
        self.b = nn.Parameter(torch.zeros(d_w))

    def forward(self, queries, keys):
        from_queries, from_keys = self.W_q(queries), self.W_k(keys)
        inside = from_queries[..., :, None, :] + from_keys[..., None, :, :] + self.b
        return self.w(torch.tanh(inside)).squeeze(-1)


@AdditiveScore.misconception(
    _(
        "You used nn.Linear, which brings a bias along each time: three of them, under other "
        "names. Here there is one, b; make w, W_q, W_k and b an nn.Parameter each."
    )
)
class LinearLayersWithBiases(nn.Module):
    def __init__(self, d_q, d_k, d_w):
        super().__init__()
        self.W_q = nn.Linear(d_q, d_w)
        self.W_k = nn.Linear(d_k, d_w)
        self.w = nn.Linear(d_w, 1)

    def forward(self, queries, keys):
        inside = self.W_q(queries)[..., :, None, :] + self.W_k(keys)[..., None, :, :]
        return self.w(torch.tanh(inside)).squeeze(-1)


@AdditiveScore.misconception(
    _(
        "You add the mapped queries to the mapped keys as they are, the first to the first. "
        "Every query meets every key: give both a new axis, so that the sum is (..., q, k, d_w)."
    )
)
class NoNewAxes(_Additive):
    def forward(self, queries, keys):
        return self.score(queries @ self.W_q.mT, keys @ self.W_k.mT)


@AdditiveScore.misconception(
    _(
        "One table works, a batch does not. Count the axes from the end: "
        "from_queries[..., :, None, :] and from_keys[..., None, :, :], '...' in einsum, dim=-1."
    )
)
class AdditiveForOneTableOnly(_Additive):
    def forward(self, queries, keys):
        return self.score((queries @ self.W_q.mT)[:, None], (keys @ self.W_k.mT)[None])


@AdditiveScore.variant
class AdditiveByBroadcasting(_Additive):
    pass


@AdditiveScore.variant
class AdditiveOfConcatenation(_Additive):
    def forward(self, queries, keys):
        q, k = queries.shape[-2], keys.shape[-2]
        rows = queries.unsqueeze(-2).expand(*queries.shape[:-1], k, queries.shape[-1])
        columns = keys.unsqueeze(-3).expand(*keys.shape[:-2], q, *keys.shape[-2:])
        W = torch.cat([self.W_q, self.W_k], dim=-1)
        return torch.tanh(functional.linear(torch.cat([rows, columns], dim=-1), W, self.b)) @ self.w


@AdditiveScore.variant
class AdditiveWithEinsum(_Additive):
    def forward(self, queries, keys):
        from_queries = torch.einsum("...qd,wd->...qw", queries, self.W_q)
        from_keys = torch.einsum("...kd,wd->...kw", keys, self.W_k)
        inside = from_queries.unsqueeze(-2) + from_keys.unsqueeze(-3) + self.b
        return torch.einsum("...qkw,w->...qk", inside.tanh(), self.w)


@AdditiveScore.variant
class AdditiveQueryByQuery(_Additive):
    def forward(self, queries, keys):
        from_keys = keys @ self.W_k.mT + self.b
        rows = [
            (torch.tanh(from_keys + (query @ self.W_q.mT).unsqueeze(-2)) * self.w).sum(dim=-1)
            for query in queries.unbind(dim=-2)
        ]
        return torch.stack(rows, dim=-2)


# --- 5. general and biased general ------------------------------------------------------------


@chapter.exercise(
    title=_("A matrix between two spaces"),
    goal=_("Score keys for queries of another width, with a matrix and a bias."),
    difficulty=2,
    minutes=15,
    section="scoring-biased-general",
    hints=(
        _("Bring every query into the space of the keys first. What is left is a dot product."),
        _("Queries stand in rows, so W q for all of them at once is `queries @ W.T`."),
        _(
            "`mapped = queries @ W.T + b` has the shape (..., q, d_k). "
            "Its product with the keys, turned round by np.swapaxes, is the table of scores."
        ),
    ),
)
def biased_general(queries, keys, W, b):
    return scoring.biased_general(queries, keys, W, b)


@biased_general.cases(points=1, label=_("b = 0: the general score"))
def general_tables(rng):
    yield Case(*_pair(rng, 1, 3, 2), _readable(rng, 2, 2), np.zeros(2))
    yield Case(*_pair(rng, 2, 3, 5, 7), _readable(rng, 7, 5), np.zeros(7))


@biased_general.cases(points=1, label=_("with a bias"))
def biased_tables(rng):
    yield Case(*_pair(rng, 1, 3, 2), _readable(rng, 2, 2), _readable(rng, 2))
    yield Case(*_pair(rng, 5, 2, 7, 3), _readable(rng, 3, 7), _readable(rng, 3))


@biased_general.cases(points=1, label=_("a batch: queries (..., q, d_q), keys (..., k, d_k)"))
def biased_batches(rng):
    yield Case(*_pair(rng, 3, 5, 7, 11, (2,)), _readable(rng, 11, 7), _readable(rng, 11))
    yield Case(*_pair(rng, 7, 3, 2, 5, (3, 2)), _readable(rng, 5, 2), _readable(rng, 5))


@biased_general.misconception(
    _(
        "Your W is turned round: a square one gives other numbers, any other does not fit. "
        "Queries stand in rows, so W q is queries @ W.T."
    ),
    section="scoring-general",
)
def matrix_turned_round(queries, keys, W, b):
    return (queries @ W + b) @ _turned(keys)


@biased_general.misconception(
    _(
        "Your b changes nothing, so this is the general score. "
        "Add b to the mapped queries, before the product with the keys."
    )
)
def general_without_the_bias(queries, keys, W, b):
    return _general(queries, keys, W)


@biased_general.misconception(
    _(
        "You add b to the keys: k + b. It belongs to the mapped query, k · (W q + b), "
        "so that what it adds depends on the key alone."
    )
)
def bias_on_the_keys(queries, keys, W, b):
    return _general(queries, keys + b, W)


@biased_general.misconception(
    _(
        "You add the sum of b to every score. The same number for all keys changes no weight: "
        "add b before the product with the keys, so that each key meets it."
    )
)
def sum_of_the_bias_on_every_score(queries, keys, W, b):
    return _general(queries, keys, W) + b.sum()


@biased_general.misconception(
    _(
        "You subtract what b adds. The formula has a plus: k · (W q + b).",
    )
)
def bias_subtracted(queries, keys, W, b):
    return _general(queries, keys, W) - (keys @ b)[..., None, :]


@biased_general.misconception(
    _(
        "Your table has a row for each key and a column for each query, as the formula reads, "
        "key first. Turn it round: row i belongs to query i, so the shape is (..., q, k)."
    ),
    section="scoring-general",
)
def general_with_keys_in_the_rows(queries, keys, W, b):
    return _turned(scoring.biased_general(queries, keys, W, b))


@biased_general.misconception(
    _(
        "You divide by the root of d_k. The general score has no scale: "
        "W can learn whichever it needs."
    ),
    section="scoring-general",
)
def general_with_a_scale(queries, keys, W, b):
    return scoring.biased_general(queries, keys, W, b) / np.sqrt(keys.shape[-1])


@biased_general.misconception(
    _(
        "There is a tanh in your score. That is the activated general score, "
        "the next exercise; leave it out here."
    )
)
def general_with_an_activation(queries, keys, W, b):
    return np.tanh(scoring.biased_general(queries, keys, W, b))


@biased_general.misconception(
    _(
        "One table works, a batch does not. Count the axes from the end: "
        "np.swapaxes(keys, -2, -1) instead of keys.T, '...' in einsum, (keys @ b)[..., None, :]."
    ),
    section="scoring-general",
)
def general_for_one_table_only(queries, keys, W, b):
    return (queries @ W.T + b) @ keys.T


@biased_general.variant
def biased_in_loops(queries, keys, W, b):
    return _table_by_table(definition.biased_general, queries, keys, W, b)


@biased_general.variant
def biased_with_mapped_keys(queries, keys, W, b):
    # W^T k can be computed once for all queries; what b adds is the same for all of them.
    return queries @ _turned(keys @ W) + (keys @ b)[..., None, :]


@biased_general.variant
def biased_in_torch(queries, keys, W, b):
    queries, keys, W, b = (torch.as_tensor(array) for array in (queries, keys, W, b))
    return functional.linear(queries, W, b) @ keys.mT


@biased_general.variant
def biased_in_single_precision(queries, keys, W, b):
    queries, keys, W, b = _single(queries, keys, W, b)
    return np.einsum("...qi,...ki->...qk", queries @ W.T + b, keys)


# --- 6. find the bug: the bias and the activation ---------------------------------------------


@chapter.exercise(
    title=_("Find the bugs in the activated score"),
    goal=_("Find and mend two mistakes in a score whose bias has no effect on any weight."),
    task="find the bug",
    difficulty=2,
    minutes=15,
    section="scoring-activated-general",
    hints=(
        _("Print the shape of the scores for one query and three keys."),
        _(
            "Take a softmax of the scores with b = 0 and with b = 5. The weights are the same, "
            "so what does b do?"
        ),
        _(
            "Read as code, $k^T W q$ makes a row for each key: begin with the queries instead, "
            "and W becomes W.T. And the tanh goes around everything, the number b included."
        ),
    ),
)
def activated_general(queries, keys, W, b):
    return scoring.activated_general(queries, keys, W, b)


def _to_activate(rng, q, k, d_q, d_k, b, batch=()):
    queries, keys = _pair(rng, q, k, d_q, d_k, batch)
    return Case(queries, keys, _gentle_matrix(rng, queries, keys), b)


@activated_general.cases(points=1, label=_("one table, b above 0"))
def activated_tables(rng):
    yield _to_activate(rng, 1, 3, 2, 2, 0.5)
    yield _to_activate(rng, 2, 3, 5, 7, 0.8)


@activated_general.cases(points=1, label=_("one table, b below 0"))
def activated_below_zero(rng):
    yield _to_activate(rng, 1, 2, 3, 2, -0.7)
    yield _to_activate(rng, 5, 2, 3, 7, -1.2)


@activated_general.cases(points=1, label=_("a batch: queries (..., q, d_q), keys (..., k, d_k)"))
def activated_batches(rng):
    yield _to_activate(rng, 3, 5, 7, 2, 0.6, batch=(2,))
    yield _to_activate(rng, 7, 3, 2, 5, -0.9, batch=(3, 2))


@activated_general.misconception(
    _(
        "This is the function as you found it, with both mistakes still in it. "
        "Redo the example of the task: look at the shape first, then at a score above 1."
    )
)
def activated_as_handed_out(queries, keys, W, b):
    return _turned(np.tanh(_general(queries, keys, W)) + b)


@activated_general.misconception(
    _(
        "One mistake is mended: the table has a row for each query. Your b still stands outside "
        "the tanh, where it is the same for every key and changes no weight: put it inside."
    )
)
def bias_outside_the_activation(queries, keys, W, b):
    return np.tanh(_general(queries, keys, W)) + b


@activated_general.misconception(
    _(
        "One mistake is mended: b is inside the tanh. Your table still has a row for each key; "
        "row i belongs to query i, so the shape is (..., q, k)."
    ),
    section="scoring-general",
)
def activated_with_keys_in_the_rows(queries, keys, W, b):
    return _turned(scoring.activated_general(queries, keys, W, b))


@activated_general.misconception(
    _(
        "The tanh is gone. Keep it, around everything: tanh of the score plus b, "
        "so that every score lies between -1 and 1."
    )
)
def activation_removed(queries, keys, W, b):
    return _general(queries, keys, W) + b


@activated_general.misconception(
    _("The bias is gone. Keep it, inside the tanh: what bends depends on where b puts it.")
)
def bias_removed(queries, keys, W, b):
    return np.tanh(_general(queries, keys, W))


@activated_general.misconception(
    _(
        "Your tanh is around the mapped query alone. It should be around the whole score: "
        "first the product with the keys, plus b, then tanh."
    )
)
def activation_of_the_mapped_query(queries, keys, W, b):
    return _dot(np.tanh(queries @ W.T), keys) + b


@activated_general.misconception(
    _(
        "You add b to every entry of the mapped query, as in the biased general score. "
        "Here b is one number, added to the score itself, after the product with the keys."
    )
)
def bias_before_the_keys(queries, keys, W, b):
    return np.tanh(_dot(queries @ W.T + b, keys))


@activated_general.misconception(
    _("Your b has the wrong sign: it is added inside the tanh."),
)
def bias_with_the_wrong_sign(queries, keys, W, b):
    return np.tanh(_general(queries, keys, W) - b)


@activated_general.misconception(
    _(
        "Your W is turned round: a square one gives other numbers, any other does not fit. "
        "If you begin with the queries, W q is queries @ W.T."
    ),
    section="scoring-general",
)
def activated_with_the_matrix_turned_round(queries, keys, W, b):
    return np.tanh(queries @ W @ _turned(keys) + b)


@activated_general.misconception(
    _(
        "Your scores are mended, and then you made weights of them with a softmax. "
        "Scores are asked for here; leave the softmax out."
    )
)
def activated_weights(queries, keys, W, b):
    return _softmax(scoring.activated_general(queries, keys, W, b))


@activated_general.misconception(
    _(
        "One table is mended, a batch is not. Count the axes from the end: "
        "np.swapaxes(keys, -2, -1) instead of keys.T, '...' in einsum."
    ),
    section="scoring-general",
)
def activated_for_one_table_only(queries, keys, W, b):
    return np.tanh(queries @ W.T @ keys.T + b)


@activated_general.variant
def activated_in_loops(queries, keys, W, b):
    return _table_by_table(definition.activated_general, queries, keys, W, b)


@activated_general.variant
def activated_and_turned_last(queries, keys, W, b):
    return _turned(np.tanh(keys @ W @ _turned(queries) + b))


@activated_general.variant
def activated_in_torch(queries, keys, W, b):
    queries, keys, W = (torch.as_tensor(array) for array in (queries, keys, W))
    return torch.tanh(torch.einsum("...qj,ij,...ki->...qk", queries, W, keys) + b)


@activated_general.variant
def activated_in_single_precision(queries, keys, W, b):
    queries, keys, W = _single(queries, keys, W)
    return np.tanh(_general(queries, keys, W) + np.float32(b))


# --- 7. predict -------------------------------------------------------------------------------

_N = 11  # keys


def _extreme_weights(score, sign=1.0):
    """Return the weights of 11 keys of which one is as far from the others as can be."""
    keys = np.full((_N, 1), -1000.0 * sign)
    keys[0] *= -1
    return softmax(score(np.ones((1, 1)), keys, np.ones((1, 1))))[0]


@chapter.exercise(
    title=_("How much can one key get?"),
    goal=_("Predict how uneven the weights of a bounded score can be."),
    task="predict",
    difficulty=2,
    minutes=10,
    section="scoring-activated-general",
    kind="value",
    hints=(
        _("tanh lies between -1 and 1. Which scores make the weights as uneven as can be?"),
        _(
            "A weight is exp(score) divided by the sum of all exponentials. "
            "Give one key the score 1 and the ten others -1, and the other way round."
        ),
        _(
            "Multiply numerator and denominator by e: a key at 1 counts e², a key at -1 counts 1. "
            "What is the sum with one key at 1 and ten at -1? And what bounds a score without tanh?"
        ),
    ),
)
def predicted_weights():
    high = _extreme_weights(scoring.activated_general)
    low = _extreme_weights(scoring.activated_general, sign=-1.0)
    unbounded = _extreme_weights(scoring.general)
    return [float(number) for number in (high[0] / high[1], high[0], low[0], unbounded[0])]


@predicted_weights.cases(points=2, label=_("a ratio and three weights"))
def no_inputs(rng):
    yield Case()


_E2 = float(np.exp(2))


def _bounds(ratio=_E2, others=_N - 1, unbounded=1.0):
    return [ratio, ratio / (ratio + others), 1 / (1 + others * ratio), unbounded]


@predicted_weights.misconception(
    _(
        "You let the scores run from 0 to 1. tanh goes down to -1, "
        "so two scores can be 2 apart, and the ratio of the weights is exp(2)."
    )
)
def scores_from_zero_to_one():
    return _bounds(ratio=np.e)


@predicted_weights.misconception(
    _(
        "You counted eleven other keys. There are eleven in all: "
        "one stands out, and ten others share the sum with it."
    )
)
def one_key_too_many():
    return _bounds(others=_N)


@predicted_weights.misconception(
    _(
        "You took the scores for weights: 1 against -1. A softmax takes the exponential of each "
        "score first, so the difference 2 becomes the ratio exp(2)."
    )
)
def without_the_exponential():
    return _bounds(ratio=2.0)


@predicted_weights.misconception(
    _(
        "You let one key take everything, as without tanh. Its score can't go above 1, nor "
        "those of the others below -1, and exp(-1) is not 0: the ten others keep a share."
    )
)
def winner_takes_all():
    return [np.inf, 1.0, 0.0, 1.0]


@predicted_weights.misconception(
    _(
        "Your second and third number allow a key all the weight, or none of it. The ratio that "
        "you found says how much ten others must keep, and how much one must be left with."
    )
)
def ratio_not_used():
    return [_E2, 1.0, 0.0, 1.0]


@predicted_weights.misconception(
    _(
        "The first three are right. The fourth score has no tanh, so nothing bounds it: "
        "one key can score as far above the others as it likes."
    ),
    section="scoring-general",
)
def general_bounded_as_well():
    return _bounds(unbounded=_bounds()[1])


@predicted_weights.misconception(
    _(
        "Your second and third number are the wrong way round: first the largest weight, "
        "then the smallest."
    )
)
def largest_and_smallest_swapped():
    ratio, largest, smallest, unbounded = _bounds()
    return [ratio, smallest, largest, unbounded]


@predicted_weights.misconception(
    _(
        "Your smallest weight stands beside one key at 1 and nine at -1. It is smaller still "
        "if all the ten others are at 1."
    )
)
def smallest_beside_one_winner():
    ratio, largest, _smallest, unbounded = _bounds()
    return [ratio, largest, 1 / (ratio + _N - 1), unbounded]


@predicted_weights.misconception(
    _(
        "Your smallest weight is 0. A score can't go below -1, and exp(-1) is not 0: "
        "what is left for one key at -1 beside ten at 1?"
    )
)
def smallest_is_nothing():
    ratio, largest, _smallest, unbounded = _bounds()
    return [ratio, largest, 0.0, unbounded]


@predicted_weights.misconception(
    _(
        "Your numbers are right, and two decimals are too few to tell them from others: "
        "write the formula, with np.exp(2), and let Python do the sum."
    )
)
def rounded_to_two_decimals():
    return [round(number, 2) for number in _bounds()]


@predicted_weights.misconception(
    _(
        "Your numbers are right but rounded. Let Python do the sum: "
        "write np.exp(2) where the formula has it."
    )
)
def rounded_to_three_decimals():
    return [round(number, 3) for number in _bounds()]


@predicted_weights.variant
def bounds_as_formulas():
    e = np.e
    return [e / e**-1, e / (e + 10 * e**-1), e**-1 / (e**-1 + 10 * e), 1]


@predicted_weights.variant
def bounds_as_an_array():
    return np.array(_bounds(), dtype=np.float32)


@predicted_weights.variant
def bounds_as_a_tensor():
    one_up = torch.softmax(torch.tensor([1.0] + 10 * [-1.0]), dim=0)
    one_down = torch.softmax(torch.tensor([-1.0] + 10 * [1.0]), dim=0)
    return torch.stack([one_up[0] / one_up[1], one_up[0], one_down[0], torch.tensor(1.0)])


# --- 8. a training step -----------------------------------------------------------------------


@chapter.exercise(
    title=_("Teach a matrix to translate"),
    goal=_("Take one gradient step of a general score whose queries have a space of their own."),
    task="complete the training step",
    difficulty=3,
    minutes=25,
    section="scoring-spaces",
    hints=(
        _("Weight minus 1 for the right key, weight minus 0 for the others: one table (q, k)."),
        _(
            "The loss picks one weight from each row: `weights[np.arange(q), wanted]`. "
            "The gradient has the shape of W, (d_k, d_q): keys on the left, queries on the right."
        ),
        _(
            "With `errors = weights - np.eye(k)[wanted]`, the gradient is "
            "`keys.T @ errors.T @ queries / q`. Subtract learning_rate times that from W."
        ),
    ),
)
def general_step(queries, keys, W, wanted, learning_rate):
    queries, keys = torch.as_tensor(queries), torch.as_tensor(keys)
    W = torch.as_tensor(W).clone().requires_grad_()
    scores = scoring.general(queries, keys, W)
    loss = functional.cross_entropy(scores, torch.as_tensor(wanted))
    (gradient,) = torch.autograd.grad(loss, W)
    return loss.item(), (W - learning_rate * gradient).detach().numpy()


def _to_train(rng, q, k, d_q, d_k, learning_rate):
    queries, keys = _pair(rng, q, k, d_q, d_k)
    W = _gentle_matrix(rng, queries, keys)
    return Case(queries, keys, W, rng.integers(k, size=q), learning_rate)


@general_step.cases(points=2, label=_("loss and W after one step"))
def one_step(rng):
    yield _to_train(rng, 2, 3, 2, 2, 0.5)
    yield _to_train(rng, 3, 2, 5, 7, 0.3)
    yield _to_train(rng, 7, 5, 3, 2, 2.0)


@general_step.cases(points=1, label=_("large scores"))
def one_step_with_large_scores(rng):
    # 900 and a little in every place; whole numbers, so single precision is exact before the exp.
    queries = np.column_stack([np.full(2, 30), rng.integers(-1, 2, (2, 4))]).astype(float)
    keys = np.column_stack([np.full(5, 30), rng.integers(-1, 2, (5, 2))]).astype(float)
    W = np.zeros((3, 5))
    W[0, 0], W[1, 1], W[2, 3] = 1, 2, -1
    yield Case(queries, keys, W, rng.integers(5, size=2), 0.001)


def _trained(queries, keys, W, wanted, learning_rate, *, change=None, rate=None, after=None):
    """Return loss and new W; `change` makes another table of the weights and the right keys."""
    weights = _softmax(_general(queries, keys, W))
    right = np.eye(len(keys))[wanted]
    errors = (weights - right) if change is None else change(weights, right)
    gradient = keys.T @ errors.T @ queries / len(queries)
    step = (learning_rate if rate is None else rate) * gradient
    losses = -np.log((weights * right).sum(axis=1))
    return losses.mean(), (W - step if after is None else after(W, step, gradient))


def _loss_and(loss, queries, keys, W, wanted, learning_rate):
    """Return another loss beside the right W."""
    weights = _softmax(_general(queries, keys, W))
    picked = weights[np.arange(len(queries)), wanted]
    return loss(picked), _trained(queries, keys, W, wanted, learning_rate)[1]


@general_step.misconception(
    _("You go uphill: the gradient points to where the loss grows. Subtract it from W.")
)
def step_uphill(*inputs):
    return _trained(*inputs, after=lambda W, step, gradient: W + step)


@general_step.misconception(
    _(
        "Your gradient lacks the right keys: it is made of the weights alone, "
        "so every key is pushed away. Take 1 from the weight of the key that is wanted."
    )
)
def right_key_not_subtracted(*inputs):
    return _trained(*inputs, change=lambda weights, right: weights)


@general_step.misconception(
    _(
        "Your gradient is made of the right keys alone: it pulls them near and pushes no other "
        "key away. Each key's part is its weight, minus 1 for the key that is wanted."
    )
)
def right_key_alone(*inputs):
    return _trained(*inputs, change=lambda weights, right: -right)


@general_step.misconception(
    _(
        "You correct the wanted key alone, by its weight minus 1. The other keys have weights as "
        "well, which the step should make smaller: subtract a row of np.eye(k) from all weights."
    )
)
def other_keys_left_alone(*inputs):
    return _trained(*inputs, change=lambda weights, right: (weights - 1) * right)


@general_step.misconception(
    _(
        "You add up the gradients of all queries. The loss is their mean: "
        "divide by the number of queries, so that the step does not grow with it."
    )
)
def gradients_added_up(queries, *inputs):
    change = _times(len(queries))
    return _trained(queries, *inputs, change=change)


@general_step.misconception(
    _(
        "You average over queries and keys. The loss is a mean over the queries alone: "
        "the parts of the keys are added up."
    )
)
def averaged_over_the_keys_too(queries, keys, *inputs):
    return _trained(queries, keys, *inputs, change=_times(1 / len(keys)))


@general_step.misconception(
    _(
        "You divide the gradient by the number of keys. The loss is a mean over the queries: "
        "divide by their number."
    )
)
def divided_by_the_number_of_keys(queries, keys, *inputs):
    return _trained(queries, keys, *inputs, change=_times(len(queries) / len(keys)))


def _times(factor):
    return lambda weights, right: factor * (weights - right)


@general_step.misconception(
    _("Your step is the whole gradient. Multiply it by the learning rate first.")
)
def step_without_the_learning_rate(*inputs):
    return _trained(*inputs, rate=1.0)


@general_step.misconception(
    _("You return the gradient beside the loss. Return the new W: W - learning_rate * gradient.")
)
def gradient_instead_of_the_matrix(*inputs):
    return _trained(*inputs, after=lambda W, step, gradient: gradient)


@general_step.misconception(
    _(
        "Your gradient is turned round: on a square W it moves the wrong entries, on any other it "
        "does not fit. It has the shape of W, (d_k, d_q): keys.T on the left, queries on the right."
    ),
    section="scoring-general",
)
def gradient_turned_round(*inputs):
    return _trained(*inputs, after=lambda W, step, gradient: W - step.T)


@general_step.misconception(
    _(
        "weights[wanted] picks whole rows, those of other queries. "
        "Pick one weight from each row: weights[np.arange(q), wanted]."
    )
)
def loss_of_whole_rows(queries, keys, W, wanted, learning_rate):
    weights = _softmax(_general(queries, keys, W))
    moved = _trained(queries, keys, W, wanted, learning_rate)[1]
    return -np.log(weights[wanted]).mean(), moved


@general_step.misconception(
    _(
        "weights[:, wanted] picks the wanted keys of all queries for each query. "
        "Pick one weight from each row: weights[np.arange(q), wanted]."
    )
)
def loss_of_whole_columns(queries, keys, W, wanted, learning_rate):
    weights = _softmax(_general(queries, keys, W))
    moved = _trained(queries, keys, W, wanted, learning_rate)[1]
    return -np.log(weights[:, wanted]).mean(), moved


@general_step.misconception(
    _("Your W is right. Your loss is the sum over the queries; take the mean.")
)
def loss_added_up(*inputs):
    return _loss_and(lambda picked: -np.log(picked).sum(), *inputs)


@general_step.misconception(
    _(
        "Your W is right. Your loss is averaged over the whole table, the keys included. "
        "One key counts for each query: add up over the keys, then take the mean over the queries."
    )
)
def loss_averaged_over_the_table(queries, keys, *inputs):
    loss, moved = _trained(queries, keys, *inputs)
    return loss / len(keys), moved


@general_step.misconception(
    _("Your W is right. Your loss is negative: it is minus the logarithm of the weight.")
)
def loss_without_the_minus(*inputs):
    return _loss_and(lambda picked: np.log(picked).mean(), *inputs)


@general_step.misconception(
    _(
        "Your W is right. Your loss is the mean of the weights that the right keys miss; "
        "take minus the mean of their logarithms."
    )
)
def loss_without_the_logarithm(*inputs):
    return _loss_and(lambda picked: 1 - picked.mean(), *inputs)


@general_step.misconception(
    _(
        "Your W is right. Your loss is the one after the step; "
        "return the one before it, from the weights that you already have."
    )
)
def loss_after_the_step(queries, keys, W, wanted, learning_rate):
    _loss, moved = _trained(queries, keys, W, wanted, learning_rate)
    return _trained(queries, keys, moved, wanted, learning_rate)[0], moved


@general_step.variant
def step_by_one_hot_rows(*inputs):
    return _trained(*inputs)


@general_step.variant
def general_step_in_loops(queries, keys, W, wanted, learning_rate):
    loss, moved = 0.0, W.copy()
    for query, right in zip(queries, wanted, strict=True):
        scores = [definition.general(query, key, W) for key in keys]
        strengths = [np.exp(score - max(scores)) for score in scores]
        weights = [strength / sum(strengths) for strength in strengths]
        loss -= log(weights[right]) / len(queries)
        for place, key in enumerate(keys):
            error = weights[place] - (place == right)
            moved -= learning_rate * error * np.outer(key, query) / len(queries)
    return loss, moved


@general_step.variant
def step_with_an_optimiser(queries, keys, W, wanted, learning_rate):
    queries, keys = torch.as_tensor(queries), torch.as_tensor(keys)
    W = nn.Parameter(torch.as_tensor(W))
    optimiser = torch.optim.SGD([W], lr=learning_rate)
    weights = torch.softmax(queries @ W.T @ keys.T, dim=-1)
    loss = -weights.gather(1, torch.as_tensor(wanted)[:, None]).log().mean()
    loss.backward()
    optimiser.step()
    return [loss.item(), W.detach()]


@general_step.variant
def step_with_einsum_in_single_precision(queries, keys, W, wanted, learning_rate):
    queries, keys, W = _single(queries, keys, W)
    errors = _softmax(_general(queries, keys, W))
    loss = -np.log(errors[np.arange(len(queries)), wanted]).mean()
    errors[np.arange(len(queries)), wanted] -= 1
    gradient = np.einsum("ki,qk,qj->ij", keys, errors, queries) / len(queries)
    return loss, W - np.float32(learning_rate) * gradient
