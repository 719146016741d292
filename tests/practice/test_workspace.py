"""A learner's folder: nothing is overwritten, a reset touches one cell and keeps a backup."""

import json
import shutil
import sys
import tomllib
import zipfile

import pytest

from attn_course.inside.notebook import NotebookProblem
from attn_course.practice import workspace
from attn_course.practice.classroom import classroom
from attn_course.practice.workspace import (
    WorkspaceProblem,
    find_notebooks,
    reset,
    start,
    working_folder,
    write_handout,
)
from tests.practice.small_course import use_small_course


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    return use_small_course(monkeypatch, tmp_path / "checkout")


@pytest.fixture
def notebook(chapter, tmp_path):
    (path,), _kept = start(tmp_path / "my work")
    return path


def cells_in(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def edit(path, change):
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data["cells"])
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def place(cells, cell_id):
    return [cell["id"] for cell in cells].index(cell_id)


def answer(path, cell_id, source):
    def change(cells):
        cells[place(cells, cell_id)]["source"] = source

    edit(path, change)


def never(question):
    raise AssertionError(f"was asked: {question}")


# start


def test_start_copies_every_notebook_and_never_overwrites(chapter, tmp_path):
    copied, kept = start(tmp_path / "work")
    assert [path.name for path in copied] == ["77_small.ipynb"]
    assert kept == []
    copied[0].write_text("my work")
    assert start(tmp_path / "work") == ([], copied)
    assert copied[0].read_text() == "my work"


def test_the_notebooks_come_with_the_package_without_solutions_and_without_jupytext(
    chapter, tmp_path, monkeypatch
):
    in_a_checkout = cells_in(start(tmp_path / "in a checkout")[0][0])
    shutil.rmtree(workspace.course_root())
    monkeypatch.setattr(workspace, "course_root", lambda: None)
    monkeypatch.setitem(sys.modules, "jupytext", None)
    (path,), _kept = start(tmp_path / "installed")
    assert cells_in(path) == in_a_checkout
    assert "double-answer" in [cell["id"] for cell in in_a_checkout]


def test_start_refuses_a_file_as_folder(chapter, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkspaceProblem, match="is a file; name a folder"):
        start(tmp_path / "file")


# find


def test_an_original_is_found_before_its_copies(chapter, tmp_path):
    copy, original = tmp_path / "77_small-Copy1.ipynb", tmp_path / "77_small.ipynb"
    for path in (copy, tmp_path / "notes.ipynb"):
        path.write_text("")
    assert find_notebooks(tmp_path) == ({"77": copy}, [])
    original.write_text("")
    found, passed_over = find_notebooks(tmp_path)
    assert found["77"] == original
    assert passed_over == [copy]


def test_a_notebook_of_no_chapter_is_neither_found_nor_passed_over(chapter, tmp_path):
    for name in ("78_other.ipynb", "notes.ipynb", "7.ipynb"):
        (tmp_path / name).write_text("")
    assert find_notebooks(tmp_path) == ({}, [])
    assert working_folder(tmp_path / "below") == tmp_path / "below"


def test_one_works_here_or_in_a_copy_below_or_in_the_exercises_of_a_checkout(chapter, tmp_path):
    assert working_folder(tmp_path) == tmp_path
    (tmp_path / ".attn-course").mkdir()  # `attn-course tasks` keeps its log in such a folder
    for name in ("exercises", "my-exercises", "."):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "notes.ipynb").write_text("")
        (folder / "77_small.ipynb").write_text("")
        assert working_folder(tmp_path) == folder


# reset


def test_a_reset_restores_one_cell_and_keeps_every_other_byte(chapter, notebook):
    handed_out = notebook.read_bytes()
    answer(notebook, "count-answer", "count = 6")
    with_count = notebook.read_bytes()
    answer(notebook, "double-answer", "def double(x):\n    return 2 * x")
    before = notebook.read_bytes()
    done = reset(chapter.exercises["double"], notebook, never)
    assert done.done == "restored"
    assert notebook.read_bytes() == with_count
    assert done.backup.read_bytes() == before
    assert done.backup.parent == notebook.parent / ".attn-course" / "backups"
    reset(chapter.exercises["count"], notebook, never)
    assert notebook.read_bytes() == handed_out


