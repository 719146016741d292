"""Links from weights, and the alignment error rate: P6.1, P6.2, and NLTK as the oracle."""

import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from nltk.metrics import f_measure, precision, recall
from nltk.translate.metrics import alignment_error_rate as nltk_error_rate

from attn_course.evaluation.links import (
    LinkCounts,
    alignment_error_rate,
    corpus_alignment_error_rate,
    link_counts,
    links_from_weights,
)

Q, K = 5, 7
weights_of = arrays(np.float64, (Q, K), elements=st.floats(0, 1))
masks_of = arrays(np.bool_, (Q, K))
links = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 4)))
some_links = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1)


def argmax_in_loops(weights, mask):
    drawn = set()
    for target, row in enumerate(weights):
        best = None
        for source, weight in enumerate(row):
            if mask[target][source] and weight > 0 and (best is None or weight > row[best]):
                best = source
        if best is not None:
            drawn.add((target, best))
    return drawn


# --- links from weights -----------------------------------------------------------------------


@given(weights=weights_of, mask=masks_of)
def test_argmax_links_agree_with_loops(weights, mask):
    everything = np.ones_like(mask)
    assert links_from_weights(weights) == argmax_in_loops(weights, everything)
    assert links_from_weights(weights, mask=mask) == argmax_in_loops(weights, mask)


@given(weights=weights_of, mask=masks_of, threshold=st.floats(0.01, 1))
def test_threshold_links_are_the_pairs_that_reach_it(weights, mask, threshold):
    wanted = {
        (t, s) for t in range(Q) for s in range(K) if weights[t, s] >= threshold and mask[t, s]
    }
    drawn = links_from_weights(weights, how="threshold", threshold=threshold, mask=mask)
    assert drawn == wanted


@given(weights=weights_of, back=arrays(np.float64, (K, Q), elements=st.floats(0, 1)), mask=masks_of)
def test_union_links_are_those_of_either_direction(weights, back, mask):
    forth = argmax_in_loops(weights, mask)
    turned = {(t, s) for s, t in argmax_in_loops(back, mask.T)}
    assert links_from_weights(weights, how="union", mask=mask, backward=back) == forth | turned


@given(weights=weights_of)
def test_union_without_a_second_model_reads_the_columns(weights):
    assert links_from_weights(weights, how="union") == links_from_weights(
        weights, how="union", backward=weights.T
    ) | links_from_weights(weights)


@given(weights=weights_of, mask=masks_of)
def test_numpy_and_pytorch_draw_the_same_links(weights, mask):
    theirs = torch.from_numpy(weights), torch.from_numpy(mask)
    for options in ({}, {"how": "union"}, {"how": "threshold", "threshold": 0.3}):
        assert links_from_weights(theirs[0], mask=theirs[1], **options) == links_from_weights(
            weights, mask=mask, **options
        )


def test_of_equal_weights_the_first_is_linked():
    uniform = np.full((3, 5), 1 / 5)
    assert links_from_weights(uniform) == {(0, 0), (1, 0), (2, 0)}
    mask = np.array([[False, True, True, True, True]])
    assert links_from_weights(uniform, mask=mask) == {(0, 1), (1, 1), (2, 1)}


def test_a_fully_masked_row_has_no_link():
    mask = np.array([[True], [False], [True]])
    assert links_from_weights(np.full((3, 2), 0.5), mask=mask) == {(0, 0), (2, 0)}
    assert links_from_weights(np.zeros((3, 2))) == set()
    assert links_from_weights(np.zeros((3, 2)), how="threshold", threshold=0.0) == set()


def test_no_keys_give_no_links():
    assert links_from_weights(np.zeros((3, 0))) == set()
    assert links_from_weights(np.zeros((0, 3)), how="union") == set()


# --- the error rate ---------------------------------------------------------------------------


@pytest.mark.agrees("evaluation.alignment_error_rate", "NLTK")
@pytest.mark.agrees("evaluation.link_counts", "NLTK")
@given(drawn=some_links, sure=some_links, more=links)
def test_the_error_rate_agrees_with_nltk(drawn, sure, more):
    possible = sure | more
    wanted = nltk_error_rate(sure, drawn, possible)
    assert alignment_error_rate(drawn, sure, possible) == pytest.approx(wanted, abs=1e-12)
    counts = link_counts(drawn, sure, possible)
    assert counts.precision == pytest.approx(precision(possible, drawn))
    assert counts.recall == pytest.approx(recall(sure, drawn))


@given(drawn=some_links, sure=some_links)
def test_without_possible_links_it_is_one_minus_f1(drawn, sure):
    assert alignment_error_rate(drawn, sure) == pytest.approx(1 - (f_measure(sure, drawn) or 0))


