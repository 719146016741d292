"""The seven scores against their definitions in loops, and properties P1.1–P1.8."""

import re
from functools import partial
from math import e

import array_api_strict
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances

from attn_course import scoring
from attn_course.activations import ACTIVATIONS
from attn_course.alignment import softmax
from attn_course.attention import attend
from attn_course.definitions import scoring as definition

B, Q, K, D_Q, D_K, D_W = 2, 3, 7, 5, 11, 13  # every axis its own prime


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draw(rng):
    """Return queries and keys of different widths and every parameter a score may need."""
    return {
        "queries": rng.normal(size=(B, Q, D_Q)),
        "keys": rng.normal(size=(B, K, D_K)),
        "same": rng.normal(size=(B, K, D_Q)),
        "w": rng.normal(size=D_W),
        "W_q": rng.normal(size=(D_W, D_Q)),
        "W_k": rng.normal(size=(D_W, D_K)),
        "b_w": rng.normal(size=D_W),
        "W": rng.normal(size=(D_K, D_Q)),
        "b_k": rng.normal(size=D_K),
        "b": np.float64(rng.normal()),
    }


# name -> (score of all pairs, score of one pair, whether widths must agree)
FORMULAS = {
    "dot": (lambda p: (scoring.dot, {}), lambda p: (definition.dot, {}), True),
    "scaled_dot": (
        lambda p: (scoring.scaled_dot, {}),
        lambda p: (definition.scaled_dot, {}),
        True,
    ),
    "additive": (
        lambda p: (scoring.additive, dict(w=p["w"], W_q=p["W_q"], W_k=p["W_k"], b=p["b_w"])),
        lambda p: (definition.additive, dict(w=p["w"], W_q=p["W_q"], W_k=p["W_k"], b=p["b_w"])),
        False,
    ),
    "additive_without_bias": (
        lambda p: (scoring.additive, dict(w=p["w"], W_q=p["W_q"], W_k=p["W_k"], act="relu")),
        lambda p: (definition.additive, dict(w=p["w"], W_q=p["W_q"], W_k=p["W_k"], act="relu")),
        False,
    ),
    "general": (
        lambda p: (scoring.general, dict(W=p["W"])),
        lambda p: (definition.general, dict(W=p["W"])),
        False,
    ),
    "biased_general": (
        lambda p: (scoring.biased_general, dict(W=p["W"], b=p["b_k"])),
        lambda p: (definition.biased_general, dict(W=p["W"], b=p["b_k"])),
        False,
    ),
    "activated_general": (
        lambda p: (scoring.activated_general, dict(W=p["W"], b=p["b"])),
        lambda p: (definition.activated_general, dict(W=p["W"], b=float(p["b"]))),
        False,
    ),
    "cosine": (lambda p: (scoring.similarity, {}), lambda p: (definition.cosine, {}), True),
    "euclidean": (
        lambda p: (scoring.similarity, dict(kind="euclidean")),
        lambda p: (definition.euclidean, {}),
        True,
    ),
    "squared_euclidean": (
        lambda p: (scoring.similarity, dict(kind="squared_euclidean")),
        lambda p: (definition.squared_euclidean, {}),
        True,
    ),
}


def bind(name, p):
    """Return the score as a function of queries and keys, and the queries and keys for it."""
    make, _, same_width = FORMULAS[name]
    function, parameters = make(p)
    return partial(function, **parameters), p["queries"], p["same" if same_width else "keys"]


def as_torch(p, dtype=torch.float64):
    return {name: torch.as_tensor(array).to(dtype) for name, array in p.items()}


