#!/bin/bash
# What package.sh runs in the chroot.   inside.sh VERSION
set -euo pipefail
version=$1
url=http://127.0.0.1:8080
step() { echo "$1"; }
fail() {
  echo "inside.sh: $1" >&2
  tail -20 /var/log/journal.txt >&2 || true
  exit 1
}
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR
answers() { curl -fsS --retry 20 --retry-connrefused --retry-delay 1 "$url$1" 2>/tmp/curl || { tail -1 /tmp/curl >&2; return 1; }; }
pid() { systemctl show --property=MainPID --value xcache; }

step "3. install: the service runs as its unit says"
dpkg -i /first.deb >/tmp/dpkg
answers /readyz
process=$(pid)
[ "$(stat -c %U "/proc/$process")" = xcache ] || fail "it runs as $(stat -c %U "/proc/$process")"
grep -E '^(CapBnd|NoNewPrivs|Seccomp):' "/proc/$process/status" | tr '\n\t' '; '
echo
grep -q "CapBnd:.0*$" "/proc/$process/status"
grep -q "Seccomp:.2" "/proc/$process/status"
tr '\0' ' ' <"/proc/$process/cmdline"
echo
[ "$(stat -c %U:%a /var/lib/xcache)" = xcache:750 ]
[ "$(stat -c %a /etc/xcache/serve.env)" = 640 ]
SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no /lib/systemd/system/xcache.service 2>&1 | tee /tmp/verify
[ ! -s /tmp/verify ]
for file in /usr/share/man/man1/xcache.1.gz /usr/share/doc/xcache/OPERATIONS.md /usr/share/bash-completion/completions/xcache; do
  [ -s $file ] || fail "there is no $file"
