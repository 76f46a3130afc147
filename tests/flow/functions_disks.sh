# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
#
# What tests on real file systems share: each on a loop device of its own,
# whose image lies in $work, so that one can be filled, shut down, taken away
# and mounted again.  Sourced after functions.sh (or break.sh):
#
#	. "${BASH_SOURCE%/*}/break.sh"
#	. "${BASH_SOURCE%/*}/functions_disks.sh"
#	need_disks
#
# need_disks runs the test again in mount points of its own: when the test
# and its daemon have ended, however that was, nothing is mounted any more,
# and the loop devices are free.
#
#   need_disks [KIND...]      skips where there can be none (ext4, xfs)
#   disk_mount NAME SIZE KIND [OPTION...]
#                             a file system of KIND (ext4, xfs) at $mnt/NAME;
#                             OPTIONs are of mkfs.  XFS wants 300M.
#   disk_thin NAME SIZE KIND ROOM
#                             the same on an image that has ROOM for data (it
#                             must hold what mkfs writes): the device answers
#                             ENOSPC beyond that, whatever df says
#   disk_fatten NAME ROOM     mends that
#   disk_frail NAME SIZE KIND the same on an image that disk_fail can take
#                             away
#   disk_fail NAME            its device answers EIO from now on, until
#                             disk_again
#   disk_shutdown NAME [-f]   as if its power failed: nothing that is not
#                             durable will be there after disk_again; with
#                             -f the names and lengths of files will, as when
#                             the journal had just been written, not the data
#   disk_umount NAME          lazily: whatever is open stays open
#   disk_again NAME           mounts it again (repairs what its journal
#                             tells), wherever it was unmounted or shut down
#   disk_check NAME           fails unless its fsck finds nothing (unmounted)

mnt=$work/mnt

need_disks()
{
	local kind

	need mount umount losetup xfs_io
	for kind in "${@:-ext4}"; do
		need "mkfs.$kind"
	done
	[ -n "${TEST_MOUNTS:-}" ] && return 0
	need_root "mount"
	[ -e /dev/loop-control ] || skip "there are no loop devices"
	TEST_MOUNTS=1 unshare -m --propagation private bash "$0" && exit 0
	exit $?
}

# NAME KIND [OPTION...]: makes it on the image that is there, and mounts it.
disk_make()
{
	local name=$1 kind=$2
	shift 2

	mkdir -p "$mnt/$name"
	echo "$kind" >"$work/$name.kind"
	case $kind in
	xfs) mkfs.xfs -q -f -K "$@" "$work/$name.img" >/dev/null ;;
	*) "mkfs.$kind" -q -F -m 0 -E nodiscard,lazy_itable_init=1 "$@" \
		"$work/$name.img" >/dev/null ;;
	esac
	at_end "umount -l '$mnt/$name' 2>/dev/null"
	mount -o loop "$work/$name.img" "$mnt/$name" ||
		skip "cannot mount $kind on a loop device"
}

disk_mount()
{
	truncate -s "$2" "$work/$1.img"
	disk_make "$1" "${@:3}"
}

disk_thin()
{
	mkdir "$work/$1.thin"
	at_end "umount -l '$work/$1.thin' 2>/dev/null"
	mount -t tmpfs -o "size=$4" tmpfs "$work/$1.thin"
	truncate -s "$2" "$work/$1.thin/img"
	ln -s "$1.thin/img" "$work/$1.img"
	disk_make "$1" "$3"
}

disk_fatten()
{
	mount -o "remount,size=$2" "$work/$1.thin"
}

disk_frail()
{
	mkdir "$work/$1.host"
	truncate -s 1G "$work/$1.host.img"
	mkfs.ext4 -q -F -E nodiscard "$work/$1.host.img"
	at_end "umount -l '$work/$1.host' 2>/dev/null"
	mount -o loop "$work/$1.host.img" "$work/$1.host"
	truncate -s "$2" "$work/$1.host/img"
	ln -s "$1.host/img" "$work/$1.img"
	disk_make "$1" "${@:3}"
	sync -f "$work/$1.host"
}

disk_fail()
{
	xfs_io -x -c shutdown "$work/$1.host" >/dev/null
}

disk_shutdown()
{
	xfs_io -x -c "shutdown ${2:-}" "$mnt/$1" >/dev/null
}

disk_umount()
{
	umount -l "$mnt/$1"
}

# A file system that somebody still holds keeps its loop device: mounting the
# image once more would give it a second one, and two truths.
disk_is_free()
{
	! losetup -n -O BACK-FILE | grep -qxF "$(realpath -m "$work/$1")"
}

disk_is_mounted()
{
	grep -qF " $1 " /proc/self/mounts
}

disk_again()
{
	! disk_is_mounted "$mnt/$1" || disk_umount "$1"
	wait_for 30 disk_is_free "$1.img"
	if [ -d "$work/$1.host" ]; then
		umount "$work/$1.host"
		wait_for 30 disk_is_free "$1.host.img"
		mount -o loop "$work/$1.host.img" "$work/$1.host"
	fi
	mount -o loop "$work/$1.img" "$mnt/$1"
}

disk_check()
{
	wait_for 30 disk_is_free "$1.img"
	case $(cat "$work/$1.kind") in
	xfs) xfs_repair -n "$work/$1.img" >/dev/null 2>&1 ;;
	*) e2fsck -fn "$work/$1.img" >/dev/null 2>&1 ;;
	esac
}
