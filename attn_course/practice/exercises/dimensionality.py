r"""The exercises of chapter 4: a weight for every feature, its context, its heads, its training.

Each exercise: the reference (from the package, never written a second time), the cases, the
mistakes we know by name, and right solutions written in other ways. Wrong solutions are made of
the few small functions at the top, so that each shows nothing but its mistake.
"""

import numpy as np
import torch

from attn_course.alignment import softmax
from attn_course.definitions import dimensionality as definition
from attn_course.dimensionality import attend_multi, multi, multi_scores
from attn_course.practice.exercise import Case, Chapter
from attn_course.translate import _

chapter = Chapter(
    "04_dimensionality",
    title=_("Dimensionality"),
    sections={
        "dimensionality-single": _("Single-dimensional attention"),
        "dimensionality-multi": _("Multi-dimensional attention"),
        "dimensionality-axis": _("Over the positions, not over the features"),
        "dimensionality-masked": _("Masks, and words that are not there"),
        "dimensionality-reductions": _("From one weight to one per entry"),
        "dimensionality-training": _("How is this trained?"),
        "dimensionality-experiment": _("Does it do its job?"),
    },
)


# --- what the wrong solutions and the variants are made of ------------------------------------


def _softmax(scores, axis=-2):
    """Return weights that sum to 1 along `axis`, or are 0 where every score is minus infinity."""
    best = scores.max(axis=axis, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isfinite(best), best, 0))
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total > 0, total, 1)


def _hidden(scores, mask, fill=-np.inf):
    return np.where(mask[..., None], scores, fill)


def _visible(values, mask):
    """Return the values as each query may see them, (..., q, k, d_v): 0 behind its mask."""
    return np.where(mask[..., None], values[..., None, :, :], 0)


def _context(weights, values, mask):
    return (weights * _visible(values, mask)).sum(axis=-2)


_NAN_AFTER_CUTTING = _(
    "You take the softmax over everything, mask it, and divide again. Where padding has got all "
    "the weight, 0/0 is left, which is NaN: mask the scores, before the softmax."
)
_NOTHING_AFTER_CUTTING = _(
    "You take the softmax over everything, mask it, and divide again. Where padding has got all "
    "the weight, nothing is left for the others: mask the scores, before the softmax."
)


def _cut_and_divided_again(scores, mask, carefully=False):
    """Return a softmax over all keys, cut with the mask (..., k) and shared out once more."""
    weights = np.where(mask[..., None], _softmax(scores), 0)
    total = weights.sum(axis=-2, keepdims=True)
    return weights / (np.where(total > 0, total, 1) if carefully else total)


# --- what the cases are drawn from ------------------------------------------------------------


def _readable(rng, *size):
    """Return numbers with one decimal, none of them 0: a failure can be redone by hand."""
    numbers = np.round(rng.uniform(-2.0, 2.0, size), 1)
    return np.where(numbers == 0, 0.5, numbers)


def _some_of(rng, *size):
    """Return a mask (..., k) with at least one True and one False in each row."""
    k = size[-1]
    ranks = rng.random(size).argsort(axis=-1)  # a random order of the places in each row
    return ranks < rng.integers(1, k, (*size[:-1], 1))


def _all_of(*size):
    return np.ones(size, dtype=bool)


def _weights(rng, mask, d_v):
    """Return weights (..., q, k, d_v) with one decimal before they are shared out."""
    shares = np.round(rng.uniform(0.2, 2.0, (*mask.shape, d_v)), 1)
    shares = np.where(mask[..., None], shares, 0.0)
    total = shares.sum(axis=-2, keepdims=True)
    return shares / np.where(total > 0, total, 1)


# --- 1. predict shapes ------------------------------------------------------------------------


@chapter.exercise(
    title=_("Predict the shapes"),
    goal=_("Say what shape weights and context have, and what all the weights add up to."),
    task="predict",
    difficulty=1,
    minutes=5,
    section="dimensionality-multi",
    kind="value",
    hints=(
        _("A single weight belongs to a query and a key. Now it belongs to a feature as well."),
        _("The context adds up over the keys, so that axis is gone from it."),
        _(
            "One softmax gives weights that sum to 1. There is one softmax for every example, "
            "query and feature: how many are that?"
        ),
    ),
)
def predicted_shapes():
    batch, q, k, d_v = 2, 3, 5, 7
    scores = np.zeros((batch, q, k, d_v))
    weights = softmax(scores, axis=-2)
    context = multi(weights, np.zeros((batch, k, d_v)))
    return [weights.shape, context.shape, round(weights.sum())]


@predicted_shapes.cases(points=2, label=_("two shapes and a sum"))
def nothing_goes_in(rng):
    yield Case()


@predicted_shapes.misconception(
    _(
        "Your weights have the shape of single-dimensional attention, one weight per key. "
        "Here every feature of every value has its own: the width of a value is a fourth axis."
    ),
    section="dimensionality-single",
)
def one_weight_a_key():
    return [(2, 3, 5), (2, 3, 7), 6]


@predicted_shapes.misconception(
    _(
        "Your third number says that the weights of a query sum to 1. "
        "They do so for each of its 7 features: every feature has a softmax of its own."
    ),
    section="dimensionality-axis",
)
def one_softmax_a_query():
    return [(2, 3, 5, 7), (2, 3, 7), 6]


@predicted_shapes.misconception(
    _(
        "Your third number counts a softmax for every key, so it runs over the features. "
        "It runs over the keys: there is one for every feature."
    ),
    section="dimensionality-axis",
)
def one_softmax_a_key():
    return [(2, 3, 5, 7), (2, 3, 7), 30]


@predicted_shapes.misconception(
    _(
        "Your third number counts the weights. Five of them, one for each key, share a sum of 1: "
        "count those groups."
    ),
    section="dimensionality-axis",
)
def every_weight_is_one():
    return [(2, 3, 5, 7), (2, 3, 7), 210]


@predicted_shapes.misconception(
    _(
        "Your context still has an axis for the keys. Those are added up: "
        "what is left is one vector of 7 features for each query."
    )
)
def keys_left_in_the_context():
    return [(2, 3, 5, 7), (2, 3, 5, 7), 42]


@predicted_shapes.misconception(
    _(
        "Your context adds up over the features. It adds up over the keys; "
        "the features are what the context is made of."
    )
)
def features_added_up():
    return [(2, 3, 5, 7), (2, 3, 5), 42]


@predicted_shapes.misconception(
    _("The last two axes of your weights are swapped: keys first, then features, as in values.")
)
def features_before_keys():
    return [(2, 3, 7, 5), (2, 3, 7), 42]


@predicted_shapes.misconception(
    _("You forgot the batch in your sum: both examples of it have weights.")
)
def one_example_counted():
    return [(2, 3, 5, 7), (2, 3, 7), 21]


@predicted_shapes.variant
def shapes_as_lists():
    return [[2, 3, 5, 7], [2, 3, 7], 42]


@predicted_shapes.variant
def shapes_as_tuples():
    return ((2, 3, 5, 7), (2, 3, 7), 42.0)


@predicted_shapes.variant
def shapes_of_tensors():
    weights = torch.softmax(torch.zeros(2, 3, 5, 7), dim=-2)
    return [weights.shape, (weights * torch.zeros(2, 1, 5, 7)).sum(dim=-2).shape, weights.sum()]


# --- 2. weights -------------------------------------------------------------------------------


