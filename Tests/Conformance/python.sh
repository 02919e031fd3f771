#!/bin/bash
# Runs the conformance cases for the devices in Python (Examples/python): for the minimal one those of polls, patches
# and packs, for the complete one also those of manifests, files, deltas, the static copy, the switch, rollouts, routes and lazy files, and for
# trusted.py those of an app with a root.
#   Tests/Conformance/python.sh
set -uo pipefail
cd "$(dirname "$0")/../.."
# Debian's python3 has Debian's zstandard; another one in PATH may not.
python=python3
"$python" -c 'import zstandard' 2>/dev/null || python=/usr/bin/python3
failed=0

# check LIST CASES [OPTION]: runs the cases whose ids contain CASES, without those of LIST.
check() {
  printf '%s ' "$2"
  "$python" Tests/Conformance/run.py --without healing --without evidence --only "$2" --except "Examples/python/$1" "$python" Examples/python/conformance.py "${@:3}" 2>/dev/null ||
    failed=1
}

lines=$(grep -c . Examples/python/device.py)
echo "the minimal device, device.py, $lines lines:"
if [ "$lines" -ge 200 ]; then
  echo "it should have fewer than 200 lines" >&2
  failed=1
fi
for cases in poll- answer-38 answer-39 answer-4 pack- folder-07 folder-08 folder-09 folder-10 folder-11 folder-14 folder-15 folder-16 lazy-01 lazy-02 lazy-4 lazy-5; do check except.txt "$cases"; done
"$python" Tests/Conformance/python_vectors.py || failed=1
"$python" Tests/Conformance/python_rollouts.py || failed=1
echo "with complete.py:"
for cases in poll- answer- file- delta- pack- copy- switch- rollout- route- folder-07 folder-08 folder-09 folder-10 folder-11 folder-14 folder-15 folder-16 lazy-; do check except-complete.txt "$cases" --complete; done
echo "with trusted.py:"
check except-complete.txt trust- --complete
# A device that can't check a root refuses to start with one, and doesn't run without the check.
open='{"do":"open","now":0,"settings":{"folder":"/nowhere","server":"","app":"shop","channel":"online","hosts":[],"root":{}}}'
refuses() {
  "$python" "${@:2}" <<<"$open" 2>/dev/null | grep -q "$1" || { echo "it doesn't say \"$1\"" >&2; failed=1; }
}
refuses "checks no root" Examples/python/conformance.py
refuses "python3-cryptography" -c 'import runpy, sys
sys.modules["cryptography"] = None
sys.argv = ["Examples/python/conformance.py", "--complete"]
sys.path.insert(0, "Examples/python")
runpy.run_path(sys.argv[0], run_name="__main__")'
exit $failed
