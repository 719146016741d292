"""Collecting: whoever handed in what, from five systems, is found; what is odd is left aside."""

import csv
import os
import stat
import zipfile
from pathlib import Path

import pytest

from attn_course import cli
from attn_course.grading import download, intake
from attn_course.grading.collect import CollectProblem, collect
from attn_course.grading.collected import read_collected
from attn_course.grading.download import DownloadProblem, open_download
from attn_course.grading.roster import Learner, Roster
from attn_course.grading.safe_names import shown
from attn_course.practice import exercises
from tests.grading.downloads import (
    CANVAS,
    DOWNLOADS,
    GRADESCOPE,
    MOODLE,
    NBGRADER,
    RIGHT,
    ROSTER,
    STEM,
    WRONG,
    as_folder,
    as_zip,
)
from tests.grading.fixture_chapter import CHAPTERS, notebook_bytes


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(exercises, "chapters", lambda: CHAPTERS)
    Path("roster.csv").write_text(ROSTER, encoding="utf-8")
    return tmp_path


def run(*words, roster=True):
    known = ["--roster", "roster.csv"] if roster else []
    return cli.main(["collect", *map(str, words), "--into", "in", *known])


def rows():
    text = Path("in/collected.csv").read_text("utf-8")
    return {(one.folder, one.chapter): one for one in read_collected(text, "collected.csv")}


def content(folder):
    return Path("in", folder, f"{STEM}.ipynb").read_bytes()


EXPECTED = {
    "canvas": {"ann": RIGHT, "bob": RIGHT, "zoë": RIGHT},
    "moodle": {"ann": RIGHT, "bob": WRONG, "zoë": RIGHT},
    "gradescope": {"ann": RIGHT, "bob": WRONG, "zoë": WRONG},
    "classroom": {"ann": RIGHT, "bob": WRONG, "zoë": RIGHT},
    "nbgrader": {"ann": RIGHT, "bob": WRONG, "zoë": RIGHT},
}


@pytest.mark.parametrize("made", [as_folder, as_zip])
@pytest.mark.parametrize("system", DOWNLOADS)
def test_each_system_is_recognised_and_everybody_has_a_folder(here, capsys, system, made):
    place = made(DOWNLOADS[system], here / "download")
    assert run(place) == 1  # eve is missing
    said = capsys.readouterr()
    assert f"It looks like a download from {system}: 3 notebooks were placed" in said.out
    assert f"Missing from {STEM}: eve." in said.err
    assert "Not placed" not in said.err
    assert {name: content(name) for name in EXPECTED[system]} == EXPECTED[system]
    assert sorted(os.listdir("in")) == ["ann", "bob", "collected.csv", "eve", "zoë"]
    assert os.listdir("in/eve") == []


@pytest.mark.parametrize("system", DOWNLOADS)
def test_a_system_can_be_named(here, capsys, system):
    assert run(as_zip(DOWNLOADS[system], here / "d.zip"), "--from", system) == 1
    assert capsys.readouterr().out.startswith(f"From {system}: 3 notebooks")


def test_moodle_without_folders_is_recognised_too(here, capsys):
    files = {name.replace("/", "", 1): content for name, content in MOODLE.items()}
    files = {name.replace("/", "-"): content for name, content in files.items()}
    files["Bob O'Hara_2000013_assignsubmission_file_88_fixture.ipynb"] = files.pop(
        "Bob O'Hara_2000013_assignsubmission_file_sub-88_fixture.ipynb"
    )
    assert run(as_folder(files, here / "download")) == 1
    assert "It looks like a download from moodle: 3 notebooks" in capsys.readouterr().out
    assert {name: content(name) for name in EXPECTED["moodle"]} == EXPECTED["moodle"]


def test_the_grader_finds_what_was_collected_and_no_more(here):
    run(as_folder(MOODLE, here / "download"))
    found = intake.find(Path("in"), CHAPTERS)
    assert found.notices == ()
    assert [(one.learner, one.is_there) for one in found.notebooks] == [
        *(("ann", True), ("bob", True), ("eve", False), ("zoë", True))
    ]


