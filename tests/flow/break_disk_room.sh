# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# A disk that is full has room again in mid-recording:
#
#   disk0   ext4 of 64M, empty
#   disk1   the same, with a large file for a while
#
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks ext4

disk_mount disk0 64M ext4
disk_mount disk1 64M ext4
disks=("$mnt/disk0" "$mnt/disk1")
conf_write "$(raw_stream)"

more()
{
	send "good:$at:500"
	at=$((at + 500))
}

spated_start
begin room
at=0
more
wait_for 10 has_state "$mnt/disk1" idle

# All but the reserve and a little.
free=$(($(stat -f -c '%a * %S' "$mnt/disk1")))
fallocate -l $((free - 1200000)) "$mnt/disk1/large"
full()
{
	more
	has_state "$mnt/disk1" full
}
wait_for 30 full
had=$(chunks_of room "$mnt/disk1")
more
same "chunks on the full disk" "$(chunks_of room "$mnt/disk1")" "$had"

rm "$mnt/disk1/large"
again()
{
	more
	[ "$(chunks_of room "$mnt/disk1")" -gt "$had" ]
}
wait_for 60 again
end room
same lost "$(info room .packets_lost)" 0
same "at risk" "$(info room .packets_at_risk)" 0
ideal "$work/ideal" "good:0:$at"
exported room "$work/ideal"
same "times that it was full" \
	"$(grep -c "disk1: .*no space above the reserve" "$log")" 1
spated_stop
