"""All that is written of a gradebook, at the end of a run and again after a decision.

The gradebook notes how it was written, so that `attn-course override` writes the same files in the
same way, without grading anything.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from attn_course.grading import reports
from attn_course.grading.decisions import Decisions
from attn_course.grading.exports import write_export
from attn_course.grading.gradebook import Entry, Gradebook
from attn_course.grading.report_options import ReportOptions

_WRITTEN, _SUBMISSIONS = "outputs", "submissions"  # the names of the facts that are noted


def write(
    out: Path,
    gradebook: Gradebook,
    notices: Sequence[str],
    options: ReportOptions,
    systems: Sequence[str] = (),
    submissions: Path | None = None,
) -> list[Entry]:
    """Write reports, feedback and exports into the folder `out`; return what counts."""
    written = {"notices": list(notices), "options": asdict(options), "systems": list(systems)}
    gradebook.remember(_WRITTEN, json.dumps(written))
    if submissions is not None:
        gradebook.remember(_SUBMISSIONS, os.fspath(submissions.resolve()))
    return _write(out, gradebook, notices, options, systems)


def write_again(
    out: Path, gradebook: Gradebook, is_changed: Callable[[Entry], bool]
) -> list[Entry]:
    """Write the same files as the last time; of the feedback, only what has changed."""
    written = _written(gradebook)
    notices, systems = written.get("notices", ()), written.get("systems", ())
    return _write(out, gradebook, notices, options_of(gradebook), systems, is_changed)


def options_of(gradebook: Gradebook) -> ReportOptions:
    """Return the options with which the files were written the last time."""
    return ReportOptions(**_written(gradebook).get("options", {}))


def submissions_of(gradebook: Gradebook) -> Path | None:
    """Return the folder whose notebooks were graded last, where that is known."""
    noted = gradebook.recall(_SUBMISSIONS)
    return Path(noted) if noted else None


def counting(gradebook: Gradebook, options: ReportOptions) -> list[Entry]:
    """Return the results that count: of several attempts the best, with what was decided.

    The checks say which attempt is the best, and an override is then for the one that counts.
    """
    login = options.desk.login
    decided = (replace(one, learner=login(one.learner)) for one in gradebook.decisions())
    decisions = Decisions(decided)
    return [
        replace(entry, record=decisions.shown_in(entry.learner, entry.record))
        for entry in options.desk.counted(gradebook.latest(is_decided=False))
    ]


def _written(gradebook: Gradebook) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gradebook.recall(_WRITTEN) or "{}")
    return found


def _write(
    out: Path,
    gradebook: Gradebook,
    notices: Sequence[str],
    options: ReportOptions,
    systems: Sequence[str],
    is_changed: Callable[[Entry], bool] = lambda _entry: True,
) -> list[Entry]:
    entries = counting(gradebook, options)
    reports.write_all(out, entries, gradebook.seed, notices, options, is_changed)
    for system in systems:
        write_export(out, entries, system, options)
    return entries
