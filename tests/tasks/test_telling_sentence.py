"""The telling sentence: the verdict next to "overall" is the answer, and each level has its job."""

import pytest
import torch

from attn_course.tasks.telling_sentence import ReviewReader, TellingSentence, word_of
from attn_course.tasks.training import seeded, train

TASK = TellingSentence()
NUMBER = 80


def drawn(number=NUMBER, split="test"):
    return TASK.examples(split, number, TASK.rng(split))


def read(examples, place):
    """Return the sentences of a review as lists of words."""
    words, mask = (examples.inputs[name][place] for name in ("words", "mask"))
    return [
        [word_of(word) for word, there in zip(*sentence, strict=True) if there]
        for sentence in zip(words, mask, strict=True)
    ]


def test_the_answer_is_the_verdict_of_the_only_sentence_that_says_overall():
    examples = drawn()
    for place in range(NUMBER):
        review = read(examples, place)
        (telling,) = [s for s, sentence in enumerate(review) if "overall" in sentence]
        (verdict,) = [word for word in review[telling] if word.startswith("verdict")]
        assert verdict == f"verdict {examples.targets[place, 0].item() + 1}"
        right = examples.right["words"][place]
        wanted = [
            [telling, n] for n, word in enumerate(review[telling]) if word in ("overall", verdict)
        ]
        assert right.nonzero().tolist() == wanted
        assert examples.right["sentences"][place, 0].nonzero().tolist() == [[telling]]


def test_every_sentence_has_one_verdict_and_is_as_long_as_it_should_be():
    examples = drawn()
    for place in range(NUMBER):
        sentences = [sentence for sentence in read(examples, place) if sentence]
        assert 4 <= len(sentences) <= 6
        for sentence in sentences:
            assert 5 <= len(sentence) <= 8
            assert sum(word.startswith("verdict") for word in sentence) == 1


def test_padding_is_empty():
    examples = drawn()
    assert not examples.inputs["mask"].all()
    assert (examples.inputs["words"][~examples.inputs["mask"]] == 0).all()


def test_the_answer_is_given_elsewhere_too_as_often_as_chance_has_it():
    examples = drawn(4000)
    grades = examples.inputs["words"][..., 6:-1]  # (batch, s, n, 8)
    verdicts = (grades * examples.inputs["words"][..., :1]).sum(-2)  # of each sentence
    others = verdicts * ~examples.right["sentences"][:, 0, :, None]
    share = others.sum(1).gather(1, examples.targets) / others.sum((1, 2))[:, None]
    assert share.mean().item() == pytest.approx(1 / 8, abs=0.01)


def test_arms_differ_in_the_levels_alone():
    arms = {name: arm for name, arm in TASK.arms.items() if "pooling" not in name}
    names = {name: set(dict(arm.build().named_parameters())) for name, arm in arms.items()}
    words = {f"attention.score_S.{part}" for part in ("w", "W", "b")}
    sentences = {f"attention.score_D.{part}" for part in ("w", "W", "b")}
    output = {"output.weight", "output.bias"}
    assert names == {
        "hierarchical": words | sentences | output,
        "words only": words | output,
        "sentences only": sentences | output,
        "flat": words | sentences | output,
        "uniform": output,
    }


def built(**options):
    with seeded(0):
        return ReviewReader(**options)


def test_a_level_that_is_ablated_has_equal_weights_over_what_is_there():
    examples = drawn()
    mask = examples.inputs["mask"].float()
    equal_words = mask / mask.sum(-1, keepdim=True).clamp(min=1)
    there = mask.any(-1).float()
    equal_sentences = (there / there.sum(-1, keepdim=True))[:, None]
    with torch.no_grad():
        _p, no_words = built(words=False)(**examples.inputs)
        _p, no_sentences = built(sentences=False)(**examples.inputs)
    torch.testing.assert_close(no_words["words"], equal_words)
    torch.testing.assert_close(no_sentences["sentences"], equal_sentences)
    assert not torch.allclose(no_sentences["words"], equal_words)
    assert not torch.allclose(no_words["sentences"], equal_sentences)


def test_flat_attention_does_not_know_which_words_stand_together():
    examples = drawn()
    words, mask = examples.inputs["words"], examples.inputs["mask"]
    flat, both = built(flat=True), built()
    with torch.no_grad():
        for model, is_blind in ((flat, True), (both, False)):
            whole, _w = model(words, mask)
            again, _w = model(words.flip(1, 2), mask.flip(1, 2))  # still neighbours
            moved_words = words.transpose(1, 2).reshape(words.shape)
            moved_mask = mask.transpose(1, 2).reshape(mask.shape)
            moved, _w = model(moved_words, moved_mask)
            torch.testing.assert_close(whole, again)
            assert torch.allclose(whole, moved, atol=1e-6) == is_blind
        _p, weights = flat(words, mask)
    torch.testing.assert_close(weights["words"].sum((1, 2)), torch.ones(NUMBER))
    torch.testing.assert_close(weights["sentences"][:, 0], weights["words"].sum(-1))


def test_a_short_training_finds_the_sentence():
    found = train(TASK, "hierarchical", steps=80, learning_rate=1e-2, split="validation")
    assert found.losses[-1] < found.losses[0] - 0.3
    assert found.test.attention["sentences"] > 0.4
