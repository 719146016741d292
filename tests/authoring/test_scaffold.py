"""The beginning of an exercise: what `attn-course new` writes, and mutants as ready edits."""

import ast
import json
import runpy
import shutil
from functools import partial
from pathlib import Path

import pytest

from attn_course.authoring import scaffold
from attn_course.authoring.edits import edited
from attn_course.authoring.entries import read_entries
from attn_course.authoring.release import COMPILED, released_from, source_chapter
from attn_course.authoring.scaffold import CannotBegin, as_edit, begin, next_steps, unnamed_mutants
from attn_course.authoring.selftest import examine
from attn_course.authoring.source import book_sections
from attn_course.practice import exercises
from attn_course.practice.exercise import Exercise, run_program
from attn_course.practice.mutants import mutants_of
from attn_course.practice.results import Verdict

ROOT = Path(__file__).parents[2]
SOURCE = "01_nadaraya_watson"


def files_below(folder: Path) -> dict[str, bytes]:
    found = (path for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".md", ".json"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with chapter 01 alone, whose Python is looked for there first."""
    for folder in ("solutions", "book"):
        (tmp_path / folder).mkdir()
        shutil.copy(ROOT / folder / f"{SOURCE}.md", tmp_path / folder)
    of_the_package = exercises.definition_of

    def definition_of(stem, name):
        path = tmp_path / COMPILED / stem.partition("_")[2] / f"{name}.py"
        return runpy.run_path(str(path))[name] if path.is_file() else of_the_package(stem, name)

    monkeypatch.setattr(exercises, "definition_of", definition_of)
    monkeypatch.setattr(
        scaffold, "released_from", partial(released_from, definitions=definition_of)
    )
    for name in ("create_file", "replace_file"):
        monkeypatch.setattr(scaffold, name, partial(below, tmp_path, getattr(scaffold, name)))
    return tmp_path


def below(folder: Path, write, path: Path, text: str) -> None:
    """Write a file, if it leaves the course itself alone."""
    assert path.is_relative_to(folder)
    write(path, text)


def exercise_in(checkout: Path, stem: str, name: str) -> Exercise:
    """Return an exercise of a checkout, as a learner would get it."""
    sections = book_sections(sorted((checkout / "book").glob("*.md")))
    source = checkout / "solutions" / f"{stem}.md"
    released = released_from(source, sections, exercises.definition_of)
    return exercises.chapter_from(json.loads(released.compiled)).exercises[name]


# --- begin -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["function", "value", "module"])
def test_what_is_begun_is_a_whole_exercise_that_works(checkout, kind):
    before = files_below(checkout)
    written = begin(checkout, "01.Trial_of_it", kind)
    python = (COMPILED / "nadaraya_watson" / "Trial_of_it.py").as_posix()
    assert [path.relative_to(checkout).as_posix() for path in written] == [
        f"solutions/{SOURCE}.md",
        python,
    ]
    assert set(files_below(checkout)) - set(before) == {
        python,
        (COMPILED / "nadaraya_watson" / "__init__.py").as_posix(),
    }
    # Nothing that was there has changed.
    assert written[0].read_bytes().startswith(before[f"solutions/{SOURCE}.md"].rstrip(b"\n"))

    exercise = exercise_in(checkout, SOURCE, "Trial_of_it")
    assert exercise.kind == kind
    assert exercise.title == "Trial of it"
    assert exercise.points == 2 if kind != "value" else exercise.points == 1
    assert len(exercise.hints) == 3
    answer = run_program(exercise.solution.program, exercise.name)
    assert exercise.check(exercise.local(answer), seed=0).verdict is Verdict.PASSED
    (known,) = exercise.mistakes
    result = exercise.check(exercise.local(known.answer), seed=0)
    assert result.verdict is Verdict.FAILED
    assert (result.mistake.name, result.mistake.is_certain) == (known.name, True)
    examined = examine(exercise)
    assert (examined.survived, examined.unnamed, examined.rejected) == ((), (), ())


@pytest.mark.parametrize("kind", ["function", "value", "module"])
def test_the_stub_of_what_is_begun_is_still_to_do(checkout, kind):
    begin(checkout, "01.trial", kind)
    exercise = exercise_in(checkout, SOURCE, "trial")
    chapter = source_chapter(checkout, SOURCE)
    stub = "\n".join(chapter.program("trial", {"trial": chapter.exercises["trial"].stub}))
    result = exercise.check(exercise.local(run_program(stub, "trial")), seed=0)
    assert result.verdict is Verdict.TODO


def test_several_exercises_may_be_begun_one_after_the_other(checkout):
    for kind in ("function", "value", "module"):
        begin(checkout, f"01.my_{kind}", kind)
    chapter = source_chapter(checkout, SOURCE)
    assert list(chapter.exercises)[-3:] == ["my_function", "my_value", "my_module"]
    first_section = next(iter(book_sections([checkout / "book" / f"{SOURCE}.md"])))
    for name in ("my_function", "my_value", "my_module"):
        assert chapter.exercises[name].metadata["section"] == first_section


def test_a_new_notebook_is_begun_with_its_first_exercise(checkout):
    source, python = begin(checkout, "06b_roles.asked_twice", "function")
    assert source == checkout / "solutions" / "06b_roles.md"
    assert python == checkout / COMPILED / "roles" / "asked_twice.py"
    assert (python.parent / "__init__.py").read_text() == '"""The exercises of 06b: roles."""\n'
    begin(checkout, "06b.asked_again", "module")
    chapter = source_chapter(checkout, "06b_roles")
    assert list(chapter.exercises) == ["asked_twice", "asked_again"]
    assert chapter.cells[0].text.startswith("# Exercises for 06b: roles\n")
    exercise = exercise_in(checkout, "06b_roles", "asked_again")
    assert examine(exercise, seeds=[0]).is_good
    assert exercise.id == "06b.asked_again"


@pytest.mark.parametrize(
    ("others", "place", "stem"),
    [
        ([], "01", SOURCE),
        ([], "1", SOURCE),
        ([], SOURCE, SOURCE),
        (["05b_rotatory"], "05b", "05b_rotatory"),
        (["05b_rotatory"], "5b", "05b_rotatory"),
        (["05b_rotatory"], "5", "05b_rotatory"),  # the only one of its chapter
        (["05_levels", "05b_rotatory"], "05_levels", "05_levels"),
        (["05_levels", "05b_rotatory"], "05b", "05b_rotatory"),
    ],
)
def test_a_notebook_is_named_by_its_number_or_its_stem(checkout, others, place, stem):
    for other in others:
        shutil.copy(checkout / "solutions" / f"{SOURCE}.md", checkout / f"solutions/{other}.md")
    source, python = begin(checkout, f"{place}.trial", "function")
    number, _sep, topic = stem.partition("_")
    assert source.stem == stem
    assert python.parent.name == topic
    assert f'practice.check("{number}.trial", trial)' in source.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("exercise_id", "sentence"),
    [
        (word, f"Give notebook and name, such as 01.boxcar_weights, not {word!r}.")
        for word in ("boxcar", "01", "01.", ".boxcar", "01.box-car", "01.1st")
    ]
    + [
        ("01.gaussian_weights", "There is an exercise 01.gaussian_weights already."),
        ("1.gaussian_weights", "There is an exercise 01.gaussian_weights already."),
        ("01.half_written", "There is an exercise 01.half_written already."),
        ("05.ask", "Chapter 05 has several notebooks; say which: 05_levels, 05b_rotatory"),
        ("5.ask", "Chapter 05 has several notebooks; say which: 05_levels, 05b_rotatory"),
        (
            "09.ask",
            "There is no solutions/09_*.md; to begin one, name it: attn-course new 09_topic.name",
        ),
        (
            "05c.ask",
            "There is no solutions/05c_*.md; to begin one, name it: attn-course new 05c_topic.name",
        ),
        (
            "01b.ask",
            "There is no solutions/01b_*.md; to begin one, name it: attn-course new 01b_topic.name",
        ),
        ("01_other.ask", f"The number 01 belongs to solutions/{SOURCE}.md already."),
    ]
    + [
        (
            f"{stem}.ask",
            f"A new notebook is called by number and topic, such as 06b_roles, not {stem!r}.",
        )
        for stem in ("my_topic", "6_topic", "06_my-topic", "06_", "06 b_topic", "../06_topic")
    ],
)
def test_what_cannot_be_begun_is_refused_and_nothing_is_written(checkout, exercise_id, sentence):
    for other in ("05_levels", "05b_rotatory"):
        shutil.copy(checkout / "solutions" / f"{SOURCE}.md", checkout / f"solutions/{other}.md")
    python = checkout / COMPILED / "nadaraya_watson" / "half_written.py"
    python.parent.mkdir(parents=True)
    python.write_text("# somebody's work")
    before = files_below(checkout.parent)
    with pytest.raises(CannotBegin) as refused:
        begin(checkout, exercise_id, "function")
    assert str(refused.value) == sentence
    assert files_below(checkout.parent) == before


def test_an_exercise_is_not_begun_twice(checkout):
    begin(checkout, "01.trial", "function")
    before = files_below(checkout)
    with pytest.raises(CannotBegin, match=r"^There is an exercise 01\.trial already\.$"):
        begin(checkout, "01.trial", "value")
    assert files_below(checkout) == before


def test_the_next_steps_are_commands_for_this_exercise():
    text = next_steps("01.boxcar_weights")
    assert text.count("attn-course ") == 4
    assert text.count("01.boxcar_weights") == 3


# --- mutants as edits ------------------------------------------------------------------------


def solutions() -> dict[str, str]:
    found = exercises.chapters()
    return {
        one.id: one.solution.answer
        for number in ("01", "02", "04", "05b")
        for one in found[number].exercises.values()
    }


@pytest.mark.parametrize("exercise_id", solutions())
def test_an_edit_makes_exactly_the_mutant_it_is_for(exercise_id):
    answer = solutions()[exercise_id]
    mutants = mutants_of(answer)
    made = {mutant.change: as_edit(answer, mutant) for mutant in mutants}
    for mutant in mutants:
        written = made[mutant.change]
        if not written:
            continue
        (entry,), problems = read_entries(f"name: {written}\n: A message.", 1)
        assert problems == []
        program = edited(answer, entry.edits, exercise_id)
        assert ast.dump(ast.parse(program)) == ast.dump(ast.parse(mutant.source)), written
    # Hardly one is left without an edit.
    assert sum(map(bool, made.values())) >= 0.9 * len(made)


@pytest.mark.parametrize(
    ("answer", "change", "edit"),
    [
        # as little as possible
        ("y = x + 2", "y = x + 2 -> y = x - 2", "`+` -> `-`"),
        ("y = x + 2", "y = x + 2 -> y = x", "`x + 2` -> `x`"),
        # more of the line where a part occurs twice
        ("y = x + 2\nz = y + 2", "z = y + 2 -> z = y - 2", "`y + 2` -> `y - 2`"),
        ("f(x)\ny = 1", "f(x) -> pass", "`f(x)` -> `pass`"),
        # line breaks and comments go
        ("y = f(\n    a,  # one\n    b\n)", "y = f(a, b) -> y = f(b, a)", "`a, b` -> `b, a`"),
        # what begins a loop, over several lines
        (
            "for a in zip(\n    b,\n    c,\n):\n    pass",
            "for a in zip(b, c): -> for a in zip(c, b):",
            "`b, c,` -> `c, b`",
        ),
        # nothing where nothing will do
        ("while x < 3: y()", "while x < 3: -> while x <= 3:", ""),
        ("y = x + 2\ny = x + 2", "y = x + 2 -> y = x - 2", ""),
        ("y = f('`', x)", "y = f('`', x) -> y = f(x, '`')", ""),
        ("y = f('''a\nb''', x)", "y = f('a\\nb', x) -> y = f(x, 'a\\nb')", ""),
    ],
)
def test_an_edit_is_as_short_as_can_be(answer, change, edit):
    (mutant, *_others) = [one for one in mutants_of(answer) if one.change == change]
    assert as_edit(answer, mutant) == edit


# --- mutants without a name ------------------------------------------------------------------


def with_entries(checkout: Path, stem: str, entries: str) -> None:
    """Write more mistakes at the end of the last cell of mistakes of a source."""
    source = checkout / "solutions" / f"{stem}.md"
    text = source.read_text(encoding="utf-8")
    at = text.rindex('+++ {"tags": ["solution"]}')
    source.write_text(f"{text[:at]}{entries}\n\n{text[at:]}", encoding="utf-8")


def test_mutants_without_a_name_are_ready_entries(checkout):
    begin(checkout, "01.trial", "function")
    text = unnamed_mutants(checkout, "01.trial")
    entries, problems = read_entries(text, 1)
    assert problems == []
    assert 1 <= len(entries) <= 10
    assert all(entry.message == "…" for entry in entries)
    # Pasted into the source they are mistakes that are rejected, each by its own name.
    with_entries(checkout, SOURCE, text)
    exercise = exercise_in(checkout, SOURCE, "trial")
    assert len(exercise.mistakes) == 1 + len(entries)
    for known in exercise.mistakes[1:]:
        result = exercise.check(exercise.local(known.answer), seed=0)
        assert result.verdict is Verdict.FAILED
        assert result.mistake is not None


def test_when_all_have_names_it_says_so(checkout):
    begin(checkout, "01.trial", "value")
    for number in range(20):
        text = unnamed_mutants(checkout, "01.trial")
        if text == "Every wrong mutant that was tried has a name.":
            break
        with_entries(checkout, SOURCE, text.replace(": `", f"_{number}: `"))
    assert text == "Every wrong mutant that was tried has a name."
    assert number > 0


def test_no_more_than_ten_are_shown(checkout, monkeypatch):
    monkeypatch.setattr(scaffold, "_is_wrong_and_unnamed", lambda exercise, program: True)
    entries, problems = read_entries(unnamed_mutants(checkout, "01.gaussian_weights"), 1)
    assert problems == []
    assert len(entries) == 10


def test_a_mutant_that_never_ends_is_left_out(checkout, monkeypatch):
    begin(checkout, "01.trial", "function")
    source = checkout / "solutions" / f"{SOURCE}.md"
    old = "    return queries @ np.swapaxes(keys, -2, -1)\n"
    new = (
        "    n = 0\n    while n < 3:\n        n += 1\n    return queries @ keys.swapaxes(-2, -1)\n"
    )
    text = source.read_text(encoding="utf-8").replace(old, new)
    text = text.replace(
        "`np.swapaxes(keys, -2, -1)` -> `np.swapaxes(keys, -2, -1) / keys.shape[-1]`",
        "`keys.swapaxes(-2, -1)` -> `keys.swapaxes(-2, -1) / keys.shape[-1]`",
    )
    source.write_text(text, encoding="utf-8")
    monkeypatch.setattr(scaffold, "_SECONDS", 0.1)
    tried = []
    original = scaffold._is_wrong_and_unnamed
    monkeypatch.setattr(
        scaffold,
        "_is_wrong_and_unnamed",
        lambda exercise, program: tried.append(program) or original(exercise, program),
    )
    entries, problems = read_entries(unnamed_mutants(checkout, "01.trial"), 1)
    assert problems == []
    assert any("n -= 1" in program for program in tried)  # it goes down for ever
    put_in = [edit.new for entry in entries for edit in entry.edits]
    assert put_in
    assert "-=" not in put_in
    assert "pass" not in put_in


def test_mutants_of_an_exercise_that_is_not_there_are_refused(checkout):
    with pytest.raises(CannotBegin, match=r"^There is no exercise 'boxcar' in .*01_.*\.md\.$"):
        unnamed_mutants(checkout, "01.boxcar")
    with pytest.raises(CannotBegin, match=r"^There is no solutions/09_\*\.md;"):
        unnamed_mutants(checkout, "09.boxcar")
