#!/bin/bash
# Three versions of a published web app are mirrored and served by nginx as deploy/nginx-mirror.conf says. The origin is
# lost: devices at each version, and a new one, must come to the newest by the copy, byte for byte. It comes back: they
# must return to it.   Tests/Mirror/fallback.sh      Needs nginx, python3, curl; pip brings the app. About 2 minutes.
. "$(dirname "$0")/../../Benchmarks/lib.sh"
export PATH=$PATH:/usr/sbin
needs nginx python3 curl diff
fetch_inputs
base=https://m.example.com/streamlit
versions=(1.49.0 1.49.1 1.50.0)
port=$(python3 -c 'import socket
with socket.socket() as s:
    s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
copy=http://127.0.0.1:$port

# publish VERSION
publish() { xcache publish --create "$inputs/streamlit-$1" --app bench --bundle main --base-url $base -m "$1" | tail -2; }
# pull DEVICE [OPTIONS…]
pull() { xcache pull --to "$work/$1" --app bench --force --tree $base --json "${@:2}"; }
# same DEVICE VERSION: fails unless the device holds exactly that version's files.
same() {
  diff -r "$work/$1/tree" "$inputs/streamlit-$2" || fail "$1 doesn't hold $2"
  echo "   $1: $(find "$work/$1/tree" -type f | wc -l) files like $2"
}

echo "1. nginx with the configuration of deploy/"
mkdir -p "$work/www" "$work/nginx"
{
  echo "daemon off; pid $work/nginx/pid; worker_processes 1; events { worker_connections 256; } http { access_log off;"
  for name in client_body proxy fastcgi uwsgi scgi; do echo "  ${name}_temp_path $work/nginx/$name;"; done
  sed -E "s|listen 80;|listen 127.0.0.1:$port;|; /listen \[::\]:80;/d; s|root /srv/xcache-mirror;|root $work/www;|" \
    "$repository/deploy/nginx-mirror.conf"
  echo "}"
} >"$work/nginx.conf"
# A worker that root started must be able to read the copy.
[ "$(id -u)" != 0 ] || sed -i '1i user root;' "$work/nginx.conf"
nginx -t -q -p "$work/nginx" -e "$work/nginx/error.log" -c "$work/nginx.conf"
nginx -p "$work/nginx" -e "$work/nginx/error.log" -c "$work/nginx.conf" &
started+=("$!")
for _ in $(seq 100); do curl -s -o /dev/null "$copy/" && break; sleep 0.1; done

echo "2. three versions, pushed to the copy before they are visible, and a device at each"
start_server data --public-url "$copy" --cdn push "$work/www"
address=${XCACHE_SERVER#http://}
for version in "${versions[@]}"; do
  publish "$version"
  pull "device-$version" >/dev/null
  same "device-$version" "$version"
done

echo "3. the copy"
xcache mirror --data "$work/data" --to "$work/www" --precompressed --zips | tail -2
xcache mirror verify "$copy" --strict | tail -1

echo "4. what nginx says of a file"
url=$(curl -s "$copy/xcache/bench/configure.json" | field data resourcemap "$base/index.html" download)
heads=$(curl -s -D - -o /dev/null -r 0-9 "$url")
for head in "206 Partial Content" "Content-Range: bytes 0-9/" "immutable" "Access-Control-Allow-Origin: \*" "text/html"; do
  grep -qi "$head" <<<"$heads" || fail "no $head in: $heads"
done
[ "$(curl -s -o /dev/null -w '%{http_code}' "$copy/.xcache-mirror/lock")" = 404 ] || fail "the mirror's own files are served"
[ "$(curl -s -o /dev/null -w '%{http_code}' -X POST "$copy/xcache/bench/configure.json")" = 403 ] || fail "POST is taken"

echo "5. the origin is lost"
kill -9 "$server_pid"
wait "$server_pid" 2>/dev/null || true
for device in device-1.49.0 device-1.49.1 device-1.50.0 device-new; do
  for _ in 1 2 3 4 5; do
    if pull $device --fallback "$copy" >/dev/null 2>&1; then fail "$device was answered by a lost origin"; fi
  done
  pull $device --fallback "$copy" >"$work/pulled.json" || fail "$device got nothing from the copy"
  [ "$(field update source <"$work/pulled.json")" = fallback ] || fail "$device: $(cat "$work/pulled.json")"
  echo "   $device by $(field update kind <"$work/pulled.json")"
  same $device 1.50.0
done

echo "6. the origin comes back, with a release that the copy doesn't have"
listen=$address start_server data --public-url "$copy" --cdn push "$work/www"
publish 1.49.1
for device in device-1.49.0 device-new; do
  source=fallback
  # "it asks the origin with backoff, 30 s to 10 min, ±20 %, and returns after one good answer"
  for _ in $(seq 90); do
    pull $device --fallback "$copy" >"$work/pulled.json" || fail "$device got nothing"
    source=$(field update source <"$work/pulled.json")
    [ "$source" = fallback ] || break
    sleep 1
  done
  [ "$source" = origin ] || fail "$device doesn't return: $(cat "$work/pulled.json")"
  same $device 1.49.1
  pull $device --fallback "$copy" >"$work/pulled.json"
  [ "$(field update source <"$work/pulled.json")" = origin ] || fail "$device left the origin again"
done
echo "all right"
