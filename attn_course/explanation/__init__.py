"""Is attention explanation? Both sides as tests on any model with an attention layer.

- `explainable`: what the tests ask of a model, and how a `TaskModel` answers
- Jain & Wallace (2019): `importance`, `permutation`, `adversary`
- Wiegreffe & Pinter (2019): `seeds`, `imposed_weights`, `consistent`, and `evaluation.ablate` for
  equal weights
- `lab`: all of them on two tasks, one that needs attention and one that doesn't
"""

from attn_course.explanation.adversary import Adversaries, find_adversaries
from attn_course.explanation.bench import LabSettings
from attn_course.explanation.consistent_adversary import SweepPoint, sweep, train_adversary
from attn_course.explanation.explainable_model import (
    Explainable,
    ExplainableTaskModel,
    require_explainable,
)
from attn_course.explanation.importance import (
    agreement,
    gradient_importance,
    leave_one_out,
)
from attn_course.explanation.imposed_weights import token_mlp, train_imposed
from attn_course.explanation.lab import run_lab
from attn_course.explanation.permutation import permutation_tvd, uniform_tvd
from attn_course.explanation.report import LabReport
from attn_course.explanation.seeds import seed_variance

__all__ = [
    "Adversaries",
    "Explainable",
    "ExplainableTaskModel",
    "LabReport",
    "LabSettings",
    "SweepPoint",
    "agreement",
    "find_adversaries",
    "gradient_importance",
    "leave_one_out",
    "permutation_tvd",
    "require_explainable",
    "run_lab",
    "seed_variance",
    "sweep",
    "token_mlp",
    "train_adversary",
    "train_imposed",
    "uniform_tvd",
]
