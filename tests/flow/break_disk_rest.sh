# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# What the disks tell of a recording that ended while one of them was in
# trouble adds up: datagrams = packets + drops, also after what was thought
# to be lost has come back.
#
#   good    ext4, stays
#   ext     ext4, its device answers EIO at the last fsync
#   xfs     XFS, frozen: it does not answer, and then it does
#
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks ext4 xfs
need xfs_freeze

disk_mount good 300M ext4
disk_frail ext 300M ext4
disk_mount xfs 320M xfs
at_end "xfs_freeze -u '$mnt/xfs' 2>/dev/null"
settings+=('durable = "end";')

written()
{
	[ "$(spate info "$1" --json | jq '[.disks[].bytes] | add')" -ge \
		$((sent * 1024)) ] &&
		[ "$(info "$1" ".disks[] | select(.path == \"$2\") | .chunks")" -gt 2 ]
}

# NAME DISK: all that was sent is written, some of it to that disk, and none of
# it is durable.
fill()
{
	begin "$1"
	wait_for 10 has_state "$2" idle
	send good:0:5120
	wait_for 30 written "$1" "$2"
}

unwritten_on_disks()
{
	info_disks "$1" | jq .drops.unwritten
}

# NAME: at rest, and as spated has it.
adds_up()
{
	same "datagrams of $1 on the disks" "$(info_disks "$1" | jq .datagrams)" \
		"$sent"
	same "datagrams of $1 that are neither packets nor drops, on the disks" \
		"$(info_disks "$1" | sum_of)" 0
	sums "$1"
}

# ---- the last fsync fails --------------------------------------------------
disks=("$mnt/good" "$mnt/ext")
conf_write "$(raw_stream)"
spated_start
fill failed "$mnt/ext"
disk_fail ext
end failed
disks=("$mnt/good")
adds_up failed
[ "$(unwritten_on_disks failed)" -gt 0 ] || fail "nothing is unwritten"
spated_stop

# ---- no answer at the end, and then there is one ---------------------------
disks=("$mnt/good" "$mnt/xfs")
conf_write "$(raw_stream)"
spated_start
fill late "$mnt/xfs"
xfs_freeze -f "$mnt/xfs"
end late
disks=("$mnt/good")
adds_up late
[ "$(unwritten_on_disks late)" -gt 0 ] || fail "nothing is at risk"
disks=("$mnt/good" "$mnt/xfs")
xfs_freeze -u "$mnt/xfs"
wait_for 30 has_state "$mnt/xfs" idle
all_there()
{
	[ "$(info_disks late | jq .packets)" -eq "$sent" ]
}
wait_for 30 all_there
adds_up late
same "unwritten of late" "$(unwritten_on_disks late)" 0
same "lost of late" "$(info_disks late | jq .packets_lost)" 0
same "at risk of late" "$(info_disks late | jq .packets_at_risk)" 0
same "unwritten of late, as spate info has it" "$(drop late unwritten)" 0

# ---- the only one does not answer when it is stopped, but soon -------------
spated_stop
disks=("$mnt/xfs")
conf_write "$(raw_stream)"
spated_start
begin soon
wait_for 10 has_state "$mnt/xfs" idle
xfs_freeze -f "$mnt/xfs"
send good:0:5120
wait_for 30 came soon "$sent"
"$SPATE" --socket "$socket" stop soon >/dev/null &
stop_pid=$!
wait_for 30 has_state "$mnt/xfs" hung
xfs_freeze -u "$mnt/xfs"
wait "$stop_pid"
adds_up soon
same "state of soon" "$(info soon .state)" complete
same "lost of soon" "$(info soon .packets_lost)" 0
same "unwritten of soon" "$(drop soon unwritten)" 0
spated_stop
disks=("$mnt/good" "$mnt/xfs")
conf_write "$(raw_stream)"
spated_start

# ---- killed before there is, and recovered ---------------------------------
# The disk answers to nobody: what the frozen call still wrote to the index is
# taken back, as a power failure does.
fill killed "$mnt/xfs"
xfs_freeze -f "$mnt/xfs"
end killed
kill -KILL "$spated_pid"
xfs_freeze -u "$mnt/xfs"
wait "$spated_pid" || true
spated_pid=
truncate -s 0 "$mnt/xfs/killed/killed.index"
[ "$(unwritten_on_disks killed)" -gt 0 ] || fail "nothing is at risk"
same "datagrams of killed that are neither packets nor drops" \
	"$(info_disks killed | sum_of)" 0
"$SPATE" recover killed --disks "$(disks_list)" >/dev/null
same "packets of killed" "$(info_disks killed | jq .packets)" "$sent"
same "datagrams of killed that are neither packets nor drops, recovered" \
	"$(info_disks killed | sum_of)" 0
same "unwritten of killed" "$(unwritten_on_disks killed)" 0
same "lost of killed" "$(info_disks killed | jq .packets_lost)" 0
