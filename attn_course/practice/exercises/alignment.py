r"""The exercises of chapter 3: softmax stable and masked, decoder masks, windows, hard attention.

Each exercise: the reference (from the package, never written a second time), the cases, the
mistakes we know by name, and right solutions written in other ways. Wrong solutions are made of
the few small functions at the top, so that each shows nothing but its mistake.
"""

import numpy as np
import torch

from attn_course import alignment
from attn_course.definitions import alignment as definition
from attn_course.practice.exercise import Case, Chapter
from attn_course.translate import _

chapter = Chapter(
    "03_alignment",
    title=_("Alignment"),
    sections={
        "alignment-softmax": _("Softmax, stable and with a temperature"),
        "alignment-masked": _("Masked softmax"),
        "alignment-hard": _("Hard alignment"),
        "alignment-local-monotonic": _("Local monotonic alignment"),
        "alignment-local-predictive": _("Local predictive alignment"),
    },
)


# --- what the wrong solutions and the variants are made of ------------------------------------


def _softmax(scores, mask=None, axis=-1):
    """Return weights over the keys of a mask; all 0 where there is none."""
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    best = scores.max(axis=axis, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isfinite(best), best, 0))
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total > 0, total, 1)


def _shares(strengths):
    """Return each number's share of its row, NaN and all."""
    return strengths / strengths.sum(axis=-1, keepdims=True)


def _softmax_for_itself(scores):
    """Return a softmax that takes the largest score away and looks after nothing else."""
    return _shares(np.exp(scores - scores.max(axis=-1, keepdims=True)))


def _offsets(scores, centres):
    """Return l - p for every query and key, keys counted from 1."""
    return np.arange(1, scores.shape[-1] + 1) - centres[..., None]


def _row_by_row(one_row, scores, *others):
    """Return `one_row(scores, …)` of every row, the way a learner with loops does."""
    if scores.ndim == 1:
        return one_row(scores, *others)
    return np.stack([_row_by_row(one_row, *parts) for parts in zip(scores, *others, strict=True)])


def _first_above(cumulative, u):
    """Return the number of the first key whose running sum is above u, counted from 0."""
    return (cumulative <= u[..., None]).sum(axis=-1)


def _drawn(scores, u):
    """Return the weights, the key that u draws, and that key as a one-hot row."""
    weights = _softmax(scores)
    choice = _first_above(np.cumsum(weights, axis=-1), u)
    return weights, choice, (np.arange(scores.shape[-1]) == choice[..., None]).astype(float)


def _earned(rewards, choice):
    return np.take_along_axis(rewards, choice[..., None], axis=-1)  # (..., q, 1)


# --- what the cases are drawn from ------------------------------------------------------------


def _readable(rng, *size, largest=2.0):
    """Return numbers with one decimal, none of them 0: a failure can be redone by hand."""
    numbers = np.round(rng.uniform(-largest, largest, size), 1)
    return np.where(numbers == 0, 0.5, numbers)


def _huge(rng, *size):
    """Return rows near 1000 and near -1000 in turn, and in each row one key 3000 below.

    np.exp overflows or vanishes there, and only the largest score of a row itself mends that.
    Single precision holds these numbers exactly.
    """
    heights = 1000.0 * (-1) ** np.arange(size[-2])[:, None]
    lowest = np.arange(size[-1]) == rng.integers(0, size[-1], (*size[:-1], 1))
    return heights + rng.integers(-8, 9, size) / 4 - 3000 * lowest


def _some_keys(rng, *size):
    """Return a mask (..., q, k) with one True and one False at least in each row."""
    mask = rng.random(size) < 0.6
    two_keys = np.argsort(rng.random(size), axis=-1)[..., :2]
    np.put_along_axis(mask, two_keys, np.array([True, False]), axis=-1)
    return mask


def _between(rng, k, *size):
    """Return real positions in (0, k) with one decimal: no key is nearly at a window's edge."""
    return np.round(rng.uniform(0.1, k - 0.1, size), 1)


# --- 1. stable softmax ------------------------------------------------------------------------


@chapter.exercise(
    title=_("A softmax that does not overflow"),
    goal=_("Turn scores of any size into weights, at any temperature."),
    difficulty=1,
    minutes=10,
    section="alignment-softmax",
    hints=(
        _("Divide the scores by the temperature first. What is left is a plain softmax."),
        _(
            "`np.exp(1000)` is infinite. Softmax does not change when the same number is taken "
            "away from a whole row: which number makes every exponent 0 or less?"
        ),
        _(
            "`x.max(axis=-1, keepdims=True)` is each row's largest number. Take it away before "
            "`np.exp`, then divide by `sum(axis=-1, keepdims=True)`."
        ),
    ),
    without=("torch.softmax", "torch.nn.functional", "scipy.special.softmax"),
)
def stable_softmax(scores, temperature):
    return alignment.softmax(scores, temperature=temperature)


@stable_softmax.cases(points=1, label=_("scores (q, k), at several temperatures"))
def small_scores(rng):
    yield Case(_readable(rng, 2, 3), 2.0)
    yield Case(_readable(rng, 3, 2), 0.5)
    yield Case(rng.normal(size=(5, 7)), 3.0)


@stable_softmax.cases(points=1, label=_("batches of scores (..., q, k)"))
def batches_of_scores(rng):
    yield Case(_readable(rng, 2, 3, 5), 0.5)
    yield Case(rng.normal(size=(2, 3, 5, 7)), 2.0)


@stable_softmax.cases(points=1, label=_("very large and very small scores"))
def huge_scores(rng):
    yield Case(_huge(rng, 2, 3), 1.25)
    yield Case(_huge(rng, 3, 5), 0.5)
    yield Case(_huge(rng, 2, 7), 4.0)  # the best key is far above the lowest, near the mean


@stable_softmax.misconception(
    _(
        "Your weights sum to 1 over the queries; they should sum to 1 over the keys: "
        "each query shares out its attention among the keys, along the last axis."
    )
)
def sums_to_one_over_the_queries(scores, temperature):
    return _softmax(scores / temperature, axis=-2)


@stable_softmax.misconception(
    _(
        "Your whole table sums to 1. Each row should: take maximum and sum along the last axis, "
        "with axis=-1 and keepdims=True."
    )
)
def whole_table_sums_to_one(scores, temperature):
    return _softmax(scores / temperature, axis=None)


@stable_softmax.misconception(
    _(
        "Your sums run over axis 1. That is the keys of one table, "
        "but in a batch it is something else: axis=-1 is always the keys."
    )
)
def sums_over_axis_1(scores, temperature):
    return _softmax(scores / temperature, axis=1)


@stable_softmax.misconception(
    _(
        "You multiply by the temperature. Divide: a high temperature makes the weights more alike, "
        "a low one makes the best key win."
    )
)
def multiplied_by_the_temperature(scores, temperature):
    return _softmax(scores * temperature)


@stable_softmax.misconception(
    _(
        "Your temperature changes nothing: it is missing, or it divides the weights and is lost "
        "when they are made to sum to 1. Divide the scores by it, before np.exp."
    )
)
def temperature_without_effect(scores, temperature):
    return _softmax(scores)


@stable_softmax.misconception(
    _(
        "You divide the weights by the temperature, so they do not sum to 1. "
        "Divide the scores by it, before np.exp."
    )
)
def weights_divided_by_the_temperature(scores, temperature):
    return _softmax(scores) / temperature


@stable_softmax.misconception(
    _(
        "Small scores are right. Near 1000 np.exp overflows, near -1000 it is 0 for every key, "
        "and the division gives NaN: take each row's largest score away before np.exp."
    )
)
@np.errstate(over="ignore", invalid="ignore")
def overflows(scores, temperature):
    return _shares(np.exp(scores / temperature))


@stable_softmax.misconception(
    _(
        "You take away each row's smallest score. The exponents are then 0 or more, and the best "
        "key still overflows: take the largest away, so that they are 0 or less."
    )
)
@np.errstate(over="ignore", invalid="ignore")
def smallest_score_taken_away(scores, temperature):
    scores = scores / temperature
    return _shares(np.exp(scores - scores.min(axis=-1, keepdims=True)))


@stable_softmax.misconception(
    _(
        "You take away each row's mean. A key far above it still overflows: take the largest "
        "score away, so that every exponent is 0 or less."
    )
)
@np.errstate(over="ignore", invalid="ignore")
def mean_score_taken_away(scores, temperature):
    scores = scores / temperature
    return _shares(np.exp(scores - scores.mean(axis=-1, keepdims=True)))


@stable_softmax.misconception(
    _(
        "You take away the largest score of all. A row far below it still becomes 0/0: "
        "give each row its own maximum, with axis=-1 and keepdims=True."
    )
)
@np.errstate(invalid="ignore")
def one_maximum_for_all_rows(scores, temperature):
    scores = scores / temperature
    return _shares(np.exp(scores - scores.max()))


@stable_softmax.misconception(
    _(
        "You take the largest score away before the division, from scores that are divided "
        "already. Scale once, then use the maximum of the scaled scores."
    )
)
@np.errstate(over="ignore", invalid="ignore")
def maximum_of_the_unscaled_scores(scores, temperature):
    return _shares(np.exp(scores / temperature - scores.max(axis=-1, keepdims=True)))


@stable_softmax.misconception(
    _("You return the exponentials. Divide each row by its sum, so that the weights sum to 1.")
)
def exponentials_alone(scores, temperature):
    scaled = scores / temperature
    return np.exp(scaled - scaled.max(axis=-1, keepdims=True))


@stable_softmax.misconception(
    _(
        "You divide by the number of keys. Divide each row by the sum of its exponentials, so that "
        "the weights sum to 1."
    )
)
def divided_by_the_number_of_keys(scores, temperature):
    return exponentials_alone(scores, temperature) / scores.shape[-1]


