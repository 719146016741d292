r"""Frozen weights: are they good for another model?  (Wiegreffe & Pinter, 2019)

A model that sees every token by itself, $\tanh(W x_t + b)$, is trained with weights imposed on it:
uniform ones, its own, those of the trained base, or those of an adversary. If the base's weights
help it and the adversary's don't, then the base's say something about the tokens that the
adversary's don't, though both belong to the same predictions.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from attn_course.attention import AttentionModel, TaskModel
from attn_course.explanation.explainable_model import Explainable, Inputs
from attn_course.learned_scores import make_score

Imposed = Callable[[Inputs], Tensor]  # inputs to weights (batch, n)


class TokenMLP(nn.Module):
    r"""$\mathrm{act}(W x_t + b)$ for each token by itself; `act` is tanh, or nothing."""

    def __init__(self, d_in: int, d_hidden: int, linear: bool = False) -> None:
        super().__init__()
        self.map = nn.Linear(d_in, d_hidden)
        self.linear = linear

    def forward(self, tokens: Tensor) -> Tensor:
        """Return features `(..., n, d_hidden)`."""
        mapped = self.map(tokens)
        return mapped if self.linear else torch.tanh(mapped)


class _ZeroQuery(nn.Module):
    """A query that says nothing; the additive score then depends on keys alone."""

    def forward(self, features: Tensor) -> Tensor:
        """Return a query of zeros, `(batch, 1, d)`."""
        return torch.zeros_like(features[..., :1, :])


def token_mlp(d_in: int, d_hidden: int, classes: int, linear: bool = False) -> TaskModel:
    """Return the diagnostic model: tokens one by one, additive attention, linear output.

    With `linear` the tanh is left out. A tanh can select by itself where roles and classes stand
    in one token, and then no weights are needed; see what each says.
    """
    return TaskModel(
        feature_model=TokenMLP(d_in, d_hidden, linear),
        query_model=_ZeroQuery(),
        attention=AttentionModel(d_hidden, score=make_score("additive", d_hidden, d_hidden)),
        output_model=nn.Linear(d_hidden, classes),
    )


def train_imposed(
    model: Explainable,
    imposed: Imposed | None,
    batches: Iterable[tuple[Inputs, Tensor]],
    learning_rate: float = 1e-2,
) -> None:
    """Train a model in place on pairs of inputs and classes `(batch,)`; None: its own weights."""
    optimiser = torch.optim.Adam(list(model.parameters()), lr=learning_rate)
    for inputs, classes in batches:
        probabilities, _weights = model.predict(inputs, _weights_of(imposed, inputs))
        likely = probabilities.gather(-1, classes[:, None]).clamp(min=1e-12)
        loss = -likely.log().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


@torch.no_grad()
def accuracy(
    model: Explainable, inputs: Inputs, classes: Tensor, imposed: Imposed | None = None
) -> float:
    """Return the share of right classes, under imposed weights or the model's own."""
    probabilities, _weights = model.predict(inputs, _weights_of(imposed, inputs))
    return (probabilities.argmax(dim=-1) == classes).double().mean().item()


def weights_of(model: Explainable) -> Imposed:
    """Return the weights of a trained model, to be imposed on another."""

    @torch.no_grad()
    def learned(inputs: Inputs) -> Tensor:
        return model.predict(inputs)[1]

    return learned


def _weights_of(imposed: Imposed | None, inputs: Inputs) -> Tensor | None:
    return None if imposed is None else imposed(inputs)
