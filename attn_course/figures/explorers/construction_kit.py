"""The construction kit to play with: choose on each axis, see formula, shapes, cost and name.

In Jupyter the figure and Python share what moves:

    explorer = ConstructionKitExplorer()
    explorer                       # show it, choose, then ask
    explorer.cost                  # parameters, FLOPs, memory, from `Attention.report`
    explorer.layer                 # the layer of these choices, ready to use
    explorer.score = "additive"    # and the figure shows the additive score
"""

from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import Any

import torch
import traitlets

from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer
from attn_course.general_attention import Attention, Cost, find_models
from attn_course.general_attention.choices import ALIGNS, DIMENSIONS, QUERIES, Choices
from attn_course.general_attention.combinations import RULES
from attn_course.learned_scores import SCORE_NAMES
from attn_course.translate import _

# What each slider can be set to. Widths that three, five or seven heads can't share are wanted:
# the figure says why they can't.
STEPS = {
    "heads": [1, 2, 3, 4, 5, 6, 7, 8],
    "hops": [1, 2, 3, 4, 5, 6],
    "capsules": [0, 1, 2, 3, 4, 5, 6],
    "n": [2, 3, 5, 6, 7, 10, 20, 50, 100, 200, 500, 1000],
    "q": [1, 2, 3, 5, 10, 20, 50, 100],
    "d": [4, 8, 12, 16, 24, 32, 64, 128, 256, 512],
}
HALF_WIDTH = 2.0  # the D of the local alignments, which changes no cost


class ConstructionKitExplorer(Explorer):
    """One choice on each axis of the taxonomy makes an attention, or a sentence that says why not.

    What moves: `score`, `align`, `dimension`, `query`, `heads`, `hops`, `capsules` as in
    `Attention`; and the sizes: `n` features and `q` queries, all of width `d`.

    >>> ConstructionKitExplorer(heads=8, n=100, d=512).cost
    Cost(parameters=1048576, flops=230195200, memory=182400)
    >>> ConstructionKitExplorer("additive", query="basic", heads=1).model
    'Bahdanau 2015'
    """

    name = "construction_kit"
    _esm = page.module_text(name)

    score = traitlets.Enum(list(SCORE_NAMES), "scaled_dot").tag(sync=True)
    align = traitlets.Enum(list(ALIGNS), "softmax").tag(sync=True)
    dimension = traitlets.Enum(list(DIMENSIONS), "single").tag(sync=True)
    query = traitlets.Enum(list(QUERIES), "self").tag(sync=True)
    heads = traitlets.Enum(STEPS["heads"], 2).tag(sync=True)
    hops = traitlets.Enum(STEPS["hops"], 1).tag(sync=True)
    capsules = traitlets.Enum(STEPS["capsules"], 0).tag(sync=True)
    n = traitlets.Enum(STEPS["n"], 6).tag(sync=True)
    q = traitlets.Enum(STEPS["q"], 1).tag(sync=True)
    d = traitlets.Enum(STEPS["d"], 16).tag(sync=True)

    # Fixed: what can be chosen, with its word; formulas; which rule refuses what; the models.
    axes = traitlets.Dict().tag(sync=True)
    steps = traitlets.Dict().tag(sync=True)
    formulas = traitlets.Dict().tag(sync=True)
    rules = traitlets.List(traitlets.Unicode()).tag(sync=True)
    refused = traitlets.Unicode().tag(sync=True)
    published: Any = traitlets.List().tag(sync=True)
    half_width = traitlets.Float(HALF_WIDTH).tag(sync=True)

    def __init__(
        self,
        score: str = "scaled_dot",
        align: str = "softmax",
        dimension: str = "single",
        query: str = "self",
        heads: int = 2,
        hops: int = 1,
        capsules: int = 0,
        n: int = 6,
        q: int = 1,
        d: int = 16,
    ) -> None:
        super().__init__(
            words=_words(),
            axes=_axes(),
            steps=STEPS,
            formulas=FORMULAS,
            rules=[
                f"{rule.what} makes no sense: {rule.why}. Use {rule.instead}." for rule in RULES
            ],
            refused=_refused(),
            published=_published(),
            score=score,
            align=align,
            dimension=dimension,
            query=query,
            heads=heads,
            hops=hops,
            capsules=capsules,
            n=n,
            q=q,
            d=d,
        )

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return (*_CHOSEN, "n", "q", "d")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def layer(self) -> Attention:
        """The layer of these choices; a `ValueError` with the reason where there is none."""
        return Attention(
            self.d,
            **{name: getattr(self, name) for name in _CHOSEN},
            d_q=self.d if self.query == "basic" else None,
            half_width=HALF_WIDTH,
        )

    @property
    def refusal(self) -> str | None:
        """Why these choices don't go together, or None."""
        try:
            self._without_numbers()
        except ValueError as error:
            return str(error)
        return None

    @property
    def cost(self) -> Cost | None:
        """Parameters, FLOPs and memory of one example, or None where there is no such layer."""
        return None if self.refusal else self._without_numbers().report(self.n, self.q)

    @property
    def model(self) -> str | None:
        """The first model of the survey's table that made these choices, or None."""
        return None if self.refusal else self._without_numbers().name()

    def _without_numbers(self) -> Attention:
        """Return the layer with shapes alone: a wide one is slow to fill with random numbers."""
        with torch.device("meta"):
            return self.layer


