# What the scripts here share; sourced, not run.
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xcache-bench
work=$(mktemp -d "${TMPDIR:-/tmp}/xcache-bench.XXXXXX")
started=()

cleanup() {
  local status=$?
  # Only what this script started, by number.
  for pid in ${started[@]+"${started[@]}"}; do kill "$pid" 2>/dev/null || true; done
  for pid in ${started[@]+"${started[@]}"}; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
  exit $status
}
trap cleanup EXIT
trap 'exit 130' INT TERM

fail() { echo "$*" >&2; exit 1; }
needs() { for tool in "$@"; do command -v "$tool" >/dev/null || fail "this needs $tool: apt-get install $tool"; done; }

# The release binary, or XCACHE_BINARY.
if [ -z "${XCACHE_BINARY:-}" ]; then
  make -s -C "$repository" build >&2
  XCACHE_BINARY=$repository/.build/release/xcache
fi
xcache() { "$XCACHE_BINARY" "$@"; }
# Versions up to 0.2 create channels without being told to.
create=$(xcache publish --help | grep -om1 -e --create || true)
export XDG_CACHE_HOME=$work/cache

# ticks FILE: of processor time in a stat file. A name may hold spaces; what follows its parenthesis doesn't.
ticks() { sed 's/.*) //' "$1" | awk '{ print $12 + $13 }'; }
# cpu: ticks of all of the server's threads, ended ones included.
cpu() { ticks "/proc/$server_pid/stat"; }

# quiet: waits until the server does nothing for a second. Deltas and codings go on in the background after a release.
quiet() {
  local before
  for _ in $(seq 120); do
    before=$(cpu)
    sleep 1
    [ $(($(cpu) - before)) -gt 1 ] || return 0
  done
  fail "the server isn't quiet after two minutes"
}

# start_server NAME [OPTIONS…]: an origin over a folder, at $listen or any port; sets server_pid, server_port, and what
# commands need.
start_server() {
  local name=$1; shift
  # What an earlier server of this name said must not be read as this one's words.
  : >"$work/$name.log"
  "$XCACHE_BINARY" serve --data "$work/$name" --listen "${listen:-127.0.0.1:0}" "$@" 2>"$work/$name.log" &
  server_pid=$!
  started+=("$server_pid")
  for _ in $(seq 500); do
    server_port=$(sed -nE 's/.* listens on https?:\/\/127\.0\.0\.1:([0-9]+),.*/\1/p' "$work/$name.log")
    [ -n "$server_port" ] && break
    kill -0 "$server_pid" 2>/dev/null || fail "no server: $(cat "$work/$name.log")"
    sleep 0.02
  done
  export XCACHE_SERVER=http://127.0.0.1:$server_port XCACHE_TOKEN
  XCACHE_TOKEN=$(cat "$work/$name/admin.token")
}

# start_rsync: a daemon whose module `bench` is $work/rsync; sets rsync_pid and rsync_port.
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

# stop PID: ends what this script started.
stop() {
  kill "$1"
  wait "$1" || fail "process $1 ended with $?: $(tail -3 "$work"/*.log)"
  local rest=()
  for pid in "${started[@]}"; do [ "$pid" = "$1" ] || rest+=("$pid"); done
  started=(${rest[@]+"${rest[@]}"})
}

# Microseconds since 1970.
now() { echo "${EPOCHREALTIME/[.,]/}"; }
# seconds MICROSECONDS
seconds() { awk -v n="$1" 'BEGIN { printf "%.3f", n / 1e6 }'; }
# ratio A B
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }
# at_most VALUE BAR: whether the bar holds.
at_most() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }'; }
# field KEY…: a member of the JSON document on standard input.
field() { python3 -c 'import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1:]: value = value[int(key) if isinstance(value, list) else key]
print(value)' "$@"; }

# fetch_inputs: the static folders of four published wheels, under $inputs/<name>.
fetch_inputs() {
  inputs=$cache/inputs
  local wheels=$cache/wheels
  mkdir -p "$inputs" "$wheels"
  fetch streamlit 1.49.0 streamlit-1.49.0 streamlit/static
  fetch streamlit 1.49.1 streamlit-1.49.1 streamlit/static
  fetch streamlit 1.50.0 streamlit-1.50.0 streamlit/static
  fetch swagger-ui-bundle 1.1.0 swagger-ui-1.1.0 swagger_ui_bundle/vendor
}

# fetch PACKAGE VERSION NAME FOLDER
fetch() {
  [ -d "$inputs/$3" ] && return
  local wheel
  wheel=$(ls "$wheels/${1//-/_}-$2"-*.whl 2>/dev/null || true)
  if [ -z "$wheel" ]; then
    echo "downloading $1 $2" >&2
    python3 -m pip download -q --no-deps --only-binary :all: -d "$wheels" "$1==$2" >&2
    wheel=$(ls "$wheels/${1//-/_}-$2"-*.whl)
  fi
  rm -rf "$inputs/$3.part"
  mkdir -p "$inputs/$3.part"
  python3 -m zipfile -e "$wheel" "$inputs/$3.part"
  [ -d "$inputs/$3.part/$4" ] || fail "$wheel has no folder $4"
  mv "$inputs/$3.part/$4" "$inputs/$3"
  rm -rf "$inputs/$3.part"
}
