#!/bin/bash
# Cost follows the change, not the size: a channel of 100,000 resources against one of 200.
#   RESOURCES=100000 ROUNDS=7
# A commit is measured by a client of its own (scale.py): from the moment the last byte of `POST …/releases` is with
# the kernel to the moment the answer's first byte is here. Both clocks are the client's.
. "$(dirname "$0")/lib.sh"
needs python3 wrk
large=${RESOURCES:-100000}
rounds=${ROUNDS:-7}
base=https://m.example.com/scale
python3 "$repository/Benchmarks/scale.py" make "$work/large" "$large"
python3 "$repository/Benchmarks/scale.py" make "$work/small" 200
# The hash cache trusts files that are at least two seconds old.
sleep 2.1
start_server data

publish() {
  local begin answer
  begin=$(now)
  answer=$(xcache publish $create "$work/$1" --app "$1" --bundle main --base-url $base --now --json)
  printf '  %-34s %7s s  +%s ~%s −%s, %s files read, %s B sent\n' "$2" "$(seconds $(($(now) - begin)))" \
    "$(field added <<<"$answer")" "$(field changed_count <<<"$answer")" "$(field removed <<<"$answer")" \
    "$(field filesRead <<<"$answer")" "$(field sentBytes <<<"$answer")"
}

memory() { awk '/VmRSS|VmHWM/ { printf "%s %d MB  ", $1, $2 / 1024 }' "/proc/$server_pid/status"; }

for app in small large; do
  echo "$app: $(find "$work/$app" -type f | wc -l) resources"
  publish $app "first publish"
  publish $app "nothing changed"
  echo changed >"$work/$app/d0/f0.js"
  publish $app "one file changed"
done
echo "  server: $(memory)"

echo "commits of one changed file:"
python3 "$repository/Benchmarks/scale.py" commits "$server_port" "$rounds" small large | tee "$work/commits"

# loops: ticks that the server's event loops used so far.
loops() {
  local total=0 task
  for task in "/proc/$server_pid/task"/*; do
    [[ $(cat "$task/comm") == loop-* ]] && total=$((total + $(ticks "$task/stat")))
  done
  echo "$total"
}

version() { xcache status --app "$1" --json | field version; }

# polls APP: microseconds of the event loops' CPU for one "nothing new" poll, and the seconds that all other threads
# of the server worked meanwhile.
polls() {
  local query loops all out requests
  query="app=$1&version=$(version "$1")&patch=1"
  loops=$(loops) all=$(cpu)
  out=$(wrk -t1 -c8 -d"${SECONDS_EACH:-2}s" "$XCACHE_SERVER/configure.json?$query")
  loops=$(($(loops) - loops)) all=$(($(cpu) - all))
  requests=$(awk '/requests in/ { print $1 }' <<<"$out")
  ! grep -q 'Non-2xx' <<<"$out" || fail "$out"
  awk -v t="$loops" -v o=$((all - loops)) -v n="$requests" -v hz="$(getconf CLK_TCK)" \
    'BEGIN { printf "%.3f %.2f", t / hz / n * 1e6, o / hz }'
}

echo "polls with nothing new, CPU of the event loops per request (and of the server's other threads meanwhile):"
quiet
polls small >/dev/null
small_sum=0 large_sum=0
for round in $(seq 6); do
  read -r small_cost small_else <<<"$(polls small)"
  read -r large_cost large_else <<<"$(polls large)"
  echo "  200 resources $small_cost µs ($small_else s), $large resources $large_cost µs ($large_else s)"
  small_sum=$(awk -v a="$small_sum" -v b="$small_cost" 'BEGIN { print a + b }')
  large_sum=$(awk -v a="$large_sum" -v b="$large_cost" 'BEGIN { print a + b }')
done
poll_ratio=$(ratio "$large_sum" "$small_sum")
echo "  ratio of the sums: $poll_ratio (bar 1.1)"
stop "$server_pid"
median=$(awk '$1 == "large" { print $3 }' "$work/commits")
echo "commit to acknowledgement with $large resources: $median ms, the median of $rounds (bar 150)"
at_most "$median" 150 && at_most "$poll_ratio" 1.1