@chapter.exercise(
    title=_("A weight for every feature"),
    goal=_("Turn scores into weights that sum to 1 over the keys, separately for each feature."),
    difficulty=2,
    minutes=15,
    section="dimensionality-axis",
    hints=(
        _("Each feature has a softmax of its own. Which axis does it run along?"),
        _(
            "Axis -2 is the keys, with a batch and without. Give a key that is masked the score "
            "minus infinity, with `np.where(mask[..., None], scores, -np.inf)`."
        ),
        _(
            "Subtract the largest score along axis -2, with keepdims=True, before `np.exp`, then "
            "divide by the sum along axis -2. In a row that is masked out whole this gives NaN: "
            "`np.nan_to_num` makes it 0."
        ),
    ),
)
def multi_weights(scores, mask):
    return softmax(scores, mask=mask[..., None], axis=-2)


@multi_weights.cases(points=2, label=_("a few queries, nothing masked"))
def scores_of_a_few_queries(rng):
    yield Case(_readable(rng, 1, 2, 3), _all_of(1, 2))
    yield Case(_readable(rng, 2, 3, 5), _all_of(2, 3))
    yield Case(rng.normal(size=(5, 7, 2)), _all_of(5, 7))


@multi_weights.cases(points=1, label=_("some keys masked, and anything may stand there"))
def scores_with_a_mask(rng):
    yield Case(_readable(rng, 2, 3, 5), _some_of(rng, 2, 3))
    mask = _some_of(rng, 2, 5)
    yield Case(_hidden(_readable(rng, 2, 5, 3), mask, 900.0), mask)
    mask = _some_of(rng, 3, 7)
    yield Case(_hidden(rng.normal(size=(3, 7, 2)), mask, np.nan), mask)


@multi_weights.cases(points=1, label=_("a batch: scores (..., q, k, d_v), mask (..., q, k)"))
def scores_in_a_batch(rng):
    yield Case(rng.normal(size=(2, 3, 5, 7)), _some_of(rng, 2, 3, 5))
    yield Case(rng.normal(size=(2, 3, 5, 7, 2)), _some_of(rng, 2, 3, 5, 7))


@multi_weights.cases(points=1, label=_("a query that may attend nowhere has weights 0"))
def scores_masked_out_whole(rng):
    mask = _some_of(rng, 3, 5)
    mask[rng.integers(3)] = False
    yield Case(_readable(rng, 3, 5, 2), mask)


@multi_weights.cases(points=1, label=_("scores far from 0"))
def scores_far_from_zero(rng):
    offsets = np.array([1000.0, -1000.0])[:, None, None]
    yield Case(_readable(rng, 2, 3, 5) + offsets, _all_of(2, 3))
    yield Case(_readable(rng, 2, 5, 3) + offsets, _some_of(rng, 2, 5))


@multi_weights.misconception(
    _(
        "Your weights sum to 1 over the features of a key; they should sum to 1 over the keys, "
        "for each feature: the softmax runs along axis -2."
    )
)
def weights_over_the_features(scores, mask):
    return _softmax(_hidden(scores, mask), axis=-1)


@multi_weights.misconception(
    _(
        "Your weights sum to 1 over the queries. Each query shares out its own attention: "
        "the softmax runs over the keys, axis -2."
    )
)
def weights_over_the_queries(scores, mask):
    return _softmax(_hidden(scores, mask), axis=-3)


@multi_weights.misconception(
    _(
        "All weights of a query sum to 1, over keys and features together. "
        "Every feature has a full 1 to share out among the keys: axis -2 alone."
    )
)
def weights_over_keys_and_features(scores, mask):
    return _softmax(_hidden(scores, mask), axis=(-2, -1))


@multi_weights.misconception(
    _(
        "Your softmax runs over axis 1. Without a batch that is the keys, with a batch it is not: "
        "axis -2 is always the keys."
    )
)
def weights_over_axis_1(scores, mask):
    return _softmax(_hidden(scores, mask), axis=1)


@multi_weights.misconception(
    _(
        "All features of a key have the same weight in your answer: you averaged the scores. "
        "Give each feature a softmax over its own scores."
    ),
    section="dimensionality-single",
)
def one_weight_for_all_features(scores, mask):
    means = np.where(mask[..., None], scores, 0).mean(axis=-1, keepdims=True)
    return np.broadcast_to(_softmax(_hidden(means, mask)), scores.shape)


@multi_weights.misconception(
    _(
        "You do not use the mask: keys that may not be attended to get weight. "
        "Put their scores to minus infinity before the softmax."
    ),
    section="dimensionality-masked",
)
def weights_without_the_mask(scores, mask):
    return _softmax(scores)


@multi_weights.misconception(
    _("Your mask is upside down: True means that a query may attend to this key."),
    section="dimensionality-masked",
)
def weights_with_the_mask_upside_down(scores, mask):
    return _softmax(_hidden(scores, ~mask))


@multi_weights.misconception(
    _(
        "You mask after the softmax. What is left of the weights sums to less than 1: "
        "mask the scores, before the softmax."
    ),
    section="dimensionality-masked",
)
def weights_masked_too_late(scores, mask):
    return np.where(mask[..., None], _softmax(scores), 0)


@multi_weights.misconception(_NAN_AFTER_CUTTING, section="dimensionality-masked")
@np.errstate(invalid="ignore")
def weights_cut_and_divided_again(scores, mask):
    return _cut_and_divided_again(scores, mask)


@multi_weights.misconception(_NOTHING_AFTER_CUTTING, section="dimensionality-masked")
def weights_cut_and_divided_if_they_can_be(scores, mask):
    return _cut_and_divided_again(np.nan_to_num(scores), mask, carefully=True)


@multi_weights.misconception(
    _(
        "You multiply the scores by the mask. A masked key then has the score 0, and e to the 0 "
        "is 1, not 0. It needs the score minus infinity."
    ),
    section="dimensionality-masked",
)
def scores_times_the_mask(scores, mask):
    return _softmax(scores * mask[..., None])


@multi_weights.misconception(
    _(
        "You add a large negative number where the mask is False. NaN plus any number is NaN: "
        "choose with np.where instead of adding."
    ),
    section="dimensionality-masked",
)
def mask_added_to_the_scores(scores, mask):
    return _softmax(scores + np.where(mask, 0, -1e9)[..., None])


@multi_weights.misconception(
    _(
        "You add minus infinity where the mask is False. NaN plus anything is NaN, and a query "
        "that may attend nowhere gets NaN too. Choose with np.where, and put 0 at masked keys last."
    ),
    section="dimensionality-masked",
)
@np.errstate(invalid="ignore")
def minus_infinity_added(scores, mask):
    scores = scores + np.where(mask, 0, -np.inf)[..., None]
    exponentials = np.exp(scores - scores.max(axis=-2, keepdims=True))
    return exponentials / exponentials.sum(axis=-2, keepdims=True)


@multi_weights.misconception(
    _(
        "A query that may attend nowhere: your softmax divides 0 by 0 and gives NaN. "
        "Such a query has weights 0."
    ),
    section="dimensionality-masked",
)
@np.errstate(invalid="ignore")
def weights_nan_where_all_is_masked(scores, mask):
    scores = _hidden(scores, mask)
    exponentials = np.exp(scores - scores.max(axis=-2, keepdims=True))
    return exponentials / exponentials.sum(axis=-2, keepdims=True)


@multi_weights.misconception(
    _(
        "A query that may attend nowhere gets equal weights in your answer: that is what a large "
        "negative number instead of minus infinity does. Such a query has weights 0."
    ),
    section="dimensionality-masked",
)
def weights_equal_where_all_is_masked(scores, mask):
    return _softmax(_hidden(scores, mask, -1e9))


@multi_weights.misconception(
    _(
        "Large scores overflow in np.exp, and infinity over infinity is NaN. "
        "Subtract the largest score along axis -2 first: the weights stay the same."
    )
)
@np.errstate(over="ignore", invalid="ignore")
def weights_overflow(scores, mask):
    exponentials = np.exp(_hidden(scores, mask))
    total = exponentials.sum(axis=-2, keepdims=True)
    return exponentials / np.where(total > 0, total, 1)


