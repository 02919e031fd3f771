#!/bin/bash
# A mirror in a real distributed object store: OpenStack Swift with s3api, three nodes on loopback; one of its object
# servers is killed in the middle of a run.   Tests/S3/run.sh XCACHE
# Needs python3 with venv; Swift comes from PyPI into a folder of this run, or from $SWIFT_VENV.
set -euo pipefail
xcache=$(realpath "${1:?usage: run.sh PATH-OF-XCACHE}")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
server= cluster=
finish() {
  if [ -n "$cluster" ]; then "$python" "$here/swift_cluster.py" destroy "$work/swift" >/dev/null 2>&1 || true; fi
  if [ -n "$server" ] && kill -TERM "$server" 2>/dev/null; then wait "$server" || true; fi
  rm -rf "$work"
}
trap finish EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
export XDG_CACHE_HOME=$work/cache XCACHE_APP=shop TMPDIR=$work
unset XCACHE_CHANNEL XCACHE_SERVER XCACHE_TOKEN XCACHE_TOKEN_FILE AWS_SESSION_TOKEN

venv=${SWIFT_VENV:-$work/venv}
if [ ! -x "$venv/bin/swift-proxy-server" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check swift
fi
python=$venv/bin/python
export SWIFT_PYTHON=$python

echo "1. a cluster of three nodes"
cluster=yes
"$python" "$here/swift_cluster.py" start "$work/swift" >"$work/cluster.txt"
AWS_ENDPOINT_URL=$(sed -n 's/^endpoint=//p' "$work/cluster.txt")
export AWS_ENDPOINT_URL AWS_ACCESS_KEY_ID=test:tester AWS_SECRET_ACCESS_KEY=testing AWS_REGION=us-east-1
"$python" "$here/bucket.py" cdn || fail "no bucket"

echo "   … does what every destination does (Tests/Origin/MirrorTests/Destination)"
(cd "$here/../.." && XCACHE_TEST_BUCKET=cdn swift test --skip-build --filter 'MirrorTests.DestinationTests') >"$work/suite.txt" 2>&1 ||
  { tail -30 "$work/suite.txt"; fail "the conformance suite"; }

echo "2. an origin with two versions: 400 small files, and one of 70 MB, which goes in parts"
mkdir -p "$work/one/a b" "$work/two"
for i in $(seq 400); do echo "file $i" >"$work/one/$i.js"; done
head -c 70000000 /dev/urandom >"$work/one/film.mp4"
echo "<p>a name with a space" >"$work/one/a b/index.html"
cp -r "$work/one/." "$work/two/"
for i in $(seq 50); do echo "file $i, changed" >"$work/two/$i.js"; done
"$xcache" serve --data "$work/data" --listen 127.0.0.1:0 --public-url https://cdn.example.com/hxm 2>"$work/server.log" &
server=$!
for _ in $(seq 100); do
  XCACHE_SERVER=$(grep -om1 'http://[^,]*' "$work/server.log" || true)
  [ -n "$XCACHE_SERVER" ] && break
  sleep 0.1
done
export XCACHE_SERVER
XCACHE_TOKEN=$(cat "$work/data/admin.token")
export XCACHE_TOKEN
publish() { "$xcache" publish --create "$1" --bundle main --base-url https://m.example.com/shop/ --now; }
publish "$work/one" | tail -1

echo "3. the first run, and what is there read back"
place=s3://cdn/mirror
# verified WHAT: the copy is whole after WHAT. A cluster's lists follow its objects some seconds later, with a server dead.
verified() {
  for _ in 1 2 3 4; do
    if "$xcache" mirror verify $place --strict >"$work/found.txt"; then
      tail -1 "$work/found.txt"
      return
    fi
    sleep 3
  done
  fail "$1: $(cat "$work/found.txt")"
}
"$xcache" mirror --to $place | tail -1
verified "the first run"
"$xcache" mirror --to $place | tail -1 | grep -q "up to date" || fail "a second run writes"

echo "4. a second version, from the data folder; an object server is killed in the middle"
publish "$work/two" | tail -1
"$xcache" mirror --data "$work/data" --to $place >"$work/killed.txt" 2>&1 &
run=$!
sleep 0.3
"$python" "$here/swift_cluster.py" kill "$work/swift" object 2
wait $run || { cat "$work/killed.txt"; fail "the run with a dead object server"; }
tail -1 "$work/killed.txt"
verified "verify with a dead object server"

echo "5. the store's own copy: types, caching, a large file's parts"
"$python" "$here/bucket.py" check cdn mirror "$work/two" || fail "objects"

echo "6. faults are found and repaired"
"$python" "$here/bucket.py" damage cdn mirror
if "$xcache" mirror verify $place >"$work/found.txt"; then fail "damage went unseen"; fi
grep -q "it is missing" "$work/found.txt" && grep -q "its content doesn.t match" "$work/found.txt" || fail "$(cat "$work/found.txt")"
"$xcache" mirror --data "$work/data" --to $place --repair | tail -1
verified "the repair"

echo "7. a second channel; a run that was ended, and one about another channel after it, with --prune"
"$xcache" publish --create "$work/two" --channel test --bundle main --base-url https://m.example.com/test/ --now | tail -1
if "$xcache" mirror verify $place >"$work/found.txt"; then fail "a channel that is missing went unseen"; fi
grep -q "channel test of app shop" "$work/found.txt" || fail "$(cat "$work/found.txt")"
"$xcache" mirror --data "$work/data" --to $place | tail -1
"$python" "$here/bucket.py" empty cdn mirror/.xcache-mirror/unfinished
"$xcache" mirror --to $place --channel online --prune --grace 0 | tail -1
if "$xcache" mirror verify $place >"$work/found.txt"; then fail "a channel that is half-way went unseen"; fi
grep -q "a run was ended before it was done with channel test" "$work/found.txt" || fail "$(cat "$work/found.txt")"
if grep -q "it is missing" "$work/found.txt"; then fail "$(cat "$work/found.txt")"; fi
"$xcache" mirror --to $place --prune --grace 0 | tail -1
verified "two channels"

echo "8. a secret was published: purged at the origin, named by verify, gone with the next run, which doesn't prune"
secret="not for the public, $RANDOM$RANDOM"
mkdir -p "$work/three" && cp -r "$work/two/." "$work/three/" && echo "$secret" >"$work/three/notes.txt"
"$xcache" publish "$work/three" --bundle main --base-url https://m.example.com/shop/ --now | tail -1
"$xcache" mirror --to $place | tail -1
download=$(curl -s "$XCACHE_SERVER/configure.json?app=shop" | grep -o '"download":"[^"]*notes[^"]*"' | grep -o 'xcache/[^"]*')
key=mirror/${download//%25/%}
"$python" "$here/bucket.py" get cdn "$key" | grep -q "$secret" || fail "the copy lacks what was published"
"$xcache" purge https://m.example.com/shop/notes.txt --reason "internal notes" --yes | tail -1
[ "$(curl -s -o /dev/null -w '%{http_code}' "$XCACHE_SERVER/$download")" = 404 ] || fail "the origin still has it"
if "$xcache" mirror verify $place >"$work/found.txt"; then fail "purged bytes went unseen"; fi
grep -q "purged these bytes" "$work/found.txt" || fail "$(cat "$work/found.txt")"
"$xcache" mirror --to $place | tail -1
if "$python" "$here/bucket.py" get cdn "$key" 2>/dev/null | grep -q "$secret"; then fail "the copy still has it"; fi
verified "after the purge"

echo "9. an origin from the bucket alone"
"$xcache" restore --from $place --data "$work/restored" | tail -2
cmp <(curl -s "$XCACHE_SERVER/configure.json?app=shop") <("$python" "$here/bucket.py" get cdn mirror/xcache/shop/configure.json)
echo "all right"
