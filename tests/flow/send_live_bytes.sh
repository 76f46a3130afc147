# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated --+--> two disks, whole
#                    +--> a receiver that reads, one that stops and goes on,
#                         one that never reads, one that breaks off
#
# What arrives is the recording's file to the last byte, from memory or, behind
# a receiver that was slow, from disk; no packet is lost for any of them.  A
# third disk joins when the transfers have begun, and has its part of both.
#
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"

disks_make 2
port_find 6
settings=('memory = "64M";' 'reserve = "1M";' 'max_sends = 8;'
	'durable = "1s";')
conf_write "$(stream_text 'format = "raw"; prefix = 8; payload = 1024;
	rate = "200Mbps"; blocks = 20;')"
spated_start

# A receiver, and a transfer to it: $id.
fickle()
{
	python3 "${BASH_SOURCE%/*}/send_fickle.py" "$1" "$2" "$work/$1" &
	at_end "kill $! 2>/dev/null"
	wait_for 20 test -e "$work/$1"
	id=$(send_id a --follow --plain --to "tcp://127.0.0.1:$2")
}

spate record a --stream s >/dev/null
sink_port=$((port + 5))
sink_start stall
fickle reads $((port + 2))
reads=$id
fickle lags $((port + 3))
lags=$id
fickle resets $((port + 4))
resets=$id
stuck=$(send_id a --follow --plain --to "tcp://127.0.0.1:$sink_port")
disk_join

gen "${sent_packets[@]}" --packets 60000 --rate 150Mbps
settle a 60000
# It has all it can have: a MiB, and what lies in sockets.
is_behind()
{
	[ "$(sends "$lags" .behind_s)" != 0 ]
}
is_behind || fail "it is not behind: $(sends "$lags" .)"
same "the one that broke off" \
	"$(sends "$resets" .bytes | awk '{ print $1 < 50e6 }')" 1
touch "$work/lags.go"
gen "${sent_packets[@]}" --packets 30000 --rate 80Mbps
settle a 90000
spate stop a >/dev/null
has_chunks a "$joined" || fail "the disk that joined has nothing"
same "packets that had no room, or no disk" \
	"$(info a '[.drops.no_buffer, .drops.unwritten] | @csv')" 0,0
for id in $reads $lags; do
	wait_for 60 has_send "$id" done
done
spate export a "$work/bytes" --quiet
for how in reads lags; do
	wait_for 20 cmp -s "$work/$how" "$work/bytes"
done
[ "$(sends "$lags" .from_disk)" -gt 0 ] || fail "it lagged, all in memory"
[ "$(sends "$reads" .from_memory)" -gt 0 ] || fail "nothing from memory"
for id in $stuck $resets; do
	spate stop "$id" >/dev/null 2>&1 || true
	wait_for 20 has_send "$id" stopped failed
done
sink_stop
spate verify a >/dev/null
spated_stop
