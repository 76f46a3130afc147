# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# Priority, CPUs and memory node of the receivers: what the system refuses is
# one line of the log, and nothing worse; what it grants is there.
. "${BASH_SOURCE%/*}/functions.sh"

# receivers: the ids of the receiver threads
receivers()
{
	local task

	for task in /proc/"$spated_pid"/task/*; do
		[ "$(cat "$task/comm")" != spate-receive ] || echo "${task##*/}"
	done
}

lines_of()
{
	grep -c "$1" "$log" || true
}

cpu=$(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status |
	grep -o '^[0-9]*')
disks_make 2
settings+=("receivers = 3;" "receiver_priority = 5;" \
	"receiver_cpus = [ $cpu ];" 'memory_node = "7000";')
conf_write "$(stream_text 'format = "vdif"; prefix = 8; fill = "zero";')"

"$SPATED" -n -c "$conf" >"$work/out"
grep -q "3 threads, priority 5, on CPUs $cpu\$" "$work/out"
grep -q '64.0 MiB on NUMA node 7000$' "$work/out"

# Without rights: root loses them, and others have none.
real=$SPATED
if [ "$(id -u)" -eq 0 ]; then
	need setpriv
	cat >"$work/weak" <<-END
		#!/bin/sh
		exec setpriv --bounding-set=-sys_nice $real "\$@"
	END
	chmod +x "$work/weak"
	SPATED=$work/weak
fi
ulimit -r 0
spated_start
same "lines about the priority" "$(lines_of 'have a real-time priority')" 1
same "lines about the CPUs" "$(lines_of 'run on the CPUs')" 0
same "lines about the memory" "$(lines_of 'NUMA node 7000: there is no such')" 1
same "receivers" "$(receivers | wc -l)" 3
for task in $(receivers); do
	same "CPUs of one" "$(awk '/^Cpus_allowed_list/ { print $2 }' \
		"/proc/$spated_pid/task/$task/status")" "$cpu"
done
take --format vdif --packets 3000 --loss 0.01 --dump "$work/ideal"
take_is_true 3000 8032
spated_stop

# With them, where this user has them.
SPATED=$real
settings[5]='memory_node = "auto";'
conf_write "$(stream_text 'format = "vdif"; prefix = 8; fill = "zero";')"
"$SPATED" -n -c "$conf" >"$work/out"
grep -q 'NUMA node' "$work/out"
need chrt
chrt -f 5 true 2>/dev/null || skip "this user cannot have a real-time priority"
: >"$log"
spated_start
same "no line about the priority" "$(lines_of 'real-time priority')" 0
for task in $(receivers); do
	chrt -p "$task" | grep -q SCHED_FIFO || fail "$(chrt -p "$task")"
done
spated_stop
