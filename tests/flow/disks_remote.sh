# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# Disks that are no folders but have a plugin: that of the tests, which keeps
# them in folders (tests/modules/disk-folder.c).
#
#   send --> spated --> folder:///a, b, c, d, and a folder e beside them
#                          |
#                          `--> export, verify, scrub, recover, rm, spatefs
#
# Whatever works with folders works with them; one that does not answer is a
# disk that fails.
. "${BASH_SOURCE%/*}/break.sh"
test_plugins
[ -e "$top_builddir/tests/modules/.libs/disk-folder.so" ] ||
	skip "disk-folder.so is not built (make check does)"

mkdir "$work"/{a,b,c,d,e}
remote=("folder://$work/a" "folder://$work/b" "folder://$work/c" "folder://$work/d")
export DISK_FOLDER_AWAY=$work/away

# packets NAME FIRST N: a whole recording of them, checked
packets()
{
	begin "$1"
	send "good:$2:$3"
	end "$1"
	ideal "$work/$1" "good:$2:$3"
	exported "$1" "$work/$1"
}

# beside ARGS: without the daemon
beside()
{
	"$SPATE" "$@" --disks "$(disks_list)"
}

# ---- every layout ------------------------------------------------------------

disks=("${remote[@]}")
for layout in vbs mark6 file; do
	conf_write "$(raw_stream "layout = \"$layout\";")"
	spated_start
	packets "of_$layout" 0 3000
	spated_stop
	beside check "of_$layout" >/dev/null
	beside export "of_$layout" "$work/beside" --quiet --force
	cmp "$work/beside" "$work/of_$layout"
done
same "what ls says" "$(beside ls --json | jq -r .name | paste -sd ' ')" \
	"of_file of_mark6 of_vbs"

# ---- parity: a disk goes, a bit turns -------------------------------------------

conf_write "$(raw_stream "parity = 1;")"
spated_start
packets whole 0 4000
spated_stop
disks=("${remote[@]:1}")
beside export whole "$work/part" --quiet
cmp "$work/part" "$work/whole"
disks=("${remote[@]}")
chunk=$(find "$work"/[a-d]/whole -name 'whole.00000003')
printf '\xaa' | dd of="$chunk" bs=1 seek=1000 conv=notrunc status=none
# Another one of that disk is of another group.
gone=$(find "${chunk%/*}" -name 'whole.[0-9]*[0-9]' ! -samefile "$chunk" |
	sort | head -n 1)
rm "$gone"
beside scrub whole >/dev/null
[ -e "$gone" ] || fail "scrub did not make the chunk again that went"
beside verify whole >/dev/null
beside export whole "$work/part" --quiet --force
cmp "$work/part" "$work/whole"

# ---- a daemon that is killed, and goes on ------------------------------------------

conf_write "$(raw_stream)"
spated_start
begin killed
send good:0:3000
wait_for 30 came killed 3000
kept()
{
	[ "$(beside info killed --json | jq .packets)" -gt 1000 ]
}
wait_for 30 kept
refused "killed" spate record killed --stream s
same "a live one's state" "$(beside ls killed --json | jq -r .state)" recording
spated_kill
beside recover killed >/dev/null
beside verify killed >/dev/null
beside export killed "$work/killed.is" --quiet
ideal "$work/killed" good:0:3000
cmp -n "$(stat -c %s "$work/killed.is")" "$work/killed.is" "$work/killed"

# ---- one that does not answer: another disk takes the blocks ---------------------------

disks=("${remote[0]}" "$work/e")
conf_write "$(raw_stream)"
spated_start
begin away
send good:0:1000
wait_for 30 came away 1000
durable()
{
	[ "$(beside info away --json | jq .packets)" = 1000 ]
}
wait_for 30 durable
touch "$work/away"
send good:1000:3000
wait_for 60 has_state "${remote[0]}" failed missing hung
rm "$work/away"
wait_for 60 has_state "${remote[0]}" idle writing
end away
ideal "$work/away.is" good:0:4000
exported away "$work/away.is"

# ---- removed: nothing is left ------------------------------------------------------------

spate rm away --yes >/dev/null
[ ! -e "$work/a/away" ] && [ ! -e "$work/e/away" ] || fail "rm left something"

# Added by hand: what is wrong is said of the URL, and of no folder.
refused "its form is folder:///PATH" spate disks add "folder://$work/b?user=x"
refused "there is no disk plugin 'floder'" spate disks add "floder://$work/b"
refused "cannot add folder://$work/nowhere: No such file" \
	spate disks add "folder://$work/nowhere"
! grep -q "name a folder" "$work/refused" || fail "$(cat "$work/refused")"
refused "schemes are written small" "$SPATE" ls --disks "FOLDER://$work/a"

