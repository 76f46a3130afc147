# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# How spatefs is mounted, by whom, and what it says when it cannot be.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_fuse.sh
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
mnt=$work/mnt

# As root's mounts in a name space of their own none is left behind.
if [ "$(id -u)" -eq 0 ] && [ -z "${TEST_MOUNTS:-}" ]; then
	TEST_MOUNTS=1 unshare -m --propagation private bash "$0" && exit 0
	exit $?
fi

# STATUS TEXT ARGS: spatefs ARGS ends with that and says so in one line
says()
{
	local expected=$1 text=$2 status=0
	shift 2

	"$SPATEFS" "$@" >"$work/says" 2>&1 || status=$?
	same "status of spatefs $*: $(cat "$work/says")" $status "$expected"
	grep -qF -- "$text" "$work/says" ||
		fail "spatefs $* says '$(cat "$work/says")', expected '$text'"
	[ "$expected" -eq 0 ] || same "lines of it" "$(wc -l <"$work/says")" 1
	! fuse_mounted "$mnt" || fail "it is mounted after spatefs $*"
}

list()
{
	ls "$mnt" >/dev/null 2>&1
}

disks_make 2
disks_option="disks=$(disks_list)"
mkdir "$mnt"
fuse_clean "$mnt"

# Pages, and what is wrong with a command line.
says 0 "usage: spatefs [SOURCE] MOUNT" -h
says 0 "-o fill=invalid|zero|skip" --help
says 0 "spatefs $("$SPATE" --version | cut -d' ' -f2)" --version
says 0 "spatefs " -V
says 2 "MOUNT"
says 2 "there is no such option" "$mnt" -o "$disks_option,colour=red"
says 2 "'lots' is no value of it; -o cache=512M" "$mnt" -o cache=lots
says 2 "lacks its value" "$mnt" -o strip

# What it would be mounted from, and on.
says 1 "no source of recordings" "$work/nothing" "$mnt"
says 1 "none of the disks is there" "$mnt" -o "disks=$work/nothing"
says 1 "cannot read the configuration" "$mnt" -o "conf=$work/nothing"
says 1 "no such user" "$mnt" -o "$disks_option,user=nobody-at-all"
says 1 "mkdir $work/nothing" "$work/nothing" -o "$disks_option"
touch "$work/file"
says 1 "Not a directory" "$work/file" -o "$disks_option"
says 2 "it is one of the disks" "${disks[0]}" -o "$disks_option"
says 2 "a disk is below it" "$work" -o "$disks_option"
mkdir "${disks[0]}/in"
says 2 "it is on one of the disks" "${disks[0]}/in" -o "$disks_option"
rmdir "${disks[0]}/in"
printf 'disks = [ "%s", ;\n' "${disks[0]}" >"$conf"
says 1 "spate.conf:1" "$conf" "$mnt"

# In the background, from a list, a folder, a configuration; with blanks.
conf_write "$(stream_text 'format = "raw"; payload = 1024;')"
for source in "$(disks_list)" "${disks[0]}" "$conf"; do
	"$SPATEFS" "$source" "$mnt" </dev/null
	fuse_mounted "$mnt"
	list
	grep -qF " $mnt ro,nosuid,nodev" /proc/self/mountinfo
	grep -qF " - fuse.spatefs $source ro" /proc/self/mountinfo
	fuse_umount "$mnt"
done
mkdir "$work/two words"
cp -r "${disks[0]}" "$work/a,b"
"$SPATEFS" "$work/two words" -o "disks=$work/a\\,b"
ls "$work/two words" >/dev/null
status=0
"$SPATEFS" "$work/two words" -o "disks=$work/a\\,b" 2>"$work/says" || status=$?
same "status of a second one there" $status 1
grep -q "already" "$work/says"
fusermount3 -u "$work/two words" 2>/dev/null || umount "$work/two words"

# It may have more files open than who starts it: some for each recording, on
# each disk.
ulimit -Sn 256
fuse_start "$mnt" -o "$disks_option"
same "files that it may open" "$(awk '/^Max open files/ { print $4 }' \
	"/proc/$(fuse_pid "$mnt")/limits")" "$(ulimit -Hn)"
ulimit -Sn "$(ulimit -Hn)"
fuse_stop "$mnt"

# It is told so if one is mounted there.
fuse_start "$mnt" -o "$disks_option"
status=0
"$SPATEFS" "$mnt" -o "$disks_option" 2>"$work/says" || status=$?
same "status of a second one" $status 1
grep -qF "a spatefs is mounted there already; umount $mnt" "$work/says" ||
	fail "it says $(cat "$work/says")"

