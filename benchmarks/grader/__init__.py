"""The grader side by side with its peers: the same notebooks, the same tests, the same machine.

`python -m benchmarks.grader` installs nbgrader and otter-grader into environments of their own
(in `.bench/`), grades one class with each of them and with ours, fully isolated, and holds the
numbers against bounds. Read `assignment` for what is graded and `peers` for how.
"""
