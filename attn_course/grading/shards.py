"""A class in parts: each machine grades one of n, and the parts are joined again.

    machine 1: grade … --seed 7 --shard 1/3 ──▶ results-1 ──┐
    machine 2: grade … --seed 7 --shard 2/3 ──▶ results-2 ──┼─▶ merge ──▶ results
    machine 3: grade … --seed 7 --shard 3/3 ──▶ results-3 ──┘

The part of a learner follows from the name alone, so it does not depend on who else is there, and
a part that is graded again next week has the same learners. What a part was asked to do is noted
in its gradebook, and `joined` refuses parts that are not parts of one run. The joined gradebook is
that of one run with the same seed: only the times are those of the machines.
"""

import argparse
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

from attn_course.grading import folder
from attn_course.grading.gradebook import FILE, Gradebook, GradebookProblem
from attn_course.grading.outputs import options_of
from attn_course.grading.report_options import ReportOptions
from attn_course.translate import _

_FACT = "part"  # under which name a gradebook knows what it is a part of


class ShardsProblem(Exception):  # noqa: N818  (the parts have a problem; nothing crashed)
    """Parts that can't be joined: the text says which, why and what to do."""


@dataclass(frozen=True)
class Shard:
    """The `number`-th of `of` parts, counted from 1."""

    number: int
    of: int

    def has(self, learner: str) -> bool:
        """Return whether a learner belongs to this part."""
        return self.number == part_of(learner, self.of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def part_of(learner: str, of: int) -> int:
    """Return the number of the part, from 1, to which a learner belongs."""
    digest = hashlib.sha256(learner.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little") % of + 1


def shard(word: str) -> Shard:
    """Return the part that a word on the command line names.

    >>> shard("2/3")
    Shard(number=2, of=3)
    """
    number, _slash, of = word.partition("/")
    digits = number.isdecimal() and of.isdecimal()
    if not digits or not 1 <= int(number) <= int(of):
        raise argparse.ArgumentTypeError(
            _("{word!r} is no part: write 1/3, 2/3 and 3/3 for the parts of three").format(
                word=word
            )
        )
    return Shard(int(number), int(of))


@dataclass(frozen=True)
class Part:
    """What a gradebook notes about itself: which part it is, and of which run."""

    shard: str
    checks: Mapping[str, str]  # by chapter, the version of what judges it
    notices: tuple[str, ...] = ()
    is_complete: bool = False


def begin(gradebook: Gradebook, asked: Shard | None, checks: Mapping[str, str]) -> None:
    """Note that a run begins; refuse a gradebook that is of another part."""
    known = _part_of(gradebook)
    stored = known.shard if known else ""
    is_another = stored != str(asked or "")
    if is_another and (stored or next(gradebook.history(), None) is not None):
        raise GradebookProblem(
            _(
                "{file} has {stored} in it, and this is {asked}: name another folder, or the same "
                "part."
            ).format(
                file=gradebook.file,
                stored=_in_words(stored),
                asked=_in_words(str(asked or "")),
            )
        )
    if asked is not None:
        before = known.checks if known else {}
        _note(gradebook, Part(str(asked), {**before, **checks}))


def end(gradebook: Gradebook, notices: Sequence[str]) -> None:
    """Note that a run came to its end, and what it had to say about the folder."""
    known = _part_of(gradebook)
    if known is not None:
        _note(gradebook, replace(known, notices=tuple(notices), is_complete=True))


class Joined(NamedTuple):
    """What became of the parts; the gradebook is open."""

    gradebook: Gradebook
    notices: tuple[str, ...]
    options: ReportOptions  # how the first part wrote its reports


def join(places: Sequence[Path], out: Path) -> Joined:
    """Return the gradebook in `out` with all results of the parts.

    To join them again, when some have gone on, adds what is new.
    """
    with ExitStack() as opened:
        books = {place: opened.enter_context(_opened(place)) for place in places}
        parts = {place: _known_part(book) for place, book in books.items()}
        _refuse_what_differs(books, parts)
        for place in places:
            folder.prepare(out, place, fresh=False)
        first = books[places[0]]
        gradebook, options = _begun(out, first.seed), options_of(first)
        try:
            for book in books.values():
                gradebook.take_over(book.history())
            _take_over_decisions(gradebook, books.values())
        except BaseException:
            gradebook.close()
            raise
    notices = dict.fromkeys(notice for part in parts.values() for notice in part.notices)
    return Joined(gradebook, tuple(notices), options)


def _take_over_decisions(gradebook: Gradebook, books: Iterable[Gradebook]) -> None:
    known = set(gradebook.decisions())
    new = {decision for book in books for decision in book.decisions()} - known
    for decision in sorted(new, key=lambda one: one.made):
        gradebook.decide(decision)


def _missing(parts: Iterable[Part]) -> list[str]:
    """Return the parts that are not there, such as 2/3."""
    found = [shard(part.shard) for part in parts]
    numbers, of = {one.number for one in found}, found[0].of
    return [f"{number}/{of}" for number in range(1, of + 1) if number not in numbers]


def _opened(place: Path) -> Gradebook:
    # To open one that is not there would make it.
    if not (place / FILE).is_file():
        raise ShardsProblem(
            _("There is no gradebook in {place}: name folders that `grade --shard` wrote.").format(
                place=place
            )
        )
    return Gradebook(place)


def _begun(out: Path, seed: int) -> Gradebook:
    gradebook = Gradebook(out, None if (out / FILE).exists() else seed)
    known = _part_of(gradebook)
    if gradebook.seed == seed and known is None:
        return gradebook
    gradebook.close()
    raise ShardsProblem(
        _("{file} is of another run: name a new folder with --out.").format(file=gradebook.file)
    )


def _refuse_what_differs(books: Mapping[Path, Gradebook], parts: Mapping[Path, Part]) -> None:
    """Raise `ShardsProblem` unless these are all parts of one run."""
    (first, book), *others = books.items()
    part = parts[first]
    for place, other in others:
        pair = {"first": first, "place": place}
        if other.seed != book.seed:
            raise ShardsProblem(
                _(
                    "{first} and {place} have different seeds ({one} and {two}): grade one of them "
                    "again into a new folder, with the --seed of the other."
                ).format(**pair, one=book.seed, two=other.seed)
            )
        _refuse_other_checks(part, parts[place], pair)
        if shard(parts[place].shard).of != shard(part.shard).of:
            raise ShardsProblem(
                _("{first} is part {one} and {place} is part {two}: these don't fit.").format(
                    **pair, one=part.shard, two=parts[place].shard
                )
            )
    _refuse_what_is_not_whole(parts)


def _refuse_other_checks(part: Part, other: Part, pair: Mapping[str, Path]) -> None:
    if part.checks.keys() != other.checks.keys():
        only = ", ".join(sorted(part.checks.keys() ^ other.checks.keys()))
        raise ShardsProblem(
            _(
                "{first} and {place} were asked for different chapters ({only}): grade both with "
                "the same --chapters."
            ).format(**pair, only=only)
        )
    differing = [stem for stem in part.checks if part.checks[stem] != other.checks[stem]]
    if differing:
        raise ShardsProblem(
            _(
                "{first} and {place} were judged by different checks, limits or versions of the "
                "course ({chapters}): grade both with the same."
            ).format(**pair, chapters=", ".join(differing))
        )


def _refuse_what_is_not_whole(parts: Mapping[Path, Part]) -> None:
    of: dict[str, Path] = {}
    for place, part in parts.items():
        if part.shard in of:
            raise ShardsProblem(
                _("{first} and {place} are both part {shard}: name one of them.").format(
                    first=of[part.shard], place=place, shard=part.shard
                )
            )
        of[part.shard] = place
        if not part.is_complete:
            raise ShardsProblem(
                _(
                    "{place} (part {shard}) was stopped before its end: run its command again, it "
                    "goes on where it was."
                ).format(place=place, shard=part.shard)
            )
    left = _missing(parts.values())
    if left:
        raise ShardsProblem(
            _("Not all parts are here. Missing: {names}.").format(names=", ".join(left))
        )


def _known_part(gradebook: Gradebook) -> Part:
    part = _part_of(gradebook)
    if part is None:
        raise ShardsProblem(
            _("{file} is of a whole class and no part: it was graded without --shard.").format(
                file=gradebook.file
            )
        )
    return part


def _part_of(gradebook: Gradebook) -> Part | None:
    text = gradebook.recall(_FACT)
    if not text:
        return None
    found = json.loads(text)
    return Part(**found | {"notices": tuple(found["notices"])})


def _note(gradebook: Gradebook, part: Part) -> None:
    gradebook.remember(_FACT, json.dumps(asdict(part), ensure_ascii=False, sort_keys=True))


def _in_words(shard: str) -> str:
    return _("part {shard}").format(shard=shard) if shard else _("a whole class")
