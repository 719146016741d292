r"""The axes of the taxonomy and the choices on each."""

from dataclasses import dataclass

from attn_course._arrays import require_choice
from attn_course.learned_scores import SCORE_NAMES
from attn_course.scoring import SIMILARITIES

ALIGNS = (
    "softmax",
    "sparsemax",
    "entmax15",
    "hard",
    "local_monotonic",
    "local_predictive",
    "reinforced",
)
DIMENSIONS = ("single", "multi")
QUERIES = ("basic", "learned", "removed", "self")
MULTIPLICITIES = ("singular", "heads", "hops", "heads and hops", "capsules")

ENTRY_BY_ENTRY = ("dot", "scaled_dot", *SIMILARITIES)  # need queries as wide as keys
WITH_PARAMETERS = ("local_predictive", "reinforced")  # alignments that read more than the scores


# What is made elsewhere, because it takes more inputs than features and queries.
ELSEWHERE = {
    "features": {
        "singular": "this kit",
        "alternating co-attention": "features.AlternatingCoAttention",
        "interactive co-attention": "features.InteractiveCoAttention",
        "parallel co-attention": "features.ParallelCoAttention",
        "multi-grained co-attention": "features.MultiGrainedCoAttention",
        "rotatory": "features.RotatoryAttention",
    },
    "levels": {
        "single": "this kit",
        "attention-via-attention": "features.AttentionViaAttention",
        "hierarchical": "features.HierarchicalAttention",
    },
    "representations": {"single": "this kit", "multi": "features.MetaEmbedding"},
}


def axes() -> dict[str, dict[str, str]]:
    """Return every axis of the taxonomy: its choices, and what to write for each."""
    multiplicity = {
        "singular": "the default",
        "heads": "heads=2 or more",
        "hops": "hops=2 or more",
        "heads and hops": "heads=2 or more, hops=2 or more, query='self'",
        "capsules": "capsules=number of classes, query='learned'",
    }
    query = {kind: f"query={kind!r}" for kind in QUERIES}
    return {
        **{axis: dict(choices) for axis, choices in ELSEWHERE.items()},
        "score": {kind: f"score={kind!r}" for kind in SCORE_NAMES},
        "align": {kind: f"align={kind!r}" for kind in ALIGNS},
        "dimension": {kind: f"dimension={kind!r}" for kind in DIMENSIONS},
        "query": {**query, "specialised": "with two inputs: see features"},
        "multiplicity": multiplicity,
    }


@dataclass(frozen=True)
class Choices:
    """One choice for each axis."""

    score: str
    align: str
    dimension: str
    query: str
    heads: int
    hops: int
    capsules: int

    @property
    def multiplicity(self) -> str:
        """How many queries serve one prediction, in the words of `MULTIPLICITIES`."""
        if self.capsules:
            return "capsules"
        if self.heads > 1:
            return "heads" if self.hops == 1 else "heads and hops"
        return "singular" if self.hops == 1 else "hops"

    def check(self) -> None:
        """Raise where a choice does not exist."""
        if self.query == "specialised":
            raise ValueError(
                "specialised queries are made by mechanisms with several inputs: use a layer of "
                "attn_course.features. In this kit query is one of " + ", ".join(QUERIES) + "."
            )
        for axis, choices in (
            ("score", SCORE_NAMES),
            ("align", ALIGNS),
            ("dimension", DIMENSIONS),
            ("query", QUERIES),
        ):
            require_choice(axis, getattr(self, axis), choices)
        for name, least in (("heads", 1), ("hops", 1), ("capsules", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, but is {getattr(self, name)}.")
