# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# One port of 432 is silent: it holds up no other, neither while packets come
# nor at the end, and the operator is told which.  SPEAD, as correlators send
# it: heaps of several packets, on two receiver threads.
. "${BASH_SOURCE%/*}/functions.sh"

ports=432 silent=217 heaps=3

# heaps_to FIRST LAST NAME: heaps for these ports
heaps_to()
{
	"$SPATE" gen --to "udp://127.0.0.1:$((port + $1))-$((port + $2))" \
		--format spead --heaps $heaps --heap-bytes 20000 --payload 4000 \
		--rate 100Mbps --segment 0 --json >"$work/$3.json"
}

port_find $ports
disks_make 2
settings=('memory = "256M";' 'reserve = "1M";' 'receivers = 2;')
conf_write "	s : { listen = [ \"127.0.0.1:$port-$((port + ports - 1))\" ];
	format = \"spead\"; block = \"128K\"; max_age = \"20s\"; };"
spated_start
spate record r --stream s
heaps_to 0 $((silent - 1)) low &
low=$!
heaps_to $((silent + 1)) $((ports - 1)) high
wait $low
all=$(jq -s 'map(.sent) | add' "$work/low.json" "$work/high.json")
settle r "$all"
same datagrams "$(info r .datagrams)" "$all"
spate status | grep -q "r: 1 of $ports substreams silent: $((port + silent))\$" ||
	fail "status does not tell: $(spate status)"

# SIGTERM: all that came is on the disks, though no block was full or old.
spated_stop
"$SPATE" info r --json --disks "$(IFS=:; echo "${disks[*]}")" >"$work/told.json"
told()
{
	jq -c "$1" "$work/told.json"
}
same state "$(told .state)" '"complete"'
same packets "$(told .packets)" "$all"
same "packets lost" "$(told .packets_lost)" 0
same "incomplete heaps" "$(told .heaps_incomplete)" 0
same silent "$(told .silent)" "[\"$((port + silent))\"]"
same "substreams without a packet" \
	"$(told '[.subs[] | select(.packets == 0) | .sub]')" "[$silent]"
same "substreams with as many as the first" \
	"$(told '.subs[0].packets as $n |
		[.subs[] | select(.packets == $n)] | length')" $((ports - 1))
"$SPATE" verify r --disks "$(IFS=:; echo "${disks[*]}")"
