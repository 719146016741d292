"""A question about a scene: "what material is the red cube of?", among cubes and red things.

The scene is a set of objects with a shape, a colour and three properties. The question names an
object by shape and colour and asks for one property, in any order of words, with fillers between.
In the scene weight belongs to the object that is named; in the question it belongs to the three
words that are no fillers.
"""

from functools import partial
from typing import ClassVar

import numpy as np
from torch import Tensor

from attn_course.tasks.apart_readers import apart_arms, apart_comparisons
from attn_course.tasks.parts import filled
from attn_course.tasks.readers import Seen, one_hot, reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, as_tensor
from attn_course.tasks.two_inputs import (
    CO_ATTENTION,
    Layer,
    TwoInputModel,
    blind,
    one_sided,
    shuffled,
)

SHAPES = ("cube", "ball", "cone", "ring", "star", "disc")
COLOURS = ("red", "blue", "green", "pink", "grey", "gold")
PROPERTIES = {
    "size": ("tiny", "small", "medium", "large", "huge", "giant"),
    "material": ("wood", "glass", "steel", "stone", "wool", "clay"),
    "pattern": ("plain", "dotted", "striped", "checked", "wavy", "starry"),
}
FILLERS = ("what", "is", "the", "of", "here", "please")
WORDS = (*SHAPES, *COLOURS, *PROPERTIES, *FILLERS)
VALUES = 6  # of each property: more than the size of a weight could encode (leak 3)


