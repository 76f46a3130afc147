# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> [ socket of 64K ] --> spated, which sleeps
#
# What the kernel throws away is told, with the place where it died, while it
# is recorded and afterwards; and is in no sum.
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 1
conf_write "$(stream_text 'format = "vdif"; prefix = 8;
	socket_buffer = "64K";')"
spated_start
spate record r --stream s
gen --format vdif --packets 40 --rate 2Mbps
settle r 40
same "no loss yet" "$(info r .overruns)" 0
! spate status | grep 'r: socket' || fail "status tells of losses"

at_end "kill -CONT $spated_pid 2>/dev/null"
kill -STOP "$spated_pid"
gen --format vdif --packets 2000 --first 40 --rate 200Mbps
kill -CONT "$spated_pid"
overruns()
{
	[ "$(info r .overruns)" -gt 0 ]
}
wait_for 20 overruns
gen --format vdif --packets 40 --first 2040 --rate 5Mbps
spate status | grep -q "r: socket: [0-9]* overruns of 127.0.0.1:$port" ||
	fail "status does not tell: $(spate status)"
spate status | grep -q 'r: kernel: UDP of all programs: [0-9]* errors' ||
	fail "status does not tell: $(spate status)"
spate stop r >"$work/stopped"
grep -q "socket *[0-9]* overruns of 127.0.0.1:$port" "$work/stopped"

# The stream has the sums of its recordings, those that run and those that ended.
totals='[.recordings, .datagrams, .packets, .packets_lost, .packets_reordered,
	.packets_unreadable, .packets_at_risk, .overruns, .bytes]'
sums()
{
	spate info r --json >"$work/one"
	spate info r2 --json >"$work/two"
	spate streams --json | jq -c "$totals,
		(.drops | to_entries | sort_by(.key) | from_entries)" >"$work/is"
	jq -sc "map(.recordings = 1) | (map($totals) | transpose | map(add)),
		(map(.drops | to_entries) | add | group_by(.key) |
		map({key: .[0].key, value: map(.value) | add}) | from_entries)" \
		"$work/one" "$work/two" >"$work/must"
	cmp -s "$work/is" "$work/must"
}
spate record r2 --stream s
gen --format vdif --packets 40 --first 3000 --rate 2Mbps
settle r2 40
sums || fail "totals of the stream: $(cat "$work/is" "$work/must")"
spate stop r2 >"$work/stopped"
sums || fail "totals of the stream: $(cat "$work/is" "$work/must")"
spated_stop

# The end line of the metadata has them, beside what adds up.
"$SPATE" info r --json --disks "${disks[0]}" >"$work/told.json"
told()
{
	jq -r "$1" "$work/told.json"
}
within "overruns" 1 "$(told '.sources[0].overruns')" 2080
same "overruns of its sources" "$(told '[.sources[].overruns] | add')" \
	"$(told .overruns)"
within "full buffers" 1 "$(told .kernel.udp.rcvbuf_errors)" 1000000
same "the sum" "$(told '.packets + (.drops | add)')" "$(told .datagrams)"
same "datagrams of its sources" "$(told '[.sources[].datagrams] | add')" \
	"$(told .datagrams)"
within "what is missing" 1 "$(told .packets_lost)" \
	"$((2080 - $(told .packets)))"
