# Everything the course does, one word each. `make` alone lists the words.
#
# Choices, given as in `make book PYTHON=python3.12`:
#   PYTHON     the Python to make the environment with (3.11, 3.12 or 3.13)
#   TORCH      another PyTorch, such as TORCH=torch==2.13.0+cpu
#   PIP_ARGS   further arguments for pip, such as an extra index
#   WORKERS    how many tests run at once
#   ARGS       further arguments for pytest or JupyterLab

PYTHON ?=
TORCH ?=
PIP_ARGS ?=
WORKERS ?= 2
ARGS ?=

# Never a script of .venv/bin: their first line breaks where a folder's name has a space.
RUN := .venv/bin/python -m
COURSE := $(RUN) attn_course.cli
BOOK := .venv/bin/python -c 'from jupyter_book.cli.main import main; main()'

# A PYTHONPATH from outside would put other versions in front of the environment's.
unexport PYTHONPATH PYTHONHOME
export PYTHON TORCH PIP_ARGS

.DEFAULT_GOAL := help
.PHONY: help env pins book plain-book pdf test quick lab test-mine check lint types contracts derived \
  doctests exercises selftest claims handout tasks bench bench-grader rehearsal reproduce clean

help: ## list these words
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS='	' read -r word text; do \
	  printf '  make %-13s %s\n' "$$word" "$$text"; done

env: ## make the environment in .venv, or find that it is there
	@sh tools/environment.sh

pins: ## write requirements.txt from pyproject.toml (ARGS=--upgrade moves to newer versions)
	@command -v uv >/dev/null || { echo "pins: this needs uv: pip install uv" >&2; exit 1; }
	@uv pip compile pyproject.toml --all-extras --universal --python-version 3.11.0 --no-build \
	  --custom-compile-command 'make pins' --quiet --output-file requirements.txt $(ARGS)

# -W -n: a warning, a failing cell or a dead reference fails. Cells are run once and remembered.
book: env ## build the book and say where it is
	@$(BOOK) build book --config _config.yml --path-output . -W -n --keep-going
	@echo; echo "The book is here: $$PWD/_build/html/index.html"

# An insurance: should Jupyter Book 1 come to an end, Sphinx alone builds the same pages.
plain-book: env ## build the book with Sphinx alone, from the configuration that Jupyter Book writes
	@.venv/bin/python tools/plain_book.py _build/plain

pdf: book ## print the built book as one PDF, with bookmarks (needs Chromium)
	@$(RUN) tools.make_pdf _build/html _build/attention.pdf

# The tests look at the built book; nothing is executed twice. One worker runs a file, whose fixtures
# are dear.
test: book ## run every test (the doctests too)
	@$(RUN) pytest -n $(WORKERS) --dist loadfile $(ARGS)

quick: env ## test what has changed since the last commit on main: no book, browser or sandbox
	@$(RUN) ruff check . && .venv/bin/python tools/quick_tests.py -n $(WORKERS) --dist loadfile $(ARGS)

# A copy: what you write must not make the exercises of the course differ from their source.
# tools/jupyter has no question about news asked, which JupyterLab would show over the feedback.
lab: env ## copy the exercises to my-exercises/ (once) and open JupyterLab there
	@$(COURSE) start my-exercises
	@JUPYTER_CONFIG_PATH="$(CURDIR)/tools/jupyter$${JUPYTER_CONFIG_PATH:+:$$JUPYTER_CONFIG_PATH}" \
	  $(RUN) jupyterlab --LabApp.default_url=/lab/tree/my-exercises $(ARGS)

test-mine: env ## check your exercises in my-exercises/ with pytest
	@test -d my-exercises || { \
	  echo "test-mine: there is no my-exercises/ yet: \`make lab\` copies the exercises there" >&2; exit 1; }
	@$(RUN) pytest my-exercises $(ARGS)

check: lint types contracts derived doctests ## lint, types, who imports whom, doctests, derived files

derived: env
	@$(COURSE) release --check
	@.venv/bin/python tools/collect_claims.py --check
	@.venv/bin/python tools/write_tables.py --check

lint: env
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .

types: env
	@$(RUN) mypy

contracts: env
	@.venv/bin/python -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'

doctests: env
	@$(RUN) pytest -q attn_course $(ARGS)

exercises: env ## write exercises/ anew from solutions/, and the tables of README and CONTRIBUTING
	@$(COURSE) release
	@.venv/bin/python tools/write_tables.py

selftest: env ## try all known mistakes and mutants on the checks, and show the result in README
	@mkdir -p _build && $(COURSE) selftest >_build/selftest.txt
	@mv _build/selftest.txt book/_data/selftest.txt
	@.venv/bin/python tools/write_tables.py

claims: env ## write book/claims.json anew from the marks of the tests
	@.venv/bin/python tools/collect_claims.py

handout: env ## pack the exercises for learners into dist/: a zip with no solution in it
	@$(COURSE) handout

tasks: env ## train every mechanism and its ablation, five seeds each, and keep the table
	@$(COURSE) tasks --seeds 5 --save book/_data/tasks.json $(ARGS)

bench: env ## measure speed and memory against peers, as ratios (ARGS=attend for one)
	@$(RUN) benchmarks $(ARGS)

bench-grader: env ## measure the grader against nbgrader and otter-grader, side by side
	@$(RUN) benchmarks.grader $(ARGS)

rehearsal: env ## play a course of 300 synthetic learners from download to exports, and check it
	@$(RUN) benchmarks.grader.rehearsal $(ARGS)

reproduce: env ## run pages and solutions twice and compare every number
	@.venv/bin/python tools/reproduce.py

clean: ## remove what was built (`rm -r .venv` removes the environment)
	rm -rf _build .jupyter_cache dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
