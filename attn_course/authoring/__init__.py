"""What authors of exercises use: the loader of `solutions/`, release, scaffold, selftest, mutants.

Read in this order: `edits` (a mistake as an edit of the solution), `entries` (how mistakes are
written down), `source` (a whole file of `solutions/`), `release` (what is made of it).
Nothing here is needed to work on exercises or to grade them.
"""
