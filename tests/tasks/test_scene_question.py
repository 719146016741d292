"""A question about a scene: the named object is found by reading question and scene."""

import pytest
import torch

from attn_course.tasks.scene_question import COLOURS, PROPERTIES, SHAPES, WORDS, SceneQuestion
from attn_course.tasks.training import seeded, train
from attn_course.tasks.two_inputs import SummedEmbeddings, mean_of_grains

TASK = SceneQuestion()
EXAMPLES = TASK.examples("test", 300, TASK.rng("test"))


def question(i):
    """Return the words of one question, without padding."""
    words, there = EXAMPLES.inputs["inputs_1"][i, :, 0], EXAMPLES.inputs["mask_1"][i]
    return [WORDS[word] for word in words[there].tolist()]


def scene(i):
    """Return the objects of one scene as names of shape, colour and values, without padding."""
    objects = EXAMPLES.inputs["inputs_2"][i][EXAMPLES.inputs["mask_2"][i]].tolist()
    kinds = SHAPES, COLOURS, *PROPERTIES.values()
    return [tuple(k[v] for k, v in zip(kinds, one, strict=True)) for one in objects]


def asked(i):
    """Return shape, colour and property that the question asks for."""
    telling = [
        [word for word in question(i) if word in kind] for kind in (SHAPES, COLOURS, PROPERTIES)
    ]
    assert [len(found) for found in telling] == [1, 1, 1]
    return [found[0] for found in telling]


def test_only_the_named_object_is_right_and_its_property_is_the_answer():
    for i in range(len(EXAMPLES)):
        shape, colour, name = asked(i)
        objects = scene(i)
        wanted = [one[:2] == (shape, colour) for one in objects]
        assert sum(wanted) == 1
        assert EXAMPLES.right["scene"][i, 0].tolist() == wanted + [False] * (8 - len(objects))
        number = list(PROPERTIES).index(name)
        value = objects[wanted.index(True)][2 + number]
        assert divmod(EXAMPLES.targets[i, 0].item(), 6) == (number, PROPERTIES[name].index(value))


def test_right_words_are_those_that_name_something():
    for i in range(len(EXAMPLES)):
        words, told = question(i), asked(i)
        wanted = [word in told for word in words]
        assert EXAMPLES.right["question"][i, 0].tolist() == wanted + [False] * (6 - len(words))


def test_neither_shape_nor_colour_alone_names_the_object():
    for i in range(len(EXAMPLES)):
        shape, colour, _name = asked(i)
        assert sum(one[0] == shape for one in scene(i)) > 1
        assert sum(one[1] == colour for one in scene(i)) > 1


def test_lengths_vary_and_padding_stands_behind():
    for mask, sizes in (("mask_1", {4, 5, 6}), ("mask_2", {4, 5, 6, 7, 8})):
        there = EXAMPLES.inputs[mask]
        assert set(there.sum(dim=1).tolist()) == sizes
        assert not (there[:, 1:] & ~there[:, :-1]).any()


def test_the_named_object_may_stand_anywhere():
    places = EXAMPLES.right["scene"][:, 0].double().argmax(dim=1).tolist()
    assert set(places) == set(range(8))


@pytest.mark.parametrize("arm", TASK.arms)
def test_padding_reaches_no_answer_and_gets_no_weight(arm):
    with seeded(0), torch.no_grad():
        model = TASK.arms[arm].build()
        inputs = EXAMPLES[:5].inputs
        answers, weights = model(**inputs)
        other = dict(inputs)
        for number in (1, 2):
            there = inputs[f"mask_{number}"][..., None]
            other[f"inputs_{number}"] = inputs[f"inputs_{number}"].where(there, 3)
        again, _weights = model(**other)
    torch.testing.assert_close(again, answers)
    for name, found in (weights or {}).items():  # a reader has none
        assert found[~EXAMPLES[:5].allowed[name]].eq(0).all()


@pytest.mark.parametrize(("arm", "score"), [("question-guided", "1"), ("question-blind", "2")])
def test_an_unasked_layer_has_the_same_parameters_and_is_deaf_on_one_side(arm, score):
    def shapes(name):
        with seeded(0):
            named = TASK.arms[name].build().named_parameters()
        return {key.replace(".score.", "."): value.shape for key, value in named}

    assert shapes(arm) == shapes("alternating")
    # The side that is not asked has weights that do not change with the other input.
    name, other = [("question", "inputs_2"), ("scene", "inputs_1")][int(score) - 1]
    with seeded(0), torch.no_grad():
        whole, deaf = TASK.arms["alternating"].build(), TASK.arms[arm].build()
        inputs = EXAMPLES[:7].inputs
        changed = inputs | {other: inputs[other].flip(0)}
        mask = other.replace("inputs", "mask")
        changed[mask] = inputs[mask].flip(0)
        for model, listens in ((whole, True), (deaf, False)):
            first, then = (model(**given)[1][name] for given in (inputs, changed))
            assert torch.equal(first, then) is not listens


@pytest.mark.parametrize("arm", ["alternating", "interactive, general", "parallel"])
def test_a_few_steps_lower_the_loss(arm):
    losses = train(TASK, arm, steps=25, learning_rate=1e-2).losses
    assert losses[-1] < 0.9 * losses[0]


def test_embeddings_of_attributes_add_up():
    with torch.no_grad():
        layer = SummedEmbeddings((2, 3, 5), 7)
        table = layer.embedding.weight
        wanted = table[1] + table[2 + 2] + table[2 + 3 + 4]
        torch.testing.assert_close(layer(torch.tensor([1, 2, 4])), wanted)


def test_the_weights_of_two_grains_are_their_mean():
    weights = {"a_1_coarse": torch.tensor([1.0, 0.0]), "a_1_fine": torch.tensor([0.5, 0.5])}
    assert mean_of_grains(weights, "a_1").tolist() == [0.75, 0.25]
    assert mean_of_grains({"a_1": torch.ones(1)}, "a_1").tolist() == [1.0]
