r"""Positions of one word, or of one query and one key, in loops (chapter 6)."""

from math import cos, sin

import numpy as np

from attn_course.definitions.scoring import Vector


def sinusoidal_position(pos: int, d: int) -> np.ndarray:
    r"""$PE_{pos,2i} = \sin(pos / 10000^{2i/d})$, $PE_{pos,2i+1} = \cos(pos / 10000^{2i/d})$."""
    encoding = []
    for i in range(d // 2):
        angle = pos / 10000 ** (2 * i / d)
        encoding.append(sin(angle))
        encoding.append(cos(angle))
    return np.array(encoding)


def rotate(x: Vector, pos: float, pairs: str = "interleaved") -> np.ndarray:
    r"""$z_m \mapsto z_m e^{\mathrm{i}\,pos\,\theta_m}$: a pair of numbers is one complex number.

    $z_m = x_{2m} + \mathrm{i}\,x_{2m+1}$ where pairs are interleaved, else
    $x_m + \mathrm{i}\,x_{m+d/2}$; $\theta_m = 10000^{-2m/d}$.
    """
    d = len(x)
    rotated = [0.0] * d
    for m in range(d // 2):
        a, b = (2 * m, 2 * m + 1) if pairs == "interleaved" else (m, m + d // 2)
        angle = pos / 10000 ** (2 * m / d)
        z = complex(x[a], x[b]) * complex(cos(angle), sin(angle))
        rotated[a], rotated[b] = z.real, z.imag
    return np.array(rotated)


def alibi_slopes(heads: int) -> np.ndarray:
    r"""$s_h = 2^{-8h/H}$ if $H$ is a power of two; else those of two powers of two, in turn."""
    power = 1
    while 2 * power <= heads:
        power = 2 * power
    slopes = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    above = [2 ** (-8 * h / (2 * power)) for h in range(1, 2 * power + 1)]
    h = 0
    while len(slopes) < heads:
        slopes.append(above[h])
        h = h + 2
    return np.array(slopes)


def distance_bias(slope: float, i: float, j: float) -> float:
    r"""$-s\,|i - j|$: what the distance subtracts from one score."""
    return -slope * abs(i - j)
