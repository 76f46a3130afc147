# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
#
# What the tests of spatefs share.  Sourced after functions.sh (or break.sh):
#
#	. "${BASH_SOURCE%/*}/functions_fuse.sh"
#	need_fuse
#	fuse_start "$work/mnt" -o disks="$(disks_list)"
#	cmp "$work/mnt/r1.vdif" "$work/exported"
#	fuse_stop "$work/mnt"
#
# When the test has ended, however that was, what it mounted with these is
# unmounted, and the programs that they started have ended.
#
#   $SPATEFS              the program: that of the build, unless set already
#   $fuse_log             what all of them say (-f)
#   need_fuse             skips where it is not built, or nothing can be mounted
#   fuse_start DIR [ARG]  makes DIR, mounts there with these arguments besides
#                         -f, and waits until it is mounted
#   fuse_stop DIR         ends that with SIGTERM; fails unless it ends with 0
#                         and nothing is mounted there any more
#   fuse_kill DIR         ends it with SIGKILL, and leaves the dead mount
#   fuse_pid DIR          prints the process
#   fuse_mounted DIR      is something mounted there, be it dead or hanging?
#                         Asks the kernel, never the file system
#   fuse_umount DIR       lazily, whatever is mounted there; quiet if nothing is
#   fuse_clean DIR        at the end of the test fuse_umount DIR: for who mounts
#                         by another way than fuse_start
#   fuse_rss DIR          prints its resident memory, in KiB

SPATEFS=${SPATEFS:-$top_builddir/spatefs}
fuse_log=$work/spatefs.log
declare -A fuse_pids=()

# $status is that of finish, which runs this.
fuse_tell()
{
	[ "$status" -ne 0 ] && [ "$status" -ne 77 ] && [ -s "$fuse_log" ] ||
		return 0
	say "---- the log of spatefs"
	tail -n 60 "$fuse_log" >&2
}

at_end fuse_tell

need_fuse()
{
	[ -x "$SPATEFS" ] || skip "$SPATEFS is not built (libfuse3)"
	[ -c /dev/fuse ] || skip "there is no /dev/fuse"
	if [ "$(id -u)" -eq 0 ]; then
		: <>/dev/fuse || skip "this root cannot use /dev/fuse"
		unshare -m true 2>/dev/null || skip "this root cannot mount"
	else
		need fusermount3
		[ -w /dev/fuse ] || skip "this user may not use /dev/fuse"
	fi 2>/dev/null
}

# The kernel writes a blank in a path as \040; tests have none.
fuse_mounted()
{
	awk -v dir="$1" '$5 == dir { n++ } END { exit !n }' \
		/proc/self/mountinfo
}

fuse_umount()
{
	local n

	for ((n = 0; n < 8; n++)); do
		fuse_mounted "$1" || return 0
		fusermount3 -u -z -q "$1" || umount -l "$1" || return 0
	done 2>/dev/null
}

# What it answers to is aborted with it, so whoever waits for it goes on.
fuse_end()
{
	local pid=${fuse_pids[$1]:-}

	if [ -n "$pid" ]; then
		kill -KILL "$pid" && wait "$pid"
		unset "fuse_pids[$1]"
	fi 2>/dev/null
	fuse_umount "$1"
}

fuse_clean()
{
	at_end "fuse_umount '$1'"
}

fuse_pid()
{
	printf '%s' "${fuse_pids[$1]}"
}

fuse_up()
{
	kill -0 "${fuse_pids[$1]}" 2>/dev/null ||
		fail "spatefs ended: $(tail -n 3 "$fuse_log")"
	# It opens that when a dead one of before is gone, and then mounts.
	find "/proc/${fuse_pids[$1]}/fd" -lname /dev/fuse 2>/dev/null |
		grep -q . && fuse_mounted "$1" &&
		timeout 60 stat -f "$1" >/dev/null 2>&1
}

fuse_start()
{
	local dir=$1
	shift

	fuse_mounted "$dir" || mkdir -p "$dir"
	at_end "fuse_end '$dir'"
	"$SPATEFS" "$dir" -f "$@" >>"$fuse_log" 2>&1 &
	fuse_pids[$dir]=$!
	wait_for 60 fuse_up "$dir"
}

fuse_stop()
{
	local pid=${fuse_pids[$1]} status=0

	kill -TERM "$pid"
	wait "$pid" || status=$?
	unset "fuse_pids[$1]"
	same "exit status of spatefs" "$status" 0
	! fuse_mounted "$1" || fail "$1 is still mounted"
}

fuse_kill()
{
	local pid=${fuse_pids[$1]}

	kill -KILL "$pid"
	wait "$pid" 2>/dev/null || true
	unset "fuse_pids[$1]"
}

fuse_rss()
{
	awk '/^VmRSS/ { print $2 }' "/proc/${fuse_pids[$1]}/status"
}