def test_everybody_there_and_everything_placed_is_a_good_end(here, capsys):
    Path("roster.csv").write_text("login\nann\nbob\nzoë\n", encoding="utf-8")
    assert run(as_folder(NBGRADER, here / "download")) == 0
    assert capsys.readouterr().err == ""


TIMES = {
    "gradescope": {"ann": "2026-10-05 21:30:00+00:00", "bob": "2026-10-06 01:00:00+00:00"},
    "nbgrader": {"ann": "2026-10-05 21:30:00+00:00", "bob": "2026-10-06 01:00:00+00:00"},
    "classroom": {"ann": "2026-10-05 19:53:20+00:00"},
}


@pytest.mark.parametrize("system", TIMES)
def test_the_time_that_a_system_tells_is_kept(here, system):
    run(as_folder(DOWNLOADS[system], here / "download"))
    for login, time in TIMES[system].items():
        row = rows()[login, STEM]
        assert (str(row.handed_in), row.time_from) == (time, "system")


@pytest.mark.parametrize("system", ["canvas", "moodle"])
def test_a_time_that_no_system_tells_is_the_files_and_is_called_a_guess(here, system):
    run(as_zip(DOWNLOADS[system], here / "d.zip"))
    row = rows()["bob", STEM]
    assert (str(row.handed_in), row.time_from) == ("2026-10-05 12:00:00+00:00", "file")


def test_the_moment_of_cloning_is_not_taken_for_that_of_handing_in(here):
    run(as_folder(DOWNLOADS["classroom"], here / "download"))
    assert rows()["bob", STEM].time_from == "file"


def test_canvas_mark_of_late_work_is_kept(here):
    run(as_folder(CANVAS, here / "download"))
    assert [(name, row.marked_late) for (name, _stem), row in rows().items()] == [
        *(("ann", True), ("bob", False), ("zoë", False))
    ]


def test_the_table_can_be_read_by_a_spreadsheet_and_starts_no_formula(here):
    run(as_folder({"Ann Doe_1_assignsubmission_file_/=1+1 88_fixture.ipynb": RIGHT}, here / "d"))
    with open("in/collected.csv", encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["learner"], row["chapter"]) == ("ann", STEM)
    assert row["file"].startswith("Ann Doe_1_")
    assert len(row["sha256"]) == 64


# Attempts


def test_the_last_attempt_counts_unless_the_first_is_asked_for(here, capsys):
    place = as_folder(CANVAS, here / "download")
    run(place)
    assert content("ann") == RIGHT
    assert "ann has several notebooks for 88_fixture: doeann_LATE" in capsys.readouterr().out
    run(place, "--attempt", "first")
    assert content("ann") == WRONG


def test_all_attempts_are_kept_where_the_best_counts(here):
    run(as_folder(CANVAS, here / "download"), "--attempt", "best")
    assert content("ann") == RIGHT
    assert content("ann.attempt1") == WRONG
    last, first = rows()["ann", STEM], rows()["ann.attempt1", STEM]
    assert (first.learner, first.attempt, first.attempts) == ("ann", 1, 2)
    assert (last.learner, last.attempt, last.attempts) == ("ann", 2, 2)


def test_a_later_download_adds_an_attempt_and_moves_the_others_up(here):
    third = notebook_bytes(squares="def squares(x):\n    return x")
    run(as_folder(CANVAS, here / "one"), "--attempt", "best")
    run(as_folder({f"doeann_101_6007_{STEM}-2.ipynb": third}, here / "two"), "--attempt", "best")
    assert [content(name) for name in ("ann.attempt1", "ann.attempt2", "ann")] == [
        *(WRONG, RIGHT, third)
    ]
    assert content("bob") == RIGHT  # the others of the first download are still there
    run(as_folder({f"doeann_101_6007_{STEM}-2.ipynb": third}, here / "two"))
    assert content("ann") == third
    assert not Path("in/ann.attempt1").exists()