@pytest.mark.agrees("scoring.dot", "definitions.scoring.dot")
@pytest.mark.agrees("scoring.scaled_dot", "definitions.scoring.scaled_dot")
@pytest.mark.agrees("scoring.additive", "definitions.scoring.additive")
@pytest.mark.agrees("scoring.general", "definitions.scoring.general")
@pytest.mark.agrees("scoring.biased_general", "definitions.scoring.biased_general")
@pytest.mark.agrees("scoring.activated_general", "definitions.scoring.activated_general")
@pytest.mark.agrees(
    "scoring.similarity",
    "definitions.scoring.cosine",
    "definitions.scoring.euclidean",
    "definitions.scoring.squared_euclidean",
)
@pytest.mark.parametrize("name", FORMULAS)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_score_agrees_with_its_definition_in_loops(name, seed):
    p = draw(np.random.default_rng(seed))
    score, queries, keys = bind(name, p)
    one, parameters = FORMULAS[name][1](p)
    scores = score(queries, keys)
    assert scores.shape == (B, Q, K)
    wanted = [
        [[one(q, k, **parameters) for k in ks] for q in qs]
        for qs, ks in zip(queries, keys, strict=True)
    ]
    np.testing.assert_allclose(scores, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
def test_numpy_and_pytorch_agree(name, rng):
    p = draw(rng)
    score, queries, keys = bind(name, p)
    tensor_score, tensor_queries, tensor_keys = bind(name, as_torch(p))
    ours, theirs = score(queries, keys), tensor_score(tensor_queries, tensor_keys)
    np.testing.assert_allclose(theirs.numpy(), ours, atol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_dtype_is_kept(name, dtype, rng):
    score, queries, keys = bind(name, as_torch(draw(rng), dtype))
    assert score(queries, keys).dtype == dtype


@pytest.mark.parametrize("name", FORMULAS)
def test_gradcheck_through_queries_keys_and_parameters(name, rng):
    p = {key: value.requires_grad_() for key, value in as_torch(draw(rng)).items()}
    score, queries, keys = bind(name, p)
    arrays = [queries, keys, *score.keywords.values()]
    tensors = [a for a in arrays if isinstance(a, torch.Tensor)]
    assert torch.autograd.gradcheck(lambda *_: score(queries, keys), tensors)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_score_can_be_handed_to_attend(name, rng):
    score, queries, keys = bind(name, draw(rng))
    context, weights = attend(queries, keys, rng.normal(size=(B, K, 17)), score=score)
    assert context.shape == (B, Q, 17)
    np.testing.assert_allclose(weights.sum(-1), 1)


@pytest.mark.agrees("scoring.similarity", "scikit-learn")
def test_similarities_agree_with_scikit_learn(rng):
    queries, keys = rng.normal(size=(Q, D_Q)), rng.normal(size=(K, D_Q))
    cosine = scoring.similarity(queries, keys, scale=2.5)
    euclidean = scoring.similarity(queries, keys, kind="euclidean", scale=2.5)
    np.testing.assert_allclose(cosine, 2.5 * cosine_similarity(queries, keys))
    np.testing.assert_allclose(euclidean, -2.5 * euclidean_distances(queries, keys))


# --- the numbered properties -------------------------------------------------------------------


@pytest.mark.proves("P1.1")
def test_general_with_the_identity_is_dot_and_with_a_scaled_one_is_scaled(rng):
    queries, keys = rng.normal(size=(Q, D_Q)), rng.normal(size=(K, D_Q))
    identity = np.eye(D_Q)
    np.testing.assert_allclose(scoring.general(queries, keys, identity), scoring.dot(queries, keys))
    np.testing.assert_allclose(
        scoring.general(queries, keys, identity / np.sqrt(D_Q)), scoring.scaled_dot(queries, keys)
    )


@pytest.mark.proves("P1.2")
def test_without_bias_and_activation_the_general_family_is_one(rng):
    p = draw(rng)
    plain = scoring.general(p["queries"], p["keys"], p["W"])
    biased = scoring.biased_general(p["queries"], p["keys"], p["W"], np.zeros(D_K))
    activated = scoring.activated_general(p["queries"], p["keys"], p["W"], 0.0, act="identity")
    np.testing.assert_allclose(biased, plain)
    np.testing.assert_allclose(activated, plain)


@pytest.mark.proves("P1.3")
@pytest.mark.parametrize(("act", "dead"), [("identity", True), ("tanh", False)])
def test_the_scalar_bias_is_dead_exactly_when_nothing_bends_it(act, dead, rng):
    p = as_torch(draw(rng))
    b = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    weights = softmax(scoring.activated_general(p["queries"], p["keys"], p["W"] / 10, b, act))
    (weights * torch.arange(K)).sum().backward()
    assert (abs(b.grad.item()) < 1e-12) == dead


@pytest.mark.proves("P1.3")
def test_the_vector_bias_of_biased_general_is_alive(rng):
    p = as_torch(draw(rng))
    b = torch.zeros(D_K, dtype=torch.float64, requires_grad=True)
    weights = softmax(scoring.biased_general(p["queries"], p["keys"], p["W"] / 10, b))
    (weights * torch.arange(K)).sum().backward()
    assert b.grad.abs().min() > 1e-6


@pytest.mark.proves("P1.4")
def test_tanh_caps_the_weights_of_activated_general(rng):
    p = draw(rng)
    weights = softmax(scoring.activated_general(p["queries"], p["keys"], 1e6 * p["W"]))
    assert weights.max() <= e**2 / (e**2 + K - 1) + 1e-12
    assert (weights.max(-1) / weights.min(-1) <= e**2 + 1e-9).all()  # within each row


@pytest.mark.proves("P1.4")
def test_additive_scores_stay_within_the_sum_of_its_weights(rng):
    p = draw(rng)
    scores = scoring.additive(p["queries"], p["keys"], p["w"], 1e6 * p["W_q"], p["W_k"])
    assert np.abs(scores).max() <= np.abs(p["w"]).sum() + 1e-9


@pytest.mark.proves("P1.5")
def test_additive_with_a_constant_query_is_the_form_without_a_query(rng):
    p = draw(rng)
    queries = np.broadcast_to(p["queries"][:1, :1], (B, 1, D_Q))
    additive = scoring.additive(queries, p["keys"], p["w"], p["W_q"], p["W_k"], p["b_w"])
    bias = p["b_w"] + p["W_q"] @ p["queries"][0, 0]
    np.testing.assert_allclose(additive, scoring.no_query(p["keys"], p["w"], p["W_k"], bias))


@pytest.mark.agrees("scoring.no_query", "definitions.scoring.no_query")
def test_no_query_agrees_with_its_definition_in_loops(rng):
    p = draw(rng)
    for bias in (None, p["b_w"]):
        scores = scoring.no_query(p["keys"], p["w"], p["W_k"], bias)
        wanted = [[definition.no_query(k, p["w"], p["W_k"], bias) for k in ks] for ks in p["keys"]]
        np.testing.assert_allclose(scores[:, 0], wanted)


@pytest.mark.proves("P1.6")
@given(stretch=st.floats(0.01, 100))
def test_cosine_ignores_length(stretch):
    p = draw(np.random.default_rng(0))
    keys = p["same"].copy()
    keys[:, 2] *= stretch
    np.testing.assert_allclose(
        scoring.similarity(stretch * p["queries"], keys),
        scoring.similarity(p["queries"], p["same"]),
        atol=1e-12,
    )


@pytest.mark.proves("P1.6")
@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        (torch.float16, 4e4),
        (torch.float16, 40.0),
        (torch.float16, 1e-4),
        (torch.bfloat16, 1e30),
        (torch.bfloat16, 1e-30),
        (torch.float64, 1e170),
        (torch.float64, 1e-170),
    ],
)
def test_cosine_ignores_lengths_whose_square_no_number_holds(dtype, size):
    signs = torch.ones(2, 61, dtype=dtype)
    signs[1, 7:] = -1
    wanted = torch.tensor([[1.0, -47 / 61], [-47 / 61, 1.0]])
    cosine = scoring.similarity(size * signs, signs)
    torch.testing.assert_close(cosine.float(), wanted, atol=0.01, rtol=0)


