"""The model of many machines, and that the page for instructors says what was measured."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from attn_course import cli
from benchmarks.grader import scale, simulate
from tests.grading.test_dask_engine import FakeCluster, dones, tasks

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "desk.md").read_text(encoding="utf-8")
KEPT = json.loads((ROOT / "book" / "_data" / "scale.json").read_text(encoding="utf-8"))
FREE = {
    "seconds_of_a_notebook": 1.0,
    "seconds_to_start": 0.0,
    "seconds_of_the_client": 0.0,
    "seconds_of_a_task": 0.0,
    "times": [2.0],
}


# The model, where the answer is known


def test_without_any_cost_machines_share_the_work():
    times = [1.0] * 4000
    assert simulate.by_parts(FREE, times, 1) == 1000
    assert 1000 <= simulate.by_dask(FREE, times, 1) <= 1200  # the last batch has 200
    assert 100 <= simulate.by_dask(FREE, times, 10) <= 116  # here batches have 8 or 16
    assert 100 <= simulate.by_parts(FREE, times, 10) <= 115  # parts are not all of one size


def test_the_start_is_paid_once_by_each_machine():
    late = FREE | {"seconds_to_start": 30.0}
    times = [1.0] * 400
    assert simulate.by_parts(late, times, 1) == 130
    assert simulate.by_dask(late, times, 1) == 30 + simulate.by_dask(FREE, times, 1)


def test_one_client_is_as_fast_as_it_is_whatever_the_cluster():
    slow = FREE | {"seconds_of_the_client": 0.01}
    times = [0.001] * 10_000
    assert simulate.by_dask(slow, times, 100) == pytest.approx(100, rel=0.01)


def test_the_last_machine_decides():
    times = [0.0] * 999 + [500.0]
    assert simulate.by_parts(FREE, times, 10) == 500


def test_machines_that_die_cost_time():
    times = [1.0] * 40_000
    assert simulate.by_parts(FREE, times, 100, 2) > 1.5 * simulate.by_parts(FREE, times, 100)
    whole = simulate.by_dask(FREE, times, 100)
    assert whole < simulate.by_dask(FREE, times, 100, 20) < 2 * whole


def test_times_are_drawn_from_the_measured_ones_and_some_are_stuck():
    figures = FREE | {"times": [1.0, 3.0]}
    drawn = simulate.notebook_times(figures, 10_000, simulate.random.Random(7))
    assert set(drawn) == {0.5, 1.5, simulate.STUCK_SECONDS}
    assert drawn.count(simulate.STUCK_SECONDS) == pytest.approx(50, abs=25)


@pytest.mark.parametrize("threads", [1, 3])
def test_batches_grow_as_those_of_the_engine(threads):
    cluster = FakeCluster(threads=threads)
    dones(cluster, tasks(1500))
    sizes = [len(batch) for batch in simulate._batches([1.0] * 1500, threads)]
    assert sizes == [len(batch) for batch in cluster.batches]


# What the page says


def test_the_simulated_figures_follow_from_the_measured_ones():
    assert KEPT["simulated"] == simulate.table(KEPT["measured"])


def test_the_page_shows_the_kept_figures():
    assert scale.as_markdown(KEPT["measured"]) in PAGE
    assert scale.in_words(KEPT["measured"]) in PAGE
    assert simulate.as_markdown(KEPT["simulated"]) in PAGE


def test_the_page_states_what_the_model_assumes():
    assert f"{simulate.LEARNERS:,} learners" in PAGE
    assert f"{simulate.PROCESSORS} processors" in PAGE
    share = f"{1000 * simulate.STUCK:.0f} of 1,000 notebooks"
    assert f"{share} take {simulate.STUCK_SECONDS:.0f} seconds" in PAGE
    assert f"{simulate.DIE:.0%}".replace("%", " %") in PAGE


def test_the_page_concludes_what_the_figures_say():
    others = (1 - simulate.STUCK) * KEPT["measured"]["seconds_of_a_notebook"]
    stuck = simulate.STUCK * simulate.STUCK_SECONDS
    assert stuck == pytest.approx(others, rel=0.2)
    hundred = KEPT["simulated"][-1]
    joining = hundred["joined"] - hundred["parts"]
    client = simulate.LEARNERS * KEPT["measured"]["seconds_of_the_client"]
    assert joining > 2 * hundred["parts"]
    assert client > 0.8 * hundred["dask"]


# The examples for other systems, which can't be run here


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_examples_parse_and_name_all_parts():
    workflow, job = (yaml.safe_load(text) for text in blocks("yaml"))
    matrix = workflow["jobs"]["part"]["strategy"]["matrix"]["part"]
    steps = [step.get("run", "") for step in workflow["jobs"]["part"]["steps"]]
    (grade,) = [step for step in steps if "attn-course grade" in step]
    assert matrix == list(range(1, len(matrix) + 1))
    assert f"--shard ${{{{ matrix.part }}}}/{len(matrix)} " in grade
    (merge,) = [s["run"] for s in workflow["jobs"]["merge"]["steps"] if "merge" in s.get("run", "")]
    assert all(f" part-{number} " in merge for number in matrix)
    spec = job["spec"]
    assert (job["kind"], spec["completionMode"]) == ("Job", "Indexed")
    (container,) = spec["template"]["spec"]["containers"]
    assert f'--shard "$part/{spec["completions"]}"' in container["args"][0]
    assert "part=$((JOB_COMPLETION_INDEX + 1))" in container["args"][0]


def test_the_job_array_is_a_script_and_names_all_parts():
    (script,) = blocks("bash")
    (last,) = re.findall(r"^#SBATCH --array=1-(\d+)$", script, re.MULTILINE)
    assert f'--shard "$part/{last}"' in script
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def commands():
    """Return the commands of the page about grading, each as one line."""
    text = "\n".join([*blocks("text"), *blocks("bash"), *blocks("yaml")])
    lines = text.replace("\\\n", " ").splitlines()
    found = [line[line.index("attn-course ") :] for line in lines if "attn-course " in line]
    return [line for line in found if re.match(r"attn-course (grade|merge) ", line)]


def test_every_command_is_one_that_there_is():
    assert len(commands()) >= 10
    for command in commands():
        plain = re.sub(r"\$\{\{.*?\}\}|\"\$\(.*?\)\"|\$\w+", "1", command.split("||")[0])
        cli.parser().parse_args(shlex.split(plain)[1:])
