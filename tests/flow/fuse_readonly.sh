# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   whatever would change something --> spatefs    refused, each by the error
#                                                  that POSIX has for it
#                                         |
#                                       disks      as they were, to the byte
#
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_fuse.sh
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
need_python mmap
mnt=$work/mnt

disks_make 2
conf_write "$(stream_text 'format = "vdif"; prefix = 8;')"
spated_start
take --format vdif --packets 1000
spate export "$taken" "$work/exported"
spated_stop

state()
{
	find "$1" -not -path '*/.info/*' \
		-printf '%P %i %n %s %T@ %C@ %m %U %l\n' | sort
	find "$1" -type f -not -path '*/.info/*' -print0 | sort -z |
		xargs -0 sha256sum
}

state "${disks[0]}" >"$work/disk0.before"
state "${disks[1]}" >"$work/disk1.before"
fuse_start "$mnt" -o "disks=$(disks_list)"
wait_for 30 test -e "$mnt/$taken.vdif"
sleep 1.1
state "$mnt" >"$work/mount.before"
"$python" "$top_srcdir/tests/flow/fuse_readonly.py" "$mnt/$taken.vdif" \
	"$work/exported"
state "$mnt" >"$work/mount.after"
fuse_stop "$mnt"
state "${disks[0]}" >"$work/disk0.after"
state "${disks[1]}" >"$work/disk1.after"
for what in disk0 disk1 mount; do
	diff "$work/$what.before" "$work/$what.after" ||
		fail "something has changed: $what"
done
