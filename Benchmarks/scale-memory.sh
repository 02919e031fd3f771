#!/bin/bash
# Memory of large channels and of many: what is there after work against a fresh start with the same content, and what a
# start, a poll and a release cost beside a thousand other channels.
#   SIZES="1000 10000 100000" CHANNELS="1 100 1000" BARS=1 (the bars in seconds are multiplied with it)
# Memory is VmRSS, what ps, top and a supervisor show; the program's own pages are in it, the page cache is not.
. "$(dirname "$0")/lib.sh"
needs python3 curl
sizes=${SIZES:-1000 10000 100000}
counts=${CHANNELS:-1 100 1000}
base=https://m.example.com/scale
failed=0
gate() { # gate WHAT VALUE BAR
  if at_most "$2" "$3"; then echo "  $1: $2 (at most $3)"; else echo "  FAILED $1: $2 (at most $3)"; failed=1; fi
}
timed() { awk -v a="$1" -v b="${BARS:-1}" 'BEGIN { print a * b }'; }
# megabytes FIELD: of the server's /proc/PID/status.
megabytes() { awk -v name="$1:" '$1 == name { printf "%.0f", $2 / 1024 }' "/proc/$server_pid/status"; }
cpu_seconds() { awk -v t="$(cpu)" -v hz="$(getconf CLK_TCK)" 'BEGIN { printf "%.2f", t / hz }'; }
tool() { python3 "$repository/Benchmarks/scale_memory.py" "$@"; }
# settled: megabytes in memory once nothing is going on and what is free was given back.
settled() {
  # Deltas on older versions are made behind everything else: on a busy machine that looks like rest.
  for _ in $(seq 600); do
    [ "$(curl -s "$XCACHE_SERVER/metrics" | awk '$1 == "xcache_delta_versions_pending" { print $2 }')" != 0 ] || break
    sleep 1
  done
  quiet
  local last=0 now=1 same=0
  for _ in $(seq 60); do
    now=$(megabytes VmRSS)
    if [ $((now - last)) -lt 2 ] && [ $((last - now)) -lt 2 ]; then same=$((same + 1)); else same=0; fi
    [ $same -lt 8 ] || break
    last=$now
    sleep 2
  done
  echo "$now"
}

echo "one channel: publish, the whole manifest, 20 releases of one file, 20 patches, a diff"
echo "  resources  peak MB  after MB  fresh start MB  ratio  bytes a resource"
for size in $sizes; do
  python3 "$repository/Benchmarks/scale.py" make "$work/files" "$size"
  # The hash cache trusts files that are at least two seconds old.
  sleep 2.1
  start_server "data-$size"
  empty=$(megabytes VmRSS)
  xcache publish $create "$work/files" --app app --bundle main --base-url $base --now --json >/dev/null
  tool work "$server_port" app 20
  after=$(settled)
  peak=$(megabytes VmHWM)
  stop "$server_pid"
  start_server "data-$size"
  tool whole "$server_port" app
  fresh=$(settled)
  stop "$server_pid"
  ratio=$(ratio "$after" "$fresh")
  printf '  %9d  %7d  %8d  %14d  %5s  %16d\n' "$size" "$peak" "$after" "$fresh" "$ratio" \
    $(((fresh - empty) * 1048576 / size))
  rm -rf "$work/files" "$work/data-$size"
done
gate "memory after work with $size resources, against a fresh start" "$ratio" 1.25
gate "megabytes of a fresh start with $size resources" "$fresh" 120

echo "channels of 1,000 resources"
python3 "$repository/Benchmarks/scale.py" make "$work/files" 1000
sleep 2.1
echo "  channels  first poll s  of CPU  all warm s  of CPU  MB warm"
for count in $counts; do
  start_server "channels-$count"
  xcache publish $create "$work/files" --app c0 --bundle main --base-url $base --now --json >/dev/null
  tool channels "$server_port" "$count" "$work/files" $base
  stop "$server_pid"
  started_at=$(now)
  start_server "channels-$count"
  tool whole "$server_port" c0 version=1
  first=$(seconds $(($(now) - started_at))) first_cpu=$(cpu_seconds)
  tool warm "$server_port" "$count"
  warm=$(seconds $(($(now) - started_at))) warm_cpu=$(cpu_seconds)
  memory=$(settled)
  printf '  %8d  %12s  %6s  %10s  %6s  %7d\n' "$count" "$first" "$first_cpu" "$warm" "$warm_cpu" "$memory"
  if [ "$count" = "${counts%% *}" ]; then
    alone_pid=$server_pid alone_port=$server_port alone_token=$XCACHE_TOKEN
  fi
done
gate "seconds from a start with $count channels to its first answered poll" "$first" "$(timed 1)"
gate "seconds until all $count are warm" "$warm" "$(timed 15)"
gate "megabytes with $count channels warm" "$memory" 700
if [ "$alone_pid" != "$server_pid" ]; then
  echo "a release of one channel, in turn there and where it is beside ${counts%% *}"
  out=$(ALONE_TOKEN=$alone_token tool releases 30 "$alone_port" "$alone_pid" "$server_port" "$server_pid")
  echo "$out" | sed 's/^/  /'
  gate "its CPU there, against that of fewer channels" "$(awk '/^ratios/ { print $2 }' <<<"$out")" 1.2
  gate "its milliseconds" "$(awk '/^ratios/ { print $3 }' <<<"$out")" 1.2
  stop "$alone_pid"
fi
stop "$server_pid"
exit $failed
