#!/bin/bash
# Other implementations verify what xcache signs, and xcache what they sign:   Tests/Trust/run.sh XCACHE
# Needs python3 with venv, openssl, softhsm2 and opensc; securesystemslib comes from PyPI into a folder of this run, or of $TRUST_VENV.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
xcache=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=${TRUST_VENV:-$work/venv}
if [ ! -x "$venv/bin/pip" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check 'securesystemslib[crypto]>=1.1'
fi
export PYTHONDONTWRITEBYTECODE=1
"$venv/bin/python" "$here/vectors.py" --check
"$venv/bin/python" "$here/interop.py" "$xcache"
