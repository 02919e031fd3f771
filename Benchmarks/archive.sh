#!/bin/bash
# How long the origin takes to make a bundle zip, against `zip -6` on the same files in the same run: at most 0.6 of
# its wall time on 2 cores. archive.sh [FOLDER]: the static files of streamlit 1.50.0 where none is named.
# The origin's time is that of the first GET of bundle/1.zip: reading, deflating, hashing, syncing and sending.
set -euo pipefail
cd "$(dirname "$0")/.."
XCACHE=${XCACHE:-.build/release/xcache}
ROUNDS=${ROUNDS:-7}
BAR=${BAR:-0.6}
work=$(mktemp -d)
server=
trap '[ -n "$server" ] && kill "$server" && wait "$server" 2>/dev/null; rm -rf "$work"' EXIT

folder=${1:-}
if [ -z "$folder" ]; then
  wheels=.build/bench-input
  mkdir -p "$wheels"
  [ -f "$wheels"/streamlit-1.50.0-*.whl ] || pip download -q --no-deps -d "$wheels" streamlit==1.50.0
  unzip -q "$wheels"/streamlit-1.50.0-*.whl 'streamlit/static/*' -d "$work"
  folder=$work/streamlit/static
fi

"$XCACHE" serve --data "$work/data" --listen 127.0.0.1:0 2>"$work/log" &
server=$!
for _ in $(seq 100); do grep -q 'listens on' "$work/log" && break; sleep 0.1; done
url=$(sed -n 's|.*listens on \(http://[0-9.:]*\).*|\1|p' "$work/log")
"$XCACHE" publish --create "$folder" --server "$url" --token-file "$work/data/admin.token" --app bench --bundle main \
  --base-url https://m.example.com/ --now >/dev/null

seconds() { # of a command
  local start end
  start=$(date +%s%N)
  "$@" >/dev/null
  end=$(date +%s%N)
  echo $(((end - start) / 1000)) | awk '{printf "%.3f\n", $1 / 1e6}'
}
with_zip() { rm -f "$work/zip.zip"; (cd "$folder" && zip -6 -q -r "$work/zip.zip" .); }
# A machine that is so busy that the origin says "ask again" can't be measured on; the first call only waits for it.
with_origin() { curl -sSf "$@" -o "$work/origin.zip" "$url/xcache/bench/bundle/1.zip"; }
median() { sort -n | awk '{v[NR] = $1} END {print (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2)}'; }

with_zip; with_origin --retry 20 # both once, so that every file is in memory
for _ in $(seq "$ROUNDS"); do
  seconds with_zip >>"$work/zip.times"
  rm -rf "$work/data/derived/zips"
  seconds with_origin >>"$work/origin.times"
  sha256sum <"$work/origin.zip" >>"$work/sums"
done
unzip -tqq "$work/origin.zip"
[ "$(sort -u "$work/sums" | wc -l)" = 1 ] || { echo "the zips differ from round to round"; exit 1; }

zip=$(median <"$work/zip.times") origin=$(median <"$work/origin.times")
echo "files    $(find "$folder" -type f | wc -l), $(du -sb "$folder" | cut -f1) bytes, $(nproc) cores, $ROUNDS rounds"
echo "zip -6   median $zip s ($(sort -n "$work/zip.times" | sed -n '1p;$p' | paste -sd-)), $(stat -c %s "$work/zip.zip") bytes"
echo "origin   median $origin s ($(sort -n "$work/origin.times" | sed -n '1p;$p' | paste -sd-)), $(stat -c %s "$work/origin.zip") bytes"
awk -v a="$origin" -v b="$zip" -v bar="$BAR" 'BEGIN {printf "ratio    %.2f (bar %.2f)\n", a / b, bar; exit !(a / b <= bar)}'
