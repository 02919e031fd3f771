#!/bin/bash
# Publishers beside pollers who strain the patches: the latency of `GET …/log`, alone and while clients ask for 40 older
# versions of a large channel in turn, in alternation. Exits with 1 where its p99 rises over the bar.
#   RESOURCES=20000 VERSIONS=41 CLIENTS=24 ROUNDS=5 SECONDS_EACH=5 BAR=3
. "$(dirname "$0")/lib.sh"
needs python3 wrk
script=("python3" "$repository/Benchmarks/patches.py")
versions=${VERSIONS:-41}
start_server data --delta-wait 0
"${script[@]}" make "$server_port" "${RESOURCES:-20000}" "$versions"
# Started again, so that nothing of the publishing is left in the process that is measured.
stop "$server_pid"
start_server data
cat >"$work/bases.lua" <<LUA
local base = 0
function request()
  base = base % ($versions - 1) + 1
  return wrk.format("GET", "/configure.json?app=shop&version=" .. base .. "&patch=1", { ["Accept-Encoding"] = "gzip" })
end
LUA
quiet
memory() { awk '/VmRSS|VmHWM/ { printf "%s %d MB  ", $1, $2 / 1024 }' "/proc/$server_pid/status"; }
echo "the server's memory at first: $(memory)"
status=0
"${script[@]}" measure "$server_port" "$work/bases.lua" "${CLIENTS:-24}" "${ROUNDS:-5}" "${SECONDS_EACH:-5}" \
  "${BAR:-3}" || status=$?
echo "and at last: $(memory)"
exit "$status"
