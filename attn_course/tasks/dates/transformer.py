"""The Transformer reads dates: whole, and with its view of the source made uniform."""

from torch import Tensor, nn

from attn_course.evaluation.ablation import uniform_weights
from attn_course.general_attention import Transformer
from attn_course.queries import MultiHeadAttention
from attn_course.tasks.dates.material import TARGET_SIGNS, source_signs
from attn_course.tasks.dates.task import Dates
from attn_course.tasks.readers import parameters, width_for
from attn_course.tasks.task import Arm, Comparison


class DateTransformer(nn.Module):
    """A Transformer whose weights are those of its last look at the source, the mean over heads."""

    def __init__(self, transformer: Transformer) -> None:
        super().__init__()
        self.transformer = transformer

    def forward(
        self, source: Tensor, target: Tensor, source_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return logits `(batch, 10, signs)` and weights `(batch, 10, n)`."""
        logits, layers = self.transformer(source, target, source_mask)
        return logits, layers[-1]["cross"].mean(dim=-3)


class TransformerDates(Dates):
    """Which day is it? Translated by a Transformer of two layers on either side."""

    name = "dates_transformer"
    question = "Which day is it, written as YYYY-MM-DD?"
    claim = "Cross-attention is needed to look at the source; its mean is not enough."
    no_readers = "the variant `uniform cross-attention` is one: it sees one fixed vector"
    steps = 400
    d, heads = 32, 4

    def model(self, d: int | None = None) -> DateTransformer:
        """Return a model that reads dates, of the usual width or of width `d`."""
        d = d or self.d
        return DateTransformer(
            Transformer(
                len(source_signs()), TARGET_SIGNS, d=d, heads=self.heads, layers=2, d_ff=2 * d
            )
        )

    def uniform_cross_attention(self, d: int | None = None) -> DateTransformer:
        """Return the same model, its decoder seeing only the mean of the encoded source."""
        model = self.model(d)
        for layer in model.transformer.decoder:
            uniform = MultiHeadAttention(d or self.d, self.heads, align=uniform_weights)
            uniform.load_state_dict(layer.cross_attention.state_dict())  # begins as the other does
            layer.cross_attention = uniform
        return model

    def wide_fixed_vector(self) -> DateTransformer:
        """Return the model with uniform cross-attention that has four times the parameters."""

        def of_head(width: int) -> nn.Module:
            return self.model(self.heads * width)

        width = width_for(of_head, 4 * parameters(self.model()))
        return self.uniform_cross_attention(self.heads * width)

    @property
    def arms(self) -> dict[str, Arm]:
        """A decoder that looks at the source, and one that can't choose where."""
        return {
            "Transformer": Arm(self.model, 1e-2),
            "uniform cross-attention": Arm(self.uniform_cross_attention, 1e-2),
            "uniform cross-attention, 4 × parameters": Arm(self.wide_fixed_vector, 1e-2),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """A choice of where to look against none."""
        return (Comparison("Transformer", "uniform cross-attention"),)
