"""Mutants that are no wrongs: changes of a solution that no input which the task allows can show.

By exercise and reason. A change reads as `attn-course selftest` prints it, and `…` in it stands
for anything: `line -> …` means whatever becomes of that line and still passes. What no longer
survives is stale, and the selftest says so: delete it here.
"""

SQUARED = "A difference is squared, so its sign does not matter."
NOTHING_IS_SHARED = "Where the total is 0 every part of it is 0, and 0 stays 0 divided by anything."
PADDING_HAS_NO_WEIGHT = "Padding has the weight 0, so any finite number may stand there."
CHECK_SETS_PARAMETERS = "The check puts its own numbers into the parameters: start them anywhere."

EQUIVALENT: dict[str, dict[str, tuple[str, ...]]] = {
    "01.gaussian_weights": {
        SQUARED: (
            "distances = queries[..., :, None] - keys[..., None, :] -> "
            "distances = keys[..., None, :] - queries[..., :, None]",
        ),
    },
    "01.kernel_weights": {
        "All three kernels are even: the sign of u does not matter.": (
            "u = w * (queries[:, None] - keys[None, :]) -> "
            "u = w * (keys[None, :] - queries[:, None])",
        ),
        "True and False add up and divide as 1 and 0 do.": (
            "closeness = (np.abs(u) <= 1).astype(float) -> closeness = np.abs(u) <= 1",
        ),
        NOTHING_IS_SHARED: (
            "return closeness / np.where(total > 0, total, 1) -> "
            "return closeness / np.where(total > 0, total, 2)",
            "return closeness / np.where(total > 0, total, 1) -> "
            "return closeness / np.where(total > 0, total, -1)",
        ),
    },
    "01.leave_one_out_loss": {
        SQUARED: (
            "scores = -0.5 * (w * (inputs[:, None] - inputs[None, :])) ** 2 -> "
            "scores = -0.5 * (w * (inputs[None, :] - inputs[:, None])) ** 2",
            "return 0.5 * np.sum((predictions - targets) ** 2) -> "
            "return 0.5 * np.sum((targets - predictions) ** 2)",
        ),
    },
    "01.gradient_step": {
        SQUARED: (
            "distances = inputs[:, None] - inputs[None, :] -> "
            "distances = inputs[None, :] - inputs[:, None]",
        ),
    },
    "01.NadarayaWatson": {
        SQUARED: (
            "distances = queries[..., :, None] - keys[..., None, :] -> "
            "distances = keys[..., None, :] - queries[..., :, None]",
        ),
        CHECK_SETS_PARAMETERS: ("self.w = nn.Parameter(torch.tensor(1.0)) -> …",),
    },
    "01.train_and_test": {
        SQUARED: (
            "return (w, np.mean((predictions - test_targets) ** 2)) -> "
            "return (w, np.mean((test_targets - predictions) ** 2))",
        ),
    },
    "02.compare": {
        SQUARED: (
            "differences = queries[..., :, None, :] - keys[..., None, :, :] -> "
            "differences = keys[..., None, :, :] - queries[..., :, None, :]",
        ),
    },
    "03.local_monotonic": {
        "Only the size of the distance is looked at, not its sign.": (
            "inside = np.abs(places - steps[..., None]) <= half_width -> "
            "inside = np.abs(steps[..., None] - places) <= half_width",
        ),
    },
    "03.local_predictive": {
        "The offsets are made positive for the window and squared for the Gaussian.": (
            "offsets = places - positions[..., None] -> offsets = positions[..., None] - places",
        ),
        "Only the square of sigma is used.": ("sigma = half_width / 2 -> sigma = half_width / -2",),
    },
    "05b.predicted_sizes": {
        "The square of -6 is that of 6.": (
            "predicted_sizes = [3 + 7 + 2 * 5, 4 * 6 ** 2 + 4, 1] -> "
            "predicted_sizes = [3 + 7 + 2 * 5, 4 * (-6) ** 2 + 4, 1]",
        ),
    },
    "05b.ask": {
        PADDING_HAS_NO_WEIGHT: (
            "words = np.where(mask[..., None], features, 0.0) -> "
            "words = np.where(mask[..., None], features, 1.0)",
        ),
        NOTHING_IS_SHARED: (
            "weights = exponentials / np.where(total > 0, total, 1.0) -> "
            "weights = exponentials / np.where(total > 0, total, 2.0)",
            "weights = exponentials / np.where(total > 0, total, 1.0) -> "
            "weights = exponentials / np.where(total > 0, total, -1.0)",
        ),
    },
    "05b.Rotatory": {
        CHECK_SETS_PARAMETERS: (
            "self.W_l, … = (nn.Parameter(torch.randn(d, d) / d ** 0.5) for _ in range(4)) -> …",
        ),
        "Only a context may be empty: a target has one word at least, and so has every mean.": (
            "number = target_mask.sum(dim=-1).clamp(min=1)[..., None] -> "
            "number = target_mask.sum(dim=-1)[..., None]",
            "number = target_mask.sum(dim=-1).clamp(min=1)[..., None] -> "
            "number = target_mask.sum(dim=-1).clamp(min=-1)[..., None]",
            "number = target_mask.sum(dim=-1).clamp(min=1)[..., None] -> "
            "number = target_mask.sum(dim=-1).clamp(min=0)[..., None]",
        ),
        PADDING_HAS_NO_WEIGHT: (
            "words = features.masked_fill(~mask[..., None], 0.0) -> "
            "words = features.masked_fill(~mask[..., None], 1.0)",
        ),
        "The words of an empty context are 0, so any finite weights give the answer 0.": (
            "weights = weights.nan_to_num(0.0) -> weights = weights.nan_to_num(1.0)",
        ),
    },
}
