r"""The exercises of page 5b: sizes, a masked mean, one question, hops, the layer, a training step.

Wrong solutions are made of the few small functions at the top, so that each shows nothing but its
mistake. The layer of the package is the reference of the layer that learners write; only the names
of its parameters are shorter.
"""

import numpy as np
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional

from attn_course.attention import mean_feature
from attn_course.features import RotatoryAttention
from attn_course.practice.exercise import Case, Chapter
from attn_course.translate import _

chapter = Chapter(
    "05b_rotatory",
    title=_("Rotatory attention"),
    sections={
        "rotatory-formula": _("The formula"),
        "rotatory-code": _("The reference implementation"),
        "rotatory-experiment": _("Does it do its job?"),
        "rotatory-cost": _("What it costs"),
        "rotatory-hop": _("Three codes, three mechanisms"),
    },
)

QUESTIONS = ("l", "r", "lt", "rt")  # target to left, target to right, and the two ways back


# --- what the wrong solutions and the variants are made of ------------------------------------


def _softmax(scores, mask=None, axis=-1):
    """Return weights over the keys of a mask; all 0 where there is none."""
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    best = scores.max(axis=axis, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isfinite(best), best, 0))
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total > 0, total, 1)


def _scores(query, features, W, b):
    """Return $k^T W q + b$ for each feature, before the activation."""
    return np.einsum("...nd,de,...e->...n", features, W, query) + b


def _average(weights, features):
    return np.einsum("...n,...nd->...d", weights, features)


def _without_padding(features, mask):
    return np.where(mask[..., None], features, 0.0)


# --- what the cases are drawn from ------------------------------------------------------------


def _readable(rng, *size):
    """Return numbers with one decimal, none of them 0: a failure can be redone by hand."""
    numbers = np.round(rng.uniform(-2.0, 2.0, size), 1)
    return np.where(numbers == 0, 0.5, numbers)


def _ragged_mask(rng, *size):
    """Return a mask (..., n) with one real feature at least in each row, and padding in each."""
    n = size[-1]
    lengths = rng.integers(1, n, size[:-1])  # n itself is left out: every row is padded
    return np.arange(n) < lengths[..., None]


def _padded(features, mask, padding):
    """Return the features with `padding` (a number) where the mask is False."""
    return np.where(mask[..., None], features, padding)


# --- 1. sizes ---------------------------------------------------------------------------------


@chapter.exercise(
    title=_("Predict three sizes"),
    goal=_("Say how wide the output is, how many parameters there are, and one weight."),
    task="predict",
    difficulty=1,
    minutes=5,
    section="rotatory-formula",
    kind="value",
    hints=(
        _("Four vectors are concatenated. Of which input are the values in each of them?"),
        _("Each of the four questions has a matrix and a number of its own."),
        _(
            "Two of the four vectors are made of values of the target. "
            "And what is a softmax over a single score?"
        ),
    ),
)
def predicted_sizes():
    left, right, target, d = 3, 7, 5, 6
    return [left + right + 2 * target, 4 * d**2 + 4, 1]


@predicted_sizes.cases(points=1, label=_("width, parameters, weight"))
def no_inputs(rng):
    yield Case()


@predicted_sizes.misconception(
    _("You counted the target once. It is asked twice, from the left and from the right.")
)
def the_target_counted_once():
    return [15, 148, 1]


@predicted_sizes.misconception(
    _("Four questions have four matrices and four numbers b. You counted one of each."),
    section="rotatory-cost",
)
def one_score_shared_by_all():
    return [20, 37, 1]


@predicted_sizes.misconception(
    _("The matrices are right. Each score has a number b inside its tanh as well."),
    section="rotatory-cost",
)
def no_numbers_b():
    return [20, 144, 1]


@predicted_sizes.misconception(
    _("The b of this score is a single number, not a vector of d numbers."),
    section="rotatory-cost",
)
def vectors_b():
    return [20, 168, 1]


@predicted_sizes.misconception(
    _("A softmax over one score gives that key all the weight there is, whatever the score.")
)
def half_a_weight():
    return [20, 148, 0.5]


@predicted_sizes.variant
def sizes_as_floats():
    return [20.0, 148.0, 1.0]


@predicted_sizes.variant
def sizes_as_an_array():
    return np.array([20, 148, 1])


@predicted_sizes.variant
def sizes_as_a_tuple():
    return (20, 148, 1)


# --- 2. the mean over the true length ---------------------------------------------------------


