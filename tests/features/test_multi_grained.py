"""Multi-grained co-attention: its blocks are other mechanisms, property P4.15."""

import pytest
import torch
from hypothesis import given, settings

from attn_course.definitions import features as definition
from attn_course.features import MultiGrainedCoAttention
from tests.features.by_hand import assert_close, shaken
from tests.features.two_inputs import (
    D_1,
    D_2,
    FORMS,
    alternating,
    draw,
    interactive,
    joined,
    numbers,
    parallel,
    plain,
    same_keys,
    seeds,
)


@pytest.mark.proves("P4.15")
@pytest.mark.parametrize("coarse", ["interactive", "alternating"])
@pytest.mark.parametrize(("affinity", "reading"), FORMS)
def test_each_block_is_the_output_of_its_own_mechanism(coarse, affinity, reading):
    _, features, masks = draw(seed=3)
    coarse = interactive() if coarse == "interactive" else alternating()
    fine = parallel(affinity, reading, d_k=same_keys)
    layer = MultiGrainedCoAttention((D_1, D_2), coarse, fine)
    output, weights = layer(*features, *masks)
    coarse_output, coarse_weights = coarse(*features, *masks)
    fine_output, fine_weights = fine(*features, *masks)
    width = D_1 + D_2
    assert output.shape == (2 * width,)
    assert_close(output[:width], coarse_output)
    assert_close(output[width:], fine_output)
    assert len(weights) == len(coarse_weights) + len(fine_weights)
    for name, a in coarse_weights.items():
        assert_close(weights[f"{name}_coarse"], a)
    for name, a in fine_weights.items():
        assert_close(weights[f"{name}_fine"], a)


@pytest.mark.proves("P4.15")
@pytest.mark.agrees(
    "features.MultiGrainedCoAttention",
    "definitions.features.interactive",
    "definitions.features.parallel",
)
@given(seed=seeds)
@settings(max_examples=8)
def test_by_default_the_blocks_are_those_of_the_paper(seed):
    generator, features, masks = draw(seed, d_2=D_1)
    layer = shaken(MultiGrainedCoAttention((D_1, D_1)).double(), generator)
    output, weights = layer(*features, *masks)
    pairs = [(f.tolist(), f.tolist()) for f in features]
    W_1, W_2 = layer.coarse.score_1.W.tolist(), layer.coarse.score_2.W.tolist()
    coarse, a_coarse = definition.interactive(
        *pairs,
        lambda q, k: sum(k[i] * W_1[i][j] * q[j] for i in range(D_1) for j in range(D_1)),
        lambda q, k: sum(k[i] * W_2[i][j] * q[j] for i in range(D_1) for j in range(D_1)),
        *plain(masks),
    )
    A = definition.affinity_concat(pairs[0][0], pairs[1][0], layer.fine.w_A.tolist())
    fine, a_fine = definition.parallel(
        *pairs, definition.scores_max(A, *plain(masks)), *plain(masks)
    )
    assert_close(output.detach(), torch.cat([joined(coarse), joined(fine)]))
    for side in ("a_1", "a_2"):
        assert_close(weights[f"{side}_coarse"].detach(), numbers(a_coarse[side]))
        assert_close(weights[f"{side}_fine"].detach(), numbers(a_fine[side]))
