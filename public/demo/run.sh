#!/bin/bash
# The main job in a minute: a server, two versions of a small web app, three devices.   public/demo/run.sh XCACHE
set -euo pipefail
xcache=$(realpath "${1:?usage: run.sh PATH-OF-XCACHE}")
app=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
server= host=
finish() {
  if [ -n "$host" ] && kill -TERM "$host" 2>/dev/null; then wait "$host" || true; fi
  if [ -n "$server" ] && kill -TERM "$server" 2>/dev/null; then wait "$server" || true; fi
  rm -rf "$work"
}
trap finish EXIT
export XDG_CACHE_HOME=$work/cache XCACHE_APP=shop
unset XCACHE_CHANNEL XCACHE_SERVER XCACHE_TOKEN XCACHE_TOKEN_FILE

step() { printf '\n\033[1m%s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }
run() { echo "  \$ xcache $*"; "$xcache" "$@" 2>&1 | sed 's/^/    /'; }
base=https://m.example.com/shop/

step "1. An origin starts: one binary, one folder."
# Where there is a Python, it plays the CDN: a static host of the copy, from which devices download.
cdn=()
mkdir "$work/www"
# A shell in the background opens them some time later.
touch "$work/host.log" "$work/server.log"
if command -v python3 >/dev/null; then
  python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$work/www" >"$work/host.log" 2>&1 &
  host=$!
  for _ in $(seq 100); do
    port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$work/host.log")
    [ -n "$port" ] && break
    sleep 0.1
  done
  [ -n "$port" ] && cdn=(--public-url "http://127.0.0.1:$port" --cdn push "$work/www")
fi
"$xcache" serve --data "$work/data" --listen 127.0.0.1:0 ${cdn[@]+"${cdn[@]}"} 2>"$work/server.log" &
server=$!
for _ in $(seq 100); do
  XCACHE_SERVER=$(grep -om1 'http://[^,]*' "$work/server.log" || true)
  [ -n "$XCACHE_SERVER" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$work/server.log"; exit 1; }
  sleep 0.1
done
[ -n "$XCACHE_SERVER" ] || { echo "the server did not start within 10 s"; cat "$work/server.log"; exit 1; }
export XCACHE_SERVER
sed 's/^/    /' "$work/server.log"
XCACHE_TOKEN=$(cat "$work/data/admin.token")
export XCACHE_TOKEN

cd "$app"
step "2. The release engineer publishes version 1 of a web app."
run publish 1 --create --bundle main --base-url $base -m "first release"

step "3. A new device polls, and gets the whole manifest and every file."
run pull --to "$work/behind" --tree $base

cp -r "$work/behind" "$work/old"

step "4. Version 2: one price changed, so the bundler renamed a script. Only what the origin lacks is sent."
run publish 2 --bundle main --base-url $base -m "honey is cheaper, milk is new"
run diff 1 2

step "5. A device one version behind gets a patch, and fetches what changed."
run pull --to "$work/behind" --tree $base --force

step "6. A device that is up to date gets one short answer."
run pull --to "$work/behind" --force

step "7. A new device gets version 2 whole."
run pull --to "$work/new" --tree $base

step "8. Both hold the same bytes as the build that was published:"
diff -r "$work/behind/tree" 2
diff -r "$work/new/tree" 2
(cd "$work/new/tree" && find . -type f | sort | xargs sha256sum | sed 's/^/    /')

step "9. The prefetch config: what devices ask for when a page opens, before the page does."
run prefetch check prefetch.json --url "${base}?city=3"
run prefetch check prefetch.json --url "${base}help/?topic=17&from=shelf"
run prefetch push prefetch.json -m "stock and help"

step "10. The runtime policy: pages that devices leave alone, and a switch for everything."
run policy bypass add 'https://pay.example.com/*' -m "the bank wants the network"
run policy kill --for 6h -m "white screens on old phones"
run status
run policy resume
run channel set --interval 60

step "11. One poll tells a device of all that; the manifest stayed as it was."
run pull --to "$work/behind" --force
for document in prefetchConfig policy; do sed 's/^/    /' "$work/behind/$document.json"; echo; done

step "12. What the origin says of it."
run log
run prefetch log
run policy log

step "13. A static copy of all of it, which any static host serves, read back to be sure."
run mirror --data "$work/data" --to "$work/www"
run mirror verify "$work/www"

step "14. The origin stops cleanly, and is lost."
kill -TERM "$server"
wait "$server"
server=
sed -n '$s/^/    /p' "$work/server.log"
rm -r "$work/data"

if [ ${#cdn[@]} -gt 0 ]; then
  step "15. A device at version 1 fails five times in a row, then turns to the copy."
  for _ in 1 2 3 4 5; do run pull --to "$work/old" --fallback "http://127.0.0.1:$port" --force || true; done
  run pull --to "$work/old" --fallback "http://127.0.0.1:$port" --tree $base --force
  diff -r "$work/old/tree" 2
fi

step "16. A new origin from the copy alone: bundles, configs, numbers and bytes are back."
run restore --from "$work/www" --data "$work/restored"
"$xcache" serve --data "$work/restored" --listen 127.0.0.1:0 2>"$work/restored.log" &
server=$!
for _ in $(seq 100); do
  XCACHE_SERVER=$(grep -om1 'http://[^,]*' "$work/restored.log" || true)
  [ -n "$XCACHE_SERVER" ] && break
  sleep 0.1
done
XCACHE_TOKEN=$(cat "$work/restored/admin.token")
run publish 2 --bundle main --base-url $base
run status
kill -TERM "$server"
wait "$server"
server=