def test_of_two_in_one_hand_in_the_one_with_its_own_name_counts(here, capsys):
    folder = "Ann Doe_1_assignsubmission_file_"
    files = {f"{folder}/{STEM} (1).ipynb": WRONG, f"{folder}/{STEM}.ipynb": RIGHT}
    for which in ("last", "first"):
        run(as_folder(files, here / "download"), "--attempt", which)
        assert content("ann") == RIGHT
    said = capsys.readouterr().out
    assert said.count("ann has several notebooks") == 2


def test_the_same_content_twice_is_one_attempt(here):
    files = {f"doeann_101_5003_{STEM}.ipynb": RIGHT, f"doeann_101_5009_{STEM}-1.ipynb": RIGHT}
    run(as_folder(files, here / "download"), "--attempt", "best")
    assert [row.attempts for row in rows().values()] == [1]


def test_an_older_download_does_not_replace_what_came_later(here):
    run(as_folder(GRADESCOPE, here / "new"))
    older = dict(GRADESCOPE)
    name = "assignment_9_export/submission_metadata.yml"
    older[name] = GRADESCOPE[name].replace(b"2026-10-05 21", b"2026-10-02 21")
    older["assignment_9_export/submission_71/88_fixture.ipynb"] = WRONG
    run(as_folder(older, here / "old"))
    assert content("ann") == RIGHT


@pytest.mark.parametrize("system", ["canvas", "gradescope"])
def test_a_time_that_an_instructor_wrote_down_stays(here, system):
    place = as_folder(DOWNLOADS[system], here / "download")
    run(place)
    table = Path("in/collected.csv")
    head, ann, *others = table.read_text("utf-8").splitlines()
    cells = ann.split(",")
    cells[3:5] = ["2026-10-07T10:00:00+02:00", "instructor"]
    table.write_text("\n".join([head, ",".join(cells), *others]), encoding="utf-8")
    run(place)
    row = rows()["ann", STEM]
    assert (str(row.handed_in), row.time_from) == ("2026-10-07 08:00:00+00:00", "instructor")


def test_a_table_that_was_spoilt_is_named(here, capsys):
    place = as_folder(CANVAS, here / "download")
    run(place)
    table = Path("in/collected.csv")
    table.write_text(table.read_text("utf-8").replace(",file,", ",yesterday,file,", 1), "utf-8")
    assert run(place) == 2
    assert "in/collected.csv can't be read" in capsys.readouterr().err


# Who is who


def test_who_is_not_on_the_roster_is_named_and_not_placed(here, capsys):
    files = {**MOODLE, "Mallory M_77_assignsubmission_file_/88_fixture.ipynb": RIGHT}
    assert run(as_folder(files, here / "download")) == 1
    said = capsys.readouterr().err
    assert (
        "Not placed: Mallory M_77_assignsubmission_file_/88_fixture.ipynb, since Mallory M" in said
    )
    assert not Path("in/Mallory M").exists()


def test_two_learners_of_one_name_are_not_guessed_at(here, capsys):
    Path("roster.csv").write_text("login,name\na1,Ann Doe\na2,Ann Doe\n", encoding="utf-8")
    assert run(as_folder({"Ann Doe_7_assignsubmission_file_/88_fixture.ipynb": RIGHT}, here / "d"))
    assert "several learners are called Ann Doe: a1, a2" in capsys.readouterr().err
    assert os.listdir("in/a1") == os.listdir("in/a2") == []


def test_without_a_roster_learners_have_the_names_of_the_download(here):
    assert run(as_folder(MOODLE, here / "download"), roster=False) == 0
    learners = {row.learner for row in rows().values()}
    assert learners == {"Ann Doe", "Bob O'Hara", "Zoë 🦉 李"}
    folders = {row.folder for row in rows().values()}
    assert "Ann Doe" in folders
    assert all((Path("in") / name / f"{STEM}.ipynb").is_file() for name in folders)
    assert not [name for name in folders if "'" in name or "🦉" in name]


@pytest.mark.parametrize("login", ["../../etc", "/etc", "..", "a/b", "C:\\x", "con\x00"])
def test_a_login_that_is_a_path_stays_inside(here, login):
    files = {"Ann Doe_7_assignsubmission_file_/88_fixture.ipynb": RIGHT}
    roster = Roster([Learner(login, "Ann Doe")])
    with open_download(as_folder(files, here / "download")) as found:
        collect(found, "auto", roster, Path("in"), "last", CHAPTERS)
    (row,) = [one for one in rows().values() if one.chapter]
    assert row.learner == shown(login)
    assert (Path("in") / row.folder / f"{STEM}.ipynb").resolve().parent.parent == Path(
        "in"
    ).resolve()


