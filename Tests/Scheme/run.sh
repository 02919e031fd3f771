#!/bin/bash
# Pages on the custom scheme in WebKitGTK, under a virtual display: run.sh [ROUNDS]; SCHEME_TRACE=1 prints each request.
# The build is in .build/scheme of the repository.
set -euo pipefail
cd "$(dirname "$0")/../.."
swift build --package-path Tests/Scheme --scratch-path .build/scheme ${SWIFT_FLAGS:-}
Engines/WebKitGTK/display.sh timeout "${SCHEME_SECONDS:-600}" .build/scheme/debug/scheme-proof Tests/Scheme/Site "${1:-1}"
