#!/bin/bash
# The zstd decoder in Swift against libzstd, in turn and on the same files: at least 150 MB/s on scripts at levels 3 and 19.
# zstd.sh [FOLDER]: the static files of streamlit 1.50.0 where none is named.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

folder=${1:-}
if [ -z "$folder" ]; then
  wheels=.build/bench-input
  mkdir -p "$wheels"
  [ -f "$wheels"/streamlit-1.50.0-*.whl ] || pip download -q --no-deps -d "$wheels" streamlit==1.50.0
  unzip -q "$wheels"/streamlit-1.50.0-*.whl 'streamlit/static/*' -d "$work"
  folder=$work/streamlit/static
fi
.build/release/zstd-bench "$folder"