@chapter.exercise(
    title=_("The mean of a padded target"),
    goal=_("Average the words of a target that are there, and only those."),
    difficulty=1,
    minutes=10,
    section="rotatory-formula",
    hints=(
        _("Padding is no word: it counts neither in the sum nor in the number of words."),
        _("`mask[..., None]` has the shape (..., n, 1) and can stand beside the target."),
        _(
            "`np.where(mask[..., None], target, 0).sum(axis=-2)` is the sum; "
            "divide it by `mask.sum(axis=-1)[..., None]`, or by 1 where that is 0."
        ),
    ),
)
def target_mean(target, mask):
    return mean_feature(torch.as_tensor(target), torch.as_tensor(mask)).numpy()


@target_mean.cases(points=1, label=_("one target, padded with zeros"))
def mean_of_one_target(rng):
    for n, d, words in ((3, 2, 1), (5, 3, rng.integers(2, 5))):  # of one word the mean is the word
        mask = np.arange(n) < words
        yield Case(_padded(_readable(rng, n, d), mask, 0.0), mask)


@target_mean.cases(points=1, label=_("a batch, and anything may stand in the padding"))
def mean_of_a_batch(rng):
    mask = _ragged_mask(rng, 2, 3)
    yield Case(_padded(_readable(rng, 2, 3, 2), mask, 7.0), mask)
    mask = _ragged_mask(rng, 7, 5)
    yield Case(_padded(_readable(rng, 7, 5, 3), mask, np.nan), mask)


@target_mean.cases(points=1, label=_("a target without a word has the mean 0"))
def mean_of_nothing(rng):
    mask = np.array([[True, False, True], [False, False, False]])
    yield Case(_readable(rng, 2, 3, 5), mask)


@target_mean.misconception(
    _("You divide by the padded length. A target of two words has the mean of two words.")
)
def divided_by_the_padded_length(target, mask):
    return _without_padding(target, mask).sum(axis=-2) / mask.shape[-1]


@target_mean.misconception(
    _("You do not look at the mask: what stands in the padding is averaged too.")
)
def mask_not_used(target, mask):
    return target.mean(axis=-2)


@target_mean.misconception(
    _("Your mask is upside down: True is where there is a word, and you average the padding.")
)
def mask_upside_down(target, mask):
    total = _without_padding(target, ~mask).sum(axis=-2)
    return total / np.maximum((~mask).sum(axis=-1), 1)[..., None]


@target_mean.misconception(
    _("You multiply by the mask. 0 times NaN is NaN: choose with np.where instead."),
    section="rotatory-code",
)
def multiplied_by_the_mask(target, mask):
    total = (target * mask[..., None]).sum(axis=-2)
    return total / np.maximum(mask.sum(axis=-1), 1)[..., None]


@target_mean.misconception(
    _("A target without a word: you divide 0 by 0. Divide by 1 there, and the mean is 0."),
    section="rotatory-code",
)
def nothing_divided_by_nothing(target, mask):
    return _without_padding(target, mask).sum(axis=-2) / mask.sum(axis=-1)[..., None]


@target_mean.misconception(_("You added the words up. A mean divides by how many there are."))
def sum_of_the_words(target, mask):
    return _without_padding(target, mask).sum(axis=-2)


@target_mean.variant
def mean_with_loops(target, mask):
    flat, flags = target.reshape(-1, *target.shape[-2:]), mask.reshape(-1, mask.shape[-1])
    means = []
    for words, real in zip(flat, flags, strict=True):
        chosen = [word for word, is_word in zip(words, real, strict=True) if is_word]
        means.append(sum(chosen) / len(chosen) if chosen else np.zeros(target.shape[-1]))
    return np.array(means).reshape(*target.shape[:-2], target.shape[-1])


@target_mean.variant
def mean_as_equal_weights(target, mask):
    weights = mask / np.maximum(mask.sum(axis=-1, keepdims=True), 1)
    return (weights[..., None, :] @ _without_padding(target, mask))[..., 0, :]


@target_mean.variant
def mean_in_single_precision(target, mask):
    words = torch.tensor(target, dtype=torch.float32).masked_fill(~torch.tensor(mask)[..., None], 0)
    return words.sum(dim=-2) / torch.tensor(mask).sum(dim=-1).clamp(min=1)[..., None]


# --- 3. one question --------------------------------------------------------------------------


