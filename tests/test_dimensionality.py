"""One weight per value or per entry: the definitions in loops, and properties P3.1–P3.4."""

import re
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attn_course import dimensionality
from attn_course.attention import attend
from attn_course.definitions import dimensionality as definition
from attn_course.scoring import additive

B, Q, K, D_Q, D_K, D_W, D_V = 2, 3, 7, 5, 11, 13, 17
seeds = st.integers(0, 2**32 - 1)


def draw(seed=0):
    rng = np.random.default_rng(seed)
    arrays = dict(
        queries=rng.normal(size=(B, Q, D_Q)),
        keys=rng.normal(size=(B, K, D_K)),
        values=rng.normal(size=(B, K, D_V)),
    )
    parameters = dict(
        W_d=rng.normal(size=(D_W, D_V)),
        W_q=rng.normal(size=(D_W, D_Q)),
        W_k=rng.normal(size=(D_W, D_K)),
        b=rng.normal(size=D_W),
    )
    return arrays, parameters, rng.random((B, Q, K)) < 0.5


@pytest.mark.agrees("dimensionality.multi_scores", "definitions.dimensionality.multi_scores")
@pytest.mark.agrees("dimensionality.attend_multi", "definitions.dimensionality.attend_multi")
@given(seed=seeds)
def test_scores_contexts_and_weights_agree_with_the_definition_in_loops(seed):
    arrays, parameters, mask = draw(seed)
    score = partial(dimensionality.multi_scores, **parameters)
    scores = score(arrays["queries"], arrays["keys"])
    context, weights = dimensionality.attend_multi(**arrays, score=score, mask=mask)
    for b, i in np.ndindex(B, Q):
        e = definition.multi_scores(arrays["queries"][b, i], arrays["keys"][b], **parameters)
        np.testing.assert_allclose(scores[b, i], e, atol=1e-12)
        c, a = definition.attend_multi(e, arrays["values"][b], mask[b, i])
        np.testing.assert_allclose(context[b, i], c, atol=1e-12)
        np.testing.assert_allclose(weights[b, i], a, atol=1e-12)


@pytest.mark.agrees("dimensionality.single", "definitions.dimensionality.single")
def test_single_and_multi_agree_with_loops():
    arrays, _, _ = draw()
    rng = np.random.default_rng(1)
    weights, per_entry = rng.random((B, Q, K)), rng.random((B, Q, K, D_V))
    one = dimensionality.single(weights, arrays["values"])
    many = dimensionality.multi(per_entry, arrays["values"])
    for b, i in np.ndindex(B, Q):
        wanted = definition.single(weights[b, i], arrays["values"][b])
        np.testing.assert_allclose(one[b, i], wanted)
        for f in range(D_V):
            total = sum(per_entry[b, i, l, f] * arrays["values"][b, l, f] for l in range(K))
            np.testing.assert_allclose(many[b, i, f], total)


@pytest.mark.agrees("dimensionality.multi_no_query", "definitions.dimensionality.multi_scores")
@pytest.mark.agrees(
    "dimensionality.attend_multi_by_scores", "definitions.dimensionality.attend_multi"
)
@pytest.mark.parametrize("bias", [True, False])
def test_without_a_query_the_scores_of_the_keys_agree_with_loops(bias):
    arrays, parameters, mask = draw()
    p = {name: parameters[name] for name in ("W_d", "W_k", "b")}
    if not bias:
        del p["b"]
    scores = dimensionality.multi_no_query(arrays["keys"], **p)
    assert scores.shape == (B, 1, K, D_V)
    rows = mask[:, :1]
    context, weights = dimensionality.attend_multi_by_scores(scores, arrays["values"], mask=rows)
    for b in range(B):
        nothing = np.zeros((len(p["W_k"]), 0))  # a query of width 0 says nothing
        e = definition.multi_scores((), arrays["keys"][b], W_q=nothing, **p)
        np.testing.assert_allclose(scores[b, 0], e, atol=1e-12)
        c, a = definition.attend_multi(e, arrays["values"][b], rows[b, 0])
        np.testing.assert_allclose(context[b, 0], c, atol=1e-12)
        np.testing.assert_allclose(weights[b, 0], a, atol=1e-12)


def test_multi_averages_as_attend_multi_does():
    arrays, parameters, _ = draw()
    score = partial(dimensionality.multi_scores, **parameters)
    context, weights = dimensionality.attend_multi(**arrays, score=score)
    np.testing.assert_allclose(dimensionality.multi(weights, arrays["values"]), context)


@pytest.mark.proves("P3.1")
def test_equal_columns_are_single_dimensional_attention():
    arrays, parameters, mask = draw()
    w = parameters["W_d"][:, 0]
    score = partial(
        dimensionality.multi_scores, **parameters | dict(W_d=np.tile(w[:, None], (1, D_V)))
    )
    context, weights = dimensionality.attend_multi(**arrays, score=score, mask=mask)
    rest = {name: parameters[name] for name in ("W_q", "W_k", "b")}
    wanted_context, wanted = attend(**arrays, score=partial(additive, w=w, **rest), mask=mask)
    np.testing.assert_allclose(context, wanted_context)
    np.testing.assert_allclose(weights, np.repeat(wanted[..., None], D_V, axis=-1))


@pytest.mark.proves("P3.2")
@given(seed=seeds)
def test_each_entry_adds_up_to_one_over_the_keys_and_not_over_the_entries(seed):
    arrays, parameters, _ = draw(seed)
    score = partial(dimensionality.multi_scores, **parameters)
    _, weights = dimensionality.attend_multi(**arrays, score=score)
    np.testing.assert_allclose(weights.sum(-2), 1)
    assert np.abs(weights.sum(-1) - 1).max() > 0.1


