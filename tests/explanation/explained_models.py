"""Small models for the tests of the explanation lab: random, masked, every axis a prime."""

import torch
from torch import nn

from attn_course.attention import AttentionModel, SoftmaxOutput, TaskModel
from attn_course.explanation.explainable_model import ExplainableTaskModel
from attn_course.learned_scores import make_score

BATCH, N, D_IN, D_F, CLASSES = 5, 7, 11, 13, 3


class OneQuery(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q = nn.Parameter(torch.randn(1, d))

    def forward(self, features):
        return self.q


def task_model(seed=0, encoder=None, output=None):
    torch.manual_seed(seed)
    return TaskModel(
        feature_model=encoder or nn.Linear(D_IN, D_F),
        query_model=OneQuery(D_F),
        attention=AttentionModel(D_F, score=make_score("dot", D_F, D_F)),
        output_model=output or SoftmaxOutput(D_F, CLASSES),
    ).double()


def explained(seed=0, **parts):
    return ExplainableTaskModel(task_model(seed, **parts))


def token_inputs(seed=0, batch=BATCH):
    """Token vectors and a mask: the first example has all tokens, the second one only."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randn(batch, N, D_IN, generator=generator, dtype=torch.float64)
    lengths = torch.randint(2, N + 1, (batch,), generator=generator)
    lengths[:2] = torch.tensor([N, 1])
    mask = torch.arange(N) < lengths[:, None]
    return {"inputs": tokens, "mask": mask[:, None, :]}


def random_weights(mask, seed=0):
    generator = torch.Generator().manual_seed(seed)
    noise = torch.rand(mask.shape, generator=generator, dtype=torch.float64) * mask
    return noise / noise.sum(-1, keepdim=True)
