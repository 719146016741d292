r"""Nadaraya–Watson regression: attention before deep learning.  (chapter 1)

A query $x$ is a place on a line, the keys $x_i$ are the places seen before, the values $y_i$ what
was found there. The prediction is $f(x) = \sum_i a_i y_i$, with more weight where the key is near.
Each point is one number: queries `(..., q)`, keys and values `(..., k)`, weights
`(..., q, k)`, predictions `(..., q)`.

The parameter $w$ is one over the bandwidth: large $w$ looks at the nearest keys only, $w = 0$
averages them all. Here `score -> align -> average` is the `attend` of the whole course.
"""

from typing import TYPE_CHECKING

from attn_course.nadaraya_watson.regression import (
    KERNELS,
    boxcar,
    epanechnikov,
    gaussian,
    gradient_descent,
    leave_one_out_mask,
    log_kernel,
    loss,
    loss_gradient,
    noisy_curve,
    regress,
    triangular,
    true_curve,
    weights,
)

__all__ = [
    "KERNELS",
    "NadarayaWatson",
    "boxcar",
    "epanechnikov",
    "gaussian",
    "gradient_descent",
    "leave_one_out_mask",
    "log_kernel",
    "loss",
    "loss_gradient",
    "noisy_curve",
    "regress",
    "triangular",
    "true_curve",
    "weights",
]

# The formulas need no PyTorch, so the layer that does is loaded when it is first asked for.
if TYPE_CHECKING:
    from attn_course.nadaraya_watson.layer import NadarayaWatson
else:

    def __getattr__(name):
        if name == "NadarayaWatson":
            from attn_course.nadaraya_watson.layer import NadarayaWatson

            return NadarayaWatson
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
