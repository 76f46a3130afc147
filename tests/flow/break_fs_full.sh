# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   spated --> a (ext4)   somebody else fills it, beyond the reserve, and makes
#                         room again
#          --> b (ext4)   its device has less room than it says
#          --> c (xfs)    has room
#
# No packet is lost, and no chunk is on two disks.
#
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks ext4 xfs

disk_mount a 32M ext4
disk_thin b 128M ext4 8M
disk_mount c 320M xfs
settings=('memory = "64M";' 'reserve = "1M";' 'durable = "200ms";')

files_of()
{
	find "$mnt/$1/$2" -name "$2.0*" | wc -l
}

# To the last byte, reserve or not.
hog()
{
	dd if=/dev/zero of="$mnt/$1/hog" bs=64K status=none 2>/dev/null || true
	sync -f "$mnt/$1" || true
}

# Packets until a condition holds; $n is where they end.
send_until()
{
	until [ "$n" -ge 60000 ] || "$@"; do
		send good:$n:2000
		n=$((n + 2000))
	done
	"$@"
}

has_two()
{
	[ "$(files_of a room)" -ge $((before + 2)) ]
}

start()
{
	disks=("$@")
	conf_write "$(raw_stream)"
	spated_start
	n=0
}

# Full to the last byte, and then there is room again: it takes part again, in
# the same recording.
start "$mnt/a" "$mnt/c"
begin room
send_until true
hog a
send_until has_state a full failed
before=$(files_of a room)
rm "$mnt/a/hog"
wait_for 30 has_state a idle writing
send_until has_two
end room
ideal "$work/ideal" good:0:$n
same "lost of room" "$(info room '.packets_lost + .packets_at_risk')" 0
same "drops of room" "$(info room '.drops | add')" 0
no_copies room
exported room "$work/ideal"
spated_stop

# One that breaks whatever it is given beyond 8 MiB, and says so late: what it
# had taken since its last round may be there or not, and the daemon says so.
start "$mnt/a" "$mnt/b"
begin thin
send_until has_state b full failed
send good:$n:2000
n=$((n + 2000))
end thin
ideal "$work/ideal" good:0:$n
risk=$(info thin .packets_at_risk)
same "state of thin" "$(info thin .state)" complete
same "lost of thin" "$(info thin .packets_lost)" "$risk"
same "drops but those" "$(info thin '(.drops | add) - .drops.unwritten')" 0
# A copy that the broken disk does not let go is named.
no_copies thin || grep -q "thin/thin.* cannot be removed now" "$log"
"$SPATE" export thin "$work/exported" --quiet --disks "$(disks_list)" || true
within "packets that are not there" 0 \
	"$(differ "$work/exported" "$work/ideal" 1024)" "$risk"
spated_stop
