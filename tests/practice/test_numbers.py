"""Which chapter, which notebook, which exercise? The rule, on chapters that are made up."""

from pathlib import Path

import pytest

from attn_course.practice import numbers
from attn_course.practice.exercise import Chapter
from attn_course.practice.numbers import (
    Misuse,
    chapter_of_file,
    chapters_named,
    current_id,
    current_stem,
    exercise_named,
    ids_and_files,
    is_number,
    number_in,
)


def made_up(exercises: dict[str, str]) -> dict[str, Chapter]:
    """Return chapters by their numbers, made of stems and the names of their exercises."""
    known = {}
    for stem, names in exercises.items():
        chapter = Chapter(stem, title=stem, sections={})
        for name in names.split():
            reference = type(name, (), {})  # an exercise takes its name from its reference
            described = {"title": name, "goal": "", "difficulty": 1, "minutes": 1}
            chapter.exercise(**described, section="", hints=())(reference)
        known[chapter.number] = chapter
    return known


@pytest.fixture
def known():
    return made_up(
        {
            "01_pooling": "mean weights loss",
            "05_levels": "level shared",
            "05b_rotatory": "ask rotate shared twice",
            "05c_capsules": "route twice",
        }
    )


def stems(chapters) -> list[str]:
    return [chapter.stem for chapter in chapters]


# --- chapters --------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["05", "5"])
def test_a_bare_number_is_every_notebook_of_its_chapter(known, word):
    assert stems(chapters_named(word, known)) == ["05_levels", "05b_rotatory", "05c_capsules"]


@pytest.mark.parametrize(
    ("word", "stem"),
    [("01", "01_pooling"), ("1", "01_pooling"), ("05b", "05b_rotatory"), ("5c", "05c_capsules")],
)
def test_a_number_with_its_letter_is_one_notebook(known, word, stem):
    assert stems(chapters_named(word, known)) == [stem]


def test_a_chapter_may_be_without_a_notebook_of_its_bare_number(known):
    del known["05"]
    assert stems(chapters_named("5", known)) == ["05b_rotatory", "05c_capsules"]


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("02", "02"),
        ("2", "02"),
        ("05d", "05d"),
        ("1b", "01b"),
        ("0", "00"),
        ("005", "005"),
        ("05B", "05B"),
        ("05_levels", "05_levels"),
        ("levels", "levels"),
        ("", ""),
    ],
)
def test_an_unknown_chapter_is_told_with_those_there_are(known, word, told):
    with pytest.raises(Misuse) as misuse:
        chapters_named(word, known)
    assert str(misuse.value) == (
        f"There is no chapter {told!r} with exercises; there are: 01, 05, 05b, 05c."
    )


def test_words_that_are_numbers():
    assert all(map(is_number, ["1", "01", "5b", "05b", "10", "12c"]))
    assert not any(map(is_number, ["", "b", "05bc", "5B", "05.ask", "-1", "1.5", "05b_rotatory"]))


# --- exercises -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "exercise_id"),
    [
        ("01.mean", "01.mean"),
        ("1.mean", "01.mean"),
        ("05b.ask", "05b.ask"),
        ("5b.ask", "05b.ask"),
        # in whichever notebook of the chapter
        ("05.ask", "05b.ask"),
        ("5.route", "05c.route"),
        ("05.level", "05.level"),
        # the name alone, where it is the only one
        ("ask", "05b.ask"),
        ("loss", "01.loss"),
        # the very id comes first
        ("05.shared", "05.shared"),
        ("5.shared", "05.shared"),
        ("05b.shared", "05b.shared"),
        ("05c.twice", "05c.twice"),
    ],
)
def test_an_exercise_is_found_by_what_a_learner_types(known, word, exercise_id):
    assert exercise_named(word, known).id == exercise_id


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        # ambiguous
        ("shared", "'shared' needs its chapter in front: 05.shared or 05b.shared"),
        ("twice", "'twice' needs its chapter in front: 05b.twice or 05c.twice"),
        ("05.twice", "'05.twice' is in several notebooks; say which: 05b.twice or 05c.twice"),
        ("5.twice", "'5.twice' is in several notebooks; say which: 05b.twice or 05c.twice"),
        # unknown
        (
            "rotat",
            "There is no exercise 'rotat'. Did you mean rotate? "
            "`attn-course progress` lists them all.",
        ),
        ("xyz", "There is no exercise 'xyz'. `attn-course progress` lists them all."),
        (
            "05b.rote",
            "Chapter 05b has no exercise 'rote'; it has: ask, rotate, shared, twice. "
            "Did you mean rotate?",
        ),
        ("05b.level", "Chapter 05b has no exercise 'level'; it has: ask, rotate, shared, twice."),
        (
            "5.rout",
            "Chapter 5 has no exercise 'rout'; it has: "
            "level, shared, ask, rotate, twice, route. Did you mean route?",
        ),
        ("01.", "Chapter 01 has no exercise ''; it has: mean, weights, loss."),
        ("07.ask", "There is no chapter '07' with exercises; there are: 01, 05, 05b, 05c."),
        (
            "rotatory.ask",
            "There is no chapter 'rotatory' with exercises; there are: 01, 05, 05b, 05c.",
        ),
        # a chapter is no exercise
        (
            "01",
            "'01' is a whole chapter; name one of its exercises: 01.mean, 01.weights, 01.loss",
        ),
        (
            "5c",
            "'5c' is a whole chapter; name one of its exercises: 05c.route, 05c.twice",
        ),
        (
            "5",
            "'5' is a whole chapter; name one of its exercises: 05.level, 05.shared, 05b.ask, "
            "05b.rotate, 05b.shared, 05b.twice, 05c.route, 05c.twice",
        ),
        ("9", "There is no chapter '09' with exercises; there are: 01, 05, 05b, 05c."),
    ],
)
def test_what_is_not_one_exercise_is_told_with_what_is_there(known, word, sentence):
    with pytest.raises(Misuse) as misuse:
        exercise_named(word, known)
    assert str(misuse.value) == sentence


