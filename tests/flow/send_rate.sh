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

# Bytes per second there, over three of them.
measure()
{
	local from before

	from=${EPOCHREALTIME/./}
	before=$(sink_bytes)
	sleep 3
	echo $((($(sink_bytes) - before) * 1000000 /
		(${EPOCHREALTIME/./} - from)))
}

id=$(send_id a --to "udp://127.0.0.1:$sink_port" --rate 8Mbps)
wait_for 20 is_moving "$id"
# A machine that is busy may be slower, and never faster.
within "bytes/s at 8 Mb/s" 80000 "$(measure)" 1300000
spate rate "$id" 32Mbps >/dev/null
sleep 0.5
within "bytes/s at 32 Mb/s" 1300000 "$(measure)" 5200000
spate rate "$id" 1Mbps >/dev/null
sleep 0.5
within "bytes/s at 1 Mb/s" 1 "$(measure)" 170000
spate pause "$id" >/dev/null
sleep 1
same "bytes/s while it is paused" "$(measure)" 0
spate resume "$id" >/dev/null
wait_for 60 eval '[ "$(measure)" -gt 0 ]'
same "asked" "$(sends "$id" .asked_rate)" 1000000
spate rate "$id" 400Mbps >/dev/null
wait_for 60 has_send "$id" done
same "packets" "$(sends "$id" .packets)" 60000
spated_stop