def test_who_is_missing_is_known_by_the_login_even_where_no_folder_can_be_called_so(here):
    Path("roster.csv").write_text("login,name\nann,Ann Doe\no'hara,Bob\n", encoding="utf-8")
    for _time in range(2):
        run(as_folder({"Ann Doe_7_assignsubmission_file_/88_fixture.ipynb": RIGHT}, here / "d"))
        table = rows().values()
        assert [(row.learner, row.chapter) for row in table] == [("ann", STEM), ("o'hara", "")]
        (folder,) = [row.folder for row in table if not row.chapter]
        assert os.listdir(f"in/{folder}") == []


@pytest.mark.parametrize("login", ["collected.csv", "ann.attempt1"])
def test_a_login_like_one_of_our_own_names_is_refused(here, capsys, login):
    Path("roster.csv").write_text(f"login,name\n{login},Ann Doe\n", encoding="utf-8")
    assert run(as_folder(MOODLE, here / "download")) == 2
    assert f"The login {login} is a name of ours" in capsys.readouterr().err


# What is refused


def test_a_file_without_an_owner_or_a_chapter_is_named(here, capsys):
    files = {**CANVAS, "stray.ipynb": RIGHT, "eveg_109_7_notes.ipynb": b"{}"}
    assert run(as_folder(files, here / "download")) == 1
    said = capsys.readouterr().err
    assert "Not placed: stray.ipynb, since its name does not say whose it is." in said
    assert "Not placed: eveg_109_7_notes.ipynb, since it names no chapter" in said


def test_what_is_no_notebook_is_named(here, capsys):
    files = {**MOODLE, "Eve Gone_9_assignsubmission_file_/everything.zip": b"PK"}
    assert run(as_folder(files, here / "download")) == 1
    said = capsys.readouterr()
    assert "Left aside: Eve Gone_9_assignsubmission_file_/everything.zip, which is no" in said.out
    assert "Missing from 88_fixture: eve." in said.err


def test_links_are_not_followed(here, capsys):
    secret = here / "secret.ipynb"
    secret.write_bytes(WRONG)
    place = as_folder(MOODLE, here / "download")
    (place / "Eve Gone_9_assignsubmission_file_").mkdir()
    (place / "Eve Gone_9_assignsubmission_file_" / "88_fixture.ipynb").symlink_to(secret)
    (place / "Eve Gone_8_assignsubmission_file_").symlink_to(here)
    assert run(place) == 1
    assert capsys.readouterr().out.count("a link, and links are not followed.") == 2
    assert os.listdir("in/eve") == []


def zipped(place, **members):
    as_zip(MOODLE, place)
    with zipfile.ZipFile(place, "a") as archive:
        for name, (info, data) in members.items():
            archive.writestr(info, data)
            assert name
    return place


def test_links_in_a_zip_are_not_followed(here, capsys):
    info = zipfile.ZipInfo("Eve Gone_9_assignsubmission_file_/88_fixture.ipynb")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    run(zipped(here / "d.zip", link=(info, b"/etc/passwd")))
    assert "a link, and links are not followed." in capsys.readouterr().out
    assert os.listdir("in/eve") == []


@pytest.mark.parametrize("path", ["/Eve Gone_9_assignsubmission_file_", "../../out", "C:\\out"])
def test_paths_that_lead_out_of_a_zip_are_left_aside(here, capsys, path):
    name = f"{path}/Eve Gone_9_assignsubmission_file_/88_fixture.ipynb"
    run(zipped(here / "d.zip", out=(name, RIGHT)))
    assert "whose path leads out of the download." in capsys.readouterr().out
    assert os.listdir("in/eve") == []
    assert sorted(os.listdir(here)) == ["d.zip", "in", "roster.csv"]


