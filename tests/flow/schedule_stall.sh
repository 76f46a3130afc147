# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   seconds    0         2         4
#   first      |=========)
#   second               |=========)
#   spated     runs    | stands  | runs
#
# The daemon is stopped around the boundary of two scans, which follow each
# other on one port.  What came meanwhile is read when all is over, and yet each
# packet is where it belongs, because the kernel says when it came: where it is
# told so for trains of packets, and where that is turned on for an edge.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_schedule.sh"

need python3
disks_make 1
settings=("schedule = \"$folder\";")
mkdir -p "$folder"
port_find 2
for i in 0 1; do
	printf '\ts%s : { listen = [ "127.0.0.1:%s" ]; format = "raw"; %s\n' \
		$i $((port + i)) 'prefix = 8; payload = 1000; block = "256K";'
	printf '\t\tsequence = "le64@0"; %s };\n' "$([ $i = 0 ] || echo \
		'gro = false;')"
done >"$work/streams"
conf_write "$(cat "$work/streams")"
spated_start

{
	scan_text first 4 2s 's0", "s1'
	scan_text second 6 2s 's0", "s1'
} | scans_conf "$work/stall.conf"
spate schedule add "$work/stall.conf"
start=$(scan first '.start[:19] + "Z" | fromdate')
edge=$((start + 2))

mkfifo "$work/stop"
python3 "${BASH_SOURCE%/*}/schedule_stall.py" "$port" $((port + 1)) \
	<"$work/stop" >"$work/sent" &
sender=$!
exec 9>"$work/stop"
at_end 'exec 9>&-'

# until SECONDS: sleeps until that time
until_time()
{
	sleep "$(jq -n "[$1 - now, 0] | max")"
}
until_time "$edge - 0.5"
kill -STOP "$spated_pid"
at_end 'kill -CONT $spated_pid 2>/dev/null'
until_time "$edge + 0.5"
kill -CONT "$spated_pid"

is_over()
{
	case $(state "$1") in
	waiting | armed | running) return 1 ;;
	esac
}
for name in first second; do
	wait_for 60 is_over $name
	same "state of $name" "$(state $name)" "done"
done
exec 9>&-
wait $sender

# of NAME KEY: sequence, as it was sent
of()
{
	info "$1" "(.runs[0].base | tonumber) + .runs[0].$2"
}
for i in 0 1; do
	for name in first_dss$i second_dss$i; do
		same "runs of $name" "$(info $name '.runs | length')" 1
		same "lost of $name" "$(info $name .packets_lost)" 0
		same "datagrams of $name" "$(info $name .datagrams)" \
			"$(info $name '.packets + ([.drops[]] | add)')"
	done
	python3 "${BASH_SOURCE%/*}/schedule_stall.py" judge "$work/sent" \
		${edge}000000000 "$(of first_dss$i last)" \
		"$(of second_dss$i first)" || fail "stream s$i"
done
spated_stop
