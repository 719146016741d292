"""The table of tasks: rows, verdicts, the log, the comparison with what is stated."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from attn_course import cli
from attn_course.tasks import all_tasks, find_task
from attn_course.tasks import table as tables
from attn_course.tasks.command import load
from attn_course.tasks.table import (
    Row,
    Run,
    as_json,
    as_text,
    differences,
    from_json,
    read_log,
    read_table,
)

STATED = Path(__file__).parents[2] / "book" / "_data" / "tasks.json"
WANTED = (
    *("task", "mechanism", "ablation", "metric", "seeds", "mechanism_mean", "mechanism_sd"),
    *("ablation_mean", "ablation_sd", "attention_metric", "attention_score", "uniform_score"),
    "seconds",
)


@pytest.fixture
def short(monkeypatch):
    """Let a training be two steps, in this process."""
    trained = []

    def train_all(missing, jobs):
        for name, arm, seed, code in missing:
            trained.append((name, arm, seed))
            yield Run(name, arm, seed, code, 0.5 + seed / 10, {"m": 0.9}, {"m": 0.1}, 7, 1.5)

    monkeypatch.setattr(tables, "_train_all", train_all)
    return trained


def row(mechanism=0.9, ablation=0.5, sd=0.01, higher=True, **changes):
    made = Row(
        *("a task", "with", "without", "accuracy", higher, [0, 1], [mechanism] * 2),
        *([ablation] * 2, mechanism, sd, ablation, sd, 5, 3, "correctness"),
        *(0.8, 0.01, {"weights": 0.8}, 0.2, 3.0, ""),
    )
    return replace(made, **changes)


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (row(), "wins"),
        (row(mechanism=0.5, ablation=0.9), "loses"),
        (row(mechanism=0.5, ablation=0.9, higher=False), "wins"),
        (row(sd=0.1), "wins each seed"),  # 0.4 apart, and three spreads are 0.42
        (row(sd=0.1, mechanism_scores=[0.9, 0.4]), "ties"),  # one seed is no better
        (row(mechanism=0.5, ablation=0.9, sd=0.2, higher=False), "wins each seed"),
        (row(mechanism=0.999, ablation=0.995, sd=0.0), "ties"),  # clear, but too little to matter
    ],
)
def test_a_verdict_needs_a_margin_beyond_the_spread(made, verdict):
    assert made.verdict == verdict


def test_means_and_spreads_are_those_of_the_runs(short):
    task = find_task("key_lookup")
    (made,) = tables.run([task], seeds=[0, 1, 2])
    assert made.mechanism_mean == pytest.approx(0.6)
    assert made.mechanism_sd == pytest.approx(0.1)  # of the sample 0.5, 0.6, 0.7
    assert made.seconds == pytest.approx(3.0)
    assert (made.attention_score, made.uniform_score) == (0.9, 0.1)
    assert sorted(short) == sorted(
        ("key_lookup", arm, seed) for arm in ("dot", "uniform") for seed in range(3)
    )


def test_an_interrupted_run_goes_on_where_it_stopped(short, tmp_path):
    log = tmp_path / "tasks.jsonl"
    task = find_task("key_lookup")
    whole = tables.run([task], seeds=[0, 1], log=log)
    assert len(short) == 4
    lines = log.read_text(encoding="utf-8").splitlines()
    log.write_text("\n".join(lines[:2]) + "\n" + lines[2][:30], encoding="utf-8")  # cut off
    again = tables.run([task], seeds=[0, 1], log=log)
    assert len(short) == 4 + 2
    assert again == whole


def test_a_run_of_other_code_does_not_count(short, tmp_path, monkeypatch):
    log = tmp_path / "tasks.jsonl"
    tables.run([find_task("key_lookup")], seeds=[0], log=log)
    monkeypatch.setattr(tables, "code_version", lambda module: "another")
    tables.run([find_task("key_lookup")], seeds=[0], log=log)
    assert len(short) == 4
    assert len({run.code for run in read_log(log).values()}) == 2


def test_what_a_task_imports_is_what_its_figures_depend_on():
    found = tables._imported("attn_course.tasks.target_sentiment")
    assert "attn_course.features.rotatory" in found  # by way of the package's __init__
    assert "attn_course.alignment" in found
    assert "attn_course.tasks.training" in found
    assert "attn_course.tasks.key_lookup" not in found
    assert not any(name.startswith("attn_course.practice") for name in found)
    other = tables.code_version("attn_course.tasks.key_lookup")
    assert tables.code_version("attn_course.tasks.target_sentiment") != other


def test_the_table_survives_json():
    rows = [row(), row(task="another")]
    written = json.loads(json.dumps(as_json(rows)))
    assert list(from_json(written).values()) == rows
    assert list(from_json(written)) == [row.key for row in rows]
    assert all(set(WANTED) <= set(one) for one in written)
    assert written[0]["verdict"] == "wins"


def test_a_figure_outside_the_stated_spread_is_told():
    stated = {row().key: row(sd=0.02)}
    assert differences([row(mechanism=0.95)], stated) == []
    (sentence,) = differences([row(mechanism=0.97)], stated)
    assert sentence == "a task, with / without: mechanism 0.970, but stated is 0.900 ± 0.060"
    (sentence,) = differences([row(attention_score=0.7)], stated)
    assert "attention 0.700" in sentence
    (sentence,) = differences([row(task="new")], stated)
    assert "no figure is stated" in sentence


def test_a_row_says_who_won_and_by_how_much():
    made = row(mechanism=0.9, ablation=0.25, sd=0.02)
    assert str(made).splitlines() == [
        "a task: with wins",
        "   with     0.900 ± 0.020",
        "   without  0.250 ± 0.020",
    ]


def test_the_text_has_a_line_a_row_and_the_notes_below():
    text = as_text([row(), row(note="It is so.")])
    lines = text.splitlines()
    assert lines[1].split()[-2] == "wins"
    assert lines[-1] == "a task, with / without: It is so."


def test_every_task_has_its_stated_figures_and_every_tie_its_reason():
    record = load(STATED)
    assert {"date", "versions", "python", "rows"} <= set(record)
    rows = read_table(STATED)
    wanted = [
        (task.name, one.mechanism, one.ablation, one.note)
        for task in all_tasks().values()
        for one in task.comparisons
    ]
    assert list(rows) == [key[:3] for key in wanted]
    for *key, note in wanted:
        stated = rows[tuple(key)]
        assert stated.seeds == [0, 1, 2, 3, 4]
        assert stated.note == note
        assert note or stated.verdict == "wins", key
        assert stated.seconds < 60, key


def test_the_command_lists_tasks_and_tells_an_unknown_one(capsys):
    assert cli.main(["tasks", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in all_tasks())
    assert cli.main(["tasks", "--task", "nothing"]) == 2
    assert "key_lookup" in capsys.readouterr().err
    assert cli.main(["tasks", "--seeds", "0"]) == 2


def test_the_command_prints_json_saves_and_compares(short, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "kept.json"
    words = ["tasks", "--task", "key_lookup", "--seeds", "2"]
    assert cli.main([*words, "--json", "--save", str(kept)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == load(kept)["rows"]
    assert cli.main([*words, "--compare", str(kept)]) == 0
    record = load(kept)
    record["rows"][0]["mechanism_mean"] = 0.1
    kept.write_text(json.dumps(record), encoding="utf-8")
    assert cli.main([*words, "--compare", str(kept)]) == 1
    assert "stated is 0.100" in capsys.readouterr().err


def test_two_jobs_find_what_one_finds(tmp_path):
    task = find_task("key_lookup")
    missing = [("key_lookup", "uniform", seed, "now") for seed in range(2)]
    found = {run.seed: run for run in tables._train_all(missing, jobs=2)}
    alone = {run.seed: run for run in tables._train_all(missing, jobs=1)}
    assert task.name == found[0].task
    for seed, run in found.items():
        assert run.score == alone[seed].score
        assert run.attention == alone[seed].attention