@chapter.exercise(
    title=_("One question"),
    goal=_("Ask the words of an input with one vector: score, align, average."),
    difficulty=2,
    minutes=20,
    section="rotatory-formula",
    hints=(
        _("Three steps: a score for each word, weights over the words, the weighted sum."),
        _(
            "`query @ W.T` is W q for a batch of queries. Its product with a word is the number "
            "that goes, with b, into the tanh. Padding gets the score minus infinity."
        ),
        _(
            "Take the largest score away before `np.exp`. In a row without a word all exponentials "
            "are to be 0; divide by 1 there, not by their sum."
        ),
    ),
)
def ask(query, features, mask, W, b):
    query, features, mask, W = (torch.as_tensor(part) for part in (query, features, mask, W))
    d = W.shape[0]
    layer = RotatoryAttention((W.shape[1], d, d)).double()
    # One word in the target, so that its mean is the query; its left context is what is asked.
    r, weights = functional_call(
        layer,
        {"score_l.W": W, "score_l.b": torch.as_tensor(float(b), dtype=torch.float64)},
        (query[..., None, :], features, features, None, mask, mask),
    )
    return r[..., :d].detach().numpy(), weights[0]["a_l"].numpy()


def _question(rng, n, d_q, d, batch=(), padding=0.0):
    mask = _ragged_mask(rng, *batch, n)
    features = _padded(_readable(rng, *batch, n, d), mask, padding)
    return _readable(rng, *batch, d_q), features, mask, _readable(rng, d, d_q), 0.6


@ask.cases(points=2, label=_("one query, padded words"))
def one_question(rng):
    yield Case(*_question(rng, 3, 2, 2))
    yield Case(*_question(rng, 5, 2, 3))
    # A single word gets all the weight, also where its score is low and its exponential below 1.
    query, _features, _mask, W, b = _question(rng, 2, 2, 3)
    Wq = W @ query
    word = np.round(-2 * Wq / (Wq @ Wq), 2)
    yield Case(query, np.stack([word, np.zeros(3)]), np.array([True, False]), W, b)


@ask.cases(points=1, label=_("a batch, with anything in the padding"))
def questions_in_a_batch(rng):
    yield Case(*_question(rng, 3, 2, 5, batch=(2,), padding=3.0))
    yield Case(*_question(rng, 7, 3, 5, batch=(2,), padding=np.nan))


@ask.cases(points=1, label=_("an input without a word: weights 0, answer 0"))
def question_to_nobody(rng):
    query, features, _mask, W, b = _question(rng, 3, 2, 5, batch=(2,))
    yield Case(query, features, np.array([[True, True, False], [False] * 3]), W, b)


def _asked(query, features, mask, W, b, act=np.tanh, outside=0.0):
    words = _without_padding(features, mask)
    weights = _softmax(act(_scores(query, words, W, b)) + outside, mask)
    return _average(weights, words), weights


@ask.misconception(
    _(
        "Your b changes nothing: it is missing, or stands outside the tanh, where it is the same "
        "for all words. It belongs inside."
    )
)
def b_outside_the_tanh(query, features, mask, W, b):
    return _asked(query, features, mask, W, 0.0, outside=b)


@ask.misconception(_("There is no tanh in your scores. It keeps them between −1 and 1."))
def no_tanh(query, features, mask, W, b):
    return _asked(query, features, mask, W, b, act=lambda scores: scores)


@ask.misconception(
    _(
        "Your mask came after the softmax: what padding got is lost, and the weights sum to less "
        "than 1."
    )
)
def mask_after_the_softmax(query, features, mask, W, b):
    words = _without_padding(features, mask)
    weights = _softmax(np.tanh(_scores(query, words, W, b))) * mask
    return _average(weights, words), weights


@ask.misconception(
    _(
        "You multiply the scores by the mask. Padding then has the score 0, which is a score like "
        "others."
    )
)
def scores_times_the_mask(query, features, mask, W, b):
    words = _without_padding(features, mask)
    weights = _softmax(np.tanh(_scores(query, words, W, b)) * mask)
    return _average(weights, words), weights


@ask.misconception(
    _(
        "An input without a word: a large negative number instead of minus infinity gives padding "
        "equal weights."
    ),
    section="rotatory-code",
)
def a_large_negative_number(query, features, mask, W, b):
    words = _without_padding(features, mask)
    weights = _softmax(np.where(mask, np.tanh(_scores(query, words, W, b)), -1e9))
    return _average(weights, words), weights


