#!/bin/bash
# Publishes three versions of a real web build in turn, and another build beside it; then holds what devices get,
# by patches and from nothing, against the folders that were published. Fails at the first difference.
. "$(dirname "$0")/lib.sh"
needs python3 diff
fetch_inputs
base=https://m.example.com/streamlit
other=https://m.example.com/swagger
start_server data
differences=0

# publish FOLDER BUNDLE BASE
publish() {
  local begin end answer
  begin=$(now)
  answer=$(xcache publish $create "$inputs/$1" --app bench --bundle "$2" --base-url "$3" -m "$1" --now --json)
  end=$(now)
  printf '%-18s version %s  +%-4s ~%-3s −%-4s %4s files  %6s s  %9s B sent of %9s B\n' "$1" \
    "$(field version <<<"$answer")" "$(field added <<<"$answer")" "$(field changed_count <<<"$answer")" \
    "$(field removed <<<"$answer")" "$(field files <<<"$answer")" "$(seconds $((end - begin)))" \
    "$(field sentBytes <<<"$answer")" "$(field totalBytes <<<"$answer")"
}

# pull DEVICE BASE: brings a device up to date; says how.
pull() { xcache pull --to "$work/$1" --app bench --force --tree "$2" --json | field update kind; }

# compare A B: counts what differs between two folders, which are of any size but 0.
compare() {
  local found
  [ -n "$(find "$1" -type f -print -quit)" ] || fail "$1 is empty"
  found=$(diff -rq "$1" "$2" | wc -l || true)
  differences=$((differences + found))
  [ "$found" = 0 ] || diff -rq "$1" "$2" | head -5 >&2 || true
}

# check FROM TO SOURCE BASE: a device at FROM and a new one come to the newest version; both must be like SOURCE.
check() {
  local how size
  cp -a "$work/device-$1" "$work/patched"
  how=$(pull patched "$4")
  pull fresh "$4" >/dev/null
  compare "$work/patched/tree" "$inputs/$3"
  compare "$work/fresh/tree" "$inputs/$3"
  compare "$work/patched/files" "$work/fresh/files"
  [ "$(find "$work/fresh/tree" -type f | wc -l)" = "$(find "$inputs/$3" -type f | wc -l)" ] || fail "not all files"
  printf '  %s → %s by %-5s and from nothing: %s files on the device, %s compared with %s, %s differences so far\n' \
    "$1" "$2" "$how" "$(find "$work/patched/files" -type f | wc -l)" \
    "$(find "$inputs/$3" -type f | wc -l)" "$3" "$differences"
  rm -rf "$work/patched"
  [ -d "$work/device-$2" ] && rm -rf "$work/fresh" || mv "$work/fresh" "$work/device-$2"
}

publish streamlit-1.49.0 streamlit $base
pull device-1 $base >/dev/null
compare "$work/device-1/tree" "$inputs/streamlit-1.49.0"
publish streamlit-1.49.1 streamlit $base
check 1 2 streamlit-1.49.1 $base
publish streamlit-1.50.0 streamlit $base
check 1 3 streamlit-1.50.0 $base
check 2 3 streamlit-1.50.0 $base
publish swagger-ui-1.1.0 swagger $other
for from in 1 2 3; do check $from 4 swagger-ui-1.1.0 $other; done
rm -rf "$work/device-4"
for from in 1 2 3; do check $from 4 streamlit-1.50.0 $base; done
publish streamlit-1.50.0 streamlit $base
stop "$server_pid"
echo "$differences differences"
[ "$differences" = 0 ]
