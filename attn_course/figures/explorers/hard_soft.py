"""Hard against soft alignment: draw keys one by one, and see what a baseline does to the gradient.

In Jupyter the figure and Python share what moves:

    explorer = HardSoftExplorer()
    explorer                # show it, move a slider, then ask
    explorer.sampled        # computed in Python, by the package
    explorer.n = 200        # and the figure follows
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import traitlets

from attn_course.alignment import (
    expected_reward_gradient,
    hard,
    optimal_baseline,
    score_function_gradient,
    softmax,
)
from attn_course.figures._numpy import as_numpy
from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer, finite
from attn_course.translate import _

MOST = 300  # draws there are

# Five keys that differ enough to be told apart. All rewards are above 0, which is what makes
# REINFORCE without a baseline noisy.
DEFAULT_SCORES = (0.0, 2.0, 0.6, -0.4, 0.9)
VALUES = (-1.0, 0.5, 2.0, 3.0, 1.0)
REWARDS = (2.0, 6.0, 3.0, 1.0, 4.0)


class HardSoftExplorer(Explorer):
    r"""Weights over a few keys, keys drawn from them, and the noise of the gradient they give.

    `scores`, `values` and `rewards` `(k,)`: one number per key, the reward being what its choice
    earns. The draws come from `seed`, and always in the same order. What moves: `n`, how many
    are drawn so far, and `baseline`, which REINFORCE takes off every reward.

    >>> explorer = HardSoftExplorer([0.0, 0.0], [0.0, 1.0], [1.0, 3.0], n=4)
    >>> float(explorer.soft), explorer.variance(0.0), explorer.variance(2.0)
    (0.5, 2.0, 0.0)
    """

    name = "hard_soft"
    _esm = page.module_text(name)

    n = traitlets.Int(20, min=1, max=MOST).tag(sync=True)
    baseline = traitlets.Float().tag(sync=True)

    # Fixed: the keys, and one uniform number in [0, 1) for each draw.
    scores = traitlets.List(traitlets.Float()).tag(sync=True)
    values = traitlets.List(traitlets.Float()).tag(sync=True)
    rewards = traitlets.List(traitlets.Float()).tag(sync=True)
    uniform = traitlets.List(traitlets.Float()).tag(sync=True)
    span = traitlets.List(traitlets.Float()).tag(sync=True)  # of the baseline
    seed = traitlets.Int()

    def __init__(
        self,
        scores: Any = DEFAULT_SCORES,
        values: Any = VALUES,
        rewards: Any = REWARDS,
        n: int = 20,
        baseline: float = 0.0,
        seed: int = 0,
    ) -> None:
        e, v, r = _checked(scores, values, rewards)
        super().__init__(
            words=_words(),
            scores=e.tolist(),
            values=v.tolist(),
            rewards=r.tolist(),
            uniform=np.random.default_rng(seed).random(MOST).tolist(),
            span=_frame(np.append(r, baseline)),
            seed=seed,
            n=n,
            baseline=baseline,
        )

    _finite = traitlets.validate("baseline")(lambda self, proposal: finite(proposal))

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("n", "baseline")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def weights(self) -> np.ndarray:
        """The weight of each key, which is also the chance that it is drawn, `(k,)`."""
        return softmax(np.array(self.scores))

    @property
    def soft(self) -> float:
        """The soft context: the weighted average of the values."""
        return float(self.weights @ np.array(self.values))

    @property
    def choices(self) -> np.ndarray:
        """All draws there are, one-hot `(n, k)`: what `uniform` chooses."""
        rows = np.tile(np.array(self.scores), (MOST, 1))
        return hard(rows, np.random.default_rng(self.seed))

    @property
    def frequencies(self) -> np.ndarray:
        """The share of each key in the draws so far, `(k,)`."""
        return np.asarray(self.choices[: self.n].mean(axis=0))

    @property
    def running(self) -> np.ndarray:
        """The mean of the hard contexts after each draw, `(n,)`."""
        drawn = self.choices @ np.array(self.values)
        return np.asarray(np.cumsum(drawn) / np.arange(1, MOST + 1))

    @property
    def sampled(self) -> float:
        """The mean of the hard contexts drawn so far."""
        return float(self.running[self.n - 1])

    @property
    def expected_reward(self) -> float:
        """What a draw earns on average."""
        return float(self.weights @ np.array(self.rewards))

    @property
    def best_baseline(self) -> float:
        """The baseline of least variance."""
        return float(optimal_baseline(np.array(self.scores), np.array(self.rewards)))

    @property
    def gradient(self) -> np.ndarray:
        """The exact gradient of the expected reward, `(k,)`."""
        return expected_reward_gradient(np.array(self.scores), np.array(self.rewards))

    @property
    def estimate(self) -> np.ndarray:
        """The gradient that the draws so far give, `(k,)`."""
        choices = self.choices[: self.n]
        rewards = choices @ np.array(self.rewards)
        return score_function_gradient(np.array(self.scores), choices, rewards, self.baseline)

    def variance(self, baseline: float) -> float:
        """Return the variance of one draw's gradient: its mean squared distance from the exact."""
        return float(self.weights @ self._distances(baseline))

    def estimated_variance(self, baseline: float) -> float:
        """Return the same, from the draws so far."""
        return float(self.frequencies @ self._distances(baseline))

    def _distances(self, baseline: float) -> np.ndarray:
        """Return, for each key, how far off the gradient is when it is drawn, squared, `(k,)`."""
        scores, rewards = np.array(self.scores), np.array(self.rewards)
        each = np.stack(
            [
                score_function_gradient(scores, choice[None, :], earned[None], baseline)
                for choice, earned in zip(np.eye(len(scores)), rewards, strict=True)
            ]
        )
        return np.asarray(((each - self.gradient) ** 2).sum(axis=-1))


