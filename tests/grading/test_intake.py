"""Intake: every notebook is found once, and whatever is wrong with a file is one sentence."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course.grading import intake
from attn_course.grading.intake import HandedIn, IntakeProblem, Unreadable, cells_of, find, read
from attn_course.practice import numbers
from attn_course.practice.exercise import Chapter
from tests.grading.bad_notebooks import SENTENCES
from tests.grading.fixture_chapter import CHAPTERS, chapter, notebook_bytes

FILE = "88_fixture.ipynb"


def course(*stems):
    """Return chapters with these stems, by their numbers."""
    made = [Chapter(stem, title=stem, sections={}) for stem in stems]
    return {one.number: one for one in made}


def put(root, *names):
    """Put a right notebook at every one of the places."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(notebook_bytes())


def found(root, chapters=CHAPTERS):
    notebooks = (one for one in find(root, chapters).notebooks if one.is_there)
    return [(one.learner, one.chapter, one.name) for one in notebooks]


def test_folders_and_flat_files_are_found_together(tmp_path):
    put(tmp_path, f"ann/{FILE}", f"bob__{FILE}", "ann/01_sample.ipynb")
    assert found(tmp_path, CHAPTERS | course("01_sample")) == [
        ("ann", "01", "ann/01_sample.ipynb"),
        ("ann", "88", f"ann/{FILE}"),
        ("bob", "88", f"bob__{FILE}"),
    ]


@pytest.mark.parametrize("name", ["88_fixture (1).ipynb", "88.ipynb", "88-final FINAL.ipynb"])
def test_a_chapter_is_known_by_its_number(tmp_path, name):
    put(tmp_path, f"ann/{name}")
    assert found(tmp_path) == [("ann", "88", f"ann/{name}")]


def test_a_page_of_a_long_chapter_is_not_the_chapter(tmp_path):
    put(tmp_path, "ann/05b_rotation.ipynb", "bob__05b_rotation.ipynb", "ann/05_features.ipynb")
    assert found(tmp_path, course("05b_rotation")) == [
        ("ann", "05b", "ann/05b_rotation.ipynb"),
        ("bob", "05b", "bob__05b_rotation.ipynb"),
    ]


def test_a_learner_may_have_underscores_in_the_name(tmp_path):
    put(tmp_path, f"van__der__meer__{FILE}")
    assert found(tmp_path)[0][0] == "van__der__meer"


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        ("ann__88.ipynb", "ann"),
        ("ann__88_fixture__final.ipynb", "ann"),
        ("ann__88_fixture__v__2 (1).ipynb", "ann"),
        ("ann__01_notes__88_fixture.ipynb", "ann__01_notes"),
        ("ann__88__88-mine.ipynb", "ann__88"),
        ("ann___88_fixture.ipynb", "ann_"),
        ("____88_fixture.ipynb", "__"),
        ("88_fixture__88_fixture.ipynb", "88_fixture"),
    ],
)
def test_a_flat_name_is_split_where_a_chapter_is_last_named(tmp_path, name, learner):
    put(tmp_path, name)
    assert found(tmp_path) == [(learner, "88", name)]


@pytest.mark.parametrize(
    "name", ["__88_fixture.ipynb", "ann__fixture.ipynb", "ann_88_fixture.ipynb", "ann__88.zip"]
)
def test_a_flat_name_without_a_learner_or_a_chapter_is_left_aside(tmp_path, name):
    put(tmp_path, name)
    result = find(tmp_path, CHAPTERS)
    assert result.notebooks == ()
    assert result.notices == (f"Left aside: {name}, which names no chapter.",)


def test_a_flat_name_is_split_at_the_same_place_whatever_is_asked_for(tmp_path):
    put(tmp_path, "ann__88_fixture__01_notes.ipynb")
    both = found(tmp_path, CHAPTERS | course("01_notes"))
    assert both == [("ann__88_fixture", "01", "ann__88_fixture__01_notes.ipynb")]
    assert found(tmp_path) == []