@ask.misconception(
    _("Your mask is upside down: True is where there is a word."), section="rotatory-code"
)
def question_to_the_padding(query, features, mask, W, b):
    weights = _softmax(np.tanh(_scores(query, features, W, b)), ~mask)
    return _average(weights, features), weights


@ask.misconception(
    _("0 times NaN is NaN: what stands in the padding must be put to 0 before you average."),
    section="rotatory-code",
)
def padding_times_zero(query, features, mask, W, b):
    weights = _softmax(np.tanh(_scores(query, _without_padding(features, mask), W, b)), mask)
    return _average(weights, features), weights


@ask.variant
def question_in_torch(query, features, mask, W, b):
    query, features, mask, W = (torch.as_tensor(part) for part in (query, features, mask, W))
    words = features.masked_fill(~mask[..., None], 0.0)
    scores = torch.tanh((words @ (query @ W.T)[..., None])[..., 0] + b)
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0)
    return (weights[..., None, :] @ words)[..., 0, :], weights


@ask.variant
def question_without_the_largest(query, features, mask, W, b):
    # tanh is at most 1, so the exponentials can't overflow
    words = _without_padding(features, mask)
    exponentials = np.exp(np.tanh(_scores(query, words, W, b))) * mask
    weights = exponentials / np.maximum(exponentials.sum(axis=-1, keepdims=True), 1e-300)
    return _average(weights, words), weights


@ask.variant
def question_in_loops(query, features, mask, W, b):
    if query.ndim > 1:
        parts = [question_in_loops(*part, W, b) for part in zip(query, features, mask, strict=True)]
        return tuple(np.array(each) for each in zip(*parts, strict=True))
    Wq = [sum(w * q for w, q in zip(row, query, strict=True)) for row in W]
    strength = [
        np.exp(np.tanh(sum(k * x for k, x in zip(word, Wq, strict=True)) + b)) if real else 0.0
        for word, real in zip(features, mask, strict=True)
    ]
    weights = np.array(strength) / (sum(strength) or 1.0)
    answer = sum(a * word for a, word in zip(weights, features, strict=True) if a > 0)
    return answer + np.zeros(features.shape[-1]), weights


# --- 4. find the bug: hops --------------------------------------------------------------------


def _attended(query, features, W):
    weights = _softmax(np.tanh(_scores(query, features, W, 0.0)))
    return _average(weights, features)


def _hops(target, left, right, W_l, W_r, W_lt, W_rt, hops, *, chained=True, crossed=False):
    left_query = right_query = target.mean(axis=0)
    for _hop in range(hops):
        r_l, r_r = _attended(left_query, left, W_l), _attended(right_query, right, W_r)
        r_lt = _attended(r_l, target, W_lt)
        r_rt = _attended(r_l if crossed else r_r, target, W_rt)
        if chained:
            left_query, right_query = r_lt, r_rt
    return np.concatenate([r_l, r_r, r_lt, r_rt])


@chapter.exercise(
    title=_("Find the bugs in a second hop"),
    goal=_("Mend a loop over hops that turns the wheel and gets nowhere."),
    task="find the bug",
    difficulty=2,
    minutes=15,
    section="rotatory-hop",
    hints=(
        _("Run it with one hop and with five. What do you notice?"),
        _("Follow each of the four questions: who asks, and what came out of the hop before?"),
        _(
            "From the second hop on r_lt asks the left context and r_rt the right one. "
            "And r_rt is the answer to a question of r_r."
        ),
    ),
)
def rotate(target, left, right, W_l, W_r, W_lt, W_rt, hops):
    named = {
        f"score_{name}.W": W for name, W in zip(QUESTIONS, (W_l, W_r, W_lt, W_rt), strict=True)
    }
    tensors = {name: torch.as_tensor(W) for name, W in named.items()}
    zeros = {name.replace("W", "b"): torch.zeros((), dtype=torch.float64) for name in named}
    layer = RotatoryAttention((W_l.shape[0],) * 3, hops=hops).double()
    inputs = tuple(torch.as_tensor(part) for part in (target, left, right))
    r, _weights = functional_call(layer, tensors | zeros, inputs)
    return r.numpy()


def _sentence(rng, d, n_t, n_l, n_r, hops):
    parts = [_readable(rng, n, d) for n in (n_t, n_l, n_r)]
    return Case(*parts, *(_readable(rng, d, d) for _W in range(4)), hops)


@rotate.cases(points=1, label=_("one rotation"))
def one_rotation(rng):
    yield _sentence(rng, 2, 2, 2, 3, 1)
    yield _sentence(rng, 3, 5, 3, 2, 1)


