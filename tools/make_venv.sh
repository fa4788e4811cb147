#!/bin/sh
# Make the environment in the folder $1 and install this package with the extra $2 into it.
#
# Debian's python3 comes without ensurepip, and its venv module then makes an environment
# without pip. One pinned pip, known by its digest, is fetched for that case; if it cannot be,
# the message names the package that has it.
set -eu

venv=$1
extra=$2
python=${PYTHON:-python3}

say() {
    echo "make: $*" >&2
}

if ! command -v "$python" >/dev/null 2>&1; then
    say "$python not found; Python 3.11 or later is needed (Debian: apt-get install python3)"
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    say "Python 3.11 or later is needed, $python is $("$python" -V 2>&1)"
    exit 1
fi

if "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    : # An earlier environment is brought up to date.
elif "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    "$python" -m venv "$venv"
else
    say "$python has no ensurepip; fetching pip"
    "$python" -m venv --without-pip "$venv"
    if ! "$venv/bin/python" tools/fetch_pip.py "$venv"; then
        say "$python can make no environment with pip (Debian: apt-get install python3-venv)"
        exit 1
    fi
fi
"$venv/bin/python" -m pip install -qq --disable-pip-version-check -e ".[$extra]"
