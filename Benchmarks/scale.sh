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
  answer=$(xcache publish "$work/$1" --app "$1" --bundle main --base-url $base --now --json)
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

# cpu: ticks that the server used so far.
cpu() { awk '{ print $14 + $15 }' "/proc/$server_pid/stat"; }
version() { xcache status --app "$1" --json | field version; }

# polls APP: microseconds of the server's CPU for one "nothing new" poll.
polls() {
  local before out requests
  before=$(cpu)
  out=$(wrk -t1 -c8 -d"${SECONDS_EACH:-3}s" "$XCACHE_SERVER/configure.json?app=$1&version=$(version "$1")&patch=1")
  requests=$(awk '/requests in/ { print $1 }' <<<"$out")
  grep -q 'Non-2xx' <<<"$out" && fail "$out"
  awk -v t=$(($(cpu) - before)) -v n="$requests" -v hz="$(getconf CLK_TCK)" 'BEGIN { printf "%.3f", t / hz / n * 1e6 }'
}

echo "polls with nothing new (server's CPU per request):"
small_sum=0 large_sum=0
polls small >/dev/null
for round in $(seq 3); do
  small_cost=$(polls small)
  large_cost=$(polls large)
  echo "  200 resources $small_cost µs, $large resources $large_cost µs"
  small_sum=$(awk -v a="$small_sum" -v b="$small_cost" 'BEGIN { print a + b }')
  large_sum=$(awk -v a="$large_sum" -v b="$large_cost" 'BEGIN { print a + b }')
done
poll_ratio=$(ratio "$large_sum" "$small_sum")
echo "  ratio $poll_ratio (bar 1.1)"
stop "$server_pid"
median=$(awk '$1 == "large" { print $3 }' "$work/commits")
echo "commit to acknowledgement with $large resources: $median ms, the median of $rounds (bar 150)"
at_most "$median" 150 && at_most "$poll_ratio" 1.1
