r"""The survey's table of models: a model is one choice for each axis.  (its Table 3)

The table of the course follows the survey's and the papers. A model may stand for several
choices on an axis, where its paper compares them.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields

Choice = tuple[str, ...]

# The kit's names in the survey's words, where they differ.
SURVEY_WORDS = {
    "dot": "multiplicative",
    "scaled_dot": "scaled multiplicative",
    "biased_general": "biased general",
    "activated_general": "activated general",
    "softmax": "global",
    "local_monotonic": "local",
    "local_predictive": "local",
    "removed": "self-attentive",
    "learned": "self-attentive",
    "self": "self-attentive",
    "heads": "multi-head",
    "hops": "multi-hop",
    "heads and hops": "multi-head + multi-hop",
    "capsules": "capsule-based",
}


@dataclass(frozen=True)
class Model:
    """A published model along the axes of the taxonomy, and the class of the course to make it."""

    name: str
    score: Choice
    align: Choice = ("softmax",)
    dimension: Choice = ("single",)
    query: Choice = ("basic",)
    multiplicity: Choice = ("singular",)
    features: Choice = ("singular",)
    levels: Choice = ("single",)
    representations: Choice = ("single",)
    made_by: str = "general_attention.Attention"

    def describe(self) -> dict[str, str]:
        """Return the choice on every axis in the survey's words: a row of its table.

        >>> find_models(name="Vaswani 2017")[0].describe()["score"]
        'scaled multiplicative'
        """
        row = {}
        for axis in AXES:
            words = dict.fromkeys(SURVEY_WORDS.get(c, c) for c in getattr(self, axis))
            row[axis] = ", ".join(words)
        return row


AXES = tuple(f.name for f in fields(Model) if f.name not in ("name", "made_by"))

MODELS = (
    Model("Bahdanau 2015", ("additive",), made_by="general_attention.BahdanauSeq2Seq"),
    Model(
        "Luong 2015",
        ("dot", "general", "additive"),
        align=("softmax", "local_monotonic", "local_predictive"),
    ),
    Model("Xu 2015", ("additive",), align=("softmax", "hard")),
    Model(
        "Lu 2016",
        ("additive",),
        query=("specialised",),
        features=("parallel co-attention", "alternating co-attention"),
        levels=("hierarchical",),
        made_by="features.ParallelCoAttention",
    ),
    Model(
        "Yang 2016 (HAN)",
        ("additive",),
        query=("removed",),
        levels=("hierarchical",),
        made_by="features.HierarchicalAttention",
    ),
    Model(
        "Vaswani 2017",
        ("scaled_dot",),
        query=("self", "basic"),
        multiplicity=("heads", "heads and hops"),
        made_by="general_attention.Transformer",
    ),
    Model(
        "Wallaart & Frasincar 2019",
        ("activated_general",),
        query=("specialised",),
        multiplicity=("hops",),
        features=("rotatory",),
        made_by="features.RotatoryAttention",
    ),
    Model(
        "Kiela 2018",
        ("additive",),
        query=("removed",),
        representations=("multi",),
        made_by="features.MetaEmbedding",
    ),
    Model("Shen 2018 (DiSAN)", ("additive",), dimension=("multi",), query=("self", "removed")),
    Model(
        "Wang 2018 (RNN-Capsule)",
        ("dot",),
        query=("learned",),
        multiplicity=("capsules",),
        made_by="queries.CapsuleAttention",
    ),
)


def find_models(name: str | None = None, **choices: str) -> list[Model]:
    """Return the models that could have made these choices; axes left out are free.

    >>> [model.name for model in find_models(align="hard")]
    ['Xu 2015']
    """
    for axis in choices:
        if axis not in AXES:
            raise ValueError(f"an axis is one of {', '.join(AXES)}, but {axis!r} was asked for.")
    return [
        model
        for model in MODELS
        if name in (None, model.name)
        and all(_made(getattr(model, axis), choice) for axis, choice in choices.items())
    ]


def _made(options: Collection[str], choice: str) -> bool:
    return choice in options or choice in {SURVEY_WORDS.get(option) for option in options}
