# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   clients without manners --VSI-S-----------> spated: the recording that
#                           --control socket-->         VSI-S began does not
#                                                       notice
#
# Both at the same time, kind by kind; the memory of both stays what it was.
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/vsi.sh"

disks_make 2
first=$(raw_stream)
port_s=$port
port_find
vsi_conf "$first
$(stream=t raw_stream)"
port=$port_s
spated_start
vsi_open
says '!record= 0 ;' 'record=on:busy'

memory()
{
	awk '/VmRSS/ { print $2 }' "/proc/$1/status"
}

at_end 'kill $sender 2>/dev/null'
python3 "$here/break_send.py" "$port" good:0:100000 >"$work/sent" &
sender=$!
before=$(memory "$spated_pid")
vsi_before=$(memory "$vsi_daemon")

vsi_kinds=(garbage long_lines commands wrong half_lines idle never_reads browsers)
kinds=(garbage requests long_lines idle slow idle idle garbage)
for i in "${!vsi_kinds[@]}"; do
	timeout 120 python3 "$here/vsi_hostile.py" "$vsi_port" \
		"${vsi_kinds[i]}" &
	one=$!
	timeout 120 python3 "$here/break_control.py" "$socket" "${kinds[i]}" ||
		fail "clients of the control socket, of the kind ${kinds[i]}"
	wait $one || fail "clients of VSI-S, of the kind ${vsi_kinds[i]}"
done
[ -n "${ASAN_OPTIONS:-}${TSAN_OPTIONS:-}" ] ||
	{
		within "KiB of memory more" -65536 \
			$(($(memory "$spated_pid") - before)) 65536
		within "KiB of memory more of spate-vsi" -65536 \
			$(($(memory "$vsi_daemon") - vsi_before)) 65536
	}

# Who was there before is still there, and what is recorded as well.
says '!record[?] 0 : on : 1 : busy : *' 'record?'
wait $sender
sent=$(cat "$work/sent")
settle busy "$sent"
says "!evlbi[?] 0 : total : $sent : loss : 0 ( 0.00%) : *" 'evlbi?'
says '!record= 1 ;' 'record=off'
done_by()
{
	[ "$(info busy .state)" = complete ]
}
wait_for 60 done_by
ideal "$work/ideal" good:0:100000
exported busy "$work/ideal"
[ "$(grep -c 'warn  vsi: ' "$log")" -lt 2000 ] || fail "the log is flooded"
spated_stop
