# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# A disk that does not answer for a while, and one that never does:
#
#   disk0   answers
#   disk1   hangs while $work/hang is there
#   disk2   answers
#
. "${BASH_SOURCE%/*}/break.sh"
test_plugins

disks_make 3

failed_is()
{
	jq -r '.name + " " + .state + " " + .why' |
		{ grep "^$1 " || echo nothing; }
}

is_failed()
{
	local says="$1 failed no disk is left"

	same "info" "$(spate info "$1" --json | failed_is "$1")" "$says"
	same "info of the disks" "$(info_disks "$1" | failed_is "$1")" "$says"
	same "ls" "$(spate ls "$1" --json | failed_is "$1")" "$says"
	same "ls of the disks" "$("$SPATE" ls "$1" --json \
		--disks "$(disks_list)" | failed_is "$1")" "$says"
	same "check" "$({ spate check "$1" --json --max-loss 1 || true; } |
		failed_is "$1")" "$says"
	spate info "$1" | grep "state *failed: no disk is left" >&2 ||
		fail "$(spate info "$1")"
	refused "it failed: no disk is left" spate check "$1" --max-loss 1
}

# is_read NAME: spated knows of it, and has read it; at first it knows no names
is_read()
{
	local state

	state=$(spate ls "$1" --json | jq -r .state)
	[ -n "$state" ] && [ "$state" != unread ]
}

# All are full, and take its end: that it failed, and why, is its state from
# then on, whoever is asked.
full()
{
	settings=('memory = "64M";' 'reserve = "1M";' 'writer = "slow";'
		"slow_fail = \"$work/fail\";" 'slow_errno = "ENOSPC";')
	conf_write "$(raw_stream)"
	spated_start
	begin failed
	send good:0:3000
	wait_for 10 came failed 3000
	touch "$work/fail"
	send good:3000:3000
	wait_for 10 came failed 6000
	spate stop failed >/dev/null || true

	is_failed failed
	sums failed
	spated_stop
	rm "$work/fail"
	spated_start
	wait_for 30 has_state "${disks[0]}" idle
	wait_for 30 is_read failed
	is_failed failed
	sums failed
	refused "it failed, and was ended" spate record failed --stream s --resume
	spate verify failed >/dev/null

	# Those of before had no other word for it than the reason.
	spated_stop
	sed -i 's/, *"failed": *true//' "${disks[@]/%//failed/failed.meta.jsonl}"
	! grep -h '"failed": *true' "${disks[@]/%//failed/failed.meta.jsonl}" ||
		fail "it says so yet"
	spated_start
	wait_for 30 is_read failed
	is_failed failed
}

# Both wait most of the time: they do so side by side.
if [ "${1:-}" = full ]; then
	full
	exit
fi
bash "$0" full &
full=$!
at_end 'kill $full 2>/dev/null && wait $full'

settings+=('writer = "slow";' "slow_disk = \"${disks[1]}/\";"
	"slow_hang = \"$work/hang\";" 'slow_queue = 8;')
conf_write "$(raw_stream)"

spated_start
wait_for 10 has_state "${disks[1]}" idle

# It hangs with a block or two, which others write; and is back in time.
begin back
send good:0:2000
touch "$work/hang"
send good:2000:4000
spate check back --quiet >/dev/null
wait_for 30 has_state "${disks[1]}" hung
refused "${disks[1]} does not answer" spate check back
send good:6000:2000
rm "$work/hang"
wait_for 30 has_state "${disks[1]}" idle
spate check back --quiet >/dev/null
send good:8000:4000
end back
wait_for 10 no_copies back
ideal "$work/ideal" good:0:12000
exported back "$work/ideal"
same "lost of back" "$(info back .packets_lost)" 0
same "at risk of back" "$(info back .packets_at_risk)" 0
grep -q "${disks[1]}: the disk does not answer" "$log"
grep -q "${disks[1]}: [0-9]* blocks that were .* are given to other disks" "$log"
grep -q "${disks[1]}: the disk answers again" "$log"
[ "$(info back ".disks[] | select(.path == \"${disks[1]}\") | .chunks")" -gt 2 ]

# Stop waits for the others only.  What the one had since its last round may
# be there or not; what it had on its way is elsewhere.
begin without
send good:0:4000
touch "$work/hang"
send good:4000:4000
end without
same "state of without" "$(info without .state)" complete
sums without
risk=$(info without .packets_at_risk)
same "lost of without" "$(info without .packets_lost)" "$risk"
same "unwritten of without" "$(drop without unwritten)" "$risk"

# Another begins, and ends, without it.
begin alone
send good:0:4000
end alone
ideal "$work/ideal" good:0:4000
cp "$work/ideal" "$work/ideal4"
same "lost of alone" "$(info alone .packets_lost)" 0

# Then it is back: it has its index, its end, and no copy of anything.
rm "$work/hang"
wait_for 30 has_state "${disks[1]}" idle
wait_for 10 no_copies without
ideal "$work/ideal" good:0:8000
spate verify without >/dev/null
spate export without "$work/exported" --quiet
cmp "$work/exported" "$work/ideal"
rm "$work/exported"
exported alone "$work/ideal4"

# All hang: the recording waits, and stops when it is told to, with what was
# written; so does the daemon.
spated_stop
sed -i '/slow_disk/d' "$conf"
spated_start
begin all
send good:0:3000
wait_for 10 came all 3000
touch "$work/hang"
send good:3000:3000
end all
same "state of all" "$(info all .state)" complete
[ "$(drop all unwritten)" -gt 0 ] || fail "nothing was lost with all disks"
spated_stop
grep -q "ends without a disk that does not answer" "$log"
wait $full
