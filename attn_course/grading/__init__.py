"""The grader: other people's notebooks, run in a sandbox, judged outside of it.

Read in this order: `intake` (which files), `grade_one` (one notebook), `jobs` (several at once),
`gradebook` (what is kept), `run` (all of it together), `reports` (what comes out). What stands
between a stranger's code and you: `sandbox`, `rungs`, `worker`, `lockdown`, `protocol`.
"""
