# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated <-- stress-ng on every CPU, in memory and in system calls
#
# A machine that is busy with others loses nothing, or each packet it loses is an
# overrun that has a cause, with the process that had the CPU.
. "${BASH_SOURCE%/*}/functions.sh"

need stress-ng
grep -q '^[0-9]* [0-9]* [0-9]*$' /proc/self/schedstat 2>/dev/null ||
	skip "the kernel does not count how long threads wait"
disks_make 1
settings=('memory = "64M";' 'reserve = "1M";')
conf_write "$(stream_text 'format = "raw"; payload = 1024; prefix = 8;
	sequence = "le64@0"; socket_buffer = "256K";')"
spated_start
spate record r --stream s --quiet
cpus=$(nproc)
stress-ng --cpu $((cpus * 2)) --vm "$cpus" --vm-bytes 32M --switch "$cpus" \
	--timeout 60s --temp-path "$work" >"$work/stress" 2>&1 &
stress=$!
at_end "kill $stress 2>/dev/null; wait $stress"
gen --format raw --payload 1024 --prefix 8 --sequence le64@0 --rate 100Mbps \
	--segment 0 --for 12s
settle r "$(gen_did .sent)"
kill "$stress"
wait "$stress" || true

caused()
{
	[ "$(info r '[.overrun_causes // [] | .[].overruns] | add // 0')" = \
		"$(info r .overruns)" ]
}
# The last of them are looked at a second later.
wait_for 20 caused
spate stop r --quiet
spate info r --json >"$work/told"
told()
{
	jq -r "$1" "$work/told"
}
say "$(told '"\(.packets) packets, \(.packets_lost) lost, \(.overruns) overruns; \(.drops); \(.overrun_causes)"')"
sent=$(gen_did .sent)
# Lost at the end, packets are no gap: `sent` knows better than packets_lost.
lost=$((sent - $(told .packets)))
[ "$lost" = "$(told '.overruns + (.drops | add)')" ] ||
	fail "$lost packets lost: $(told '[.overruns, .drops]')"
if [ "$(told .overruns)" -gt 0 ]; then
	grep -q "r: [0-9]* overruns of a socket's buffer; in the last two seconds" \
		"$log" || fail "the log does not say it"
	# With four threads and more on each CPU none of them is a riddle.
	same "overruns without a cause" "$(told '[.overrun_causes[] |
		select(.cause == "unknown") | .overruns] | add // 0')" 0
fi
spate verify r
spated_stop
