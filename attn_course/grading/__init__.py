"""The grader: other people's notebooks, run in a sandbox, judged outside of it.

Read in this order: `intake` (which files), `grade_one` (one notebook), `jobs` (several at once),
`gradebook` (what is kept), `run` (all of it together), `reports` (what comes out). What protects
you from a stranger's code: `sandbox` and `isolation_trial` here, `worker` and `lockdown` in
`inside`.
"""