@multi_weights.misconception(
    _(
        "You subtract the largest score of the whole table. Where all scores of a query are far "
        "below it nothing is left: take the maximum along axis -2, with keepdims=True."
    )
)
def one_maximum_for_all(scores, mask):
    scores = _hidden(scores, mask)
    exponentials = np.exp(scores - scores.max())
    total = exponentials.sum(axis=-2, keepdims=True)
    return exponentials / np.where(total > 0, total, 1)


@multi_weights.variant
def weights_in_loops(scores, mask):
    if scores.ndim > 3:
        return np.stack([weights_in_loops(e, m) for e, m in zip(scores, mask, strict=True)])
    weights = np.zeros(scores.shape)
    for query, row in enumerate(scores):
        allowed = np.flatnonzero(mask[query])
        for feature in range(scores.shape[-1] if len(allowed) else 0):
            best = max(row[key, feature] for key in allowed)
            exponentials = [np.exp(row[key, feature] - best) for key in allowed]
            for key, exponential in zip(allowed, exponentials, strict=True):
                weights[query, key, feature] = exponential / sum(exponentials)
    return weights


@multi_weights.variant
def weights_in_torch(scores, mask):
    scores, mask = torch.as_tensor(scores), torch.as_tensor(mask)
    hidden = scores.masked_fill(~mask[..., None], -torch.inf)
    return torch.softmax(hidden, dim=-2).nan_to_num(0.0)


@multi_weights.variant
def weights_in_single_precision(scores, mask):
    return _softmax(_hidden(scores, mask).astype(np.float32))


@multi_weights.variant
def weights_with_heads_in_front(scores, mask):
    heads = np.moveaxis(scores, -1, 0)  # (d_v, ..., q, k)
    return np.moveaxis(_softmax(np.where(mask, heads, -np.inf), axis=-1), 0, -1)


# --- 3. context -------------------------------------------------------------------------------


@chapter.exercise(
    title=_("The context from such weights"),
    goal=_("Average the values, each feature with its own weights, and let no padding through."),
    difficulty=2,
    minutes=10,
    section="dimensionality-multi",
    hints=(
        _("Multiply entry by entry, then add up. Which axis is added up?"),
        _(
            "Weights are (..., q, k, d_v), values (..., k, d_v): give the values an axis for the "
            "queries, `values[..., None, :, :]`."
        ),
        _(
            "0 times NaN is NaN, so a weight of 0 does not help. Put the products to 0 where the "
            "mask is False, with np.where, and then sum along axis -2."
        ),
    ),
)
def multi_context(weights, values, mask):
    context, _weights = attend_multi(
        np.zeros((*weights.shape[:-2], 1)),
        values,  # keys, which nobody looks at: the weights are there already
        values,
        score=lambda _queries, _keys: weights,
        align=lambda scores, mask: scores,
        mask=mask,
    )
    return context


def _average(rng, q, k, d_v, batch=(), mask=None):
    mask = _some_of(rng, *batch, q, k) if mask is None else mask
    return _weights(rng, mask, d_v), _readable(rng, *batch, k, d_v), mask


def _with_padding(rng, average, padding):
    """Return the three with one more key that no query may attend to, anywhere among the keys."""
    weights, values, mask = average
    at = int(rng.integers(values.shape[-2] + 1))
    return (
        np.insert(weights, at, 0.0, axis=-2),
        np.insert(values, at, padding, axis=-2),
        np.insert(mask, at, False, axis=-1),
    )


def _one_may_look(*size):
    """Return a mask (..., q, k) where the first query alone may look at the last key."""
    mask = _all_of(*size)
    mask[..., 1:, -1] = False
    return mask


def _nan_at_the_last_key(values):
    return np.concatenate([values[..., :-1, :], np.full_like(values[..., -1:, :], np.nan)], axis=-2)


@multi_context.cases(points=1, label=_("a few queries"))
def averages_of_a_few(rng):
    yield Case(*_average(rng, 1, 2, 3, mask=_all_of(1, 2)))
    yield Case(*_average(rng, 2, 3, 5))
    yield Case(*_average(rng, 5, 7, 2))


@multi_context.cases(points=1, label=_("a batch: weights (..., q, k, d_v), values (..., k, d_v)"))
def averages_in_a_batch(rng):
    yield Case(*_average(rng, 3, 5, 7, batch=(2,)))
    yield Case(*_average(rng, 5, 7, 2, batch=(2, 3)))


@multi_context.cases(points=1, label=_("NaN behind the mask, and a query that attends nowhere"))
def averages_with_padding(rng):
    yield Case(*_with_padding(rng, _average(rng, 2, 2, 5), np.nan))
    weights, values, mask = _average(rng, 2, 3, 2, mask=_one_may_look(2, 3))
    yield Case(weights, _nan_at_the_last_key(values), mask)
    mask = _some_of(rng, 2, 3, 5)
    mask[1, rng.integers(3)] = False
    yield Case(*_with_padding(rng, _average(rng, 3, 5, 2, batch=(2,), mask=mask), np.nan))


@multi_context.misconception(
    _(
        "A weight of 0 does not stop NaN: 0 times NaN is NaN. "
        "Put the products to 0 where the mask is False, with np.where, before you add up."
    ),
    section="dimensionality-masked",
)
def nan_gets_through(weights, values, mask):
    return (weights * values[..., None, :, :]).sum(axis=-2)


@multi_context.misconception(
    _(
        "You leave out whatever is NaN, and the mask is not used. What a query may see is for the "
        "mask to say: behind it NaN must not count, before it NaN must show."
    ),
    section="dimensionality-masked",
)
def nan_left_out_wherever_it_is(weights, values, mask):
    return np.nansum(weights * values[..., None, :, :], axis=-2)


@multi_context.misconception(
    _(
        "You added up over the features, so one number is left for each key. "
        "Add up over the keys, axis -2: one number is left for each feature."
    )
)
def added_over_the_features(weights, values, mask):
    return np.where(mask[..., None], weights * values[..., None, :, :], 0).sum(axis=-1)


@multi_context.misconception(
    _(
        "You added up over the queries. Every query has a context of its own: "
        "add up over the keys, axis -2."
    )
)
def added_over_the_queries(weights, values, mask):
    return np.where(mask[..., None], weights * values[..., None, :, :], 0).sum(axis=-3)


@multi_context.misconception(
    _(
        "You added up over keys and features, so one number is left for each query. "
        "The context is a vector with as many features as a value: add up over the keys alone."
    )
)
def added_over_keys_and_features(weights, values, mask):
    return _context(weights, values, mask).sum(axis=-1)


@multi_context.misconception(
    _("Your products are right. They still have to be added up over the keys, axis -2.")
)
def not_added_up(weights, values, mask):
    return np.where(mask[..., None], weights * values[..., None, :, :], 0)


@multi_context.misconception(
    _(
        "You took the mean over the keys. The weights sum to 1 already, so that divides twice: "
        "add up instead."
    )
)
def mean_over_the_keys(weights, values, mask):
    return _context(weights, values, mask) / values.shape[-2]


@multi_context.misconception(
    _(
        "You averaged the weights over the features first, so each value counts as a whole. "
        "Multiply every feature by its own weight."
    ),
    section="dimensionality-single",
)
def one_weight_a_value(weights, values, mask):
    means = np.broadcast_to(weights.mean(axis=-1, keepdims=True), weights.shape)
    return _context(means, values, mask)


@multi_context.misconception(
    _(
        "Without a batch your answer is right, with one it raises an error. Count the axes from "
        "the end: values[..., None, :, :] has one for the queries, and einsum wants '...' in front."
    )
)
def values_without_an_axis_for_queries(weights, values, mask):
    return np.where(mask[..., None], weights * values, 0).sum(axis=-2)


