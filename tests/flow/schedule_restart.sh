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

# An armed scan may have begun when the daemon ends, and then has failed: where
# the daemon is killed too late, once more, and with more time.  A thread keeps
# what was typed, and a busy machine makes it wait.
spate record typed --stream s --at +1h --for 5m >/dev/null
wait_for 20 grep -q '"typed"' "$folder/.spate-state/schedule.json"
for in in 6 60; do
	missed=missed$in late=late$in armed=armed$in
	start=$((EPOCHSECONDS + in))
	{
		scan_text "$missed" $in 1s s 'arm = "1s"'
		scan_text "$late" $in 10m s 'arm = "1s"'
		scan_text "$armed" $in 10m s 'arm = "70s"'
		scan_text waits 3600 1m s
	} | scans_conf "$folder/b.conf"
	wait_for 20 has_state waits waiting
	wait_for 20 has_state "$armed" armed
	id=$(scan typed .id)
	spated_kill
	[ $EPOCHSECONDS -ge $((start - 2)) ] || break
	[ $in -eq 6 ] || fail "this machine takes a minute for that"
	spated_start
done
is_past()
{
	[ $EPOCHSECONDS -gt $((start + 2)) ]
}
wait_for 120 is_past
spated_start
wait_for 20 has_state "$late" running
same "missed" "$(state "$missed")" missed
same "waits" "$(state waits)" waiting
same "typed" "$(state typed)$(scan typed .id)" "waiting$id"
scan "$late" .why >"$work/out"
grep -q "$missed: missed: its end had passed" "$log" || fail "nobody was told"
wait_for 20 has_state "$armed" running
grep -q " info  $armed: it had not begun when spated ended: it begins now" \
	"$log" || fail "$armed was taken for one that had begun"
spate stop "$armed" >/dev/null
wait_for 20 has_state "$armed" done

# ---- stopped, and not over ----------------------------------------------

# A daemon that is stopped in the middle of a scan goes on with it.
spated_stop
spated_start
wait_for 20 has_state "$late" running
spate stop "$late" >/dev/null
wait_for 20 has_state "$late" done
spated_stop
spated_start
same "late, after all" "$(state "$late")" done
spated_stop

# ---- a state that is damaged --------------------------------------------

truncate -s 50 "$folder/.spate-state/schedule.json"
spated_start
same "waits" "$(state waits)" waiting
grep -q 'schedule.json cannot be read' "$log" || fail "nobody was told"
spated_stop
