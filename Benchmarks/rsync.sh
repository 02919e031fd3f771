#!/bin/bash
# Three versions of a real web build in turn: `publish --now` into an origin against `rsync -a` into a daemon, both
# on this machine, in alternating rounds. The publish is durable when it returns; rsync's copy isn't.
#   ROUNDS=5
. "$(dirname "$0")/lib.sh"
needs rsync python3
fetch_inputs
rounds=${ROUNDS:-5}
versions=(streamlit-1.49.0 streamlit-1.49.1 streamlit-1.50.0)
publish_sum=0 rsync_sum=0 publish_same=0 rsync_same=0

publish() { xcache publish $create "$inputs/$1" --app bench --bundle main --base-url https://m.example.com --now; }
copy() { rsync -a --delete "$inputs/$1/" "rsync://127.0.0.1:$rsync_port/bench/"; }

publish_round() {
  rm -rf "$work/cache"
  start_server "data-$1"
  for version in "${versions[@]}"; do timed publish_sum publish "$version"; done
  timed publish_same publish "$version"
  stop "$server_pid"
  rm -rf "$work/data-$1"
}

rsync_round() {
  rm -rf "$work/rsync"
  mkdir "$work/rsync"
  for version in "${versions[@]}"; do timed rsync_sum copy "$version"; done
  timed rsync_same copy "$version"
  diff -r "$inputs/$version" "$work/rsync" >/dev/null || fail "rsync's copy differs"
}

start_rsync
# Once for nothing, so that both find the files and themselves in memory.
publish_round 0
rsync_round
publish_sum=0 rsync_sum=0 publish_same=0 rsync_same=0
for round in $(seq "$rounds"); do
  if ((round % 2)); then publish_round "$round"; rsync_round; else rsync_round; publish_round "$round"; fi
done
stop "$rsync_pid" || true

changed=$(ratio $publish_sum $rsync_sum)
same=$(ratio $publish_same $rsync_same)
echo "$rounds rounds, three versions each: publish $(seconds $publish_sum) s, rsync $(seconds $rsync_sum) s, ratio $changed (bar 2)"
echo "$rounds times nothing changed:       publish $(seconds $publish_same) s, rsync $(seconds $rsync_same) s, ratio $same (bar 1)"
at_most "$changed" 2 && at_most "$same" 1