@multi_context.misconception(
    _("Your mask is upside down: you add up what may not be attended to. True means may."),
    section="dimensionality-masked",
)
def context_with_the_mask_upside_down(weights, values, mask):
    return _context(weights, values, ~mask)


@multi_context.variant
def context_in_loops(weights, values, mask):
    if weights.ndim > 3:
        parts = zip(weights, values, mask, strict=True)
        return np.stack([context_in_loops(*part) for part in parts])
    context = np.zeros((weights.shape[0], weights.shape[2]))
    for query, key, feature in np.ndindex(weights.shape):
        if mask[query, key]:
            context[query, feature] += weights[query, key, feature] * values[key, feature]
    return context


@multi_context.variant
def context_by_einsum(weights, values, mask):
    return np.einsum("...qkd,...qkd->...qd", weights, _visible(values, mask))


@multi_context.variant
def context_as_heads(weights, values, mask):
    rows = np.moveaxis(weights, -1, -3)[..., None, :]  # (..., d_v, q, 1, k)
    columns = np.moveaxis(_visible(values, mask), -1, -3)[..., None]  # (..., d_v, q, k, 1)
    return (rows @ columns)[..., 0, 0].mT


@multi_context.variant
def context_in_torch(weights, values, mask):
    weights = torch.tensor(weights, dtype=torch.float32)
    parts = weights * torch.tensor(values, dtype=torch.float32).unsqueeze(-3)
    return parts.masked_fill(~torch.tensor(mask)[..., None], 0.0).sum(dim=-2)


# --- 4. find the bug: a query-free form -------------------------------------------------------


@chapter.exercise(
    title=_("Find the bugs in a sentence's summary"),
    goal=_("Find and mend two mistakes in a function that sums up a sentence feature by feature."),
    task="find the bug",
    difficulty=2,
    minutes=15,
    section="dimensionality-axis",
    hints=(
        _("Print the weights of one sentence, and add them up along both axes."),
        _(
            "Mask some words: do the weights of the others still sum to 1? "
            "Then look at which axis sums to 1 at all."
        ),
        _(
            "Axis -1 holds the features, axis -2 the words. And a mask belongs before the softmax: "
            "`np.where(mask[..., None], scores, -np.inf)`."
        ),
    ),
)
def source2token(features, W_d, W_k, b, mask):
    context, _weights = attend_multi(
        features[..., :1, :0],  # one query of width 0: the features are asked by nobody
        features,
        features,
        lambda queries, keys: multi_scores(queries, keys, W_d, np.zeros((len(b), 0)), W_k, b),
        mask=mask[..., None, :],
    )
    return context[..., 0, :]


def _sentence(rng, n, d_f, d_w, batch=(), mask=None, scale=1.0):
    mask = _some_of(rng, *batch, n) if mask is None else mask
    parameters = scale * _readable(rng, d_w, d_f), _readable(rng, d_w, d_f), _readable(rng, d_w)
    return (_readable(rng, *batch, n, d_f), *parameters, mask)


@source2token.cases(points=1, label=_("one sentence, nothing masked"))
def one_whole_sentence(rng):
    yield Case(*_sentence(rng, 3, 2, 2, mask=_all_of(3)))
    yield Case(*_sentence(rng, 5, 3, 2, mask=_all_of(5)))


@source2token.cases(points=1, label=_("a batch of sentences with padding"))
def sentences_with_padding(rng):
    yield Case(*_sentence(rng, 3, 2, 5, batch=(2,)))
    yield Case(*_sentence(rng, 5, 7, 3, batch=(2,)))
    yield Case(*_sentence(rng, 3, 5, 2, batch=(2, 3)))


@source2token.cases(points=1, label=_("large parameters"))
def sentences_with_large_parameters(rng):
    yield Case(*_far_below_the_padding(*_sentence(rng, 5, 3, 2, scale=2000.0)))
    yield Case(*_sentence(rng, 5, 3, 2, batch=(2,), scale=2000.0))


def _far_below_the_padding(features, W_d, W_k, b, mask):
    """Return a sentence whose words score below -390, and its padding above 390.

    np.exp makes 0 of the difference, whatever the draw: tanh is nearly -1 for words, 1 for padding.
    """
    sizes = 1 + np.abs(features)
    features = np.where(mask[..., None], -sizes, sizes)
    return features, np.abs(W_d), 20 * np.abs(W_k), b, mask


def _scores_of(features, W_d, W_k, b):
    return np.tanh(features @ W_k.T + b) @ W_d  # (..., n, d_f)


@source2token.misconception(
    _(
        "This is the function as you found it, with both mistakes still in it. "
        "Add up its weights over the words, for each feature: every sum should be 1."
    )
)
def summary_as_handed_out(features, W_d, W_k, b, mask):
    weights = _softmax(_scores_of(features, W_d, W_k, b), axis=-1) * mask[..., None]
    return (weights * features).sum(axis=-2)


@source2token.misconception(
    _(
        "One mistake is mended: the mask stands before the softmax. Your weights still sum to 1 "
        "over the features of a word; they should over the words, axis -2."
    )
)
@np.errstate(invalid="ignore")
def summary_over_the_features(features, W_d, W_k, b, mask):
    scores = _hidden(_scores_of(features, W_d, W_k, b), mask)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))  # NaN for a masked word
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return (weights * features).sum(axis=-2)


@source2token.misconception(
    _(
        "One mistake is mended: the softmax runs over the words. The mask still comes after it, "
        "so what is left of the weights sums to less than 1. Mask the scores."
    ),
    section="dimensionality-masked",
)
def summary_masked_too_late(features, W_d, W_k, b, mask):
    weights = _softmax(_scores_of(features, W_d, W_k, b)) * mask[..., None]
    return (weights * features).sum(axis=-2)


@source2token.misconception(
    _(
        "The sum runs over the words, and the maximum that you take away still over the features. "
        "A feature then has another number taken from each word: axis -2 in both."
    )
)
@np.errstate(over="ignore", invalid="ignore")
def maximum_over_the_features(features, W_d, W_k, b, mask):
    scores = _hidden(_scores_of(features, W_d, W_k, b), mask)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-2, keepdims=True)
    return (weights * features).sum(axis=-2)


