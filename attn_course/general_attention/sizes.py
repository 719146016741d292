r"""The widths of an attention: what is not given follows from the choices."""

from typing import NamedTuple

from attn_course.general_attention.choices import Choices


class Sizes(NamedTuple):
    """Widths of features, queries, keys, values, hidden layer and output."""

    d_f: int
    d_q: int  # 0 where the query is removed
    d_k: int  # of one head, where there are heads
    d_v: int
    d_w: int
    d_out: int
    key_map: bool  # False: the features themselves are the keys
    value_map: bool


def find_sizes(
    choices: Choices,
    d_f: int,
    d_q: int | None,
    d_k: int | None,
    d_v: int | None,
    d_w: int | None,
    d_out: int | None,
) -> Sizes:
    """Return all widths, or raise where one is missing or given in vain."""
    given = {"d_q": d_q, "d_k": d_k, "d_v": d_v, "d_w": d_w, "d_out": d_out}
    if choices.query == "basic" and d_q is None:
        raise ValueError(
            "query='basic' reads the queries that come in: give their width as d_q, or choose "
            "query='learned', 'removed' or 'self'."
        )
    unused = {
        "singular": {"d_out"},
        "capsules": {"d_out"},
        "heads": {"d_w"},
        "hops": {"d_k", "d_v", "d_w", "d_out"},
        "heads and hops": {"d_w", "d_out"},
    }[choices.multiplicity]
    many = choices.multiplicity not in ("singular", "capsules")
    if choices.query == "removed" or (choices.query == "self" and many):
        unused = unused | {"d_q"}
    for name in sorted(unused):
        if given[name] is not None:
            raise ValueError(
                f"{name} = {given[name]} would change nothing: query={choices.query!r} with "
                f"multiplicity {choices.multiplicity!r} has no such width. Leave it out."
            )
    if choices.multiplicity == "hops":
        return Sizes(d_f, d_q or d_f, d_f, d_f, d_f, d_f, False, False)
    if choices.heads > 1:
        d_q = d_q or d_f
        if d_k is None and d_q % choices.heads:
            raise ValueError(
                f"{choices.heads} heads can't share a width of {d_q} equally. Choose heads that "
                "divide it, or give the width of a head as d_k."
            )
        d_k = d_k or d_q // choices.heads
        d_out = d_out or d_q
        return Sizes(d_f, d_q, d_k, d_v or d_k, d_k, d_out, True, True)
    key_map, value_map = d_k is not None, d_v is not None
    d_k, d_v = d_k or d_f, d_v or d_f
    d_q = 0 if choices.query == "removed" else d_q or d_k
    return Sizes(d_f, d_q, d_k, d_v, d_w or d_k, d_v, key_map, value_map)
