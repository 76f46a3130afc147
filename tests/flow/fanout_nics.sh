# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   namespace 1: sender 0   a1 10.1.0.2 ===== a0 10.1.0.1 \
#                                                          spated, one stream
#   namespace 2: sender 1   b1 10.2.0.2 ===== b0 10.2.0.1 /
#
# One VDIF stream whose packets come through two interfaces in turns, at the
# same time, is one recording, in order and whole; and each interface has its
# own counters.  A stream of plain udp with the same entries is the same.
[ -n "${SPATE_OWN_NET:-}" ] || {
	own=(unshare -n)
	[ "$(id -u)" -eq 0 ] || own=(unshare -r -n)
	"${own[@]}" true 2>/dev/null || {
		echo "SKIP: no network namespaces for us here" >&2
		exit 77
	}
	SPATE_OWN_NET=1 exec "${own[@]}" bash "$0"
}
. "${BASH_SOURCE%/*}/functions.sh"

need ip nsenter python3
sender=$top_srcdir/tests/flow/fanout_nics.py
frames=6000

# far N DEVICE: namespace N with the far end of DEVICE0
far()
{
	unshare -n sleep 600 &
	far[$1]=$!
	at_end "kill ${far[$1]}"
	wait_for 10 separate "${far[$1]}"
	ip link add "${2}0" type veth peer name "${2}1" netns "${far[$1]}" ||
		skip "no veth pairs here"
	ip address add "10.$1.0.1/24" dev "${2}0"
	ip link set "${2}0" up
	nsenter -t "${far[$1]}" -n ip address add "10.$1.0.2/24" dev "${2}1"
	nsenter -t "${far[$1]}" -n ip link set "${2}1" up
}

separate()
{
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# send N START: the share of sender N - 1
send()
{
	nsenter -t "${far[$1]}" -n python3 "$sender" send $frames $(($1 - 1)) \
		"10.$1.0.1:46227" "$2" >"$work/sent$1"
}

# source_of DEVICE KEY
source_of()
{
	spate status --json | jq -r ".. | objects |
		select(.device? == \"$1\" and .address?) | .$2" | head -n 1
}

both_send()
{
	local start first

	start=$(python3 -c 'import time; print(time.time() + 3)')
	send 1 "$start" &
	first=$!
	send 2 "$start"
	wait $first
}

counted()
{
	[ "$(source_of a0 datagrams)" = "$(cat "$work/sent1")" ] &&
		[ "$(source_of b0 datagrams)" = "$(cat "$work/sent2")" ]
}

# take_both RECEIVE
take_both()
{
	spate record "$1" --stream "$1"
	both_send
	settle "$1" $frames
	# They are shown once a second.
	wait_for 20 counted
	same "sender of the first NIC" \
		"$(source_of a0 sender | sed 's/:.*//')" 10.1.0.2
	spate stop "$1" >"$work/out"
	same "packets, lost and drops" \
		"$(info "$1" '[.packets, .packets_lost, (.drops | add)] |
			@csv')" $frames,0,0
	same runs "$(info "$1" '.runs | length')" 1
	spate export "$1" "$work/exported" --force
	cmp "$work/exported" "$work/ideal"
}

far=()
ip link set lo up
far 1 a
far 2 b
disks_make 2
text='listen = [ "a0@0.0.0.0:46227", "b0@10.2.0.1:46227" ]; format = "vdif";
	prefix = 8; payload = 8032; fps = 8000; threads = [ 0 ]; block = "6M"; };'
conf_write "fanout : { receive = \"fanout\"; $text
	udp : { $text"
python3 "$sender" ideal $frames >"$work/ideal"
spated_start
take_both fanout
take_both udp
