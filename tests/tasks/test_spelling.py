"""Spelling: the tag leads to a word, its place to the characters."""

import pytest
import torch

from attn_course.tasks.spelling import LETTERS, Spelling
from attn_course.tasks.task import IGNORED
from attn_course.tasks.training import seeded, train

TASK = Spelling()
EXAMPLES = TASK.examples("test", 200, TASK.rng("test"))


def sentence(i):
    """Return the tagged words as {tag: place} and the characters as (index, place, position, c)."""
    inputs = {name: tensor[i].tolist() for name, tensor in EXAMPLES.inputs.items()}
    tagged = zip(inputs["words"], inputs["word_mask"], strict=True)
    places = {tag: place for (tag, place), there in tagged if there}
    written = enumerate(zip(inputs["characters"], inputs["character_mask"], strict=True))
    return places, [(index, *one) for index, (one, there) in written if there]


def test_only_the_letter_of_the_tagged_word_at_that_position_is_right():
    for i in range(len(EXAMPLES)):
        places, characters = sentence(i)
        for t, (tag, position) in enumerate(EXAMPLES.inputs["asked"][i].tolist()):
            assert position == t
            fitting = [(k, c) for k, p, at, c in characters if (p, at) == (places[tag], t)]
            right = EXAMPLES.right["characters"][i, t].nonzero().flatten().tolist()
            assert right == [k for k, _c in fitting]
            assert EXAMPLES.targets[i, t] == (fitting[0][1] if fitting else IGNORED)
            word = EXAMPLES.right["words"][i, t].nonzero().flatten().tolist()
            assert word == ([places[tag]] if fitting else [])


def test_two_words_have_characters_and_no_tag():
    for i in range(len(EXAMPLES)):
        places, characters = sentence(i)
        written = {place for _k, place, _at, _c in characters}
        assert len(written - set(places.values())) == 2
        assert set(places.values()) <= written
        assert 2 <= len(places) <= 4 < TASK.tags


def test_words_have_three_to_six_letters_from_the_first_position_on():
    lengths = set()
    for i in range(len(EXAMPLES)):
        _places, characters = sentence(i)
        for word in {place for _k, place, _at, _c in characters}:
            positions = [at for _k, place, at, _c in characters if place == word]
            assert positions == list(range(len(positions)))
            lengths.add(len(positions))
    assert lengths == {3, 4, 5, 6}


def test_letters_behind_the_end_do_not_count():
    examples = EXAMPLES[:9]
    letters = examples.targets.clamp(min=0)
    right = torch.nn.functional.one_hot(letters, len(LETTERS)).float()
    assert TASK.score(right, examples) == 1.0
    behind = (examples.targets == IGNORED)[..., None]
    assert behind.any()
    assert TASK.score(right.where(~behind, right.roll(1, dims=-1)), examples) == 1.0
    assert TASK.score(right.where(behind, right.roll(1, dims=-1)), examples) == 0.0


def parameters(arm):
    with seeded(0):
        return {name: p.shape for name, p in TASK.arms[arm].build().named_parameters()}


def test_ablations_lack_one_score_or_nothing():
    whole = parameters("via words")
    assert parameters("characters only") == whole
    for arm, score in (("uniform over words", "w"), ("uniform over characters", "c")):
        gone = f"attention.score_{score}.W"
        assert parameters(arm) == {name: s for name, s in whole.items() if name != gone}


@pytest.mark.parametrize("arm", ["characters only", "uniform over words"])
def test_an_ablation_spells_the_same_whatever_words_say(arm):
    with seeded(0), torch.no_grad():
        model = TASK.arms[arm].build()
        _letters, weights = model(**EXAMPLES.inputs)
    there = EXAMPLES.inputs["word_mask"][:, None]
    share = there / there.sum(dim=-1, keepdim=True) if "uniform" in arm else torch.zeros(())
    torch.testing.assert_close(weights["words"], share.expand(weights["words"].shape))


def test_a_few_steps_lower_the_loss():
    losses = train(TASK, "via words", steps=80, learning_rate=1e-2).losses
    assert losses[-1] < 0.95 * losses[0]


def test_the_figure_writes_words_with_their_tags():
    places, characters = sentence(0)
    _queries, words = TASK.words(EXAMPLES, 0)["words"]
    for tag, place in places.items():
        spelled = "".join(LETTERS[c] for _k, p, _at, c in characters if p == place)
        assert words[place] == f"{tag} {spelled}"
