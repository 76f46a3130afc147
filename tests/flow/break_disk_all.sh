# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# No disk takes blocks for a while: they wait in memory, and nothing is lost.
# When it is full packets are dropped, and counted; and when a recording ends
# without a disk its blocks are lost, and it says so.
#
#   disk0, disk1    ext4 of 64M, each with a large file for a while
#
#   s, t            streams, with a right to 25M and 5M of memory
#
# A recording may fill what the other has no right to.
#
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks ext4
need prlimit

disk_mount disk0 64M ext4
disk_mount disk1 64M ext4
disks=("$mnt/disk0" "$mnt/disk1")
settings[0]='memory = "96M";'
port_find 2
conf_write "$(raw_stream; echo; stream=t port=$((port + 1)) raw_stream 'blocks = 20;')"

states()
{
	spate disks --json | jq -rs 'map(.disks // [.])[] | .[] | .state' |
		sort -u | xargs
}

have_states()
{
	[ "$(states)" = "$1" ]
}

works()
{
	[[ $(states) == @(idle|writing|idle\ writing) ]]
}

# All but the reserve and a little.
fill_disks()
{
	local disk free

	for disk in "${disks[@]}"; do
		free=$(($(stat -f -c '%a * %S' "$disk")))
		fallocate -l $((free - 1200000)) "$disk/large"
	done
}

give_room()
{
	rm "${disks[@]/%//large}"
}

more()
{
	send "good:$at:500"
	at=$((at + 500))
}

both_full()
{
	[ "$at" -ge 10000 ] || more
	have_states full
}

waits()
{
	[ "$(info "$1" .why)" = "no disk takes blocks: they wait in memory" ]
}

written()
{
	[ "$(info "$1" .blocks.free)" -ge "$2" ]
}

spated_start

# ---- both are full ---------------------------------------------------------
begin full
at=0
more
wait_for 20 works
fill_disks
wait_for 60 both_full
wait_for 10 waits full
# More than it has a right to, and less than there is.
send "good:$at:45000"
at=$((at + 45000))
spate status | grep -q "full: no disk takes blocks: they wait in memory" ||
	fail "status does not say it"
same "state of full" "$(info full .state)" recording
more
more
give_room
wait_for 60 works
more
wait_for 30 written full 90
! waits full || fail "a disk takes blocks, and it says none does"
end full
same "state of full" "$(info full .state)" complete
same "lost of full" "$(info full .packets_lost)" 0
same "no_buffer of full" "$(info full '.drops.no_buffer // 0')" 0
ideal "$work/ideal" "good:0:$at"
exported full "$work/ideal"
grep -q "full: no disk takes blocks" "$log"
grep -q "full: disks take blocks again" "$log"

# ---- there is no descriptor ------------------------------------------------
# No more than spated has while it records nothing.  It cannot be asked
# meanwhile: who asks needs one, too.
idle=$(find "/proc/$spated_pid/fd" -type l | wc -l)
begin descriptors
at=0
more
more
limit=$(prlimit --pid "$spated_pid" --nofile --output SOFT --noheadings | xargs)
prlimit --pid "$spated_pid" --nofile="$idle":
none_left()
{
	[ "$at" -ge 15000 ] || more
	grep -q "descriptors: no disk takes blocks" "$log"
}
wait_for 60 none_left
more
prlimit --pid "$spated_pid" --nofile="$limit":
wait_for 60 works
more
wait_for 30 written descriptors 97
end descriptors
grep -q "Too many open files" "$log"
same "state of descriptors" "$(info descriptors .state)" complete
same "lost of descriptors" "$(info descriptors .packets_lost)" 0
ideal "$work/ideal" "good:0:$at"
exported descriptors "$work/ideal"

# ---- two recordings, and one of them ends without a disk -------------------
# The first has its right, and what is left is less than the second is sent.
spate rm --yes full descriptors >/dev/null
spated_stop
settings[0]='memory = "31M";'
conf_write "$(raw_stream; echo; stream=t port=$((port + 1)) raw_stream 'blocks = 20;')"
spated_start
begin patient
spate record hasty --stream t --quiet >&2
at=0
more
wait_for 20 works
fill_disks
wait_for 60 both_full
wait_for 10 waits patient
patient=$sent
sent=0
port=$((port + 1)) send good:0:10000
hasty=$sent
wait_for 30 came hasty "$hasty"
[ "$(drop hasty no_buffer)" -gt 0 ] || fail "memory for 5 MiB takes 10"
spate stop hasty >/dev/null
same "state of hasty" "$(info hasty .state)" failed
same "why" "$(info hasty .why)" "no disk is left"
[ "$(drop hasty unwritten)" -gt 0 ] || fail "nothing is unwritten"
same "drops with a cause" "$(info hasty '[.no_buffer_causes[] |
	select(.cause == "gone" and .disk) | .packets] | add')" \
	"$(drop hasty no_buffer)"
same "datagrams of hasty" "$(info hasty .datagrams)" "$hasty"
sums hasty
grep -q "hasty: no disk takes its last [0-9]* blocks: they are lost" "$log"
give_room
wait_for 60 works
sent=$patient
more
wait_for 30 written patient 97
end patient
same "state of patient" "$(info patient .state)" complete
same "lost of patient" "$(info patient .packets_lost)" 0
ideal "$work/ideal" "good:0:$at"
exported patient "$work/ideal"
spated_stop
