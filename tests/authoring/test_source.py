"""A file of `solutions/`: what is read from it, and a sentence for everything that may be wrong."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from attn_course.authoring import edits, entries, source
from attn_course.authoring.source import (
    SourceProblems,
    book_sections,
    page_title,
    read_cells,
    read_chapter,
)
from attn_course.practice.exercise import run_program
from attn_course.practice.mutants import mutants_of

# ruff: noqa: E501  (the metadata of a cell are on one line)

SECTIONS = {"rows": ("Rows", "77_trial"), "columns": ("Columns", "77_trial")}
NAME = "77_trial.md"

SOURCE = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# Exercises for a trial

Run the next cell first. (What is between ### BEGIN SOLUTION and ### END SOLUTION is not for you.)

```{code-cell} python3
:tags: [nbval-ignore-output]

import numpy as np

from attn_course import practice
```

+++ {"exercise": "row_weights", "difficulty": 1, "minutes": 5, "section": "rows"}

## Make rows sum to 1

**Goal:** Turn scores into weights.

Divide every row by its sum.

In two paragraphs.

```{code-cell} python3
def row_weights(scores, scale=1.0):
    ### BEGIN SOLUTION
    scores = scale * scores  # all of them
    total = scores.sum(axis=-1, keepdims=True)
    return scores / total
    ### END SOLUTION
```

```{code-cell} python3
practice.check("77.row_weights", row_weights)
```

+++ {"tags": ["hints"]}

1. Look at the rows.
2. Divide by a sum.
   Which one?
3. `scores / scores.sum(…)`

   Along which axis?

+++ {"tags": ["mistakes"]}

columns: `axis=-1` -> `axis=-2`
: Your columns sum to 1. {ref}`columns`

not_scaled: without `scores = scale * scores`
: You forgot the scale.

+++ {"tags": ["equivalent"]}

scaled_by_another: `scale * scores` -> `… * scores`
: A scale goes away in the division.

+++ {"tags": ["solution"]}

**Why.** Rows belong to queries.

```{code-cell} python3
:tags: [solution]

print(row_weights(np.ones((2, 2))))
```

+++ {"tags": ["solution"]}

More of the explanation.

+++ {"exercise": "row_count", "difficulty": 2, "minutes": 1, "section": "rows", "kind": "value", "task": "predict"}

## Count the rows

**Goal:** Say how many rows there are.

```{code-cell} python3
### BEGIN SOLUTION
row_count = [2 * 3, 5]
### END SOLUTION
```

```{code-cell} python3
practice.check("77.row_count", row_count)
```

+++ {"tags": ["hints"]}

1. Count.
2. Count rows.
3. Multiply.

+++ {"tags": ["mistakes"]}

added: `[2 + 3, 5]`
: You added.

+++ {"exercise": "mean_row", "difficulty": 3, "minutes": 9, "section": "columns", "task": "find the bug", "without": ["np.average"], "uses": ["row_weights"]}

## Find the bug

**Goal:** Weigh the rows of a table.

It has one bug.

```{code-cell} python3
def mean_row(scores, values):
    weights = row_weights(scores)
    ### BEGIN SOLUTION
    return weights @ values
    ### STUB: # look here
    ### STUB: return values @ weights
    ### END SOLUTION
```

```{code-cell} python3
practice.check("77.mean_row", mean_row)
```

+++ {"tags": ["hints"]}

1. Look.
2. Look closer.
3. Turn it round.

+++ {"tags": ["mistakes"]}

as_handed_out: the stub
: This is as you found it.

weights_of_columns: `axis=-1` -> `axis=-2` in `row_weights`
: The weights that you use sum to 1 in columns.

printed: insert `print(weights)` before `return`, `weights @` -> `(weights + 0) @`
: You print.

in_a_block: `return weights @ values` ->
: You return too much.

  ```python
  if len(values):
      return weights @ values + 1
  return 0
  ```
"""


@pytest.fixture
def path(tmp_path) -> Path:
    path = tmp_path / NAME
    path.write_text(SOURCE, encoding="utf-8")
    return path


# --- what is read ----------------------------------------------------------------------------


def test_a_source_is_read_into_its_exercises(path):
    chapter = read_chapter(path, SECTIONS)
    assert chapter.stem == "77_trial"
    assert list(chapter.exercises) == ["row_weights", "row_count", "mean_row"]
    first = chapter.exercises["row_weights"]
    assert (first.title, first.goal) == ("Make rows sum to 1", "Turn scores into weights.")
    assert first.task_text == "Divide every row by its sum.\n\nIn two paragraphs."
    assert first.kind == "function"
    assert first.hints == (
        "Look at the rows.",
        "Divide by a sum.\nWhich one?",
        "`scores / scores.sum(…)`\n\nAlong which axis?",
    )
    assert first.explanation == "**Why.** Rows belong to queries.\n\nMore of the explanation."
    assert [entry.name for entry in first.mistakes] == ["columns", "not_scaled"]
    assert first.mistakes[0].section == "columns"
    assert [entry.name for entry in first.equivalents] == ["scaled_by_another"]
    assert chapter.exercises["row_count"].kind == "value"
    assert chapter.exercises["row_count"].task_text == ""