# --- ids, numbers and files together ---------------------------------------------------------


def ids(exercises) -> list[str]:
    return [exercise.id for exercise in exercises]


def test_words_may_be_exercises_chapters_and_files(known, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("answer").write_text("")
    wanted, files = ids_and_files(
        ["5c", "01.loss", "ask", "mine.ipynb", "folder/05b_rotatory", "answer"], known
    )
    assert ids(wanted) == ["05c.route", "05c.twice", "01.loss", "05b.ask"]
    assert files == [Path("mine.ipynb"), Path("folder/05b_rotatory"), Path("answer")]


def test_a_chapter_among_the_words_means_all_its_exercises(known):
    wanted, files = ids_and_files(["05"], known)
    assert ids(wanted) == [
        *("05.level", "05.shared", "05b.ask", "05b.rotate", "05b.shared", "05b.twice"),
        *("05c.route", "05c.twice"),
    ]
    assert files == []
    assert ids_and_files([], known) == ([], [])


def test_a_folder_means_the_exercise_notebooks_in_it(known, tmp_path):
    names = ["05b_rotatory.ipynb", "01-mine.ipynb", "notes.ipynb", "05c_capsules.txt", "09_x.ipynb"]
    for name in names:
        (tmp_path / name).write_text("")
    wanted, files = ids_and_files([str(tmp_path)], known)
    assert wanted == []
    assert files == [tmp_path / "01-mine.ipynb", tmp_path / "05b_rotatory.ipynb"]


def test_a_folder_without_exercise_notebooks_is_told(known, tmp_path):
    (tmp_path / "notes.ipynb").write_text("")
    with pytest.raises(Misuse) as misuse:
        ids_and_files([str(tmp_path)], known)
    assert str(misuse.value) == (f"There is no exercise notebook (NN_topic.ipynb) in {tmp_path}.")


def test_one_unknown_word_stops_all(known):
    with pytest.raises(Misuse, match=r"There is no exercise 'asc'\. Did you mean ask\?"):
        ids_and_files(["05c", "asc"], known)


# --- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "number"),
    [
        # by the stem
        ("05b_rotatory.ipynb", "05b"),
        ("05b_rotatory", "05b"),
        ("05_levels.ipynb", "05"),
        # copies, as browsers, Jupyter and people name them
        ("05b_rotatory (1).ipynb", "05b"),
        ("05b_rotatory-Copy1.ipynb", "05b"),
        ("05b_rotatory copy 2.ipynb", "05b"),
        ("05b_rotatory.ipynb.ipynb", "05b"),
        ("05b_rotatory(2).ipynb", "05b"),
        # by the number
        ("05b.ipynb", "05b"),
        ("05b-mine.ipynb", "05b"),
        ("05b my answers.ipynb", "05b"),
        ("05b_rotatory2.ipynb", "05b"),
        ("05b_another_name.ipynb", "05b"),
        ("05.ipynb", "05"),
        ("05_Levels.ipynb", "05"),
        # none of ours
        ("05d_later.ipynb", None),
        ("5b_rotatory.ipynb", None),
        ("05bc_rotatory.ipynb", None),
        ("my 05b_rotatory.ipynb", None),
        ("rotatory.ipynb", None),
        ("005b.ipynb", None),
        ("", None),
    ],
)
def test_a_file_is_known_by_its_stem_first_and_its_number_second(known, name, number):
    assert chapter_of_file(name, known) is (known[number] if number else None)


