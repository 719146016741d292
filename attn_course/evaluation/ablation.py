"""Ablation: train the model, train it without the part, and compare.

A difference in score belongs to a part only if nothing else differs. So `ablate` builds both models
from the same seeds, trains them with the same function, and compares their sizes before it starts.

`uniform_weights` is the survey's example of a replacement: an unweighted average.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

from attn_course._arrays import Array, namespace
from attn_course._progress_bar import ProgressBar
from attn_course.alignment import softmax
from attn_course.evaluation.paired_comparison import Paired, spread
from attn_course.translate import _

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from torch import nn


def uniform_weights(scores: Array, mask: Array | None = None) -> Array:
    r"""$a_l = 1/n$ over the keys of the mask, whatever they score: to replace an `align`.

    The score keeps its parameters, so both arms have the same number, but none of them matters.

    >>> import numpy as np
    >>> uniform_weights(np.array([[3.0, 1.0]]))
    array([[0.5, 0.5]])
    """
    return softmax(namespace(scores=scores).zeros_like(scores), mask=mask)


def ablate(
    model_factory: "Callable[[], nn.Module]",
    replace: "Mapping[str, Any] | Callable[[nn.Module], nn.Module]",
    train_and_score: "Callable[[nn.Module, int], float]",
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    match: str | float = "equal",
    names: tuple[str, str] = ("mechanism", "ablation"),
    metric: str = "score",
    progress: bool = False,
) -> "Ablation":
    """Train the model of `model_factory` and the same with a part replaced, for each seed.

    - `replace`: a dict from the path of a part to what replaces it, such as
      `{"attention.align": uniform_weights}`; or a function that takes the model and returns it
      changed. A layer in the dict is copied, and its parameters are drawn anew for each seed.
    - `train_and_score(model, seed)` trains a model in place and returns its score on data that it
      has not seen. PyTorch is seeded before each building and each training; batches that come
      from elsewhere should be drawn from `seed`, so that both arms see the same ones.
    - `match`: what to do about the numbers of parameters. "equal" refuses a pair of different
      sizes, a number such as 0.05 allows that share of the larger, "report" only states them.

    >>> import torch
    >>> def score(model, seed):
    ...     return float(model(torch.ones(1, 2)).detach().sum() > -9)
    >>> swap = {"0": torch.nn.Linear(2, 3)}
    >>> result = ablate(lambda: torch.nn.Sequential(torch.nn.Linear(2, 3)), swap, score, seeds=[0])
    >>> result.mean_difference
    0.0
    """
    if isinstance(seeds, int):
        raise ValueError(f"seeds must be a list of numbers, but is {seeds}: write range({seeds}).")
    if len(set(seeds)) != len(seeds) or not seeds:
        raise ValueError(f"seeds must be different numbers, at least one, but are {list(seeds)}.")
    both: dict[bool, list[float]] = {False: [], True: []}
    sizes = tuple(_size(_built(model_factory, replace, seeds[0], ablated)) for ablated in both)
    _require_match(sizes, match)
    with ProgressBar(2 * len(seeds), _("ablation"), unit=_("models"), show=progress) as shown:
        for seed in seeds:
            for ablated, scores in both.items():
                model = _built(model_factory, replace, seed, ablated)
                with seeded(seed):
                    scores.append(_number_from(train_and_score(model, seed)))
                shown.advance()
    paired = Paired(tuple(both[False]), tuple(both[True]))
    return Ablation(paired, tuple(seeds), (sizes[0], sizes[1]), names, metric)


def _number_from(score: Any) -> float:
    try:
        return float(score)
    except (TypeError, ValueError) as fault:
        raise ValueError(
            f"train_and_score must return the score, one number, but returned {score!r:.60}."
        ) from fault


def _built(
    model_factory: "Callable[[], nn.Module]",
    replace: "Mapping[str, Any] | Callable[[nn.Module], nn.Module]",
    seed: int,
    ablated: bool,
) -> "nn.Module":
    """Return a fresh model: what the two arms have in common starts from the same numbers."""
    with seeded(seed):
        model = model_factory()
        if not ablated:
            return model
        if not isinstance(replace, Mapping):
            changed = replace(model)
            if not hasattr(changed, "parameters"):
                raise ValueError(
                    "replace must return the changed model, "
                    f"but returned a {type(changed).__name__}. End it with `return model`."
                )
            return changed
        for path, part in replace.items():
            _put(model, path, _drawn_anew(path, copy.deepcopy(part)))
    return model


def _drawn_anew(path: str, part: Any) -> Any:
    """Return the part with fresh parameters: a seed that drew only half of a model is none."""
    for layer in part.modules() if hasattr(part, "modules") else ():
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()
        elif any(True for _parameter in layer.parameters(recurse=False)):
            raise ValueError(
                f"the parameters of {path!r} can't be drawn anew for each seed, since "
                f"{type(layer).__name__} has no reset_parameters. Give a function instead, which "
                "builds the part: replace=lambda model: …, ending with the model."
            )
    return part


def _put(model: "nn.Module", path: str, part: Any) -> None:
    *above, name = path.split(".")
    place: Any = model
    for step in [*above, name]:
        if not hasattr(place, step):
            raise ValueError(
                f"there is no part {path!r} to replace: {type(place).__name__} has no {step!r}. "
                "Paths are those of model.named_modules(), or end in an attribute."
            )
        owner, place = place, getattr(place, step)
    if name in getattr(owner, "_modules", {}):
        delattr(owner, name)  # or PyTorch would take nothing but a layer in its place
    setattr(owner, name, part)


def _size(model: "nn.Module") -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def _require_match(sizes: tuple[int, ...], match: str | float) -> None:
    if match == "report":
        return
    if isinstance(match, str) and match != "equal":
        raise ValueError(f"match must be 'equal', 'report' or a share, but is {match!r}.")
    allowed = 0.0 if isinstance(match, str) else match
    if abs(sizes[0] - sizes[1]) > allowed * max(sizes):
        raise ValueError(
            f"the models have {sizes[0]} and {sizes[1]} parameters, so a difference in score might "
            "be one of size. Widen the smaller one, or allow it with match=0.05 or match='report'."
        )


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed PyTorch for a while; afterwards its random numbers go on as if nothing had been."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


@dataclass(frozen=True)
class Ablation:
    """What an ablation found. Print it, show it in a notebook, or `plot` it."""

    paired: Paired  # scores with the part, and without
    seeds: tuple[int, ...]
    parameters: tuple[int, int]
    names: tuple[str, str]
    metric: str

    @property
    def mean_difference(self) -> float:
        """The mean over seeds of the score with the part less the score without."""
        return self.paired.mean

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table: name, mean, standard deviation, number of parameters."""
        arms = zip(self.names, (self.paired.ones, self.paired.others), self.parameters, strict=True)
        return [
            ("", _("mean"), _("sd"), _("parameters")),
            *(
                (name, _number(sum(scores) / len(scores)), _number(spread(scores)), f"{size:,}")
                for name, scores, size in arms
            ),
            (_("difference"), _number(self.paired.mean), _number(self.paired.sd), ""),
        ]

    def sentences(self) -> list[str]:
        """Return what the tests say, in words."""
        paired = self.paired
        if paired.n == 1:
            return [_("One seed: there is no spread, and nothing can be tested.")]
        if isnan(paired.sd):
            return [_("Some scores are not finite numbers, so nothing can be tested.")]
        return [*self._by_spread(), *self._by_signs()]

    def _by_spread(self) -> list[str]:
        """Return what the spread of the differences says: interval, t-test, effect size."""
        paired = self.paired
        if paired.sd == 0:
            return [_("Every seed gives the same difference: there is no spread to test by.")]
        low, high = paired.interval()
        said = [
            _("{metric} over {n} seeds; 95% interval of the difference: {low} to {high}.").format(
                metric=self.metric, n=paired.n, low=_number(low), high=_number(high)
            ),
            _("Paired t-test: p = {p:.2g}, if the differences are normal.").format(p=paired.p_t),
            _("Effect size: d_z = {d:.3g}.").format(d=paired.d_z),
        ]
        if not isnan(paired.g_z):
            said.append(_("Without the bias of few seeds: g_z = {g:.3g}.").format(g=paired.g_z))
        return said

    def _by_signs(self) -> list[str]:
        """Return what the signs of the differences say, which assumes nothing."""
        paired = self.paired
        if isnan(paired.p_flip):
            return []
        sentence = _("Exact sign-flip test: p = {p:.2g} (not below {least:.2g} with {n} seeds).")
        return [sentence.format(p=paired.p_flip, least=paired.smallest_p_flip, n=paired.n)]

    def text(self) -> str:
        """Return table and sentences for a terminal."""
        rows = self.rows()
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])],
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, *self.sentences()])

    __str__ = text

    def _repr_html_(self) -> str:
        from html import escape

        head, *body = self.rows()
        cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        lines = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body
        )
        below = "<br>".join(map(escape, self.sentences()))
        return f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table><p>{below}</p>"

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw a line for each seed from the score without the part to the score with it."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=(3.6, 3.2), layout="constrained")[1]
        for one, other in zip(self.paired.ones, self.paired.others, strict=True):
            ax.plot([0, 1], [other, one], color="C0", marker="o", alpha=0.6)
        ax.set_xticks([0, 1], labels=[self.names[1], self.names[0]])
        ax.set_xlim(-0.3, 1.3)
        ax.set_ylabel(self.metric)
        return ax


def _number(score: float) -> str:
    return "–" if isnan(score) else f"{score:.4g}"