def test_two_resets_in_one_second_keep_two_backups(chapter, notebook):
    backups = set()
    for text in ("count = 1", "count = 2"):
        answer(notebook, "count-answer", text)
        backups.add(reset(chapter.exercises["count"], notebook, never).backup)
    assert len(backups) == 2
    assert {"count = 1", "count = 2"} == {
        "".join(cells_in(path)[place(cells_in(path), "count-answer")]["source"]) for path in backups
    }


def test_an_untouched_exercise_is_left_alone_without_a_backup(chapter, notebook):
    before = notebook.read_bytes()
    done = reset(chapter.exercises["double"], notebook, never)
    assert (done.done, done.backup) == ("unchanged", None)
    assert notebook.read_bytes() == before
    assert not (notebook.parent / ".attn-course").exists()


@pytest.mark.parametrize("name", ["double", "count", "Scale", "mean"])
def test_a_deleted_cell_is_put_back_in_its_place(chapter, notebook, name):
    handed_out = notebook.read_bytes()
    edit(notebook, lambda cells: cells.pop(place(cells, f"{name}-answer")))
    assert reset(chapter.exercises[name], notebook, never).done == "put back"
    assert notebook.read_bytes() == handed_out


def test_a_deleted_cell_finds_its_place_without_its_neighbours_too(chapter, notebook):
    def only_the_end(cells):
        del cells[: place(cells, "mean-check")]

    edit(notebook, only_the_end)
    reset(chapter.exercises["mean"], notebook, never)
    assert [cell["id"] for cell in cells_in(notebook)] == ["mean-answer", "mean-check", "cell-03"]


def test_a_cell_with_another_id_is_found_by_what_it_defines(chapter, notebook):
    def move_to_the_end(cells):
        cell = cells.pop(place(cells, "double-answer"))
        cells.append(cell | {"id": "pasted", "source": "def double(x:\n  return x"})

    edit(notebook, move_to_the_end)
    assert reset(chapter.exercises["double"], notebook, never).done == "restored"
    assert cells_in(notebook)[-1]["id"] == "pasted"
    assert "NotImplementedError" in "".join(cells_in(notebook)[-1]["source"])


def test_an_answer_in_two_cells_is_put_right_only_when_agreed(chapter, notebook):
    copy = {"cell_type": "code", "execution_count": 1, "id": "copy", "metadata": {}, "outputs": []}
    edit(notebook, lambda cells: cells.insert(0, copy | {"source": "def double(x): return 2 * x"}))
    answer(notebook, "double-answer", "def double(x): return 3 * x")
    before = notebook.read_bytes()
    asked = []
    assert reset(chapter.exercises["double"], notebook, asked.append).done == "unchanged"
    assert notebook.read_bytes() == before
    assert "77.double" in asked[0]
    assert "cell 1" in asked[0].lower()
    assert "cell 5" in asked[0].lower()
    done = reset(chapter.exercises["double"], notebook, lambda question: True)
    assert (done.done, done.removed) == ("restored", 1)
    assert done.backup.read_bytes() == before
    ids = [cell["id"] for cell in cells_in(notebook)]
    assert "copy" not in ids
    assert "double-answer" in ids


def test_a_cell_with_another_answer_too_is_not_touched(chapter, notebook):
    answer(notebook, "double-answer", "def double(x): return 2 * x\ncount = 6")
    before = notebook.read_bytes()
    with pytest.raises(WorkspaceProblem, match="contains double and also count"):
        reset(chapter.exercises["double"], notebook, never)
    assert notebook.read_bytes() == before


