#!/bin/bash
# Builds the WebKitGTK adapter and runs its tests under a virtual display: test.sh XCACHE [FILTER]
# The build is in .build/webkit of the repository; XCACHE is the program that publishes.
set -euo pipefail
cd "$(dirname "$0")/../.."
XCACHE_BINARY=$(realpath "$1")
export XCACHE_BINARY
swift build --package-path Engines/WebKitGTK --scratch-path .build/webkit --build-tests ${SWIFT_FLAGS:-}

work=$(mktemp -d)
trap 'kill "$display" 2>/dev/null || true; rm -rf "$work"' EXIT
# Each thread that ends would take with it what it started, so Xvfb is this script's.
Xvfb -displayfd 3 -screen 0 430x932x24 -nolisten tcp 3>"$work/display" 2>/dev/null &
display=$!
for _ in $(seq 200); do [ -s "$work/display" ] && break; sleep 0.05; done
export DISPLAY=":$(cat "$work/display")" GDK_BACKEND=x11 LIBGL_ALWAYS_SOFTWARE=1 WEBKIT_DISABLE_DMABUF_RENDERER=1
export XDG_RUNTIME_DIR="$work" TMPDIR="$work"
swift test --package-path Engines/WebKitGTK --scratch-path .build/webkit --skip-build ${SWIFT_FLAGS:-} --filter "${2:-.}"
