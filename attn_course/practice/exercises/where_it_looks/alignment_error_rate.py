"""The alignment error rate of a sentence pair or a corpus, from matrices of links."""

import numpy as np

from attn_course.evaluation import corpus_alignment_error_rate
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.where_it_looks._weights import drawn_links
from attn_course.translate import _


@reference
def alignment_error_rate(predicted, sure, possible):
    pairs = [_pairs(links) for links in (predicted, sure, possible)]
    if predicted.ndim < 2 or not pairs[0]:
        raise ValueError("there is one sentence pair at least")  # also in smaller cases
    return float(corpus_alignment_error_rate(*pairs))


def _pairs(links):
    """Return the set of links of each sentence pair."""
    by_sentence = links.reshape(-1, *links.shape[-2:])
    return [{(int(t), int(s)) for t, s in np.argwhere(one)} for one in by_sentence]


def _corpus(rng, b, q, k):
    """Return links of sentence pairs of several lengths, padded with False, pooled not averaged."""
    while True:
        parts = tuple(np.zeros((b, q, k), dtype=bool) for _part in range(3))
        for sentence in range(b):
            short = sentence == 0
            size = (2, 3) if short else (q, k)
            for part, links in zip(parts, drawn_links(rng, *size), strict=True):
                part[sentence, : size[0], : size[1]] = links
        rates = [alignment_error_rate.reference(*one) for one in zip(*parts, strict=True)]
        if abs(np.mean(rates) - alignment_error_rate.reference(*parts)) > 0.02:
            return Case(*parts)


@alignment_error_rate.cases(points=2, label=_("one sentence pair"))
def one_sentence(rng):
    yield Case(*drawn_links(rng, 2, 3))
    yield Case(*drawn_links(rng, 5, 4))


@alignment_error_rate.cases(points=2, label=_("a corpus, whose links are counted together"))
def a_corpus(rng):
    yield _corpus(rng, 2, 3, 5)
    yield _corpus(rng, 3, 5, 4)
    case = _corpus(rng, 6, 4, 5)
    yield Case(*(part.reshape(2, 3, 4, 5) for part in case.args))


@alignment_error_rate.cases(points=1, label=_("no hit, no link predicted, or none sure"))
def nothing(rng):
    case = _corpus(rng, 3, 4, 5)
    for part in case.args[:2]:
        part[1] = False  # no link predicted, none sure
    yield case
    predicted, sure, possible = drawn_links(rng, 2, 3)
    no_link = np.zeros_like(sure)
    yield Case(no_link, sure, possible)
    yield Case(predicted, no_link, possible)
    yield Case(predicted & ~possible, sure, possible)
    yield Case(no_link, no_link, possible)


@alignment_error_rate.variant
def with_sets_of_pairs(predicted, sure, possible):
    A, S, P = (
        {tuple(place) for place in np.argwhere(part).tolist()}
        for part in (predicted, sure, possible)
    )
    return 1 - (len(A & S) + len(A & P)) / (len(A) + len(S)) if A or S else 0.0


@alignment_error_rate.variant
def by_counting_errors(predicted, sure, possible):
    # What is drawn and not possible, and what is sure and missing, each link by itself.
    A, S, P = (np.asarray(part, dtype=float).ravel() for part in (predicted, sure, possible))
    errors = A @ (1 - P) + S @ (1 - A)
    return errors / max(A.sum() + S.sum(), 1.0)


@alignment_error_rate.variant
def in_torch(predicted, sure, possible):
    import torch

    A, S, P = (torch.as_tensor(part).flatten().double() for part in (predicted, sure, possible))
    links = A.sum() + S.sum()
    return torch.where(links > 0, 1 - (A @ S + A @ P) / links.clamp(min=1), 0.0)
