#!/bin/bash
# Time to the first byte with a system resolver and a name service that answer, lie, hang and are down, each combination in a
# network namespace of its own (root is needed): a plain client beside the resolver's three orders. Two requests each, the
# second one over a connection that stands where there is one.
set -euo pipefail
cd "$(dirname "$0")/.."
bench=${NETWORK_BENCH:-.build/release/network-bench}
exec unshare -mn --propagation private python3 Benchmarks/names.py "$(realpath "$bench")"
