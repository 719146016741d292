"""Whom does a node prefer? Four nodes rank the same four neighbours, by GAT and by GATv2.

In Jupyter the figure and Python share what moves:

    explorer = RankingExplorer()
    explorer                     # show it, move the numbers, then ask
    explorer.favourites["GAT"]   # the favourite neighbour of each node, by the package
    explorer.node = 3            # and the figure follows
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import traitlets

from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer, finite
from attn_course.translate import _

NUMBERS = (0.0, 1.0, 2.0, 3.0)  # of the nodes that ask, and of those that are looked at
REACH = 3.0  # of a_1 and a_2
LAYERS = ("GAT", "GATv2")
DIGITS = 9  # scores that agree so far are equal


class RankingExplorer(Explorer):
    r"""Four nodes ask, four are looked at, and every node has a number.

    What moves: `node`, which of them asks, and two learned numbers, `a_1` and `a_2`. Both layers
    use the same two: GAT has $\mathrm{LeakyReLU}(a_1 x_i + a_2 x_j)$, and GATv2 has
    $a_1 \mathrm{LeakyReLU}(x_i - x_j) + a_2 \mathrm{LeakyReLU}(x_j - x_i)$.

    >>> explorer = RankingExplorer()
    >>> explorer.favourites
    {'GAT': [0, 0, 0, 0], 'GATv2': [0, 1, 2, 3]}
    """

    name = "ranking"
    _esm = page.module_text(name)

    node = traitlets.Int(1).tag(sync=True)
    a_1 = traitlets.Float(-2.0).tag(sync=True)
    a_2 = traitlets.Float(-2.0).tag(sync=True)

    # Fixed: the numbers of the nodes, and how far the sliders go.
    numbers = traitlets.List(traitlets.Float()).tag(sync=True)
    reach = traitlets.Float().tag(sync=True)

    def __init__(self, node: int = 1, a_1: float = -2.0, a_2: float = -2.0) -> None:
        super().__init__(
            words=_words(), numbers=list(NUMBERS), reach=REACH, node=node, a_1=a_1, a_2=a_2
        )

    @traitlets.validate("node")
    def _one_that_asks(self, proposal: Any) -> int:
        node = int(proposal["value"])
        if not 0 <= node < len(NUMBERS):
            raise traitlets.TraitError(f"node must be from 0 to {len(NUMBERS) - 1}, but is {node}.")
        return node

    @traitlets.validate("a_1", "a_2")
    def _in_reach(self, proposal: Any) -> float:
        number = finite(proposal)
        if abs(number) > REACH:
            raise traitlets.TraitError(
                f"{proposal['trait'].name} must be from {-REACH:g} to {REACH:g}, but is {number}."
            )
        return number

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("node", "a_1", "a_2")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """The weights of both layers, `(4, 4)` each: a row for each node that asks."""
        import torch  # the figure itself does without

        from attn_course.graphs import GAT, GATv2

        n = len(NUMBERS)
        nodes = torch.tensor([*NUMBERS, *NUMBERS], dtype=torch.float64)[:, None]
        asks, looked_at = torch.arange(n).repeat_interleave(n), n + torch.arange(n).repeat(n)
        gat, gatv2 = GAT(1, 1).double(), GATv2(1, 2, bias=False).double()
        with torch.no_grad():
            gat.W.fill_(1.0)
            gat.a_1.fill_(self.a_1)
            gat.a_2.fill_(self.a_2)
            gatv2.W_q.copy_(torch.tensor([[[1.0], [-1.0]]]))
            gatv2.W_k.copy_(torch.tensor([[[-1.0], [1.0]]]))
            gatv2.a.copy_(torch.tensor([[self.a_1, self.a_2]]))
            found = [layer(nodes, torch.stack([asks, looked_at]))[1] for layer in (gat, gatv2)]
        return {
            name: weights.reshape(n, n).numpy() for name, weights in zip(LAYERS, found, strict=True)
        }

    @property
    def rankings(self) -> dict[str, list[list[int]]]:
        """The neighbours of each node, the best first; of equal ones the first comes first."""
        return {name: _order(rows).tolist() for name, rows in self.weights.items()}

    @property
    def favourites(self) -> dict[str, list[int | None]]:
        """The favourite neighbour of each node; None where two are equally good."""
        return {name: [_favourite(row) for row in rows] for name, rows in self.weights.items()}

    @property
    def served(self) -> dict[str, int]:
        """How many nodes prefer the neighbour with their own number."""
        return {
            name: sum(found == i for i, found in enumerate(favourites))
            for name, favourites in self.favourites.items()
        }


def _order(weights: np.ndarray) -> np.ndarray:
    return np.argsort(-np.round(weights, DIGITS), axis=-1, kind="stable")


def _favourite(weights: np.ndarray) -> int | None:
    rounded = np.round(weights, DIGITS)
    best = np.flatnonzero(rounded == rounded.max())
    return int(best[0]) if len(best) == 1 else None


def _words() -> dict[str, Any]:
    return {
        "title": _("Rankings to play with"),
        "picture": _(
            "The same graph twice, for GAT and for GATv2: four nodes that ask on the left, four "
            "that are looked at on the right. Lines from the node that asks are as wide as its "
            "weights, and dotted lines lead from every node to its favourite."
        ),
        "question": _(
            "Every node should prefer its own number. GAT serves one node of four: can you make "
            "it serve two?"
        ),
        "answer": _(
            "No. In GAT every node ranks the others by a₂ times their number, so all prefer the "
            "same one. GATv2 serves all four with a₁ = a₂ = −2, because its score is then −1.6 "
            "times the distance of the two numbers."
        ),
        "node": _("Node that asks"),
        "own": _("first"),
        "other": _("second"),
        "says": _(
            "{layer}: node {node} prefers {favourite}; rankings: {rankings}; served: "
            "{served} of {nodes}."
        ),
        "favourite": _("Favourite of each node"),
        "correct": _("Own number"),
        "key": _("Looked at"),
        "rank": _("Rank"),
        "weight": _("Weight"),
        "quantity": _("Quantity"),
        "number": _("Number"),
        "rankings": _("Different rankings"),
        "served": _("Nodes served"),
        "tie": _("none"),
    }