# What a file is known by: its stem, then its number


@pytest.mark.parametrize("place", ["ann/{}", "ann__{}"])
@pytest.mark.parametrize(
    ("file", "number"),
    [
        ("06_rotation.ipynb", "06"),
        ("06_rotation (1).ipynb", "06"),
        ("06-mine.ipynb", "06"),
        ("05b_rotation.ipynb", "06"),  # its former name, although there is another 05b today
        ("05b_rotation (2).ipynb", "06"),
        ("05b_levels.ipynb", "05b"),
        ("05b.ipynb", "05b"),
        ("05b_anything else.ipynb", "05b"),
        ("05b_rotation_of_mine.ipynb", "05b"),  # no copy of it: only the number speaks
    ],
)
def test_a_file_is_known_by_its_stem_of_today_or_before_and_else_by_its_number(
    tmp_path, monkeypatch, place, file, number
):
    monkeypatch.setitem(numbers.RENAMED, "05b_rotation", "06_rotation")
    name = place.format(file)
    put(tmp_path, name)
    assert found(tmp_path, course("05b_levels", "06_rotation")) == [("ann", number, name)]


def test_a_file_with_a_former_name_is_not_taken_for_what_has_its_number_today(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(numbers.RENAMED, "05b_rotation", "06_rotation")
    put(tmp_path, "ann/05b_levels.ipynb", "ann/05b_rotation.ipynb")
    result = find(tmp_path, course("05b_levels"))
    assert [one.name for one in result.notebooks] == ["ann/05b_levels.ipynb"]
    assert result.notices == (
        "Left aside: ann/05b_rotation.ipynb, since chapter 06 is not asked for or has no "
        "exercises.",
    )


@pytest.mark.parametrize(
    ("names", "counts"),
    [
        (["ann/88_fixture.ipynb", "ann/77_old.ipynb"], "ann/88_fixture.ipynb"),
        (["ann__88_fixture.ipynb", "ann/77_old.ipynb"], "ann__88_fixture.ipynb"),
        (["ann/77_old.ipynb", "ann/88_a.ipynb"], "ann/77_old.ipynb"),
        (["ann__77_old.ipynb", "ann/88_a.ipynb"], "ann__77_old.ipynb"),
        (["ann__77_old.ipynb", "ann/77_old.ipynb"], "ann/77_old.ipynb"),
    ],
)
def test_todays_name_counts_before_a_former_one_and_that_before_others(
    tmp_path, monkeypatch, names, counts
):
    monkeypatch.setitem(numbers.RENAMED, "77_old", "88_fixture")
    put(tmp_path, *names)
    (one,) = find(tmp_path, CHAPTERS).notebooks
    (other,) = set(names) - {counts}
    assert (one.name, one.chapter) == (counts, "88")
    assert one.note.endswith(f"{counts} counts, not {other}.")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ann/notes.txt", "Left aside: ann/notes.txt, which names no chapter."),
        ("readme.md", "Left aside: readme.md, which names no chapter."),
        (f"..__{FILE}", f"Left aside: ..__{FILE}, a hidden file."),
        ("ann/77_other.ipynb", "Left aside: ann/77_other.ipynb, since chapter 77 is not asked"),
    ],
)
def test_what_is_left_aside_is_said(tmp_path, name, words):
    put(tmp_path, f"ann/{FILE}", name)
    result = find(tmp_path, CHAPTERS)
    assert len(result.notebooks) == 1
    assert [notice for notice in result.notices if words in notice] != []


@pytest.mark.parametrize(
    "name", ["homework.ipynb", "88_fixture.zip", "77_other.ipynb", ".88_fixture.ipynb", ""]
)
def test_who_handed_in_nothing_of_use_has_a_line_too(tmp_path, name):
    put(tmp_path, f"ann/{FILE}")
    (tmp_path / "zoe").mkdir()
    put(tmp_path, *([f"zoe/{name}"] if name else []))
    ann, zoe = find(tmp_path, CHAPTERS).notebooks
    assert (ann.is_there, zoe.is_there) == (True, False)
    assert (zoe.learner, zoe.chapter) == ("zoe", "88")
    with pytest.raises(Unreadable, match="There is no notebook of this chapter in the folder zoe"):
        read(zoe)


