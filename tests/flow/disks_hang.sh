# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   disk0 takes part     hangs: a file system that answers nobody
#
# A disk that does not answer is not added, and the daemon goes on meanwhile.
# When it answers again, others are added.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_fuse.sh
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
hang_disk=$top_builddir/tests/flow/hang_disk
[ -x "$hang_disk" ] || skip "$hang_disk is not built (make check does)"

disks_make 1
mkdir "$work/under" "$work/hangs" "$work/more"
coproc disk { "$hang_disk" "$work/under" "$work/hangs"; }
disk_pid=$disk_PID disk_in=${disk[1]} disk_out=${disk[0]}
at_end 'fuse_umount "$work/hangs"; kill $disk_pid 2>/dev/null'

tell()
{
	local answer

	echo "$*" >&"$disk_in"
	read -r -t 60 -u "$disk_out" answer || fail "no answer to '$*'"
}
read -r -t 60 -u "$disk_out" answer || skip "no disk that hangs can be made"

conf_write "$(stream_text 'format = "raw"; sequence = "le64@0"; prefix = 8;
	payload = 1024;')"
spated_start
tell hang
refused "does not answer" timeout 60 "$SPATE" --socket "$socket" disks add \
	--force "$work/hangs"
timeout 60 "$SPATE" --socket "$socket" status >/dev/null ||
	fail "the daemon waits for the disk"
tell answer
wait_for 30 spate disks add --force "$work/more"
spated_stop
