"""Accuracy, precision, recall and F1 against scikit-learn and the definition in loops."""

import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from attn_course.definitions import evaluation as definition
from attn_course.evaluation.classification import accuracy, confusion_matrix, precision_recall_f1

pairs_of_three = st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=1, max_size=29)
pairs_of_two = st.lists(st.tuples(*[st.integers(0, 1)] * 2), min_size=1, max_size=29)


def assert_scores_are_those_of_scikit_learn(truth, predicted, average, **options):
    zero_division = options.get("zero_division", 0.0)
    ours = precision_recall_f1(truth, predicted, average=average, **options)
    theirs = metrics.precision_recall_fscore_support(
        truth,
        predicted,
        average=None if average == "none" else average,
        zero_division=zero_division,
    )
    for score, wanted in zip(ours, theirs[:3], strict=True):
        np.testing.assert_allclose(score, wanted, atol=1e-12)


@pytest.mark.agrees("evaluation.precision_recall_f1", "scikit-learn")
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize("average", ["none", "macro", "micro"])
@given(pairs=pairs_of_three)
@settings(max_examples=30)
def test_scores_of_several_classes_agree_with_scikit_learn(average, zero_division, pairs):
    assert_scores_are_those_of_scikit_learn(
        *zip(*pairs, strict=True), average, zero_division=zero_division
    )


@pytest.mark.agrees("evaluation.precision_recall_f1", "scikit-learn")
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@given(pairs=pairs_of_two)
@settings(max_examples=30)
def test_scores_of_two_classes_agree_with_scikit_learn(zero_division, pairs):
    truth, predicted = zip(*pairs, strict=True)
    assert_scores_are_those_of_scikit_learn(truth, predicted, "binary", zero_division=zero_division)


@pytest.mark.agrees("evaluation.accuracy", "scikit-learn")
@pytest.mark.agrees("evaluation.confusion_matrix", "scikit-learn")
@given(pairs=pairs_of_three)
def test_accuracy_and_confusion_agree_with_scikit_learn(pairs):
    truth, predicted = zip(*pairs, strict=True)
    assert accuracy(truth, predicted) == pytest.approx(metrics.accuracy_score(truth, predicted))
    wanted = metrics.confusion_matrix(truth, predicted, labels=[2, 0, 1])
    assert confusion_matrix(truth, predicted, classes=[2, 0, 1]).tolist() == wanted.tolist()


@pytest.mark.agrees("evaluation.precision_recall_f1", "definitions.evaluation.f1")
@given(pairs=pairs_of_two, positive=st.integers(0, 1))
def test_f1_agrees_with_its_definition_in_loops(pairs, positive):
    truth, predicted = zip(*pairs, strict=True)
    ours = precision_recall_f1(truth, predicted, positive=positive).f1
    assert ours == pytest.approx(definition.f1(truth, predicted, positive))


@given(pairs=pairs_of_three)
def test_micro_scores_are_the_accuracy(pairs):
    truth, predicted = zip(*pairs, strict=True)
    scores = precision_recall_f1(truth, predicted, average="micro")
    assert scores == pytest.approx([accuracy(truth, predicted)] * 3)


def test_macro_f1_is_the_mean_of_the_f1_not_the_f1_of_the_means():
    truth, predicted = [0, 0, 0, 0, 1], [0, 1, 1, 1, 1]
    scores = precision_recall_f1(truth, predicted, average="macro")
    of_means = 2 * scores.precision * scores.recall / (scores.precision + scores.recall)
    assert scores.f1 == pytest.approx((0.4 + 0.4) / 2)
    assert of_means == pytest.approx(0.625)


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_lists_arrays_and_tensors_are_the_same(kind):
    truth, predicted = [0, 1, 1, 1, 0], [0, 1, 0, 1, 1]
    assert accuracy(kind(truth), kind(predicted)) == 0.6
    scores = precision_recall_f1(kind(truth), kind(predicted))
    assert scores == pytest.approx((2 / 3, 2 / 3, 2 / 3))


def test_classes_may_be_words():
    truth, predicted = np.array(["cat", "eel", "eel"]), ["cat", "cat", "eel"]
    assert confusion_matrix(truth, predicted).tolist() == [[1, 0], [1, 1]]
    assert precision_recall_f1(truth, predicted, positive="eel").recall == 0.5


def test_a_class_that_does_not_occur_counts_where_it_is_asked_for():
    truth = predicted = [0, 1]
    assert precision_recall_f1(truth, predicted, average="macro").f1 == 1
    scores = precision_recall_f1(truth, predicted, average="macro", classes=[0, 1, 2])
    assert scores.f1 == pytest.approx(2 / 3)
    assert precision_recall_f1(["no"], ["no"], positive="yes").recall == 0


def test_where_accuracy_misleads_it_praises_who_never_names_the_rare_class():
    truth, never = [1] * 5 + [0] * 95, [0] * 100
    assert accuracy(truth, never) == 0.95
    assert precision_recall_f1(truth, never) == (0, 0, 0)
    assert precision_recall_f1(truth, never, average="macro").recall == 0.5


def test_where_f1_misleads_it_depends_on_which_class_is_called_positive():
    truth, predicted = ["ham"] * 9 + ["spam"], ["ham"] * 10
    assert precision_recall_f1(truth, predicted, positive="ham").f1 == pytest.approx(18 / 19)
    assert precision_recall_f1(truth, predicted, positive="spam").f1 == 0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: accuracy([], []), "truth and predicted are empty"),
        (lambda: accuracy([1], [1, 0]), "there are 1 true classes and 2 predicted ones"),
        (lambda: accuracy([1], [0.7]), "From scores or probabilities take the argmax first"),
        (lambda: accuracy([1], [[0, 1]]), "predicted must be one class for each example"),
        (lambda: accuracy("cat", ["cat"]), "truth must be a list of classes, but is 'cat'"),
        (lambda: confusion_matrix([1], ["1"]), "truth and predicted mix integers and strings"),
        (lambda: confusion_matrix([1], [2], classes=[1]), "leaves out ['2']"),
        (lambda: confusion_matrix([1], [1], classes=[1, 1]), "each once, but is [1, 1]"),
        (
            lambda: precision_recall_f1([0, 1, 2], [0, 1, 2]),
            "Say average='macro', 'micro' or 'none'",
        ),
        (lambda: precision_recall_f1([1], [1], average="all"), "binary, none, macro, micro"),
        (lambda: precision_recall_f1(["a", "b"], ["a", "b"]), "positive is 1, but the classes are"),
        (lambda: precision_recall_f1([0, 2], [0, 2]), "positive=2"),
        (
            lambda: precision_recall_f1([1], [1], zero_division=float("nan")),
            "zero_division must be between 0 and 1, but is nan",
        ),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()


@pytest.mark.parametrize("labels", [["cat"] * 3, [7, 7], np.array([1]), torch.tensor([0, 0])])
def test_a_single_class_is_its_own_matrix_and_nothing_warns(labels):
    assert confusion_matrix(labels, labels).tolist() == [[len(labels)]]
    assert accuracy(labels, labels) == 1.0
