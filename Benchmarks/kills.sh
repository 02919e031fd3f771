#!/bin/bash
# kill -9 in the middle of gc, backup and rollback: whatever moment it is, `doctor --deep` is clean afterwards.
#   KILLS=30 KINDS="gc backup rollback"
. "$(dirname "$0")/lib.sh"
needs python3
kills=${KILLS:-30}
kinds=${KINDS:-gc backup rollback}
python=("python3" "$repository/Benchmarks/keeping.py")

# killed PID: ends a process that this script started, at once; the shell's word about it is not wanted.
killed() { kill -9 "$1" 2>/dev/null || true; wait "$1" 2>/dev/null || true; }
pause() { sleep "$(awk -v r=$RANDOM -v most="$1" 'BEGIN { printf "%.3f", r / 32767 * most }')"; }
clean() { xcache doctor --data "$1" --deep >"$work/doctor" || fail "after kill $2: $(cat "$work/doctor")"; }

kill_gc() {
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
}

kill_backup() {
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
  stop "$server_pid"
}

kill_rollback() {
  middle=0
  committed=0
  for round in $(seq "$kills"); do
    start_server data --delta-wait 0
    before=$("${python[@]}" fill "$server_port" 12 500 200)
    steps=$((RANDOM % 10 + 1))
    xcache rollback --app keep --all-bundles --steps "$steps" >"$work/rollback" 2>&1 & client=$!
    pause 0.08
    kill -0 "$client" 2>/dev/null && middle=$((middle + 1))
    killed "$server_pid"
    started=()
    wait "$client" 2>/dev/null || true
    clean "$work/data" "$round of rollback"
    # All of it or nothing, with its row in the trail.
    after=$("${python[@]}" rollbacks "$work/data/xcache.db")
    read -r version acts releases <<<"$after"
    [ "$acts" = "$releases" ] || fail "after kill $round of rollback: $acts acts, $releases releases"
    [ "$version" = "$before" ] || [ "$version" = $((before + 1)) ] || fail "after kill $round of rollback: version $version"
    [ "$version" = "$before" ] || committed=$((committed + 1))
  done
  echo "rollback: $kills kills, $middle of them before its answer, $committed after its commit; doctor --deep clean after each"
}

for kind in $kinds; do
  "kill_$kind"
done
