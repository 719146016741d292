"""Files written in one step: whole or not at all, and never over somebody else's."""

import os
import stat

import pytest

from attn_course._files import create_file, replace_file


def test_writing_keeps_the_permissions_and_leaves_no_other_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o640)
    replace_file(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["file"]


def test_bytes_are_written_as_they_are(tmp_path):
    path = tmp_path / "file"
    replace_file(path, b"\xff\r\n")
    assert path.read_bytes() == b"\xff\r\n"


def test_writing_through_a_link_keeps_the_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    replace_file(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_write_that_fails_leaves_the_old_file_whole(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def full(_descriptor):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        replace_file(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_new_file_is_readable_and_alone(tmp_path):
    create_file(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o644
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_that_is_there_is_never_overwritten(tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(FileExistsError):
        create_file(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_new_file_that_could_not_be_written_is_not_there(tmp_path, monkeypatch):
    def full(_descriptor):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        create_file(tmp_path / "file", "text")
    assert os.listdir(tmp_path) == []
