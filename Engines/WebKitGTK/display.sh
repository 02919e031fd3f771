#!/bin/bash
# Runs a command under a virtual display of its own, with what WebKit keeps in a folder that goes afterwards: display.sh COMMAND…
set -euo pipefail
work=$(mktemp -d)
# WebKit's processes may still write there for a moment, which is no failure of the command.
trap 'kill "$display" 2>/dev/null || true; rm -rf "$work" 2>/dev/null || { sleep 2; rm -rf "$work" || true; }' EXIT
# Each thread that ends would take with it what it started, so Xvfb is this script's.
Xvfb -displayfd 3 -screen 0 430x932x24 -nolisten tcp 3>"$work/display" >/dev/null 2>&1 &
display=$!
for _ in $(seq 200); do [ -s "$work/display" ] && break; sleep 0.05; done
export DISPLAY=":$(cat "$work/display")" GDK_BACKEND=x11 LIBGL_ALWAYS_SOFTWARE=1 WEBKIT_DISABLE_DMABUF_RENDERER=1
export XDG_RUNTIME_DIR="$work" TMPDIR="$work" NO_AT_BRIDGE=1 GIO_USE_VFS=local GSETTINGS_BACKEND=memory
"$@"