@pytest.mark.proves("P1.6")
def test_a_zero_vector_has_cosine_zero_and_a_finite_gradient():
    queries = torch.zeros(1, 3, requires_grad=True)
    scores = scoring.similarity(queries, torch.eye(3))
    scores.sum().backward()
    assert (scores == 0).all()
    assert torch.isfinite(queries.grad).all()


def test_euclidean_has_a_finite_gradient_where_query_and_key_coincide():
    points = torch.ones(1, 3, requires_grad=True)
    scores = scoring.similarity(points, torch.ones(1, 3), kind="euclidean")
    scores.sum().backward()
    assert scores.item() == 0
    assert (points.grad == 0).all()


@pytest.mark.proves("P1.7")
def test_a_long_query_picks_the_best_key_and_a_short_one_none(rng):
    queries = np.array([[1.0, 0.0]])
    keys = np.array([[2.0, 5.0], [2.0, -1.0], [1.0, 9.0]])
    np.testing.assert_allclose(softmax(scoring.dot(1e4 * queries, keys)), [[0.5, 0.5, 0]])
    np.testing.assert_allclose(softmax(scoring.dot(1e-9 * queries, keys)), [[1 / 3] * 3])


@pytest.mark.proves("P1.8")
def test_general_has_a_gauge_freedom(rng):
    p = draw(rng)
    M = rng.normal(size=(D_K, D_K))
    gauged = scoring.general(p["queries"], p["keys"] @ M.T, np.linalg.inv(M).T @ p["W"])
    np.testing.assert_allclose(gauged, scoring.general(p["queries"], p["keys"], p["W"]))


