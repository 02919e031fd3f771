#!/bin/bash
# Installs, upgrades, removes and purges the Debian package in a fresh Debian 12, starts the unit as its file says, runs the drills
# of OPERATIONS.md there, opens pages with xcache-webkit of its package, and installs the tarball in the package's place, as
# OPERATIONS.md says.   Tests/Deploy/package.sh XCACHE XCACHE-WEBKIT      As root; about 5 minutes.
#
# In the chroot systemctl is Tests/Deploy/systemctl.py: it starts a service with the unit's user, folders, read-only file system and
# system call filter. Processes, mounts and the network are the chroot's own.
set -euo pipefail
[ "$(id -u)" = 0 ] || { echo "package.sh makes a chroot, which takes root" >&2; exit 1; }
cd "$(dirname "$0")/../.."
xcache=$(realpath "$1") engine=$(realpath "$2")
work=$(mktemp -d)
root=$work/root
trap 'for m in proc dev ""; do umount -l "$root/$m" 2>/dev/null || true; done; rm -rf --one-file-system "$work"' EXIT

echo "1. two packages, of which the second is only newer"
version=$("$xcache" --version | sed 's/^xcache //')
{ read -r first && read -r webkit; } < <(deploy/package.sh deb "$xcache" "$work/debs" "$engine")
second=$(VERSION=$version+1 deploy/package.sh deb "$xcache" "$work/debs")
tarball=$(deploy/package.sh tarball "$xcache" "$work/tarballs")
lintian --fail-on error,warning --allow-root "$first" "$webkit" >"$work/lintian" 2>&1 || { cat "$work/lintian" >&2; exit 1; }
for package in "$first" "$webkit"; do dpkg-deb -f "$package" Package Version Depends; done

echo "2. a fresh Debian"
# Made once for both tests, and unpacked anew for each.
base=$PWD/.build/tools/bookworm.tar
if [ ! -e "$base" ]; then
  debootstrap --variant=minbase --include=ca-certificates bookworm "$work/base" >/dev/null
  mkdir -p "${base%/*}"
  tar -C "$work/base" -cf "$base.new" .
  mv "$base.new" "$base"
fi
mkdir "$root" && tar -C "$root" -xf "$base"
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
cp /etc/resolv.conf "$root/etc/"
cp -r /etc/apt/sources.list* "$root/etc/apt/" 2>/dev/null || true
cp "$first" "$root/first.deb" && cp "$second" "$root/second.deb" && cp "$webkit" "$root/webkit.deb"
cp "$tarball" deploy/OPERATIONS.md "$root/"
# What the package needs comes with the network; what follows has none.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" && chmod +x "$root/usr/sbin/policy-rc.d"
inside() { env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive HOME=/root LC_ALL=C.UTF-8 "$@"; }
# Needed libraries are the package's own business: apt is asked for them, and for nothing that they don't bring.
libraries=$(for package in "$first" "$webkit"; do dpkg-deb -f "$package" Depends; done | tr ',' '\n' | sed -E 's/ *\|.*//; s/ *\(.*//; s/ //g')
inside chroot "$root" sh -c "apt-get update -q && apt-get install -y -q --no-install-recommends $(echo $libraries) \
  python3 python3-seccomp curl logrotate rsync" >"$work/apt" 2>&1 || { tail "$work/apt" >&2; exit 1; }
rm "$root/usr/sbin/policy-rc.d"
install -m 755 Tests/Deploy/systemctl.py "$root/usr/local/bin/systemctl"
mkdir -p "$root/run/systemd/system"
install -m 755 Tests/Deploy/inside.sh "$root/inside.sh"
umount "$root/dev" "$root/proc"
inside unshare --mount --net --pid --fork --kill-child sh -c "
  mount --bind '$root' '$root' && mount -t proc proc '$root/proc' && mount -t tmpfs tmpfs '$root/dev' &&
  for d in null zero random urandom; do touch '$root/dev/'\$d && mount --bind /dev/\$d '$root/dev/'\$d; done &&
  ln -s /proc/self/fd '$root/dev/fd' && ip link set lo up && exec chroot '$root' /inside.sh '$version'"
