"""Which of seven models has a basic, a specialised, a self-attentive query?"""

from attn_course.practice.definition import Case, reference
from attn_course.translate import _

BASIC, SPECIALISED, SELF_ATTENTIVE = "basic", "specialised", "self-attentive"


@reference
def whose_query():
    asked_by = {
        "the decoder's last state": BASIC,
        "a learned vector, the same for every document": SELF_ATTENTIVE,
        "the mean of the target": SPECIALISED,
        "what is known about the patient": BASIC,
        "what the picture answered": SPECIALISED,
        "each word of the sentence itself": SELF_ATTENTIVE,
        "the question, joined to what the words answered": SPECIALISED,
    }
    return list(asked_by.values())


@whose_query.cases(points=2, label=_("seven queries"))
def no_inputs(rng):
    yield Case()


@whose_query.variant
def queries_as_a_tuple():
    return (BASIC, SELF_ATTENTIVE, SPECIALISED, BASIC, SPECIALISED, SELF_ATTENTIVE, SPECIALISED)


@whose_query.variant
def queries_by_their_positions():
    answers = [SPECIALISED] * 7
    answers[0] = answers[3] = BASIC
    answers[1] = answers[5] = SELF_ATTENTIVE
    return answers
