#!/bin/bash
# Measures what updates cost on published apps: the static folders of streamlit's wheels, real bundler output.
#
#   Benchmarks/deltas.sh [CACHE]      CACHE: where the wheels are kept (default: ~/.cache/xcache-benchmarks)
#
# Publishes three versions, pulls each as a device, and ends with 1 where a limit is not held:
#   the bytes of both updates, the relatives found, the device's files, seconds and memory of making the deltas.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${1:-$HOME/.cache/xcache-benchmarks}
xcache=${XCACHE:-.build/release/xcache}
bench=${DELTA_BENCH:-.build/release/delta-bench}
[ -x "$xcache" ] || swift build -c release --product xcache
[ -x "$bench" ] || swift build -c release --product delta-bench
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
for version in 1.49.0 1.49.1 1.50.0; do
  [ -d "$cache/streamlit-$version" ] && continue
  [ -f "$cache/streamlit-$version-py3-none-any.whl" ] ||
    pip download -q --no-deps -d "$cache" "streamlit==$version"
  python3 - "$cache" "$version" <<'PYTHON'
import sys, zipfile
cache, version = sys.argv[1:]
wheel = zipfile.ZipFile(f"{cache}/streamlit-{version}-py3-none-any.whl")
for name in wheel.namelist():
    if name.startswith("streamlit/static/"):
        wheel.extract(name, f"{cache}/streamlit-{version}")
PYTHON
done
static() { echo "$cache/streamlit-$1/streamlit/static"; }

folder=$(mktemp -d)
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$folder"' EXIT
failed=0
# limit WHAT VALUE MOST
limit() {
  if python3 -c "import sys; sys.exit(not $2 <= $3)"; then verdict=ok; else verdict=FAILS; failed=1; fi
  printf '  %-52s %12s  (at most %s) %s\n' "$1" "$2" "$3" "$verdict"
}

"$xcache" serve --data "$folder/data" --listen 127.0.0.1:0 >"$folder/log" 2>&1 &
server=$!
for _ in $(seq 100); do grep -q 'listens on' "$folder/log" && break; sleep 0.1; done
export XCACHE_SERVER XCACHE_TOKEN XDG_CACHE_HOME=$folder/cache
XCACHE_SERVER=$(grep -o 'http://127[0-9.:]*' "$folder/log" | head -1)
XCACHE_TOKEN=$(cat "$folder/data/admin.token")
member() { python3 -c "import json,sys; d=json.load(open(sys.argv[1]))
for k in sys.argv[2].split('.'): d=d[k]
print(d)" "$1" "$2"; }

publish() {
  "$xcache" publish --create "$(static "$1")" --app streamlit --bundle main --base-url https://m.example.com/st/ \
    --json >"$folder/publish-$1.json"
}
pull() {
  "$xcache" pull --to "$folder/device" --app streamlit --tree https://m.example.com/st/ --force --compare-gzip --json \
    >"$folder/pull-$1.json"
  diff -rq "$(static "$1")" "$folder/device/tree" >/dev/null || { echo "  the device's files differ from $1"; failed=1; }
}

publish 1.49.0
pull 1.49.0
# Sums are of dcz files, their 40-byte heads included, and plain bodies where a file has no delta. The limits are 1.1
# times a reference of 8 and 489 KB (1,024 bytes); "8 KB" is a rounded number, so its limit is that of 8.49.
for step in "1.49.1 9563" "1.50.0 550809"; do
  read -r version most <<<"$step"
  echo "update to streamlit $version"
  publish "$version"
  pull "$version"
  planned=$(member "$folder/publish-$version.json" deltas.cost.last1.bytes)
  served=$(member "$folder/pull-$version.json" update.bytesFetched)
  limit "bytes an update downloads" "$served" "$most"
  limit "bytes planned, as a share of those served" \
    "$(python3 -c "print(round(max($planned/$served, $served/$planned), 3))")" 1.1
  limit "seconds until it was live with its deltas" \
    "$(python3 -c "print($(member "$folder/publish-$version.json" deltas.milliseconds)/1000)")" 25
  echo "  gzip would have cost $(member "$folder/pull-$version.json" update.bytesByGzip) bytes"
done
limit "deltas that were of no use to the device" "$(member "$folder/pull-1.50.0.json" update.deltasFailed)" 0
limit "peak memory of the server, MB" "$(awk '/VmHWM/{print int($2/1000)}' "/proc/$server/status")" 1000

for step in "1.49.0 1.49.1" "1.49.1 1.50.0"; do
  read -r old new <<<"$step"
  echo "every older file tried for each new one, $old to $new"
  "$bench" "$(static "$old")" "$(static "$new")" --exhaustive >"$folder/bench" || true
  limit "files with a relative that was not found" "$(awk '/^relatives lost/{print $3}' "$folder/bench")" 0
  grep -E '^(seconds|peak MB)' "$folder/bench" | sed 's/^/  alone: /'
done
exit $failed
