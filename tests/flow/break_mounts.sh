# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   mnt/a   ext4 of 24 MiB       gets full
#   mnt/b   xfs                  has room, dies later
#   mnt/c   read-only
#   mnt/d   nothing is mounted: a wildcard does not take it
#   plain   xfs, named without a wildcard
#
. "${BASH_SOURCE%/*}/break.sh"
need mkfs.ext4 mkfs.xfs mount umount
in_namespace

mkdir "$work"/mnt "$work"/mnt/{a,b,c,d} "$work/plain"
ln -s ../plain "$work/mnt/.plain"	# for disk_mount, and no wildcard

# NAME SIZE MKFS: a file system of its own at mnt/NAME.
disk_mount()
{
	truncate -s "$2" "$work/$1.img"
	"${@:3}" "$work/$1.img" >/dev/null
	at_end "umount -l $work/mnt/$1 2>/dev/null"
	mount -o loop "$work/$1.img" "$work/mnt/$1" || skip "no loop device"
}

disk_mount a 24M mkfs.ext4 -q -m 0
disk_mount b 320M mkfs.xfs -f -q
disk_mount .plain 320M mkfs.xfs -f -q
disk_mount c 8M mkfs.ext4 -q -m 0
mount -o remount,ro "$work/mnt/c"

a=$work/mnt/a b=$work/mnt/b c=$work/mnt/c plain=$work/plain
disks=("$work/mnt/*" "$plain")
settings=('memory = "64M";' 'reserve = "4M";' 'durable = "end";')
conf_write "$(raw_stream)"
"$SPATED" -c "$conf" -n >"$work/check"
! grep -q "mnt/d" "$work/check" || fail "$(cat "$work/check")"
spated_start
disks=("$a" "$b" "$c" "$plain")

wait_for 10 has_state "$c" failed
grep -q "$c: cannot write to it: Read-only" "$log"
same "not mounted" "$(state_of "$work/mnt/d")" ""

# a gets full, down to the reserve, by what somebody else puts there too;
# nothing is lost.  Disks get blocks by the room that they have, so a is full for
# sure only when the others nearly are.
begin full
send good:0:20000
n=20000
avail=$(df --output=avail -B1 "$a" | tail -1)
fallocate -l $((avail - (5 << 20))) "$a/other"
until [ $n -ge 480000 ] || has_state "$a" full; do
	send good:$n:20000
	n=$((n + 20000))
done
same "state of a" "$(state_of "$a")" full
end full
ideal "$work/ideal" good:0:$n
grep -q "$a: cannot write a chunk: no space above the reserve" "$log"
same "drops while one is full" "$(info full '.drops | add')" 0
exported full "$work/ideal"
free=$(df --output=avail -B1 "$a" | tail -1)
# Chunks leave the reserve alone; the index and the like are in it.
[ "$free" -ge $((4000 << 10)) ] || fail "only $free bytes of reserve are left"
[ ! -e "$work/mnt/d/full" ] || fail "d is not mounted, and was written to"

# Dead: the file system answers everything by an error from now on.
disk_kill()
{
	python3 - "$1" <<-'END'
		import fcntl, os, struct, sys
		fd = os.open(sys.argv[1], os.O_RDONLY)
		fcntl.ioctl(fd, 0x8004587d, struct.pack("I", 2))
	END
}

begin dead
send good:0:5000
disk_kill "$b"
send good:5000:20000
end dead
same "state of b" "$(state_of "$b")" failed
same "state of dead" "$(info dead .state)" complete
unwritten=$(drop dead unwritten)
within "packets that were not durable" 256 "$unwritten" 5120
same "lost of dead" "$(info dead .packets_lost)" "$unwritten"
same "packets of dead" "$(info dead .packets)" $((25000 - unwritten))

# All dead: it waits for one, ends as failed when it is stopped, and nothing
# hangs.
umount -l "$b"
disk_mount b 320M mkfs.xfs -f -q
disks=("$a" "$b")
spated_stop
conf_write "$(raw_stream)"
spated_start
begin all
send good:0:3000
wait_for 10 came all 3000
disk_kill "$a"
disk_kill "$b"
send good:3000:9000
waits()
{
	[[ $(info all .why) == "no disk takes blocks"* ]]
}
wait_for 20 waits
end all
same "state of all" "$(info all .state)" failed
sums all
same "why" "$(info all .why)" "no disk is left"
refused "no disk could take it" spate record nowhere --stream s
spated_stop
