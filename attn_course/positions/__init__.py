r"""Positions: attention sees no order, so something must state it.  (chapter 6)

Four ways to say where a word is. Two change the features, one the queries and keys, one the scores:

- `sinusoidal_positions`: a fixed vector per position, added to the features
- `LearnedPositions`: a trained vector per position, added to the features
- `rotate`: queries and keys turn by an angle that grows with the position (RoPE)
- `distance_bias` with `alibi_slopes`: a score decreases with the distance (ALiBi)

`positions_of` counts positions in a padded batch.
"""

from typing import TYPE_CHECKING

from attn_course.positions.biases import alibi_slopes, distance_bias
from attn_course.positions.rotations import PAIRS, rotate
from attn_course.positions.waves import BASE, positions_of, sinusoidal_positions

__all__ = [
    "BASE",
    "PAIRS",
    "LearnedPositions",
    "alibi_slopes",
    "distance_bias",
    "positions_of",
    "rotate",
    "sinusoidal_positions",
]

# The formulas need no PyTorch, so the layer that does is loaded when it is first asked for.
if TYPE_CHECKING:
    from attn_course.positions.learned import LearnedPositions
else:

    def __getattr__(name):
        if name == "LearnedPositions":
            from attn_course.positions.learned import LearnedPositions

            return LearnedPositions
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
