#!/bin/bash
# Tests the web runtime outside of browsers: types, the decoder against libzstd (1,000 frames), docs/vectors, rules;
# that the files in public/runtime/dist are up to date; and the worker against the conformance cases that apply.
set -euo pipefail
cd "$(dirname "$0")"
# Debian's packages are for Debian's Python; another one may come first in PATH.
python3 -c 'import zstandard' 2>/dev/null || PATH=/usr/bin:$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
../../public/runtime/build.sh "$folder/dist"
diff -r ../../public/runtime/dist "$folder/dist" ||
  { echo "public/runtime/dist is of other sources: run public/runtime/build.sh and commit what it makes" >&2; exit 1; }
# Limits for the worker's start-up, a page's first load, what sites with a root have besides, and what a page that failed loads: 14 KB, 4 KB,
# 4 KB and 2 KB with gzip.
for bar in xcache-sw.js:14336 xcache.js:4096 xcache-sw-trust.js:4096 xcache-samples.js:2048; do
  size=$(gzip -9 <"$folder/dist/${bar%:*}" | wc -c)
  [ "$size" -le "${bar#*:}" ] || { echo "${bar%:*} is $size bytes by gzip; the bar is ${bar#*:}" >&2; exit 1; }
done
./make_frames.py "$folder" 1000
./make_pack.py "$folder"
./make_first.py "$folder"
XCACHE_FRAMES=$folder node --expose-gc --test --test-reporter=spec ./*.test.mjs
../Conformance/run.py --without resuming --except Device/except.txt node Device/device.mjs
