"""The table of tasks: rows, verdicts, the log, the comparison with what is stated."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course import cli
from attn_course.tasks import all_tasks, find_task
from attn_course.tasks import table as tables
from attn_course.tasks.command import about, load
from attn_course.tasks.table import (
    Run,
    as_json,
    as_text,
    differences,
    from_json,
    read_log,
    read_table,
)
from attn_course.tasks.task import Comparison

STATED = Path(__file__).parents[2] / "book" / "_data" / "tasks.json"
WANTED = (
    *("task", "mechanism", "ablation", "metric", "seeds", "mechanism_mean", "mechanism_sd"),
    *("ablation_mean", "ablation_sd", "attention_metric", "attention_score", "uniform_score"),
    *("solved_at", "mechanism_rate", "mechanism_tried", "ablation_attends", "seconds"),
)
FIVE = (0.89, 0.91, 0.9, 0.9, 0.9), (0.49, 0.51, 0.5, 0.5, 0.5)


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


def row(mechanism=FIVE[0], ablation=FIVE[1], higher=True, attention=None, **changes):
    """Return a row of these scores, a pair for each seed."""
    seeds = range(len(mechanism))
    scores = {"dot": mechanism, "uniform": ablation}
    attended = attention or [0.8] * len(seeds)
    runs = {
        ("key_lookup", arm, seed, ""): Run(
            *("key_lookup", arm, seed, "", scores[arm][seed]),
            *({"weights": attended[seed]}, {"weights": 0.2}, 5, 1.5),
        )
        for arm in scores
        for seed in seeds
    }
    made = tables._row(find_task("key_lookup"), Comparison("dot", "uniform"), seeds, runs, "")
    names = {"task": "a task", "mechanism": "with", "ablation": "without", "solved_at": 0.7}
    return replace(made, **{**names, "higher_is_better": higher, **changes})


def test_one_seed_has_no_spread_in_the_table_or_in_json():
    made = row([0.9], [0.1])
    (written,) = json.loads(json.dumps(as_json([made])))
    assert written["mechanism_sd"] is written["ablation_sd"] is written["attention_sd"] is None
    assert from_json([written]) == {made.key: made}
    assert "0.900 ± –" in as_text([made])
    assert str(made).splitlines()[0] == "a task: with too few seeds"


def test_means_and_spreads_are_those_of_the_runs(short):
    task = find_task("padded_lookup")
    (made,) = tables.run([task], seeds=[0, 1, 2])
    assert made.mechanism_mean == pytest.approx(0.6)
    assert made.mechanism_sd == pytest.approx(0.1)  # of the sample 0.5, 0.6, 0.7
    assert made.seconds == pytest.approx(3.0)
    assert (made.attention_score, made.uniform_score) == (0.9, 0.1)
    assert sorted(short) == sorted(
        ("padded_lookup", arm, seed) for arm in ("mask", "no mask") for seed in range(3)
    )
    assert (made.mechanism_rate, made.ablation_rate) == (1e-2, 3e-2)
    assert made.mechanism_tried == [3e-3, 1e-2, 3e-2]


def test_seeds_count_from_the_first_one_of_the_task(short):
    (made,) = tables.run([find_task("scaled_lookup_wide")], seeds=[0, 1])
    assert made.seeds == [10, 11]


def test_a_rate_at_an_edge_of_those_tried_is_told():
    inside = row(mechanism_rate=0.2, mechanism_tried=[0.1, 0.2, 0.3])
    assert "without" not in inside.at_edge
    edges = row(mechanism_rate=0.3, mechanism_tried=[0.1, 0.2, 0.3], ablation_tried=[0.01])
    assert edges.at_edge == {"with": 0.3}
    assert "a task, with: rate 0.3 is at the edge of those tried." in as_text([edges])
    assert "a task, without: rate 0.01 is the only one tried." in as_text([edges])
    assert "at the edge" not in as_text([inside])
    assert "only one" not in as_text([inside])


def test_an_interrupted_run_goes_on_where_it_stopped(short, tmp_path):
    log = tmp_path / "tasks.jsonl"
    task = find_task("padded_lookup")
    whole = tables.run([task], seeds=[0, 1], log=log)
    assert len(short) == 4
    lines = log.read_text(encoding="utf-8").splitlines()
    log.write_text("\n".join(lines[:2]) + "\n" + lines[2][:30], encoding="utf-8")  # cut off
    again = tables.run([task], seeds=[0, 1], log=log)
    assert len(short) == 4 + 2
    assert again == whole


def test_a_run_of_other_code_does_not_count(short, tmp_path, monkeypatch):
    log = tmp_path / "tasks.jsonl"
    tables.run([find_task("padded_lookup")], seeds=[0], log=log)
    monkeypatch.setattr(tables, "code_version", lambda module: "another")
    tables.run([find_task("padded_lookup")], seeds=[0], log=log)
    assert len(short) == 4
    assert len({run.code for run in read_log(log).values()}) == 2


def test_what_a_task_imports_is_what_its_figures_depend_on(monkeypatch):
    read = []
    monkeypatch.setattr(tables, "fingerprint", lambda files, *words, **_how: read.extend(files))
    tables.code_version.__wrapped__("attn_course.tasks.target_sentiment")
    names = {path.relative_to(STATED.parents[2]).as_posix() for path in read}
    assert "attn_course/features/rotatory.py" in names  # by way of the package's __init__
    assert "attn_course/alignment/__init__.py" in names
    assert "attn_course/tasks/training.py" in names
    assert "attn_course/tasks/key_lookup.py" not in names
    foreign = ("practice", "figures", "grading", "translate")
    assert [name for name in names if any(word in name for word in foreign)] == []


def test_tasks_have_fingerprints_of_their_own():
    other = tables.code_version("attn_course.tasks.key_lookup")
    assert tables.code_version("attn_course.tasks.target_sentiment") != other


def test_the_table_survives_json():
    rows = [row(), row(task="another")]
    written = json.loads(json.dumps(as_json(rows)))
    assert list(from_json(written).values()) == rows
    assert list(from_json(written)) == [row.key for row in rows]
    assert all(set(WANTED) <= set(one) for one in written)
    assert written[0]["verdict"] == "wins"


def test_a_figure_that_is_not_the_one_stated_for_its_seed_is_told():
    stated = {row().key: row([0.89, 0.91], [0.49, 0.51])}
    assert differences([row([0.89, 0.91], [0.49, 0.51])], stated) == []
    assert differences([row([0.87, 0.93], [0.49, 0.51])], stated) == []  # within the room
    (sentence,) = differences([row([0.84, 0.91], [0.49, 0.51])], stated)
    assert sentence == (
        "a task, with / without: mechanism, seed 0: 0.840, but the table states 0.890 ± 0.045"
    )
    (sentence,) = differences([row([0.89, 0.91], [0.49, 0.56])], stated)
    assert "ablation, seed 1: 0.560" in sentence
    (sentence,) = differences([row([0.89], [0.49], attention=[0.7])], stated)
    assert "attention 0.700, but the table states 0.800 ± 0.040" in sentence
    (sentence,) = differences([row(task="new")], stated)
    assert "the table has no figure for it" in sentence


def test_a_seed_is_held_against_its_own_figure():
    stated = {row().key: row([0.72, 0.98, 0.97], [0.1, 0.1, 0.1])}
    assert differences([row([0.72], [0.1])], stated) == []
    (sentence,) = differences([row([0.98], [0.1])], stated)
    assert "seed 0: 0.980, but the table states 0.720 ± 0.180" in sentence


MIXED = [0.12, 0.98, 0.2, 0.15, 0.11]


def test_where_some_seeds_are_solved_any_figure_between_them_will_do():
    stated = {row().key: row(MIXED, [0.1] * 5)}
    for score in (0.12, 0.5, 0.98):
        assert differences([row([score], [0.1])], stated) == []
    (sentence,) = differences([row([0.05], [0.1])], stated)
    assert "seed 0: 0.050, but the table states 0.110 to 0.980" in sentence


def test_where_some_seeds_are_solved_their_number_is_compared():
    stated = {row().key: row(MIXED, [0.1] * 5)}
    assert differences([row([0.98, 0.97, 0.3, 0.2, 0.2], [0.1] * 5)], stated) == []
    found = differences([row([0.98, 0.97, 0.96, 0.95, 0.98], [0.1] * 5)], stated)
    assert "mechanism, solved by 5 of 5 seeds, but the table states 1 of 5 seeds" in found[0]


def test_a_verdict_that_has_changed_is_told_once_there_are_seeds_for_it():
    stated = {row().key: row([0.90, 0.91, 0.90, 0.92, 0.91], [0.89, 0.88, 0.87, 0.88, 0.88])}
    near = [0.89, 0.91, 0.90, 0.92, 0.91]
    (sentence,) = differences([row(near, [0.89, 0.9, 0.88, 0.88, 0.88])], stated)
    assert "verdict: not decided, but the table states wins" in sentence
    assert differences([row(near[:4], [0.89, 0.9, 0.88, 0.88])], stated) == []


def test_a_seed_that_is_not_stated_should_end_near_one_that_is():
    stated = {row().key: row([0.72, 0.98], [0.1, 0.1])}
    for score in (0.72, 0.98):
        assert differences([row([0.72, 0.98, score], [0.1] * 3)], stated) == []
    (sentence,) = differences([row([0.72, 0.98, 0.45], [0.1] * 3)], stated)
    assert "seed 2: 0.450, but the table states 0.720 ± 0.180 or 0.980 ± 0.245" in sentence


@given(attention=st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_no_seed_that_is_stated_misses_the_stated_attention(attention):
    n = len(attention)
    told = row([0.9] * n, [0.5] * n, attention=attention)
    for one in attention:
        assert differences([row([0.9], [0.5], attention=[one])], {told.key: told}) == []


def test_every_stated_score_can_be_missed_by_none_or_by_all():
    for told in read_table(STATED).values():
        said = ""
        for far in (0.0, 1.0):
            scores = [far] * len(told.seeds)
            missed = replace(told, mechanism_scores=scores, ablation_scores=scores)
            said += "\n".join(differences([missed], {told.key: told}))
        for seed in told.seeds:
            assert f"mechanism, seed {seed}:" in said, told.key
            assert f"ablation, seed {seed}:" in said, told.key


def test_a_row_says_who_won_and_by_how_much_or_how_often():
    made = row([0.88, 0.90, 0.92, 0.9, 0.9], [0.23, 0.25, 0.27, 0.25, 0.25])
    assert str(made).splitlines() == [
        "a task: with wins",
        "   with     0.900 ± 0.014",
        "   without  0.250 ± 0.014",
    ]
    mixed = row([0.88, 0.90, 0.92, 0.9, 0.9], [0.23, 0.95, 0.27, 0.25, 0.25])
    assert str(mixed).splitlines() == [
        "a task: with more reliable",
        "   with     0.900 ± 0.014",
        "   without  solved by 1 of 5 seeds",
    ]


def test_the_text_has_a_line_a_row_and_the_notes_below():
    text = as_text([row(), row(note="It is so.")])
    lines = text.splitlines()
    assert lines[1].split()[-2] == "wins"
    assert "a task, with / without: It is so." in lines[3:]


def test_the_text_says_what_a_task_claims_and_why_it_has_no_readers():
    task = find_task("padded_lookup")
    lines = as_text([row()], [task]).splitlines()
    assert f"padded_lookup: {task.claim}" in lines
    assert any(line.startswith("padded_lookup: no readers without attention") for line in lines)


def test_every_task_has_its_stated_figures_and_all_but_a_win_its_reason():
    record = load(STATED)
    assert {"date", "versions", "python", "tasks", "rows"} <= set(record)
    assert record["tasks"] == {name: about(task) for name, task in all_tasks().items()}
    rows = read_table(STATED)
    wanted = [
        (task.name, one.mechanism, one.ablation, one.note)
        for task in all_tasks().values()
        for one in task.comparisons
    ]
    assert list(rows) == [key[:3] for key in wanted]
    for *key, note in wanted:
        stated, task = rows[tuple(key)], find_task(key[0])
        assert stated.seeds == list(range(task.first_seed, task.first_seed + 5))
        assert stated.note == note
        assert note or task.claim or stated.verdict == "wins", key
        assert stated.seconds < 60, key
        assert stated.solved_at == task.solved_at
        rates = stated.mechanism_rate, stated.ablation_rate
        assert rates == tuple(task.arms[arm].learning_rate for arm in key[1:]), key


def test_stated_means_spreads_and_verdicts_are_those_of_the_stated_scores():
    for written in load(STATED)["rows"]:
        for arm in ("mechanism", "ablation"):
            scores = written[f"{arm}_scores"]
            assert written[f"{arm}_mean"] == pytest.approx(mean(scores)), written["task"]
            assert written[f"{arm}_sd"] == pytest.approx(stdev(scores)), written["task"]
        assert written["verdict"] == next(iter(from_json([written]).values())).verdict


def test_the_readme_shows_the_stated_figures():
    readme = (STATED.parents[2] / "README.md").read_text(encoding="utf-8")
    shown = {tuple(line.split()) for line in readme.splitlines() if " ± " in line}
    rows = [row for row in read_table(STATED).values() if row.task == "key_lookup_elsewhere"]
    made = [tuple(line.split()) for line in as_text(rows).splitlines()[1 : 1 + len(rows)]]
    assert {line[:-1] for line in shown} == {line[:-1] for line in made}  # all but the seconds


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
    words = ["tasks", "--task", "padded_lookup", "--seeds", "2"]
    assert cli.main([*words, "--json", "--save", str(kept)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == load(kept)["rows"]
    assert cli.main([*words, "--compare", str(kept)]) == 0
    record = load(kept)
    record["rows"][0]["mechanism_scores"] = [0.1, 0.1]
    kept.write_text(json.dumps(record), encoding="utf-8")
    assert cli.main([*words, "--compare", str(kept)]) == 1
    assert "the table states 0.100" in capsys.readouterr().err


def test_saving_keeps_which_code_gave_the_figures_of_each_task(short, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["tasks", "--save", "kept.json", "--task"]
    cli.main([*words, "key_lookup"])
    first = load(Path("kept.json"))["code"]
    assert first == {"key_lookup": tables.code_version("attn_course.tasks.key_lookup")}
    cli.main([*words, "votes"])
    assert load(Path("kept.json"))["code"] == first | {
        "votes": tables.code_version("attn_course.tasks.votes")
    }


@pytest.fixture
def kept(short, tmp_path, monkeypatch):
    """A table of three tasks, of which one was made with other code."""
    monkeypatch.chdir(tmp_path)
    for name in ("key_lookup", "votes", "two_steps"):
        cli.main(["tasks", "--save", "kept.json", "--task", name])
    record = load(Path("kept.json"))
    record["code"]["votes"] = "another"
    Path("kept.json").write_text(json.dumps(record), encoding="utf-8")
    short.clear()
    return ["tasks", "--fresh", "--compare", "kept.json"] + [
        word for name in record["code"] for word in ("--task", name)
    ]


def test_only_tasks_whose_code_has_changed_are_trained_again(kept, short):
    assert cli.main([*kept, "--changed"]) == 0
    assert {name for name, _arm, _seed in short} == {"votes"}


def test_a_word_picks_one_unchanged_task_more(kept, short):
    picked = set()
    for word in "abcd":
        short.clear()
        assert cli.main([*kept, "--changed", "--pick", word]) == 0
        names = {name for name, _arm, _seed in short}
        assert len(names) == 2
        assert "votes" in names
        picked |= names
    assert picked == {"key_lookup", "votes", "two_steps"}


def test_code_is_confirmed_only_where_it_reproduces_the_figures(kept, short):
    before = load(Path("kept.json"))
    assert cli.main([*kept, "--changed", "--confirm"]) == 0
    after = load(Path("kept.json"))
    assert after["code"] == before["code"] | {
        "votes": tables.code_version("attn_course.tasks.votes")
    }
    assert after["rows"] == before["rows"]
    before["rows"][0]["mechanism_scores"] = [0.1]
    Path("kept.json").write_text(json.dumps(before), encoding="utf-8")
    assert cli.main([*kept, "--confirm"]) == 1
    assert load(Path("kept.json")) == before


@pytest.mark.parametrize("option", ["--changed", "--confirm"])
def test_without_a_table_there_is_nothing_to_compare_code_with(option, short, capsys):
    assert cli.main(["tasks", option]) == 2
    assert "need --compare FILE" in capsys.readouterr().err
    assert short == []


def test_every_stated_task_says_which_code_gave_its_figures():
    assert list(load(STATED)["code"]) == list(all_tasks())


@pytest.mark.parametrize("content", [None, "no JSON", "{}", '{"rows": [{"task": "key_lookup"}]}'])
def test_what_is_no_table_is_told_before_any_training(content, short, capsys, tmp_path):
    kept = tmp_path / "kept.json"
    if content is not None:
        kept.write_text(content, encoding="utf-8")
    assert cli.main(["tasks", "--task", "key_lookup", "--fresh", "--compare", str(kept)]) == 2
    assert "no table to compare with in" in capsys.readouterr().err
    assert short == []


def test_a_task_that_is_named_twice_is_run_once(short, capsys):
    words = ["tasks", "--fresh", "--json", "--task", "padded_lookup"]
    assert cli.main([*words, "--task", "padded_lookup"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 1
    assert len(short) == 2


@pytest.mark.parametrize(
    ("found", "code", "edge"),
    [
        ({3e-3: 0.1, 1e-2: 0.9, 3e-2: 0.5}, 0, False),
        ({3e-3: 0.9, 1e-2: 0.9, 3e-2: 0.5}, 0, False),  # as good in the middle
        ({3e-3: 0.1, 1e-2: 0.5, 3e-2: 0.9}, 1, True),  # and not the rate that is used
    ],
)
def test_tuning_says_where_the_best_rate_lies_at_an_edge(found, code, edge, monkeypatch, capsys):
    monkeypatch.setattr("attn_course.tasks.command.tune", lambda task, arm: found)
    assert cli.main(["tasks", "--tune", "--task", "zero_padded_lookup"]) == code
    _head, *lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2  # with the mask and without, both at 1e-2
    assert all(("at an edge" in line) == edge for line in lines)


def test_two_jobs_find_what_one_finds(tmp_path):
    task = find_task("key_lookup")
    missing = [("key_lookup", "uniform", seed, "now") for seed in range(2)]
    found = {run.seed: run for run in tables._train_all(missing, jobs=2)}
    alone = {run.seed: run for run in tables._train_all(missing, jobs=1)}
    assert task.name == found[0].task
    for seed, run in found.items():
        assert run.score == alone[seed].score
        assert run.attention == alone[seed].attention
