# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# spate disks test
#
#   mnt/a, b   ext4
#   mnt/c      ext4, read-only
#   mnt/d      ext4, too small
#
. "${BASH_SOURCE%/*}/break.sh"
# shellcheck source=tests/flow/functions_disks.sh
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks

disk_mount a 128M ext4
disk_mount b 128M ext4
disk_mount c 64M ext4
disk_mount d 16M ext4
mount -o remount,ro "$mnt/c"
disks=("$mnt/a" "$mnt/b")
conf_write "$(raw_stream)"
spated_start

free_of()
{
	df --output=avail -B1 "$1" | tail -1
}
before=$(free_of "$mnt/a")

# Those of the daemon, where none is named.
spate disks test --size 32M --json >"$work/json"
same "disks" "$(jq -r .path "$work/json" | xargs)" "$mnt/a $mnt/b"
same "errors" "$(jq -r 'select(.error) | .path' "$work/json")" ""
same "figures that are missing" "$(jq '.alone, .together |
	select(.write <= 0 or .read <= 0 or .write_p50_ms <= 0 or
		.write_p99_ms < .write_p50_ms)' "$work/json")" ""

# In words, and by another plugin.
spate disks test "$mnt/a" "$mnt/b" "$mnt/a" --size 16M --writer writev \
	>"$work/said" 2>"$work/bar"
grep -q "write GB/s.*read GB/s.*p99.*all: write" "$work/said"
grep -q "$mnt/b  .*writev" "$work/said"
grep -q "shares its file system with $mnt/a" "$work/said"
grep -q "all together write" "$work/said"

# Those that cannot be tested are told; the others are tested.
refused "disks failed" spate disks test --size 32M "$mnt/a" "$mnt/c" "$mnt/d" \
	"$work/nowhere"
grep -q "$mnt/a  *[0-9.]* " "$work/refused"
grep -q "$mnt/c  .*cannot make a file: Read-only" "$work/refused"
grep -q "$mnt/d  .*free, and 32.0 MiB are needed" "$work/refused"
grep -q "$work/nowhere  .*No such file" "$work/refused"
refused "there is no" spate disks test --writer nothing "$mnt/a"

# Not while something is recorded, unless one wants to.
begin busy
refused "something is being recorded" spate disks test --size 16M
spate disks test --size 16M --force --quiet >"$work/said"
end busy

# Interrupted: nothing is left, neither a file nor its space.
env --default-signal=INT "$SPATE" disks test "$mnt/a" --size 96M --force \
	--quiet >/dev/null 2>&1 &
tester=$!
is_under_way()
{
	[ "$(free_of "$mnt/a")" -lt $((before - (64 << 20))) ]
}
wait_for 20 is_under_way
kill -INT $tester
status=0
wait $tester || status=$?
same "exit status" $status 130
had_space()
{
	[ "$(free_of "$mnt/a")" -ge $((before - (1 << 20))) ]
}
wait_for 20 had_space
same "what is left" "$(find "$mnt/a" -name '.spate*' -o -name '*test*')" ""
spated_stop
