"""What the metrics on words ask of their sentences, and the errors for those that don't fit."""

from collections.abc import Sequence
from typing import TypeAlias

Tokens: TypeAlias = Sequence[str]  # a sentence, already split into words (or phonemes, or signs)


def require_tokens(name: str, tokens: Tokens) -> None:
    """Raise unless `tokens` is a list of strings; a bare string would be read by letters."""
    if isinstance(tokens, str) or not isinstance(tokens, Sequence):
        raise ValueError(
            f"{name} must be a list of words, but is {tokens!r:.60}. "
            "Split it first, for example with .split()."
        )
    if set(map(type, tokens)) <= {str}:
        return
    for token in tokens:
        if not isinstance(token, str):
            raise ValueError(
                f"{name} must be a list of words, each a string, but contains {token!r:.60}. "
                "Is there a pair of brackets too many?"
            )


def require_references(name: str, references: Sequence[Tokens]) -> None:
    """Raise unless `references` is a list of at least one sentence, none of them empty."""
    if isinstance(references, str) or not isinstance(references, Sequence):
        raise ValueError(f"{name} must be a list of sentences, but is {references!r:.60}.")
    if not references:
        raise ValueError(f"{name} needs at least one sentence to compare with, but is empty.")
    for number, reference in enumerate(references):
        if isinstance(reference, str):
            raise ValueError(
                f"{name} must be a list of sentences, each a list of words, but has the string "
                f"{reference!r:.60}. For a single reference write [reference]."
            )
        require_tokens(f"{name}[{number}]", reference)
        if not reference:
            raise ValueError(
                f"{name}[{number}] has no words, so nothing can agree with it. Leave it out."
            )


def require_pairs(**corpora: Sequence[object]) -> None:
    """Raise unless all the lists, given by name, have the same length, and that is not 0."""
    lengths = {name: len(corpus) for name, corpus in corpora.items()}
    said = " and ".join(f"{length} {name}" for name, length in lengths.items())
    if len(set(lengths.values())) > 1:
        raise ValueError(f"each sentence needs its counterpart, but there are {said}.")
    if 0 in lengths.values():
        raise ValueError(f"there is nothing to score: {said}. Give at least one pair.")
