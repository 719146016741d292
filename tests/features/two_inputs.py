"""Two inputs of random numbers and the layers for them, for the tests of co-attention."""

import torch
from hypothesis import strategies as st

from attn_course.features import AlternatingCoAttention, InteractiveCoAttention, ParallelCoAttention
from tests.features.by_hand import assert_close

N_1, N_2, D_1, D_2 = 3, 7, 5, 2  # every axis its own prime: a swapped axis can't pass
D_K, D_V, D_W = (11, 13), (17, 19), 23
same_keys = (11, 11)
seeds = st.integers(0, 2**32 - 1)


def draw(seed=0, n_1=N_1, n_2=N_2, d_1=D_1, d_2=D_2):
    generator = torch.Generator().manual_seed(seed)
    features = [
        torch.randn(n, d, generator=generator, dtype=torch.float64)
        for n, d in ((n_1, d_1), (n_2, d_2))
    ]
    masks = [torch.rand(n, generator=generator) < 0.6 for n in (n_1, n_2)]  # some are empty
    return generator, features, masks


def numbers(rows):
    return torch.tensor(rows, dtype=torch.float64)


def plain(masks):
    return [None if mask is None else mask.tolist() for mask in masks]


def joined(contexts, names=("c_1", "c_2")):
    return numbers([x for name in names for x in contexts[name]])


def assert_agrees(output, weights, contexts, wanted):
    assert_close(output.detach(), joined(contexts))
    assert set(weights) == set(wanted)
    for name, a in weights.items():
        assert_close(a.detach(), numbers(wanted[name]))


def alternating(**options):
    torch.manual_seed(0)
    return AlternatingCoAttention((D_1, D_2), D_W, **options).double()


def interactive(d_1=D_1, d_2=D_2, **options):
    torch.manual_seed(0)
    return InteractiveCoAttention((d_1, d_2), **options).double()


AFFINITIES = ("bilinear", "concat")
FORMS = [(affinity, reading) for affinity in AFFINITIES for reading in ("projected", "max")]


def parallel(affinity="bilinear", reading="projected", d_f=(D_1, D_2), **options):
    torch.manual_seed(0)
    return ParallelCoAttention(d_f, affinity, reading, d_w=D_W, **options).double()