def test_a_number_alone_is_no_file_of_another_notebook_of_the_chapter(known):
    del known["05"]
    assert chapter_of_file("05.ipynb", known) is None
    assert chapter_of_file("05_levels.ipynb", known) is None


def test_the_longest_stem_wins(monkeypatch):
    known = made_up({"05_levels": "level", "06_levels_more": "more"})
    former = {"05_levels-more": "06_levels_more", "05_levels_more": "06_levels_more"}
    monkeypatch.setattr(numbers, "RENAMED", former)
    stem_of = {
        "05_levels.ipynb": "05_levels",
        "05_levels (1).ipynb": "05_levels",
        "05_levels-mine.ipynb": "05_levels",
        "05_levels-more.ipynb": "06_levels_more",  # and no copy of 05_levels
        "05_levels-more (1).ipynb": "06_levels_more",
        "05_levels_more.ipynb": "06_levels_more",
        "05_levels_others.ipynb": "05_levels",  # a copy of none: the number decides
    }
    assert {name: chapter_of_file(name, known).stem for name in stem_of} == stem_of


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("01_topic.ipynb", "01"),
        ("01_topic", "01"),
        ("05b (2).ipynb", "05b"),
        ("05b.name", "05b"),
        ("10-x\ny.ipynb", "10"),
        ("1_topic.ipynb", None),
        ("05bb.ipynb", None),
        ("0x.ipynb", None),
        ("notes.ipynb", None),
        (".ipynb", None),
    ],
)
def test_the_number_of_a_file_is_at_its_start(name, number):
    assert number_in(name) == number


# --- what was renamed ------------------------------------------------------------------------


@pytest.fixture
def renamed(monkeypatch):
    """The rotatory notebook was number 06 once, and was called by its model later."""
    former = {"06_rotation": "05b_rotatory", "05b_lcr_rot": "05b_rotatory", "07_x": "08_gone"}
    monkeypatch.setattr(numbers, "RENAMED", former)


@pytest.mark.usefixtures("renamed")
def test_a_file_with_a_former_stem_finds_its_way(known):
    for name in ("06_rotation.ipynb", "06_rotation (1).ipynb", "05b_lcr_rot-Copy2.ipynb"):
        assert chapter_of_file(name, known) is known["05b"]
    assert chapter_of_file("06_other.ipynb", known) is None
    assert chapter_of_file("07_x.ipynb", known) is None  # today's stem is not there either


@pytest.mark.usefixtures("renamed")
def test_a_file_whose_notebook_is_gone_is_not_taken_for_what_has_its_number_today(
    known, monkeypatch
):
    monkeypatch.setitem(numbers.RENAMED, "01_kernels", "08_gone")
    assert chapter_of_file("01_kernels.ipynb", known) is None
    assert chapter_of_file("01_kernels (1).ipynb", known) is None
    assert chapter_of_file("01_mine.ipynb", known) is known["01"]


@pytest.mark.usefixtures("renamed")
def test_a_former_stem_that_is_in_use_again_means_the_notebook_of_today(known, monkeypatch):
    monkeypatch.setitem(numbers.RENAMED, "05c_capsules", "05b_rotatory")
    assert chapter_of_file("05c_capsules.ipynb", known) is known["05c"]


@pytest.mark.usefixtures("renamed")
@pytest.mark.parametrize(
    ("exercise_id", "today"),
    [
        ("06.ask", "05b.ask"),  # the notebook has another number now
        ("05b.ask", "05b.ask"),
        ("05.ask", "05b.ask"),  # the chapter was divided
        ("05.level", "05.level"),
        ("06.gone", "06.gone"),  # nothing of that name: it is left as it is
        ("09.ask", "09.ask"),
        ("07.ask", "07.ask"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_former_id_becomes_the_one_of_today(known, exercise_id, today):
    assert current_id(exercise_id, known) == today


@pytest.mark.usefixtures("renamed")
def test_a_former_stem_becomes_the_one_of_today():
    assert current_stem("06_rotation") == "05b_rotatory"
    assert current_stem("05b_rotatory") == "05b_rotatory"


def test_nothing_of_the_course_was_renamed_to_what_is_not_there():
    from attn_course.practice.exercises import chapters

    today = {chapter.stem for chapter in chapters().values()}
    assert set(numbers.RENAMED.values()) <= today