@pytest.mark.proves("P6.1")
@given(sure=some_links, more=links, data=st.data())
def test_between_sure_and_possible_there_is_no_error(sure, more, data):
    possible = sure | more
    drawn = sure | data.draw(st.sets(st.sampled_from(sorted(possible))))
    assert alignment_error_rate(drawn, sure, possible) == 0


@pytest.mark.proves("P6.1")
@given(sure=some_links, more=links, drawn=some_links)
def test_links_outside_the_possible_ones_are_all_wrong(sure, more, drawn):
    elsewhere = {(t + 10, s) for t, s in drawn}
    assert alignment_error_rate(elsewhere, sure, sure | more) == 1


@pytest.mark.proves("P6.2")
def test_the_fixture():
    sure = {(0, 0), (1, 1)}
    possible = sure | {(1, 2), (2, 2)}
    drawn = {(0, 0), (1, 2), (2, 1)}
    assert alignment_error_rate(drawn, sure, possible) == pytest.approx(0.4)


@pytest.mark.proves("P6.2")
def test_one_right_of_three_is_two_thirds_wrong():
    drawn, sure = {(0, 0), (1, 2), (2, 1)}, {(0, 0), (1, 1), (2, 2)}
    assert alignment_error_rate(drawn, sure) == pytest.approx(0.6667, abs=1e-4)


def test_where_there_is_nothing_to_draw_nothing_is_wrong():
    counts = link_counts(set(), set())
    assert (counts.error_rate, counts.precision, counts.recall) == (0, 1, 1)
    missed = link_counts(set(), {(0, 0)})
    assert (missed.error_rate, missed.precision, missed.recall) == (1, 1, 0)


@given(pairs=st.lists(st.tuples(links, some_links, links), min_size=1, max_size=4))
def test_a_corpus_is_pooled_as_one_long_sentence(pairs):
    drawn, sure, possible, longest = [], [], [], (set(), set(), set())
    for i, (a, s, more) in enumerate(pairs):
        p = s | more
        drawn, sure, possible = [*drawn, a], [*sure, s], [*possible, p]
        for whole, part in zip(longest, (a, s, p), strict=True):
            whole.update((t + 100 * i, source) for t, source in part)
    wanted = alignment_error_rate(*longest)
    assert corpus_alignment_error_rate(drawn, sure, possible) == pytest.approx(wanted)


def test_a_pooled_rate_is_not_the_mean_of_rates():
    short, long = {(0, 0)}, {(t, t) for t in range(9)}
    rate = corpus_alignment_error_rate([set(), long], [short, long])
    assert rate == pytest.approx(1 - 18 / 19)
    assert LinkCounts(0, 1, 0, 0) + LinkCounts(9, 9, 9, 9) == LinkCounts(9, 10, 9, 9)


# --- errors -----------------------------------------------------------------------------------


def test_a_sure_link_that_is_not_possible_is_named():
    with pytest.raises(ValueError, match=re.escape("but [(3, 4)] are sure only")):
        alignment_error_rate(set(), {(3, 4)}, {(0, 0)})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"how": "best"}, "how must be one of argmax, threshold, union"),
        ({"how": "threshold"}, "threshold goes with how='threshold'"),
        ({"threshold": 0.2}, "threshold goes with how='threshold'"),
        ({"backward": np.ones((3, 2))}, "read by how='union' only"),
        ({"how": "union", "backward": np.ones((2, 3))}, r"must be \(3, 2\), but are \(2, 3\)"),
        ({"mask": np.ones((2, 3))}, "mask must be boolean"),
        ({"mask": np.ones((5, 3), bool)}, "mask must broadcast"),
    ],
)
def test_options_that_do_not_fit_get_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        links_from_weights(np.ones((2, 3)), **options)


def test_a_batch_of_weights_is_sent_to_a_loop():
    with pytest.raises(ValueError, match=r"one matrix of weights \(q, k\)"):
        links_from_weights(np.ones((2, 3, 5)))


def test_nan_is_no_link():
    with pytest.raises(ValueError, match="NaN"):
        links_from_weights(np.array([[np.nan, 1.0]]))


def test_a_corpus_of_unequal_lengths_is_refused():
    with pytest.raises(ValueError, match="predicted has 1, sure 2, possible 2"):
        corpus_alignment_error_rate([set()], [set(), set()])


def test_a_corpus_of_nothing_is_not_perfect():
    with pytest.raises(ValueError, match="nothing to score"):
        corpus_alignment_error_rate([], [])


def test_links_are_pairs_in_tuples_or_lists():
    assert alignment_error_rate([[0, 0], [1, 2]], {(0, 0), (1, 2)}) == 0
    for wrong in ("0-0", [0, 1], [(0, 1, 2)]):
        with pytest.raises(ValueError, match="predicted must be pairs of positions"):
            alignment_error_rate(wrong, {(0, 0)})
