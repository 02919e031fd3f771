#!/bin/bash
# What devices' reports about a rollout cost beside polls: 5,000 a second, of 65,536 networks, for half a minute; the rates, the slowest
# answers of both, processor time of a report, memory, and how long a look at the rollout takes (`rollout show`).
#   RATE=5000 SECONDS_LONG=30 THREADS=1
. "$(dirname "$0")/http-lib.sh"
needs wrk python3
rate=${RATE:-5000}
long=${SECONDS_LONG:-30}
start_shop
stop "$server_pid"
start_server data --threads "$threads" --trust-proxy 127.0.0.1
echo "// third" >>"$work/shop/page/script-8.js"
xcache publish "$work/shop" --app shop --bundle main --base-url https://m.example.com/shop/ --rollout 50% >/dev/null
quiet

# 50 connections, each of which waits between its requests.
cat >"$work/reports.lua" <<LUA
local wait = 50000 / $rate
function delay() return wait end
function request()
  local arm = math.random(2) == 1 and "candidate" or "control"
  local failed = math.random(500) == 1 and 1 or 0
  local address = string.format("10.%d.%d.%d", math.random(0, 255), math.random(0, 255), math.random(254))
  return wrk.format("POST", "/report?app=shop&channel=online", {["X-Forwarded-For"] = address},
    '{"evidence":{"arm":"' .. arm .. '","failed":' .. failed .. ',"opened":1,"version":"3"}}')
end
LUA
cat >"$work/polls.lua" <<'LUA'
function delay() return 5 end
LUA
poll="$XCACHE_SERVER/configure.json?app=shop&channel=online&version=2&patch=1&pack=1"

say() { awk -v what="$1" '/requests in/ { n = $1 } /Requests\/sec/ { r = $2 } $1 == "50%" { m = $2 } $1 == "99%" { p = $2 }
  /Non-2xx/ { bad = $NF } END { printf "%s: %d a second, median %s, 99 %% within %s%s\n", what, r, m, p, bad ? ", " bad " refused" : "" }' "$2"; }

wrk -t1 -c16 -d"${long}s" --latency -s "$work/polls.lua" "$poll" >"$work/alone"
say "polls alone" "$work/alone"
before=$(cpu)
wrk -t1 -c50 -d"${long}s" --latency -s "$work/reports.lua" "$XCACHE_SERVER" >"$work/reports" &
reporting=$!
started+=("$reporting")
wrk -t1 -c16 -d"${long}s" --latency -s "$work/polls.lua" "$poll" >"$work/polls"
wait "$reporting"
after=$(cpu)
say "reports" "$work/reports"
say "polls beside them" "$work/polls"
awk -v a="$before" -v b="$after" -v s="$long" 'BEGIN { printf "processor: %.0f %% of one core\n", (b - a) / s }'
grep -E 'VmHWM|VmRSS' "/proc/$server_pid/status"
sleep 12
began=$(date +%s%N)
xcache rollout show --app shop | grep -E '^failures|^ +[0-9]|^e ='
echo "rollout show took $((($(date +%s%N) - began) / 1000000)) ms"
stop "$server_pid"
