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

mirror() { xcache mirror --data "$work/$1" --to "$work/$2" "${@:3}"; }
copy() { mkdir -p "$2"; rsync -a "$1/" "$2/"; }

# bar WHAT VALUE MOST
bar() {
  local words=holds
  at_most "$2" "$3" || { words="DOES NOT HOLD"; verdict=1; }
  printf '  %-44s %8s  (at most %s: %s)\n' "$1" "$2" "$3" "$words"
}

# measure DATA: first and no-change runs of both, the one after the other and the other way round. Each round has new
# folders, and nothing is removed before all are done: some file systems look for a free inode for long where many were
# freed just now, and who comes first after that would pay.
measure() {
  local data=$1 round mirror_first=0 rsync_first=0 mirror_same=0 rsync_same=0
  # Once for nothing, so that both find the files and themselves in memory; the tree that rsync copies.
  mirror "$data" "$data-tree" >/dev/null
  copy "$work/$data-tree" "$work/$data-warm"
  for round in $(seq "$rounds"); do
    sync
    if ((round % 2)); then
      timed mirror_first mirror "$data" "$data-www$round"
      sync
      timed rsync_first copy "$work/$data-tree" "$work/$data-copy$round"
    else
      timed rsync_first copy "$work/$data-tree" "$work/$data-copy$round"
      sync
      timed mirror_first mirror "$data" "$data-www$round"
    fi
    sync
    timed mirror_same mirror "$data" "$data-www$round"
    timed rsync_same copy "$work/$data-tree" "$work/$data-copy$round"
  done
  echo "  $rounds rounds at load $(cut -d' ' -f1 /proc/loadavg): first mirror $(seconds $mirror_first) s, rsync $(seconds $rsync_first) s; no change mirror $(seconds $mirror_same) s, rsync $(seconds $rsync_same) s"
  bar "first run against rsync" "$(ratio $mirror_first $rsync_first)" 1.2
  bar "no-change run against rsync" "$(ratio $mirror_same $rsync_same)" 0.5
}

# files FOLDER: inode, time of change, size and name of each file; a file that was written anew has another inode.
files() { (cd "$1" && find . -type f ! -path './.xcache-mirror/*' -printf '%i %T@ %s %p\n' | sort); }

echo "streamlit, three versions"
start_server streamlit
for version in 1.49.0 1.49.1 1.50.0; do
  xcache publish $create "$inputs/streamlit-$version" --app bench --bundle main --base-url https://m.example.com --now >/dev/null
done
# Deltas that are still made would take turns with both.
quiet
measure streamlit
stop "$server_pid"

echo "$large resources"
python3 "$repository/Benchmarks/scale.py" make "$work/large" "$large"
sleep 2.1
start_server scale
publish() { xcache publish $create "$work/large" --app bench --bundle main --base-url https://m.example.com/scale --now >/dev/null; }
publish
measure scale
mirror scale scale-www1 >/dev/null
files "$work/scale-www1" >"$work/before"
echo changed >"$work/large/d0/f0.js"
publish
sync
begin=$(now)
mirror scale scale-www1 --json >"$work/changed.json"
bar "one changed resource, seconds" "$(seconds $(($(now) - begin)))" 3
# "bytes written = new files + whole-manifest documents + mirror.json": what the run says, and what the disk shows.
files "$work/scale-www1" | comm -13 "$work/before" - >"$work/written"
seen=$(awk '{ n += $3 } END { print n }' "$work/written")
said=$(field writtenBytes <"$work/changed.json")
cut -d' ' -f3- "$work/written" | sed 's/^/    /'
bar "files written" "$(wc -l <"$work/written")" 8
bar "bytes written, as counted from outside" "$seen" "$said"
bar "bytes written, as the run says" "$said" "$seen"
stop "$server_pid"
exit $verdict
