#!/bin/bash
# kill -9 in the middle of gc and of backup: whatever moment it is, `doctor --deep` is clean afterwards.
#   KILLS=30
. "$(dirname "$0")/lib.sh"
needs python3
kills=${KILLS:-30}
python=("python3" "$repository/Benchmarks/keeping.py")

# killed PID: ends a process that this script started, at once; the shell's word about it is not wanted.
killed() { kill -9 "$1" 2>/dev/null || true; wait "$1" 2>/dev/null || true; }
pause() { sleep "$(awk -v r=$RANDOM -v most="$1" 'BEGIN { printf "%.3f", r / 32767 * most }')"; }
clean() { xcache doctor --data "$1" --deep >"$work/doctor" || fail "after kill $2: $(cat "$work/doctor")"; }

middle=0
for round in $(seq "$kills"); do
  start_server data --delta-wait 0
  "${python[@]}" fill "$server_port" 40 500 40 >/dev/null
  xcache gc --keep-versions 1 --keep-days 0 >"$work/gc" 2>/dev/null & client=$!
  pause 0.25
  kill -0 "$client" 2>/dev/null && middle=$((middle + 1))
  killed "$server_pid"
  started=()
  wait "$client" 2>/dev/null || true
  clean "$work/data" "$round of gc"
done
echo "gc: $kills kills, $middle of them before its answer; doctor --deep clean after each"

start_server data --delta-wait 0
middle=0
for round in $(seq "$kills"); do
  "${python[@]}" fill "$server_port" 20 500 200 >/dev/null
  "$XCACHE_BINARY" backup --data "$work/data" --to "$work/backup" >/dev/null 2>&1 & client=$!
  pause 0.25
  kill -0 "$client" 2>/dev/null && middle=$((middle + 1))
  killed "$client"
  clean "$work/data" "$round of backup"
  if [ -f "$work/backup/xcache.db" ]; then clean "$work/backup" "$round of backup (its copy)"; fi
done
echo "backup: $kills kills, $middle of them in its middle; doctor --deep clean after each, of data and copy"