# Somebody is in it when it ends: lazily.
(cd "$mnt" && exec sleep 30) &
sleeper=$!
at_end "kill $sleeper 2>/dev/null"
inside()
{
	[ "$(readlink "/proc/$sleeper/cwd")" = "$mnt" ]
}
wait_for 10 inside
fuse_stop "$mnt"
kill $sleeper
wait $sleeper 2>/dev/null || true

# SIGHUP, and an unmount by others, end it as well.  (SIGINT is ignored by what
# a shell puts into the background, and stays so.)
fuse_start "$mnt" -o "$disks_option"
pid=$(fuse_pid "$mnt")
kill -HUP "$pid"
wait "$pid"
fuse_start "$mnt" -o "$disks_option"
pid=$(fuse_pid "$mnt")
fuse_umount "$mnt"
wait "$pid"

# Killed: dead, then mounted again as if nothing had been.
for _ in 1 2; do
	fuse_start "$mnt" -o "$disks_option"
	fuse_kill "$mnt"
	! list || fail "a dead mount has a list"
done
fuse_start "$mnt" -o "$disks_option"
list
grep -q "removed the mount of a spatefs that was killed" "$fuse_log"
same "mounts there" "$(awk -v d="$mnt" '$5 == d' /proc/self/mountinfo |
	wc -l)" 1
fuse_stop "$mnt"

# As mount(8) has it of a line of fstab; what that says to others is for them.
if command -v mount.fuse3 >/dev/null; then
	mkdir "$work/bin"
	ln -s "$SPATEFS" "$work/bin/spatefs"
	PATH=$work/bin:$PATH mount.fuse3 "$conf" "$mnt" -t fuse.spatefs \
		-o rw,nofail,_netdev,x-systemd.automount,noexec,fill=zero
	list
	grep -qF " $mnt ro,nosuid,nodev,noexec" /proc/self/mountinfo
	fuse_umount "$mnt"
	[ "$(id -u)" -ne 0 ] || {
		printf '%s#%s %s fuse noauto,user,nofail,_netdev 0 0\n' \
			"$SPATEFS" "$conf" "$mnt" >"$work/fstab"
		mount -T "$work/fstab" "$mnt"
		list
		umount "$mnt"
	}
fi

# Rights: others only when asked.
[ "$(id -u)" -eq 0 ] || exit 0
need setpriv mknod
chmod 755 "$work" "${disks[@]}"
as_nobody()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
fuse_start "$mnt" -o "$disks_option"
! as_nobody ls "$mnt" >/dev/null 2>&1 || fail "others may look into it"
fuse_stop "$mnt"
fuse_start "$mnt" -o "$disks_option,allow_other"
as_nobody ls "$mnt" >/dev/null
fuse_stop "$mnt"

# Another user's from the moment on when it is mounted.
fuse_start "$mnt" -o "$disks_option,user=nobody"
as_nobody ls "$mnt" >/dev/null
same "users of the program" "$(awk '/^Uid:/ { print $2, $3, $4, $5 }' \
	"/proc/$(fuse_pid "$mnt")/status")" "65534 65534 65534 65534"
same "rights of the program" "$(awk '/^CapEff:/ { print $2 }' \
	"/proc/$(fuse_pid "$mnt")/status")" 0000000000000000
same "whose it is" "$(as_nobody stat -c %U "$mnt")" nobody
fuse_stop "$mnt"

# An ordinary user mounts by fusermount3, and becomes nobody else.
mknod -m 666 "$work/fuse" c 10 229
mount --bind "$work/fuse" /dev/fuse
as_nobody test -x "$SPATEFS" && as_nobody true <>/dev/fuse || exit 0
mkdir "$work/theirs"
chown 65534 "$work/theirs"
fuse_clean "$work/theirs"
as_nobody "$SPATEFS" "$work/theirs" -o "$disks_option"
as_nobody ls "$work/theirs" >/dev/null
! ls "$work/theirs" >/dev/null 2>&1 || fail "root may look into it"
as_nobody fusermount3 -u "$work/theirs"
status=0
as_nobody "$SPATEFS" "$work/theirs" -o "$disks_option,user=root" \
	2>"$work/says" || status=$?
same "status of becoming root" $status 2
grep -qF "only root can mount for another user" "$work/says"
