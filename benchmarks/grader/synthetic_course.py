"""A class that never was: notebooks of learners who are right, wrong, stuck, hostile or alike.

    planted = make_course(Path("submissions"), learners=60, seed=1)

writes `submissions/<learner>/<NN_topic>.ipynb` and returns what was planted, so that whatever
grades, collects, compares or reports can be held to it. Answers come from the compiled exercises:
their solutions, and the programs of their named mistakes, each in a hand of its own
(`handwriting`). The same arguments give the same files.

Some of the notebooks are hostile: grade them in a sandbox only, or ask for `Mix(hostile=0)`.
"""

import ast
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from attn_course.practice.exercises import chapters, compiled
from benchmarks.grader.handwriting import disguised, rewritten

DEADLINE = datetime(2026, 3, 2, 12, tzinfo=UTC)
_FIRST = """ada bo carla dmitri eva farid grace hugo ines jun kofi lena mira nils olga priya quentin
rosa sven tara uma viktor wen ximena yara zoltan"""
_LAST = """abara becker costa dubois evans ferrari garcía haddad ito jansen kim lópez müller novak
o'neil petrov quist rossi sato tran ueda vega weiss xu yilmaz zhang"""


@dataclass(frozen=True)
class Mix:
    """What share of the learners is of each kind; the others are ordinary, right or wrong.

    `mistaken` is the share of wrong answers of an ordinary learner with middling skill, and
    `unanswered` that of answers left open.
    """

    copied: float = 0.08
    broken: float = 0.04
    hostile: float = 0.04
    late: float = 0.10
    missing: float = 0.06  # have handed in some notebooks and not others
    absent: float = 0.0  # have handed in nothing
    mistaken: float = 0.30
    unanswered: float = 0.06


