# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   r --> disk0 (hangs) disk1 --> spatefs --> readers: killed at once, or EIO
#   s -->               disk1 --> spatefs --> readers: nothing of it
#
# A disk that answers to nobody holds up who reads what is on it, no longer
# than they wait for it, and not at all who is killed.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_fuse.sh
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
hang_disk=$top_builddir/tests/flow/hang_disk
[ -x "$hang_disk" ] || skip "$hang_disk is not built (make check does)"
mnt=$work/mnt
stream=$(stream_text 'format = "vdif"; prefix = 8;')

# NAME: recorded on ${disks[@]}
record()
{
	conf_write "$stream"
	spated_start
	spate record "$1" --stream s
	gen --format vdif --packets 2000 --rate 100Mbps
	settle "$1" 2000
	spate stop "$1" >/dev/null
	spate export "$1" "$work/$1"
	spated_stop
}

disks_make 2
record r
whole=("${disks[@]}")
disks=("${disks[1]}")
record s
disks=("${whole[@]}")

mkdir "$work/hangs"
coproc disk { "$hang_disk" "${disks[0]}" "$work/hangs"; }
disk_pid=$disk_PID disk_in=${disk[1]} disk_out=${disk[0]}
at_end 'fuse_umount "$work/hangs"'

# ARGS of fuse_start.  At the end the disk goes first: who waits for it cannot
# be killed.
start()
{
	fuse_start "$mnt" "$@"
	at_end 'kill $disk_pid 2>/dev/null'
	wait_for 60 test -e "$mnt/r.vdif"
}

tell()
{
	local answer

	echo "$*" >&"$disk_in"
	read -r -t 60 -u "$disk_out" answer || fail "no answer to '$*'"
}
read -r -t 60 -u "$disk_out" answer || skip "no disk that hangs can be made"
disks[0]=$work/hangs

# ended PID: it is gone, by itself
ended()
{
	! kill -0 "$1" 2>/dev/null
}

killed_at_once()
{
	local pid

	cat "$mnt/r.vdif" >/dev/null 2>&1 &
	pid=$!
	sleep 0.5
	! ended "$pid" || fail "nobody waits for a disk that hangs"
	kill "-$1" "$pid"
	wait_for 60 ended "$pid"
	wait "$pid" || true
}

# They would wait for ten minutes.  Through the page cache, and past it.
for options in "" ",direct_io"; do
	start -o "disks=$(disks_list),timeout=10m$options"
	head -c 4096 "$mnt/r.vdif" | cmp - <(head -c 4096 "$work/r")
	tell hang
	killed_at_once KILL
	killed_at_once TERM
	tell answer
	cmp "$mnt/r.vdif" "$work/r"
	fuse_stop "$mnt"
done

# They wait for a second.
start -o "disks=$(disks_list),timeout=1s,direct_io"
tell hang
! cat "$mnt/r.vdif" >/dev/null 2>"$work/said" || fail "it was read all the same"
grep -q "Input/output error" "$work/said" || fail "it says $(cat "$work/said")"
cmp "$mnt/s.vdif" "$work/s"

# It is unmounted, whoever still waits.  Its process is gone when the kernel
# gets its threads back.
unmounted()
{
	! fuse_mounted "$mnt"
}
cat "$mnt/r.vdif" >/dev/null 2>&1 &
reader=$!
kill -TERM "$(fuse_pid "$mnt")"
wait_for 60 unmounted
tell answer
status=0
wait "$(fuse_pid "$mnt")" || status=$?
same "exit status of spatefs" $status 0
wait $reader || true
start -o "disks=$(disks_list)"
cmp "$mnt/r.vdif" "$work/r"
fuse_stop "$mnt"
