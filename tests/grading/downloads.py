"""Downloads as five systems make them, for the tests: folders or zip files, and a roster."""

import io
import zipfile
from pathlib import Path

from tests.grading.fixture_chapter import WRONG_ROWS, notebook_bytes

RIGHT, WRONG = notebook_bytes(), notebook_bytes(row_weights=WRONG_ROWS)
STEM = "88_fixture"

ROSTER = """\
login,name,id,SIS User ID,email,github,section
ann,"Doe, Ann",101,S-1,ann@school.edu,ann-codes,A
bob,Bob O'Hara,103,S-2,bob@school.edu,BobGit,A
zoë,Zoë 🦉 李,107,S-3,zoe@school.edu,zoe-o,B
eve,Eve Gone,109,S-4,eve@school.edu,eve9,B
"""

CANVAS = {
    "doeann_101_5003_88_fixture.ipynb": WRONG,
    "doeann_LATE_101_5009_88_fixture-1.ipynb": RIGHT,
    "oharabob_103_5001_88_fixture (1).ipynb": RIGHT,
    "zoë李_107_5002_my homework.ipynb": RIGHT,  # renamed: its checks tell the chapter
}
MOODLE = {
    "Ann Doe_2000011_assignsubmission_file_/88_fixture.ipynb": RIGHT,
    "Bob O'Hara_2000013_assignsubmission_file_/sub/88_fixture.ipynb": WRONG,
    "Bob O'Hara_2000013_assignsubmission_onlinetext_/onlinetext.html": b"<p>hello</p>",
    "Zoë 🦉 李_2000017_assignsubmission_file_/88_fixture (1).ipynb": RIGHT,
}
METADATA = """\
---
submission_71:
  :submitters:
  - :name: Ann Doe
    :sid: S-1
    :email: ann@school.edu
  :score: 3.0
  :history:
  - :id: 70
    :created_at: 2026-10-01 08:00:00.000000000 Z
    :submitters:
    - :name: Mallory
  :created_at: 2026-10-05 21:30:00.123456000 Z
submission_73:
  :submitters:
  - :name: "Bob O'Hara"
    :sid:
    :email: bob@school.edu
  - :name: Zoë
    :sid: 'S-3'
    :email: null
  :created_at: !ruby/object:ActiveSupport::TimeWithZone
    utc: 2026-10-06 01:00:00.000000000 Z
"""
GRADESCOPE = {
    "assignment_9_export/submission_metadata.yml": METADATA.encode(),
    "assignment_9_export/submission_71/88_fixture.ipynb": RIGHT,
    "assignment_9_export/submission_73/88_fixture.ipynb": WRONG,
}
_HASH = "0" * 40
REFLOG = (
    f"{_HASH} {_HASH} Ann <a@b> 1791200000 +0200\tclone: from github.com\n"
    f"{_HASH} {_HASH} Ann <a@b> 1791230000 +0200\tcommit: done\n"
)
CLASSROOM = {
    "week-1-submissions/week-1-ann-codes/88_fixture.ipynb": RIGHT,
    "week-1-submissions/week-1-ann-codes/.git/logs/HEAD": REFLOG.encode(),
    "week-1-submissions/week-1-ann-codes/.git/config": b"[core]\n\tfsmonitor = touch /tmp/pwned\n",
    "week-1-submissions/week-1-bobgit/88_fixture.ipynb": WRONG,
    "week-1-submissions/week-1-bobgit/.git/logs/HEAD": REFLOG.splitlines()[0].encode() + b"\n",
    "week-1-submissions/week-1-zoe-o/inner/88_fixture.ipynb": RIGHT,
}
NBGRADER = {
    "submitted/ann/week1/88_fixture.ipynb": RIGHT,
    "submitted/ann/week1/timestamp.txt": b"2026-10-05 14:30:00.948203 America/Los_Angeles\n",
    "submitted/bob/week1/88_fixture.ipynb": WRONG,
    "submitted/bob/week1/timestamp.txt": b"2026-10-06 01:00:00 UTC",
    "submitted/zoë/week1/88_fixture.ipynb": RIGHT,
}
DOWNLOADS = {
    "canvas": CANVAS,
    "moodle": MOODLE,
    "gradescope": GRADESCOPE,
    "classroom": CLASSROOM,
    "nbgrader": NBGRADER,
}


def as_folder(files: dict[str, bytes], place: Path) -> Path:
    """Write a download as a folder."""
    for name, content in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return place


def as_zip(files: dict[str, bytes], place: Path) -> Path:
    """Write a download as a zip file."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(name, (2026, 10, 5, 12, 0, 0))
            archive.writestr(member, content, zipfile.ZIP_DEFLATED)
    place.write_bytes(made.getvalue())
    return place