def test_every_cell_knows_the_line_on_which_its_text_begins(path):
    lines = SOURCE.split("\n")
    cells = read_cells(path)
    assert len(cells) == 21
    for cell in cells:
        text = cell.text.split("\n")
        assert lines[cell.line - 1 : cell.line - 1 + len(text)] == text
    assert [cell.line for cell in cells] == sorted(cell.line for cell in cells)
    chapter = read_chapter(path, SECTIONS)
    entry = chapter.exercises["mean_row"].mistakes[0]
    assert entry.line == line_of(SOURCE, "as_handed_out: the stub")


def test_cells_with_the_same_text_have_lines_of_their_own(tmp_path):
    path = tmp_path / NAME
    cell = "```{code-cell} python3\nauthor: me\n```\n"  # which is in the front matter too
    path.write_text(f"---\nauthor: me\n---\n\n{cell}\n{cell}", encoding="utf-8")
    assert [one.line for one in read_cells(path)] == [6, 10]


def test_cells_for_authors_are_told_apart(path):
    kept = [cell.text.split("\n")[0] for cell in read_cells(path) if not cell.is_for_authors]
    assert kept == [
        "# Exercises for a trial",
        "import numpy as np",
        ROW_TASK,
        ROW_ANSWER,
        'practice.check("77.row_weights", row_weights)',
        "## Count the rows",
        BEGIN,
        'practice.check("77.row_count", row_count)',
        "## Find the bug",
        "def mean_row(scores, values):",
        'practice.check("77.mean_row", mean_row)',
    ]


def test_the_answer_is_what_a_learner_could_have_written(path):
    exercises = read_chapter(path, SECTIONS).exercises
    for one in exercises.values():
        assert "###" not in one.answer + one.stub
        ast.parse(one.answer)
    assert exercises["mean_row"].answer == (
        "def mean_row(scores, values):\n"
        "    weights = row_weights(scores)\n"
        "    return weights @ values"
    )


def test_a_stub_keeps_what_is_outside_the_marks(path):
    exercises = read_chapter(path, SECTIONS).exercises
    assert exercises["row_weights"].stub == (
        "def row_weights(scores, scale=1.0):\n"
        '    raise NotImplementedError("Your answer goes here, instead of this line.")'
    )
    assert exercises["row_count"].stub == "row_count = None  # your answer"
    assert exercises["mean_row"].stub == (
        "def mean_row(scores, values):\n"
        "    weights = row_weights(scores)\n"
        "    # look here\n"
        "    return values @ weights"
    )


def test_every_kind_of_mistake_becomes_a_program(path):
    chapter = read_chapter(path, SECTIONS)

    def answers(name: str) -> dict[str, dict[str, str]]:
        exercise = chapter.exercises[name]
        return {one.name: chapter.answers_of(exercise, one) for one in exercise.mistakes}

    made = answers("row_weights")
    assert made["columns"]["row_weights"].count("axis=-2") == 1
    assert "    pass  # all of them\n" in made["not_scaled"]["row_weights"]
    assert answers("row_count") == {"added": {"row_count": "row_count = [2 + 3, 5]"}}
    made = answers("mean_row")
    assert made["as_handed_out"] == {"mean_row": chapter.exercises["mean_row"].stub}
    assert list(made["weights_of_columns"]) == ["row_weights"]
    assert made["printed"]["mean_row"].endswith(
        "\n    print(weights)\n    return (weights + 0) @ values"
    )
    assert made["in_a_block"]["mean_row"].endswith(
        "\n    if len(values):\n        return weights @ values + 1\n    return 0"
    )


def test_a_program_holds_what_an_answer_needs_and_no_more(path):
    chapter = read_chapter(path, SECTIONS)
    program = "\n".join(chapter.program("mean_row"))
    assert "import numpy" not in program
    assert "def row_weights" in program
    assert "row_count" not in program
    assert run_program(program, "mean_row").__name__ == "mean_row"


def test_a_mistake_in_an_earlier_answer_is_part_of_the_program(path):
    chapter = read_chapter(path, SECTIONS)
    exercise = chapter.exercises["mean_row"]
    (entry,) = (one for one in exercise.mistakes if one.name == "weights_of_columns")
    program = "\n".join(chapter.program("mean_row", chapter.answers_of(exercise, entry)))
    assert "axis=-2" in program


@pytest.mark.parametrize("name", ["row_weights", "row_count", "mean_row"])
def test_many_programs_are_made_as_each_would_be_alone(path, name):
    chapter = read_chapter(path, SECTIONS)
    # One that does without an earlier answer keeps it here: the cells are read only once.
    kept = [
        one for one in mutants_of(chapter.exercises[name].answer) if one.kind != "call left out"
    ]
    assert kept
    made = list(chapter.programs_with(name, [mutant.source for mutant in kept]))
    alone = [chapter.program(name, {name: mutant.source}) for mutant in kept]
    assert list(map(dumped, made)) == list(map(dumped, alone))