class SceneQuestion(Task):
    """Which value has the property that is asked for, of the object that is named?"""

    name = "scene_question"
    question = "Which size, material or pattern has the object of this shape and colour?"
    claim = (
        "Attention that knows the question finds the object, attention that does not can't. "
        "Co-attention ties with attention from the question alone, and with readers that compare "
        "the question with every object. A reader that pools question and scene apart fails."
    )
    reader_settings: ClassVar = {"mean": ("deep", (2e-2, 6e-3)), "max": ("deep", (6e-3, 2e-3))}
    apart_rates = (2e-3, 2e-3)
    learning_rates = (1e-3, 3e-3, 1e-2)
    steps = 800
    objects, words_asked = 8, 6  # at most

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return scenes of 4–8 objects and questions of 4–6 words."""
        shape, colour = rng.integers(6, size=(2, number))
        asked = rng.integers(len(PROPERTIES), size=number)
        scene, named, scene_mask = self.scenes(shape, colour, rng)
        words, telling, question_mask = self.questions(shape, colour, asked, rng)
        rows = np.arange(number)
        value = scene[rows, named.argmax(axis=1), 2 + asked]
        return Examples(
            inputs={
                "inputs_1": as_tensor(words[..., None]),
                "inputs_2": as_tensor(scene),
                "mask_1": as_tensor(question_mask),
                "mask_2": as_tensor(scene_mask),
            },
            # A class for each value of each property: a linear output can add up the two.
            targets=as_tensor((asked * VALUES + value)[:, None]),
            right={"question": as_tensor(telling[:, None]), "scene": as_tensor(named[:, None])},
            allowed={
                "question": as_tensor(question_mask[:, None]),
                "scene": as_tensor(scene_mask[:, None]),
            },
        )

    def scenes(
        self, shape: np.ndarray, colour: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, ...]:
        """Return objects `(number, n, 5)`, which of them is named, and which are there."""
        size = len(shape), self.objects
        objects = rng.integers(6, size=(*size, 2 + len(PROPERTIES)))
        others = (np.stack([shape, colour], -1)[:, None] + rng.integers(1, 6, size=(*size, 2))) % 6
        twin = (objects[..., 0] == shape[:, None]) & (objects[..., 1] == colour[:, None])
        objects[..., 1] = np.where(twin, others[..., 1], objects[..., 1])  # only one is named
        objects[:, 0, 0], objects[:, 0, 1] = shape, colour
        # Neither shape nor colour alone may do: one object shares the shape, one the colour.
        objects[:, 1, 0], objects[:, 1, 1] = shape, others[:, 1, 1]
        objects[:, 2, 0], objects[:, 2, 1] = others[:, 2, 0], colour
        named = np.broadcast_to(np.arange(self.objects) == 0, size)
        there = filled(rng, len(shape), 4, self.objects)
        return *shuffled(rng, there, objects, named), there

    def questions(
        self, shape: np.ndarray, colour: np.ndarray, asked: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, ...]:
        """Return words `(number, n)`, which of them are no fillers, and which are there."""
        size = len(shape), self.words_asked
        first_filler = len(WORDS) - len(FILLERS)
        words = rng.integers(first_filler, len(WORDS), size=size)
        words[:, :3] = np.stack([shape, 6 + colour, 12 + asked], axis=-1)
        telling = np.broadcast_to(np.arange(self.words_asked) < 3, size)
        there = filled(rng, len(shape), 4, self.words_asked)
        return *shuffled(rng, there, words, telling), there

    def model(self, layer: Layer) -> TwoInputModel:
        """Return the model with an attention layer."""
        sizes = (len(WORDS),), (6, 6, *(VALUES for _name in PROPERTIES))
        classes = VALUES * len(PROPERTIES)
        return TwoInputModel(("question", "scene"), sizes, layer, answers=1, classes=classes)

    @property
    def arms(self) -> dict[str, Arm]:
        """All forms of co-attention, and attention from one side or without a question."""
        layers = CO_ATTENTION | {"question-guided": one_sided, "question-blind": blind}
        rates = {
            "alternating": 1e-3,
            "alternating, shared": 3e-3,
            "interactive": 3e-3,
            "interactive, general": 3e-3,
            "parallel": 1e-3,
            "parallel, concat": 1e-3,
            "parallel, max": 1e-2,
            "parallel, concat, max": 3e-3,
            "multi-grained": 1e-3,
            "question-guided": 1e-3,
            "question-blind": 1e-3,
        }
        arms = {name: Arm(partial(self.model, layers[name]), rate) for name, rate in rates.items()}
        like = partial(self.model, layers["parallel"])
        readers = reader_arms(self, like, self.see)
        return arms | readers | apart_arms(self, like, self.see_apart, self.apart_rates)

    def see(self, inputs_1: Tensor, inputs_2: Tensor, mask_1: Tensor, mask_2: Tensor) -> Seen:
        """Return the objects, and for each of them which words the question has."""
        question, scene = self.see_apart(inputs_1, inputs_2, mask_1, mask_2)
        words = question.tokens * mask_1[..., None]
        return Seen(scene.tokens, words.sum(dim=1, keepdim=True), mask_2)

    def see_apart(
        self, inputs_1: Tensor, inputs_2: Tensor, mask_1: Tensor, mask_2: Tensor
    ) -> tuple[Seen, Seen]:
        """Return the words of the question, and the objects."""
        objects = one_hot(inputs_2, (6, 6, *(VALUES for _name in PROPERTIES)))
        return Seen(one_hot(inputs_1, (len(WORDS),)), mask=mask_1), Seen(objects, mask=mask_2)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All against no question; then what alternates against what does without a part of it."""
        best = (
            "Little is gained, for two reasons. Each word meets each object alone, so the maximum "
            "over words mistakes a shape or a colour for both. And a word without a counterpart, "
            "like the property, can't get weight without lifting some object with it. The shopping "
            "list has neither difficulty, and there the maximum of the concat form works."
        )
        return (
            Comparison("alternating", "question-blind"),
            Comparison(
                "interactive",
                "question-blind",
                "The score is between -1 and 1, so no weight can be large: the attention is "
                "about 0.6 in the scene at full accuracy.",
            ),
            Comparison("parallel", "question-blind"),
            Comparison("parallel, concat", "question-blind"),
            Comparison("parallel, max", "question-blind", best),
            Comparison("parallel, concat, max", "question-blind", best),
            Comparison(
                "multi-grained",
                "parallel, concat, max",
                "Its attention is the mean of two grains. The fine one is the ablation here, which "
                "finds no object by itself, so the coarse one must.",
            ),
            Comparison(
                "interactive, general",
                "interactive",
                "Ties in accuracy, since a linear output reads a small weight as well; without the "
                "bound on scores the weights agree with the right ones.",
            ),
            Comparison(
                "alternating",
                "question-guided",
                "Ties: which words of the question matter does not depend on the scene, so "
                "nothing is gained by asking back. On the shopping list it is.",
            ),
            Comparison(
                "alternating",
                "alternating, shared",
                "With shared weights the first step looks where the last one must, at the "
                "property, and has no shape and colour to ask the scene for.",
            ),
            *reader_comparisons("parallel"),
            *apart_comparisons("parallel"),
        )

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the words of the question, and each object with what is asked of it."""
        one = {name: tensor[place].tolist() for name, tensor in examples.inputs.items()}
        asked, _value = divmod(int(examples.targets[place]), VALUES)
        values = list(PROPERTIES.values())[asked]
        question = [
            WORDS[word] if there else ""
            for (word,), there in zip(one["inputs_1"], one["mask_1"], strict=True)
        ]
        scene = [
            f"{COLOURS[colour]} {SHAPES[shape]}, {values[properties[asked]]}" if there else ""
            for (shape, colour, *properties), there in zip(
                one["inputs_2"], one["mask_2"], strict=True
            )
        ]
        return {"question": ([], question), "scene": ([], scene)}
