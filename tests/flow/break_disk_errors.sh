# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# Disks that fail in mid-recording, and come back:
#
#   good    ext4, stays
#   ext     ext4, its device answers EIO
#   xfs     XFS, shut down as by a power failure
#
# What failed can be unmounted while the recording goes on, and takes blocks
# of it again when it is mounted.  Then all of them fail, and none comes back.
#
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks ext4 xfs

disk_mount good 300M ext4
disk_frail ext 300M ext4
disk_mount xfs 320M xfs
disks=("$mnt/good" "$mnt/ext" "$mnt/xfs")
settings+=('durable = "1s";')
conf_write "$(raw_stream)"

# NAME DISK: some of it is durable there.
is_indexed()
{
	[ -s "$2/$1/$1.index" ]
}

# Until it has written more of the recording.
sent_to()
{
	local before tries

	before=$(chunks_of "$1" "$2")
	for ((tries = 0; tries < 40; tries++)); do
		send "good:$at:500"
		at=$((at + 500))
		sleep 0.1
		[ "$(chunks_of "$1" "$2")" -le "$before" ] || return 0
	done
	fail "$2 gets nothing of $1"
}

fails()
{
	local tries

	for ((tries = 0; tries < 100; tries++)); do
		send "good:$at:500"
		at=$((at + 500))
		! has_state "$1" failed || return 0
		sleep 0.1
	done
	fail "$1 is still $(state_of "$1")"
}

# Nothing was lost but what nobody can know of.
accounted()
{
	local risk

	risk=$(info "$1" .packets_at_risk)
	same "unwritten of $1" "$(drop "$1" unwritten)" "$risk"
	same "lost of $1" "$(info "$1" .packets_lost)" "$risk"
	same "packets of $1" "$(info "$1" .packets)" $((sent - risk))
}

# Prints what verify found but blocks that are on no disk, and files of such
# blocks: the log of a file system may bring back a file whose data it lost.
other_findings()
{
	local line from to absent=" "

	while read -r from to; do
		absent+="$(seq -s ' ' "$from" "${to:-$from}") "
	done < <(sed -nE 's/^blocks? ([0-9]+)( to ([0-9]+))? .*on none of .*/\1 \3/p' \
		"$work/verify")
	while read -r line; do
		if [[ $line =~ ^chunk\ ([0-9]+)\ .*\ is\ in\ no\ index ||
			$line =~ from\ ([0-9]+)\ to\ ([0-9]+),\ are\ in\ no\ index ]]; then
			from=${BASH_REMATCH[1]} to=${BASH_REMATCH[2]:-$from}
			[[ $absent != *" $from "* || $absent != *" $to "* ]] ||
				continue
		fi
		echo "$line"
	done < <(grep -v "on none of the disks\|^back: " "$work/verify")
}

spated_start
wait_for 10 has_state "$mnt/ext" idle writing
wait_for 10 has_state "$mnt/xfs" idle writing

begin back
at=0
sent_to back "$mnt/ext"
sent_to back "$mnt/xfs"
wait_for 20 is_indexed back "$mnt/ext"
wait_for 20 is_indexed back "$mnt/xfs"
disk_fail ext
fails "$mnt/ext"
disk_shutdown xfs
fails "$mnt/xfs"
sent_to back "$mnt/good"

# Mounted again, they take blocks of the same recording.
disk_again ext
disk_again xfs
spate disks >/dev/null
wait_for 60 has_state "$mnt/ext" idle writing
wait_for 60 has_state "$mnt/xfs" idle writing
sent_to back "$mnt/ext"
sent_to back "$mnt/xfs"
end back
same state "$(info back .state)" complete
accounted back
no_copies back
spate verify back >"$work/verify" || true
found=$(other_findings)
[ -z "$found" ] || fail "verify finds more than what was at risk: $found"
grep -q "$mnt/ext: the disk takes blocks again" "$log"
grep -q "$mnt/xfs: the disk takes blocks again" "$log"
same "state on the disks" "$(info_disks back | jq -r .state)" complete
same "packets on the disks" "$(info_disks back | jq .packets)" \
	"$(info back .packets)"

# All fail: it ends as failed, says why, and what was durable is there.
spated_stop
disks=("$mnt/ext" "$mnt/xfs")
conf_write "$(raw_stream)"
spated_start
begin none
at=0
sent_to none "$mnt/ext"
sent_to none "$mnt/xfs"
wait_for 20 is_indexed none "$mnt/ext"
wait_for 20 is_indexed none "$mnt/xfs"
durable=$(info_disks none | jq .packets)
[ "$durable" -gt 0 ] || fail "nothing was durable"
disk_fail ext
disk_shutdown xfs
waits()
{
	send "good:$at:500"
	at=$((at + 500))
	[[ $(info none .why) == "no disk takes blocks"* ]]
}
wait_for 60 waits
spate stop none >/dev/null
same "state without disks" "$(info none .state)" failed
same "why" "$(info none .why)" "no disk is left"
same "datagrams that are neither packets nor drops" \
	"$(spate info none --json | sum_of)" 0
within "packets counted" "$durable" "$(info none .packets)" "$sent"
spated_stop
disk_again ext
disk_again xfs
within "packets that are there" "$durable" \
	"$(info_disks none | jq .packets)" "$sent"
"$SPATE" verify none --disks "$(disks_list)" >"$work/verify" || true
! grep "damaged\|differ" "$work/verify" || fail "what is there is damaged"
