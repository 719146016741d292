"""How long a learner waits for `practice.check` in a notebook.

It runs as a program of its own, so that the first check of a session is the first: the set-up cell
has been run, nothing else. A right answer to every exercise of the course's first chapter is
checked in order, and shown as a notebook would show it.
"""

import json
import subprocess
import sys
import time


def seconds() -> dict[str, float]:
    """Return the seconds of every check of a fresh session, by exercise."""
    command = [sys.executable, "-m", "benchmarks.grader.self_check"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Check and print the times."""
    import matplotlib.pyplot  # noqa: F401  (the set-up cell loads these)
    import numpy  # noqa: F401
    import torch  # noqa: F401

    from attn_course import practice

    practice.overview("01")
    from attn_course.practice.exercises import chapters

    times = {}
    for exercise in chapters()["01"].exercises.values():
        start = time.perf_counter()
        feedback = practice.check(exercise.id, exercise.reference)
        feedback._repr_html_()
        times[exercise.id] = time.perf_counter() - start
    print(json.dumps(times))


if __name__ == "__main__":
    main()
