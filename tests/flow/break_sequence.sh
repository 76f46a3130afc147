# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# Counters that restart, jump and wrap: a run each, and nothing is lost.
#
. "${BASH_SOURCE%/*}/break.sh"

disks_make 2
conf_write "$(raw_stream 'max_gap = "4M"; fill = "zero";')"
spated_start

# NAME RUNS LOST STEPS: recorded, and exported as it was sent.
runs()
{
	local name=$1 runs=$2 lost=$3
	shift 3

	begin "$name"
	send "$@"
	end "$name"
	same "runs of $name" "$(info "$name" '.runs | length')" "$runs"
	same "lost of $name" "$(info "$name" .packets_lost)" "$lost"
	same "drops of $name" "$(info "$name" '.drops | add // 0')" 0
	ideal "$work/ideal" "$@"
	[ "$lost" -gt 0 ] || exported "$name" "$work/ideal"
}

far=$((1 << 40))
runs restart 2 0 good:1000:2000 good:0:2000
runs again 3 0 good:0:2000 good:0:2000 good:0:2000
runs jump 2 0 good:0:2000 good:$far:2000
runs back 3 0 good:$far:1000 good:5:1000 good:$((2 * far)):1000
runs half 2 0 good:0:1000 good:0x8000000000000000:1000
runs wrap 1 0 good:0xffffffffffffff00:2000

# A step that is not too far is a gap, as long as it is, and filled.
runs gap 1 3000 good:0:1000 good:4000:1000
spate verify gap
spate export gap "$work/exported"
{
	python3 "$here/break_send.py" ideal good:0:1000
	head -c $((3000 * 1024)) /dev/zero
	python3 "$here/break_send.py" ideal good:4000:1000
} >"$work/ideal"
same "packets that differ in the gap" \
	"$(differ "$work/exported" "$work/ideal" 1024)" 0
spated_stop
