#!/bin/bash
# Runs the device in Python (Examples/python) against the cases for what it does: polls, manifests and patches, files, deltas,
# packs, the static copy and the switch.   Tests/Conformance/python.sh
set -uo pipefail
cd "$(dirname "$0")/../.."
# Debian's python3, which has Debian's zstandard; another one in PATH may not.
python=python3
"$python" -c 'import zstandard' 2>/dev/null || python=/usr/bin/python3
failed=0
for cases in poll- answer- file- delta- pack- copy- switch-; do
  printf '%s ' "$cases"
  "$python" Tests/Conformance/run.py --only "$cases" --except Examples/python/except.txt "$python" Examples/python/device.py 2>/dev/null ||
    failed=1
done
exit $failed
