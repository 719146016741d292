"""Bahdanau's model reads dates: alone, told where to look, and with its attention made useless."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_course.evaluation.supervision import SupervisedAttention
from attn_course.general_attention import BahdanauSeq2Seq
from attn_course.tasks.dates.material import TARGET_SIGNS, source_signs
from attn_course.tasks.dates.task import Dates
from attn_course.tasks.fixed_vector import UniformContext
from attn_course.tasks.readers import parameters, width_for
from attn_course.tasks.task import Arm, Comparison, Examples


class BahdanauDates(Dates):
    """Which day is it? Translated sign by sign, looking back at the written date each time."""

    name = "dates_bahdanau"
    question = "Which day is it, written as YYYY-MM-DD?"
    claim = (
        "A decoder that looks back at the source beats one that gets a single fixed vector, both "
        "with states of the same width."
    )
    no_readers = "the variant `uniform context` is one: its decoder sees one fixed vector"
    steps = 150
    learning_rates = (1e-2, 3e-2, 1e-1)
    d_e, n = 32, 32
    supervision = SupervisedAttention(weight=1.0, kind="cross_entropy")

    def model(
        self, kind: type[BahdanauSeq2Seq] = BahdanauSeq2Seq, n: int | None = None
    ) -> nn.Module:
        """Return a model that reads dates, with states of the usual width or of width `n`."""
        return kind(len(source_signs()), TARGET_SIGNS, self.d_e, n or self.n)

    def wide_fixed_vector(self) -> nn.Module:
        """Return the model without attention that has four times the parameters."""
        four_times = 4 * parameters(self.model())
        return self.model(
            UniformContext, width_for(lambda n: self.model(UniformContext, n), four_times)
        )

    def supervised_loss(self, model: nn.Module, examples: Examples) -> Tensor:
        """Return the cross-entropy of the signs plus that of the weights towards the gold ones."""
        predictions, weights = model(**examples.inputs)
        signs = functional.cross_entropy(predictions.flatten(0, 1), examples.targets.flatten())
        return signs + self.supervision(weights, gold(examples), examples.allowed["possible"])

    @property
    def arms(self) -> dict[str, Arm]:
        """The model, told nothing, told where to look, or kept from looking."""
        return {
            "Bahdanau": Arm(self.model, 3e-2),
            "uniform context": Arm(lambda: self.model(UniformContext), 3e-2, attends=False),
            "fixed vector, 4 × parameters": Arm(self.wide_fixed_vector, 3e-2, attends=False),
            "supervised": Arm(self.model, 3e-2, self.supervised_loss),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Attention against none, and supervised attention against unsupervised."""
        return (
            Comparison(
                "Bahdanau",
                "uniform context",
                "The ablation still has the mean of the source and the encoder's last state.",
            ),
            Comparison(
                "supervised",
                "Bahdanau",
                "The seeds disagree on exact match: supervision moves the links to where people "
                "draw them, and that is what the error rate shows, but the unsupervised model "
                "finds enough by itself.",
            ),
        )


def gold(examples: Examples) -> Tensor:
    """Return where each digit should look: at its sure link, or else at all possible ones."""
    sure, possible = examples.right["sure"], examples.right["possible"]
    return torch.where(sure.any(dim=-1, keepdim=True), sure, possible)
