"""The first look: how the checks do on mistakes that their author did not know.

`tests/first_look/NN_topic.md` holds, for each exercise, ten natural mistakes and three right
variants that were written from the task text alone, before the author's list was read:

    ## gaussian_weights

    ### wrong: forgets that a query has a row of its own
    judged: named

    ```python
    def gaussian_weights(queries, keys, w):
        …
    ```

`judged` is what a reader said of the feedback the answer gets: `named` (a known mistake, and it is
what is wrong), `untrue` (named, but the sentence claims what the learner did not do), `described`
(no name, but a sentence says it), `shown` (an example small enough to redo), `unhelpful`, `passed`
(wrong, and accepted), `refused` (right, and rejected), `right` (it turned out to be right by the
task text). It says how the check did at the time of that first look, before any list was changed
for it, and it stays; after a change, a later look (`tests/second_look`, `tests/third_look`) is
written and judged in the same way.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from attn_course.authoring.source import SourceChapter
from attn_course.practice.exercise import Exercise, run_program
from attn_course.practice.results import Result
from attn_course.translate import _

FOLDER = Path("tests", "first_look")
JUDGEMENTS = ("named", "untrue", "described", "shown", "unhelpful", "passed", "right", "refused")
_ENTRY = re.compile(
    r"^### (?P<kind>wrong|right): (?P<words>[^\n]+)\n"
    r"(?:judged: (?P<judged>\w+)\n)?\s*```python\n(?P<code>.*?)\n```",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Look:
    """One answer of a first look."""

    exercise: str
    is_wrong: bool
    words: str
    code: str
    judged: str = ""


def read_looks(path: Path) -> list[Look]:
    """Return the answers in a file of first looks."""
    looks = []
    for part in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name = part.split("\n", 1)[0].strip()
        looks += [
            Look(name, one["kind"] == "wrong", one["words"], one["code"], one["judged"] or "")
            for one in _ENTRY.finditer(part)
        ]
    return looks


def looked_at(source: SourceChapter, exercise: Exercise, look: Look, seed: int) -> Result | None:
    """Return what the check says of an answer; None where its cell can't even be run."""
    program = "\n".join(source.program(exercise.name, {exercise.name: look.code}))
    try:
        answer = run_program(program, exercise.name)
    except Exception:
        return None
    return exercise.check(exercise.local(answer), seed, closer=True)


def looks_by_exercise(root: Path, folder: Path = FOLDER) -> dict[str, list[Look]]:
    """Return all looks of the checkout in `root` by the exercise's id."""
    found: dict[str, list[Look]] = {}
    for path in sorted((root / folder).glob("*.md")):
        number = path.stem.partition("_")[0]
        for look in read_looks(path):
            found.setdefault(f"{number}.{look.exercise}", []).append(look)
    return found


@dataclass(frozen=True)
class Rates:
    """How the checks did on some first looks, by what readers said."""

    wrong: int
    judged: Counter[str]
    right: int
    refused: int

    @property
    def helpful(self) -> int:
        """How many mistakes were named or rightly described."""
        return self.judged["named"] + self.judged["described"]


def rates(looks: Iterable[Look]) -> Rates:
    """Return the rates of some looks."""
    found = list(looks)
    wrong = [look for look in found if look.is_wrong and look.judged != "right"]
    right = [look for look in found if not look.is_wrong or look.judged == "right"]
    refused = sum(look.judged == "refused" for look in right)
    return Rates(len(wrong), Counter(look.judged for look in wrong), len(right), refused)


def in_words(rates_found: Rates) -> str:
    """Return the rates as one line."""
    sentence = _(
        "First look: {helpful} of {wrong} mistakes that the author did not know were named or "
        "rightly described, {shown} shown by a small example, {unhelpful} unhelpful, {untrue} "
        "untrue, {passed} accepted; right answers refused: {refused} of {right}"
    )
    judged = rates_found.judged
    return sentence.format(
        helpful=rates_found.helpful,
        wrong=rates_found.wrong,
        shown=judged["shown"],
        unhelpful=judged["unhelpful"],
        untrue=judged["untrue"],
        passed=judged["passed"],
        refused=rates_found.refused,
        right=rates_found.right,
    )
