# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   disks --> spated --udp--> a receiver that counts: what a rate does that is
#                             changed while it runs, and a pause
#
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"

send_conf
spated_start
record_one a 60000 400Mbps
sink_start udp

# Bytes per second there, over one of them.
measure()
{
	local from before

	from=${EPOCHREALTIME/./}
	before=$(sink_bytes)
	sleep 1
	echo $((($(sink_bytes) - before) * 1000000 /
		(${EPOCHREALTIME/./} - from)))
}

# LEAST MOST
has_rate()
{
	local now

	now=$(measure)
	[ "$1" -le "$now" ] && [ "$now" -le "$2" ]
}

# RATE LEAST MOST: it gets there, and then a machine that is busy may be slower,
# and never faster.
settles()
{
	wait_for 60 has_rate "$2" "$3"
	within "bytes/s at $1" 0 "$(measure)" "$3"
}

id=$(send_id a --to "udp://127.0.0.1:$sink_port" --rate 8Mbps)
wait_for 20 is_moving "$id"
within "bytes/s at first" 1 "$(measure)" 1300000
settles 8Mbps 80000 1300000
spate rate "$id" 32Mbps >/dev/null
settles 32Mbps 1300000 5200000
spate rate "$id" 1Mbps >/dev/null
settles 1Mbps 1 170000
spate pause "$id" >/dev/null
settles pause 0 0
spate resume "$id" >/dev/null
wait_for 60 has_rate 1 170000
same "asked" "$(sends "$id" .asked_rate)" 1000000
spate rate "$id" 400Mbps >/dev/null
wait_for 60 has_send "$id" done
same "packets" "$(sends "$id" .packets)" 60000
spated_stop
