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

start_rsync() {
  mkdir -p "$work/rsync"
  cat >"$work/rsyncd.conf" <<CONF
pid file = $work/rsyncd.pid
log file = $work/rsyncd.log
use chroot = no
uid = $(id -u)
gid = $(id -g)
[bench]
path = $work/rsync
read only = no
CONF
  # A port that nobody has; one that is taken in between makes the daemon fail, and the next is tried.
  for _ in 1 2 3 4 5; do
    rsync_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    rsync --daemon --no-detach --address=127.0.0.1 --port="$rsync_port" --config="$work/rsyncd.conf" &
    rsync_pid=$!
    started+=("$rsync_pid")
    for _ in $(seq 100); do
      rsync --port="$rsync_port" 127.0.0.1:: >/dev/null 2>&1 || rsync "rsync://127.0.0.1:$rsync_port/" >/dev/null 2>&1 && return
      kill -0 "$rsync_pid" 2>/dev/null || break
      sleep 0.05
    done
  done
  fail "no rsync daemon: $(cat "$work/rsyncd.log" 2>/dev/null)"
}

# timed NAME COMMAND…: adds the command's microseconds to the variable NAME.
timed() {
  local name=$1 begin end
  shift
  begin=$(now)
  "$@" >/dev/null
  end=$(now)
  printf -v "$name" %d $((${!name} + end - begin))
}

publish() { xcache publish "$inputs/$1" --app bench --bundle main --base-url https://m.example.com --now; }
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