def test_an_answer_cell_turned_into_prose_becomes_code_again(chapter, notebook):
    handed_out = notebook.read_bytes()

    def to_prose(cells):
        at = place(cells, "double-answer")
        cells[at] = {"cell_type": "markdown", "id": "double-answer", "metadata": {}, "source": "hm"}

    edit(notebook, to_prose)
    reset(chapter.exercises["double"], notebook, never)
    assert notebook.read_bytes() == handed_out


def test_a_notebook_without_ids_is_reset_and_gets_none(chapter, notebook):
    data = json.loads(notebook.read_text(encoding="utf-8"))
    data["nbformat_minor"] = 4
    for cell in data["cells"]:
        del cell["id"]
    data["cells"] = [c for c in data["cells"] if not "".join(c["source"]).startswith("count =")]
    notebook.write_text(json.dumps(data), encoding="utf-8")
    assert reset(chapter.exercises["count"], notebook, never).done == "put back"
    assert all("id" not in cell for cell in cells_in(notebook))
    sources = ["".join(cell["source"]) for cell in cells_in(notebook)]
    at = sources.index("count = None  # your answer")
    assert "How many?" in sources[at - 1]


def test_a_file_that_is_no_notebook_is_never_written_to(chapter, tmp_path):
    path = tmp_path / "77_small.ipynb"
    path.write_bytes(b"{ half a notebook")
    with pytest.raises(NotebookProblem):
        reset(chapter.exercises["double"], path, never)
    assert path.read_bytes() == b"{ half a notebook"
    assert not (tmp_path / ".attn-course").exists()


# handout


def test_the_handout_holds_exercises_and_a_readme_and_no_solution(chapter, tmp_path):
    path = write_handout(tmp_path / "dist")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        texts = {name: archive.read(name).decode() for name in names}
    assert names == [
        "attn-course-exercises/77_small.ipynb",
        "attn-course-exercises/README.md",
        "attn-course-exercises/attn-course.toml",
    ]
    for secret in ("secret_sum", "count = 6", "afterwards only", "You squared", "SOLUTION"):
        assert not any(secret in text for text in texts.values())
    for words in (
        "attn-course check 77",
        "attn-course watch",
        'practice.summary("77")',
        "attn-course hint 77.double",
        "jupyter lab",
        "4 exercises",
    ):
        assert words in texts["attn-course-exercises/README.md"]


def test_the_handout_switches_solutions_off_where_it_is_unpacked(chapter, tmp_path):
    path = write_handout(tmp_path / "dist")
    assert classroom(tmp_path).solutions
    with zipfile.ZipFile(path) as archive:
        text = archive.read("attn-course-exercises/attn-course.toml").decode()
        archive.extractall(tmp_path)
    assert tomllib.loads(text) == {"solutions": False}
    (tmp_path / "attn-course-exercises" / "below").mkdir()
    for folder in ("attn-course-exercises", "attn-course-exercises/below"):
        settings = classroom(tmp_path / folder)
        assert not settings.solutions
        assert settings.file == tmp_path / "attn-course-exercises" / "attn-course.toml"


def test_the_handout_is_made_afresh_even_where_somebody_worked_in_exercises(chapter, tmp_path):
    worked_on = workspace.course_root() / "exercises" / "77_small.ipynb"
    worked_on.parent.mkdir()
    worked_on.write_text("my secret answers")
    first = write_handout(tmp_path / "dist").read_bytes()
    assert b"my secret answers" not in first
    assert write_handout(tmp_path / "dist").read_bytes() == first


def test_the_handout_needs_neither_a_checkout_nor_jupytext(chapter, tmp_path, monkeypatch):
    in_a_checkout = write_handout(tmp_path / "dist").read_bytes()
    monkeypatch.setattr(workspace, "course_root", lambda: None)
    monkeypatch.setitem(sys.modules, "jupytext", None)
    assert write_handout(tmp_path / "elsewhere").read_bytes() == in_a_checkout
