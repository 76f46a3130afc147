# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
#
# What the tests of sending share, besides functions.sh.
#
#   $sink_port            a port that nobody uses, for receivers of transfers
#   sent_packets          the options of `gen` for stream s of send_conf
#   send_conf [STREAMS]   a stream s on $port; two disks
#   record_one NAME N [RATE]
#                         records N packets of stream s, whole
#   send_id ARGS          begins `spate send ARGS`, and prints its number
#   sends ID KEY          of what `spate sends --all --json` says, as .state
#   has_send ID STATE...  for wait_for: is its state one of these?
#   is_moving ID          has it sent anything?
#   disk_join             adds a disk $joined, and waits until it takes blocks
#   has_chunks NAME DISK  does the disk have any chunk of the recording?
#   sink_start udp|tcp|stall
#                         a receiver on $sink_port that counts; `stall` takes
#                         a TCP connection, and never reads
#   sink_bytes            what it has got
#   recorded_whole NAME [N]
#                         fails where any packet of the last `gen`, or of N,
#                         was lost or dropped here

sent_packets=(--format raw --prefix 8 --payload 1024)

send_conf()
{
	disks_make 2
	port_find 3
	sink_port=$((port + 2))
	conf_write "$(stream_text 'format = "raw"; prefix = 8; payload = 1024;
	rate = "80Mbps";')${1:-}"
}

record_one()
{
	local rate

	for rate in "${3:-100Mbps}" 50Mbps 10Mbps; do
		spate record "$1" --stream s >/dev/null
		gen "${sent_packets[@]}" --packets "$2" --rate "$rate"
		settle "$1" "$2"
		spate stop "$1" >/dev/null
		[ "$(info "$1" .packets)" -ne "$2" ] || return 0
		spate rm "$1" >/dev/null
	done
	fail "kernel or disks lost packets at $rate"
}

send_id()
{
	spate send "$@" --json | jq .id
}

sends()
{
	spate sends --all --json | jq -r "select(.id == $1) | $2"
}

has_send()
{
	local id=$1 state
	shift

	state=$(sends "$id" .state)
	[[ " $* " = *" $state "* ]]
}

is_moving()
{
	[ "$(sends "$1" .bytes)" -gt 0 ]
}

joined_works()
{
	[ "$(spate disks --json | jq -r --arg p "$joined" \
		'select(.path == $p) | .state')" = idle ]
}

disk_join()
{
	disks_make 1
	joined=${disks[-1]}
	spate disks add --force "$joined" --quiet
	wait_for 20 joined_works
}

has_chunks()
{
	[ "$(info "$1" "[.disks[] | select(.path == \"$2\") | .chunks] |
		add // 0")" -gt 0 ]
}

sink_start()
{
	rm -f "$work/sunk"
	python3 "${BASH_SOURCE%/*}/send_sink.py" "$1" "$sink_port" \
		"$work/sunk" &
	sink=$!
	at_end "kill $sink 2>/dev/null"
	wait_for 20 test -s "$work/sunk"
}

sink_stop()
{
	kill "$sink" 2>/dev/null || true
	wait "$sink" 2>/dev/null || true
}

sink_bytes()
{
	cat "$work/sunk"
}

# But for what a busy machine's kernel dropped before anybody saw it.
recorded_whole()
{
	local got

	got=$(info "$1" '.datagrams // 0')
	within "packets that $1 lost" 0 "$(info "$1" .packets_lost)" \
		$((got > 0 ? ${2:-$(gen_did .sent)} - got : 0))
	same "packets that $1 had no room for" \
		"$(info "$1" .drops.no_buffer)" 0
}
