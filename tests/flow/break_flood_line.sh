# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen, 8 ports, paced    --> port ... port+7 --> one recording, 8 substreams
#   gen, as fast as it goes --> port+3              (right size, other counter)
#   gen, as fast as it goes --> port+3, port+8      (wrong size)
#                               port+8          --> another recording
#
# A flood on one port: what comes to the others is recorded whole, by the same
# receiver thread, from the same blocks.  What the kernel had no room for in a
# socket, on a machine this busy, is known port by port, and is not ours.
. "${BASH_SOURCE%/*}/functions.sh"

ports=8 flooded=3 packets=1000

# flood PORT ARGS: until the test ends, or a minute
flood()
{
	"$SPATE" gen --to "udp://127.0.0.1:$1" --rate max --for 60s \
		--format raw --sequence le64@0 "${@:2}" \
		>/dev/null 2>&1 &
	floods+=($!)
	at_end "kill $! 2>/dev/null; wait $! || true"
}

port_find $((ports + 1))
disks_make 2
settings=('memory = "64M";' 'reserve = "1M";' 'receivers = 1;')
keys='format = "raw"; payload = 1000; prefix = 8; sequence = "le64@0";
	block = "64K";'
conf_write "	s : { listen = [ \"127.0.0.1:$port-$((port + ports - 1))\" ]; $keys };
	t : { listen = [ \"127.0.0.1:$((port + ports))\" ]; $keys };"
spated_start
spate record r --stream s
spate record n --stream t
floods=()
flood $((port + flooded)) --payload 1000 --first 1000000000000
flood $((port + flooded)) --payload 900 --segment 1
flood $((port + ports)) --payload 900
is_flooded()
{
	[ "$(info n .drops.wrong_size)" -gt 1000 ] &&
		[ "$(info r ".subs[$flooded].datagrams")" -gt 1000 ]
}
wait_for 60 is_flooded
before=$(info n .datagrams)
"$SPATE" gen --to "udp://127.0.0.1:$port-$((port + ports - 1))" --format raw \
	--sequence le64@0 --payload 1000 --packets $packets --rate 40Mbps \
	--segment 1 --json >"$work/gen.json"
for pid in "${floods[@]}"; do # they did not end before it
	kill "$pid"
done
[ "$(info n .datagrams)" -gt "$before" ] || fail "the flood had ended"

# accounted I: all that was sent there came, or found its socket full
accounted()
{
	info r ".subs[$1] | .datagrams + .overruns >= $packets" | grep -q true
}
for ((i = 0; i < ports; i++)); do
	wait_for 60 accounted $i
done
spate stop n
spate stop r
for ((i = 0; i < ports; i++)); do
	[ $i -ne $flooded ] || continue
	same "packets of $i, and lost by the kernel" \
		"$(info r ".subs[$i] | .packets + .overruns")" $packets
	within "packets lost of $i" 0 "$(info r ".subs[$i].packets_lost")" \
		"$(info r ".subs[$i].overruns")"
	same "runs of $i" "$(info r ".subs[$i].runs")" 1
done
same "drops, but those of the flood" "$(info r '[.drops | to_entries[] |
	select(.value > 0 and (.key | IN("wrong_size", "no_buffer", "late",
	"out_of_window", "duplicate", "unwritten") | not)) | .key] |
	join(",")')" ""
[ "$(info r .drops.wrong_size)" -gt 0 ] || fail "nothing was of wrong size"
spated_stop
"$SPATE" verify r --disks "$(IFS=:; echo "${disks[*]}")"