@rotate.cases(points=2, label=_("two hops and more"))
def several_hops(rng):
    yield _sentence(rng, 2, 3, 2, 3, 2)
    yield _sentence(rng, 3, 5, 7, 2, 3)


@rotate.misconception(
    _(
        "Two things are still wrong: the right way back is asked by r_l instead of r_r, and every "
        "hop begins again with the mean of the target, so that further hops change nothing."
    )
)
def crossed_and_not_chained(*inputs):
    return _hops(*inputs, chained=False, crossed=True)


@rotate.misconception(
    _("Every hop asks with the mean of the target again. It does not know of the hop before it.")
)
def hops_not_chained(*inputs):
    return _hops(*inputs, chained=False)


@rotate.misconception(
    _("On the right the way back is asked by r_l. It is the right context that answers there: r_r.")
)
def right_way_back_asked_by_the_left(*inputs):
    return _hops(*inputs, crossed=True)


@rotate.misconception(
    _(
        "From the second hop on your queries are r_l and r_r. They have asked already: r_lt and "
        "r_rt ask."
    )
)
def contexts_ask_themselves(target, left, right, W_l, W_r, W_lt, W_rt, hops):
    left_query = right_query = target.mean(axis=0)
    for _hop in range(hops):
        r_l, r_r = _attended(left_query, left, W_l), _attended(right_query, right, W_r)
        r_lt, r_rt = _attended(r_l, target, W_lt), _attended(r_r, target, W_rt)
        left_query, right_query = r_l, r_r
    return np.concatenate([r_l, r_r, r_lt, r_rt])


@rotate.misconception(
    _("You swapped the sides in the next hop: r_lt asks the left context, r_rt the right one.")
)
def sides_swapped_between_hops(target, left, right, W_l, W_r, W_lt, W_rt, hops):
    left_query = right_query = target.mean(axis=0)
    for _hop in range(hops):
        r_l, r_r = _attended(left_query, left, W_l), _attended(right_query, right, W_r)
        r_lt, r_rt = _attended(r_l, target, W_lt), _attended(r_r, target, W_rt)
        left_query, right_query = r_rt, r_lt
    return np.concatenate([r_l, r_r, r_lt, r_rt])


@rotate.variant
def hops_chained(*inputs):
    return _hops(*inputs)


@rotate.variant
def hops_by_recursion(target, left, right, W_l, W_r, W_lt, W_rt, hops):
    def turn(left_query, right_query, remaining):
        r_l, r_r = _attended(left_query, left, W_l), _attended(right_query, right, W_r)
        r_lt, r_rt = _attended(r_l, target, W_lt), _attended(r_r, target, W_rt)
        if remaining == 1:
            return np.concatenate([r_l, r_r, r_lt, r_rt])
        return turn(r_lt, r_rt, remaining - 1)

    mean = target.mean(axis=0)
    return turn(mean, mean, hops)


@rotate.variant
def sides_one_after_the_other(target, left, right, W_l, W_r, W_lt, W_rt, hops):
    answers = []
    for context, W_there, W_back in ((left, W_l, W_lt), (right, W_r, W_rt)):
        query = target.mean(axis=0)
        for _hop in range(hops):
            there = _attended(query, context, W_there)
            query = _attended(there, target, W_back)
        answers.append((there, query))
    (r_l, r_lt), (r_r, r_rt) = answers
    return np.concatenate([r_l, r_r, r_lt, r_rt])


# --- 5. the layer -----------------------------------------------------------------------------


class _Parameters(nn.Module):
    """The four matrices and numbers under the names that the exercise gives them."""

    def __init__(self, d):
        super().__init__()
        for name in QUESTIONS:
            self.register_parameter(f"W_{name}", nn.Parameter(torch.randn(d, d) / d**0.5))
            self.register_parameter(f"b_{name}", nn.Parameter(torch.zeros(())))


class _Reference(_Parameters):
    def __init__(self, d):
        super().__init__(d)
        self.layer = [RotatoryAttention((d, d, d))]  # in a list: its own parameters stay out

    def forward(self, target, left, right, target_mask, left_mask, right_mask):
        named = {f"score_{n}.{p}": getattr(self, f"{p}_{n}") for n in QUESTIONS for p in "Wb"}
        masks = (target_mask, left_mask, right_mask)
        r, _weights = functional_call(self.layer[0], named, (target, left, right, *masks))
        return r