@stable_softmax.misconception(
    _(
        "Each row has a maximum of its own, but you divide by the sum of the whole table. "
        "Sum along the last axis too, with axis=-1 and keepdims=True."
    )
)
def divided_by_the_sum_of_the_table(scores, temperature):
    exponentials = exponentials_alone(scores, temperature)
    return exponentials / exponentials.sum()


@stable_softmax.variant
def softmax_in_loops(scores, temperature):
    return _row_by_row(lambda row: np.array(definition.softmax(row / temperature)), scores)


@stable_softmax.variant
def softmax_scaled_last(scores, temperature):
    return _shares(np.exp((scores - scores.max(axis=-1, keepdims=True)) / temperature))


@stable_softmax.variant
def softmax_in_torch(scores, temperature):
    return torch.softmax(torch.as_tensor(scores) / temperature, dim=-1)


@stable_softmax.variant
def softmax_in_single_precision(scores, temperature):
    return _softmax(scores.astype(np.float32) / np.float32(temperature))


@stable_softmax.variant
def softmax_by_log_sum_exp(scores, temperature):
    scaled = scores / temperature
    return np.exp(scaled - np.logaddexp.reduce(scaled, axis=-1)[..., None])


# --- 2. masked softmax ------------------------------------------------------------------------


@chapter.exercise(
    title=_("A softmax that leaves keys out"),
    goal=_("Share out the weight among the keys that a query may attend to, and no others."),
    difficulty=2,
    minutes=20,
    section="alignment-masked",
    hints=(
        _("Leave a key out before the softmax. Which score has the exponential 0?"),
        _(
            "`np.where(mask, scores, -np.inf)` chooses: what stands at a masked key, NaN included, "
            "is gone. The largest score of a row is then one of a key that counts."
        ),
        _(
            "In a row without a key you get 0/0 or infinity minus infinity, which is NaN. "
            "A last `np.where(mask, weights, 0.0)` takes that out too."
        ),
    ),
)
def masked_softmax(scores, mask):
    return alignment.softmax(scores, mask)


@masked_softmax.cases(points=1, label=_("a mask for each query and key, (q, k)"))
def keys_left_out(rng):
    yield Case(_readable(rng, 2, 3), _some_keys(rng, 2, 3))
    yield Case(_readable(rng, 3, 5), _some_keys(rng, 3, 5))


@masked_softmax.cases(points=1, label=_("padding that scores best, batches, large scores"))
def padding_scores_best(rng):
    mask = np.array([True, True, False])  # (3,): for all queries the same
    yield Case(np.where(mask, _readable(rng, 2, 3), 900.0), mask)
    mask = np.array([[[True, True, False]], [[True, False, False]]])  # (2, 1, 3)
    yield Case(np.where(mask, _readable(rng, 2, 5, 3), 900.0), mask)
    yield Case(_huge(rng, 2, 3, 5), _some_keys(rng, 2, 3, 5))
    yield Case(_readable(rng, 2, 3, 5, 7), _some_keys(rng, 2, 3, 5, 7))
    # As low as the task allows, in steps that single precision holds.
    yield Case(rng.integers(0, 17, (2, 3)) / 4 - 1e6, _some_keys(rng, 2, 3))


@masked_softmax.cases(points=1, label=_("a query that may attend nowhere: weights 0"))
def nothing_to_attend_to(rng):
    mask = np.concatenate([_some_keys(rng, 1, 3), np.zeros((1, 3), dtype=bool)])
    yield Case(_readable(rng, 2, 3), mask)
    mask = _some_keys(rng, 2, 3, 5)
    mask[1, rng.integers(3)] = False
    yield Case(_readable(rng, 2, 3, 5), mask)


@masked_softmax.cases(points=1, label=_("NaN in the padding stays there"))
def nan_in_the_padding(rng):
    for size in ((2, 3), (3, 5, 7)):
        mask = _some_keys(rng, *size)
        yield Case(np.where(mask, _readable(rng, *size), np.nan), mask)


def _zero_for_nothing(strengths):
    """Return shares, and 0 for a row of zeros."""
    total = strengths.sum(axis=-1, keepdims=True)
    return strengths / np.where(total == 0, 1, total)


@masked_softmax.misconception(
    _(
        "Your mask comes after the softmax: the weight that padding got is lost, and a row sums "
        "to less than 1. Leave the keys out before, with the score minus infinity."
    )
)
def mask_after_the_softmax(scores, mask):
    return _softmax_for_itself(scores) * mask


@masked_softmax.misconception(
    _(
        "You take the softmax over all keys, mask it, and divide again. Where padding has got "
        "nearly all the weight, 0/0 is left, and NaN spreads: leave the keys out before."
    )
)
@np.errstate(invalid="ignore")
def masked_and_divided_again(scores, mask):
    return _shares(_softmax_for_itself(scores) * mask)


@masked_softmax.misconception(
    _(
        "Small scores are right. Elsewhere infinity and NaN get into the sum of a row, and 0 times "
        "either is NaN: put minus infinity at masked keys with np.where, then take each row's "
        "largest score away before np.exp."
    )
)
@np.errstate(over="ignore", invalid="ignore")
def bare_exponentials_times_the_mask(scores, mask):
    return _shares(np.exp(scores) * mask)


@masked_softmax.misconception(
    _("Your mask is upside down: True means that the query may attend, and you leave those out.")
)
def mask_upside_down(scores, mask):
    return _softmax(scores, ~mask)


@masked_softmax.misconception(
    _(
        "You multiply the scores by the mask. A masked key then has the score 0, which is a score "
        "like any other: give it minus infinity, with np.where."
    )
)
def scores_times_the_mask(scores, mask):
    return _softmax_for_itself(scores * mask)


@masked_softmax.misconception(
    _(
        "A query that may attend nowhere: all its scores are the same large negative number, and "
        "equal scores get equal weights. Its weights should be 0; minus infinity, not -1e9."
    )
)
def uniform_over_the_padding(scores, mask):
    return _softmax_for_itself(np.where(mask, scores, -1e9))


@masked_softmax.misconception(
    _(
        "You add a large negative number to the masked scores. NaN plus any number is NaN, and "
        "where every key gets the same it changes nothing. Choose with np.where instead."
    )
)
def large_negative_number_added(scores, mask):
    return _softmax_for_itself(scores + np.where(mask, 0.0, -1e9))


@masked_softmax.misconception(
    _(
        "You put a number such as -100 at the masked keys. Where all scores of a row are near "
        "-1000, that is the best of them. Nothing is lower than minus infinity: -np.inf."
    )
)
def filled_with_minus_100(scores, mask):
    return np.where(mask, _softmax_for_itself(np.where(mask, scores, -100.0)), 0.0)


@masked_softmax.misconception(
    _(
        "The number that you put at the masked keys is low, but a score may be lower: down to -1e6 "
        "here. Then the masked keys get the weight. Nothing is lower than minus infinity: -np.inf."
    )
)
def filled_with_minus_10000(scores, mask):
    return np.where(mask, _softmax_for_itself(np.where(mask, scores, -1e4)), 0.0)


@masked_softmax.misconception(
    _(
        "You add minus infinity to the masked scores. NaN plus anything is NaN, and a query that "
        "may attend nowhere gets NaN too. Choose with np.where, and put 0 at masked keys last."
    )
)
@np.errstate(invalid="ignore")
def minus_infinity_added(scores, mask):
    return _softmax_for_itself(scores + np.where(mask, 0.0, -np.inf))


@masked_softmax.misconception(
    _(
        "You add minus infinity to the masked scores. NaN plus anything is NaN, so one NaN in the "
        "padding spoils its row, and making 0 of NaN at the end makes 0 of the whole row. "
        "Choose with np.where instead."
    )
)
def minus_infinity_added_and_nan_removed(scores, mask):
    return np.nan_to_num(minus_infinity_added(scores, mask))


@masked_softmax.misconception(
    _(
        "A query that may attend nowhere gets NaN: infinity minus infinity, or 0/0. "
        "Its weights should be 0; look after such rows, or put 0 at every masked key at the end."
    )
)
@np.errstate(invalid="ignore")
def nan_where_nothing_is_left(scores, mask):
    return _softmax_for_itself(np.where(mask, scores, -np.inf))