def dumped(program: tuple[str, ...]) -> str:
    return ast.dump(ast.parse("\n".join(program)))


@pytest.mark.parametrize(
    ("line", "covered"),
    [
        ("    scores = 2 * scores", True),
        ("    scores = ((2)\n        * scores)", True),
        ("    scores = f(1, scale) * scores", True),
        ("    scores = scale + scores", False),
    ],
)
def test_an_equivalent_program_is_recognised_with_anything_in_its_place(path, line, covered):
    chapter = read_chapter(path, SECTIONS)
    exercise = chapter.exercises["row_weights"]
    mutant = exercise.answer.replace("    scores = scale * scores  # all of them", line)
    assert mutant != exercise.answer
    (entry,) = exercise.equivalents
    assert chapter.is_equivalent(exercise, entry, mutant) is covered


def test_an_equivalent_program_of_another_answer_is_none_of_this_one(tmp_path):
    path = tmp_path / NAME
    entry = "other: `axis=-1` -> `axis=1` in `row_weights`\n: For tables."
    path.write_text(f'{SOURCE}\n+++ {{"tags": ["equivalent"]}}\n\n{entry}\n', encoding="utf-8")
    chapter = read_chapter(path, SECTIONS)
    exercise = chapter.exercises["mean_row"]
    mutant = exercise.answer.replace("@", "*")
    assert not chapter.is_equivalent(exercise, exercise.equivalents[0], mutant)


def test_labelled_headings_of_pages_are_found_with_their_pages(tmp_path):
    page = tmp_path / "77_page.md"
    page.write_text(
        "# Title of it \n\n(a-b)=\n## Rows\n\n(no)=\ntext\n\n## Plain\n\n(c)=\n### Deep\n"
    )
    bare = tmp_path / "78_bare.md"
    bare.write_text("no heading")
    assert book_sections([page, bare]) == {
        "a-b": ("Rows", "77_page"),
        "c": ("Deep", "77_page"),
    }
    assert (page_title(page), page_title(bare)) == ("Title of it", "78_bare")


# --- problems --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spoilt:
    """One thing spoilt in the source: `old` became `new`, and what is told of which line."""

    what: str
    old: str
    new: str
    line: str  # how the line begins that is told, in the spoilt source
    sentence: str  # {line} and {before} are numbers of lines in it
    before: str = ""  # how the earlier line begins that the sentence names
    also: tuple[str, ...] = ()  # how further sentences begin that can't be avoided

    @property
    def text(self) -> str:
        assert self.old in SOURCE, "the table is older than the source"
        return SOURCE.replace(self.old, self.new, 1)


ROW_TASK = "## Make rows sum to 1"
ROW_ANSWER = "def row_weights(scores, scale=1.0):"
ROW_METADATA = '"difficulty": 1, "minutes": 5, "section": "rows"}'
HINTS = '+++ {"tags": ["hints"]}'
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"

