"""A claim about a rehearsal, and how it is read and shown."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_MOST_SHOWN = 10


@dataclass(frozen=True)
class Claim:
    """A sentence, on how many things it was tried, and where it is not so."""

    what: str
    tried: int
    differences: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether it was tried at all, and nothing speaks against it."""
        return self.tried > 0 and not self.differences


def table(found: Iterable[Claim]) -> str:
    """Return the claims as a table, with what speaks against them."""
    lines = []
    for claim in found:
        verdict = "holds" if claim.holds else "FAILS"
        lines.append(f"{verdict}  {claim.tried:6}  {claim.what}")
        shown = claim.differences[:_MOST_SHOWN]
        lines += [f"               {difference}" for difference in shown]
        if more := len(claim.differences) - len(shown):
            lines.append(f"               … and {more} more")
    return "\n".join(lines)


def read_table(file: Path) -> list[dict[str, str]]:
    """Return the lines of a table."""
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def content(file: Path) -> bytes | None:
    """Return what is in a file, or None where there is none."""
    return file.read_bytes() if file.is_file() else None


def compared(
    expected: Iterable[tuple[str, ...]], found: Iterable[tuple[str, ...]]
) -> tuple[str, ...]:
    """Return what was planted and not found, and what was found and not planted."""
    wanted, got = set(expected), set(found)
    return (*apart("not found", wanted - got), *apart("not planted", got - wanted))


def apart(word: str, some: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return a line for each of some things."""
    return tuple(f"{word}: {', '.join(one)}" for one in sorted(some))
