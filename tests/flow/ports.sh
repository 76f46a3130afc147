# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen 0 --> port   --> receiver 0 --\
#   ...                  receiver 1 ---> one recording of 8 substreams
#   gen 7 --> port+7 --> receiver 2 --/
#
# A range of ports is one stream; one of them silent keeps none of the others
# from being recorded whole, and the operator is told which.
. "${BASH_SOURCE%/*}/functions.sh"

ports=8 silent=5 packets=3000

# gens_run ARGS: a sender for each port but the silent one
gens_run()
{
	local i pids=()

	for ((i = 0; i < ports; i++)); do
		[ $i -ne $silent ] || continue
		"$SPATE" gen --to "udp://127.0.0.1:$((port + i))" --json \
			"$@" --seed $((i + 1)) >"$work/gen$i.json" &
		pids+=($!)
	done
	trap 'kill "${pids[@]}"' TERM
	wait "${pids[@]}"
}

# sub NAME I KEY
sub()
{
	info "$1" ".subs[$2].$3"
}

port_find $ports
disks_make 2
settings=('memory = "64M";' 'reserve = "1M";' 'receivers = 3;')
stream="	s : { listen = [ \"127.0.0.1:$port-$((port + ports - 1))\" ];
	format = \"raw\"; payload = 1000; prefix = 8; sequence = \"le64@0\";
	block = \"64K\"; };"
conf_write "$stream"

"$SPATED" -n -c "$conf" >"$work/out"
grep -q '8 substreams' "$work/out"
grep -q '24 blocks (2 x 8 substreams + 2 x 2 disks + 4)' "$work/out"
grep -q '3 threads' "$work/out"

spated_start
spate record r --stream s
gens_run --format raw --sequence le64@0 --payload 1000 --rate 20Mbps --packets $packets
all=$(((ports - 1) * packets))
settle r $all
same "datagrams" "$(info r .datagrams)" $all
spate status | grep "1 of 8 substreams silent: $((port + silent))$" >&2 ||
	fail "status does not say which is silent: $(spate status)"
spate info r | grep 'substreams *8, of which 1 silent' >&2 ||
	fail "info does not count the silent: $(spate info r)"
spate stop r
same "the rest is whole" "$(info r '[.packets, .packets_lost] | @csv')" $all,0
same "silent" "$(info r '.silent | join(",")')" $((port + silent))
for ((i = 0; i < ports; i++)); do
	same "address of $i" "$(sub r $i address)" "127.0.0.1:$((port + i))"
	[ $i -ne $silent ] || continue
	same "datagrams of $i" "$(sub r $i datagrams)" $packets
done
same "datagrams of the silent" "$(sub r $silent datagrams)" 0

# What is told of it when the daemon is gone.
spated_stop
disks_told=$("$SPATE" info r --json --disks "$(disks_list)")
same "silent, on the disks" "$(jq -r '.silent | join(",")' \
	<<<"$disks_told")" $((port + silent))
same "packets of each, on the disks" "$(jq -c '[.subs[].packets]' \
	<<<"$disks_told")" "$(jq -cn --argjson n $packets --argjson s $silent \
	'[range(8) | if . == $s then 0 else $n end]')"
spate_disks=$(disks_list)
"$SPATE" verify r --disks "$spate_disks"

# Nor does the end hang on the silent one, or on the sender that goes on.
conf_write "$stream"
spated_start
spate record t --stream s
{ gens_run --format raw --sequence le64@0 --payload 1000 --rate 2Mbps \
	--for 30s || true; } 2>/dev/null &
gens=$!
at_end "kill $gens; wait $gens || true"
settle t 500
spated_stop
same "the end" "$("$SPATE" info t --json --disks "$spate_disks" |
	jq -r .state)" complete

# Too few blocks for the ports, and too little memory.
conf_write "${stream/block =/blocks = 10; block =}"
refused 'two are open for each of its 8 substreams' "$SPATED" -n -c "$conf"
refused 'use at least 18, better 24' "$SPATED" -n -c "$conf"
conf_write "${stream/64K/4M}"
refused '24 blocks (2 x 8 substreams + 2 x 2 disks + 4) of 3.9 MiB' \
	"$SPATED" -n -c "$conf"
conf_write "${stream/127.0.0.1:/127.0.0.1:7-}"
refused 'listen' "$SPATED" -n -c "$conf"
