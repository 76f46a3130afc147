# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spated, killed -- some time goes by --> spated
#
# What was missed is said, what is late begins at once, what was typed is still
# there; and a scan that begins without a disk has one when it comes.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_schedule.sh
. "${BASH_SOURCE%/*}/functions_schedule.sh"

disks=("$work/later/disk")
schedule_conf
spated_start

is_over()
{
	[ "$(info "$1" .state)" = complete ]
}

# ---- no disk yet --------------------------------------------------------

scan_text nodisk 2 10m s | scans_conf "$folder/a.conf"
waits_for_disk()
{
	[[ $(info nodisk .why) == "no disk takes blocks"* ]]
}
has_disk()
{
	! waits_for_disk
}
wait_for 30 has_state nodisk running
wait_for 30 waits_for_disk
grep -q ' error nodisk: no disk takes blocks' "$log" || fail "nobody was warned"
mkdir -p "$work/later/disk"
wait_for 60 has_disk
spate stop nodisk >/dev/null
wait_for 20 has_state nodisk done
same "why" "$(scan nodisk .why)" "stopped by hand"

# ---- away for a while ---------------------------------------------------

{
	scan_text missed 12 1s s
	scan_text late 12 10m s
	scan_text waits 3600 1m s
} | scans_conf "$folder/b.conf"
spate record typed --stream s --at +1h --for 5m >/dev/null
wait_for 20 has_state waits waiting
id=$(scan typed .id)
spated_kill
[ -s "$folder/.spate-state/schedule.json" ] || fail "no state was kept"
sleep 14
spated_start
wait_for 20 has_state late running
same "missed" "$(state missed)" missed
same "waits" "$(state waits)" waiting
same "typed" "$(state typed)$(scan typed .id)" "waiting$id"
scan late .why >"$work/out"
grep -q 'missed: its end had passed' "$log" || fail "nobody was told"

# ---- stopped, and not over ----------------------------------------------

# A daemon that is stopped in the middle of a scan goes on with it.
spated_stop
spated_start
wait_for 20 has_state late running
spate stop late >/dev/null
wait_for 20 has_state late done
spated_stop
spated_start
same "late, after all" "$(state late)" done
spated_stop

# ---- a state that is damaged --------------------------------------------

truncate -s 50 "$folder/.spate-state/schedule.json"
spated_start
same "waits" "$(state waits)" waiting
grep -q 'schedule.json cannot be read' "$log" || fail "nobody was told"
spated_stop