def test_the_scale_keeps_the_variance_of_a_score_at_one():
    rng = np.random.default_rng(0)
    queries, keys = rng.normal(size=(2000, 256)), rng.normal(size=(50, 256))
    assert abs(scoring.scaled_dot(queries, keys).var() - 1) < 0.05
    assert abs(scoring.dot(queries, keys).var() / 256 - 1) < 0.05


def test_squared_distance_is_dot_with_a_penalty_under_softmax(rng):
    queries, keys = rng.normal(size=(Q, D_Q)), rng.normal(size=(K, D_Q))
    penalty = 0.5 * (keys**2).sum(-1)
    np.testing.assert_allclose(
        softmax(scoring.similarity(queries, keys, kind="squared_euclidean")),
        softmax(scoring.dot(queries, keys) - penalty),
    )


def test_without_an_activation_additive_forgets_the_query(rng):
    p = draw(rng)
    scores = scoring.additive(p["queries"], p["keys"], p["w"], p["W_q"], p["W_k"], act="identity")
    weights = softmax(scores)
    np.testing.assert_allclose(weights, np.broadcast_to(weights[:, :1], weights.shape))


def test_working_in_blocks_changes_nothing(rng, monkeypatch):
    p = draw(rng)
    for name in ("additive", "euclidean"):
        score, queries, keys = bind(name, p)
        whole = score(queries, keys)
        monkeypatch.setattr(scoring, "BLOCK_BYTES", 1)  # one query at a time
        np.testing.assert_array_equal(score(queries, keys), whole)
        monkeypatch.undo()


