# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> ear `sent` --> spated --> disks --> spate send --> ear `back`
#
# What was recorded is sent again as it was received: the same datagrams, byte
# by byte, prefix and all, in their order; those that never came are not sent.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_udp.sh
. "${BASH_SOURCE%/*}/functions_udp.sh"

need python3
port_find 7
back=$((port + 6))
disks_make 2
conf_write "	r : { listen = [ \"127.0.0.1:$port\" ];
	format = \"raw\"; payload = 1000; prefix = 8; sequence = \"le64@0\";
	block = \"512K\"; };
	v : { listen = [ \"127.0.0.1:$((port + 1))\" ];
	format = \"vdif\"; prefix = 8; block = \"512K\"; };
	e : { listen = [ \"127.0.0.1:$((port + 2))\" ];
	format = \"vdif\"; sequence = \"edv2\"; prefix = 0;
	block = \"512K\"; };
	m : { listen = [ \"127.0.0.1:$((port + 3))\" ];
	format = \"mark5b\"; prefix = 8; payload = 5008;
	block = \"512K\"; };
	u : { listen = [ \"127.0.0.1:$((port + 4))\" ];
	format = \"udpmon\"; prefix = 8; payload = 1000;
	block = \"512K\"; };"
spated_start

# through NAME STREAM N TO GEN_ARGS: records what gen sends to a stream, sends
# it to TO, and compares
through()
{
	local name=$1 stream=$2 n=$3 to=$4 at
	shift 4

	at=$(spate streams --json | jq -r "select(.name == \"$stream\") |
		.listen[0]" | sed 's/.*://')
	ear_start sent 127.0.0.1 $((port + 5)) --on 127.0.0.1 "$at"
	spate record "$name" --stream "$stream" >/dev/null
	"$SPATE" gen --to "udp://127.0.0.1:$((port + 5))" --json --packets "$n" \
		--rate 40Mbps "$@" >"$work/gen.json"
	n=$(jq .sent "$work/gen.json")
	wait_for 20 ear_has sent "$n"
	settle "$name" "$n"
	spate stop "$name" >/dev/null
	ear_stop sent
	same "$name: recorded" "$(info "$name" .packets)" "$n"
	heard back "$n" "${address:-127.0.0.1}" "$back" "$name" --to "$to"
	cmp "$work/sent.0" "$work/back.0"
}

through raw r 3000 "udp://127.0.0.1:$back" --format raw --payload 1000 \
	--prefix 8 --sequence le64@0
address=::1
through vdif v 500 "udp://[::1]:$back" --format vdif --prefix 8
unset address
through lossy v 500 "udp://localhost:$back" --format vdif --prefix 8 --loss 0.02
[ "$(gen_did .lost)" -gt 0 ] || fail "nothing was lost"
same "what was missing" "$(spate sends --all --json |
	jq -s 'last | .missing')" "$(gen_did .lost)"
through edv2 e 500 "udp://127.0.0.1:$back" --format vdif --sequence edv2 \
	--prefix 0
through mark5b m 800 "udp://127.0.0.1:$back" --format mark5b --prefix 8 \
	--payload 5008
through udpmon u 2000 "udp://127.0.0.1:$back" --format udpmon --prefix 8 \
	--payload 1000

# Without prefix, it is the bytes of the recording.
heard back 3000 127.0.0.1 "$back" raw --to "udp://127.0.0.1:$back" --no-prefix
spate export raw "$work/exported"
bare "$work/back.0" 0 | cmp - "$work/exported"

# Nobody listens: that is counted and said, and ends nothing before its time.
# A name that nobody knows ends it at once.  What is recorded meanwhile, and
# sent from memory to where nobody listens, loses nothing of it.
spate record busy --stream v >/dev/null
"$SPATE" gen --to "udp://127.0.0.1:$((port + 1))" --json --format vdif \
	--prefix 8 --packets 1500 --rate 80Mbps >"$work/busy.json" &
at_end "kill $! 2>/dev/null"
spate send busy --follow --to "udp://127.0.0.1:$back" >/dev/null
spate send raw --to "udp://127.0.0.1:$back" --rate 200Mbps --wait --json \
	>"$work/out" 2>"$work/err" && fail "nobody listens, and all is well"
grep -q 'packets refused' "$work/err" || fail "$(cat "$work/err")"
same "state" "$(jq -r .state "$work/out")" done
same "packets" "$(jq .packets "$work/out")" 3000
[ "$(jq .refused "$work/out")" -gt 0 ] || fail "nothing was refused"
refused "nowhere.invalid" spate send raw --to udp://nowhere.invalid:5 --wait
refused "four numbers" spate send raw --to udp://127.0.0.256:5 --wait
wait $!
settle busy 1500
spate stop busy >/dev/null
same "recorded meanwhile" "$(info busy '[.packets, .packets_lost,
	.drops.no_buffer] | @csv')" 1500,0,0

ended()
{
	[ "$(busy .state)" != sending ] && [ "$(busy .state)" != waiting ] &&
		[ "$(busy .state)" != finishing ]
}

busy()
{
	spate sends --all --json | jq -r "select(.name == \"busy\") | $1"
}

wait_for 20 ended
same "sent meanwhile" "$(busy '.state, .packets' | paste -sd,)" done,1500
[ "$(busy .refused)" -gt 0 ] || fail "nothing of busy was refused"
spated_stop
