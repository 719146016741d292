"""What the lab asks of a model: to predict with its own weights, and with weights we force on it.

`Explainable` is the contract, four short methods. `ExplainableTaskModel` fulfils it for every
`attention.TaskModel` with one query. For a model of your own, write a class like it:

- `inputs` is whatever your model takes for a batch; the lab only hands it on.
- `embed` gives the vectors of the tokens, before anything mixes them.
- `predict_from` runs all the rest: encoder, attention, output. It must take forced weights in place
  of its own, and must not look at tokens behind the mask, not even in the encoder.
- It must answer the same to the same question: switch dropout off with `.eval()`.

`require_explainable` tries all this before a test begins. A model that ignored the forced weights
would pass for one that does not need its attention.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from attn_course.attention import SoftmaxOutput, TaskModel

Inputs = Any  # what a model takes for a batch of examples


class Explainable(ABC):
    """A classifier with one row of attention weights over the tokens of each example."""

    @abstractmethod
    def embed(self, inputs: Inputs) -> Tensor:
        """Return the vectors of the tokens `(batch, n, d)`."""

    @abstractmethod
    def mask(self, inputs: Inputs) -> Tensor:
        """Return where there are tokens, boolean `(batch, n)`."""

    @abstractmethod
    def predict_from(
        self, embeddings: Tensor, mask: Tensor, inputs: Inputs, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return probabilities `(batch, classes)` and the weights used, `(batch, n)`.

        None asks for the learned weights.
        """

    @abstractmethod
    def parameters(self) -> Iterator[nn.Parameter]:
        """Return what is trained."""

    def predict(self, inputs: Inputs, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return probabilities and the weights used, for inputs as they are."""
        return self.predict_from(self.embed(inputs), self.mask(inputs), inputs, weights)


@torch.no_grad()
def require_explainable(model: Explainable, inputs: Inputs) -> None:
    """Raise unless the model answers these inputs as `Explainable` demands."""
    mask = model.mask(inputs)
    if mask.dtype != torch.bool or mask.ndim != 2:
        raise ValueError(
            f"mask must be boolean (batch, n), but has dtype {mask.dtype} and shape "
            f"{tuple(mask.shape)}."
        )
    probabilities, weights = model.predict(inputs)
    if weights.shape != mask.shape:
        raise ValueError(
            f"weights must be (batch, n) = {tuple(mask.shape)}, but are {tuple(weights.shape)}. "
            "Choose one query and one head."
        )
    sums = probabilities.sum(dim=-1)
    if bool((probabilities < 0).any()) or not torch.allclose(
        sums, torch.ones_like(sums), atol=1e-3
    ):
        raise ValueError(
            "predict_from must return probabilities, which are positive and add up to 1. "
            "If these are logits, take their softmax."
        )
    if not torch.allclose(model.predict(inputs)[0], probabilities, atol=1e-5):
        raise ValueError(
            "the same inputs got two different predictions. Switch dropout off: call .eval()."
        )
    forced = uniform_over(mask).to(weights.dtype)
    if not torch.allclose(model.predict(inputs, forced)[1], forced, atol=1e-5):
        raise ValueError(
            "weights that are forced on the model must be used and returned as they are, "
            "but others came back. See that predict_from puts them in place of its own."
        )


class ExplainableTaskModel(Explainable):
    """A `TaskModel` that takes `inputs` by name: `inputs`, and `query_inputs` and `mask` if any.

    Tokens come as vectors `(batch, n, d)`, which are the embeddings. Where they come as numbers,
    name the layer that embeds them: `embedding=model.feature_model[0]`.

    Weights are forced on the model by putting them in place of what its alignment returns, so
    nothing of the model is written twice.
    """

    def __init__(self, model: TaskModel, embedding: nn.Module | None = None) -> None:
        if not hasattr(model.attention, "align"):
            raise ValueError(
                f"weights are forced in place of an alignment, but {type(model.attention).__name__}"
                " has no `align`. Write an Explainable of your own for it."
            )
        self.model = model
        self.embedding = embedding

    def embed(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return the token vectors: the inputs, or what the embedding makes of them."""
        tokens = inputs["inputs"]
        return tokens if self.embedding is None else self.embedding(tokens)

    def mask(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return where there are tokens; the model's mask is `(batch, 1, n)`."""
        mask = inputs.get("mask")
        if mask is None:
            return torch.ones(inputs["inputs"].shape[:2], dtype=torch.bool)
        return mask[:, 0, :]

    def predict_from(
        self,
        embeddings: Tensor,
        mask: Tensor,
        inputs: dict[str, Tensor],
        weights: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return probabilities `(batch, classes)` and weights `(batch, n)`."""
        tokens = embeddings if self.embedding is None else inputs["inputs"]
        with _returning(self.embedding, embeddings), _forced(self.model.attention, weights):
            predictions, used = self.model(tokens, inputs.get("query_inputs"), mask[:, None, :])
        if used.ndim != 3 or used.shape[1] != 1:
            raise ValueError(
                f"the lab explains one query, with weights (batch, 1, n), but they are "
                f"{tuple(used.shape)}. Choose a query and a head in an Explainable of your own."
            )
        answers = predictions[:, 0]
        if not isinstance(self.model.output_model, SoftmaxOutput):  # then they are logits
            answers = torch.softmax(answers, dim=-1)
        return answers, used[:, 0]

    def parameters(self) -> Iterator[nn.Parameter]:
        """Return the model's parameters."""
        return self.model.parameters()


@contextmanager
def _returning(layer: nn.Module | None, output: Tensor) -> Iterator[None]:
    """Let a layer return `output` for a while; without a layer do nothing."""
    if layer is None:
        yield
        return
    handle = layer.register_forward_hook(lambda _layer, _inputs, _output: output)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _forced(attention: Any, weights: Tensor | None) -> Iterator[None]:
    """Let an attention layer use `weights` `(batch, n)` for a while; None leaves it alone."""
    if weights is None:
        yield
        return
    rows = weights[:, None, :]  # (batch, 1, n): one query
    learned = attention.align
    if isinstance(learned, nn.Module):  # PyTorch accepts only a layer in its place
        with _returning(learned, rows):
            yield
        return
    attention.align = lambda scores, mask=None: rows
    try:
        yield
    finally:
        attention.align = learned


def uniform_over(mask: Tensor) -> Tensor:
    """Return equal weights over the tokens there are, `(batch, n)`."""
    return mask / mask.sum(dim=-1, keepdim=True).clamp(min=1)
