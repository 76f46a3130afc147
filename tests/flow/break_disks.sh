# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   disk0   stays
#   disk1   is no folder at all
#   disk2   is removed in mid-recording
#   disk3   becomes a file
#
. "${BASH_SOURCE%/*}/break.sh"

disks_make 4
rmdir "${disks[1]}" "${disks[3]}"
settings+=('durable = "end";')	# so that all on a removed disk is lost
conf_write "$(raw_stream)"

"$SPATED" -c "$conf" -n >"$work/check"
grep -q "${disks[1]} .*not there" "$work/check" || fail "$(cat "$work/check")"
spated_start
wait_for 10 has_state "${disks[1]}" missing
wait_for 10 has_state "${disks[3]}" missing
touch "${disks[3]}"
wait_for 20 has_state "${disks[3]}" failed
wait_for 10 has_state "${disks[2]}" idle
grep -q "${disks[1]}: cannot open the folder: No such file" "$log"
grep -q "${disks[3]}: cannot open the folder: it is not a folder" "$log"

# Two that are not fit: the other two have it all.
begin two
send good:0:3000
end two
ideal "$work/ideal" good:0:3000
exported two "$work/ideal"
same "disks in use" "$(info two '[.disks[] | select(.chunks > 0)] | length')" 2

# Moved away: all of it is there, where it was moved.
begin moved
send good:0:3000
mv "${disks[2]}" "$work/elsewhere"
send good:3000:3000
end moved
ideal "$work/ideal" good:0:6000
mv "$work/elsewhere" "${disks[2]}"
exported moved "$work/ideal"

# Removed: what was on it is gone with it, and nothing else.
begin removed
send good:0:3000
wait_for 10 came removed 3000
rm -rf "${disks[2]}"
send good:3000:6000
wait_for 20 has_state "${disks[2]}" missing
end removed
grep -q "${disks[2]}: cannot .*: No such file" "$log"
same state "$(info removed .state)" complete
[ "$(drop removed unwritten)" -gt 0 ] || fail "nothing was lost with the disk"
same "lost of removed" "$(info removed .packets_lost)" \
	"$(drop removed unwritten)"
same "packets of removed" "$(info removed .packets)" \
	$((9000 - $(drop removed unwritten)))
gone=$(info removed ".disks[] | select(.path == \"${disks[2]}\") | .bytes")
refused "not all of it is data" "$SPATE" export removed "$work/exported" \
	--disks "${disks[0]}" --quiet
ideal "$work/ideal" good:0:9000
within "packets that are not there" 1 \
	"$(differ "$work/exported" "$work/ideal" 1024)" $((gone / 1024))
rm "$work/exported"
refused "on none of the disks" "$SPATE" verify removed --disks "${disks[0]}"

# It comes back with the next recording, and so does one that was never there.
mkdir "${disks[1]}" "${disks[2]}"
begin back
wait_for 10 has_state "${disks[1]}" idle
wait_for 10 has_state "${disks[2]}" idle
send good:0:3000
end back
same "disks in use" "$(info back '[.disks[] | select(.chunks > 0)] | length')" 3
ideal "$work/ideal" good:0:3000
exported back "$work/ideal"

# None is left: the recording goes on, since one may come back, and says so;
# and what no disk took is lost when it ends.
begin none
send good:0:1000
rm -rf "${disks[@]}"
send good:1000:3000
waits()
{
	[[ $(info none .why) == "no disk takes blocks"* ]]
}
wait_for 20 waits
end none
same "state without disks" "$(info none .state)" failed
same "datagrams that are neither packets nor drops" \
	"$(spate info none --json | sum_of)" 0
same "why" "$(info none .why)" "no disk is left"
refused "no disk could take it" spate record nowhere --stream s

# A scan of the schedule begins without one, and has all when one is there.
spate record planned --stream s --at +1s --for 1h --quiet >&2
has_begun()
{
	[ "$(info planned .state 2>/dev/null)" = recording ]
}
wait_for 20 has_begun
sent=0
send good:0:3000
wait_for 20 came planned 3000
mkdir "${disks[0]}"
wait_for 20 has_state "${disks[0]}" idle
end planned
same "state of planned" "$(info planned .state)" complete
same "lost of planned" "$(info planned .packets_lost)" 0
ideal "$work/ideal" good:0:3000
exported planned "$work/ideal"
rm -rf "${disks[0]}"

# A name that nothing came of may be taken again, and is that one alone then.
mkdir "${disks[@]}"
begin nowhere
same "recordings called nowhere" "$(spate info nowhere --json | wc -l)" 1
spate stop nowhere
same "recordings called nowhere" "$(spate info nowhere --json | wc -l)" 1
spated_stop
