# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   another namespace: spate gen   f0 10.3.0.2 ===== n0 10.3.0.1   spated
#                                                      |-- ring 0 -- receiver 0
#                                                      `-- ring 1 -- receiver 1
#
# One stream on one interface, which two threads share by packet rings, is one
# recording, in order and whole, whatever the network does to it.
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

need ip nsenter setpriv

separate()
{
	[ "$(readlink "/proc/$far/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

net_make()
{
	unshare -n sleep 600 &
	far=$!
	at_end "kill $far"
	wait_for 10 separate
	ip link set lo up
	ip link add n0 mtu 9000 type veth peer name f0 mtu 9000 netns "$far" ||
		skip "no veth pairs here"
	ip address add 10.3.0.1/24 dev n0
	ip link set n0 up
	nsenter -t "$far" -n ip address add 10.3.0.2/24 dev f0
	nsenter -t "$far" -n ip link set f0 up
}

# As of functions.sh, from the other side.
gen()
{
	nsenter -t "$far" -n "$SPATE" gen --to udp://10.3.0.1:46227 \
		--format vdif --prefix 8 --json "$@" >"$work/gen.json"
}

# ring N KEY: of the source of thread N
ring()
{
	info "$taken" ".sources[$1].$2"
}

# take_shared SEGMENT: trains of so many, or single packets
take_shared()
{
	for rate in 400 100 25; do
		taken=take$1_$rate
		spate record "$taken" --stream s
		gen --packets 6000 --rate ${rate}Mbps --segment "$1" \
			--loss 0.01 --reorder 0.02 --duplicate 0.01 --seed 5 \
			--dump "$work/ideal"
		settle "$taken" "$(gen_did .sent)"
		spate stop "$taken" >"$work/out"
		! all_came || return 0
	done
	fail "kernel or disks lost packets at ${rate}Mbps"
}

shared_is_true()
{
	local lost reordered

	take_shared "$1"
	lost=$(gen_did .lost)
	[ "$lost" -gt 0 ] || fail "nothing was lost on purpose"
	same packets "$(info "$taken" .packets)" $((6000 - lost))
	same lost "$(info "$taken" .packets_lost)" "$lost"
	same drops "$(info "$taken" '[.drops.duplicate, (.drops | add)] | @csv')" \
		"$(gen_did '[.duplicated, .duplicated] | @csv')"
	# A thread sees only the order of its own.
	reordered=$(info "$taken" .packets_reordered)
	within reordered 0 "$reordered" "$(gen_did .swapped)"
	same runs "$(info "$taken" '.runs | length')" 1
	spate verify "$taken"
	spate export "$taken" "$work/exported" --force
	same "packets not as sent, and bytes in them that are not 0" \
		"$(holes 8032)" "$lost,0"
	same "datagrams of the rings" \
		"$(info "$taken" '[.sources[].datagrams] | add')" \
		"$(info "$taken" .datagrams)"
	for i in 0 1; do
		within "datagrams of ring $i" 1000 "$(ring $i datagrams)" 20000
	done
}

# A counter that starts again is a run of its own, however the packets of the
# two threads lie.
restart_is_a_run()
{
	spate record restart --stream s
	gen --packets 1000 --rate 100Mbps --first 700000
	cp "$work/gen.json" "$work/gen1.json"
	gen --packets 1000 --rate 100Mbps --first 1000
	settle restart 2000
	spate stop restart >"$work/out"
	same "runs, packets, drops" \
		"$(info restart '[(.runs | length), .packets, (.drops | add)] |
			@csv')" 2,2000,0
}

# What has come before the stop is in the recording, although the kernel keeps
# it for a while.
stop_takes_all()
{
	local i

	for i in 1 2 3 4 5; do
		spate record "stop$i" --stream s
		gen --packets 40 --rate 400Mbps
		spate stop "stop$i" >"$work/out"
		same "packets before the stop" "$(info "stop$i" .packets)" 40
	done
}

# own NAME: datagrams from its start on
own()
{
	info "$1" '.datagrams - .drops.before_start'
}

all_ended()
{
	[ "$(spate status --json | jq '.recordings | length')" -eq 0 ]
}

# Recordings that follow each other share the rings: what is in `whole` is in
# exactly one of the two, and each has it in order.
scans_share()
{
	local at=$((EPOCHSECONDS + 3)) begin middle

	TZ=UTC printf -v begin '%(%FT%TZ)T' $at
	TZ=UTC printf -v middle '%(%FT%TZ)T' $((at + 1))
	spate record whole --stream s --at "$begin" --for 2s
	spate record first --stream s --at "$begin" --for 1s
	spate record second --stream s --at "$middle" --for 1s
	gen --rate 25Mbps --for 6s --first 5
	wait_for 30 all_ended
	same "what came in both, and in one" \
		"$(($(own first) + $(own second)))" "$(own whole)"
	for name in first second whole; do
		same "runs and lost of $name" "$(info $name \
			'[(.runs | length), .packets_lost] | @csv')" 1,0
		same "datagrams of $name" "$(info $name .datagrams)" \
			"$(info $name '.packets + ([.drops[]] | add)')"
		spate export $name "$work/$name"
	done
	cat "$work/first" "$work/second" | cmp - "$work/whole"
}

# Other ports, and what is sent from here, is not ours.
neighbours_are_not_heard()
{
	spate record alone --stream s
	nsenter -t "$far" -n "$SPATE" gen --to udp://10.3.0.1:46228 \
		--format vdif --prefix 8 --packets 50 --rate 10Mbps >"$work/out"
	gen --packets 500 --rate 100Mbps
	settle alone 500
	spate stop alone >"$work/out"
	same datagrams "$(info alone .datagrams)" 500
}

# The two halves of a frame come by different rings; still its samples are seen.
halves_are_seen()
{
	spate record halves --stream m
	nsenter -t "$far" -n "$SPATE" gen --to udp://10.3.0.1:46229 \
		--packets 1000000 --rate 32Mbps --fps 400 --format mark5b \
		--payload 5008 --signal --channels 8 --defect constant=0/3 \
		>"$work/out" 2>&1 &
	sender=$!
	at_end "kill -KILL $sender 2>/dev/null"
	wait_for 60 eval '[ "$(info halves .quality)" = "constant 1" ]'
	kill "$sender"
	wait "$sender" || true
	spate stop halves >"$work/out"
	for i in 0 1; do
		within "halves of ring $i" 50 \
			"$(info halves ".sources[$i].datagrams")" 1000000
	done
}

without_the_right()
{
	spated_stop
	setpriv --bounding-set=-net_raw --inh-caps=-net_raw \
		"$SPATED" -c "$conf" >>"$log" 2>&1 &
	spated_pid=$!
	wait_for 60 spated_answers
	refused "that needs CAP_NET_RAW" spate record no --stream s
	refused "without \`rings\` it works by sockets" spate record no --stream s
}

net_make
disks_make 2
settings[0]='memory = "160M";'
settings+=('receivers = 2;')
keys='receive = "fanout"; rings = 2; ring = "16M"; format = "vdif";
	prefix = 8; payload = 8032; block = "4M"; fill = "zero";'
conf_write "s : { listen = [ \"n0@10.3.0.1:46227\" ]; $keys };
	m : { listen = [ \"n0@10.3.0.1:46229\" ]; receive = \"fanout\";
	      rings = 2; ring = \"16M\"; format = \"mark5b\"; prefix = 8;
	      payload = 5008; fps = 400; sample_channels = 8; sample_bits = 2;
	      block = \"4M\"; };"
spated_start
shared_is_true 0
shared_is_true 7
restart_is_a_run
stop_takes_all
neighbours_are_not_heard
halves_are_seen
scans_share
setpriv --bounding-set=-net_raw --inh-caps=-net_raw true 2>/dev/null ||
	skip "what needs no CAP_NET_RAW passed; nobody may give it up here"
without_the_right