done
documented=$(sed -n 's/^Documentation=//p' /lib/systemd/system/xcache.service)
[ -e "$(grep -o 'file://[^ ]*' <<<"$documented" | sed 's|^file://||')" ] || fail "$documented"
ldd /usr/bin/xcache | grep "not found" && fail "a library is missing"
# Work in the background has a lower priority, which the filter must let it have.
nice=$(awk '{print $19}' /proc/$process/task/*/stat | sort -rn | head -1)
[ "$nice" -gt 0 ] || fail "no thread of the server has a lower priority"

step "4. the drills of OPERATIONS.md"
mkdir /drills && cd /drills
export XCACHE_SERVER=$url XCACHE_APP=shop
XCACHE_TOKEN=$(cat /var/lib/xcache/admin.token)
export XCACHE_TOKEN
number=0
while IFS= read -r line; do
  case $line in
    "### "*) name=${line#"### "} ;;
    "<!-- drill -->") number=$((number + 1)); file=/drills/drill-$number.sh; echo "# $name" >"$file"; ;;
    '```sh') [ -z "${file:-}" ] || open=1 ;;
    '```') open= file= ;;
    *) [ -z "${open:-}" ] || echo "$line" >>"$file" ;;
  esac
done </OPERATIONS.md
[ $number -gt 5 ] || fail "OPERATIONS.md has $number drills"
for n in $(seq $number); do
  file=/drills/drill-$n.sh
  echo "   $(head -1 "$file" | cut -c3-)"
  # ! turns a failure into a success, and bash -e looks at neither.
  sed -i -E 's/^! (.*)$/if \1; then echo "this should have failed"; exit 1; fi/' "$file"
  # A drill may have put another token in its place; a restored folder has none.
  [ ! -e /var/lib/xcache/admin.token ] || XCACHE_TOKEN=$(cat /var/lib/xcache/admin.token)
  bash -euo pipefail -x "$file" >/drills/out 2>&1 </dev/null || { tail -30 /drills/out >&2; fail "the drill failed"; }
  [ "$(pid)" != 0 ] || fail "no server runs after the drill"
done
echo "   $number blocks, $(cat /drills/drill-*.sh | grep -vc '^#') lines"

step "5. xcache-webkit: pages of a build open, also for whoever isn't root, and one that is broken is refused"
dpkg -i /webkit.deb >/tmp/dpkg
ldd /usr/bin/xcache-webkit | grep "not found" && fail "a library is missing"
mkdir /pages /pages/dist && chmod 777 /pages && cd /pages
echo '<!DOCTYPE html><meta charset=utf-8><title>shop</title><p>one' >dist/index.html
runuser -u xcache -- xcache smoke dist --base-url https://m.example.com/shop/ --screenshots /pages/pictures
[ "$(head -c 4 pictures/1-index.html.png | tail -c 3)" = PNG ] || fail "there is no picture"
echo '<!DOCTYPE html><p>one<script>nothing()</script>' >dist/index.html
code=0
xcache smoke dist --base-url https://m.example.com/shop/ || code=$?
[ $code = 3 ] || fail "smoke of a broken page: exit code $code"
dpkg --purge xcache-webkit >/tmp/dpkg
cd /drills

step "6. upgrade: what was changed in a conffile stays, the server is a new one with the same data"
XCACHE_TOKEN=$(cat /var/lib/xcache/admin.token)
answers /readyz >/dev/null
echo XCACHE_THREADS=1 >>/etc/xcache/serve.env
before=$(answers "/configure.json?app=shop" | sha256sum) process=$(pid)
dpkg -i /second.deb >/tmp/dpkg
answers /readyz >/dev/null
[ "$(pid)" != "$process" ] || fail "the old server still runs"
grep -q XCACHE_THREADS=1 /etc/xcache/serve.env
[ "$(answers "/configure.json?app=shop" | sha256sum)" = "$before" ] || fail "devices see another manifest"
dpkg-query -W xcache

step "7. remove, install again, purge: the data stays"
process=$(pid)
dpkg -r xcache >/tmp/dpkg
for path in "/proc/$process" /usr/bin/xcache /lib/systemd/system/xcache.service; do
  [ ! -e "$path" ] || fail "$path is still there"
done
ls /etc/xcache/serve.env /var/lib/xcache/xcache.db >/dev/null
dpkg -i /first.deb >/tmp/dpkg
[ "$(answers "/configure.json?app=shop" | sha256sum)" = "$before" ] || fail "devices see another manifest"
dpkg --purge xcache 2>&1 | grep "is left as it is"
ls /var/lib/xcache/xcache.db >/dev/null
for path in /etc/xcache/serve.env /var/log/xcache; do
  [ ! -e "$path" ] || fail "$path is still there"
done
left=$(grep -rl xcache /etc/systemd /var/lib/systemd 2>/dev/null || true)
[ -z "$left" ] || fail "left behind: $left"
step "8. the tarball, as OPERATIONS.md says: the service runs on the data that the package left"
cd /
commands=$(sed -n '/^From the tarball/,/^For containers/s/^    //p' /OPERATIONS.md)
[ "$(wc -l <<<"$commands")" -gt 4 ] || fail "OPERATIONS.md has no commands for the tarball"
bash -euo pipefail -c "${commands//xcache-0.3.0-linux-x86_64/xcache-$version-linux-$(uname -m)}" >/tmp/tarball 2>&1 || {
  cat /tmp/tarball >&2
  fail "the tarball"
}
[ "$(answers "/configure.json?app=shop" | sha256sum)" = "$before" ] || fail "devices see another manifest"
grep -qzx /usr/local/bin/xcache "/proc/$(pid)/cmdline" || fail "another program runs"
SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no /etc/systemd/system/xcache.service 2>&1 | tee /tmp/verify
[ ! -s /tmp/verify ]
documented=$(sed -n 's/^Documentation=//p' /etc/systemd/system/xcache.service)
[ -e "$(grep -o 'file://[^ ]*' <<<"$documented" | sed 's|^file://||')" ] || fail "$documented"
for file in share/man/man1/xcache.1 share/bash-completion/completions/xcache share/doc/xcache/LICENSE; do
  [ -s /usr/local/$file ] || fail "there is no /usr/local/$file"
done
systemctl stop xcache

! grep "killed after" /var/log/journal.txt || fail "the service didn't stop by itself"
echo "all of it"