def _checked(scores: Any, values: Any, rewards: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = as_numpy(scores), as_numpy(values), as_numpy(rewards)
    shapes = [row.shape for row in rows]
    if len(set(shapes)) != 1 or rows[0].ndim != 1 or rows[0].size < 2:
        raise ValueError(
            "scores, values and rewards must be (k,), one number per key and at least two keys, "
            f"but are {shapes[0]}, {shapes[1]} and {shapes[2]}."
        )
    if not all(np.isfinite(row).all() for row in rows):
        raise ValueError("scores, values and rewards must be finite: remove NaN and infinity.")
    return rows


def _frame(rewards: np.ndarray) -> list[float]:
    """Return whole numbers around 0 and the rewards: the baselines worth trying."""
    return [float(np.floor(min(0.0, rewards.min()))), float(np.ceil(max(1.0, rewards.max())))]


def _words() -> dict[str, Any]:
    return {
        "title": _("Hard against soft alignment to play with"),
        "picture": _(
            "Three rows: the weight of each key and its share of the draws; the mean of the drawn "
            "values, which nears the soft context; and the variance of the gradient for every "
            "baseline, a parabola."
        ),
        "question": _(
            "Does the baseline change what the gradient is on average, or only its noise?"
        ),
        "answer": _(
            "Only its noise. With every baseline the gradient is right on average, but its "
            "variance is a parabola. The lowest point of the parabola, b*, is near the expected "
            "reward J and in general not equal to it."
        ),
        "exact": _("Exact, by softmax"),
        "drawn": _("From the draws so far"),
        "one": _("One draw"),
        "weights": _("Weights, and shares of the draws"),
        "context": _("Context after each draw"),
        "variance": _("Variance of the gradient, by baseline"),
        "n": _("Draws so far"),
        "baseline": _("Baseline"),
        "set": _("Set the baseline to"),
        "none": _("Nothing"),
        "expected": _("Expected reward"),
        "least": _("Least variance"),
        "this": _("As set above"),
        "quantity": _("Quantity"),
        "number": _("Number"),
        "soft": _("Soft context"),
        "sampled": _("Mean of the hard contexts"),
        "key": _("Key"),
        "value": _("Value"),
        "reward": _("Reward"),
        "weight": _("Weight"),
        "share": _("Share"),
        "gradient": _("Gradient"),
        "estimate": _("From the draws"),
        "true_variance": _("Variance"),
        "estimated_variance": _("From the draws"),
        "variance_here": _("Variance of the gradient"),
        "variance_drawn": _("Variance from the draws"),
    }
