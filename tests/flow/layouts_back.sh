# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# A disk that is shut down in mid-recording, and comes back, where all blocks
# of a disk share a file: it goes on behind what was durable.
#
#   good    ext4, stays
#   xfs     XFS, shut down as by a power failure
#
# Then the power of both fails, and of the recorder too: what the indexes name
# is there, and recover makes good files of the rest.
#
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks ext4 xfs
need_python struct

disk_mount good 300M ext4
disk_mount xfs 320M xfs
disks=("$mnt/good" "$mnt/xfs")
settings+=('durable = "1s";')

state_of()
{
	spate disks --json | jq -rs --arg path "$1" \
		'map(.disks // [.])[] | .[] | select(.path == $path) | .state'
}

works()
{
	[[ $(state_of "$1") == @(idle|writing) ]]
}

chunks_of()
{
	info "$1" ".disks[] | select(.path == \"$2\") | .chunks"
}

send_on()
{
	send "good:$at:500"
	at=$((at + 500))
	sleep 0.1
}

# Until it has written more of the recording.
sent_to()
{
	local before tries

	before=$(chunks_of "$1" "$2")
	for ((tries = 0; tries < 40; tries++)); do
		send_on
		[ "$(chunks_of "$1" "$2")" -le "$before" ] || return 0
	done
	fail "$2 gets nothing of $1"
}

fails()
{
	local tries

	for ((tries = 0; tries < 100; tries++)); do
		send_on
		[ "$(state_of "$1")" != failed ] || return 0
	done
	fail "$1 is still $(state_of "$1")"
}

# Blocks that the disk gave back may lie behind later ones of the other: if
# check says so.
mark6_good()
{
	local option=

	if "$SPATE" check "$1" --disks "$mnt/good:$mnt/xfs" |
		grep -q "lie behind later ones"; then
		option=behind
	fi
	"$python" "$top_srcdir/tests/flow/layout_mark6.py" "$option" \
		"$work/joined" 1024 "$mnt"/{good,xfs}/"$1"
}

back()
{
	local name=back_$1 risk

	conf_write "$(raw_stream "layout = \"$1\";")"
	spated_start
	wait_for 10 works "$mnt/xfs"
	begin "$name"
	at=0
	sent_to "$name" "$mnt/xfs"
	sleep 1.5	# a round: what is there now is durable
	sent_to "$name" "$mnt/xfs"
	disk_shutdown xfs
	fails "$mnt/xfs"
	sent_to "$name" "$mnt/good"
	disk_again xfs
	wait_for 90 works "$mnt/xfs"
	sent_to "$name" "$mnt/xfs"
	sent_to "$name" "$mnt/good"
	end "$name"
	same state "$(info "$name" .state)" complete
	risk=$(info "$name" .packets_at_risk)
	same "unwritten of $name" "$(drop "$name" unwritten)" "$risk"
	spate verify "$name" >"$work/verify" || true
	! grep -v "on none of the disks\|^$name: " "$work/verify" ||
		fail "verify finds more than what was at risk"
	spated_stop
	ideal "$work/ideal" "good:0:$at"
	"$SPATE" export "$name" "$work/exported" --quiet --disks \
		"$mnt/good:$mnt/xfs" || [ $? -eq 1 ]
	same "packets that are not there" \
		"$(differ "$work/exported" "$work/ideal" 1024)" "$risk"
	rm "$work/exported"
	[ "$1" != mark6 ] || mark6_good "$name"
}

power()
{
	local name=power_$1 indexed

	conf_write "$(raw_stream "layout = \"$1\";")"
	spated_start
	wait_for 10 works "$mnt/xfs"
	begin "$name"
	at=0
	sent_to "$name" "$mnt/xfs"
	sent_to "$name" "$mnt/good"
	sleep 1.5
	sent_to "$name" "$mnt/xfs"
	sent_to "$name" "$mnt/good"
	disk_shutdown xfs
	disk_shutdown good
	spated_kill
	disk_again xfs
	disk_again good
	"$SPATE" verify "$name" --disks "$mnt/good:$mnt/xfs" \
		>"$work/verify" 2>&1 || true
	! grep "damaged\|of its\|has no header" "$work/verify" ||
		fail "an index names what is not there"
	indexed=$("$SPATE" info "$name" --json --disks "$mnt/good:$mnt/xfs" |
		jq .chunks)
	[ "$indexed" -gt 0 ] || fail "nothing of $name was durable"
	"$SPATE" recover "$name" --disks "$mnt/good:$mnt/xfs"
	"$SPATE" verify "$name" --disks "$mnt/good:$mnt/xfs" \
		>"$work/verify" || true
	! grep -v "on none of the disks\|^$name: " "$work/verify" ||
		fail "verify finds more than what was lost"
	[ "$("$SPATE" info "$name" --json --disks "$mnt/good:$mnt/xfs" |
		jq .chunks)" -ge "$indexed" ] || fail "recover lost blocks"
	[ "$1" != mark6 ] || mark6_good "$name"
}

for layout in mark6 file; do
	back $layout
	power $layout
done
