# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# Disks come and go while something is recorded, and no packet is lost.
#
#   mnt/disk0   ext4   there; dropped, unmounted, mounted again, joins
#   mnt/disk1   ext4   there
#   mnt/disk2   ext4   mounted in mid-recording: joins
#   mnt/disk3   nothing is mounted
#   mnt/other   ext4   there; its folder `later` is made after the start: joins
#   x, y        folders, added by hand
#
. "${BASH_SOURCE%/*}/break.sh"
# shellcheck source=tests/flow/functions_disks.sh
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks

disk_mount disk0 64M ext4
disk_mount disk1 64M ext4
disk_mount other 64M ext4
mkdir "$mnt/disk3" "$work/x" "$work/y"

disks=("$mnt/disk*" "$mnt/other/later")
conf_write "$(raw_stream)"
spated_start
disks=("$mnt"/disk{0,1,2} "$mnt/other/later" "$work/x")

works()
{
	wait_for 20 has_state "$1" idle writing
}

n=0
more()
{
	send good:$n:3000
	n=$((n + 3000))
	wait_for 20 came come $n
}

grows()
{
	local before

	before=$(chunks_of come "$1")
	more
	more
	[ "$(chunks_of come "$1")" -gt "$before" ] || fail "$1 gets nothing"
}

# Something is mounted somewhere: that is looked at.
mkdir "$work/tick"
look_again()
{
	mount -t tmpfs none "$work/tick"
	sleep 0.3
	umount "$work/tick"
	sleep 0.3
}

works "$mnt/disk0"
works "$mnt/disk1"
same "not mounted" "$(state_of "$mnt/disk3")" ""
same "not there" "$(state_of "$mnt/other/later")" missing

begin come
more

# Mounted later, made later: they join.
disk_mount disk2 64M ext4
works "$mnt/disk2"
grows "$mnt/disk2"
mkdir "$mnt/other/later"
works "$mnt/other/later"
grows "$mnt/other/later"

# Let go of: it can be unmounted, and not only lazily.
spate disks drop "$mnt/disk0" >"$work/said"
grep -q "it can be unmounted" "$work/said"
same "dropped" "$(state_of "$mnt/disk0")" ""
umount "$mnt/disk0"
more
refused "none of the disks" spate disks drop "$mnt/disk0"

# Put in again: it takes blocks of what is recorded.
mount -o loop "$work/disk0.img" "$mnt/disk0"
works "$mnt/disk0"
grows "$mnt/disk0"

# counted PATH: blocks that it wrote since spated was started
counted()
{
	spate disks --json | jq --arg path "$1" 'select(.path == $path) | .chunks'
}

# Dropped and added, without being unmounted: its counts go on.
counted=$(counted "$mnt/disk1")
spate disks drop "$mnt/disk1" --quiet
at_drop=$(chunks_of come "$mnt/disk1")
look_again
more
same "state of one that was dropped" "$(state_of "$mnt/disk1")" ""
same "chunks of one that was dropped" "$(chunks_of come "$mnt/disk1")" "$at_drop"
spate disks add "$mnt/disk1/" --json >"$work/said"
same "its path" "$(jq -r .path "$work/said")" "$mnt/disk1"
same "found again" "$(jq -r .configured "$work/said")" true
[ "$counted" -gt 0 ] && [ "$(counted "$mnt/disk1")" -ge "$counted" ] ||
	fail "its blocks fell from $counted to $(counted "$mnt/disk1")"
grows "$mnt/disk1"

# What is refused, and why.
refused "it takes part already" spate disks add "$mnt/disk1"
ln -s "$mnt/disk1" "$work/link"
refused "it is the folder of $mnt/disk1" spate disks add --force "$work/link"
refused "nothing is mounted there" spate disks add "$mnt/disk3"
refused "No such file" spate disks add "$work/nowhere"
refused "Not a directory" spate disks add "$conf"
refused "none of the disks" spate disks drop "$work/x"
status=0
spate disks add 2>/dev/null || status=$?
same "no operand" $status 2
status=0
spate disks trop "$work/x" 2>/dev/null || status=$?
same "no such order" $status 2

# Folders on the system's disk, by force; what is free counts once.
if [ "$(stat -c %d "$work")" = "$(stat -c %d /)" ]; then
	refused "the system's own disk" spate disks add "$work/x"
fi
spate disks add --force "$work/x" >"$work/said"
grep -q "put it into .disks. of spate.conf" "$work/said"
before=$(spate status --json | jq .space.total)
(cd "$work" && spate disks add --force y --quiet)
same "space of two folders" "$(spate status --json | jq .space.total)" "$before"
same "their device" "$(spate disks --json |
	jq -r 'select(.path | test("/[xy]$")) | .device' | uniq | wc -l)" 1
spate disks drop "$work/y" --quiet

# What came by hand comes back by hand.
rm -r "$work/y"
look_again
mkdir "$work/y"
look_again
same "made again" "$(state_of "$work/y")" ""

# The last one that works has to stay while something is recorded.
for i in "$mnt/disk1" "$mnt/disk2" "$mnt/other/later" "$work/x"; do
	spate disks drop "$i" --quiet
done
refused "no other disk takes" spate disks drop "$mnt/disk0"
more
spate disks add "$mnt/disk1" "$mnt/disk2" --quiet
spate disks add "$mnt/other/later" --quiet
spate disks add --force "$work/x" --quiet
more

end come
same state "$(info come .state)" complete
same drops "$(info come '.drops | add')" 0
ideal "$work/ideal" good:0:$n
exported come "$work/ideal"
same "state on the disks" "$(info_disks come | jq -r .state)" complete

# Nothing is recorded: what is unmounted is missed, and found again.
umount "$mnt/disk2"
wait_for 20 has_state "$mnt/disk2" missing
mount -o loop "$work/disk2.img" "$mnt/disk2"
works "$mnt/disk2"
spated_stop

# Disks that came later have their blocks of memory, with the next recording.
blocks()
{
	spate streams --json | jq "$1"
}

disks=("$work/x")
conf_write "$(stream_text 'format = "raw"; sequence = "le64@0"; prefix = 8;
	payload = 1024;')"
spated_start
same "blocks for one disk" "$(blocks .blocks)" 8
spate disks add --force "$mnt/other/later" "$work/y" --quiet
begin more
same "blocks for three disks" "$(blocks .blocks)" 12
# The configuration names it: nobody has to say so twice.
spate disks drop "$work/x" --quiet
spate disks add "$work/x" --quiet
send good:0:3000
end more
spated_stop
if grep -v -e /disk2: -e /other/later: "$log" | grep " error "; then
	fail "that was an error"
fi