def test_who_handed_in_some_chapters_has_a_line_for_those_that_only_others_did(tmp_path):
    put(tmp_path, f"ann/{FILE}", "ann/01_sample.ipynb", f"bob/{FILE}", "cem__01_sample.ipynb")
    chapters = CHAPTERS | course("01_sample", "02_that_came_from_nobody")
    missing = [one for one in find(tmp_path, chapters).notebooks if not one.is_there]
    assert [(one.learner, one.chapter) for one in missing] == [("bob", "01"), ("cem", "88")]
    with pytest.raises(Unreadable, match="no notebook of this chapter in the folder bob"):
        read(missing[0])
    with pytest.raises(Unreadable, match="no notebook of this chapter from cem"):
        read(missing[1])


def test_a_notebook_beside_an_empty_folder_counts(tmp_path):
    put(tmp_path, f"zoe__{FILE}")
    (tmp_path / "zoe").mkdir()
    assert found(tmp_path) == [("zoe", "88", f"zoe__{FILE}")]


def test_of_a_thousand_other_files_a_few_are_named(tmp_path):
    put(tmp_path, f"ann/{FILE}", *(f"ann/{number}.txt" for number in range(100)))
    notices = find(tmp_path, CHAPTERS).notices
    assert len(notices) == 13
    assert notices[-1] == "Left aside: 88 more files in ann."


def test_hidden_files_and_checkpoints_are_nobodys_work(tmp_path):
    put(tmp_path, f"ann/{FILE}", f"ann/.ipynb_checkpoints/{FILE}", f".git/{FILE}")
    result = find(tmp_path, CHAPTERS)
    assert [one.name for one in result.notebooks] == [f"ann/{FILE}"]
    assert result.notices == ()


@pytest.mark.parametrize(
    ("names", "counts"),
    [
        ([f"ann/{FILE}", f"ann__{FILE}"], f"ann/{FILE}"),
        ([f"ann/{FILE}", "ann/88_a.ipynb"], f"ann/{FILE}"),
        (["ann/88_b.ipynb", "ann/88_a.ipynb"], "ann/88_a.ipynb"),
        (["ann/88_a.ipynb", f"ann__{FILE}"], f"ann__{FILE}"),
    ],
)
def test_of_two_notebooks_for_a_chapter_one_counts_and_the_note_says_which(tmp_path, names, counts):
    put(tmp_path, *names)
    (one,) = find(tmp_path, CHAPTERS).notebooks
    (other,) = set(names) - {counts}
    assert one.name == counts
    assert one.note.endswith(f"{counts} counts, not {other}.")


@pytest.mark.parametrize(
    "learner",
    [
        "two words",
        'O\'Neil "Ann"',
        "line\nbreak",
        "🦉 owl",
        "\u202eevil",
        "שרה",
        "=cmd|'C calc'!A0",
        "~",
        "a" * 100,
    ],
)
def test_any_name_is_a_learner(tmp_path, learner):
    put(tmp_path, f"{learner}__{FILE}", f"{FILE}/{FILE}")
    assert learner in [name for name, _chapter, _file in found(tmp_path)]


def test_a_name_that_is_no_text_is_written_out(tmp_path):
    folder = os.path.join(os.fsencode(tmp_path), b"ann\xff")
    os.mkdir(folder)
    Path(os.fsdecode(folder), FILE).write_bytes(notebook_bytes())
    (one,) = find(tmp_path, CHAPTERS).notebooks
    assert one.learner == "ann\\xff"
    assert read(one) == notebook_bytes()


