#!/bin/bash
# Pages on the custom scheme in WebKitGTK, under a virtual display: run.sh [ROUNDS]; SCHEME_TRACE=1 prints each request.
# The build is in .build/scheme of the repository.
set -euo pipefail
cd "$(dirname "$0")/../.."
swift build --package-path Tests/Scheme --scratch-path .build/scheme ${SWIFT_FLAGS:-}

work=$(mktemp -d)
trap 'kill "$display" 2>/dev/null || true; rm -rf "$work"' EXIT
Xvfb -displayfd 3 -screen 0 430x932x24 -nolisten tcp 3>"$work/display" 2>/dev/null &
display=$!
for _ in $(seq 200); do [ -s "$work/display" ] && break; sleep 0.05; done
export DISPLAY=":$(cat "$work/display")" GDK_BACKEND=x11 LIBGL_ALWAYS_SOFTWARE=1 WEBKIT_DISABLE_DMABUF_RENDERER=1
export XDG_RUNTIME_DIR="$work" TMPDIR="$work" NO_AT_BRIDGE=1 GIO_USE_VFS=local GSETTINGS_BACKEND=memory
timeout "${SCHEME_SECONDS:-600}" .build/scheme/debug/scheme-proof Tests/Scheme/Site "${1:-1}"
