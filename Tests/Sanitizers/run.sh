#!/bin/bash
# Builds every test with a sanitizer and runs them:   Tests/Sanitizers/run.sh thread|address [OPTIONS OF swift test…]
# Fails when a test fails, and when the tests or a program that they started reported anything.
set -euo pipefail
cd "$(dirname "$0")/../.."
kind=$1
shift
build=(--sanitize="$kind" --scratch-path ".build/$kind-sanitizer")
swift build --build-tests "${build[@]}"

# Reports go to files: tests read the standard error of the programs that they start.
reports=$(mktemp -d "${TMPDIR:-/tmp}/xcache-sanitizer.XXXXXX")
# Some of these run as other users.
chmod 1777 "$reports"
export XCACHE_SANITIZER=$kind
export TSAN_OPTIONS="log_path=$reports/report"
# The test runner keeps what it allocated until it exits, so a search for leaks finds its memory, not ours. The programs
# that the tests start are searched (Tests/EndToEnd/Support/Child.swift).
export ASAN_OPTIONS="detect_leaks=0:log_path=$reports/report"
status=0
swift test --skip-build "${build[@]}" "$@" || status=$?
if compgen -G "$reports/*" >/dev/null; then
  cat "$reports"/*
  echo "$kind sanitizer: reports, which stay in $reports" >&2
  exit 1
fi
rm -r "$reports"
exit $status