@source2token.misconception(
    _(
        "The maximum is taken over the words, and the sum that you divide by still over the "
        "features, so no weights sum to 1 over the words: axis -2 in both."
    )
)
@np.errstate(invalid="ignore")
def sum_over_the_features(features, W_d, W_k, b, mask):
    scores = _hidden(_scores_of(features, W_d, W_k, b), mask)
    exponentials = np.exp(scores - scores.max(axis=-2, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return (weights * features).sum(axis=-2)


@source2token.misconception(_NAN_AFTER_CUTTING, section="dimensionality-masked")
@np.errstate(invalid="ignore")
def summary_cut_and_divided_again(features, W_d, W_k, b, mask):
    weights = _cut_and_divided_again(_scores_of(features, W_d, W_k, b), mask)
    return (weights * features).sum(axis=-2)


@source2token.misconception(_NOTHING_AFTER_CUTTING, section="dimensionality-masked")
def summary_cut_and_divided_if_it_can_be(features, W_d, W_k, b, mask):
    weights = _cut_and_divided_again(_scores_of(features, W_d, W_k, b), mask, carefully=True)
    return (weights * features).sum(axis=-2)


@source2token.misconception(
    _(
        "A score may be lower than the number that you put at the padding, which then gets the "
        "weight. Nothing is lower than minus infinity: np.where(mask[..., None], scores, -np.inf)."
    ),
    section="dimensionality-masked",
)
def padding_filled_with_minus_100(features, W_d, W_k, b, mask):
    weights = _softmax(_hidden(_scores_of(features, W_d, W_k, b), mask, -100.0))
    return (weights * features).sum(axis=-2)


@source2token.misconception(
    _(
        "Your mask is gone: padding gets weight. Put its scores to minus infinity before the "
        "softmax."
    ),
    section="dimensionality-masked",
)
def summary_without_the_mask(features, W_d, W_k, b, mask):
    weights = _softmax(_scores_of(features, W_d, W_k, b))
    return (weights * features).sum(axis=-2)


@source2token.misconception(
    _(
        "You multiply the scores by the mask. A word that is masked then has the score 0, and e "
        "to the 0 is 1. It needs the score minus infinity."
    ),
    section="dimensionality-masked",
)
def summary_with_scores_times_the_mask(features, W_d, W_k, b, mask):
    weights = _softmax(_scores_of(features, W_d, W_k, b) * mask[..., None])
    return (weights * features).sum(axis=-2)


@source2token.misconception(
    _("Your mask is upside down: True means that there is a word, and you average the padding."),
    section="dimensionality-masked",
)
def summary_of_the_padding(features, W_d, W_k, b, mask):
    weights = _softmax(_hidden(_scores_of(features, W_d, W_k, b), ~mask))
    return (weights * features).sum(axis=-2)


@source2token.misconception(
    _(
        "Your softmax runs over axis 0. For one sentence that is the words, for a batch it is the "
        "sentences: axis -2 is always the words."
    )
)
def summary_over_axis_0(features, W_d, W_k, b, mask):
    weights = _softmax(_hidden(_scores_of(features, W_d, W_k, b), mask), axis=0)
    return (weights * features).sum(axis=-2)


@source2token.misconception(
    _(
        "All words and features together share a sum of 1 in your answer. "
        "Each feature has a softmax of its own: over the words, axis -2, alone."
    )
)
def summary_over_everything(features, W_d, W_k, b, mask):
    weights = _softmax(_hidden(_scores_of(features, W_d, W_k, b), mask), axis=(-2, -1))
    return (weights * features).sum(axis=-2)


@source2token.variant
def summary_in_loops(features, W_d, W_k, b, mask):
    if features.ndim > 2:
        sentences = zip(features, mask, strict=True)
        return np.stack([summary_in_loops(f, W_d, W_k, b, m) for f, m in sentences])
    nobody, no_matrix = np.zeros(0), np.zeros((len(b), 0))
    scores = definition.multi_scores(nobody, features, W_d, no_matrix, W_k, b)
    return definition.attend_multi(scores, features, mask)[0]


@source2token.variant
def summary_in_torch(features, W_d, W_k, b, mask):
    given = (features, W_d, W_k, b)
    features, W_d, W_k, b = (torch.tensor(part, dtype=torch.float64) for part in given)
    scores = torch.tanh(torch.nn.functional.linear(features, W_k, b)) @ W_d
    hidden = scores.masked_fill(~torch.tensor(mask)[..., None], -torch.inf)
    return (torch.softmax(hidden, dim=-2) * features).sum(dim=-2)


@source2token.variant
def summary_by_einsum(features, W_d, W_k, b, mask):
    weights = _softmax(_hidden(_scores_of(features, W_d, W_k, b), mask))
    return np.einsum("...nd,...nd->...d", weights, features)


@source2token.variant
def summary_with_exponentials_masked(features, W_d, W_k, b, mask):
    scores = _scores_of(features, W_d, W_k, b)
    best = np.where(mask[..., None], scores, -np.inf).max(axis=-2, keepdims=True)
    exponentials = np.exp(np.minimum(scores - best, 0)) * mask[..., None]
    return (exponentials * features).sum(axis=-2) / exponentials.sum(axis=-2)


# --- 5. heads ---------------------------------------------------------------------------------


@chapter.exercise(
    title=_("From one weight to one per feature"),
    goal=_("Let each of h heads weigh its own block of features, from h = 1 to h = d_v."),
    difficulty=2,
    minutes=15,
    section="dimensionality-reductions",
    hints=(
        _("With as many heads as features this is exercises 2 and 3, one after the other."),
        _("Every feature of a block has the weight of its head: repeat each head's weights."),
        _(
            "`np.repeat(weights, size, axis=-1)` turns heads a, b into a, a, a, b, b, b if `size` "
            "is 3. How many features has a block?"
        ),
    ),
    uses=("multi_weights", "multi_context"),
)
def heads_context(scores, values, mask):
    by_feature = np.repeat(scores, values.shape[-1] // scores.shape[-1], axis=-1)
    nobody = np.zeros((*scores.shape[:-2], 1))
    return attend_multi(nobody, values, values, lambda _q, _k: by_feature, mask=mask)[0]


def _heads(rng, q, k, h, size, batch=(), mask=None):
    """Return scores of h heads, values of h blocks, and a mask."""
    mask = _some_of(rng, *batch, q, k) if mask is None else mask
    return _readable(rng, *batch, q, k, h), _readable(rng, *batch, k, h * size), mask


@heads_context.cases(points=1, label=_("two heads and three"))
def a_few_heads(rng):
    yield Case(*_heads(rng, 1, 3, 2, 2, mask=_all_of(1, 3)))
    yield Case(*_heads(rng, 2, 5, 2, 3))
    yield Case(*_heads(rng, 5, 7, 3, 2))


@heads_context.cases(points=1, label=_("the two ends: one head, and one per feature"))
def the_two_ends(rng):
    yield Case(*_heads(rng, 2, 5, 1, 3))
    yield Case(*_heads(rng, 2, 3, 5, 1))


@heads_context.cases(points=1, label=_("batches, anything behind the mask, large scores"))
def heads_in_a_batch(rng):
    scores, values, mask = _heads(rng, 2, 3, 2, 2, mask=_one_may_look(2, 3))
    yield Case(scores, _nan_at_the_last_key(values), mask)
    scores, values, mask = _heads(rng, 2, 7, 3, 5, batch=(2,))
    mask[..., 4] = False
    mask[0, 1] = False
    values[..., 4, :] = np.nan
    yield Case(scores, values, mask)
    _scores, values, mask = _heads(rng, 2, 5, 2, 3)
    offsets = np.array([1000.0, -1000.0])[:, None, None]
    scores = offsets + rng.integers(-8, 9, (2, 5, 2)) / 4  # single precision holds these
    yield Case(_hidden(scores, mask, 1900.0), values, mask)
    yield Case(*_heads(rng, 3, 5, 2, 2, batch=(2, 3)))


def _blocks(weights, values):
    return np.repeat(weights, values.shape[-1] // weights.shape[-1], axis=-1)


@heads_context.misconception(
    _(
        "You deal the features out to the heads in turn: a, b, a, b. "
        "A head has a block of neighbours, a, a, b, b: np.repeat instead of np.tile."
    )
)
def features_dealt_out_in_turn(scores, values, mask):
    weights = _softmax(_hidden(scores, mask))
    times = (1,) * (weights.ndim - 1) + (values.shape[-1] // weights.shape[-1],)
    return _context(np.tile(weights, times), values, mask)


@heads_context.misconception(
    _(
        "Your weights sum to 1 over the heads. Each head has a softmax of its own, over the keys: "
        "axis -2."
    ),
    section="dimensionality-axis",
)
def softmax_over_the_heads(scores, values, mask):
    return _context(_blocks(_softmax(_hidden(scores, mask), axis=-1), values), values, mask)


@heads_context.misconception(
    _(
        "You averaged the heads, so all features share one weight. "
        "Each head weighs its own block of features."
    ),
    section="dimensionality-single",
)
def heads_averaged(scores, values, mask):
    weights = _softmax(_hidden(scores, mask)).mean(axis=-1, keepdims=True)
    return _context(_blocks(weights, values), values, mask)


@heads_context.misconception(
    _(
        "Every head weighs all features in your answer, and you add the heads up. "
        "A head weighs its own block and nothing else."
    )
)
def heads_added_up(scores, values, mask):
    weights = _softmax(_hidden(scores, mask)).sum(axis=-1, keepdims=True)
    return _context(_blocks(weights, values), values, mask)


@heads_context.misconception(
    _(
        "Every head weighs all features in your answer, so the context is h times as wide as a "
        "value. A head weighs its own block: the context has d_v features."
    )
)
def heads_side_by_side(scores, values, mask):
    weights = _softmax(_hidden(scores, mask))
    heads = [weights[..., [head]] for head in range(scores.shape[-1])]
    return np.concatenate([_context(head, values, mask) for head in heads], axis=-1)


@heads_context.misconception(_("Only your first head is used. Block i belongs to head i."))
def first_head_alone(scores, values, mask):
    weights = _softmax(_hidden(scores, mask))[..., :1]
    return _context(_blocks(weights, values), values, mask)


@heads_context.misconception(
    _(
        "You split the weight of a head among the features of its block. Every feature of the "
        "block has the whole weight: the keys share it, the features do not."
    )
)
def weight_split_among_the_features(scores, values, mask):
    size = values.shape[-1] // scores.shape[-1]
    return _context(_blocks(_softmax(_hidden(scores, mask)), values) / size, values, mask)


@heads_context.misconception(
    _("You do not use the mask in the softmax: keys that may not be attended to take weight."),
    section="dimensionality-masked",
)
def heads_without_the_mask(scores, values, mask):
    return _context(_blocks(_softmax(scores), values), values, mask)


@heads_context.misconception(
    _("0 times NaN is NaN: what stands behind the mask gets through. Choose with np.where."),
    section="dimensionality-masked",
)
def heads_let_nan_through(scores, values, mask):
    weights = _blocks(_softmax(_hidden(scores, mask)), values)
    return (weights * values[..., None, :, :]).sum(axis=-2)


@heads_context.misconception(_NAN_AFTER_CUTTING, section="dimensionality-masked")
@np.errstate(invalid="ignore")
def heads_cut_and_divided_again(scores, values, mask):
    return _context(_blocks(_cut_and_divided_again(scores, mask), values), values, mask)


@heads_context.misconception(_NOTHING_AFTER_CUTTING, section="dimensionality-masked")
def heads_cut_and_divided_if_they_can_be(scores, values, mask):
    weights = _cut_and_divided_again(scores, mask, carefully=True)
    return _context(_blocks(weights, values), values, mask)


@heads_context.misconception(
    _(
        "Large scores overflow in np.exp, and infinity over infinity is NaN. "
        "Subtract the largest score along axis -2 first, or use your multi_weights, which does."
    ),
    section="dimensionality-axis",
)
@np.errstate(over="ignore", invalid="ignore")
def heads_overflow(scores, values, mask):
    exponentials = np.exp(_hidden(scores, mask))
    total = exponentials.sum(axis=-2, keepdims=True)
    weights = exponentials / np.where(total > 0, total, 1)
    return _context(_blocks(weights, values), values, mask)


@heads_context.misconception(
    _(
        "You leave out whatever is NaN among the values. What a query may see is for the mask to "
        "say: behind it NaN must not count, before it NaN must show."
    ),
    section="dimensionality-masked",
)
def heads_leave_nan_out(scores, values, mask):
    weights = _blocks(_softmax(_hidden(scores, mask)), values)
    return np.nansum(weights * values[..., None, :, :], axis=-2)


@heads_context.variant
def heads_one_by_one(scores, values, mask):
    size = values.shape[-1] // scores.shape[-1]
    blocks = []
    for head in range(scores.shape[-1]):
        weights = _softmax(np.where(mask, scores[..., head], -np.inf), axis=-1)  # (..., q, k)
        block = _visible(values[..., head * size : (head + 1) * size], mask)
        blocks.append((weights[..., None, :] @ block)[..., 0, :])
    return np.concatenate(blocks, axis=-1)


@heads_context.variant
def heads_with_reshaped_values(scores, values, mask):
    blocks = _visible(values, mask).reshape(*scores.shape, -1)  # (..., q, k, h, size)
    context = np.einsum("...qkh,...qkhs->...qhs", _softmax(_hidden(scores, mask)), blocks)
    return context.reshape(*context.shape[:-2], -1)


@heads_context.variant
def heads_in_torch(scores, values, mask):
    scores, mask = torch.tensor(scores, dtype=torch.float32), torch.tensor(mask)
    values = torch.tensor(values, dtype=torch.float32)
    scores = scores.repeat_interleave(values.shape[-1] // scores.shape[-1], dim=-1)
    hidden = scores.masked_fill(~mask[..., None], -torch.inf)
    weights = torch.softmax(hidden, dim=-2).nan_to_num(0.0)
    parts = (weights * values[..., None, :, :]).masked_fill(~mask[..., None], 0.0)
    return parts.sum(dim=-2)


# --- 6. a training step -----------------------------------------------------------------------


def _forward(hidden, values, W_d):
    weights = _softmax(hidden @ W_d)  # (batch, n, d_v)
    return weights, (weights * values).sum(axis=1)


def _half_squares(context, targets):
    return 0.5 * np.mean(np.sum((context - targets) ** 2, axis=1))


def _gradient(hidden, values, targets, W_d):
    weights, context = _forward(hidden, values, W_d)
    slopes = weights * (values - context[:, None]) * (context - targets)[:, None]
    return (hidden.mT @ slopes).mean(axis=0)


def _step(hidden, values, targets, W_d, change):
    """Return the loss and W_d moved by `change`."""
    _weights, context = _forward(hidden, values, W_d)
    return _half_squares(context, targets), W_d + change


@chapter.exercise(
    title=_("One training step"),
    goal=_("Take one step of gradient descent on W_d, with the gradient in closed form."),
    task="complete the training step",
    difficulty=3,
    minutes=20,
    section="dimensionality-training",
    hints=(
        _("Work backwards: loss to context, context to scores, scores to W_d."),
        _(
            "A score moves its own feature of the context alone, by a (v - c). "
            "`context[:, None, :]` can stand beside the values."
        ),
        _(
            "`slopes = weights * (values - context[:, None, :]) * errors[:, None, :]` has the "
            "shape (batch, n, d_v). `hidden.mT @ slopes` is (batch, d_w, d_v): take the mean over "
            "the batch."
        ),
    ),
)
def gradient_step(hidden, values, targets, W_d, learning_rate):
    named = (hidden, values, targets, W_d)
    hidden, values, targets, W_d = (torch.as_tensor(part) for part in named)
    W_d = W_d.clone().requires_grad_()
    context, _weights = attend_multi(
        hidden[..., :1, :0], hidden, values, lambda _queries, keys: (keys @ W_d)[:, None]
    )
    loss = 0.5 * (context[:, 0] - targets).square().sum(dim=1).mean()
    (gradient,) = torch.autograd.grad(loss, W_d)
    return loss.item(), (W_d - learning_rate * gradient).detach().numpy()


def _training(rng, batch, n, d_w, d_v, scale=1.0):
    hidden, values = scale * _readable(rng, batch, n, d_w), _readable(rng, batch, n, d_v)
    return hidden, values, _readable(rng, batch, d_v), _readable(rng, d_w, d_v)


@gradient_step.cases(points=2, label=_("one sentence"))
def one_step_on_one_sentence(rng):
    yield Case(*_training(rng, 1, 2, 3, 2), 0.5)
    yield Case(*_training(rng, 1, 5, 2, 3), 2.0)


@gradient_step.cases(points=1, label=_("a batch of sentences"))
def one_step_on_a_batch(rng):
    yield Case(*_training(rng, 2, 3, 5, 7), 0.5)
    yield Case(*_training(rng, 5, 7, 2, 3), 3.0)
    yield Case(*_training(rng, 3, 5, 7, 2, scale=500.0), 0.5)  # a softmax that has made up its mind


@gradient_step.misconception(
    _("You go uphill: the gradient points to where the loss grows. Subtract it.")
)
def step_uphill(hidden, values, targets, W_d, learning_rate):
    gradient = _gradient(hidden, values, targets, W_d)
    return _step(hidden, values, targets, W_d, learning_rate * gradient)


@gradient_step.misconception(
    _(
        "You multiply the weights by the values. A weight grows only at the cost of the others: "
        "it is v minus c, the value less the context."
    )
)
def step_without_the_context(hidden, values, targets, W_d, learning_rate):
    weights, context = _forward(hidden, values, W_d)
    slopes = weights * values * (context - targets)[:, None]
    change = -learning_rate * (hidden.mT @ slopes).mean(axis=0)
    return _step(hidden, values, targets, W_d, change)


@gradient_step.misconception(
    _(
        "You subtract the target from the values. It is the context that is subtracted there; "
        "the target stands in the error alone."
    )
)
def step_with_the_target_for_the_context(hidden, values, targets, W_d, learning_rate):
    weights, context = _forward(hidden, values, W_d)
    slopes = weights * (values - targets[:, None]) * (context - targets)[:, None]
    change = -learning_rate * (hidden.mT @ slopes).mean(axis=0)
    return _step(hidden, values, targets, W_d, change)


@gradient_step.misconception(
    _(
        "The weights are missing from your slopes: a score matters as much as its key has weight. "
        "It is a times (v - c) times the error."
    )
)
def step_without_the_weights(hidden, values, targets, W_d, learning_rate):
    _weights, context = _forward(hidden, values, W_d)
    slopes = (values - context[:, None]) * (context - targets)[:, None]
    change = -learning_rate * (hidden.mT @ slopes).mean(axis=0)
    return _step(hidden, values, targets, W_d, change)


@gradient_step.misconception(
    _(
        "The error is missing from your slopes. The chain begins with the loss: "
        "its derivative by the context is context minus target."
    )
)
def step_without_the_error(hidden, values, targets, W_d, learning_rate):
    weights, context = _forward(hidden, values, W_d)
    slopes = weights * (values - context[:, None])
    change = -learning_rate * (hidden.mT @ slopes).mean(axis=0)
    return _step(hidden, values, targets, W_d, change)


@gradient_step.misconception(
    _(
        "Your loss is right, but your gradient is added up over the batch. The loss is a mean, so "
        "the gradient is one too: the step must not grow with the batch."
    )
)
def gradient_added_over_the_batch(hidden, values, targets, W_d, learning_rate):
    gradient = len(hidden) * _gradient(hidden, values, targets, W_d)
    return _step(hidden, values, targets, W_d, -learning_rate * gradient)


@gradient_step.misconception(
    _(
        "Loss and gradient are added up over the batch. Take the mean: "
        "the step must not grow with the batch."
    )
)
def loss_added_over_the_batch(hidden, values, targets, W_d, learning_rate):
    gradient = len(hidden) * _gradient(hidden, values, targets, W_d)
    loss, moved = _step(hidden, values, targets, W_d, -learning_rate * gradient)
    return len(hidden) * loss, moved


@gradient_step.misconception(
    _("The half is missing: loss and gradient are both twice too large. The loss begins with ½.")
)
def step_without_the_half(hidden, values, targets, W_d, learning_rate):
    gradient = 2 * _gradient(hidden, values, targets, W_d)
    loss, moved = _step(hidden, values, targets, W_d, -learning_rate * gradient)
    return 2 * loss, moved


@gradient_step.misconception(
    _(
        "You took the mean over the features too. The squared errors of the features are added "
        "up; the mean is over the batch alone."
    )
)
def mean_over_the_features(hidden, values, targets, W_d, learning_rate):
    d_v = values.shape[-1]
    gradient = _gradient(hidden, values, targets, W_d) / d_v
    loss, moved = _step(hidden, values, targets, W_d, -learning_rate * gradient)
    return loss / d_v, moved


@gradient_step.misconception(_("Your W_d is right. The loss lacks its half: it begins with ½."))
def half_missing_in_the_loss(hidden, values, targets, W_d, learning_rate):
    loss, moved = step_in_closed_form(hidden, values, targets, W_d, learning_rate)
    return 2 * loss, moved


@gradient_step.misconception(
    _(
        "Your W_d is right. Your loss is a mean over the features too: add up the squared errors "
        "of the features, and take the mean over the batch alone."
    )
)
def loss_averaged_over_the_features(hidden, values, targets, W_d, learning_rate):
    loss, moved = step_in_closed_form(hidden, values, targets, W_d, learning_rate)
    return loss / values.shape[-1], moved


@gradient_step.misconception(
    _("Your step is the whole gradient. Multiply it by the learning rate first.")
)
def step_without_the_learning_rate(hidden, values, targets, W_d, learning_rate):
    return step_in_closed_form(hidden, values, targets, W_d, 1.0)


@gradient_step.misconception(
    _("You return the loss after the step. Wanted is the loss of the W_d that came in.")
)
def loss_after_the_step(hidden, values, targets, W_d, learning_rate):
    moved = W_d - learning_rate * _gradient(hidden, values, targets, W_d)
    _weights, context = _forward(hidden, values, moved)
    return _half_squares(context, targets), moved


@gradient_step.misconception(
    _("You return the gradient. Wanted is the new W_d: the old one less learning rate times that.")
)
def gradient_instead_of_the_step(hidden, values, targets, W_d, learning_rate):
    gradient = _gradient(hidden, values, targets, W_d)
    return _step(hidden, values, targets, W_d, gradient - W_d)


@gradient_step.variant
def step_in_closed_form(hidden, values, targets, W_d, learning_rate):
    change = -learning_rate * _gradient(hidden, values, targets, W_d)
    return _step(hidden, values, targets, W_d, change)


@gradient_step.variant
def step_in_loops(hidden, values, targets, W_d, learning_rate):
    loss, gradient = 0.0, np.zeros(W_d.shape)
    for h, v, y in zip(hidden, values, targets, strict=True):
        for i in range(W_d.shape[1]):
            weights = _softmax(h @ W_d[:, i], axis=0)  # (n,)
            error = weights @ v[:, i] - y[i]
            loss += 0.5 * error**2 / len(hidden)
            for l, weight in enumerate(weights):
                gradient[:, i] += h[l] * weight * (v[l, i] - error - y[i]) * error / len(hidden)
    return loss, W_d - learning_rate * gradient


@gradient_step.variant
def step_by_autograd(hidden, values, targets, W_d, learning_rate):
    named = (hidden, values, targets, W_d)
    hidden, values, targets, W_d = (torch.tensor(part, dtype=torch.float64) for part in named)
    W_d.requires_grad_()
    optimiser = torch.optim.SGD([W_d], lr=learning_rate)
    context = (torch.softmax(hidden @ W_d, dim=1) * values).sum(dim=1)
    loss = (context - targets).square().sum() / (2 * len(hidden))
    loss.backward()
    optimiser.step()
    return loss.item(), W_d.detach()


# --- 7. the experiment ------------------------------------------------------------------------


def _gradient_on(data, W_d):
    hidden, values, targets = data
    return _gradient(hidden, values, targets, W_d)


def _trained(training, W_d, learning_rate, steps, tied):
    for _number in range(steps):
        W_d = W_d - learning_rate * _gradient_on(training, W_d)
        W_d = _tie(W_d) if tied else W_d
    return W_d


def _tie(W_d):
    return np.repeat(W_d.mean(axis=1, keepdims=True), W_d.shape[1], axis=1)


def _tested(test, W_d):
    hidden, values, targets = test
    return _half_squares(_forward(hidden, values, W_d)[1], targets)


@chapter.exercise(
    title=_("One weight per feature against one per value"),
    goal=_("Train W_d twice, with free columns and with tied ones, and compare the test losses."),
    task="reproduce",
    difficulty=2,
    minutes=20,
    section="dimensionality-experiment",
    hints=(
        _("A loop over the steps. Where are the columns tied: before, after or inside the loop?"),
        _(
            "After each step put the mean of all columns into every column: "
            "`W_d.mean(axis=1, keepdims=True)` is that mean, of shape (d_w, 1)."
        ),
        _(
            "`loss, W_d = gradient_step(*training, W_d, learning_rate)` is one step. The same "
            "function with `*test` tells the test loss of the trained W_d; throw away its step."
        ),
    ),
    uses=("gradient_step",),
)
def train_and_test(training, test, W_d, learning_rate, steps, tied):
    step = gradient_step.reference
    for _number in range(steps):
        W_d = step(*training, W_d, learning_rate)[1]
        W_d = _tie(W_d) if tied else W_d
    return W_d, step(*test, W_d, learning_rate)[0]


def _told_by_roles(rng, batch, n=5, d_v=3):
    """Return roles (one-hot), values, and targets: feature i as the word with role i has it."""
    roles = rng.permuted(np.tile(np.arange(n), (batch, 1)), axis=1)
    values = np.round(rng.normal(size=(batch, n, d_v)), 1)
    telling = roles[:, :, None] == np.arange(d_v)  # (batch, n, d_v)
    return np.eye(n)[roles], values, (values * telling).sum(axis=1)


@train_and_test.cases(points=2, label=_("free columns, and tied ones"))
def a_few_steps(rng):
    for tied in (False, True):
        W_d = _readable(rng, 5, 3)
        data = _told_by_roles(rng, 7), _told_by_roles(rng, 2)
        yield Case(*data, W_d, 2.0, 0, tied)
        yield Case(*data, W_d, 2.0, 3, tied)


@train_and_test.cases(points=1, label=_("the figures of the task"))
def the_figures_of_the_task(rng):
    fixed = np.random.default_rng(0)  # the numbers that the notebook draws, for everybody
    data = _told_by_roles(fixed, 200), _told_by_roles(fixed, 500)
    for tied in (False, True):
        yield Case(*data, np.zeros((5, 3)), 2.0, 40, tied)


@train_and_test.misconception(
    _(
        "You do not look at `tied`: the columns stay free. "
        "With tied=True every column is replaced by their mean, after each step."
    ),
    section="dimensionality-reductions",
)
def columns_always_free(training, test, W_d, learning_rate, steps, tied):
    W_d = _trained(training, W_d, learning_rate, steps, False)
    return W_d, _tested(test, W_d)


@train_and_test.misconception(
    _("Your columns are always tied. With tied=False they stay free, one for each feature."),
    section="dimensionality-reductions",
)
def columns_always_tied(training, test, W_d, learning_rate, steps, tied):
    W_d = _trained(training, W_d, learning_rate, steps, True)
    return W_d, _tested(test, W_d)


@train_and_test.misconception(
    _("You have `tied` upside down: the columns are tied where they should be free."),
    section="dimensionality-reductions",
)
def tied_upside_down(training, test, W_d, learning_rate, steps, tied):
    W_d = _trained(training, W_d, learning_rate, steps, not tied)
    return W_d, _tested(test, W_d)


@train_and_test.misconception(
    _(
        "You tie the columns once, after the last step. Tie them after each step: "
        "then it is one weight per value that is trained."
    ),
    section="dimensionality-reductions",
)
def tied_at_the_end(training, test, W_d, learning_rate, steps, tied):
    W_d = _trained(training, W_d, learning_rate, steps, False)
    W_d = _tie(W_d) if tied and steps else W_d
    return W_d, _tested(test, W_d)


@train_and_test.misconception(
    _(
        "You tie the columns before each step, so the last step leaves them free. "
        "Tie them after each step."
    ),
    section="dimensionality-reductions",
)
def tied_before_the_step(training, test, W_d, learning_rate, steps, tied):
    for _number in range(steps):
        W_d = _tie(W_d) if tied else W_d
        W_d = W_d - learning_rate * _gradient_on(training, W_d)
    return W_d, _tested(test, W_d)


@train_and_test.misconception(
    _(
        "You tied the rows of W_d. A column belongs to a feature, and the columns are to be "
        "equal: take the mean along axis 1."
    ),
    section="dimensionality-reductions",
)
def rows_tied(training, test, W_d, learning_rate, steps, tied):
    for _number in range(steps):
        W_d = W_d - learning_rate * _gradient_on(training, W_d)
        W_d = _tie(W_d.T).T if tied else W_d
    return W_d, _tested(test, W_d)


@train_and_test.misconception(
    _("You added the columns up. Put their mean into each: divide by how many there are."),
    section="dimensionality-reductions",
)
@np.errstate(all="ignore")
def columns_added_up(training, test, W_d, learning_rate, steps, tied):
    for _number in range(steps):
        W_d = W_d - learning_rate * _gradient_on(training, W_d)
        W_d = _tie(W_d) * W_d.shape[1] if tied else W_d
    return W_d, _tested(test, W_d)


@train_and_test.misconception(
    _("Your second number is the loss on the training sentences. Wanted is the one on `test`.")
)
def loss_of_the_training_data(training, test, W_d, learning_rate, steps, tied):
    W_d = _trained(training, W_d, learning_rate, steps, tied)
    return W_d, _tested(training, W_d)


@train_and_test.misconception(
    _("Your second number is the test loss before training. Use the W_d that you trained.")
)
def loss_before_training(training, test, W_d, learning_rate, steps, tied):
    return _trained(training, W_d, learning_rate, steps, tied), _tested(test, W_d)


@train_and_test.misconception(
    _(
        "All your steps begin at the first W_d, so only one of them counts. "
        "Each step begins where the last one ended: hand its W_d on."
    )
)
def steps_not_chained(training, test, W_d, learning_rate, steps, tied):
    W_d = _trained(training, W_d, learning_rate, min(steps, 1), tied)
    return W_d, _tested(test, W_d)


@train_and_test.misconception(
    _("You train on the test sentences. They are for the last line alone.")
)
def trained_on_the_test_data(training, test, W_d, learning_rate, steps, tied):
    W_d = _trained(test, W_d, learning_rate, steps, tied)
    return W_d, _tested(test, W_d)


@train_and_test.variant
def trained_in_closed_form(training, test, W_d, learning_rate, steps, tied):
    W_d = _trained(training, W_d, learning_rate, steps, tied)
    return W_d, _tested(test, W_d)


@train_and_test.variant
def trained_with_tied_gradients(training, test, W_d, learning_rate, steps, tied):
    for _number in range(steps):
        gradient = _gradient_on(training, W_d)
        if tied:  # the mean of a difference is the difference of the means
            W_d, gradient = _tie(W_d), _tie(gradient)
        W_d = W_d - learning_rate * gradient
    return W_d, _tested(test, W_d)


@train_and_test.variant
def trained_in_torch(training, test, W_d, learning_rate, steps, tied):
    training = [torch.tensor(part) for part in training]
    W_d = torch.tensor(W_d)
    for _number in range(steps):
        W_d = W_d.detach().requires_grad_()
        context = (torch.softmax(training[0] @ W_d, dim=1) * training[1]).sum(dim=1)
        loss = 0.5 * (context - training[2]).square().sum(dim=1).mean()
        (gradient,) = torch.autograd.grad(loss, W_d)
        W_d = W_d - learning_rate * gradient
        W_d = W_d.mean(dim=1, keepdim=True).expand_as(W_d) if tied else W_d
    W_d = W_d.detach().numpy()
    return W_d, _tested(test, W_d)
