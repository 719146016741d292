r"""Which tokens matter, asked without attention: does attention agree?  (Jain & Wallace, 2019)

- `gradient_importance`: how the prediction moves with a token, weights held still.
- `leave_one_out`: how far the prediction moves when a token is taken away.
- `agreement`: Kendall's $\tau$ of either with the learned weights, for each example.
"""

import torch
from torch import Tensor

from attn_course._arrays import require_choice
from attn_course.evaluation.divergences import tvd
from attn_course.evaluation.rank_correlation import kendall
from attn_course.explanation.explainable_model import (
    Explainable,
    Inputs,
    require_explainable,
)

FORMS = ("one_hot", "norm")


def gradient_importance(model: Explainable, inputs: Inputs, form: str = "one_hot") -> Tensor:
    r"""$g_t = |x_t^\top \partial \hat y / \partial x_t|$ with the graph cut at the weights.

    $\hat y$ is the probability of the predicted class; the result is `(batch, n)`. The weights are
    taken for constants, so the gradient goes through the values alone: what a token says, times
    how much it is heard.

    `form="one_hot"` is the gradient with respect to the one-hot entry of the token, as in the
    paper. `form="norm"` is $\lVert\partial \hat y / \partial x_t\rVert$; mind that with a linear
    encoder of single tokens it is $a_t$ times the same number for every token: then the agreement
    with attention is 1, and means nothing.
    """
    require_choice("form", form, FORMS)
    require_explainable(model, inputs)
    with torch.no_grad():
        _predictions, weights = model.predict(inputs)
        mask = model.mask(inputs)
        embeddings = model.embed(inputs)
    embeddings = embeddings.detach().requires_grad_()
    probabilities, _used = model.predict_from(embeddings, mask, inputs, weights)
    (gradient,) = torch.autograd.grad(probabilities.max(dim=-1).values.sum(), embeddings)
    if form == "norm":
        return gradient.norm(dim=-1)
    return (embeddings.detach() * gradient).sum(dim=-1).abs()


@torch.no_grad()
def leave_one_out(model: Explainable, inputs: Inputs) -> Tensor:
    r"""$\Delta \hat y_t = \mathrm{TVD}(\hat y(x_{-t}), \hat y(x))$, `(batch, n)`.

    The token is masked, so the others share its weight. A masked token changes nothing: 0.
    """
    require_explainable(model, inputs)
    embeddings, mask = model.embed(inputs), model.mask(inputs)
    whole, _weights = model.predict_from(embeddings, mask, inputs)
    changes = []
    for t in range(mask.shape[-1]):
        without = mask.clone()
        without[:, t] = False
        changes.append(tvd(model.predict_from(embeddings, without, inputs)[0], whole))
    return torch.stack(changes, dim=-1) * mask


def agreement(model: Explainable, inputs: Inputs, importance: Tensor, ties: str = "b") -> Tensor:
    r"""Kendall's $\tau$ of importance `(batch, n)` and learned weights: `(batch,)`.

    Tied tokens are handled by $\tau_b$, or $\tau_a$ with `ties="a"`; see `kendall`. NaN where all
    weights, or all importances, are equal.
    """
    with torch.no_grad():
        _predictions, weights = model.predict(inputs)
    return kendall(weights, importance, model.mask(inputs), ties=ties)
