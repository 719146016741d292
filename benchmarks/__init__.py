"""Side by side with peers: how fast and how large is the package's code?

`python -m benchmarks` prints ratios, each against a peer measured in the same run. One small
module a benchmark; `measure` holds the stopwatch and the scales.
"""

import os

# Both are read when PyTorch is loaded, so they come before everything else.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler that weighs memory is talkative
# Threads that wait for each other should sleep: spinning, they take the processor from whoever
# they wait for as soon as anything else runs on the machine. It holds for ours and for the peers.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