SPOILT = [
    # metadata that can't be read
    Spoilt(
        "the metadata are on several lines",
        '+++ {"exercise": "row_weights", "difficulty": 1,',
        '+++ {"exercise": "row_weights",\n"difficulty": 1,',
        '+++ {"exercise": "row_weights",',
        "the metadata of a cell must be on one line: `+++ {…}`",
    ),
    Spoilt(
        "the metadata lack a comma",
        '"difficulty": 1, "minutes"',
        '"difficulty": 1 "minutes"',
        '+++ {"exercise": "row_weights"',
        "the metadata of this cell are not valid JSON "
        '(Expecting \',\' delimiter at `"minutes": 5, "section": "rows"}`)',
    ),
    Spoilt(
        "the metadata have single quotes",
        HINTS,
        "+++ {'tags': ['hints']}",
        "+++ {'tags'",
        "the metadata of this cell are not valid JSON "
        "(Expecting property name enclosed in double quotes at `'tags': ['hints']}`)",
    ),
    Spoilt(
        "the tags are no list",
        HINTS,
        '+++ {"tags": "hints"}',
        '+++ {"tags": "hints"}',
        '"tags" in the metadata must be a list of texts',
    ),
    Spoilt(
        "the metadata are no object",
        HINTS,
        "+++ hints",
        "+++ hints",
        "jupytext can't read this file: Markdown cell 5 at line {line} could not be read: "
        "Expecting value: line 1 column 1 (char 0)",
    ),
    Spoilt(
        "the options of a code cell are no YAML",
        ":tags: [solution]",
        ":tags: [solution",
        "```{code-cell} python3\n:tags: [solution",
        "jupytext can't read this file: Code cell 9 at line {line} could not be read: "
        "Invalid YAML; while parsing a flow sequence",
    ),
    Spoilt(
        "the front matter is no YAML",
        "kernelspec:",
        "kernelspec: [",
        "kernelspec: [",
        "jupytext can't read this file: while parsing a flow sequence",
    ),
    Spoilt(
        "the tags of a code cell are no list",
        ":tags: [solution]",
        ":tags: 5",
        "---",
        "jupytext can't read this file: 5 is not of type 'array'",
    ),
    # tasks
    Spoilt(
        "an exercise comes twice",
        '"exercise": "mean_row"',
        '"exercise": "row_weights"',
        "## Find the bug",
        "exercise 'row_weights' is here a second time; the first is on line {before}",
        before=ROW_TASK,
        also=("the stub does not define", "this cell checks"),
    ),
    Spoilt(
        "the name is no name",
        '"exercise": "mean_row"',
        '"exercise": "mean-row"',
        "## Find the bug",
        "'mean-row' can't be a name in Python",
        also=("the stub does not define", "this cell checks"),
    ),
    Spoilt(
        "the name is a word of Python's own",
        '"exercise": "mean_row"',
        '"exercise": "lambda"',
        "## Find the bug",
        "'lambda' can't be a name in Python",
        also=("the stub does not define", "this cell checks"),
    ),
    Spoilt(
        "the name is no text",
        '"exercise": "mean_row"',
        '"exercise": ["mean_row"]',
        "## Find the bug",
        "\"['mean_row']\" can't be a name in Python",
        also=("the stub does not define", "this cell checks"),
    ),
    Spoilt(
        "the task has no goal",
        "**Goal:** Turn scores into weights.\n",
        "Turn scores into weights.\n",
        ROW_TASK,
        "the task of 'row_weights' must begin with its title and its goal: "
        "`## …`, a blank line, `**Goal:** …`, a blank line",
    ),
    Spoilt(
        "the task has no title",
        "## Make rows sum to 1\n\n",
        "",
        "**Goal:** Turn scores",
        "the task of 'row_weights' must begin with its title and its goal: "
        "`## …`, a blank line, `**Goal:** …`, a blank line",
    ),
    # metadata of a task
    Spoilt(
        "the difficulty is missing",
        '"difficulty": 1, ',
        "",
        ROW_TASK,
        'the metadata need "difficulty", a whole number',
    ),
    Spoilt(
        "the minutes are no number",
        '"minutes": 5,',
        '"minutes": "5",',
        ROW_TASK,
        'the metadata need "minutes", a whole number',
    ),
    Spoilt(
        "the section is missing",
        ', "section": "rows"}',
        "}",
        ROW_TASK,
        'the metadata need "section", a text in quotes',
    ),
    Spoilt(
        "the difficulty is too high",
        '"difficulty": 1',
        '"difficulty": 4',
        ROW_TASK,
        '"difficulty" is 1 (easy), 2 (medium) or 3 (hard)',
    ),
    Spoilt(
        "a key has a slip in it",
        ROW_METADATA,
        ROW_METADATA.replace("}", ', "use": []}'),
        ROW_TASK,
        "the metadata have an unknown key 'use'; did you mean 'uses'?",
    ),
    Spoilt(
        "a key is like no other",
        ROW_METADATA,
        ROW_METADATA.replace("}", ', "weight": 3}'),
        ROW_TASK,
        "the metadata have an unknown key 'weight'",
    ),
    Spoilt(
        "the kind is no text",
        ROW_METADATA,
        ROW_METADATA.replace("}", ', "task": 3}'),
        ROW_TASK,
        "'task' in the metadata must be a text in quotes",
    ),
    Spoilt(
        "what is used is no list",
        '"uses": ["row_weights"]',
        '"uses": "row_weights"',
        "## Find the bug",
        "'uses' in the metadata must be a list of texts",
    ),
    Spoilt(
        "what is used is a number",
        '"uses": ["row_weights"]',
        '"uses": 1',
        "## Find the bug",
        "'uses' in the metadata must be a list of texts",
    ),
    Spoilt(
        "what to do without is a list of numbers",
        '"without": ["np.average"]',
        '"without": [1]',
        "## Find the bug",
        "'without' in the metadata must be a list of texts",
    ),
    Spoilt(
        "the kind is unknown",
        '"kind": "value"',
        '"kind": "number"',
        "## Count the rows",
        "'kind' must be one of function, value, module, not 'number'",
        also=("the stub does not define", "'added' is a value, and 'row_count' asks for a number"),
    ),
    Spoilt(
        "the sort of task is unknown",
        '"task": "predict"',
        '"task": "guess"',
        "## Count the rows",
        "'task' must be one of implement, find the bug, predict, complete the training step, "
        "reproduce, not 'guess'",
    ),
    Spoilt(
        "the section is unknown",
        '"section": "rows"}',
        '"section": "row"}',
        ROW_TASK,
        "no page of the book has a section with the label 'row'; most like it: rows",
    ),
    Spoilt(
        "a later exercise is used",
        ROW_METADATA,
        ROW_METADATA.replace("}", ', "uses": ["mean_row"]}'),
        ROW_TASK,
        "\"uses\" names earlier exercises, and 'mean_row' is none",
    ),
    Spoilt(
        "an exercise uses itself",
        '"uses": ["row_weights"]',
        '"uses": ["mean_row"]',
        "## Find the bug",
        "\"uses\" names earlier exercises, and 'mean_row' is none",
    ),
    # answers
    Spoilt(
        "there is a solution before the first task",
        "import numpy as np",
        f"{BEGIN}\nimport numpy as np\n{END}",
        BEGIN,
        "a solution before the first task: to which exercise does it belong?",
    ),
    Spoilt(
        "an exercise has two answers",
        '```{code-cell} python3\npractice.check("77.row_weights"',
        f"```{{code-cell}} python3\n{BEGIN}\nx = 1\n{END}\n```\n\n"
        '```{code-cell} python3\npractice.check("77.row_weights"',
        f"{BEGIN}\nx = 1",
        "exercise 'row_weights' has a second answer cell; put its code into one cell",
    ),
    Spoilt(
        "the solution is no Python",
        "    return scores / total",
        "    return scores / (total",
        ROW_ANSWER,
        "the solution of 'row_weights' is not valid Python "
        "('(' was never closed: return scores / (total)",
    ),
    Spoilt(
        "the stub is no Python",
        "### STUB: return values @ weights",
        "### STUB: return values @",
        "def mean_row",
        "the stub of 'mean_row' is not valid Python (invalid syntax: return values @)",
        also=(
            "after this edit the solution is not valid Python (invalid syntax: return values @)",
        ),
    ),
    Spoilt(
        "the first line of the answer is between the marks",
        f"{ROW_ANSWER}\n    {BEGIN}",
        f"{BEGIN}\n{ROW_ANSWER}",
        BEGIN,
        f"the stub does not define 'row_weights'; keep its first line outside {BEGIN}",
    ),
    Spoilt(
        "the answer has another name",
        ROW_ANSWER,
        ROW_ANSWER.replace("row_weights", "weights_of_rows"),
        "def weights_of_rows",
        f"the stub does not define 'row_weights'; keep its first line outside {BEGIN}",
    ),
    Spoilt(
        "a region begins in a region",
        "    total = scores.sum",
        f"    {BEGIN}\n    total = scores.sum",
        f"    {BEGIN}\n    total",
        f"{BEGIN} inside the region that line {{before}} begins",
        before=f"    {BEGIN}",
    ),
    Spoilt(
        "a region ends twice",
        f"    {END}\n",
        f"    {END}\n    {END}\n",
        f"    {END}\n```",
        f"{END} without {BEGIN} before it",
    ),
    Spoilt(
        "a region does not end",
        f"    {END}\n",
        "",
        f"    {BEGIN}",
        f"the region that begins here is not closed by {END}",
    ),
    Spoilt(
        "a line for the stub is outside the region",
        f"    weights = row_weights(scores)\n    {BEGIN}",
        f"    weights = row_weights(scores)\n    ### STUB: pass\n    {BEGIN}",
        "    ### STUB: pass",
        f"### STUB: is only for the lines between {BEGIN} and {END}",
    ),
    # checks, and what is missing
    Spoilt(
        "a check is for another exercise",
        'practice.check("77.row_weights"',
        'practice.check("77.row_weight"',
        "practice.check",
        "this cell checks '77.row_weight', but the task before it is '77.row_weights'",
    ),
    Spoilt(
        "a check is for another chapter",
        'practice.check("77.row_weights"',
        'practice.check("78.row_weights"',
        "practice.check",
        "this cell checks '78.row_weights', but the task before it is '77.row_weights'",
    ),
    Spoilt(
        "a check is for nothing in particular",
        'practice.check("77.row_weights", row_weights)',
        "practice.check(row_weights)",
        "practice.check",
        "this cell checks '?', but the task before it is '77.row_weights'",
    ),
    Spoilt(
        "there is a check before the first task",
        "import numpy as np",
        'practice.check("77.row_weights", 1)',
        "practice.check",
        "this cell checks '77.row_weights', but the task before it is '77.?'",
    ),
    Spoilt(
        "the check is missing",
        '```{code-cell} python3\npractice.check("77.row_weights", row_weights)\n```\n',
        "",
        ROW_TASK,
        "exercise 'row_weights' has no check cell after its task; "
        'add one: `practice.check("77.row_weights", row_weights)`',
    ),
    Spoilt(
        "the answer is missing",
        f"```{{code-cell}} python3\n{BEGIN}\nrow_count = [2 * 3, 5]\n{END}\n```\n",
        "",
        "## Count the rows",
        "exercise 'row_count' has no answer cell after its task; "
        f"add a code cell with {BEGIN} and {END}",
    ),
    Spoilt(
        "the hints are missing",
        f"{HINTS}\n\n1. Look.\n2. Look closer.\n3. Turn it round.\n",
        "",
        "## Find the bug",
        "exercise 'mean_row' has no hints cell after its task; "
        'add one with `+++ {"tags": ["hints"]}`',
    ),
    Spoilt(
        "there are two hints",
        "3. Turn it round.\n",
        "",
        "1. Look.",
        "'mean_row' needs 3 hints, numbered `1. …`, and has 2",
    ),
    Spoilt(
        "the hints have no numbers",
        "1. Count.\n2. Count rows.\n3. Multiply.\n",
        "- Count.\n- Count rows.\n- Multiply.\n",
        "- Count.",
        "'row_count' needs 3 hints, numbered `1. …`, and has 0",
    ),
    Spoilt(
        "there are hints before the first exercise",
        "Run the next cell first.",
        f"{HINTS}\n\n1. Run.\n\n+++\n\nRun the next cell first.",
        "1. Run.",
        "a cell tagged 'hints' before the first exercise",
    ),
    Spoilt(
        "a tag has a slip in it",
        '+++ {"tags": ["solution"]}\n\n**Why.**',
        '+++ {"tags": ["solutions"]}\n\n**Why.**',
        "**Why.**",
        "there is no tag 'solutions'; did you mean 'solution'?",
    ),
    # entries, as far as a cell can say: test_entries has more of them
    Spoilt(
        "a mistake can't have this name",
        "not_scaled:",
        "not-scaled:",
        "not-scaled:",
        "'not-scaled' can't be a name: use letters, digits and underscores",
    ),
    Spoilt(
        "two mistakes have one name",
        "not_scaled:",
        "columns:",
        "columns: without",
        "'columns' is already the name of the entry on line {before}",
        before="columns:",
    ),
    Spoilt(
        "two cells of mistakes have a name in common",
        '+++ {"tags": ["equivalent"]}\n\nscaled_by_another: `scale * scores` -> `… * scores`',
        '+++ {"tags": ["mistakes"]}\n\ncolumns: `axis=-1` -> `axis=0`',
        "columns: `axis=-1` -> `axis=0`",
        "'columns' is already the name of the entry on line {before}",
        before="columns:",
    ),
    Spoilt(
        "a colon is forgotten after a name",
        "not_scaled: without",
        "not_scaled without",
        "not_scaled without",
        "after a blank line `name: …` or a code block must follow, "
        "not 'not_scaled without `scores = scale * scores`'",
    ),
    Spoilt(
        "a colon is forgotten before a message",
        ": You forgot the scale.",
        "You forgot the scale.",
        "You forgot the scale.",
        "the message of 'not_scaled' must follow here, after a colon: `: …`",
    ),
    Spoilt(
        "a blank line is forgotten between mistakes",
        "{ref}`columns`\n\nnot_scaled",
        "{ref}`columns`\nnot_scaled",
        ": You forgot the scale.",
        "a second message for 'columns': leave a blank line before the next name",
        also=("a reference may only end the message of 'columns'",),
    ),
    Spoilt(
        "a message is missing",
        ": You forgot the scale.\n",
        "",
        "not_scaled:",
        "'not_scaled' has no message: it follows on the next line, after a colon",
    ),
    Spoilt(
        "a reference is inside a message",
        ": You forgot the scale.",
        ": See {ref}`rows`: you forgot the scale.",
        "not_scaled:",
        "a reference may only end the message of 'not_scaled': {ref}`label`",
    ),
    Spoilt(
        "a reference leads nowhere",
        "{ref}`columns`",
        "{ref}`column`",
        "columns:",
        "no page of the book has a section with the label 'column'; most like it: columns",
    ),
    Spoilt(
        "an edit is not understood",
        "without `scores = scale * scores`",
        "drop `scores = scale * scores`",
        "not_scaled:",
        "the edits of 'not_scaled' are not understood: `drop `scores = scale * scores``. "
        "Write `old` -> `new`, without `old`, insert `new` before `old` (or after), the stub, "
        "or one `value`",
    ),
    Spoilt(
        "an equivalent program lacks its reason",
        ": A scale goes away in the division.\n",
        "",
        "scaled_by_another:",
        "'scaled_by_another' has no message: it follows on the next line, after a colon",
    ),
    Spoilt(
        "a code block is not closed",
        "  return 0\n  ```",
        "  return 0",
        "  ```python",
        "this code block is not closed",
    ),
    Spoilt(
        "a code block comes before all mistakes",
        "as_handed_out: the stub",
        "```python\nx = 1\n```\n\nas_handed_out: the stub",
        "```python",
        "a code block before the first name",
    ),
    Spoilt(
        "an edit lacks its code",
        "`return weights @ values` ->\n",
        "`return weights @ values` ->, `scores)` ->\n",
        "in_a_block:",
        "'in_a_block' wants a code block after its message: an edit has no new code",
    ),
    Spoilt(
        "an edit has code and a block",
        "in_a_block: `return weights @ values` ->",
        "in_a_block: `return weights @ values` -> `return 0`",
        "in_a_block:",
        "no edit of 'in_a_block' wants a code block: end one in ->",
    ),
    # edits, as far as a solution can say: test_edits has more of them
    Spoilt(
        "what is sought is not there",
        "columns: `axis=-1`",
        "columns: `axis=1`",
        "columns:",
        "there is no `axis=1` in the solution of 'row_weights'; "
        "most like it: total = scores.sum(axis=-1, keepdims=True)",
    ),
    Spoilt(
        "what is sought is in a longer name only",
        "without `scores = scale * scores`",
        "without `score`",
        "not_scaled:",
        "there is no `score` in the solution of 'row_weights'; most like it: return scores / total",
    ),
    Spoilt(
        "what is sought is there several times",
        "columns: `axis=-1` -> `axis=-2`",
        "columns: `total` -> `1`",
        "columns:",
        "`total` occurs 2 times in the solution of 'row_weights': "
        "give more of the line, or say `total` everywhere",
    ),
    Spoilt(
        "what is sought everywhere is there once",
        "columns: `axis=-1` ->",
        "columns: `axis=-1` everywhere ->",
        "columns:",
        "`axis=-1` occurs only once in the solution of 'row_weights': leave out `everywhere`",
    ),
    Spoilt(
        "two edits overlap",
        "columns: `axis=-1` -> `axis=-2`",
        "columns: `axis=-1` -> `axis=-2`, without `sum(axis`",
        "columns:",
        "two edits overlap at `axis`: write them as one",
    ),
    Spoilt(
        "an edit is in the answer of no exercise",
        "in `row_weights`",
        "in `row_weight`",
        "weights_of_columns:",
        "`in` names an earlier exercise of this file, and 'row_weight' is none",
    ),
    Spoilt(
        "an edit is in the answer of a later exercise",
        "columns: `axis=-1` -> `axis=-2`",
        "columns: `values` -> `scores` in `mean_row`",
        "columns:",
        "`in` names an earlier exercise of this file, and 'mean_row' is none",
    ),
    Spoilt(
        "an edited program is no Python",
        "columns: `axis=-1` -> `axis=-2`",
        "columns: `axis=-1` -> `axis=-1)`",
        "columns:",
        "after this edit the solution is not valid Python "
        "(unmatched ')': total = scores.sum(axis=-1), keepdims=True))",
    ),
    Spoilt(
        "a mistake leaves open what it is",
        "columns: `axis=-1` -> `axis=-2`",
        "columns: `axis=-1` -> `axis=…`",
        "columns:",
        "after this edit the solution is not valid Python "
        "(invalid character '…' (U+2026): total = scores.sum(axis=…, keepdims=True))",
    ),
    Spoilt(
        "an equivalent program is no Python",
        "-> `… * scores`",
        "-> `… scores`",
        "scaled_by_another:",
        "after this edit the solution is not valid Python "
        "(invalid syntax: scores = … scores  # all of them)",
    ),
    Spoilt(
        "an edit changes nothing but the layout",
        "columns: `axis=-1` -> `axis=-2`",
        "columns: `axis=-1` -> `axis=(-1)`",
        "columns:",
        "after this edit the solution is what it was",
    ),
    Spoilt(
        "a value is the right one",
        "added: `[2 + 3, 5]`",
        "added: `[2*3, 5]`",
        "added:",
        "after this edit the solution is what it was",
    ),
    Spoilt(
        "two mistakes are one program",
        "not_scaled: without `scores = scale * scores`",
        "not_scaled: `axis = -1` -> `axis = -2`",
        "not_scaled:",
        "the same program as the mistake on line {before}",
        before="columns:",
    ),
    Spoilt(
        "a function is asked for, and a mistake is a value",
        "not_scaled: without `scores = scale * scores`",
        "not_scaled: `scores = scale * scores`",
        "not_scaled:",
        "'not_scaled' is a value, and 'row_weights' asks for a function",
    ),
]


