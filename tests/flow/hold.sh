# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   spated --> good (ext4)    one disk loses its power, or does not answer,
#              xfs            before anything on it is durable
#
# With `hold` what it had is written again by the other one: nothing is lost,
# nothing is at risk, and nothing is there twice when the disk comes back.
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
test_plugins
need_disks ext4 xfs

disk_mount good 300M ext4
disk_mount xfs 320M xfs
disks=("$mnt/good" "$mnt/xfs")
base=("${settings[@]}" 'durable = "60s";')

# daemon HOLD SETTINGS...
daemon()
{
	local hold=$1
	shift
	settings=("${base[@]}" "$@")
	conf_write "$(raw_stream "hold = \"$hold\";")"
	spated_start
	for disk in "${disks[@]}"; do
		wait_for 20 has_state "$disk" idle
	done
}

# both_have NAME: chunks
both_have()
{
	for disk in "${disks[@]}"; do
		[ "$(chunks_of "$1" "$disk")" -gt 2 ] || return 1
	done
}

# whole NAME: nothing is missing of what was sent
whole()
{
	same "lost of $1" "$(info "$1" .packets_lost)" 0
	same "at risk of $1" "$(info "$1" .packets_at_risk)" 0
	sums "$1"
}

# at_risk NAME: it is known what the disk takes along
at_risk()
{
	[ "$(info "$1" .packets_at_risk)" -gt 0 ]
}

ideal "$work/ideal" good:0:12000

# The power of a disk fails.
daemon on
begin power
send good:0:8000
wait_for 20 both_have power
disk_shutdown xfs
send good:8000:4000
wait_for 20 came power 12000
spate stop power >/dev/null
whole power
grep -q "power: [0-9]* blocks that were not durable yet are written to other disks" "$log"
disk_umount xfs
"$SPATE" export power "$work/exported" --quiet --disks "$mnt/good"
cmp "$work/exported" "$work/ideal"
rm "$work/exported"
disk_again xfs
wait_for 60 has_state "$mnt/xfs" idle
no_copies power
spate recover power >/dev/null # the end, which the disk lacks
exported power "$work/ideal"
spated_stop

# A disk does not answer, and is back behind the end.
daemon on 'writer = "slow";' "slow_disk = \"$mnt/xfs/\";" \
	"slow_hang = \"$work/hang\";" 'slow_queue = 8;'
begin hang
send good:0:8000
wait_for 20 both_have hang
touch "$work/hang"
send good:8000:4000
wait_for 30 has_state "$mnt/xfs" hung
wait_for 20 came hang 12000
spate stop hang >/dev/null
whole hang
# It can be read, though spated has its index on that disk.
spate export hang "$work/exported" --quiet
cmp "$work/exported" "$work/ideal"
rm "$work/exported"
rm "$work/hang"
wait_for 30 has_state "$mnt/xfs" idle
wait_for 10 no_copies hang
whole hang
exported hang "$work/ideal"
spated_stop

# Without, it is at risk what a disk takes along.
daemon off
begin off
send good:0:8000
wait_for 20 both_have off
disk_shutdown xfs
send good:8000:4000
wait_for 20 came off 12000
wait_for 20 at_risk off
spate stop off >/dev/null
sums off
