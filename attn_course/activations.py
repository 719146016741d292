"""Activation functions by name, for arrays of any library.

The survey leaves `act` open, so every formula that has one takes a name or a callable.
"""

from collections.abc import Callable
from typing import TypeAlias

from attn_course._arrays import Array, namespace

Activation: TypeAlias = str | Callable[[Array], Array]


def identity(x: Array) -> Array:
    """Return x."""
    return x


def tanh(x: Array) -> Array:
    """Return tanh(x), between -1 and 1."""
    return namespace(x=x).tanh(x)


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x)), written so that it never overflows."""
    return 0.5 * (1 + namespace(x=x).tanh(0.5 * x))


def relu(x: Array) -> Array:
    """Return max(0, x)."""
    xp = namespace(x=x)
    return xp.where(x > 0, x, xp.zeros_like(x))


def leaky_relu(x: Array) -> Array:
    """Return x where it is positive, 0.2 x elsewhere: the slope of graph attention."""
    return namespace(x=x).where(x > 0, x, 0.2 * x)


def elu(x: Array) -> Array:
    """Return x where it is positive, exp(x) - 1 elsewhere."""
    xp = namespace(x=x)
    negative = xp.where(x > 0, xp.zeros_like(x), x)  # keeps exp from overflowing where unused
    return xp.where(x > 0, x, xp.expm1(negative))


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": tanh,
    "sigmoid": sigmoid,
    "relu": relu,
    "leaky_relu": leaky_relu,
    "elu": elu,
    "identity": identity,
}


def activation(act: Activation) -> Callable[[Array], Array]:
    """Return the function that `act` names, or `act` itself if it is a function.

    >>> activation("relu").__name__
    'relu'
    """
    if callable(act):
        return act
    if act not in ACTIVATIONS:
        raise ValueError(
            f"act must be one of {', '.join(ACTIVATIONS)}, or a function, but is {act!r}."
        )
    return ACTIVATIONS[act]
