#!/bin/bash
# Packs a built xcache, with what belongs beside it: the manual page and completions that it makes of its own --help, the unit,
# settings, guide and examples.   deploy/package.sh deb|tarball XCACHE OUT [XCACHE-WEBKIT]
# With XCACHE-WEBKIT, there is a second Debian package: what `smoke` and `preview` open pages with.
# The version is the program's own; VERSION=… takes its place, for the test of an upgrade.
set -euo pipefail
kind=$1 xcache=$(realpath "$2") out=$(mkdir -p "$3" && realpath "$3") engine=${4:+$(realpath "$4")}
cd "$(dirname "$0")/.."
version=${VERSION:-$("$xcache" --version | sed 's/^xcache //')}
# The same commit makes the same package.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/xcache-$version
mkdir -p "$root"/{bin,etc/xcache,examples} "$root"/share/{man/man1,bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
install -m 755 "$xcache" "$root/bin/xcache"
# Libraries are looked for where the system has them, not beside the program.
chrpath --delete "$root/bin/xcache" >/dev/null
"$xcache" completions man >"$root/share/man/man1/xcache.1"
"$xcache" completions bash >"$root/share/bash-completion/completions/xcache"
"$xcache" completions zsh >"$root/share/zsh/vendor-completions/_xcache"
"$xcache" completions fish >"$root/share/fish/vendor_completions.d/xcache.fish"
cp LICENSE README.md SECURITY.md CHANGELOG.md deploy/OPERATIONS.md "$root/"
cp deploy/serve.env "$root/etc/xcache/"
cp -r deploy/{nginx-origin.conf,nginx-origin-ci.conf,nginx-mirror.conf,Caddyfile,Caddyfile.ci,Containerfile,Containerfile.smoke,compose.yaml,kubernetes.yaml,monitoring,ci,edge} "$root/examples/"

case $kind in
  deb)
    mkdir "$root/debian"
    cp deploy/debian/* "$root/debian/"
    if [ -n "$engine" ]; then
      install -m 755 "$engine" "$root/bin/xcache-webkit"
      chrpath --delete "$root/bin/xcache-webkit" >/dev/null
    else
      rm "$root"/debian/xcache-webkit.*
      sed -i '/^Package: xcache-webkit$/,$d' "$root/debian/control"
    fi
    cp deploy/xcache.service "$root/debian/xcache.service"
    cp deploy/sysusers.conf "$root/debian/xcache.sysusers"
    cp deploy/logrotate.conf "$root/debian/xcache.logrotate"
    echo share/man/man1/xcache.1 >"$root/debian/xcache.manpages"
    echo share/bash-completion usr/share >>"$root/debian/xcache.install"
    maintainer=$(sed -n 's/^Maintainer: //p' deploy/debian/control)
    printf 'xcache (%s) stable; urgency=medium\n\n  * What changed: CHANGELOG.md.\n\n -- %s  %s\n' "$version" \
      "$maintainer" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" >"$root/debian/changelog"
    (cd "$root" && dpkg-buildpackage -b -us -uc --no-check-builddeps >"$work/log" 2>&1) || { cat "$work/log" >&2; exit 1; }
    cp "$work"/xcache*.deb "$out/"
    ls "$out"/xcache_"$version"_*.deb
    [ -z "$engine" ] || ls "$out"/xcache-webkit_"$version"_*.deb
    ;;
  tarball)
    # Unpacked over /usr/local: bin and share are where a system looks for them; the rest is under share/doc.
    strip "$root/bin/xcache"
    doc=$root/share/doc/xcache
    mkdir -p "$doc"
    cp deploy/{xcache.service,sysusers.conf,logrotate.conf} "$root/examples/"
    mv "$root/share/zsh/vendor-completions" "$root/share/zsh/site-functions"
    # By hand it isn't in /usr/bin.
    sed -i 's|/usr/bin/xcache|/usr/local/bin/xcache|; s|/usr/share/doc|/usr/local/share/doc|' "$root/examples/xcache.service"
    mv "$root"/{LICENSE,README.md,SECURITY.md,CHANGELOG.md,OPERATIONS.md,examples} "$doc/"
    mv "$root/etc/xcache/serve.env" "$doc/examples/"
    rm -r "$root/etc"
    name=xcache-$version-linux-$(uname -m)
    mv "$root" "$work/$name"
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -czf "$out/$name.tar.gz" "$name"
    echo "$out/$name.tar.gz"
    ;;
esac
