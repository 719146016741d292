"""What runs inside the sandbox, next to a stranger's code: this room is copied there, and no other.

So a module here imports only its neighbours and `translate`; a contract in `pyproject.toml` checks
that. Outside, `practice` and `grading` use the same modules: a notebook is read, its cells are
chosen and values are packed in one way on both sides.

Read in this order: `worker` (the fork server), `protocol` and `wire` (what crosses), `notebook`,
`selection` and `submission` (from a file to an answer), then the walls: `plan`, `lockdown`,
`namespaces`, `landlock`, `seccomp`, `limits`.
"""
