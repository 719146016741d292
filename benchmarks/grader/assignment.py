"""The assignment that all graders get: eight exercises, the last one a torch module.

Each exercise is written down once: a right answer, a wrong one, and how inputs of size n are
drawn. Ours are made of it as an instructor's own chapter (`attn-course grade … --checks` reads
this file), the tests for the peers as text (`source_of_test`). Every exercise has two tests, one on
small and one on larger inputs, each worth a point; so there are sixteen.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from attn_course.practice.exercise import Case, Chapter

SIZES = {"small": 3, "larger": 23}
SETUP = "import numpy as np\nimport torch"


@dataclass(frozen=True)
class Piece:
    """One exercise as text."""

    name: str
    right: str
    wrong: str
    inputs: str  # an expression in rng and n: a tuple

    @property
    def is_module(self) -> bool:
        """Whether the answer is a class."""
        return self.right.startswith("class")

    @property
    def stub(self) -> str:
        """What is handed out to learners."""
        head = self.right.splitlines()[0]
        if self.is_module:
            return f"{head}\n    def __init__(self):\n        raise NotImplementedError"
        return f"{head}\n    raise NotImplementedError"


PIECES = (
    Piece(
        "softmax",
        "def softmax(x):\n"
        "    e = np.exp(x - x.max(-1, keepdims=True))\n"
        "    return e / e.sum(-1, keepdims=True)",
        "def softmax(x):\n    return np.exp(x) / np.exp(x).sum()",
        "(rng.normal(size=(n, n + 2)),)",
    ),
    Piece(
        "scores",
        "def scores(q, k):\n    return q @ k.T / np.sqrt(k.shape[1])",
        "def scores(q, k):\n    return q @ k.T",
        "(rng.normal(size=(n, 5)), rng.normal(size=(n + 1, 5)))",
    ),
    Piece(
        "hide",
        "def hide(x, mask):\n    return np.where(mask, x, -1e9)",
        "def hide(x, mask):\n    return x * mask",
        "(rng.normal(size=(n, n)), rng.random((n, n)) < 0.5)",
    ),
    Piece(
        "average",
        "def average(weights, values):\n    return weights @ values",
        "def average(weights, values):\n    return weights.T @ values",
        "(rng.random((n, n)), rng.normal(size=(n, 7)))",
    ),
    Piece(
        "gaussian",
        "def gaussian(x, y, w):\n    return np.exp(-0.5 * (w * (x[:, None] - y[None, :])) ** 2)",
        "def gaussian(x, y, w):\n    return np.exp(-0.5 * w * (x[:, None] - y[None, :]) ** 2)",
        "(rng.normal(size=n), rng.normal(size=n + 4), 1.5)",
    ),
    Piece(
        "positions",
        "def positions(n, d):\n"
        "    angles = np.arange(n)[:, None] / 100 ** (np.arange(d) / d)\n"
        "    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)",
        "def positions(n, d):\n"
        "    angles = np.arange(n)[:, None] / 100 ** (np.arange(d) / d)\n"
        "    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)",
        "(n, int(rng.integers(3, 9)))",
    ),
    Piece(
        "normalise",
        "def normalise(x):\n    return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)",
        "def normalise(x):\n    return (x - x.mean()) / x.std()",
        "(rng.normal(size=(n, 11)),)",
    ),
    Piece(
        "OneHead",
        "class OneHead(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.query = torch.nn.Linear(5, 7, bias=False)\n"
        "        self.key = torch.nn.Linear(5, 7, bias=False)\n"
        "\n"
        "    def forward(self, x):\n"
        "        found = self.query(x) @ self.key(x).mT / 7**0.5\n"
        "        return torch.softmax(found, dim=-1) @ x",
        "class OneHead(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.query = torch.nn.Linear(5, 7, bias=False)\n"
        "        self.key = torch.nn.Linear(5, 7, bias=False)\n"
        "\n"
        "    def forward(self, x):\n"
        "        return torch.softmax(self.query(x) @ self.key(x).mT, dim=-1) @ x",
        "(torch.as_tensor(rng.normal(size=(n, 5)), dtype=torch.float32),)",
    ),
)


def source_of_test(piece: Piece, size: int, seed: int) -> str:
    """Return a test of one exercise as plain Python, which raises where the answer is wrong."""
    lines = [
        piece.right.replace(piece.name, "Reference", 1),
        f"n, rng = {size}, np.random.default_rng({seed})",
        f"inputs = {piece.inputs}",
    ]
    if not piece.is_module:
        call = f"{piece.name}(*inputs), Reference(*inputs)"
        return "\n".join([*lines, f"np.testing.assert_allclose({call}, rtol=1e-6)"])
    return "\n".join(
        [
            *lines,
            f"found, wanted = {piece.name}(), Reference()",
            "found.load_state_dict(wanted.state_dict())",
            "outputs = [module(*inputs) for module in (found, wanted)]",
            "torch.testing.assert_close(*outputs)",
            "for output in outputs:",
            "    output.square().sum().backward()",
            "for one, other in zip(found.parameters(), wanted.parameters()):",
            "    torch.testing.assert_close(one.grad, other.grad)",
        ]
    )


def _defined(piece: Piece, source: str) -> Any:
    space: dict[str, Any] = {"np": np, "torch": torch}
    exec(source, space)
    return space[piece.name]


def _add(piece: Piece) -> None:
    exercise = chapter.exercise(
        title=piece.name,
        goal=f"Write {piece.name}.",
        difficulty=1,
        minutes=5,
        section="all",
        hints=("look", "look closer", "nearly the answer"),
        kind="module" if piece.is_module else "function",
    )(_defined(piece, piece.right))
    for label, size in SIZES.items():
        known = {"np": np, "torch": torch, "n": size}

        def drawn(rng: np.random.Generator, known: dict[str, Any] = known) -> Any:
            yield Case(*eval(piece.inputs, known | {"rng": rng}))

        exercise.cases(points=1, label=label)(drawn)
    exercise.misconception("That is the known mistake.")(_defined(piece, piece.wrong))


chapter = Chapter("90_benchmark", title="The benchmark's assignment", sections={"all": "All"})
for _piece in PIECES:
    _add(_piece)
