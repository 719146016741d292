#!/bin/sh
# Make .venv with the pinned packages and the course in it, or find that it is all there already.
#
#   sh tools/environment.sh           what `make env`, `make book` and `make test` call
#
# The variables PYTHON, TORCH and PIP_ARGS choose another Python, another build of PyTorch and
# further arguments for pip; Python and PyTorch are remembered until you choose others.
# Python's venv package, which Debian splits off, is not needed: the environment is made without a
# pip of its own, and the pip of PYTHON installs into it.
set -eu
cd "$(dirname "$0")/.."
notes=.venv/attn-course # what was chosen; `installed` there is written last

say() { echo "environment: $1"; }
fail() { say "$1" >&2; exit 1; }
note() { cat "$notes/$1" 2>/dev/null || true; }

PYTHON=${PYTHON:-$(note python)}
PYTHON=${PYTHON:-python3}
TORCH=${TORCH:-$(note torch)}
made_with="$PYTHON in $PWD" # the course is installed in place, so a move is a change
installed="$made_with with ${TORCH:-the pinned PyTorch}, $(cat requirements.txt pyproject.toml | cksum)"
[ "$(note installed)" = "$installed" ] && .venv/bin/python -c '' 2>/dev/null && exit

command -v "$PYTHON" >/dev/null || fail "there is no $PYTHON here: install Python 3.11, 3.12 or \
3.13, or name the one you have, for example: make book PYTHON=python3.12"
"$PYTHON" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' ||
  fail "this is $("$PYTHON" --version 2>&1) ($(command -v "$PYTHON")), and the course needs Python \
3.11, 3.12 or 3.13: choose one that you have, for example: make book PYTHON=python3.12"
"$PYTHON" -m pip --python "$(command -v "$PYTHON")" --version >/dev/null 2>&1 || fail "$PYTHON has no pip, or one \
older than 22.3: install it (on Debian: apt install python3-pip; elsewhere: $PYTHON -m ensurepip \
--upgrade), then run the same command again."
[ ! -e .venv ] || [ -d "$notes" ] || fail ".venv was not made by this command, so it is left \
alone: move it away (mv .venv old-venv) and run the same command again."

unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV
export PIP_USER=0
eval "set -- ${PIP_ARGS:-}" # its words, with quotes as in a shell
pip() {
  "$PYTHON" -m pip --python .venv/bin/python install --disable-pip-version-check --no-input \
    --progress-bar off "$@" || fail "pip could not install the packages and says why above. Check \
the network, or your proxy and pip's index, and run the same command again."
}

# To pip a package that was unpacked halfway looks installed, so an unfinished .venv is made anew.
if [ -n "$(note installed)" ] && [ "$(note made_with)" = "$made_with" ] && .venv/bin/python -c ''; then
  say "the requirements changed: updating the environment"
else
  say "creating the environment in .venv"
  rm -rf .venv
  mkdir -p "$notes"
  "$PYTHON" -m venv --without-pip .venv
fi
rm -f "$notes/installed"
echo "$PYTHON" >"$notes/python"
echo "$TORCH" >"$notes/torch"
echo "$made_with" >"$notes/made_with"

sed "s|^torch==[^ ]*|${TORCH:-&}|" requirements.txt >"$notes/requirements.txt"
say "installing $(grep -c == "$notes/requirements.txt" || true) packages: a few minutes, most of them for PyTorch"
pip --no-compile -r "$notes/requirements.txt" "$@" # pip would compile on one processor
pip --no-deps --no-build-isolation -e .             # what it needs is there, hatchling too
# A grader loads packages in a sandbox, where nothing can be written, so compile them now. Templates
# that packages contain can't be compiled and need not be.
.venv/bin/python -m compileall -qq -j 0 .venv/lib || true
echo "$installed" >"$notes/installed"
say "the environment is ready"
