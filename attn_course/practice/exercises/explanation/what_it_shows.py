"""Which conclusion does a finding justify?"""

from attn_course.practice.definition import Case, reference
from attn_course.translate import _

FINDINGS = {
    "equal weights reach the same accuracy": "the task does not need attention",
    "far weights, the same prediction": "these weights are not the only ones",
    "permuted weights, another prediction": "the model uses its weights",
    "two adversarial JSDs without ceilings": "nothing yet",
    "imposed weights help a model of single tokens": "the weights tell tokens apart",
    "no rank correlation with leave-one-out": "the two rankings disagree",
    "an adversary no further away than a seed": "nothing yet",
}


@reference
def what_it_shows():
    return list(FINDINGS.values())


@what_it_shows.cases(points=2, label=_("seven conclusions"))
def no_inputs(rng):
    yield Case()


@what_it_shows.variant
def conclusions_as_a_tuple():
    return tuple(FINDINGS.values())


@what_it_shows.variant
def conclusions_one_by_one():
    nothing = "nothing yet"
    answers = [nothing] * 7
    answers[0] = "the task does not need attention"
    answers[1] = "these weights are not the only ones"
    answers[2] = "the model uses its weights"
    answers[4] = "the weights tell tokens apart"
    answers[5] = "the two rankings disagree"
    return answers
