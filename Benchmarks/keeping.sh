#!/bin/bash
# 1,000 releases over 20,000 resources: the database stays under 60 MB, gc to 50 versions takes under 5 s, and polls
# during gc and backup have a p99 (the median of the seconds' p99) of at most twice that of the same run without.
#   RELEASES=1000 RESOURCES=20000 CHANGES=76
. "$(dirname "$0")/lib.sh"
needs python3 wrk
python=("python3" "$repository/Benchmarks/keeping.py")
releases=${RELEASES:-1000}
failed=0
gate() { # gate WHAT VALUE BAR UNIT
  if at_most "$2" "$3"; then echo "  $1: $2 $4 (at most $3)"; else echo "  FAILED $1: $2 $4 (at most $3)"; failed=1; fi
}
megabytes() { awk -v n="$(stat -c %s "$1")" 'BEGIN { printf "%.1f", n / 1e6 }'; }
fill() { "${python[@]}" fill "$server_port" "$1" "${RESOURCES:-20000}" "${CHANGES:-76}"; }

start_server data --delta-wait 0
echo "$releases releases over ${RESOURCES:-20000} resources, ${CHANGES:-76} changes each"
fill "$releases" >/dev/null
stop "$server_pid"
gate "xcache.db after the releases" "$(megabytes "$work/data/xcache.db")" 60 MB

cp -r "$work/data" "$work/copy"
# What the copy wrote is not gc's to wait for.
sync
begin=$(now)
report=$(xcache gc --data "$work/copy" --keep-versions 50 --keep-days 0 --json)
took=$(seconds $(($(now) - begin)))
gate "gc to 50 versions" "$took" 5 s
gate "the longest of its transactions" "$(field longestWriteMilliseconds <<<"$report")" 50 ms
echo "  it dropped $(field entries <<<"$report") rows and $(field blobs files <<<"$report") files"
xcache doctor --data "$work/copy" --deep | sed 's/^/  doctor: /'

start_server data --delta-wait 0
read -r base seconds <<<"$("${python[@]}" p99 "$server_port")"
echo "polls alone: p99 $base µs ($seconds s)"
read -r during seconds <<<"$("${python[@]}" p99 "$server_port" "$XCACHE_BINARY" gc --keep-versions 50 --keep-days 0)"
gate "polls during gc ($seconds s): p99 $during µs, ratio" "$(ratio "$during" "$base")" 2 ""
read -r during seconds <<<"$("${python[@]}" p99 "$server_port" "$XCACHE_BINARY" backup --data "$work/data" --to "$work/backup")"
gate "polls during backup ($seconds s): p99 $during µs, ratio" "$(ratio "$during" "$base")" 2 ""
exit $failed
