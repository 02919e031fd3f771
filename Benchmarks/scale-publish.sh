#!/bin/bash
# Publishing many small files: `publish --now` into an origin against `rsync -a` into a daemon, both on this machine, in
# alternating rounds. The publish is durable when it returns; rsync's copy isn't.
#   COUNTS="1000 10000 100000" ROUNDS=3
# Nothing is removed before the end: ext4 looks for a new file's inode behind all that were freed in the last minutes,
# and that would be in the times. Where others removed many files lately (a build, another bench), it is all the same, and was
# most of an origin's time once: each folder is put among block groups of its own (chattr +T), where the file system can.
. "$(dirname "$0")/lib.sh"
needs rsync python3
read -ra counts <<<"${COUNTS:-1000 10000 100000}"
rounds=${ROUNDS:-3}
publish_first=0 rsync_first=0 publish_same=0 rsync_same=0

publish() { xcache publish $create "$work/in/$1" --app bench --bundle main --base-url https://m.example.com --now --json >"$work/answer.json"; }
copy() { rsync -a --delete "$work/in/$1/" "rsync://127.0.0.1:$rsync_port/bench/$2/"; }

# publish_round COUNT ROUND: each into an origin and with a cache of its own.
publish_round() {
  export XDG_CACHE_HOME=$work/cache-$1-$2
  start_server "data-$1-$2"
  timed publish_first publish "$1"
  sent=$(field sentBytes <"$work/answer.json") own=$(field uploadedBytes <"$work/answer.json")
  [ "$(field added <"$work/answer.json")" = "$1" ] || fail "not all of $1 files were published"
  # Coding the manifest, and what the disk still writes of rsync's files, go on behind the answer.
  quiet
  timed publish_same publish "$1"
  [ "$(field changed <"$work/answer.json")" = False ] || fail "the second publish changed something"
  stop "$server_pid"
}

rsync_round() {
  timed rsync_first copy "$1" "$1-$2"
  sync
  timed rsync_same copy "$1" "$1-$2"
}

mkdir -p "$work/in" "$work/rsync"
chattr +T "$work" "$work/rsync" 2>/dev/null || true
for count in "${counts[@]}"; do python3 "$repository/Benchmarks/scale_files.py" "$work/in/$count" "$count"; done
# The hash cache trusts files that are at least two seconds old.
sync
sleep 2.1
start_rsync
# Once for nothing, so that both find the files and themselves in memory.
publish_round "${counts[0]}" 0
rsync_round "${counts[0]}" 0

row() { printf '%9s  %9s %9s %6s   %9s %9s %6s   %11s %6s\n' "$@"; }
row files first rsync ratio "no change" rsync ratio "bytes sent" "of own"
for count in "${counts[@]}"; do
  publish_first=0 rsync_first=0 publish_same=0 rsync_same=0
  for round in $(seq "$rounds"); do
    if ((round % 2)); then publish_round "$count" "$round"; rsync_round "$count" "$round"
    else rsync_round "$count" "$round"; publish_round "$count" "$round"; fi
  done
  first=$(ratio $publish_first $rsync_first) same=$(ratio $publish_same $rsync_same) bytes=$(ratio "$sent" "$own")
  row "$count" "$(seconds $((publish_first / rounds)))" "$(seconds $((rsync_first / rounds)))" "$first" \
    "$(seconds $((publish_same / rounds)))" "$(seconds $((rsync_same / rounds)))" "$same" "$sent" "$bytes"
done
stop "$rsync_pid" || true
echo "bars, for the last row: first publish 1.5, no change 0.7, bytes sent 1.6"
at_most "$first" 1.5 && at_most "$same" 0.7 && at_most "$bytes" 1.6