def test_a_block_is_as_small_as_promised_when_both_sides_bring_batches(monkeypatch):
    monkeypatch.setattr(scoring, "BLOCK_BYTES", 8 * (5 * 7) * K * D_Q)  # what one query needs
    largest = 0

    def tanh(x):
        nonlocal largest
        largest = max(largest, x.nbytes)
        return np.tanh(x)

    queries, keys = np.ones((5, 1, Q, D_Q)), np.ones((1, 7, K, D_Q))
    identity = np.eye(D_Q)
    scores = scoring.additive(queries, keys, np.ones(D_Q), identity, identity, act=tanh)
    assert scores.shape == (5, 7, Q, K)
    assert largest == scoring.BLOCK_BYTES


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_agree_with_their_definitions_and_stay_finite(name):
    x = np.array([-3.0, -0.5, 0.0, 0.5, 3.0])
    wanted = [definition.ACTIVATIONS[name](v) for v in x]
    np.testing.assert_allclose(ACTIVATIONS[name](x), wanted, atol=1e-12)
    far = torch.tensor([-1e4, 1e4], requires_grad=True)
    ACTIVATIONS[name](far).sum().backward()
    assert torch.isfinite(far.grad).all()


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: scoring.dot(np.ones((1, 4)), np.ones((2, 5))), "use `general` or `additive`"),
        (
            lambda: scoring.general(np.ones((1, 4)), np.ones((2, 5)), np.ones((4, 5))),
            "W must be (d_k, d_q) = (5, 4), but is (4, 5)",
        ),
        (
            lambda: scoring.biased_general(
                np.ones((1, 4)), np.ones((2, 5)), np.ones((5, 4)), np.ones(4)
            ),
            "b must be (d_k,) = (5,), but is (4,)",
        ),
        (
            lambda: scoring.activated_general(
                np.ones((1, 4)), np.ones((2, 5)), np.ones((5, 4)), np.ones(5)
            ),
            "A vector belongs to `biased_general`",
        ),
        (
            lambda: scoring.additive(
                np.ones((1, 4)), np.ones((2, 5)), np.ones(3), np.ones((3, 5)), np.ones((3, 5))
            ),
            "W_q must be (d_w, d_q) = (3, 4), but is (3, 5)",
        ),
        (
            lambda: scoring.additive(
                np.ones((1, 4)),
                np.ones((2, 5)),
                np.ones(3),
                np.ones((3, 4)),
                np.ones((3, 5)),
                b=np.ones(4),
            ),
            "b must be (d_w,) = (3,), but is (4,)",
        ),
        (
            lambda: scoring.no_query(np.ones((2, 4)), np.ones(3), np.ones((3, 4)), b=np.ones(2)),
            "b must be (d_w,) = (3,), but is (2,)",
        ),
        (
            lambda: scoring.dot(torch.ones(2, 3, 5), torch.ones(3, 7, 5)),
            "the leading axes do not fit: queries are (2, 3, 5), keys are (3, 7, 5)",
        ),
        (
            lambda: scoring.similarity(np.ones((1, 4)), np.ones((2, 4)), kind="cosin"),
            "kind must be one of cosine, euclidean, squared_euclidean",
        ),
        (
            lambda: scoring.no_query(np.ones((2, 4)), np.ones(3), np.ones((3, 4)), act="tan"),
            "act must be one of tanh, sigmoid, relu",
        ),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()


@pytest.mark.parametrize("size", [1e25, 1.0, 1e-25])
@pytest.mark.parametrize("library", [np, torch, array_api_strict])
def test_a_euclidean_distance_of_any_size_is_right_in_single_precision(library, size):
    queries = library.asarray([[3.0, 0.0], [0.0, 0.0]], dtype=library.float32) * size
    keys = library.asarray([[0.0, 4.0], [0.0, 0.0]], dtype=library.float32) * size
    scores = np.asarray(scoring.similarity(queries, keys, kind="euclidean"))
    np.testing.assert_allclose(scores, -size * np.array([[5.0, 3.0], [4.0, 0.0]]), rtol=1e-6)


def test_a_broken_key_spoils_no_distance_but_its_own():
    queries, keys = torch.ones(3, 2), torch.arange(8.0).reshape(4, 2)
    wanted = scoring.similarity(queries, keys, kind="euclidean")
    for junk in (torch.inf, torch.nan):
        broken = keys.clone()
        broken[2] = junk
        scores = scoring.similarity(queries, broken, kind="euclidean")
        torch.testing.assert_close(scores[:, [0, 1, 3]], wanted[:, [0, 1, 3]])
        assert not scores[:, 2].isfinite().any()
