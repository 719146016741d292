"""The explanation lab: every test of both papers, where attention is needed and where it isn't.

`run_lab` trains the same small model on two tasks of known importance and puts it to the tests of
Jain & Wallace (2019) and of Wiegreffe & Pinter (2019), for several seeds:

    report = run_lab()
    print(report.text())

The same settings give the same numbers to the last bit on one machine: the lab computes on one
thread, and every random number comes from a seed.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from attn_course._progress_bar import ProgressBar
from attn_course.evaluation.ablation import Ablation
from attn_course.explanation.bench import Bench, LabSettings
from attn_course.explanation.report import LabReport, Measured
from attn_course.translate import _


def run_lab(settings: LabSettings | None = None, progress: bool = False) -> LabReport:
    """Run every test on the task that needs attention and on the one that doesn't."""
    from attn_course.tasks.importance import MajorityOfWords, TellingWord

    if settings is not None and not isinstance(settings, LabSettings):
        raise ValueError(
            f"run_lab takes LabSettings, but came with a {type(settings).__name__}: it trains the "
            "course's own models. For yours, call the tests one by one, such as permutation_tvd."
        )
    chosen = settings or LabSettings()
    benches = {
        "needed": Bench(TellingWord(), chosen),
        "not needed": Bench(MajorityOfWords(), chosen),
    }
    measured: dict[str, dict[str, Measured]] = {}
    baselines: dict[str, Ablation] = {}
    total = len(benches) * (len(chosen.seeds) + 1)
    with _one_thread(), ProgressBar(total, _("lab"), unit=_("parts"), show=progress) as shown:
        for name, bench in benches.items():
            baselines[name] = bench.uniform_baseline()
            shown.advance()
            by_seed = []
            for seed in chosen.seeds:
                by_seed.append(bench.tests(seed))
                shown.advance()
            measured[name] = {
                test: Measured(tuple(numbers[test] for numbers in by_seed)) for test in by_seed[0]
            }
            measured[name]["seed_jsd"] = Measured(bench.seed_jsd())
    return LabReport(measured, baselines)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute on one thread for a while: sums are then added up in the same order everywhere."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