_Reference.__name__ = "Rotatory"

Rotatory = chapter.exercise(
    title=_("The layer"),
    goal=_("Write one rotation as a PyTorch module: batched, masked, ready to be trained."),
    difficulty=3,
    minutes=30,
    section="rotatory-code",
    kind="module",
    hints=(
        _("Exercises 2 and 3 in PyTorch, and then four questions in the right order."),
        _(
            "Write a method `ask(query, features, mask, W, b)` that returns the answer alone. "
            "`masked_fill(~mask, -torch.inf)` before the softmax, `nan_to_num(0.0)` after it."
        ),
        _(
            "r_l and r_r come from the mean of the target, r_lt from r_l, r_rt from r_r. "
            "`torch.cat([r_l, r_r, r_lt, r_rt], dim=-1)` is the output."
        ),
    ),
)(_Reference)


def _batch(rng, d, batch, n_t, n_l, n_r, padding=0.0):
    inputs, masks = [], []
    for n in (n_t, n_l, n_r):
        mask = _ragged_mask(rng, batch, n)
        features = _padded(rng.normal(size=(batch, n, d)), mask, padding)
        inputs.append(torch.tensor(features, dtype=torch.float32))
        masks.append(torch.tensor(mask))
    return inputs, masks


@Rotatory.cases(points=3, label=_("a padded batch: output and gradients"))
def a_padded_batch(rng):
    inputs, masks = _batch(rng, 2, 2, 3, 2, 5)
    yield Case(*inputs, *masks, d=2)
    inputs, masks = _batch(rng, 5, 3, 2, 7, 3)
    yield Case(*inputs, *masks, d=5)


@Rotatory.cases(points=1, label=_("anything may stand in the padding"))
def a_batch_with_other_padding(rng):
    inputs, masks = _batch(rng, 3, 5, 7, 2, 3, padding=5.0)
    yield Case(*inputs, *masks, d=3)
    inputs, masks = _batch(rng, 2, 3, 5, 3, 2, padding=np.nan)
    yield Case(*inputs, *masks, d=2)


@Rotatory.cases(points=1, label=_("a target at the edge: an empty context"))
def a_batch_with_an_empty_context(rng):
    inputs, masks = _batch(rng, 3, 2, 5, 3, 7)
    masks[1][0] = False  # no left context in the first sentence
    yield Case(*inputs, *masks, d=3)


class _Layer(_Parameters):
    """The right layer, so that each wrong one shows its mistake alone."""

    def forward(self, target, left, right, target_mask, left_mask, right_mask):
        r_t = self.mean(target, target_mask)
        r_l = self.ask("l", r_t, left, left_mask)
        r_r = self.ask("r", r_t, right, right_mask)
        r_lt = self.ask("lt", r_l, target, target_mask)
        r_rt = self.ask("rt", r_r, target, target_mask)
        return self.join(r_l, r_r, r_lt, r_rt)

    def mean(self, target, mask):
        return mean_feature(target, mask)

    def score(self, name, query, features):
        W, b = getattr(self, f"W_{name}"), getattr(self, f"b_{name}")
        return torch.tanh((features @ (query @ W.T)[..., None])[..., 0] + b)

    def align(self, scores, mask):
        return torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0)

    def words(self, features, mask):
        return features.where(mask[..., None], 0.0)

    def ask(self, name, query, features, mask):
        words = self.words(features, mask)
        weights = self.align(self.score(name, query, words), mask)
        return (weights[..., None, :] @ words)[..., 0, :]

    def join(self, r_l, r_r, r_lt, r_rt):
        return torch.cat([r_l, r_r, r_lt, r_rt], dim=-1)


@Rotatory.misconception(
    _("Your mean counts the padding of the target. Divide by the true number of words."),
    section="rotatory-formula",
)
class MeanOverThePaddedLength(_Layer):
    def mean(self, target, mask):
        return target.where(mask[..., None], 0.0).mean(dim=-2)


@Rotatory.misconception(
    _("The way back begins with the mean of the target. It is r_l and r_r that ask the target."),
    section="rotatory-formula",
)
class TargetAsksItself(_Layer):
    def forward(self, target, left, right, target_mask, left_mask, right_mask):
        r_t = self.mean(target, target_mask)
        r_l = self.ask("l", r_t, left, left_mask)
        r_r = self.ask("r", r_t, right, right_mask)
        r_lt = self.ask("lt", r_t, target, target_mask)
        r_rt = self.ask("rt", r_t, target, target_mask)
        return self.join(r_l, r_r, r_lt, r_rt)


