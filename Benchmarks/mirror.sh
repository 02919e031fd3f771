#!/bin/bash
# A static copy of an origin against `rsync -a` of the same tree, on this machine, in alternating rounds: the history of
# three streamlit versions, and a synthetic channel of 100,000 resources. The mirror's files are on the disk when it
# ends, hashed and synced; rsync's aren't.
#   ROUNDS=3 RESOURCES=100000
. "$(dirname "$0")/lib.sh"
needs rsync python3
fetch_inputs
rounds=${ROUNDS:-3}
large=${RESOURCES:-100000}
verdict=0

# timed NAME COMMAND…: adds the command's microseconds to the variable NAME.
timed() {
  local name=$1 begin end
  shift
  begin=$(now)
  "$@" >/dev/null
  end=$(now)
  printf -v "$name" %d $((${!name} + end - begin))
}

mirror() { xcache mirror --data "$work/$1" --to "$work/$2" "${@:3}"; }
copy() { mkdir -p "$2"; rsync -a "$1/" "$2/"; }

# bar WHAT VALUE MOST
bar() {
  local words=holds
  at_most "$2" "$3" || { words="DOES NOT HOLD"; verdict=1; }
  printf '  %-44s %8s  (at most %s: %s)\n' "$1" "$2" "$3" "$words"
}

# measure DATA: first and no-change runs of both, the one after the other and the other way round.
measure() {
  local data=$1 mirror_first=0 rsync_first=0 mirror_same=0 rsync_same=0
  # Once for nothing, so that both find the files and themselves in memory; the tree that rsync copies.
  mirror "$data" tree >/dev/null
  copy "$work/tree" "$work/warm"
  rm -rf "$work/warm"
  for round in $(seq "$rounds"); do
    rm -rf "$work/www" "$work/copy"
    sync
    if ((round % 2)); then
      timed mirror_first mirror "$data" www
      sync
      timed rsync_first copy "$work/tree" "$work/copy"
    else
      timed rsync_first copy "$work/tree" "$work/copy"
      sync
      timed mirror_first mirror "$data" www
    fi
    sync
    timed mirror_same mirror "$data" www
    timed rsync_same copy "$work/tree" "$work/copy"
  done
  echo "  $rounds rounds: first mirror $(seconds $mirror_first) s, rsync $(seconds $rsync_first) s; no change mirror $(seconds $mirror_same) s, rsync $(seconds $rsync_same) s"
  bar "first run against rsync" "$(ratio $mirror_first $rsync_first)" 1.2
  bar "no-change run against rsync" "$(ratio $mirror_same $rsync_same)" 0.5
  rm -rf "$work/www" "$work/copy" "$work/tree"
}

echo "streamlit, three versions"
start_server streamlit
for version in 1.49.0 1.49.1 1.50.0; do
  xcache publish "$inputs/streamlit-$version" --app bench --bundle main --base-url https://m.example.com --now >/dev/null
done
measure streamlit
stop "$server_pid"

echo "$large resources"
python3 "$repository/Benchmarks/scale.py" make "$work/large" "$large"
sleep 2.1
start_server scale
publish() { xcache publish "$work/large" --app bench --bundle main --base-url https://m.example.com/scale --now >/dev/null; }
publish
measure scale
mirror scale www >/dev/null
echo changed >"$work/large/d0/f0.js"
publish
begin=$(now)
mirror scale www --json >"$work/changed.json"
bar "one changed resource, seconds" "$(seconds $(($(now) - begin)))" 3
# "bytes written = new files + whole-manifest documents + mirror.json", and what one version's small documents take.
documents=$(cd "$work/www" && stat -c %s mirror.json xcache/bench/configure.json xcache/bench/configure/2.json \
  xcache/bench/release/2.json xcache/bench/info.json xcache/bench/patch/1-2.json xcache/bench/version.json |
  awk '{ n += $1 } END { print n }')
bar "bytes written beyond its documents" $(($(field writtenBytes <"$work/changed.json") - documents)) "$(stat -c %s "$work/large/d0/f0.js")"
stop "$server_pid"
exit $verdict
