#!/bin/bash
# What a poll costs, counted rather than timed: system calls (strace), instructions in user space (callgrind) and heap
# allocations (memcheck). Counts don't depend on the machine's load, but for the system calls: a busy machine brings
# more requests per wake-up, so fewer calls each. Beside it, what an open rollout adds: allocations, and processor time
# against a server without one, in turns.
#   ONLY=rollout: only that; ROUNDS=15 of its turns
#   POLLS=20000 TOP=0 (lines of the callgrind profile to print) BARS=1 (the bars are multiplied with it)
. "$(dirname "$0")/http-lib.sh"
needs python3 wrk strace valgrind strip
polls=${POLLS:-20000}
failed=0
gate() { # gate WHAT VALUE BAR
  local bar; bar=$(awk -v a="$3" -v b="${BARS:-1}" 'BEGIN { print a * b }')
  if at_most "$2" "$bar"; then echo "$1: $2 (at most $bar)"; else echo "FAILED $1: $2 (at most $bar)"; failed=1; fi
}
start_shop
# VERSION=1: a poll that is told of a pack
query="app=shop&channel=online&version=${VERSION:-2}&patch=1&pack=1"
data=$work/data

if [ "${ONLY:-}" != rollout ]; then
# System calls, while wrk keeps 64 connections busy; those of accepting and closing these are in the count.
strace -f -c -p "$server_pid" -o "$work/strace" 2>"$work/strace.log" &
tracer=$!
started+=("$tracer")
for _ in $(seq 100); do grep -q attached "$work/strace.log" && break; sleep 0.05; done
grep -q attached "$work/strace.log" || fail "strace can't look at the server: $(cat "$work/strace.log")"
wrk -t1 -c64 -d3s "$XCACHE_SERVER/configure.json?$query" >"$work/wrk"
# Its way to be told to stop is SIGINT; a background job of a script ignores that, but not SIGTERM.
kill -TERM "$tracer"
wait "$tracer" || true
requests=$(awk '/requests in/ { print $1 }' "$work/wrk")
[ "$requests" -ge 10000 ] || fail "only $requests requests were answered under strace: $(cat "$work/wrk")"
calls=$(awk '$NF == "total" { print $4 }' "$work/strace")
gate "system calls per poll, $calls over $requests polls at 64 connections" \
  "$(awk -v c="$calls" -v n="$requests" 'BEGIN { printf "%.2f", c / n }')" 2.2
awk 'NR <= 7' "$work/strace"
stop "$server_pid"
else
  stop "$server_pid"
fi

# valgrind can't read the debug information of Swift.
strip --strip-debug -o "$work/xcache" "$XCACHE_BINARY"

# counted COUNT PATTERN TOOL [OPTION…]: the number that the tool logs for a server which is started, polled COUNT times
# over one connection, and stopped.
counted() {
  local count=$1 pattern=$2 name=$3-$1 port='' server
  shift 2
  valgrind --tool="$1" --log-file="$work/$name.log" "${@:2}" \
    "$work/xcache" serve --data "$data" --listen 127.0.0.1:0 --threads 1 --max-requests 1000000 2>"$work/$name.out" &
  server=$!
  started+=("$server")
  for _ in $(seq 1200); do
    port=$(sed -nE 's/.* listens on http:\/\/127\.0\.0\.1:([0-9]+),.*/\1/p' "$work/$name.out")
    [ -n "$port" ] && break
    sleep 0.1
  done
  [ -n "$port" ] || fail "no server under valgrind: $(tail -5 "$work/$name.log" "$work/$name.out")"
  # What is rendered in the background after the start is over before the polls: it is in every count, and so in none of
  # the differences.
  python3 -c 'import sys, urllib.request; [urllib.request.urlopen(url).read() for url in sys.argv[1:]]' \
    "http://127.0.0.1:$port/configure.json?app=shop" "http://127.0.0.1:$port/configure.json?app=shop&version=1&patch=1"
  server_pid=$server
  quiet
  "${servers[@]}" poll "$port" "/configure.json?$query" "$count"
  # How many polls there were is written to the database every 10 seconds: once in every count at least.
  sleep 12
  stop "$server"
  number=$(sed -nE "s/.*$pattern.*/\\1/p" "$work/$name.log" | tr -d ,)
  [ -n "$number" ] || fail "nothing was counted: $(tail -5 "$work/$name.log")"
}

