# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> small socket buffer --> receiver on CPU 0 <-- a hog of higher priority
#
# What is lost because the receiver waited for its CPU has that cause, with the
# time and the process: in the log, in info, and in the metadata.  So has what is
# lost because a control group above that of spated has a quota.
. "${BASH_SOURCE%/*}/functions.sh"

need_root "give a process a real-time priority"
need chrt taskset
[ "$(nproc)" -ge 2 ] || skip "there is only one CPU"
chrt -f 50 true 2>/dev/null || skip "no real-time priority is granted"
grep -q '^[0-9]* [0-9]* [0-9]*$' /proc/self/schedstat 2>/dev/null ||
	skip "the kernel does not count how long threads wait"

# cpus: two that this process may use, the first of them for the receiver
cpus=($(taskset -pc $$ | sed 's/.*: //' | tr , '\n' |
	awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }'))
disks_make 1
settings=('memory = "64M";' 'reserve = "1M";'
	"receiver_cpus = \"${cpus[0]}\";")
conf_write "$(stream_text 'format = "raw"; payload = 1024; prefix = 8;
	sequence = "le64@0"; socket_buffer = "64K";')"
spated_start
spate record r --stream s --quiet
taskset -c "${cpus[1]}" "$SPATE" gen --to "udp://127.0.0.1:$port" \
	--format raw --payload 1024 --prefix 8 --sequence le64@0 \
	--rate 100Mbps --for 60s --quiet >/dev/null 2>&1 &
sender=$!
at_end "kill $sender 2>/dev/null"

# cause KEY [CAUSE]: of what waited for a CPU, or had another cause
cause()
{
	info r ".overrun_causes[] | select(.cause == \"${2:-waited}\") | .$1"
}

# With 4 threads of a second each, the kernel's limit for real-time threads (950
# ms of a second) leaves the receiver 50 ms.
hog_named()
{
	case $(cause process) in
	*"($hog)") return 0 ;;
	esac
	return 1
}
came_some()
{
	[ "$(info r .packets)" -gt 1000 ]
}
wait_for 20 came_some
chrt -f 50 taskset -c "${cpus[0]}" timeout 30 \
	bash -c 'while :; do :; done' &
wait_for 10 eval '[ -n "$(pgrep -P $! bash)" ]'
hog=$(pgrep -P $! bash)
at_end "kill $hog 2>/dev/null"
wait_for 25 hog_named
kill "$hog"
within "overruns with that cause" 1 "$(cause overruns)" "$(info r .overruns)"
within "time in ms" 5 "$(cause 'lost_ms | floor')" 4000
spate status | grep -q "r: overruns: [0-9]* when the receiver waited for a CPU, .*; bash ($hog) had it" ||
	fail "$(spate status)"

# groups_make: two control groups, the upper one with 3 % of a CPU
groups_make()
{
	local root=/sys/fs/cgroup

	if grep -qw cpu $root/cgroup.subtree_control 2>/dev/null; then
		groups=$root/spate-test.$$
		at_end "{ echo $spated_pid >$root/cgroup.procs
			rmdir $groups/leaf $groups; } 2>/dev/null"
		mkdir "$groups" && echo +cpu >"$groups/cgroup.subtree_control" &&
			mkdir "$groups/leaf" &&
			echo "3000 100000" >"$groups/cpu.max"
	elif [ -e $root/cpu/cpu.cfs_quota_us ]; then
		groups=$root/cpu/spate-test.$$
		at_end "{ echo $spated_pid >$root/cpu/cgroup.procs
			rmdir $groups/leaf $groups; } 2>/dev/null"
		mkdir -p "$groups/leaf" && echo 3000 >"$groups/cpu.cfs_quota_us"
	else
		return 1
	fi
}

throttled()
{
	[ "$(cause overruns throttled)" -gt 0 ] 2>/dev/null
}

if groups_make 2>"$work/refused"; then
	echo "$spated_pid" >"$groups/leaf/cgroup.procs"
	wait_for 60 throttled
	within "ms" 5 "$(cause 'lost_ms | floor' throttled)" 100000
else
	say "no control group can be made: $(tail -n 1 "$work/refused")"
fi

# It ends while it loses more: they have their cause, too.
spate stop r --quiet
same "the stream's, with that cause" \
	"$(spate streams --json | jq .overrun_causes.waited)" "$(cause overruns)"
kill "$sender"
for from in "--socket $socket" "--disks ${disks[0]}"; do
	same "overruns without a cause, $from" "$("$SPATE" info r $from --json |
		jq '.overruns - ([.overrun_causes[].overruns] | add)')" 0
done
grep -q "r: [0-9]* overruns of a socket's buffer; in the last two seconds its receiver waited [0-9]* ms for a CPU" \
	"$log" || fail "the log does not say it"
grep -q "r: bash ($hog) had most of the CPU time in the second after" "$log" ||
	fail "the log does not say who had the CPU"
spated_stop
same "the process, in the metadata" "$("$SPATE" info r --disks "${disks[0]}" \
	--json | jq -r '.overrun_causes[] | select(.cause == "waited") |
	.process')" "bash ($hog)"
