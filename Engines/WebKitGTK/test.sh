#!/bin/bash
# Builds the WebKitGTK adapter and runs its tests under a virtual display: test.sh XCACHE [FILTER]
# The build is in .build/webkit of the repository; XCACHE is the program that publishes.
set -euo pipefail
cd "$(dirname "$0")/../.."
XCACHE_BINARY=$(realpath "$1")
export XCACHE_BINARY
swift build --package-path Engines/WebKitGTK --scratch-path .build/webkit --build-tests ${SWIFT_FLAGS:-}
Engines/WebKitGTK/display.sh \
  swift test --package-path Engines/WebKitGTK --scratch-path .build/webkit --skip-build ${SWIFT_FLAGS:-} --filter "${2:-.}"
