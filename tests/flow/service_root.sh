#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A machine with systemd as its first process, for service.sh: namespaces of
# its own, and this machine's files as they are, with what it writes in memory.
#
#	service_root.sh INSTALLED SHARE
#
# to be run by: unshare -m -p -f -C -n -u -i --propagation private
#
#	INSTALLED  what `make install` made, put over the root
#	SHARE      a folder that is /srv/share in there; its main.sh is run, and
#	           the machine ends with it
#
# Ends with 77 where this machine cannot do it.

set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
installed=$1 share=$2

cannot()
{
	echo "$1"
	exit 77
}

# Over everything that is a mount point here, too: a test may be run from one.
top=$share/top
mkdir -p "$top"
mount -t tmpfs tmpfs "$top" || cannot "no tmpfs can be mounted"
mkdir "$top"/{upper,work,root}
root=$top/root
cp -a "$installed/." "$top/upper/"
mount -t overlay overlay "$root" \
	-o "lowerdir=/,upperdir=$top/upper,workdir=$top/work" || cannot "no overlay can be mounted"

mount -t proc proc "$root/proc"
# Limits of the whole machine are nobody's to change.
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys" || cannot "no sysfs can be mounted"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup" ||
	cannot "no cgroup2 can be mounted"
for at in run tmp mnt srv; do
	mount -t tmpfs tmpfs "$root/$at"
done
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
	touch "$root/dev/$device"
	mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root"/dev/{shm,pts} "$root"/srv/share
ln -s /proc/self/fd "$root/dev/fd"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
mount --bind "$share" "$root/srv/share"

# No unit of this machine but those that are asked for.
rm -rf "$root"/etc/systemd/system/*.wants "$root/etc/fstab" \
	"$root"/usr/lib/systemd/system/*.wants
cat >"$root/etc/systemd/system/spate-test.target" <<-END
	[Unit]
	Wants=spate-test.service systemd-journald.service
	After=systemd-journald.service
	AllowIsolate=yes
END
cat >"$root/etc/systemd/system/spate-test.service" <<-END
	[Unit]
	DefaultDependencies=no
	After=systemd-journald.service
	[Service]
	Type=oneshot
	TimeoutStartSec=infinity
	Environment=HOME=/root
	ExecStart=/bin/bash /srv/share/main.sh
	StandardOutput=append:/srv/share/out
	StandardError=inherit
	ExecStopPost=/bin/sh -c 'journalctl --no-pager >/srv/share/journal 2>&1; systemctl poweroff --force --force'
END
ip link set lo up
cd "$root"
mkdir -p srv/before
pivot_root . srv/before
umount -l /srv/before
exec env -i container=spate-test PATH="$PATH" \
	/lib/systemd/systemd --system --unit=spate-test.target \
	--log-target=journal --show-status=no
