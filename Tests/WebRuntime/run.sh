#!/bin/bash
# The web runtime outside of a browser: its types, its decoder against libzstd (1,000 frames), docs/vectors, its rules; and that the
# files in public/runtime/dist were built of the sources that are here. Then the worker as a device: the conformance cases that apply.
set -euo pipefail
cd "$(dirname "$0")"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
../../public/runtime/build.sh "$folder/dist"
diff -r ../../public/runtime/dist "$folder/dist" ||
  { echo "public/runtime/dist is of other sources: run public/runtime/build.sh and commit what it makes" >&2; exit 1; }
./make_frames.py "$folder" 1000
XCACHE_FRAMES=$folder node --test --test-reporter=spec ./*.test.mjs
../Conformance/run.py --except Device/except.txt node Device/device.mjs
