r"""Perplexity: among how many tokens does a language model waver, on average?  (chapter 8)"""

from math import inf, log, prod
from typing import Any

from attn_course._arrays import AnyArray, namespace, shape

_ROUNDING = 1e-4  # a log-probability so little above 0 is one that was rounded


def perplexity(
    log_probabilities: AnyArray | None = None,
    *,
    probabilities: AnyArray | None = None,
    mask: AnyArray | None = None,
) -> float:
    r"""$\exp\big(-\frac1N\sum_i \log p(w_i \mid w_{<i})\big) = 2^{H_2}$, at least 1.

    Give what the model said of the tokens that came: their natural `log_probabilities`, or their
    `probabilities`, in any shape, NumPy or PyTorch. `mask` is True where there is a token, False
    at padding. N counts the tokens of all sentences together. A token of probability 0 makes it
    infinite. A model that knows nothing has the size of its vocabulary:

    >>> import numpy as np
    >>> perplexity(probabilities=np.full((2, 3), 1 / 8))
    8.0

    Where it misleads: it counts by token, so models that cut the text differently can't be
    compared. Here two models give one text the same probability 1/16, in 2 words or in 4 pieces:

    >>> perplexity(probabilities=np.full(2, 1 / 4)), perplexity(probabilities=np.full(4, 1 / 2))
    (4.0, 2.0)
    """
    bits = bits_per_token(log_probabilities, probabilities=probabilities, mask=mask)
    return 2**bits if bits < 1024 else inf  # beyond the largest float


def bits_per_token(
    log_probabilities: AnyArray | None = None,
    *,
    probabilities: AnyArray | None = None,
    mask: AnyArray | None = None,
) -> float:
    r"""$H_2 = -\frac1N\sum_i \log_2 p(w_i \mid w_{<i})$: the cross-entropy in bits.

    Takes what `perplexity` takes, which is $2^{H_2}$, and misleads where it does.

    >>> import numpy as np
    >>> bits_per_token(probabilities=np.full((2, 3), 1 / 8))
    3.0
    """
    if (log_probabilities is None) == (probabilities is None):
        raise ValueError(
            "give either log_probabilities or probabilities of the tokens that came, but there are "
            + ("none." if probabilities is None else "both.")
        )
    if probabilities is None:
        xp, logs, tokens = _real_tokens("log_probabilities", log_probabilities, mask, padding=0.0)
        if not bool(xp.all(logs <= _ROUNDING)):  # so written that NaN is found too
            raise ValueError(
                "log_probabilities must be at most 0, but some are above, or NaN. "
                "Are they scores? Then take log_softmax first. Probabilities? Then say "
                "probabilities=…"
            )
        bits = -float(xp.sum(logs)) / log(2)
    else:
        xp, p, tokens = _real_tokens("probabilities", probabilities, mask, padding=1.0)
        if not bool(xp.all((p >= 0) & (p <= 1 + _ROUNDING))):
            raise ValueError(
                "probabilities must be between 0 and 1, but some are outside, or NaN. "
                "Are they log-probabilities? Then hand them over as log_probabilities."
            )
        # no logarithm of 0, which NumPy warns of
        bits = inf if bool(xp.any(p == 0)) else -float(xp.sum(xp.log2(p)))
    return max(bits / tokens, 0.0)


def _real_tokens(
    name: str, given: AnyArray, mask: AnyArray | None, padding: float
) -> tuple[Any, AnyArray, int]:
    """Return the array library, the numbers with `padding` where the mask says, and N."""
    xp = namespace(**{name: given}, mask=mask)
    numbers = xp.astype(given, xp.float64)
    tokens = prod(shape(given))
    if mask is not None:
        if "bool" not in str(mask.dtype) or shape(mask) != shape(given):
            raise ValueError(
                f"mask must be boolean and {shape(given)} as {name} are, True where there is a "
                f"token, but is {mask.dtype} and {shape(mask)}."
            )
        numbers = xp.where(mask, numbers, xp.full_like(numbers, padding))
        tokens = int(xp.sum(xp.astype(mask, xp.int64)))
    if tokens == 0:
        raise ValueError(
            f"there are no tokens to average over: {name} are {shape(given)}"
            + (", and the mask hides them all." if prod(shape(given)) else ".")
        )
    return xp, numbers, tokens
