#!/bin/bash
# Polls of others while 5,000 connections stand idle, 200 clients read 1 MB at 1 KB/s, or 500 heads arrive a byte a
# second: how much their p99 rises, at xcache and at nginx. And what 10,000 idle connections cost in memory.
#   THREADS=1 RUNS=5 SECONDS_EACH=6 BARS=1 (the bars are multiplied with it)
. "$(dirname "$0")/http-lib.sh"
needs python3 wrk nginx
[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 12000 ] ||
  fail "10,000 connections need 12,000 descriptors, and this session may have $(ulimit -Hn): raise \`ulimit -Hn\`"
ulimit -Sn "$(ulimit -Hn)"
start_shop
start_nginx "$work/alone"
# The second pair is for the others; what they ask for is the same.
cp -r "$work/data" "$work/second"
start_server second --threads "$threads"
start_nginx "$work/held"
python3 "$repository/Benchmarks/http_calm.py" measure "$server_pid" "$nginx_pid" "$work/alone" "$work/held" \
  "${RUNS:-5}" "${SECONDS_EACH:-6}" "${BARS:-1}"