def told(path: Path, text: str, sections=SECTIONS) -> list[tuple[int, str]]:
    """Return the lines and sentences of what is wrong with a source, checking the path of each."""
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SourceProblems) as raised:
        read_chapter(path, sections)
    problems = []
    for line in str(raised.value).split("\n"):
        found = re.fullmatch(rf"{re.escape(str(path))}:(\d+): (.+)", line)
        assert found, line
        problems.append((int(found[1]), found[2]))
    return problems


def line_of(text: str, beginning: str) -> int:
    """Return the number of the first line that begins so; the next lines may be given too."""
    found = re.search(rf"^{re.escape(beginning)}", text, re.MULTILINE)
    assert found, beginning
    return text.count("\n", 0, found.start()) + 1


@pytest.mark.parametrize("spoilt", SPOILT, ids=lambda spoilt: spoilt.what)
def test_whatever_is_wrong_is_told_with_its_line_and_little_else(path, spoilt):
    line = line_of(spoilt.text, spoilt.line)
    sentence = spoilt.sentence.replace("{line}", str(line))
    if spoilt.before:
        sentence = sentence.replace("{before}", str(line_of(spoilt.text, spoilt.before)))
    problems = told(path, spoilt.text)
    assert (line, sentence) in problems
    others = [said for one, said in problems if (one, said) != (line, sentence)]
    assert [said[: len(wanted)] for said, wanted in zip(others, spoilt.also, strict=True)] == list(
        spoilt.also
    )