@Rotatory.misconception(
    _(
        "The contexts begin in your rotation: their means ask the target first. Here the target "
        "begins."
    ),
    section="rotatory-hop",
)
class ContextsBegin(_Layer):
    def forward(self, target, left, right, target_mask, left_mask, right_mask):
        r_lt = self.ask("lt", self.mean(left, left_mask), target, target_mask)
        r_rt = self.ask("rt", self.mean(right, right_mask), target, target_mask)
        r_l = self.ask("l", r_lt, left, left_mask)
        r_r = self.ask("r", r_rt, right, right_mask)
        return self.join(r_l, r_r, r_lt, r_rt)


@Rotatory.misconception(
    _("Your four vectors are right, their order is not: r_l, r_r, r_lt, r_rt."),
    section="rotatory-formula",
)
class SidesTogether(_Layer):
    def join(self, r_l, r_r, r_lt, r_rt):
        return torch.cat([r_l, r_lt, r_r, r_rt], dim=-1)


@Rotatory.misconception(
    _("You do not use the masks in the softmax: padding gets weight."), section="rotatory-code"
)
class PaddingGetsWeight(_Layer):
    def align(self, scores, mask):
        return torch.softmax(scores, dim=-1)

    def words(self, features, mask):
        return features


@Rotatory.misconception(
    _(
        "0 times NaN is NaN: the weight of padding is 0, and what stands there still reaches your "
        "answer. Put the padding of all three inputs to 0 first."
    ),
    section="rotatory-code",
)
class PaddingTimesZero(_Layer):
    def words(self, features, mask):
        return features


@Rotatory.misconception(
    _("An empty context: a softmax over nothing is NaN. Put NaN to 0, then the answer is 0."),
    section="rotatory-code",
)
class EmptyContextIsNaN(_Layer):
    def align(self, scores, mask):
        return torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)


@Rotatory.misconception(
    _(
        "An empty context: with a large negative number instead of minus infinity padding is "
        "averaged."
    ),
    section="rotatory-code",
)
class EmptyContextIsAveraged(_Layer):
    def align(self, scores, mask):
        return torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1)

    def words(self, features, mask):  # with padding at 0 its average would be 0, which is right
        return features


@Rotatory.misconception(
    _("Left and right share their parameters in your layer. Each question has its own W and b."),
    section="rotatory-formula",
)
class SharedSides(_Layer):
    def score(self, name, query, features):
        return super().score({"r": "l", "rt": "lt"}.get(name, name), query, features)


@Rotatory.misconception(_("There is no tanh in your scores."), section="rotatory-formula")
class NoTanh(_Layer):
    def score(self, name, query, features):
        W, b = getattr(self, f"W_{name}"), getattr(self, f"b_{name}")
        return (features @ (query @ W.T)[..., None])[..., 0] + b


@Rotatory.variant
class PlainLayer(_Layer):
    pass


@Rotatory.variant
class LayerWithEinsum(_Layer):
    def score(self, name, query, features):
        W, b = getattr(self, f"W_{name}"), getattr(self, f"b_{name}")
        return torch.tanh(torch.einsum("bnd,de,be->bn", features, W, query) + b)


@Rotatory.variant
class LayerWithExponentials(_Layer):
    def align(self, scores, mask):
        exponentials = scores.exp() * mask  # tanh is at most 1: nothing can overflow
        return exponentials / exponentials.sum(dim=-1, keepdim=True).clamp(min=1e-30)


# --- 6. a training step -----------------------------------------------------------------------


