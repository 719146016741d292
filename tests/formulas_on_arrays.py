"""Every formula that is for NumPy arrays too, asked once. Nothing here may import PyTorch."""

from functools import partial

import numpy as np

from attn_course import (
    alignment,
    attention,
    dimensionality,
    positions,
    running_example,
    scoring,
)
from attn_course import nadaraya_watson as nw

B, Q, K, D, D_V, D_W = 13, 3, 7, 5, 2, 11  # every axis its own prime: a swapped axis can't pass


def answers() -> dict[str, np.ndarray]:
    """Return what the formulas say, by name."""
    said = _alignments() | _contexts() | _regression() | _positions()
    return {name: np.asarray(answer) for name, answer in said.items()}


def _alignments():
    rng = np.random.default_rng(0)
    scores, mask = rng.normal(size=(B, Q, K)), rng.random((B, Q, K)) < 0.7
    places = rng.uniform(1, K, size=(B, Q))
    w, W, b = rng.normal(size=D_W), rng.normal(size=(D_W, 3 * D)), rng.normal(size=D_W)
    w_p, W_p = rng.normal(size=D_W), rng.normal(size=(D_W, D))
    features, queries = rng.normal(size=(B, K, D)), rng.normal(size=(B, Q, D))
    probabilities = alignment.selection_probabilities(features, w, W, b)
    selection = alignment.select(probabilities, np.random.default_rng(1))
    lengths = np.arange(B) % K + 1
    return {
        "softmax": alignment.softmax(scores),
        "softmax, masked and warm": alignment.softmax(scores, mask, temperature=2.0),
        "softmax_off_by_one": alignment.softmax_off_by_one(scores, mask),
        "softmax_with_sink": alignment.softmax_with_sink(scores, mask, places[..., None]),
        "sparsemax": alignment.sparsemax(scores, mask),
        "entmax15": alignment.entmax15(scores, mask),
        "hard": alignment.hard(scores, np.random.default_rng(1), mask),
        "local_monotonic": alignment.local_monotonic(scores, places, 2, mask),
        "local_predictive": alignment.local_predictive(scores, places, 2, mask),
        "predict_positions": alignment.predict_positions(queries, w_p, W_p, lengths),
        "reinforced": alignment.reinforced(scores, selection, mask),
        "selection_log_probability": alignment.selection_log_probability(probabilities, selection),
        "padding_mask": alignment.padding_mask(lengths, K),
        "causal_mask": alignment.causal_mask(Q, K, like=scores),
        "window_mask": alignment.window_mask(Q, K, 2),
        "sliding_window_mask": alignment.sliding_window_mask(Q, K, width=2, sinks=1),
    }


def _contexts():
    rng = np.random.default_rng(2)
    queries, keys = rng.normal(size=(B, Q, D)), rng.normal(size=(B, K, D))
    values, mask = rng.normal(size=(B, K, D_V)), rng.random((B, 1, K)) < 0.7
    broken = np.where(np.arange(K)[:, None] == 4, np.nan, values)
    W_q, W_k, W_d = (rng.normal(size=size) for size in [(D_W, D), (D_W, D), (D_W, D_V)])
    multi_scores = partial(dimensionality.multi_scores, W_d=W_d, W_q=W_q, W_k=W_k)
    context, weights = attention.attend(queries, keys, values, mask=mask)
    multi_context, multi_weights = dimensionality.attend_multi(
        queries, keys, values, multi_scores, mask=mask
    )
    alone = dimensionality.multi_no_query(keys, W_d, W_k)
    words = running_example.features()
    seen, _ = attention.attend(queries, keys, broken, key_mask=mask[:, 0], causal=True)
    return {
        "attend_by_scores": attention.attend_by_scores(scoring.dot(queries, keys), values)[0],
        "multi_no_query": alone,
        "attend_multi_by_scores": dimensionality.attend_multi_by_scores(alone, values)[0],
        "context of real keys that came before": seen,
        "context": context,
        "weights": weights,
        "context of broken values": attention.attend(queries, keys, broken, mask=mask)[0],
        "mean_feature": attention.mean_feature(values),
        "mean_feature, masked": attention.mean_feature(values, mask[:, 0]),
        "scaled_dot": scoring.scaled_dot(words, words),
        "single": dimensionality.single(weights, values),
        "multi": dimensionality.multi(multi_weights, values),
        "multi_scores": multi_scores(queries, keys),
        "multi_context": multi_context,
        "multi_weights": multi_weights,
    }


def _regression():
    inputs, targets = nw.noisy_curve(np.random.default_rng(3), n=K)
    asked = np.linspace(0, 5, Q)
    return {
        "inputs": inputs,
        "targets": targets,
        "true_curve": nw.true_curve(asked),
        "kernel weights": nw.weights(asked, inputs, w=2.0, kernel="triangular"),
        "regress": nw.regress(asked, inputs, targets, w=2.0),
        "loss": nw.loss(inputs, targets, w=2.0),
        "gradient_descent": nw.gradient_descent(inputs, targets, 0.5, learning_rate=0.1, steps=5),
    }


def _positions():
    features = np.random.default_rng(4).normal(size=(B, K, 2 * D))
    return {
        "sinusoidal_positions": positions.sinusoidal_positions(K, 2 * D),
        "positions_of": positions.positions_of(features[..., 0] > 0),
        "rotate": positions.rotate(features),
        "rotate, half": positions.rotate(features, range(K, 2 * K), pairs="half"),
        "distance_bias": positions.distance_bias(positions.alibi_slopes(D), Q, K),
    }
