# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   memory   |--- first ---|--- second ---|
#                  |--- low: refused ---|
#
#   Scans that have memory for one of them only: one after the other they are
#   recorded, at the same time the one with the higher priority is.  What comes
#   after the start of the second, while the first has the memory yet, is
#   counted as what it is.  Both have parity
#
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_schedule.sh"

disks_make 3
settings=('memory = "112M";' 'reserve = "1M";')
schedule_conf
conf_write "$(schedule_streams | sed 's/blocks = 6;/& parity = 1;/')"
spated_start

is_over()
{
	case $(state "$1") in
	waiting | armed | running) return 1 ;;
	esac
}

{
	scan_text low 6 6s big
	scan_text first 4 4s big 'priority = 2'
	scan_text second 8 4s big 'priority = 2'
} | scans_conf "$work/room.conf"
refused "1 of 3 scans will not be recorded" \
	spate schedule add "$work/room.conf" --json
said()
{
	grep '"name"' "$work/refused" | jq -r "select(.name == \"$1\").$2"
}
same "low" "$(said low verdict)" refused
same "second" "$(said second verdict)" ok
said second reason | grep -q '^armed only at .*: until then it is with first'

port=$((port + 2)) gen --format raw --prefix 8 --sequence le64@0 --payload 1024 \
	--rate 8Mbps --for 14s &
gen_pid=$!
at_end 'kill $gen_pid 2>/dev/null; wait $gen_pid 2>/dev/null || true'
wait_for 60 is_over second
spate schedule ls --all >&2

# Of 4000 packets a second may be missing where memory came back late.
for name in first second; do
	same "$name" "$(state $name)" "done"
	within "packets of $name" 1000 "$(info $name .packets)" 4000
	same "lost of $name" "$(info $name .packets_lost)" \
		"$(info $name '.drops.no_buffer // 0')"
done
for name in first second; do
	same "datagrams of $name" "$(info $name .datagrams)" \
		"$(info $name '.packets + ([.drops[]] | add // 0)')"
done
same "drops of first" "$(info first '.drops | del(.before_start) | add // 0')" 0
# The counter of the sender goes on: what is between the two of them was for
# the second, and had no memory.
edge()
{
	info "$1" "(.runs[0].base | tonumber) + .runs[0].$2"
}
between=$(($(edge second first) - $(edge first last) - 1))
same "packets between them" "$between" "$(info second '.drops.no_buffer // 0')"
same "other drops" "$(info second \
	'.drops | del(.before_start, .no_buffer) | add // 0')" 0
# The memory for parity comes as late as that for data.
for name in first second; do
	[ "$("$SPATE" info $name --json --disks "$(disks_list)" |
		jq .with_parity)" -gt 0 ] || fail "$name has no parity"
done
same "low" "$(state low)" refused
! spate info low >/dev/null 2>&1 || fail "low was recorded"
spated_stop