_CHOSEN = ("score", "align", "dimension", "query", "heads", "hops", "capsules")


# --- formulas ------------------------------------------------------------------------------------

# An index follows _ and a power ^, in braces if it has more than one letter. The figure writes a
# single letter in italics, and colours queries, keys, values and weights. {q} is what asks.
FORMULAS = {
    "score": {
        "additive": "wᵀ tanh(W_q {q} + W_k k_l + b)",
        "dot": "{q}ᵀ k_l",
        "scaled_dot": "{q}ᵀ k_l / √d_k",
        "general": "k_lᵀ W {q}",
        "biased_general": "k_lᵀ (W {q} + b)",
        "activated_general": "tanh(k_lᵀ W {q} + b)",
        "cosine": "{q}ᵀ k_l / (‖{q}‖ ‖k_l‖)",
        "euclidean": "−‖{q} − k_l‖",
        "squared_euclidean": "−½ ‖{q} − k_l‖²",
        "removed": "wᵀ tanh(W k_l + b)",
        "multi": "W_dᵀ tanh(W_q {q} + W_k k_l + b)",
        "multi removed": "W_dᵀ tanh(W_k k_l + b)",
    },
    "align": {
        "softmax": "a = softmax(e)",
        "sparsemax": "a = sparsemax(e)",
        "entmax15": "a = entmax_{1.5}(e)",
        "hard": "a = onehot(m), m ∼ softmax(e)",
        "local_monotonic": "a = softmax_{|l−t| ≤ D}(e)",
        "local_predictive": "a_l = softmax_{|l−p| ≤ D}(e)_l exp(−(l − p)²/2σ²)",
        "reinforced": "a = softmax_{z=1}(e), z_l ∼ Bernoulli(π_l)",
    },
    "average": {"single": "c = Σ_l a_l v_l", "multi": "c = Σ_l a_l ∘ v_l"},
    "join": "c = W_O [c^{(1)}; …; c^{(h)}]",
}


# --- what the package knows, as data for JavaScript ----------------------------------------------


@cache
def _refused() -> str:
    """Return a letter for each combination, in the order of the axes: `.`, or the rule's, from a.

    Of heads, hops and capsules the rules ask only whether there are several, or any.
    """
    everything = product(SCORE_NAMES, ALIGNS, DIMENSIONS, QUERIES, (1, 2), (1, 2), (0, 1))
    letters = []
    for score, align, dimension, query, heads, hops, capsules in everything:
        choices = Choices(score, align, dimension, query, heads, hops, capsules)
        rules = (chr(ord("a") + i) for i, rule in enumerate(RULES) if rule.applies(choices))
        letters.append(next(rules, "."))
    return "".join(letters)


