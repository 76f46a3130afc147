# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   spated --> mnt/a (ext4), mnt/b (xfs)     unmounted while it records: with
#                                            umount, which is refused, and
#                                            lazily, which is not
#
# Nothing is lost, nothing is written below an empty mount point, and what was
# unmounted can be mounted again, with all that was written to it.
#
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks ext4 xfs

disk_mount a 96M ext4
disk_mount b 320M xfs
disks=("$mnt/*")
settings=('memory = "64M";' 'reserve = "1M";' 'durable = "200ms";')
conf_write "$(raw_stream)"
spated_start
disks=("$mnt/a" "$mnt/b")

wait_for 10 has_state a idle
wait_for 10 has_state b idle

# It is in use: umount says so, and that costs nothing.
begin busy
send good:0:3000
wait_for 10 came busy 3000
! umount "$mnt/a" 2>/dev/null || fail "a disk in use was unmounted"
! umount "$mnt/b" 2>/dev/null || fail "a disk in use was unmounted"
send good:3000:3000
end busy
ideal "$work/ideal" good:0:6000
exported busy "$work/ideal"

# Lazily: it is let go of, or written to the end of the recording; when spated
# has let go, it is mounted again, and all is there.
begin lazy
send good:0:3000
wait_for 10 came lazy 3000
disk_umount b
send good:3000:9000
end lazy
[ ! -e "$mnt/b/lazy" ] || fail "an empty mount point was written to"
wait_for 30 disk_is_free b.img
same "state of lazy" "$(info lazy .state)" complete
same "lost of lazy" "$(info lazy .packets_lost)" 0
same "drops of lazy" "$(info lazy '.drops | add')" 0

# What begins now does without it.
begin without
wait_for 30 has_state b missing
send good:0:3000
end without
[ ! -e "$mnt/b/without" ] || fail "an empty mount point was written to"
disk_again b
wait_for 30 has_state b idle
ideal "$work/ideal" good:0:12000
exported lazy "$work/ideal"
ideal "$work/ideal" good:0:3000
exported without "$work/ideal"

# The next one has both again.
begin next
send good:0:6000
end next
ideal "$work/ideal" good:0:6000
exported next "$work/ideal"
same "disks in use" \
	"$(info next '[.disks[] | select(.chunks > 0)] | length')" 2

# Who records nothing holds no disk.
umount "$mnt/a"
umount "$mnt/b"
spated_stop