def test_a_learner_that_is_a_link_has_a_line_and_is_not_followed(tmp_path):
    put(tmp_path, f"in/ann/{FILE}", f"secret/{FILE}")
    (tmp_path / "in" / "bob").symlink_to(tmp_path / "secret")
    bob = find(tmp_path / "in", CHAPTERS).notebooks[1]
    assert bob.learner == "bob"
    with pytest.raises(Unreadable, match="bob is a link"):
        read(bob)


@pytest.fixture
def open_folder():
    """A folder that anybody may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def without_privileges():
    """Not as root, who may read everything."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    yield
    os.seteuid(before)


def test_a_folder_without_permission_has_a_line_and_the_others_are_found(open_folder, request):
    put(open_folder, f"ann/{FILE}", f"bob/{FILE}", f"cem/{FILE}")
    (open_folder / "bob").chmod(0)
    (open_folder / "cem" / FILE).chmod(0)
    request.getfixturevalue("without_privileges")
    ann, bob, cem = find(open_folder, CHAPTERS).notebooks
    assert read(ann) == notebook_bytes()
    with pytest.raises(Unreadable, match="The folder bob can't be read"):
        read(bob)
    with pytest.raises(Unreadable, match=r"cem/88_fixture\.ipynb can't be read"):
        read(cem)


def test_submissions_must_be_a_folder(tmp_path):
    with pytest.raises(IntakeProblem, match="is not a folder"):
        find(tmp_path / "nowhere", CHAPTERS)


@pytest.mark.parametrize("make", SENTENCES, ids=lambda make: make.__name__)
def test_every_bad_file_gets_its_sentence(tmp_path, make):
    folder = tmp_path / "ann"
    folder.mkdir()
    make(folder / FILE)
    (one,) = find(tmp_path, CHAPTERS).notebooks
    with pytest.raises(Unreadable) as caught:
        cells_of(one.name, read(one))
    assert SENTENCES[make] in str(caught.value)
    assert "ann/88_fixture.ipynb" in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_right_notebook_gives_its_code_cells():
    cells = cells_of("n", notebook_bytes())
    assert {cell.kind for cell in cells} == {"code"}
    assert cells[1].source.startswith("def row_weights")
    assert cells[1].number == 3  # as Jupyter counts, the title being the first


def test_half_a_character_in_a_cell_is_replaced():
    content = notebook_bytes(squares="XX").replace(b"XX", rb"x = '\ud800'")
    assert any(cell.source == "x = '?'" for cell in cells_of("n", content))


def handed_in(path):
    return HandedIn("ann", chapter.number, path, path.name)


def test_a_notebook_that_keeps_changing_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / FILE
    path.write_bytes(notebook_bytes())
    reads = os.read

    def read_while_somebody_writes(descriptor, count):
        with path.open("ab") as file:
            file.write(b" ")
        return reads(descriptor, count)

    monkeypatch.setattr(intake.os, "read", read_while_somebody_writes)
    with pytest.raises(Unreadable, match="changed while it was being read"):
        read(handed_in(path))


def test_a_notebook_that_changed_once_is_read_again(tmp_path, monkeypatch):
    path = tmp_path / FILE
    path.write_bytes(b"old")
    reads, pending = os.read, [notebook_bytes()]

    def read_while_somebody_saves(descriptor, count):
        if pending:
            path.write_bytes(pending.pop())
        return reads(descriptor, count)

    monkeypatch.setattr(intake.os, "read", read_while_somebody_saves)
    assert read(handed_in(path)) == notebook_bytes()


def test_a_notebook_that_is_gone_has_a_sentence(tmp_path):
    with pytest.raises(Unreadable, match="No such file"):
        read(handed_in(tmp_path / FILE))


@given(st.binary(max_size=300))
def test_any_bytes_are_cells_or_a_sentence(content):
    try:
        found = cells_of("n", content)
    except Unreadable as problem:
        found = str(problem)
    assert isinstance(found, tuple) or found.startswith("n ")