@pytest.mark.proves("P3.3")
def test_each_coordinate_stays_between_its_values_but_the_context_may_leave_the_hull():
    values = np.array([[0.0, 1.0], [1.0, 0.0]])  # the hull is the segment x + y = 1
    scores = np.array([[[0.0, 9.0], [9.0, 0.0]]])
    context, _ = dimensionality.attend_multi(
        np.zeros((1, 1)), np.zeros((2, 1)), values, score=lambda q, k: scores
    )
    assert (context >= 0).all()
    assert (context <= 1).all()
    assert context.sum() > 1.9


@pytest.mark.proves("P3.4")
def test_it_is_one_head_per_entry():
    arrays, parameters, mask = draw()
    score = partial(dimensionality.multi_scores, **parameters)
    context, _ = dimensionality.attend_multi(**arrays, score=score, mask=mask)
    rest = {name: parameters[name] for name in ("W_q", "W_k", "b")}
    for i in range(D_V):
        head = partial(additive, w=parameters["W_d"][:, i], **rest)
        alone, _ = attend(
            arrays["queries"], arrays["keys"], arrays["values"][..., i : i + 1], head, mask=mask
        )
        np.testing.assert_allclose(context[..., i], alone[..., 0])


def test_masked_values_never_reach_the_context():
    arrays, parameters, mask = draw()
    score = partial(dimensionality.multi_scores, **parameters)
    mask[..., 3] = False
    mask[0, 1] = False
    context, weights = dimensionality.attend_multi(**arrays, score=score, mask=mask)
    arrays["values"][:, 3] = np.nan
    spoiled, _ = dimensionality.attend_multi(**arrays, score=score, mask=mask)
    np.testing.assert_array_equal(spoiled, context)
    assert (weights[0, 1] == 0).all()
    assert (context[0, 1] == 0).all()


@pytest.mark.parametrize("axes", [(), (K,), (1, K), (Q, K), (B, 1, K), (B, Q, 1)], ids=str)
def test_every_mask_that_broadcasts_to_queries_and_keys_is_taken(axes):
    arrays, parameters, _ = draw()
    mask = np.random.default_rng(1).random(axes) < 0.5
    score = partial(dimensionality.multi_scores, **parameters)
    context, weights = dimensionality.attend_multi(**arrays, score=score, mask=mask)
    full = np.array(np.broadcast_to(mask, (B, Q, K)))
    wanted, wanted_weights = dimensionality.attend_multi(**arrays, score=score, mask=full)
    np.testing.assert_array_equal(context, wanted)
    np.testing.assert_array_equal(weights, wanted_weights)
    assert (weights[~full] == 0).all()


@pytest.mark.parametrize("axes", [(K + 1,), (K, Q), (B, K), (1, B, Q, K)], ids=str)
def test_a_mask_that_does_not_fit_is_refused_with_the_shapes_of_the_caller(axes):
    arrays, parameters, _ = draw()
    score = partial(dimensionality.multi_scores, **parameters)
    sentence = re.escape(f"broadcast to the scores {(B, Q, K)}, but is {axes}")
    with pytest.raises(ValueError, match=sentence):
        dimensionality.attend_multi(**arrays, score=score, mask=np.ones(axes, dtype=bool))


def test_gradcheck_and_pytorch_agrees_with_numpy():
    arrays, parameters, mask = draw()
    everything = {
        name: torch.from_numpy(a).requires_grad_() for name, a in (arrays | parameters).items()
    }

    def run(*tensors):
        given = dict(zip(everything, tensors, strict=True))
        score = partial(dimensionality.multi_scores, **{name: given[name] for name in parameters})
        return dimensionality.attend_multi(
            *(given[name] for name in arrays), score=score, mask=torch.from_numpy(mask)
        )

    context, _ = run(*everything.values())
    score = partial(dimensionality.multi_scores, **parameters)
    wanted, _ = dimensionality.attend_multi(**arrays, score=score, mask=mask)
    np.testing.assert_allclose(context.detach(), wanted, atol=1e-12)
    small = [t.detach()[..., :2].clone().requires_grad_() for t in everything.values()]
    small[0], small[1] = everything["queries"], everything["keys"]
    small[4], small[5] = everything["W_q"], everything["W_k"]
    small[6] = everything["b"]
    assert torch.autograd.gradcheck(run, small, fast_mode=True)


def test_shapes_that_do_not_fit_are_refused_with_both_shapes():
    with pytest.raises(ValueError, match=r"weights are \(1, 2, 3\), values are \(2, 4\)"):
        dimensionality.multi(np.ones((1, 2, 3)), np.ones((2, 4)))
    with pytest.raises(ValueError, match="every entry of a value needs a score"):
        dimensionality.attend_multi(
            np.ones((1, 2)), np.ones((3, 2)), np.ones((3, 5)), score=lambda q, k: np.ones((1, 3, 4))
        )
    with pytest.raises(ValueError, match=r"scores are \(1, 3, 5\), values are \(4, 5\)"):
        dimensionality.attend_multi_by_scores(np.ones((1, 3, 5)), np.ones((4, 5)))
    with pytest.raises(ValueError, match=r"scores must be \(\.\.\., q, k, d_v\)"):
        dimensionality.attend_multi_by_scores(np.ones((3, 5)), np.ones((3, 5)))
    with pytest.raises(ValueError, match="each key needs its value"):
        dimensionality.attend_multi(
            np.ones((1, 2)), np.ones((3, 2)), np.ones((4, 5)), score=lambda q, k: np.ones((1, 3, 5))
        )
    with pytest.raises(ValueError, match=r"W_k must be .*\(d_w, d_k\)"):
        dimensionality.multi_no_query(np.ones((3, 2)), np.ones((7, 5)), np.ones((7, 4)))
