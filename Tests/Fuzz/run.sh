#!/bin/bash
# Fuzzes the HTTP parser with libFuzzer and AddressSanitizer: run.sh [SECONDS], 60 where not said.
# What it finds is kept in .build/fuzz/found; a run without a find ends with 0. New inputs that reach new code are
# kept in .build/fuzz/corpus beside the seeds of Tests/Fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=.build/fuzz
mkdir -p "$work/corpus" "$work/found"
# Swift's crash reporter faults inside AddressSanitizer, and would hide the find.
export SWIFT_BACKTRACE=enable=no
swiftc -swift-version 6 -parse-as-library -package-name xcache -module-name HTTPFuzz -use-ld=lld -O -g -enable-experimental-feature Lifetimes \
  -sanitize=fuzzer,address $(find Sources/HTTP -name '*.swift') Tests/Fuzz/RequestFuzz.swift -o "$work/request-fuzz"
exec "$work/request-fuzz" -max_total_time="${1:-60}" -max_len=4096 -timeout=10 -print_final_stats=1 \
  -artifact_prefix="$work/found/" "$work/corpus" Tests/Fuzz/corpus
