r"""Alignment: from scores to weights.  (chapter 3)

An alignment turns scores `(..., q, k)` into weights `(..., q, k)`, one row a query. Masks are
boolean, True where a query may attend, and broadcast to the scores. A row that may attend
nowhere gets weights 0 (and so context 0 and gradient 0), never NaN.

Every alignment takes scores and a mask, so it can be handed to `attend` once the rest is bound:
`attend(…, align=partial(local_monotonic, steps=steps, half_width=2))`.

- all keys: `softmax`, and `sparsemax`, `entmax15`, which can give exact zeros
- all keys or none: `softmax_with_sink` and `softmax_off_by_one`, whose weights sum to less than 1
- one key: `hard`, trained by `score_function_gradient`
- a window: `local_monotonic`, `local_predictive` with `predict_positions`
- a learned subset: `reinforced` with `selection_probabilities`
- masks: `padding_mask`, `causal_mask`, `window_mask`, `sliding_window_mask`

Read next: `attention`, which scores, aligns and averages.
"""

from attn_course.alignment.hard import (
    expected_reward_gradient,
    hard,
    optimal_baseline,
    score_function_gradient,
)
from attn_course.alignment.local import local_monotonic, local_predictive, predict_positions
from attn_course.alignment.masks import (
    causal_mask,
    padding_mask,
    sliding_window_mask,
    window_mask,
)
from attn_course.alignment.sinks import softmax_off_by_one, softmax_with_sink
from attn_course.alignment.soft import softmax
from attn_course.alignment.subsets import (
    entmax15,
    reinforced,
    select,
    selection_log_probability,
    selection_probabilities,
    sparsemax,
)

__all__ = [
    "causal_mask",
    "entmax15",
    "expected_reward_gradient",
    "hard",
    "local_monotonic",
    "local_predictive",
    "optimal_baseline",
    "padding_mask",
    "predict_positions",
    "reinforced",
    "score_function_gradient",
    "select",
    "selection_log_probability",
    "selection_probabilities",
    "sliding_window_mask",
    "softmax",
    "softmax_off_by_one",
    "softmax_with_sink",
    "sparsemax",
    "window_mask",
]