# difference PATTERN TOOL [OPTION…]: how much the number grows with $polls polls more; sets number.
difference() {
  local short
  counted 500 "$@"
  short=$number
  counted $((500 + polls)) "$@"
  number=$((number - short))
}

# allocations: how many more are made for $polls polls more; sets number. What the background allocates differs by thousands
# between two runs; what polls allocate is in every difference: one that allocated once would make the least one $polls.
allocations() {
  local least=''
  for _ in 1 2 3; do
    difference 'total heap usage: ([0-9,]+) allocs' memcheck
    if [ -z "$least" ] || [ "$number" -lt "$least" ]; then least=$number; fi
  done
  number=$least
}

# instructions COUNT: of each thread of a server that is polled so often, into $work/threads-COUNT.
instructions() {
  rm -f "$work"/profile*
  counted "$1" 'Collected : ([0-9]+)' callgrind --separate-threads=yes --callgrind-out-file="$work/profile"
  # The file without a number is of no thread.
  for file in "$work"/profile-*; do
    echo "${file##*-} $(sed -nE 's/^(totals|summary): ([0-9]+).*/\2/p' "$file" | tail -1)"
  done | sort >"$work/threads-$1"
}

if [ "${ONLY:-}" != rollout ]; then
# Polls are answered by one thread, whose number is the same in both runs; what others do in the background takes as many
# instructions as the run has seconds, and a busy machine makes the longer one much longer.
instructions 500
instructions $((500 + polls))
read -r thread number < <(join -a 2 -o 0,1.2,2.2 -e 0 "$work/threads-500" "$work/threads-$((500 + polls))" \
  | awk '{ print $1, $3 - $2 }' | sort -k 2 -n | tail -1)
gate "instructions per poll, over $polls polls" "$((number / polls))" 4000
callgrind_annotate "$work/profile-$thread" | awk -v top="${TOP:-0}" '/^ *[0-9,]+ \(/ && top-- > 0 { print substr($0, 1, 160) }'

allocations
gate "allocations per poll, $number more for $polls polls more" \
  "$(awk -v a="$number" -v n="$polls" 'BEGIN { printf "%.2f", (a > 0 ? a : 0) / n }')" 0.05
fi

# The same app with a candidate open, beside the one without.
cp -r "$work/data" "$work/candidate"
echo "// third" >>"$work/shop/page/script-8.js"
start_server candidate --threads "$threads"
xcache publish "$work/shop" --app shop --bundle main --base-url https://m.example.com/shop/ --rollout 5% \
  --app-version '>=4.2 <5' --group qa >/dev/null
quiet
stop "$server_pid"
data=$work/candidate
for query in "app=shop&channel=online&version=2&patch=1&pack=1" "app=shop&channel=online&version=3&patch=1&pack=1&candidate=1"; do
  allocations
  gate "allocations per poll with a candidate open ($query), $number more for $polls polls more" \
    "$(awk -v a="$number" -v n="$polls" 'BEGIN { printf "%.2f", (a > 0 ? a : 0) / n }')" 0.05
done

# Processor time of each request, of two servers in turns: what else the machine does meets both.
start_server data --threads "$threads"
none=$server_pid none_port=$server_port
quiet
start_server candidate --threads "$threads"
quiet
"${servers[@]}" turns "${ROUNDS:-15}" "$none" "$none_port" "$server_pid" "$server_port" >"$work/turns"
sed '$d' "$work/turns"
gate "processor time of a poll with a candidate open, as a multiple of one without" "$(tail -1 "$work/turns")" 1.03
stop "$server_pid"
stop "$none"
exit $failed