# A configuration with a URL that can never be a disk is not taken.
cp "$conf" "$work/good.conf"
sed -i "s|^disks = .*|disks = [ \"folder://$work/a\", \"folder://\" ];|" "$conf"
refused "$conf:$(grep -n '^disks' "$conf" | cut -d: -f1): folder:// is no disk" \
	spate reload
mv "$work/good.conf" "$conf"

# A daemon of which the disk is not there at the start.
spated_stop
touch "$work/away"
spated_start
wait_for 60 has_state "${remote[0]}" failed missing hung
rm "$work/away"
wait_for 60 has_state "${remote[0]}" idle writing
packets later 0 3000

# A chunk that somebody took away, of which the disk still has the name.
chunk=$(find "$work/a/later" -name 'later.[0-9]*[0-9]' | sort | head -n 1)
if [ -n "$chunk" ]; then
	cp -p "$chunk" "$work/kept"
	: >"$chunk"
	refused "is not whole" beside verify later
	grep -q "is missing: its name is there" "$work/refused" ||
		fail "$(cat "$work/refused")"
	cp -p "$work/kept" "$chunk"
else
	say "the remote disk took none of three blocks: none is taken away"
fi
refused "no folder" spate disks test "folder://$work/a"
! grep -q rados "$work/refused" || fail "$(cat "$work/refused")"

# ---- two recorders take one name at the same time ------------------------------------------

# The one that has the disk records; the other is refused, and leaves nothing on
# the disk that it has for itself.
spated_stop
mkdir "$work/own"
one=$socket one_conf=$conf
disks=("${remote[0]}")
conf_write "$(raw_stream)"
spated_start
one_pid=$spated_pid
socket=$work/other.sock
disks=("${remote[0]}" "$work/own")
port_find
conf=$work/other.conf
conf_write "$(raw_stream)"
"$SPATED" -c "$conf" >>"$work/other.log" 2>&1 &
other_pid=$!
at_end "kill -KILL $other_pid 2>/dev/null"
wait_for 30 spated_answers
for n in 1 2 3 4 5 6; do
	"$SPATE" --socket "$one" record "both$n" --stream s >"$work/by.one" 2>&1 &
	pid=$!
	by=two not=one
	"$SPATE" --socket "$socket" record "both$n" --stream s >"$work/by.two" 2>&1 ||
		by=one not=two
	if wait "$pid"; then
		[ $by = one ] || fail "both$n: both record it"
	else
		[ $by = two ] || fail "both$n: nobody records it: $(cat "$work"/by.*)"
	fi
	grep -q "cannot record both$n: the name is taken" "$work/by.$not" ||
		fail "both$n: $(cat "$work/by.$not")"
	for at in "$one" "$socket"; do
		"$SPATE" --socket "$at" stop "both$n" >/dev/null 2>&1 || true
	done
	same "state of both$n" "$(beside info "both$n" --json | jq -r .state)" complete
	head -n 1 "$work/a/both$n/both$n.meta.jsonl" |
		jq -e '.uid | test("^[0-9a-f]{16}$")' >/dev/null ||
		fail "both$n has no uid of its own"
	[ $by = two ] || [ ! -e "$work/own/both$n" ] ||
		fail "both$n: the one that was refused left something"
done
kill "$other_pid"
wait "$other_pid" || true
socket=$one conf=$one_conf spated_pid=$one_pid

# ---- a disk that is not there yet ------------------------------------------------------------

# Reading makes nothing, and neither does a look at the configuration; recording
# does.
spated_stop
refused "none of the disks is there" "$SPATE" ls --disks "folder://$work/new-one"
disks=("${remote[0]}" "folder://$work/new-one")
conf_write "$(raw_stream)"
"$SPATED" -n -c "$conf" >"$work/out" 2>"$work/warned" || fail "$(cat "$work/warned")"
grep -q "warn .*new-one: No such file" "$work/warned" || fail "$(cat "$work/warned")"
[ ! -e "$work/new-one" ] || fail "it was made by who only looked"
spated_start
wait_for 60 has_state "folder://$work/new-one" idle writing
[ -d "$work/new-one" ] || fail "it was not made by who records"
disks=("${remote[0]}" "$work/e")

# ---- the mount, in the background: a child of the first process reads -----------------------

[ -x "$top_builddir/spatefs" ] || exit 0
# shellcheck source=tests/flow/functions_fuse.sh
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
mkdir "$work/mnt"
fuse_clean "$work/mnt"
"$SPATEFS" "$work/mnt" -o disks="$(disks_list)"
cmp "$work/mnt/later.raw" "$work/later"
fuse_umount "$work/mnt"
