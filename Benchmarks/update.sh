#!/bin/bash
# What an update costs where it hurts: through a line of 100 ms each way and 1.6 Mbit/s, and when a fleet comes at once.
#
#   Benchmarks/update.sh [line] [fleet]      both where none is named; needs root (network namespaces), ip, curl, python3
#
# ROUNDS (3): how often each update is made through the line. DEVICES (1000): of the fleet. SERVER_BEFORE: a binary to take
# today's way from, where it isn't the same one with --pack-limit 0. Ends with 1 where a bar isn't held.
. "$(dirname "$0")/lib.sh"
needs python3 curl ip
fetch_inputs
wheels=$cache/wheels
fetch gradio 5.49.0 gradio-5.49.0 gradio/templates/frontend
fetch gradio 5.49.1 gradio-5.49.1 gradio/templates/frontend
status=0
python3 "$repository/Benchmarks/update.py" "$XCACHE_BINARY" "$inputs" "$work" "$@" || status=$?
exit $status