@masked_softmax.misconception(
    _(
        "You multiply the exponentials by the mask. 0 times NaN is NaN, so padding leaks into the "
        "sum of its row: choose with np.where instead."
    )
)
def exponentials_times_the_mask(scores, mask):
    hidden = np.where(mask, scores, -np.inf).max(axis=-1, keepdims=True)
    shift = np.where(np.isfinite(hidden), hidden, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        exponentials = np.exp(np.minimum(scores - shift, 700)) * mask
    return _zero_for_nothing(exponentials)


@masked_softmax.misconception(
    _(
        "You take away the largest score of the row, padding included. Where padding scores far "
        "best, every other exponential is 0: leave the keys out first, then look for the largest."
    )
)
def largest_score_of_the_padding(scores, mask):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return _zero_for_nothing(np.where(mask, exponentials, 0.0))


@masked_softmax.misconception(
    _(
        "Small scores are right. Near 1000 np.exp overflows and the division gives NaN: "
        "take each row's largest score away before np.exp, as in exercise 1."
    ),
    section="alignment-softmax",
)
@np.errstate(over="ignore", invalid="ignore")
def masked_softmax_overflows(scores, mask):
    return _zero_for_nothing(np.where(mask, np.exp(scores), 0.0))


@masked_softmax.misconception(
    _(
        "You take away the largest score of all rows. A row far below it becomes 0/0: "
        "give each row its own maximum, with axis=-1 and keepdims=True."
    ),
    section="alignment-softmax",
)
def masked_with_one_maximum(scores, mask):
    hidden = np.where(mask, scores, -np.inf)
    return _zero_for_nothing(np.exp(hidden - hidden.max()))


@masked_softmax.misconception(
    _("Your weights sum to 1 over the queries. They should sum to 1 over the keys: axis=-1."),
    section="alignment-softmax",
)
def masked_over_the_queries(scores, mask):
    return _softmax(scores, np.broadcast_to(mask, scores.shape), axis=-2)


@masked_softmax.misconception(
    _(
        "Your softmax runs over axis 1. That is the keys of one table, "
        "but in a batch it is something else: axis=-1 is always the keys."
    ),
    section="alignment-softmax",
)
def masked_over_axis_1(scores, mask):
    return _softmax(scores, mask, axis=1)


@masked_softmax.variant
def masked_in_loops(scores, mask):
    return _row_by_row(
        lambda row, may: np.array(definition.softmax(row, may)),
        scores,
        np.broadcast_to(mask, scores.shape),
    )


@masked_softmax.variant
def masked_in_torch(scores, mask):
    hidden = torch.as_tensor(scores).masked_fill(~torch.as_tensor(mask), -torch.inf)
    return torch.softmax(hidden, dim=-1).nan_to_num(0.0)


@masked_softmax.variant
def masked_in_single_precision(scores, mask):
    return _softmax(scores.astype(np.float32), mask)


@masked_softmax.variant
def softmax_of_the_keys_that_count(scores, mask):
    def one_row(row, may):
        weights = np.zeros(len(row))
        if may.any():
            weights[may] = _softmax(row[may])
        return weights

    return _row_by_row(one_row, scores, np.broadcast_to(mask, scores.shape))


@masked_softmax.variant
def masked_with_a_large_number_and_a_last_look(scores, mask):
    # No score that the task allows is anywhere near -1e9.
    weights = _softmax_for_itself(np.where(mask, scores, -1e9))
    return np.where(mask, weights, 0.0)


# --- 3. find the bug: a decoder's mask --------------------------------------------------------


@chapter.exercise(
    title=_("Find the bugs in a decoder's mask"),
    goal=_("Find and mend three mistakes where a causal mask and a padding mask meet."),
    task="find the bug",
    difficulty=2,
    minutes=20,
    section="alignment-masked",
    hints=(
        _(
            "Redo the example of the task and look at each row: does word t see itself, "
            "does it see padding, and what does the row sum to?"
        ),
        _(
            "Print `causal` and `allowed` with `.int()`. In the first, look at the diagonal. In "
            "the second, ask of every 1 whether that key may be attended to."
        ),
        _(
            "One mistake in each of three lines: the number in `tril`, the meaning of True in "
            "`is_padding` (`~` turns a mask over), and the axis of the softmax."
        ),
    ),
)
def decoder_weights(scores, is_padding):
    q, k = scores.shape[-2:]
    causal = alignment.causal_mask(q, k, like=scores)
    return alignment.softmax(scores, causal & ~is_padding[..., None, :])


def _decoder_case(rng, q, is_padding):
    is_padding = np.array(is_padding)
    scores = _readable(rng, *is_padding.shape[:-1], q, is_padding.shape[-1])
    return Case(torch.tensor(scores, dtype=torch.float32), torch.tensor(is_padding))


def _padding_after(lengths, k):
    return np.arange(k) >= np.array(lengths)[..., None]


@decoder_weights.cases(points=1, label=_("one sentence, padded at its end"))
def one_padded_sentence(rng):
    yield _decoder_case(rng, 3, [False, False, True])
    yield _decoder_case(rng, 3, _padding_after(rng.integers(3, 5), 5))


@decoder_weights.cases(points=1, label=_("a batch of sentences of different lengths"))
def a_padded_batch(rng):
    yield _decoder_case(rng, 3, _padding_after([1, 2], 3))
    yield _decoder_case(rng, 2, _padding_after([3, 4, 5], 5))
    yield _decoder_case(rng, 5, _padding_after([7, 4, 6], 7))
    yield _decoder_case(rng, 2, _padding_after([[3, 5, 4], [4, 3, 5]], 5))


@decoder_weights.cases(points=1, label=_("padding in front: the first words see nothing"))
def padded_in_front(rng):
    yield _decoder_case(rng, 3, [[True, False, False], [False, False, False]])
    yield _decoder_case(rng, 5, [[True] * n + [False] * (5 - n) for n in (2, 0, 3)])


def _decoded(scores, is_padding, reach=0, upside_down=False, dim=-1, fill=-torch.inf):
    """Return a decoder's weights, right unless a keyword says otherwise."""
    q, k = scores.shape[-2:]
    hidden = ~is_padding if upside_down else is_padding
    allowed = torch.ones(q, k, dtype=torch.bool).tril(k - q + reach) & ~hidden[..., None, :]
    return torch.softmax(scores.masked_fill(~allowed, fill), dim=dim).nan_to_num(0.0)


@decoder_weights.misconception(
    _(
        "This is the function as you found it, with all three mistakes still in it. "
        "Redo the example of the task with it and look at one row after the other."
    )
)
def decoder_as_handed_out(scores, is_padding):
    return _decoded(scores, is_padding, reach=-1, upside_down=True, dim=-2)


@decoder_weights.misconception(
    _(
        "The softmax now runs over the keys. Two mistakes are left: a word can't see itself, and "
        "is_padding is True where a key must not be attended to."
    )
)
def only_the_axis_mended(scores, is_padding):
    return _decoded(scores, is_padding, reach=-1, upside_down=True)


@decoder_weights.misconception(
    _(
        "Padding is left out now. Two mistakes are left: a word can't see itself, and your weights "
        "sum to 1 over the queries instead of the keys."
    )
)
def only_the_polarity_mended(scores, is_padding):
    return _decoded(scores, is_padding, reach=-1, dim=-2)


@decoder_weights.misconception(
    _(
        "A word sees itself now. Two mistakes are left: is_padding is True where a key must not be "
        "attended to, and your weights sum to 1 over the queries instead of the keys."
    )
)
def only_the_diagonal_mended(scores, is_padding):
    return _decoded(scores, is_padding, upside_down=True, dim=-2)


@decoder_weights.misconception(
    _(
        "One mistake is left: your queries attend to the padding. is_padding is True where a key "
        "must not be attended to, allowed is True where it may: turn one over with ~."
    )
)
def attends_to_the_padding(scores, is_padding):
    return _decoded(scores, is_padding, upside_down=True)


@decoder_weights.misconception(
    _(
        "One mistake is left: your weights sum to 1 over the queries. "
        "They should sum to 1 over the keys, the last axis."
    ),
    section="alignment-softmax",
)
def decoder_softmax_over_the_queries(scores, is_padding):
    return _decoded(scores, is_padding, dim=-2)


@decoder_weights.misconception(
    _(
        "One mistake is left: a word can't see itself, and the first one sees nothing at all. "
        "Query t may attend to keys 1 to t, the diagonal included."
    )
)
def own_position_left_out(scores, is_padding):
    return _decoded(scores, is_padding, reach=-1)


@decoder_weights.misconception(
    _(
        "Your words see the next one. Query t may attend to keys 1 to t and no further: "
        "with as many queries as keys that is tril(0)."
    )
)
def one_word_of_the_future(scores, is_padding):
    return _decoded(scores, is_padding, reach=1)


@decoder_weights.misconception(
    _(
        "Your causal mask is the wrong triangle: words see what comes later. "
        "Query t may attend to keys 1 to t: tril keeps the lower triangle."
    )
)
def the_wrong_triangle(scores, is_padding):
    q, k = scores.shape[-2:]
    allowed = torch.ones(q, k, dtype=torch.bool).triu(k - q) & ~is_padding[..., None, :]
    return torch.softmax(scores.masked_fill(~allowed, -torch.inf), dim=-1).nan_to_num(0.0)


@decoder_weights.misconception(
    _(
        "With fewer queries than keys you take the queries for the first words. They are the last "
        "ones, so they see k - q words more: keep k - q in tril."
    )
)
def queries_taken_for_the_first_words(scores, is_padding):
    q, k = scores.shape[-2:]
    return _decoded(scores, is_padding, reach=q - k)


@decoder_weights.misconception(
    _(
        "A key is allowed if both masks allow it, and yours is content with one of them. "
        "Combine them with &, not with |."
    )
)
def one_mask_is_enough(scores, is_padding):
    q, k = scores.shape[-2:]
    allowed = torch.ones(q, k, dtype=torch.bool).tril(k - q) | ~is_padding[..., None, :]
    return torch.softmax(scores.masked_fill(~allowed, -torch.inf), dim=-1).nan_to_num(0.0)


@decoder_weights.misconception(
    _(
        "You turned allowed over as a whole, after two dialects had been mixed in it. "
        "Turn is_padding over before you combine it with the causal mask."
    )
)
def turned_over_too_late(scores, is_padding):
    q, k = scores.shape[-2:]
    mixed = torch.ones(q, k, dtype=torch.bool).tril(k - q) & is_padding[..., None, :]
    return torch.softmax(scores.masked_fill(mixed, -torch.inf), dim=-1).nan_to_num(0.0)


@decoder_weights.misconception(
    _("You lost the causal mask: words see what comes later. Combine both masks with &.")
)
def no_causal_mask(scores, is_padding):
    return _decoded(scores, is_padding, reach=scores.shape[-1])


@decoder_weights.misconception(
    _("You lost the padding mask: words attend to padding. Combine both masks with &.")
)
def no_padding_mask(scores, is_padding):
    return _decoded(scores, torch.zeros_like(is_padding))


@decoder_weights.misconception(
    _(
        "Where a word sees nothing you return NaN, the softmax over no key. "
        "Keep the last line, which makes 0 of it."
    )
)
def decoder_returns_nan(scores, is_padding):
    weights = _decoded(scores, is_padding)
    return torch.where(weights.sum(dim=-1, keepdim=True) > 0, weights, torch.nan)


@decoder_weights.misconception(
    _(
        "Where a word sees nothing, all its scores are the same large negative number, and equal "
        "scores get equal weights. Its weights should be 0: keep minus infinity in masked_fill."
    )
)
def decoder_uniform_over_the_padding(scores, is_padding):
    return _decoded(scores, is_padding, fill=-1e9)


@decoder_weights.misconception(
    _(
        "Your padding mask lies along the queries. It says which keys are padding, and the keys "
        "are the last axis: is_padding[..., None, :], as in the function you found."
    )
)
def padding_along_the_queries(scores, is_padding):
    q, k = scores.shape[-2:]
    allowed = torch.ones(q, k, dtype=torch.bool).tril(k - q) & ~is_padding[..., :, None]
    return torch.softmax(scores.masked_fill(~allowed, -torch.inf), dim=-1).nan_to_num(0.0)


@decoder_weights.variant
def decoder_in_loops(scores, is_padding):
    scores, is_padding = np.asarray(scores), np.asarray(is_padding)
    if scores.ndim > 2:
        return [decoder_in_loops(*pair) for pair in zip(scores, is_padding, strict=True)]
    q, k = scores.shape
    return [
        definition.softmax(
            [float(e) for e in scores[i]],
            [place <= i + k - q and not is_padding[place] for place in range(k)],
        )
        for i in range(q)
    ]


@decoder_weights.variant
def decoder_in_numpy(scores, is_padding):
    scores, is_padding = np.asarray(scores), np.asarray(is_padding)
    q, k = scores.shape[-2:]
    last = np.arange(q)[:, None] + k - q
    return _softmax(scores, (np.arange(k) <= last) & ~is_padding[..., None, :])


@decoder_weights.variant
def decoder_with_the_masks_of_a_library(scores, is_padding):
    # True where a key is left out, as `nn.MultiheadAttention` wants both masks.
    q, k = scores.shape[-2:]
    later = torch.ones(q, k, dtype=torch.bool).triu(k - q + 1)
    left_out = later | is_padding.unsqueeze(-2)
    weights = scores.double().masked_fill(left_out, -1e9).softmax(dim=-1)
    return weights * ~left_out


# --- 4. local monotonic -----------------------------------------------------------------------


@chapter.exercise(
    title=_("A window that moves with the output"),
    goal=_("Let output step t attend to the keys from t - D to t + D that exist."),
    difficulty=2,
    minutes=15,
    section="alignment-local-monotonic",
    hints=(
        _("A window is a mask. Which keys are in it, and what does your exercise 2 do with it?"),
        _(
            "Number the keys, `np.arange(1, k + 1)`, and compare: key l is in the window of step t "
            "if it is at most D away. A key that does not exist has no number, so it drops out."
        ),
        _(
            "`np.abs(places - steps[..., None]) <= half_width` has the shape (..., q, k). "
            "Hand it to your `masked_softmax`."
        ),
    ),
    uses=("masked_softmax",),
)
def local_monotonic(scores, steps, half_width):
    return alignment.local_monotonic(scores, steps, half_width)


@local_monotonic.cases(points=1, label=_("windows inside the sentence"))
def windows_inside(rng):
    yield Case(_readable(rng, 1, 3), np.array([2]), 1)
    yield Case(_readable(rng, 2, 5), np.array([2, 3]), 1)
    yield _best_outside(_readable(rng, 2, 5), np.array([2, 4]), 1)
    yield Case(_readable(rng, 3, 7), np.array([3, 4, 5]), 2)


def _best_outside(scores, centres, half_width):
    """Return a case whose best keys by far lie outside the windows."""
    inside = np.abs(_offsets(scores, centres)) <= half_width
    return Case(np.where(inside, scores, 900.0), centres, half_width)


@local_monotonic.cases(points=1, label=_("windows that are clipped at both ends"))
def clipped_windows(rng):
    yield Case(_readable(rng, 2, 3), np.array([1, 3]), 1)
    yield Case(_readable(rng, 5, 7), np.arange(2, 7), 3)


@local_monotonic.cases(points=1, label=_("batches, each sentence at steps of its own"))
def batches_of_windows(rng):
    yield Case(_readable(rng, 2, 3, 5), np.array([[1, 2, 3], [3, 4, 5]]), 1)
    yield Case(_huge(rng, 3, 2, 7), rng.integers(1, 8, (3, 2)), 2)
    yield Case(_readable(rng, 5, 2, 3), rng.integers(1, 4, (5, 2)), 0)
    yield Case(_readable(rng, 2, 3, 5, 7), rng.integers(1, 8, (2, 3, 5)), 1)


@local_monotonic.cases(points=1, label=_("a step after the end: no key in reach, weights 0"))
def windows_past_the_end(rng):
    yield Case(_readable(rng, 2, 3), np.array([3, 5]), 1)
    yield Case(_readable(rng, 3, 5), np.array([7, 8, 9]), 2)


def _inside(scores, steps, half_width):
    return np.abs(_offsets(scores, steps)) <= half_width


@local_monotonic.misconception(
    _(
        "Your window is not clipped: before the first key the index is negative, and Python then "
        "counts from the end; after the last key there is none. Keep the keys from 1 to k only."
    )
)
def window_wraps_around(scores, steps, half_width):
    def one_row(row, t):
        weights = np.zeros(len(row))
        window = range(t - half_width, t + half_width + 1)
        best = max(row[place - 1] for place in window)
        for place in window:
            weights[place - 1] = np.exp(row[place - 1] - best)
        return weights / sum(np.exp(row[place - 1] - best) for place in window)

    return _row_by_row(one_row, scores, steps)


@local_monotonic.misconception(
    _(
        "Your window is not clipped: keys that do not exist count in the sum with the score 0, so "
        "a row at either end sums to less than 1. Sum over the keys that exist."
    )
)
def missing_keys_in_the_sum(scores, steps, half_width):
    beyond = [(0, 0)] * (scores.ndim - 1) + [(half_width, half_width)]
    padded = np.pad(scores, beyond)
    weights = _softmax(padded, _inside(padded, steps + half_width, half_width))
    return weights[..., half_width : half_width + scores.shape[-1]]


@local_monotonic.misconception(
    _(
        "At the ends you push the window back, so that it keeps 2D + 1 keys. "
        "It is cut off there instead: at step 1 it has D + 1 keys."
    )
)
def window_pushed_inwards(scores, steps, half_width):
    k = scores.shape[-1]
    return _softmax(
        scores,
        _inside(scores, np.clip(steps, 1 + half_width, max(k - half_width, 1)), half_width),
    )


@local_monotonic.misconception(
    _(
        "Your window stands one key too far to the right: you count keys from 0 and steps from 1. "
        "At step 1 the window is around the first key."
    )
)
def window_one_too_far(scores, steps, half_width):
    return _softmax(scores, _inside(scores, steps + 1, half_width))


@local_monotonic.misconception(
    _(
        "Your window lacks its last key, t + D. Python's ranges and slices stop one before their "
        "end; the window has 2D + 1 keys."
    )
)
def last_key_missing(scores, steps, half_width):
    offsets = _offsets(scores, steps)
    return _softmax(scores, (offsets >= -half_width) & (offsets < half_width))


@local_monotonic.misconception(
    _("Your window lacks its first key, t - D. A key exactly D away is inside, on both sides.")
)
def first_key_missing(scores, steps, half_width):
    offsets = _offsets(scores, steps)
    return _softmax(scores, (offsets > -half_width) & (offsets <= half_width))


@local_monotonic.misconception(
    _("Your window lacks both its edges. A key exactly D away is inside: <=, not <.")
)
def both_edges_missing(scores, steps, half_width):
    return _softmax(scores, np.abs(_offsets(scores, steps)) < half_width)


@local_monotonic.misconception(
    _("Your window has the width D in all. It reaches D to each side: 2D + 1 keys.")
)
def window_half_as_wide(scores, steps, half_width):
    return _softmax(scores, _inside(scores, steps, half_width / 2))


@local_monotonic.misconception(
    _("Your window looks back only, from t - D to t. It looks ahead as far: up to t + D.")
)
def window_looks_back_only(scores, steps, half_width):
    offsets = _offsets(scores, steps)
    return _softmax(scores, (offsets >= -half_width) & (offsets <= 0))


@local_monotonic.misconception(
    _(
        "You take the softmax over all keys and cut the window out of it, so a row sums to less "
        "than 1. The softmax runs over the window alone."
    )
)
def window_after_the_softmax(scores, steps, half_width):
    return _softmax(scores) * _inside(scores, steps, half_width)


_NAN_AFTER_CUTTING = _(
    "You take the softmax over all keys, cut the window out, and divide again. Where a key outside "
    "has got all the weight, 0/0 is left, which is NaN: leave the keys out before the softmax."
)
_NOTHING_AFTER_CUTTING = _(
    "You take the softmax over all keys, cut the window out, and divide again. Where a key outside "
    "has got all the weight, nothing is left in the window: leave the keys out before the softmax."
)


@local_monotonic.misconception(_NAN_AFTER_CUTTING, section="alignment-masked")
@np.errstate(invalid="ignore")
def window_cut_out_and_divided_again(scores, steps, half_width):
    return _shares(window_after_the_softmax(scores, steps, half_width))


@local_monotonic.misconception(_NOTHING_AFTER_CUTTING, section="alignment-masked")
def window_cut_out_and_divided_if_it_can_be(scores, steps, half_width):
    return _zero_for_nothing(window_after_the_softmax(scores, steps, half_width))


@local_monotonic.misconception(
    _(
        "You put the window of row i around key i. A row need not be the step of its number: "
        "use `steps`, where each query says at which step it is."
    )
)
def row_numbers_instead_of_steps(scores, steps, half_width):
    rows = np.arange(1, scores.shape[-2] + 1)
    return _softmax(scores, _inside(scores, rows, half_width))


@local_monotonic.misconception(
    _(
        "One table works, a batch does not. Count the axes from the end: steps[..., None] has an "
        "axis for the keys, with a batch and without."
    )
)
def windows_for_one_table_only(scores, steps, half_width):
    places = np.arange(1, scores.shape[-1] + 1)
    return _softmax(scores, np.abs(places - steps[:, None]) <= half_width)


@local_monotonic.misconception(
    _(
        "You multiply by a Gaussian. That belongs to local-p; local-m has the window alone, and "
        "its weights sum to 1."
    ),
    section="alignment-local-predictive",
)
def gaussian_in_local_m(scores, steps, half_width):
    fade = np.exp(-2 * (_offsets(scores, steps) / max(half_width, 1e-9)) ** 2)
    return _softmax(scores, _inside(scores, steps, half_width)) * fade


@local_monotonic.misconception(
    _(
        "All keys of your window weigh the same. The window says who may be attended to; "
        "how much is still up to the scores."
    )
)
def all_alike_in_the_window(scores, steps, half_width):
    return _softmax(np.zeros_like(scores), _inside(scores, steps, half_width))


@local_monotonic.misconception(
    _(
        "A step after the end, with no key in its window: you return NaN. "
        "Such a row is masked out whole, and its weights are 0."
    ),
    section="alignment-masked",
)
@np.errstate(invalid="ignore")
def nan_for_an_empty_window(scores, steps, half_width):
    inside = _inside(scores, steps, half_width)
    return _softmax_for_itself(np.where(inside, scores, -np.inf))


@local_monotonic.misconception(
    _(
        "A step after the end, with no key in its window: a large negative number makes all keys "
        "equal, and they share the weight. The weights should be 0."
    ),
    section="alignment-masked",
)
def all_keys_for_an_empty_window(scores, steps, half_width):
    inside = _inside(scores, steps, half_width)
    return _softmax_for_itself(np.where(inside, scores, -1e9))


@local_monotonic.variant
def windows_in_loops(scores, steps, half_width):
    return _row_by_row(
        lambda row, t: np.array(definition.local_monotonic(row, t, half_width)), scores, steps
    )


@local_monotonic.variant
def windows_by_slices(scores, steps, half_width):
    def one_row(row, t):
        weights = np.zeros(len(row))
        first, last = max(t - half_width - 1, 0), min(t + half_width, len(row))
        if first < last:
            weights[first:last] = _softmax(row[first:last])
        return weights

    return _row_by_row(one_row, scores, steps)


@local_monotonic.variant
def windows_in_torch(scores, steps, half_width):
    scores, steps = torch.as_tensor(scores), torch.as_tensor(steps)
    places = torch.arange(scores.shape[-1]) + 1
    outside = (places - steps.unsqueeze(-1)).abs() > half_width
    return scores.masked_fill(outside, -torch.inf).softmax(dim=-1).nan_to_num(0.0)


@local_monotonic.variant
def windows_in_single_precision(scores, steps, half_width):
    return _softmax(scores.astype(np.float32), _inside(scores, steps, half_width))


# --- 5. find the bug: local predictive --------------------------------------------------------


@chapter.exercise(
    title=_("Find the bugs in a predicted window"),
    goal=_("Find and mend two mistakes in the Gaussian that fades a window out."),
    task="find the bug",
    difficulty=2,
    minutes=15,
    section="alignment-local-predictive",
    hints=(
        _("Redo the example of the task with a pencil and compare after each line."),
        _(
            "Which standard deviation does the formula give for D = 2? And what may the weights of "
            "a query sum to?"
        ),
        _(
            "The standard deviation is half of D. The Gaussian multiplies what the softmax gave, "
            "and that is the end: nobody divides by the sum again."
        ),
    ),
)
def local_predictive(scores, positions, half_width):
    return alignment.local_predictive(scores, positions, half_width)


@local_predictive.cases(points=1, label=_("positions between the keys"))
def positions_between(rng):
    yield Case(_readable(rng, 1, 3), np.array([1.4]), 2)
    yield Case(_readable(rng, 2, 5), _between(rng, 5, 2), 2)
    yield _best_outside(_readable(rng, 2, 5), np.array([1.4, 4.3]), 2)
    yield Case(_readable(rng, 5, 7), _between(rng, 7, 5), 3)


@local_predictive.cases(points=1, label=_("positions on a key, and next to both ends"))
def positions_on_a_key(rng):
    yield Case(_readable(rng, 3, 5), np.array([2.0, 3.0, 4.0]), 1)
    yield Case(_readable(rng, 3, 7), np.array([0.3, 4.0, 6.8]), 3)


@local_predictive.cases(points=1, label=_("batches of positions (..., q), large scores"))
def batches_of_positions(rng):
    yield Case(_readable(rng, 2, 3, 5), _between(rng, 5, 2, 3), 2)
    yield Case(_huge(rng, 3, 2, 7), _between(rng, 7, 3, 2), 3)
    yield Case(_readable(rng, 2, 3, 5, 7), _between(rng, 7, 2, 3, 5), 2)


def _local(scores, positions, half_width, sigma=None, keep=None):
    """Return local-p, right unless a keyword says otherwise: sigma, or which keys are kept."""
    offsets = _offsets(scores, positions)
    inside = np.abs(offsets) <= half_width if keep is None else keep
    sigma = half_width / 2 if sigma is None else sigma
    return _softmax(scores, inside) * np.exp(-(offsets**2) / (2 * sigma**2))


@local_predictive.misconception(
    _(
        "This is the function as you found it, with both mistakes still in it. "
        "Redo the example of the task: which factor do the outer keys get, and what is the sum?"
    )
)
def local_p_as_handed_out(scores, positions, half_width):
    return _shares(_local(scores, positions, half_width, sigma=half_width))


@local_predictive.misconception(
    _(
        "One mistake is left: your sigma is D. It is D / 2, so that the Gaussian has fallen to "
        "exp(-2), about 0.135, at the edge of the window."
    )
)
def sigma_is_the_whole_half_width(scores, positions, half_width):
    return _local(scores, positions, half_width, sigma=half_width)


@local_predictive.misconception(
    _(
        "One mistake is left: you divide by the sum after the Gaussian. Local-p multiplies and "
        "leaves it at that, so a row sums to less than 1."
    )
)
def renormalised_after_the_gaussian(scores, positions, half_width):
    return _shares(_local(scores, positions, half_width))


@local_predictive.misconception(
    _("You add the Gaussian to the weights. It multiplies them, and fades out what is far from p.")
)
def gaussian_added(scores, positions, half_width):
    offsets = _offsets(scores, positions)
    inside = np.abs(offsets) <= half_width
    gaussian = np.exp(-(offsets**2) / (2 * (half_width / 2) ** 2))
    return np.where(inside, _softmax(scores, inside) + gaussian, 0.0)


@local_predictive.misconception(
    _(
        "There is a factor 2 missing under the fraction: the exponent is "
        "-(l - p)² / (2 sigma²), with sigma = D / 2."
    )
)
def two_missing_under_the_fraction(scores, positions, half_width):
    return _local(scores, positions, half_width, sigma=half_width / 2 / np.sqrt(2))


@local_predictive.misconception(
    _("You squared the 2 as well. Under the fraction stands 2 sigma², not (2 sigma)².")
)
def two_inside_the_square(scores, positions, half_width):
    return _local(scores, positions, half_width, sigma=half_width / np.sqrt(2))


@local_predictive.misconception(
    _(
        "You multiply by sigma². Without brackets, x / 2 * sigma**2 divides by 2 alone: "
        "write x / (2 * sigma**2)."
    )
)
def brackets_missing(scores, positions, half_width):
    return _local(scores, positions, half_width, sigma=2 / half_width)


@local_predictive.misconception(
    _(
        "You divide by the square root of 2 pi sigma², as a probability density does. "
        "Here the Gaussian is a plain factor, 1 at p itself."
    )
)
def gaussian_as_a_density(scores, positions, half_width):
    density = np.sqrt(2 * np.pi * (half_width / 2) ** 2)
    return _local(scores, positions, half_width) / density


@local_predictive.misconception(
    _("You round sigma down. It is half of D, 1.5 for D = 3: half_width / 2, not half_width // 2.")
)
@np.errstate(divide="ignore", invalid="ignore")
def sigma_rounded_down(scores, positions, half_width):
    return _local(scores, positions, half_width, sigma=half_width // 2)


@local_predictive.misconception(
    _("Your window lacks its edges. A key exactly D away from p is inside: <=, not <.")
)
def local_p_without_its_edges(scores, positions, half_width):
    keep = np.abs(_offsets(scores, positions)) < half_width
    return _local(scores, positions, half_width, keep=keep)


@local_predictive.misconception(
    _("You did not square sigma: the exponent is -(l - p)² / (2 sigma²), with sigma = D / 2.")
)
def sigma_not_squared(scores, positions, half_width):
    return _local(scores, positions, half_width, sigma=np.sqrt(half_width / 2))


@local_predictive.misconception(
    _(
        "You lost the window: keys more than D away still get weight. "
        "The Gaussian is about 0.135 at the edge, which is not nothing."
    )
)
def gaussian_without_a_window(scores, positions, half_width):
    return _local(scores, positions, half_width, keep=np.ones(scores.shape, dtype=bool))


@local_predictive.misconception(
    _("You lost the Gaussian: inside the window nothing fades. A window alone is local-m."),
    section="alignment-local-monotonic",
)
def window_without_a_gaussian(scores, positions, half_width):
    return _local(scores, positions, half_width, sigma=np.inf)


@local_predictive.misconception(
    _("You rounded the position. It stays a real number, in the window and in the Gaussian.")
)
def position_rounded(scores, positions, half_width):
    return _local(scores, np.round(positions), half_width)


@local_predictive.misconception(
    _("You count the keys from 0. Positions lie between 0 and S, and the keys are 1 to S.")
)
def keys_counted_from_0(scores, positions, half_width):
    return _local(scores, positions + 1, half_width)


@local_predictive.misconception(
    _(
        "You take the softmax over all keys and cut the window out of it. The softmax runs over "
        "the window alone; then comes the Gaussian."
    )
)
def local_p_cut_out_of_a_softmax(scores, positions, half_width):
    everywhere = gaussian_without_a_window(scores, positions, half_width)
    return everywhere * (np.abs(_offsets(scores, positions)) <= half_width)


@local_predictive.misconception(_NAN_AFTER_CUTTING, section="alignment-masked")
@np.errstate(invalid="ignore")
def local_p_cut_out_and_divided_again(scores, positions, half_width):
    weights = window_cut_out_and_divided_again(scores, positions, half_width)
    return weights * np.exp(-2 * (_offsets(scores, positions) / half_width) ** 2)


@local_predictive.misconception(_NOTHING_AFTER_CUTTING, section="alignment-masked")
def local_p_cut_out_and_divided_if_it_can_be(scores, positions, half_width):
    weights = window_cut_out_and_divided_if_it_can_be(scores, positions, half_width)
    return weights * np.exp(-2 * (_offsets(scores, positions) / half_width) ** 2)


@local_predictive.variant
def predicted_windows_in_loops(scores, positions, half_width):
    return _row_by_row(
        lambda row, p: np.array(definition.local_predictive(row, p, half_width)), scores, positions
    )


@local_predictive.variant
def predicted_windows_in_torch(scores, positions, half_width):
    scores, positions = torch.as_tensor(scores), torch.as_tensor(positions)
    offsets = torch.arange(1, scores.shape[-1] + 1) - positions.unsqueeze(-1)
    hidden = scores.masked_fill(offsets.abs() > half_width, -torch.inf)
    return hidden.softmax(dim=-1) * torch.exp(-2 * (offsets / half_width) ** 2)


@local_predictive.variant
def predicted_windows_in_single_precision(scores, positions, half_width):
    return _local(scores.astype(np.float32), positions.astype(np.float32), half_width)


# --- 6. predict -------------------------------------------------------------------------------


@chapter.exercise(
    title=_("Predict five numbers"),
    goal=_("Say, before you compute it, what softmax, masks and windows do to small examples."),
    task="predict",
    difficulty=1,
    minutes=10,
    section="alignment-masked",
    kind="value",
    hints=(
        _("Softmax sees differences of scores only. Here the difference is ln 3, twice."),
        _(
            "At the temperature 1/2 the difference doubles, and the ratio of two weights is the "
            "exponential of the difference. A softmax does not know that -1e9 means anything."
        ),
        _(
            "First: 3 to 1. Second: 9 to 1. Third: three equal weights, one of them taken away. "
            "Fourth: equal scores, whatever they are. Fifth: count the whole numbers from 5.5 to "
            "9.5 that are keys."
        ),
    ),
)
def predicted_weights():
    two_scores = np.array([1000.0, 1000.0 + np.log(3)])
    row = np.zeros(4)
    window = definition.window(8, centre=7.5, half_width=2)
    return [
        float(alignment.softmax(two_scores)[1]),
        float(alignment.softmax(two_scores, temperature=0.5)[1]),
        float(alignment.softmax(row[:3])[:2].sum()),
        float(alignment.softmax(row - 1e9)[0]),
        sum(window),
    ]


@predicted_weights.cases(points=2, label=_("five numbers"))
def no_inputs(rng):
    yield Case()


@predicted_weights.misconception(
    _(
        "Your first number says that large scores are nearly the same. Softmax sees their "
        "difference, ln 3, and not that both are near 1000."
    ),
    section="alignment-softmax",
)
def large_scores_nearly_equal():
    return [1 / 2, 9 / 10, 2 / 3, 1 / 4, 3]


@predicted_weights.misconception(
    _(
        "At a low temperature your weights come closer together. Dividing by 1/2 doubles the "
        "difference: the best key gets more."
    ),
    section="alignment-softmax",
)
def temperature_the_wrong_way_round():
    return [3 / 4, 3**0.5 / (1 + 3**0.5), 2 / 3, 1 / 4, 3]


@predicted_weights.misconception(
    _(
        "Your second number doubles the ratio of the weights. Doubling the difference of the "
        "scores squares the ratio: 3 to 1 becomes 9 to 1."
    ),
    section="alignment-softmax",
)
def ratio_doubled():
    return [3 / 4, 6 / 7, 2 / 3, 1 / 4, 3]


@predicted_weights.misconception(
    _(
        "Your third number shares the weight out again. Here the mask comes after the softmax, "
        "and nobody does: what the masked key had is lost."
    )
)
def shared_out_again():
    return [3 / 4, 9 / 10, 1, 1 / 4, 3]


@predicted_weights.misconception(
    _(
        "Your fourth number is what the weight should be. With -1e9 everywhere all scores are "
        "equal, and a softmax of equal scores is uniform."
    )
)
def nothing_for_a_masked_row():
    return [3 / 4, 9 / 10, 2 / 3, 0, 3]


@predicted_weights.misconception(
    _(
        "Your window is not clipped: 9 is in reach of 7.5, but there are only 8 keys. "
        "Count the keys that exist."
    ),
    section="alignment-local-predictive",
)
def window_not_clipped():
    return [3 / 4, 9 / 10, 2 / 3, 1 / 4, 4]


@predicted_weights.misconception(
    _(
        "You counted 2D + 1 keys. That is a whole position far from both ends; around 7.5 the "
        "window reaches from 5.5 to 9.5, and the keys end at 8."
    ),
    section="alignment-local-predictive",
)
def always_2d_plus_1_keys():
    return [3 / 4, 9 / 10, 2 / 3, 1 / 4, 5]


@predicted_weights.variant
def numbers_as_decimals():
    return [0.75, 0.9, 0.6667, 0.25, 3.0]


@predicted_weights.variant
def numbers_as_an_array():
    return np.array([3 / 4, 9 / 10, 2 / 3, 1 / 4, 3], dtype=np.float32)


@predicted_weights.variant
def numbers_as_a_tuple():
    return (3 / 4, 9 / 10, 2 / 3, 1 / 4, 3)


# --- 7. complete a training step --------------------------------------------------------------


@chapter.exercise(
    title=_("A step of REINFORCE"),
    goal=_("Draw one key for each query, and move the scores by what the draw earned."),
    task="complete the training step",
    difficulty=3,
    minutes=25,
    section="alignment-hard",
    hints=(
        _(
            "Lay the weights of a row end to end on a line from 0 to 1. The draw u falls into one "
            "of the pieces: that is the key."
        ),
        _(
            "`np.cumsum(weights, axis=-1)` are the right ends of the pieces. The number of ends "
            "that are not above u is the number of the key. `np.take_along_axis` picks its reward. "
            "(Rounding may leave the last end a hair below 1: `np.minimum(…, k - 1)` is safe.)"
        ),
        _(
            "With `one_hot = np.arange(k) == choice[..., None]` the gradient is "
            "`(earned - baseline) * (one_hot - weights)`. Rewards are to grow, so add it, times "
            "the learning rate."
        ),
    ),
)
def reinforce_step(scores, u, rewards, baseline, learning_rate):
    choice = _first_above(np.cumsum(alignment.softmax(scores), axis=-1), u)
    one_hot = np.equal(np.arange(scores.shape[-1]), choice[..., None])
    gradient = alignment.score_function_gradient(
        scores, one_hot[None], _earned(rewards, choice)[None, ..., 0], baseline
    )
    return choice, scores + learning_rate * gradient


def _draws(rng, scores):
    """Return draws u that lie well inside the piece of some key: no rounding decides."""
    weights = _softmax(scores)
    choice = (rng.random(scores.shape) * (weights > 0.01)).argmax(axis=-1)
    piece = _earned(weights, choice)[..., 0]
    end = _earned(np.cumsum(weights, axis=-1), choice)[..., 0]
    return np.round(end - piece * rng.uniform(0.3, 0.7, choice.shape), 3)


def _draw_case(rng, scores, baseline, learning_rate):
    rewards = np.round(rng.uniform(1, 5, scores.shape), 1)
    return Case(scores, _draws(rng, scores), rewards, baseline, learning_rate)


@reinforce_step.cases(points=2, label=_("a few queries, each with a draw of its own"))
def a_few_draws(rng):
    yield _draw_case(rng, _readable(rng, 1, 2, largest=1.0), 0.5, 0.5)
    yield _draw_case(rng, _readable(rng, 2, 3, largest=1.0), 1.5, 0.2)
    yield _draw_case(rng, _readable(rng, 5, 7, largest=1.0), 3.0, 0.1)


@reinforce_step.cases(points=1, label=_("batches (..., q, k), and large scores"))
def batches_of_draws(rng):
    yield _draw_case(rng, _readable(rng, 2, 3, 5, largest=1.0), 2.0, 0.3)
    yield _draw_case(rng, _huge(rng, 2, 3), 1.0, 0.5)
    yield _draw_case(rng, _readable(rng, 2, 3, 5, 7, largest=1.0), 1.5, 0.4)


@reinforce_step.cases(points=1, label=_("draws that fall on the end of a piece"))
def draws_at_an_end(rng):
    # Equal scores of 2 or 4 keys: the ends are halves and quarters, which every precision holds.
    for k, u in ((2, [0.5]), (4, [0.0, 0.25, 0.75])):
        rewards = np.round(rng.uniform(1, 5, (len(u), k)), 1)
        yield Case(np.full((len(u), k), 0.5), np.array(u), rewards, 0.5, 0.5)


def _stepped(scores, u, learning_rate, gradient):
    """Return the choice and the new scores for a gradient made of weights, choice and one-hot."""
    weights, choice, one_hot = _drawn(scores, u)
    return choice, scores + learning_rate * gradient(weights, choice, one_hot)


def _stepped_by(choice, scores, rewards, baseline, learning_rate):
    """Return the choice and the new scores for keys that were chosen in another way."""
    one_hot = np.arange(scores.shape[-1]) == choice[..., None]
    gradient = (_earned(rewards, choice) - baseline) * (one_hot - _softmax(scores))
    return choice, scores + learning_rate * gradient


@reinforce_step.misconception(
    _("You add the baseline to the reward. Subtract it: what counts is how much better than usual.")
)
def baseline_added(scores, u, rewards, baseline, learning_rate):
    return _stepped(
        scores, u, learning_rate, lambda a, m, hot: (_earned(rewards, m) + baseline) * (hot - a)
    )


@reinforce_step.misconception(
    _("Your gradient does not use the baseline. Subtract it from the reward that was earned.")
)
def baseline_not_used(scores, u, rewards, baseline, learning_rate):
    return _stepped(scores, u, learning_rate, lambda a, m, hot: _earned(rewards, m) * (hot - a))


@reinforce_step.misconception(
    _(
        "Your scores walk downhill: what earned much becomes rarer. A loss is to fall, but a "
        "reward is to grow: add the gradient."
    )
)
def rewards_made_rarer(scores, u, rewards, baseline, learning_rate):
    return _stepped(
        scores, u, learning_rate, lambda a, m, hot: -(_earned(rewards, m) - baseline) * (hot - a)
    )


@reinforce_step.misconception(
    _(
        "You move the score of the drawn key alone. The gradient of log a_m is 1 - a_m there and "
        "-a_j at every other key: one-hot minus weights."
    )
)
def drawn_key_alone(scores, u, rewards, baseline, learning_rate):
    return _stepped(
        scores, u, learning_rate, lambda a, m, hot: (_earned(rewards, m) - baseline) * hot
    )


@reinforce_step.misconception(
    _(
        "You move the score of the drawn key alone, by 1 - a_m. The other scores move too, "
        "each by -a_j: one-hot minus weights."
    )
)
def drawn_key_alone_by_one_minus_a(scores, u, rewards, baseline, learning_rate):
    return _stepped(
        scores,
        u,
        learning_rate,
        lambda a, m, hot: (_earned(rewards, m) - baseline) * hot * (1 - a),
    )


@reinforce_step.misconception(
    _(
        "You use 1 - a for every key. The 1 belongs to the drawn key alone; the others get 0 - a: "
        "one-hot minus weights."
    )
)
def one_minus_a_for_every_key(scores, u, rewards, baseline, learning_rate):
    return _stepped(
        scores, u, learning_rate, lambda a, m, hot: (_earned(rewards, m) - baseline) * (1 - a)
    )


@reinforce_step.misconception(
    _(
        "You use the reward of every key for itself. Only the drawn key was tried: its one reward, "
        "less the baseline, multiplies the whole row."
    )
)
def rewards_nobody_earned(scores, u, rewards, baseline, learning_rate):
    return _stepped(scores, u, learning_rate, lambda a, m, hot: (rewards - baseline) * (hot - a))


@reinforce_step.misconception(
    _(
        "Your reward is a row with zeros in it, so the other keys count as having earned 0. "
        "The one reward of the drawn key multiplies the whole row: sum with keepdims=True."
    )
)
def zeros_as_rewards(scores, u, rewards, baseline, learning_rate):
    return _stepped(
        scores, u, learning_rate, lambda a, m, hot: (rewards * hot - baseline) * (hot - a)
    )


@reinforce_step.misconception(
    _(
        "Your gradient pushes every key down, the drawn one too. "
        "There a 1 is missing: one-hot minus weights."
    )
)
def the_one_missing(scores, u, rewards, baseline, learning_rate):
    return _stepped(
        scores, u, learning_rate, lambda a, m, hot: (_earned(rewards, m) - baseline) * -a
    )


@reinforce_step.misconception(
    _(
        "This is the exact gradient of the expected reward, a_j (R_j - J). It needs the rewards of "
        "all keys; REINFORCE knows the reward of the drawn one alone."
    )
)
def exact_gradient(scores, u, rewards, baseline, learning_rate):
    return _stepped(
        scores,
        u,
        learning_rate,
        lambda a, m, hot: a * (rewards - (a * rewards).sum(axis=-1, keepdims=True)),
    )


@reinforce_step.misconception(
    _(
        "You multiply by the weight of the drawn key once more. That key was drawn with this very "
        "probability, so it is counted already: take the gradient of log a_m, not of a_m."
    )
)
def weight_counted_twice(scores, u, rewards, baseline, learning_rate):
    return _stepped(
        scores,
        u,
        learning_rate,
        lambda a, m, hot: (_earned(rewards, m) - baseline) * _earned(a, m) * (hot - a),
    )


@reinforce_step.misconception(
    _(
        "You took the derivative of log a_m by the weights, 1 / a_m. It is wanted by the scores, "
        "through the softmax: one-hot minus weights."
    )
)
def derivative_by_the_weights(scores, u, rewards, baseline, learning_rate):
    return _stepped(
        scores, u, learning_rate, lambda a, m, hot: (_earned(rewards, m) - baseline) * hot / a
    )


@reinforce_step.misconception(
    _(
        "You take the key with the largest weight. Hard attention draws: the key whose piece of "
        "the line from 0 to 1 holds u."
    )
)
def largest_weight_instead_of_a_draw(scores, u, rewards, baseline, learning_rate):
    return _stepped_by(scores.argmax(axis=-1), scores, rewards, baseline, learning_rate)


@reinforce_step.misconception(
    _(
        "You take the first key whose own weight is above u. Take the first whose running sum is: "
        "np.cumsum(weights, axis=-1) are the ends of the pieces."
    )
)
def first_weight_above_u(scores, u, rewards, baseline, learning_rate):
    choice = (_softmax(scores) > u[..., None]).argmax(axis=-1)
    return _stepped_by(choice, scores, rewards, baseline, learning_rate)


@reinforce_step.misconception(
    _(
        "You count the weights that are not above u. Count the ends of the pieces that are not: "
        "the running sum of the weights, np.cumsum(weights, axis=-1)."
    )
)
def weights_up_to_u_counted(scores, u, rewards, baseline, learning_rate):
    choice = _first_above(_softmax(scores), u)
    return _stepped_by(choice, scores, rewards, baseline, learning_rate)


@reinforce_step.misconception(
    _(
        "A draw that falls on the end of a piece belongs to the next one. "
        "Take the first key whose running sum is above u, not equal to it."
    )
)
def end_belongs_to_the_piece_before(scores, u, rewards, baseline, learning_rate):
    choice = (np.cumsum(_softmax(scores), axis=-1) < u[..., None]).sum(axis=-1)
    return _stepped_by(choice, scores, rewards, baseline, learning_rate)


@reinforce_step.misconception(
    _("Your choice counts the keys from 1. Return it as an index, the first key being 0.")
)
def choice_counted_from_1(scores, u, rewards, baseline, learning_rate):
    choice, after = reinforce_step.reference(scores, u, rewards, baseline, learning_rate)
    return choice + 1, after


@reinforce_step.misconception(
    _("Your step is the whole gradient. Multiply it by the learning rate first.")
)
def step_without_the_learning_rate(scores, u, rewards, baseline, learning_rate):
    return reinforce_step.reference(scores, u, rewards, baseline, 1.0)


@reinforce_step.misconception(
    _(
        "You add the step to the weights. The scores are what is trained; the weights follow from "
        "them: scores + learning_rate * gradient."
    )
)
def weights_moved_instead_of_scores(scores, u, rewards, baseline, learning_rate):
    choice, after = reinforce_step.reference(scores, u, rewards, baseline, learning_rate)
    return choice, after - scores + _softmax(scores)


@reinforce_step.misconception(
    _("You return the gradient. Return the new scores: scores + learning_rate * gradient.")
)
def gradient_instead_of_scores(scores, u, rewards, baseline, learning_rate):
    choice, after = reinforce_step.reference(scores, u, rewards, baseline, 1.0)
    return choice, after - scores


@reinforce_step.variant
def step_in_loops(scores, u, rewards, baseline, learning_rate):
    if scores.ndim > 2:
        parts = [
            step_in_loops(*part, baseline, learning_rate)
            for part in zip(scores, u, rewards, strict=True)
        ]
        return tuple(np.array(each) for each in zip(*parts, strict=True))
    choices, after = [], []
    for row, drawn, earns in zip(scores, u, rewards, strict=True):
        a = definition.softmax(row)
        m, end = 0, a[0]
        while end <= drawn:
            m += 1
            end += a[m]
        advantage = earns[m] - baseline
        choices.append(m)
        after.append([e + learning_rate * advantage * ((j == m) - a[j]) for j, e in enumerate(row)])
    return choices, after


@reinforce_step.variant
def step_by_autograd(scores, u, rewards, baseline, learning_rate):
    parameter = torch.tensor(scores, requires_grad=True)
    log_weights = torch.log_softmax(parameter, dim=-1)
    ends = log_weights.detach().exp().cumsum(dim=-1)
    choice = torch.searchsorted(ends, torch.tensor(u)[..., None], right=True)
    advantage = torch.tensor(rewards).gather(-1, choice) - baseline
    (advantage * log_weights.gather(-1, choice)).sum().backward()
    with torch.no_grad():
        return choice[..., 0], parameter + learning_rate * parameter.grad


@reinforce_step.variant
def step_in_single_precision(scores, u, rewards, baseline, learning_rate):
    scores, u, rewards = (part.astype(np.float32) for part in (scores, u, rewards))
    weights, choice, one_hot = _drawn(scores, u)
    advantage = _earned(rewards, choice) - np.float32(baseline)
    return choice, scores + np.float32(learning_rate) * advantage * (one_hot - weights)


# --- 8. an experiment -------------------------------------------------------------------------


@chapter.exercise(
    title=_("Learn where to look from rewards alone"),
    goal=_("Train hard attention with a moving baseline, and see what training without one does."),
    task="reproduce",
    difficulty=3,
    minutes=25,
    section="alignment-hard",
    hints=(
        _("Training is a loop around `reinforce_step`, once for each row of `uniforms`."),
        _(
            "In the loop: first the step with the baseline so far, then the new baseline, made of "
            "the old one and of the mean reward that this step's choices earned."
        ),
        _(
            "`earned = np.take_along_axis(rewards, choice[..., None], axis=-1)`, then "
            "`baseline = decay * baseline + (1 - decay) * earned.mean()`. After the loop, the "
            "weights of the last scores times the rewards, summed over the keys, then the mean."
        ),
    ),
    uses=("reinforce_step", "stable_softmax"),
)
def train_hard(scores, uniforms, rewards, learning_rate, decay):
    return _trained(scores, uniforms, rewards, learning_rate, decay)


def _trained(scores, uniforms, rewards, learning_rate, decay, step=None, update=None):
    """Return the expected reward after training, and the baseline.

    `step(scores, u, baseline)` and `update(number, baseline, earned)` are for wrong solutions.
    """

    def right_step(scores, u, baseline):
        return reinforce_step.reference(scores, u, rewards, baseline, learning_rate)

    def right_update(number, baseline, earned):
        return decay * baseline + (1 - decay) * earned.mean()

    baseline = 0.0
    for number, u in enumerate(uniforms, start=1):
        choice, scores = (step or right_step)(scores, u, baseline)
        baseline = (update or right_update)(number, baseline, _earned(rewards, choice))
    return _expected_reward(scores, rewards), baseline


def _expected_reward(scores, rewards):
    return (alignment.softmax(scores) * rewards).sum(axis=-1).mean()


def _reward_case(rng, steps, *size, learning_rate, decay):
    scores = _readable(rng, *size, largest=1.0)
    rewards = np.round(rng.uniform(1, 5, size), 1)
    return Case(scores, rng.random((steps, *size[:-1])), rewards, learning_rate, decay)


@train_hard.cases(points=1, label=_("a few steps"))
def a_few_steps(rng):
    yield _reward_case(rng, 1, 2, 3, learning_rate=0.5, decay=0.7)
    yield _reward_case(rng, 3, 3, 5, learning_rate=0.2, decay=0.8)


@train_hard.cases(points=1, label=_("a batch of sentences"))
def a_few_steps_of_a_batch(rng):
    yield _reward_case(rng, 5, 2, 3, 5, learning_rate=0.3, decay=0.6)


@train_hard.cases(points=2, label=_("the experiment: six words, 200 steps, with a baseline"))
def the_experiment(rng):
    yield Case(*the_six_words(), 0.2, 0.9)


@train_hard.cases(points=1, label=_("the same without a baseline: decay 1"))
def the_experiment_without_a_baseline(rng):
    yield Case(*the_six_words(), 0.2, 1.0)


def the_six_words():
    """Return the experiment of the task: scores, draws, and rewards, 3 for the right word, else 2.

    Each word is to find the word it belongs to.
    """
    rewards = np.full((6, 6), 2.0)
    rewards[np.arange(6), [2, 2, 3, 3, 5, 3]] = 3.0
    return np.zeros((6, 6)), np.random.default_rng(0).random((200, 6)), rewards


@train_hard.misconception(
    _(
        "You update the baseline before the step, so it has already seen the reward that it is "
        "compared with. Step first, with the baseline so far, then update it."
    )
)
def baseline_updated_too_early(scores, uniforms, rewards, learning_rate, decay):
    baseline = 0.0
    for u in uniforms:
        earned = _earned(rewards, _drawn(scores, u)[1])
        baseline = decay * baseline + (1 - decay) * earned.mean()
        _choice, scores = reinforce_step.reference(scores, u, rewards, baseline, learning_rate)
    return _expected_reward(scores, rewards), baseline


@train_hard.misconception(
    _(
        "You have decay and 1 - decay the wrong way round: with decay 0.9 the baseline keeps nine "
        "tenths of its old value and takes one tenth of the new reward."
    )
)
def decay_the_wrong_way_round(scores, uniforms, rewards, learning_rate, decay):
    return _trained(
        scores,
        uniforms,
        rewards,
        learning_rate,
        decay,
        update=lambda number, baseline, earned: (1 - decay) * baseline + decay * earned.mean(),
    )


@train_hard.misconception(
    _(
        "Your baseline is kept up to date, but the steps do not use it. "
        "Hand it to reinforce_step in every step."
    )
)
def baseline_kept_but_not_used(scores, uniforms, rewards, learning_rate, decay):
    return _trained(
        scores,
        uniforms,
        rewards,
        learning_rate,
        decay,
        step=lambda scores, u, baseline: reinforce_step.reference(
            scores, u, rewards, 0.0, learning_rate
        ),
    )


@train_hard.misconception(
    _(
        "Your baseline is the plain mean of all rewards so far. Here it is a moving one, which "
        "forgets the early steps: decay * baseline + (1 - decay) * earned.mean()."
    )
)
def baseline_is_the_plain_mean(scores, uniforms, rewards, learning_rate, decay):
    return _trained(
        scores,
        uniforms,
        rewards,
        learning_rate,
        decay,
        update=lambda number, baseline, earned: baseline + (earned.mean() - baseline) / number,
    )


@train_hard.misconception(
    _(
        "Your baseline takes the sum of the rewards of a step. Take their mean, so that it can be "
        "compared with one reward."
    )
)
def baseline_from_the_sum(scores, uniforms, rewards, learning_rate, decay):
    return _trained(
        scores,
        uniforms,
        rewards,
        learning_rate,
        decay,
        update=lambda number, baseline, earned: decay * baseline + (1 - decay) * earned.sum(),
    )


@train_hard.misconception(
    _(
        "Every step starts from the first scores, so only the last one counts. "
        "Write scores = … in the loop: each step starts where the one before ended."
    )
)
def every_step_from_the_start(scores, uniforms, rewards, learning_rate, decay):
    return _trained(
        scores,
        uniforms,
        rewards,
        learning_rate,
        decay,
        step=lambda _scores, u, baseline: reinforce_step.reference(
            scores, u, rewards, baseline, learning_rate
        ),
    )


@train_hard.misconception(
    _(
        "Your baseline is right. Your expected reward is that of the scores before training: "
        "take the weights of the last scores."
    )
)
def expected_before_training(scores, uniforms, rewards, learning_rate, decay):
    _after, baseline = _trained(scores, uniforms, rewards, learning_rate, decay)
    return _expected_reward(scores, rewards), baseline


@train_hard.misconception(
    _(
        "You return what the last draws earned. The expected reward asks what every key would "
        "earn, times its weight: no draw is left in it."
    )
)
def last_reward_instead_of_the_expected(scores, uniforms, rewards, learning_rate, decay):
    earned = []

    def update(number, baseline, now):
        earned.append(now.mean())
        return decay * baseline + (1 - decay) * now.mean()

    _after, baseline = _trained(scores, uniforms, rewards, learning_rate, decay, update=update)
    return earned[-1], baseline


@train_hard.misconception(
    _(
        "Your expected reward is a sum over the queries. Sum over the keys, with the weights, "
        "then take the mean over the queries."
    )
)
def summed_over_the_queries(scores, uniforms, rewards, learning_rate, decay):
    after, baseline = _trained(scores, uniforms, rewards, learning_rate, decay)
    return after * np.prod(scores.shape[:-1]), baseline


@train_hard.misconception(
    _(
        "Your expected reward is a mean over the keys as well. The weights already share out: "
        "sum over the keys, then take the mean over the queries."
    )
)
def averaged_over_the_keys(scores, uniforms, rewards, learning_rate, decay):
    after, baseline = _trained(scores, uniforms, rewards, learning_rate, decay)
    return after / scores.shape[-1], baseline


@train_hard.misconception(
    _("Your two numbers are swapped. Return the expected reward first, then the baseline.")
)
def the_two_swapped(scores, uniforms, rewards, learning_rate, decay):
    after, baseline = _trained(scores, uniforms, rewards, learning_rate, decay)
    return baseline, after


@train_hard.variant
def experiment_in_single_precision(scores, uniforms, rewards, learning_rate, decay):
    scores, uniforms, rewards = (a.astype(np.float32) for a in (scores, uniforms, rewards))
    return _trained(
        scores,
        uniforms,
        rewards,
        learning_rate,
        decay,
        step=lambda scores, u, baseline: step_in_single_precision(
            scores, u, rewards, baseline, learning_rate
        ),
    )


@train_hard.variant
def experiment_by_autograd(scores, uniforms, rewards, learning_rate, decay):
    expected, baseline = _trained(
        scores,
        uniforms,
        rewards,
        learning_rate,
        decay,
        step=lambda scores, u, baseline: tuple(
            part.numpy() for part in step_by_autograd(scores, u, rewards, baseline, learning_rate)
        ),
    )
    return [float(expected), float(baseline)]


@train_hard.variant
def experiment_in_loops(scores, uniforms, rewards, learning_rate, decay):
    earns = rewards.reshape(-1, rewards.shape[-1])
    baseline = 0.0
    for u in uniforms:
        choice, after = step_in_loops(scores, u, rewards, baseline, learning_rate)
        scores = np.array(after)
        paid = [row[m] for row, m in zip(earns, np.ravel(choice), strict=True)]
        baseline += (1 - decay) * (sum(paid) / len(paid) - baseline)
    rows = [definition.softmax(row) for row in scores.reshape(earns.shape)]
    expected = [a @ row for a, row in zip(np.array(rows), earns, strict=True)]
    return sum(expected) / len(expected), baseline