def sentences_of(module) -> list[str]:
    """Return every text of a module that is told to somebody: what is in `_(…)`."""
    calls = (node for node in ast.walk(ast.parse(Path(module.__file__).read_text("utf-8"))))
    return [
        str(ast.literal_eval(node.args[0]))
        for node in calls
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_"
    ]


EVERY = [text for module in (edits, entries, source) for text in sentences_of(module)]
FOR_LEARNERS = {"your answer", "Your answer goes here, instead of this line."}


def test_there_are_sentences_to_look_at():
    assert len(EVERY) > 50
    assert set(EVERY) >= FOR_LEARNERS


@pytest.mark.parametrize("text", [text for text in EVERY if text not in FOR_LEARNERS])
def test_every_sentence_of_the_loader_is_shown_by_a_spoilt_source(text):
    parts = re.split(r"\{\w+(?:!r)?\}", text)
    pattern = ".*".join(re.escape(part.replace("{{", "{").replace("}}", "}")) for part in parts)
    assert any(re.search(pattern, spoilt.sentence, re.DOTALL) for spoilt in SPOILT)


# --- all at once -----------------------------------------------------------------------------


def test_all_problems_of_a_file_are_told_at_once_in_order_of_lines(path):
    text = SOURCE
    slips = [
        ('"task": "predict"', '"task": "guess"'),
        ("3. Turn it round.\n", ""),
        ('"difficulty": 1', '"difficulty": 9'),
        ("not_scaled: without", "not_scaled: drop"),
        ("{ref}`columns`", "{ref}`colums`"),
        ('practice.check("77.mean_row"', 'practice.check("77.mean"'),
        ("in `row_weights`", "in `row`"),
        ("added: `[2 + 3, 5]`", "added: `[2 * 3, 5]`"),
    ]
    for old, new in slips:
        assert old in text
        text = text.replace(old, new, 1)
    problems = told(path, text)
    assert len(problems) == len(slips)
    lines = [line for line, _sentence in problems]
    assert lines == sorted(lines)
    assert [sentence.split("`")[0].split("'")[0].strip() for _line, sentence in problems] == [
        '"difficulty" is 1 (easy), 2 (medium) or 3 (hard)',
        "no page of the book has a section with the label",
        "the edits of",
        "",
        "after this edit the solution is what it was",
        "this cell checks",
        "",
        "",
    ]


