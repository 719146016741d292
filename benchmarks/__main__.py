"""Print the ratios: `python -m benchmarks`, or some: `python -m benchmarks attend additive`.

The exit code is 0 whatever the numbers are, because another load on the machine can spoil a time;
with --strict it is 1 when a bound is missed.
"""

import argparse
import os
import platform
import sys

import torch

from benchmarks import (
    additive,
    attend,
    blockwise,
    cache,
    commands,
    graphs,
    linear,
    metrics,
    multi_head,
    positions,
    ranks,
    scores,
    sparse,
    transformer,
)

BENCHMARKS = {
    "attend": attend,
    "multi_head": multi_head,
    "transformer": transformer,
    "positions": positions,
    "additive": additive,
    "scores": scores,
    "sparse": sparse,
    "blockwise": blockwise,
    "cache": cache,
    "linear": linear,
    "graphs": graphs,
    "ranks": ranks,
    "metrics": metrics,
    "commands": commands,
}


def main() -> int:
    """Run what was asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument(
        "--threads",
        type=int,
        nargs="+",
        default=None,
        metavar="T",
        help="numbers of threads to measure with (default: 1 and all, at most 2)",
    )
    parser.add_argument("--repeats", type=int, default=15, help="pairs of runs for each time")
    parser.add_argument("--strict", action="store_true", help="fail when a bound is missed")
    choices = parser.parse_args()
    for name in choices.names:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}; choose from {', '.join(BENCHMARKS)}")
    threads = choices.threads or sorted({1, min(2, os.cpu_count() or 1)})
    print(f"PyTorch {torch.__version__}, Python {platform.python_version()}, {platform.machine()}")
    busy, processors = os.getloadavg()[0], os.cpu_count() or 1
    if busy > processors / 2:
        print(
            f"Other programs are busy (load {busy:.1f} on {processors} processors): don't trust "
            "times with more than one thread, whose threads wait for each other."
        )
    missed = 0
    for count in threads:
        torch.set_num_threads(count)
        for name in choices.names or BENCHMARKS:
            print(f"{name} ({count} thread{'s' if count > 1 else ''})")
            for line in BENCHMARKS[name].run(choices.repeats):
                print(line, flush=True)
                missed += not line.kept
    print(f"{missed} bound{'' if missed == 1 else 's'} missed" if missed else "every bound kept")
    return 1 if missed and choices.strict else 0


if __name__ == "__main__":
    sys.exit(main())
