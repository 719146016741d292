"""Folders of ours among the temporary ones: none stays for good, and no other is touched."""

import os
import time
from pathlib import Path

import pytest

from attn_course.grading import fresh_kernel, isolation_trial, launch, temporary_folders
from attn_course.grading.fresh_kernel import FreshKernel
from attn_course.grading.isolation import Rung
from attn_course.inside.limits import Limits

NO_PROCESS = 4194999  # no process has such a number
YESTERDAY = time.time() - 100_000


@pytest.fixture(autouse=True)
def own_temporary_folder(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def left_behind(folder, *names, changed=YESTERDAY):
    """Make a folder as a grader leaves it that was killed."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    folder.mkdir(exist_ok=True)
    os.utime(folder, (changed, changed))


@pytest.mark.parametrize("kind", ["worker", "kernel", "rung"])
def test_a_folder_of_a_grader_that_is_gone_is_swept_away_after_a_day(tmp_path, kind):
    left_behind(tmp_path / f"attn-course-{kind}-{NO_PROCESS}-abcd_123", "course/file")
    left_behind(tmp_path / f"attn-course-{kind}-{os.getpid()}-abcd_123", "course/file")
    young = tmp_path / f"attn-course-{kind}-{NO_PROCESS}-young_12"
    left_behind(young, "course/file", changed=time.time())
    temporary_folders.sweep()
    assert {path.name.rpartition("-")[2] for path in tmp_path.iterdir()} == {"abcd_123", "young_12"}
    assert not (tmp_path / f"attn-course-{kind}-{NO_PROCESS}-abcd_123").exists()


def test_so_are_folders_of_former_versions_which_had_no_number(tmp_path):
    left_behind(tmp_path / "attn-course-abcd_123", "course/attn_course/x", "scratch/x")  # a kernel
    left_behind(tmp_path / "attn-course-abcd_124", "secret")  # the attack on a rung
    left_behind(tmp_path / "attn-course-abcd_125")
    temporary_folders.sweep()
    assert list(tmp_path.iterdir()) == []


def test_what_may_be_somebodys_work_stays(tmp_path):
    kept = [
        "attn-course-exercises/01_nadaraya_watson.ipynb",  # the handout, unpacked here
        "attn-course-homework/01.ipynb",
        "attn-course-homework-1234-abcd_123/01.ipynb",
        f"attn-course-worker-{NO_PROCESS}/notes.txt",
        "somebody-else/file",
    ]
    for name in kept:
        left_behind(tmp_path / Path(name).parent, Path(name).name)
    (tmp_path / f"attn-course-worker-{NO_PROCESS}-abcd_126").symlink_to(tmp_path / "somebody-else")
    temporary_folders.sweep()
    assert all((tmp_path / name).is_file() for name in kept)
    assert (tmp_path / f"attn-course-worker-{NO_PROCESS}-abcd_126").is_symlink()


def made_names(monkeypatch, module):
    """Return the names of the folders that a module makes, as they come."""
    names = []
    make = temporary_folders.make_folder

    def listen(kind):
        folder = make(kind)
        names.append(folder.name)
        return folder

    monkeypatch.setattr(module, "make_folder", listen)
    return names


def test_the_folder_of_a_fresh_kernel_can_be_swept_away(monkeypatch):
    names = made_names(monkeypatch, fresh_kernel)
    monkeypatch.setattr(FreshKernel, "_prepared", lambda *_a: (["/bin/false"], "/nowhere"))
    FreshKernel(Rung("E"), Limits()).run(b"")
    assert [name.startswith(f"attn-course-kernel-{os.getpid()}-") for name in names] == [True]


def test_the_folder_of_the_attack_on_a_rung_can_be_swept_away(monkeypatch):
    names = made_names(monkeypatch, isolation_trial)

    def gone(*_arguments, **_choices):
        raise launch.InfrastructureFault("no worker")

    monkeypatch.setattr(isolation_trial, "WorkerProcess", gone)
    with pytest.raises(launch.InfrastructureFault):
        isolation_trial.attacks_that_succeed(Rung("E"))
    assert [name.startswith(f"attn-course-rung-{os.getpid()}-") for name in names] == [True]


def test_nothing_is_left_where_nobody_is_killed(tmp_path):
    isolation_trial.attacks_that_succeed(Rung("E"))
    assert list(tmp_path.iterdir()) == []


def test_no_two_folders_are_the_same(tmp_path):
    made = {temporary_folders.make_folder("worker") for _folder in range(20)}
    assert len(made) == 20
    assert all(folder.parent == tmp_path for folder in made)