def _published() -> list[dict[str, Any]]:
    """Return the models of the survey's table that have a single input, as the kit's layers."""
    axes = ("score", "align", "dimension", "query", "multiplicity")
    models = find_models(features="singular", levels="single", representations="single")
    return [
        {"name": model.name, **{axis: list(getattr(model, axis)) for axis in axes}}
        for model in models
    ]


def _axes() -> dict[str, list[list[str]]]:
    """Return the choices of each axis, as pairs of name and word."""
    score = {
        "additive": _("additive"),
        "dot": _("dot product"),
        "scaled_dot": _("scaled dot product"),
        "general": _("general"),
        "biased_general": _("biased general"),
        "activated_general": _("activated general"),
        "cosine": _("cosine"),
        "euclidean": _("distance"),
        "squared_euclidean": _("squared distance"),
    }
    align = {
        "softmax": _("softmax"),
        "sparsemax": _("sparsemax"),
        "entmax15": _("1.5-entmax"),
        "hard": _("hard"),
        "local_monotonic": _("local, monotonic"),
        "local_predictive": _("local, predictive"),
        "reinforced": _("reinforced"),
    }
    dimension = {"single": _("one weight per key"), "multi": _("one per entry")}
    query = {
        "basic": _("basic (given)"),
        "learned": _("learned"),
        "removed": _("removed"),
        "self": _("self-attention"),
    }
    names = {"score": SCORE_NAMES, "align": ALIGNS, "dimension": DIMENSIONS, "query": QUERIES}
    words = {"score": score, "align": align, "dimension": dimension, "query": query}
    return {axis: [[name, words[axis][name]] for name in names[axis]] for axis in names}


def _words() -> dict[str, str]:
    return {
        "title": _("The construction kit to play with"),
        "picture": _(
            "The flow of data from top to bottom: queries and features enter, the score compares "
            "them, the alignment makes weights of the scores, and the weights average the values. "
            "Each arrow has the shape of what it passes on."
        ),
        "question": _(
            "Two heads share the width. You make them eight, which share the same width. What "
            "happens to the parameters, the FLOPs and the memory?"
        ),
        "answer": _(
            "Parameters and FLOPs stay the same, because eight narrow heads multiply as many "
            "numbers as two wide ones. The memory grows, because each head keeps its own table of "
            "n × n weights. With the additive score, parameters and FLOPs even shrink, because "
            "the matrices of a score are only as wide as its head."
        ),
        "score": _("Score"),
        "align": _("Alignment"),
        "dimension": _("Dimension"),
        "query": _("Query"),
        "heads": _("heads"),
        "hops": _("hops"),
        "each_hop": _("each with a new query and context"),
        "capsules": _("capsules"),
        "n": _("features"),
        "q": _("queries"),
        "d": _("width"),
        "own": _("own"),
        "average": _("Average"),
        "join": _("Join"),
        "features": _("features"),
        "queries": _("queries"),
        "learned_query": _("learned query"),
        "learned_queries": _("one query per class"),
        "no_query": _("no query"),
        "parameters": _("Parameters"),
        "flops": _("FLOPs"),
        "memory": _("Memory"),
        "numbers_kept": _("numbers"),
        "model": _("Model:"),
        "unpublished": _("No model of the survey's table: yours."),
        "also": _("also:"),
        "uneven": _(
            "{heads} heads can't share a width of {d} equally. Choose heads that divide it, or "
            "give the width of a head as d_k."
        ),
        "impossible": _("No such layer"),
        "shape": _("Shape"),
        "copies": _("Copies"),
        "count": _("Numbers"),
        "total": _("Total"),
        "projections": _("projections"),
        "new_query": _("new query"),
        "scores": _("scores"),
        "window": _("place of the window"),
        "selector": _("selector"),
        "contexts": _("contexts"),
        "output": _("join"),
        "kept_features": _("keys and values"),
        "kept_weights": _("weights"),
        "kept_hidden": _("hidden layer of the score"),
        "in_code": _("In code:"),
    }