def test_a_zip_that_would_fill_the_disk_is_refused_whole(here, capsys, monkeypatch):
    monkeypatch.setattr(download, "_SMALL", 2**20)
    bomb = {"Eve Gone_9_assignsubmission_file_/88_fixture.ipynb": b" " * 2**24}
    assert run(as_zip(MOODLE | bomb, here / "d.zip")) == 2
    assert "made to fill a disk" in capsys.readouterr().err
    assert not Path("in").exists()


def test_a_notebook_that_is_larger_than_the_grader_reads_is_not_placed(here, capsys, monkeypatch):
    monkeypatch.setattr(download, "LARGEST", len(RIGHT) + 1000)
    large = {"Eve Gone_9_assignsubmission_file_/88_fixture.ipynb": RIGHT + b" " * 10_000}
    assert run(as_zip(MOODLE | large, here / "d.zip")) == 1
    assert "and no more are read" in capsys.readouterr().err
    assert os.listdir("in/eve") == []


def test_too_many_files_are_refused(here, capsys, monkeypatch):
    monkeypatch.setattr(download, "_MOST_FILES", 3)
    assert run(as_folder(MOODLE, here / "download")) == 2
    assert "has more than 3 files" in capsys.readouterr().err


def test_a_zip_that_is_spoilt_costs_its_own_file_alone(here, capsys):
    place = as_zip(MOODLE, here / "d.zip")
    data = bytearray(place.read_bytes())
    with zipfile.ZipFile(place) as archive:
        offset = archive.infolist()[0].header_offset
    data[offset + 120] ^= 255  # inside of the packed notebook of ann
    place.write_bytes(data)
    assert run(place) == 1
    assert "can't be unpacked" in capsys.readouterr().err
    assert content("bob") == WRONG


def test_checkpoints_and_a_clones_own_files_are_not_looked_at(here):
    files = dict(DOWNLOADS["classroom"])
    clone = "week-1-submissions/week-1-ann-codes"
    files[f"{clone}/.ipynb_checkpoints/88_fixture-checkpoint.ipynb"] = WRONG
    files[f"{clone}/.git/hooks/post-checkout"] = b"#!/bin/sh\ntouch /tmp/pwned\n"
    with open_download(as_folder(files, here / "download")) as found:
        inside = [str(file) for file in found.files if ".git" in file.path]
    assert inside == [
        f"{clone}/.git/logs/HEAD",
        *(f"week-1-submissions/week-1-{one}/.git/logs/HEAD" for one in ["bobgit"]),
    ]
    run(here / "download")
    assert content("ann") == RIGHT


# Used wrongly


def test_a_download_of_nothing_known_says_what_to_do(here, capsys):
    assert run(as_folder({"ann/88_fixture.ipynb": RIGHT}, here / "download")) == 2
    said = capsys.readouterr().err
    assert "say --from canvas" in said
    assert "needs no collecting" in said


@pytest.mark.parametrize("name", ["nothing.zip", "text.zip"])
def test_what_is_neither_a_folder_nor_a_zip_is_refused(here, capsys, name):
    Path("text.zip").write_text("no zip")
    assert run(name) == 2
    assert f"{name} is neither a folder nor a zip file" in capsys.readouterr().err


def test_a_folder_with_other_files_is_left_alone(here, capsys):
    Path("in").mkdir()
    Path("in/mine.txt").write_text("mine")
    assert run(as_folder(MOODLE, here / "download")) == 2
    assert "files in it that were not collected" in capsys.readouterr().err
    assert os.listdir("in") == ["mine.txt"]


def test_a_folder_inside_of_the_download_is_refused(here):
    place = as_folder(MOODLE, here / "download")
    with (
        open_download(place) as found,
        pytest.raises(CollectProblem, match="inside of one another"),
    ):
        collect(found, "auto", None, place / "in", "last", CHAPTERS)


def test_a_download_that_can_no_longer_be_read_says_so(here, monkeypatch):
    def refuse(_place):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(download.os, "scandir", refuse)
    with (
        pytest.raises(DownloadProblem, match=r"can't be read \(Permission denied\)"),
        open_download(here),
    ):
        pass
