"""Which model is it? Ten descriptions along the axes of the kit."""

from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def name_models():
    described = {
        "additive; the state before this step asks states of a sentence": "Bahdanau 2015",
        "general; the state of this very step asks": "Luong 2015",
        "additive; a mean over positions of a picture": "Xu 2015 (soft)",
        "additive; one position of a picture, drawn at random": "Xu 2015 (hard)",
        "additive; a learned vector asks words, then sentences": "Yang 2016 (HAN)",
        "additive; picture and question ask each other": "Lu 2016",
        "scaled dot; heads; the picture asks the question, never the reverse": "Yu 2019 (MCAN)",
        "scaled dot; heads; words ask words, also those of the source": "Vaswani 2017",
        "additive; a weight per feature": "Shen 2018 (DiSAN)",
        "dot; a learned vector per class": "Wang 2018 (RNN-Capsule)",
    }
    return list(described.values())


@name_models.cases(points=2, label=_("ten models"))
def no_inputs(rng):
    yield Case()


NAMES = {
    "Bahdanau 2015": 1,
    "Luong 2015": 2,
    "Lu 2016": 6,
    "Shen 2018 (DiSAN)": 9,
    "Vaswani 2017": 8,
    "Wang 2018 (RNN-Capsule)": 10,
    "Xu 2015 (hard)": 4,
    "Xu 2015 (soft)": 3,
    "Yang 2016 (HAN)": 5,
    "Yu 2019 (MCAN)": 7,
}


@name_models.variant
def models_as_a_tuple():
    return tuple(sorted(NAMES, key=NAMES.__getitem__))


@name_models.variant
def models_by_their_rows():
    answers = [""] * 10
    for name, row in NAMES.items():
        answers[row - 1] = name
    return answers
