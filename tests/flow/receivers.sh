# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# Priority, CPUs, memory node and socket buffer of the receivers: what the system
# refuses is one line of the log, and nothing worse; what it grants is there.
# What is lost because a socket buffer is small is said.
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

# An ordinary user gets no more of a socket buffer than rmem_max.
if [ "$(id -u)" -eq 0 ]; then
	cat >"$work/weak" <<-END
		#!/bin/sh
		exec setpriv --bounding-set=-net_admin $real "\$@"
	END
fi
log=$work/log.buffer
most=$(cat /proc/sys/net/core/rmem_max)
if [ "$most" -gt $((200 << 20)) ]; then
	echo "rmem_max is large here: nothing is refused" >&2
else
	conf_write "$(stream_text 'format = "raw"; payload = 8000; prefix = 8;
		sequence = "le64@0"; rate = "8Gbps";')"
	spated_start
	spate record small --stream s --quiet
	same "lines about the socket buffer" "$(lines_of 'the socket buffer is')" 1
	grep -q "instead of 268435456, which is [0-9]* ms of its rate.*rmem_max=268435456" \
		"$log" || fail "$(cat "$log")"
	kill -STOP "$spated_pid"
	gen --format raw --payload 8000 --sequence le64@0 --rate 8Gbps \
		--packets $((2 * most / 8000 + 12000))
	kill -CONT "$spated_pid"
	# The last packet tells what is missing before it.
	gen --format raw --payload 8000 --sequence le64@0 --packets 1 \
		--first $((2 * most / 8000 + 12000))
	wait_for 30 eval '[ "$(info small .packets_lost)" -gt 0 ]'
	spate stop small --quiet
	same "all of small" "$(info small '.packets + .packets_lost')" \
		$((2 * most / 8000 + 12001))
	[ "$(info small .overruns)" -gt 0 ] || fail "no overrun is said"
	refused "were lost" spate check small
	spated_stop
fi

# With them, where this user has them.
SPATED=$real
log=$work/log.strong
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