@dataclass
class Planted:
    """What is true of a course that was made up."""

    folder: Path
    deadline: datetime = DEADLINE
    stems: list[str] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)  # by learner
    # By learner and id of an exercise, the named mistake; "" where the answer is right.
    answers: dict[tuple[str, str], str] = field(default_factory=dict)
    # (who copied, from whom, stem)
    copies: list[tuple[str, str, str]] = field(default_factory=list)
    broken: dict[tuple[str, str], str] = field(default_factory=dict)  # (learner, stem): how
    hostile: dict[tuple[str, str], str] = field(default_factory=dict)  # (learner, stem): how
    missing: set[tuple[str, str]] = field(default_factory=set)
    late: dict[str, timedelta] = field(default_factory=dict)

    def ranked(self) -> list[tuple[tuple[str, str], int]]:
        """Return (exercise, mistake) with the number of learners who made it, most first."""
        count: dict[tuple[str, str], int] = {}
        for (_learner, exercise), mistake in self.answers.items():
            if mistake:
                count[exercise, mistake] = count.get((exercise, mistake), 0) + 1
        return sorted(count.items(), key=lambda item: (-item[1], item[0]))

    def differing(self, results: Iterable[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
        """Return what `results` of `results.json` get wrong: who, exercise, planted, found."""
        return [
            (result["learner"], one["id"], planted, found)
            for result in results
            for one in result["exercises"]
            if (planted := self.answers.get((result["learner"], one["id"]))) is not None
            and (found := one["mistake"] or one["verdict"]) != (planted or "passed")
        ]


def make_course(
    folder: Path,
    learners: int,
    seed: int,
    stems: Sequence[str] = (),
    mix: Mix = Mix(),  # noqa: B008  (it can't be changed)
    each: int = 0,
) -> Planted:
    """Write the notebooks of so many learners for the chapters `stems` (all of them by default).

    Every learner works on `each` of them, or on all; who copies works on those of the other.
    """
    planted = Planted(folder, stems=list(stems) or [one.stem for one in chapters().values()])
    names = _names(learners, Random(f"{seed} names"))
    planted.kinds = _kinds(names, mix, Random(f"{seed} kinds"))
    most = len(planted.stems)
    chosen = _chosen(planted, min(each or most, most), Random(f"{seed} chosen"))
    written: dict[tuple[str, str], dict[str, str]] = {}  # by learner and stem: code by exercise
    for stem in planted.stems:
        favourites = _favourites(stem, Random(f"{seed} {stem} favourites"))
        for name in sorted(names, key=lambda one: planted.kinds[one] == "copied"):
            if stem not in chosen[name]:
                continue
            rng = Random(f"{seed} {stem} {name}")
            code = _answers(planted, name, stem, favourites, mix, rng)
            if planted.kinds[name] == "copied":
                code = _copied(planted, name, stem, written, code, rng)
            written[name, stem] = code
            _hand_in(planted, name, stem, code, rng)
    return planted


# --- who there is ----------------------------------------------------------------------------


def _names(count: int, rng: Random) -> list[str]:
    every = [f"{first}.{last}" for first in _FIRST.split() for last in _LAST.split()]
    rng.shuffle(every)
    more = [f"learner{number:05d}" for number in range(count - len(every))]
    return [*every[:count], *more]


def _kinds(names: Sequence[str], mix: Mix, rng: Random) -> dict[str, str]:
    """Deal out the kinds; in a class of some size there is at least one of each that is wanted."""
    kinds = dict.fromkeys(names, "ordinary")
    free = list(names)
    rng.shuffle(free)
    for kind in ("copied", "broken", "hostile", "late", "missing", "absent"):
        share = getattr(mix, kind)
        wanted = max(round(share * len(names)), 1 if share else 0)
        for _one in range(min(wanted, len(free) - 1)):
            kinds[free.pop()] = kind
    return kinds


def _chosen(planted: Planted, each: int, rng: Random) -> dict[str, set[str]]:
    """Deal out the chapters like cards, so that none is left out."""
    deck: list[str] = []
    chosen: dict[str, set[str]] = {}
    for name, kind in planted.kinds.items():
        if kind in ("copied", "absent"):
            continue
        if len(deck) < each:
            rest = [stem for stem in planted.stems if stem not in deck]
            rng.shuffle(rest)
            deck += rest
        chosen[name] = {deck.pop(0) for _card in range(each)}
    for name, kind in planted.kinds.items():
        if kind == "copied":
            chosen[name] = chosen[_source(planted, name)]
    return {name: chosen.get(name, set()) for name in planted.kinds}


def _source(planted: Planted, learner: str) -> str:
    """Return from whom a learner copies."""
    others = [one for one, kind in planted.kinds.items() if kind in ("ordinary", "late")]
    return Random(f"{learner} from").choice(others)


# --- what they write -------------------------------------------------------------------------


@cache
def _compiled(stem: str) -> dict[str, Any]:
    return compiled(stem)


@cache
def _exercises(stem: str) -> dict[str, dict[str, Any]]:
    return {exercise["name"]: exercise for exercise in _compiled(stem)["exercises"]}


@cache
def _answer(stem: str, name: str, mistake: str) -> str:
    """Return the code of an answer with a named mistake, or of the solution, without imports."""
    exercise = _exercises(stem)[name]
    if not mistake:
        return str(exercise["answer"])
    (program,) = [one["program"] for one in exercise["mistakes"] if one["name"] == mistake]
    return _own(program, _given(exercise))


@cache
def _rests_on(stem: str, name: str, mistake: str) -> set[str]:
    """Return the exercises whose answers this one calls: a mistake in them is its mistake too."""
    code = ast.walk(ast.parse(_answer(stem, name, mistake)))
    named = {node.id for node in code if isinstance(node, ast.Name)}
    exercises = _exercises(stem)
    return {*exercises[name]["uses"], *named.intersection(exercises)} - {name}


def _given(exercise: dict[str, Any]) -> set[str]:
    """Return the statements of a program that are not the answer: imports, what it uses."""
    answer = {ast.unparse(node) for node in ast.parse(exercise["answer"]).body}
    program = (ast.unparse(node) for node in ast.parse(exercise["program"]).body)
    return {text for text in program if text not in answer}


def _own(program: str, given: set[str]) -> str:
    nodes = (node for node in ast.parse(program).body if ast.unparse(node) not in given)
    return "\n".join(ast.get_source_segment(program, node) or "" for node in nodes)


def _favourites(stem: str, rng: Random) -> dict[str, list[str]]:
    """Return the mistakes that this class makes, the commonest first: there is a ranking."""
    found = {}
    for name, exercise in _exercises(stem).items():
        names = [one["name"] for one in exercise["mistakes"]]
        mistakes = [one for one in names if not _spoils_others(stem, name, one)]
        rng.shuffle(mistakes)
        found[name] = mistakes[:5]
    return found


def _spoils_others(stem: str, name: str, mistake: str) -> bool:
    """Return whether a wrong answer defines what another exercise asks for."""
    others = set(_exercises(stem)) - {name}
    defined = (node for node in ast.parse(_answer(stem, name, mistake)).body)
    return any(getattr(node, "name", "") in others for node in defined)


def _answers(
    planted: Planted,
    learner: str,
    stem: str,
    favourites: dict[str, list[str]],
    mix: Mix,
    rng: Random,
) -> dict[str, str]:
    """Return what a learner writes for each exercise, and note what is known about it."""
    number = stem.partition("_")[0]
    skill = Random(f"{learner} skill").random()
    doubtful: set[str] = set()  # wrong, or resting on what is
    code = {}
    for name in _exercises(stem):
        if rng.random() < mix.unanswered:
            doubtful.add(name)
            continue
        mistake = ""
        if rng.random() < mix.mistaken * 2 * (1 - skill):
            place = min(int(rng.expovariate(0.9)), len(favourites[name]) - 1)
            mistake = favourites[name][place] if place >= 0 else ""
        code[name] = rewritten(_answer(stem, name, mistake), rng)
        if doubtful & _rests_on(stem, name, mistake):
            doubtful.add(name)
            continue
        planted.answers[learner, f"{number}.{name}"] = mistake
        if mistake:
            doubtful.add(name)
    return code


def _copied(
    planted: Planted,
    learner: str,
    stem: str,
    written: dict[tuple[str, str], dict[str, str]],
    own: dict[str, str],
    rng: Random,
) -> dict[str, str]:
    """Return another learner's answers in disguise; one in ten of the answers is their own."""
    number = stem.partition("_")[0]
    source = _source(planted, learner)
    theirs = written[source, stem]
    code = {}
    for name in {**own, **theirs}:
        is_own = name in own and (name not in theirs or rng.random() < 0.1)
        if is_own:
            code[name] = own[name]
            continue
        planted.answers.pop((learner, f"{number}.{name}"), None)
        if (source, f"{number}.{name}") in planted.answers:
            known = planted.answers[source, f"{number}.{name}"]
            planted.answers[learner, f"{number}.{name}"] = known
        code[name] = disguised(theirs[name], rng)
    # An answer may rest on one that is of the other hand now: only what is theirs is known.
    mixed = {one for one in code if code[one] == own.get(one)}
    if mixed:
        for name in _exercises(stem):
            if _rests_on(stem, name, ""):
                planted.answers.pop((learner, f"{number}.{name}"), None)
    planted.copies.append((learner, source, stem))
    return code


def solved(stem: str) -> str:
    """Return the notebook of somebody who knows every solution."""
    code = {name: _answer(stem, name, "") for name in _exercises(stem)}
    return _notebook(stem, code, is_reordered=False, rng=Random(0))


# --- how it is handed in ---------------------------------------------------------------------

_BREAKS = ("cut off", "syntax error", "empty", "no notebook")
_ATTACKS = {
    "endless loop": "    while True:\n        pass\n",
    "ends the process": "    import os\n    os._exit(0)\n",
    "much memory": "    return bytearray(64 * 2**30)\n",
    "reads files": "    return open('/etc/passwd').read()\n",
    "deep recursion": "    return __import__('builtins').eval('(' * 500 + '1' + ')' * 500)\n",
}


def _hand_in(planted: Planted, learner: str, stem: str, code: dict[str, str], rng: Random) -> None:
    kind = planted.kinds[learner]
    if kind == "missing" and rng.random() < 0.5 and len(planted.stems) > 1:
        planted.missing.add((learner, stem))
        _forget(planted, learner, stem)
        (planted.folder / learner).mkdir(parents=True, exist_ok=True)
        return
    if kind == "hostile":
        code = _attacked(planted, learner, stem, code, rng)
    text = _notebook(stem, code, planted.kinds[learner] == "copied", rng)
    if kind == "broken":
        text = _broken(planted, learner, stem, text, rng)
    path = planted.folder / learner / f"{stem}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    after = -timedelta(minutes=rng.randrange(5, 5000))
    if kind == "late":
        after = planted.late.setdefault(learner, timedelta(minutes=rng.randrange(30, 6000)))
    when = (planted.deadline + after).timestamp()
    os.utime(path, (when, when))


def _notebook(stem: str, code: dict[str, str], is_reordered: bool, rng: Random) -> str:
    """Return the handed-out notebook with the answers in it, as text."""
    notebook = json.loads(json.dumps(_compiled(stem)["notebook"]))
    for cell in notebook["cells"]:
        name, _dash, kind = cell["id"].rpartition("-")
        if kind == "answer" and name in code:
            cell["source"] = code[name]
    if is_reordered:  # answers are found by what they define, wherever they are
        places = [n for n, c in enumerate(notebook["cells"]) if c["id"].endswith("-answer")]
        cells = [notebook["cells"][place] for place in places]
        rng.shuffle(cells)
        for place, cell in zip(places, cells, strict=True):
            notebook["cells"][place] = cell
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _attacked(
    planted: Planted, learner: str, stem: str, code: dict[str, str], rng: Random
) -> dict[str, str]:
    """Return the answers, one of which does harm where it is called."""
    functions = [name for name, text in code.items() if text.startswith(f"def {name}")]
    if not functions:
        return code
    name, attack = rng.choice(functions), rng.choice(list(_ATTACKS))
    planted.hostile[learner, stem] = attack
    _forget(planted, learner, stem)  # what else it spoils is not for us to say
    head = code[name].partition("\n")[0]
    return {**code, name: f"{head}\n{_ATTACKS[attack]}"}


def _broken(planted: Planted, learner: str, stem: str, text: str, rng: Random) -> str:
    how = rng.choice(_BREAKS)
    planted.broken[learner, stem] = how
    _forget(planted, learner, stem)
    if how == "syntax error":
        return text.replace("def ", "def def ", 1)
    return {"cut off": text[: len(text) // 2], "empty": "", "no notebook": "see attachment"}[how]


def _forget(planted: Planted, learner: str, stem: str) -> None:
    number = stem.partition("_")[0]
    for name in _exercises(stem):
        planted.answers.pop((learner, f"{number}.{name}"), None)
