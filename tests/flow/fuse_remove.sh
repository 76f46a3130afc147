# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# What goes away while it is read:
#
#   good    ext4, stays
#   away    ext4, is unmounted, and comes back
#   frail   ext4, its device answers EIO
#   lazy    hangs, and answers again
#
# A reader of what was there gets an error or fill, never other bytes; all
# else reads on, and the mount can be ended.
#
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
need_disks ext4
at=$work/mount
size=1024

disk_mount good 64M ext4
disk_mount away 64M ext4
disk_frail frail 64M ext4
mkdir -p "$work/under" "$mnt/lazy"
settings+=('durable = "block";')
# recorded NAME DISK...: there, and nowhere else
recorded()
{
	disks=("${@:2}")
	conf_write "$(raw_stream)"
	spated_start
	begin "$1"
	send good:0:6000
	end "$1"
	spated_stop
}
recorded two "$mnt/good"
recorded gone "$mnt/good" "$mnt/away" "$mnt/frail"
recorded one "$mnt/good" "$mnt/away" "$mnt/frail" "$work/under"
ideal "$work/ideal" good:0:6000

coproc disk { "$top_builddir/tests/flow/hang_disk" "$work/under" "$mnt/lazy"; }
disk_pid=$disk_PID disk_in=${disk[1]} disk_out=${disk[0]}
at_end 'umount -l "$mnt/lazy" 2>/dev/null'
at_end 'kill $disk_pid 2>/dev/null'
tell()
{
	local answer

	echo "$*" >&"$disk_in"
	read -r -t 20 -u "$disk_out" answer || fail "no answer to '$*'"
}
read -r -t 20 -u "$disk_out" answer || skip "no disk that hangs can be made"
disks[3]=$mnt/lazy

# Looks at each packet of a file, or of a descriptor: good ones, errors, and those that are filled.  There
# is nothing else.
look()
{
	"${python:-python3}" - "$1" "$work/ideal" $size <<-'END'
		import errno, os, sys
		path = sys.argv[1]
		fd = int(path) if path.isdigit() else os.open(path, os.O_RDONLY)
		size = int(sys.argv[3])
		ideal = open(sys.argv[2], "rb").read()
		fill = bytes.fromhex("44332211") * (size // 4)
		good = bad = filled = at = 0
		while at < len(ideal):
		    n = min(64 * size, len(ideal) - at)
		    try:
		        got = os.pread(fd, n, at)
		    except OSError as e:
		        assert e.errno == errno.EIO, e
		        bad += n // size
		        at += n
		        continue
		    assert got and len(got) % size == 0, (at, len(got))
		    for i in range(0, len(got), size):
		        one = got[i:i + size]
		        if one == ideal[at + i:at + i + size]:
		            good += 1
		        else:
		            assert one in (fill, bytes(size)), at + i
		            filled += 1
		    at += len(got)
		print(good, bad, filled)
	END
}

is_there()
{
	[ -e "$at/$1.raw" ]
}

is_away()
{
	! is_there "$1"
}

fuse_start "$at" -o "disks=$(disks_list),timeout=1s,direct_io"
at_end 'echo answer >&"$disk_in"'
wait_for 20 is_there gone
same "as it is" "$(look "$at/one.raw")" "6000 0 0"

# ---- a recording that is removed ----------------------------------------

# By hand, while it is open and while it is listed.
exec {open}<"$at/gone.raw"
head -c 1000000 <&"$open" | cmp - <(head -c 1000000 "$work/ideal")
for ((i = 0; i < 50; i++)); do ls -lR "$at"; done >/dev/null 2>&1 &
lister=$!
rm -r "$mnt"/{good,away,frail}/gone
look "$open" >"$work/said" || fail "of a removed one: $(cat "$work/said")"
wait_for 20 is_away gone
wait $lister || true
exec {open}<&-
wait_for 20 test ! -e "$at/.info/gone.json"

# With the command, which says so if it will not.
exec {open}<"$at/one.raw"
head -c 1000000 <&"$open" >/dev/null
if "$SPATE" rm one --disks "$(disks_list)" >"$work/said" 2>&1; then
	fail "one was removed while it was read"
fi
grep -q "read" "$work/said" || fail "rm says: $(cat "$work/said")"
exec {open}<&-
same "what was not removed" "$(look "$at/one.raw")" "6000 0 0"

# ---- a disk that is unmounted ---------------------------------------------

# Not while it is read; soon after that.
exec {open}<"$at/one.raw"
head -c 100000 <&"$open" >/dev/null
same two "$(look "$at/two.raw")" "6000 0 0"
disk_umount away
read -r good bad filled < <(look "$open")
same "packets in all, open" $((good + bad + filled)) 6000
within "of them good" 500 "$good" 6000
exec {open}<&-
wait_for 30 disk_is_free away.img
same two "$(look "$at/two.raw")" "6000 0 0"
read -r good bad filled < <(look "$at/one.raw")
within "good without a disk" 500 "$good" 5900
disk_again away
whole()
{
	[ "$(look "$at/one.raw")" = "6000 0 0" ]
}
wait_for 30 whole
unmounted()
{
	umount "$mnt/away" 2>/dev/null
}
wait_for 30 unmounted
disk_again away
wait_for 30 whole

# ---- a device that fails ----------------------------------------------------

disk_fail frail
echo 3 >/proc/sys/vm/drop_caches 2>/dev/null || true
read -r good bad filled < <(look "$at/one.raw")
within "good without a device" 500 "$good" 6000
same two "$(look "$at/two.raw")" "6000 0 0"
ls -l "$at" >/dev/null
disk_again frail
wait_for 30 whole

# ---- a disk that hangs --------------------------------------------------------

# It has as many chunks as it was fast.
chunks=$(find "$work/under/one" -name 'one.0*' | wc -l)
[ "$chunks" -gt 0 ] || fail "it has nothing of it"
tell hang
read -r good bad filled < <(look "$at/one.raw")
same "filled for one that hangs" "$filled" 0
within "errors for one that hangs" $((chunks * 256 - 255)) "$bad" \
	$((chunks * 256))
same "the rest" "$good" $((6000 - bad))
same two "$(look "$at/two.raw")" "6000 0 0"
ls -l "$at" >/dev/null
jq -e .name "$at/.info/two.json" >/dev/null
tell answer
wait_for 30 whole
fuse_stop "$at"

# It can be ended while one hangs, once who waits had patience enough; what the
# kernel holds of it ends later.
fuse_start "$at" -o "disks=$(disks_list),timeout=2s"
at_end 'echo answer >&"$disk_in"'
wait_for 20 is_there one
tell hang
cat "$at/one.raw" >/dev/null 2>&1 &
reader=$!
sleep 0.3
kill -TERM "$(fuse_pid "$at")"
not_mounted()
{
	! fuse_mounted "$at"
}
wait_for 20 not_mounted
tell answer
wait $reader || true
wait "$(fuse_pid "$at")" || fail "spatefs ended with $?"
unset "fuse_pids[$at]"
fuse_start "$at" -o "disks=$(disks_list)"
wait_for 20 whole
fuse_stop "$at"
