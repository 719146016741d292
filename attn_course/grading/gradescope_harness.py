"""What runs in Gradescope's container: grade one submission, and write `results.json`.

`attn-course autograder gradescope` packs it. The submission is graded as by `attn-course grade`, in
a sandbox if the container allows one. Whatever goes wrong with us is told as such and has no score:
a 0 would be the learner's.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attn_course.grading import command
from attn_course.grading.autograders import OPTIONS
from attn_course.grading.collect import chapter_of
from attn_course.grading.download import open_download
from attn_course.grading.intake import Unreadable
from attn_course.practice.exercises import chapters
from attn_course.practice.terminal import WRONG_USE
from attn_course.translate import _

_LEARNER = "learner"
Grade = Callable[[Sequence[str]], int]


def run_grade(words: Sequence[str]) -> int:
    """Run `attn-course grade` with the words behind it; return its exit code."""
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["grade", *words])
    code: int = arguments.run(arguments)
    return code


def main(place: Path, grade: Grade = run_grade) -> None:
    """Grade `place/submission` and write `place/results/results.json`."""
    try:
        results = results_of(place, grade)
    except Exception as fault:  # whatever it is, the learner must hear of it
        results = _not_graded(f"{type(fault).__name__}: {fault}")
    target = place / "results" / "results.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def results_of(place: Path, grade: Grade) -> dict[str, Any]:
    """Return what Gradescope is told about `place/submission`."""
    source = place / "source"
    options = json.loads((source / OPTIONS).read_text("utf-8"))
    options = [str(source / word) if word == "checks" else word for word in options]
    with tempfile.TemporaryDirectory() as folder:
        submissions, out = Path(folder, "in"), Path(folder, "out")
        _copy_notebooks(place / "submission", submissions / _LEARNER)
        words = [str(submissions), "--out", str(out), "--export", "gradescope", "--jobs", "1"]
        code = grade([*words, *options])
        found = sorted((out / "gradescope" / _LEARNER).glob("*.json"))
        results = [json.loads(file.read_text("utf-8")) for file in found]
    if results:
        return _together(results)
    why = _("the container allows no sandbox, or the autograder is set up wrongly")
    return _not_graded(why if code == WRONG_USE else _("nothing was graded"))


def _copy_notebooks(submission: Path, folder: Path) -> None:
    """Copy what is a notebook of the course; the first one of a chapter has its own name."""
    folder.mkdir(parents=True)
    known = chapters()
    with open_download(submission) as download:
        for file in download.files:
            if not file.name.endswith(".ipynb"):
                continue
            try:
                content = file.read()
            except Unreadable:
                continue
            chapter = chapter_of(file.name, content, known)
            name = f"{chapter.stem}.ipynb" if chapter else file.name
            target = folder / name
            if not target.exists() or file.name == name:
                target.write_bytes(content)


def _together(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one result for several notebooks; without a score where one has none."""
    if len(results) == 1:
        return results[0]
    made: dict[str, Any] = {"tests": [test for one in results for test in one["tests"]]}
    said = "\n".join(one["output"] for one in results if one.get("output"))
    if said:
        made |= {"output": said, "output_format": "text"}
    if all("score" in one for one in results):
        return {"score": sum(one["score"] for one in results), **made}
    for test in made["tests"]:  # or Gradescope would add up some of them
        test.pop("score", None)
        test.pop("max_score", None)
    return made


def _not_graded(why: str) -> dict[str, Any]:
    said = _("It could not be graded, which is not your fault: {why}.").format(why=why.rstrip("."))
    test = {"name": _("Not graded"), "output": said}
    return {"tests": [test], "output": said, "output_format": "text"}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
