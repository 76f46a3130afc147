# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   a --> spate send --> tcp_proxy.py (50 ms; breaks, spoils) --> stream t --> b
#   and meanwhile gen --> stream s
#
# Whatever breaks on the way, b is a, nothing of it twice; and what is recorded
# at the same time is whole.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"
need python3

port_find 4
first=$port
way_port=$((first + 3))
disks_make 2
conf_write "$(stream_text 'format = "raw"; prefix = 8; payload = 1024;
	rate = "80Mbps";')
	t : { receive = \"tcp\"; frames = \"spt1\"; connections = 4;
	      format = \"raw\"; payload = 1024; block = \"1M\";
	      listen = [ \"127.0.0.1:$((first + 1))\" ]; };"
spated_start

way_open()
{
	python3 "$top_srcdir/tests/flow/tcp_proxy.py" $way_port \
		$((first + 1)) "$@" &
	way=$!
	at_end "kill $way 2>/dev/null"
	wait_for 20 listens $way_port
}

listens()
{
	grep -qi "$(printf ':%04X 00000000:0000 0A' "$1")" /proc/net/tcp
}

way_close()
{
	kill "$way"
	wait "$way" 2>/dev/null || true
}

record_one a 20000
spate export a "$work/a.bytes" --quiet

# sent NAME ARGS: a, by the way, is recorded as NAME
sent()
{
	local name=$1
	shift

	spate record "$name" --stream t >/dev/null
	spate record "beside$name" --stream s >/dev/null
	gen "${sent_packets[@]}" --packets 8000 --rate 50Mbps &
	gen=$!
	at_end "kill $gen 2>/dev/null"
	spate send a --to "tcp://127.0.0.1:$way_port" --wait --json "$@" \
		>"$work/out"
	wait $gen
	settle "beside$name" 8000
	spate stop "$name" >/dev/null
	spate stop "beside$name" >/dev/null
	recorded_whole "beside$name"
	spate verify "$name" >/dev/null
	same "packets of $name" "$(info "$name" .packets)" 20000
	same "lost of $name" "$(info "$name" .packets_lost)" 0
	same "drops of $name" "$(info "$name" '.drops | add')" 0
	same "runs of $name" "$(info "$name" '.runs | length')" 1
	spate export "$name" "$work/bytes" --quiet --force
	cmp "$work/bytes" "$work/a.bytes"
	spate rm --force "$name" "beside$name" >/dev/null
}

reconnects()
{
	tail -n 1 "$work/out" | jq .reconnects
}

way_open 0.05 0.01
sent far --connections 4
same "reconnects of far" "$(reconnects)" 0
way_close

way_open 0.02 0 cut:0:2000000 cut:1:3000000 cut:2:5000000
sent once --connections 1
[ "$(reconnects)" -ge 2 ] || fail "it did not break"
way_close

# Which of them carries how much nobody knows.
way_open 0.02 0.01 cut:0:100000 cut:1:200000 cut:2:100000 cut:3:300000 \
	cut:5:1500000 cut:9:900000
sent four --connections 4
[ "$(reconnects)" -ge 1 ] || fail "it did not break"
way_close

# In the middle of a greeting, and of nothing at all.
way_open 0 0 cut:0:0 cut:1:20 cut:2:90
sent early --connections 1
way_close

way_open 0.01 0 spoil:0:1000000 spoil:3:500000 spoil:4:60
sent spoilt --connections 2
[ "$(reconnects)" -ge 1 ] || fail "it did not break"
grep -q 'sent a frame whose payload has a wrong checksum' "$log"
way_close
spated_stop
