r"""Combinations of choices that make no sense, each with the reason and what to choose instead."""

from collections.abc import Callable
from typing import NamedTuple

from attn_course.general_attention.choices import ENTRY_BY_ENTRY, WITH_PARAMETERS, Choices


class Rule(NamedTuple):
    """A combination that is refused."""

    what: str  # with the names of axes in braces
    applies: Callable[[Choices], bool]
    why: str
    instead: str


RULES = (
    Rule(
        "query='removed' with score={score!r}",
        lambda c: c.query == "removed" and c.score != "additive",
        "without a query w·act(W k + b) is what is left of a score, survey (33)",
        "score='additive', or query='learned'",
    ),
    Rule(
        "query='removed' with {multiplicity}",
        lambda c: c.query == "removed" and c.multiplicity != "singular",
        "there is no query to split, to refine or to have one of for each class",
        "heads=1, hops=1 and no capsules; or query='learned' (heads, capsules), "
        "query='basic' or 'self' (heads, hops)",
    ),
    Rule(
        "capsules with query={query!r}",
        lambda c: c.capsules > 0 and c.query != "learned",
        "every class learns a query of its own, survey (43)",
        "query='learned'",
    ),
    Rule(
        "capsules with heads or hops",
        lambda c: c.capsules > 0 and (c.heads > 1 or c.hops > 1),
        "capsules are several queries already, one for each class",
        "heads=1 and hops=1",
    ),
    Rule(
        "dimension='multi' with score={score!r}",
        lambda c: c.dimension == "multi" and c.score != "additive",
        "a score for every feature needs the matrix W_d in place of w, survey (30)",
        "score='additive', or dimension='single'",
    ),
    Rule(
        "dimension='multi' with {multiplicity}",
        lambda c: c.dimension == "multi" and (c.heads > 1 or c.hops > 1),
        "multi-dimensional attention is one head for each feature already",
        "heads=1 and hops=1, or dimension='single'",
    ),
    Rule(
        "hops with score={score!r}",
        lambda c: c.multiplicity == "hops" and c.score in ENTRY_BY_ENTRY,
        "a hop asks with query and context joined, which are wider than a key, survey (42)",
        "score='additive', 'general', 'biased_general' or 'activated_general'",
    ),
    Rule(
        "hops with query={query!r}",
        lambda c: c.multiplicity == "hops" and c.query not in ("basic", "self"),
        "each hop makes a new query from the vectors the query came from, survey (41)",
        "query='basic' or 'self'",
    ),
    Rule(
        "heads and hops with query={query!r}",
        lambda c: c.multiplicity == "heads and hops" and c.query != "self",
        "together they are the Transformer's way: each hop refines all features",
        "query='self', or only one of heads and hops",
    ),
    Rule(
        "align='local_monotonic' with query={query!r}",
        lambda c: c.align == "local_monotonic" and c.query in ("learned", "removed"),
        "the window follows the step t of the output, and here there are no steps",
        "query='basic' or 'self', or another alignment",
    ),
    Rule(
        "align='local_monotonic' with hops",
        lambda c: c.align == "local_monotonic" and c.multiplicity == "hops",
        "a hop has a single query, which is no step of an output",
        "hops=1, or another alignment",
    ),
    Rule(
        "align='local_predictive' with query='removed'",
        lambda c: c.align == "local_predictive" and c.query == "removed",
        "the place of the window is predicted from the query, survey (28)",
        "query='basic', 'learned' or 'self', or another alignment",
    ),
    Rule(
        "align={align!r} with {multiplicity}, dimension={dimension!r}",
        lambda c: (
            c.align in WITH_PARAMETERS and (c.heads > 1 or c.hops > 1 or c.dimension == "multi")
        ),
        "this alignment has parameters of its own, for one row of weights a query",
        "heads=1, hops=1 and dimension='single', or another alignment",
    ),
)


def refuse_nonsense(choices: Choices) -> None:
    """Raise where two choices don't go together."""
    for rule in RULES:
        if rule.applies(choices):
            what = rule.what.format(multiplicity=choices.multiplicity, **vars(choices))
            raise ValueError(f"{what} makes no sense: {rule.why}. Use {rule.instead}.")