def _step(
    parameters, W_o, inputs, labels, learning_rate, *, loss_of=None, sign=-1.0, trained="all"
):
    """Return loss, output map and parameters after a step; the rest is for the wrong ones."""
    loss_of = loss_of or functional.cross_entropy
    layer = _Layer(W_o.shape[1] // 4)
    named = {name: value.clone().requires_grad_() for name, value in parameters.items()}
    W_o = W_o.clone().requires_grad_()
    loss = loss_of(functional_call(layer, named, tuple(inputs)) @ W_o.T, labels)
    gradients = torch.autograd.grad(loss, [W_o, *named.values()])
    moved = [
        (value + sign * learning_rate * gradient).detach()
        for value, gradient in zip([W_o, *named.values()], gradients, strict=True)
    ]
    layer_after = dict(zip(named, moved[1:], strict=True))
    new_W_o = W_o.detach() if trained == "layer" else moved[0]
    new_layer = dict(parameters) if trained == "output" else layer_after
    return loss.item(), new_W_o, new_layer


@chapter.exercise(
    title=_("One training step"),
    goal=_("Take one step of gradient descent through the output, the rotation, and all scores."),
    task="complete the training step",
    difficulty=2,
    minutes=20,
    section="rotatory-experiment",
    hints=(
        _("Logits, loss, gradients, step: four lines. Autograd does the third."),
        _(
            "`functional.cross_entropy(logits, labels)` takes logits, not probabilities. "
            "`loss.backward()` fills `.grad` of every parameter, and of W_o if it wants gradients."
        ),
        _(
            "With `torch.no_grad()` around it: `p -= learning_rate * p.grad` for every parameter "
            "of the model, and the same for `W_o`."
        ),
    ),
    uses=("Rotatory",),
)
def training_step(parameters, W_o, inputs, labels, learning_rate):
    d = W_o.shape[1] // 4
    model, output = _Reference(d), nn.Linear(4 * d, W_o.shape[0], bias=False)
    model.load_state_dict(parameters)
    output.load_state_dict({"weight": W_o})
    optimiser = torch.optim.SGD([*model.parameters(), *output.parameters()], lr=learning_rate)
    loss = functional.cross_entropy(output(model(*inputs)), labels)
    loss.backward()
    optimiser.step()
    after = {name: parameter.detach() for name, parameter in model.named_parameters()}
    return loss.item(), output.weight.detach(), after


def _training_case(rng, d, batch, classes, n_t, n_l, n_r, learning_rate):
    inputs, masks = _batch(rng, d, batch, n_t, n_l, n_r)
    shapes = {f"{p}_{n}": (d, d) if p == "W" else () for n in QUESTIONS for p in "Wb"}
    parameters = {
        name: torch.tensor(rng.normal(size=shape), dtype=torch.float32)
        for name, shape in shapes.items()
    }
    W_o = torch.tensor(rng.normal(size=(classes, 4 * d)), dtype=torch.float32)
    labels = torch.tensor(rng.integers(classes, size=batch))
    return Case(parameters, W_o, [*inputs, *masks], labels, learning_rate)


@training_step.cases(points=2, label=_("loss, output map and parameters after one step"))
def one_training_step(rng):
    yield _training_case(rng, 2, 3, 3, 2, 3, 5, 0.5)
    yield _training_case(rng, 3, 5, 2, 5, 2, 3, 2.0)


@training_step.misconception(
    _("You go uphill: the gradient points to where the loss grows. Subtract it.")
)
def uphill(*inputs):
    return _step(*inputs, sign=1.0)


@training_step.misconception(
    _("Only the output map moves. The scores of the rotation have gradients too: move them.")
)
def only_the_output_moves(*inputs):
    return _step(*inputs, trained="output")


@training_step.misconception(_("Only the rotation moves. The output map W_o is trained as well."))
def only_the_rotation_moves(*inputs):
    return _step(*inputs, trained="layer")


@training_step.misconception(
    _(
        "You took a softmax and handed probabilities to cross_entropy. It takes logits, and does "
        "that itself."
    )
)
def softmax_twice(*inputs):
    def loss_of(logits, labels):
        return functional.cross_entropy(torch.softmax(logits, dim=-1), labels)

    return _step(*inputs, loss_of=loss_of)


@training_step.misconception(
    _(
        "You added the losses of the batch up. The mean is wanted: the step must not grow with the"
        " batch."
    )
)
def summed_over_the_batch(*inputs):
    def loss_of(logits, labels):
        return functional.cross_entropy(logits, labels, reduction="sum")

    return _step(*inputs, loss_of=loss_of)


@training_step.variant
def step_by_autograd(*inputs):
    return _step(*inputs)


@training_step.variant
def step_with_a_loss_by_hand(*inputs):
    def loss_of(logits, labels):
        log_probabilities = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
        return -log_probabilities[torch.arange(len(labels)), labels].mean()

    return _step(*inputs, loss_of=loss_of)


@training_step.variant
def step_in_double_precision(parameters, W_o, inputs, labels, learning_rate):
    doubled = [part.double() if part.is_floating_point() else part for part in inputs]
    named = {name: value.double() for name, value in parameters.items()}
    return _step(named, W_o.double(), doubled, labels, learning_rate)
