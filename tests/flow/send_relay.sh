# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated --+--> receivers     a stream that is passed on, alone and
#                    +--> disks         while it is recorded; receivers that
#                                       read, and that do not
#
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"

# 10 blocks of 1 MiB each time that the stream is recorded or relayed.
settings=('memory = "24M";' 'reserve = "1M";' 'max_sends = 1;')
send_conf
spated_start

relay_id()
{
	spate relay --stream s "$@" --json | jq .id
}

packets_are()
{
	[ "$(sends "$1" .packets)" -eq "$2" ]
}

# ---- alone, to its end ----------------------------------------------------

sink_start udp
id=$(relay_id --to "udp://127.0.0.1:$sink_port" --for 5s)
wait_for 20 has_send "$id" connecting sending waiting
gen "${sent_packets[@]}" --packets 3000 --rate 20Mbps
wait_for 30 has_send "$id" done
same "packets" "$(sends "$id" .packets)" 3000
same "dropped" "$(sends "$id" .dropped)" 0
same "from disk" "$(sends "$id" .from_disk)" 0
wait_for 10 eval '[ "$(sink_bytes)" -gt 0 ]'
same "nothing on any disk" "$(find "${disks[@]}" -mindepth 1)" ""
sink_stop

# ---- beside a recording, and a receiver that does not read -----------------

sink_start stall
spate record a --stream s >/dev/null
id=$(relay_id --to null://)
gen "${sent_packets[@]}" --packets 5000 --rate 20Mbps
settle a 5000
spate stop a >/dev/null
recorded_whole a
wait_for 20 packets_are "$id" "$(info a .packets)"
spate stop "$id" >/dev/null
same "state" "$(sends "$id" .state)" stopped

id=$(relay_id --to "tcp://127.0.0.1:$sink_port" --plain)
spate record b --stream s >/dev/null
gen "${sent_packets[@]}" --packets 40000 --rate 100Mbps
settle b 40000
spate stop b >/dev/null
recorded_whole b
[ "$(sends "$id" .dropped)" -gt 0 ] || fail "it says that nothing was dropped"
refused "no transfer has the name" spate pause nobody
spate pause "$id" >/dev/null
spate resume "$id" >/dev/null
spate stop s >/dev/null
wait_for 20 has_send "$id" stopped
sink_stop

# ---- a relay has no turn, and gives way to what is recorded ------------------

long=$(send_id b --to null:// --rate 800kbps)
wait_for 20 has_send "$long" sending
one=$(relay_id --to null://)
two=$(relay_id --to null://)
wait_for 20 has_send "$one" connecting sending waiting
wait_for 20 has_send "$two" connecting sending waiting
refused "no-memory" eval \
	'spate record c --stream s --json 2>&1 || { echo no-memory; false; }'
wait_for 20 has_send "$one" stopped
same "why" "$(sends "$one" .why)" "its memory is needed for a recording"
recorded()
{
	spate record c --stream s >/dev/null 2>&1
}
wait_for 20 recorded
spate stop c >/dev/null
spate stop "$long" >/dev/null

# ---- it idles when it has nothing to do -------------------------------------

id=$(relay_id --to null:// --for 1s)
wait_for 20 has_send "$id" done
ticks()
{
	awk '{ print $14 + $15 }' "/proc/$spated_pid/stat"
}
before=$(ticks)
sleep 3
within "ticks in 3 s" 0 $(($(ticks) - before)) 60
spated_stop