def test_problems_on_one_line_come_in_the_same_order_each_time(path):
    text = SOURCE.replace(
        '"difficulty": 1, "minutes": 5, "section": "rows"}', '"hard": 1, "use": 2}'
    )
    problems = told(path, text)
    assert [sentence for _line, sentence in problems] == [
        'the metadata need "difficulty", a whole number',
        'the metadata need "minutes", a whole number',
        'the metadata need "section", a text in quotes',
        "the metadata have an unknown key 'hard'",
        "the metadata have an unknown key 'use'; did you mean 'uses'?",
    ]
    assert len({line for line, _sentence in problems}) == 1


def test_all_metadata_that_cannot_be_read_are_told_at_once(path):
    text = SOURCE.replace('["hints"]}', '["hints"]').replace('"minutes": 9', '"minutes" 9')
    assert [sentence.partition(" (")[0] for _line, sentence in told(path, text)] == [
        "the metadata of a cell must be on one line: `+++ {…}`",
        "the metadata of a cell must be on one line: `+++ {…}`",
        "the metadata of this cell are not valid JSON",
        "the metadata of a cell must be on one line: `+++ {…}`",
    ]


def test_a_solution_with_a_fault_is_told_once_and_not_with_every_mistake(path):
    text = SOURCE.replace("return scores / total", "return scores / / total")
    assert told(path, text) == [
        (
            line_of(text, ROW_ANSWER),
            "the solution of 'row_weights' is not valid Python "
            "(invalid syntax: return scores / / total)",
        )
    ]


def test_without_any_section_there_is_none_like_it(path):
    sentences = {sentence for _line, sentence in told(path, SOURCE, sections={})}
    assert sentences == {
        f"no page of the book has a section with the label {label!r}; most like it: –"
        for label in SECTIONS
    }


def test_a_source_without_a_slip_has_no_problem(path):
    assert len(read_chapter(path, SECTIONS).exercises) == 3
