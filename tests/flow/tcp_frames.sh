# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/tcp.sh
#
#                   +-- 50 ms and more --+
#   gen --4 frames--+-- 50 ms and more --+--> spated --> export, the same?
#                   +-- 50 ms and more --+
#                   +-- 50 ms and more --+
#
# Spate's own frames over connections that overtake each other, one of which
# may break; senders that start again; and disks that are slower than them.
#
. "${BASH_SOURCE%/*}/tcp.sh"

port_find 2
way=$((port + 1))
disks_make 2
frames='format = "vdif"; payload = 8032; fill = "zero"; frames = "spt1";'
conf_write "$(
	tcp_stream "$frames connections = 4;"
	echo
	stream=tight tcp_stream "$frames connections = 4; blocks = 4;"
	echo
	stream=plain tcp_stream 'format = "vdif"; prefix = 8; payload = 8032;
		fill = "zero"; blocks = 4;'
)"
spated_start

# long_way ARGS...: a proxy with these
long_way()
{
	python3 "$here/tcp_proxy.py" "$way" "$port" "$@" 2>"$work/proxy.log" &
	proxy=$!
	at_end "kill $proxy 2>/dev/null"
	wait_for 20 listens "$way"
}

way_ends()
{
	kill "$proxy"
	wait "$proxy" 2>/dev/null || true
}

listens()
{
	grep -qi "$(printf ':%04X 00000000:0000 0A' "$1")" /proc/net/tcp
}

send()
{
	"$SPATE" gen --format vdif --json "$@" >"$work/gen.json"
}

four='--frames spt1 --connections 4'

# All of it, over a long way.
long_way 0.05 0.03
spate record far --stream t >/dev/null
# shellcheck disable=SC2086
send --to "tcp://127.0.0.1:$way" $four --packets 6000 --rate 200Mbps \
	--dump "$work/ideal"
wait_for 60 came far 6000
spate stop far >/dev/null
way_ends
same "packets of far" "$(info far .packets)" 6000
same "lost of far" "$(info far .packets_lost)" 0
same "drops of far" "$(info far '.drops | add')" 0
same "runs of far" "$(info far '.runs | length')" 1
[ "$(info far .packets_reordered)" -gt 0 ] || fail "nothing was overtaken"
spate verify far >/dev/null
spate export far "$work/exported" --quiet
cmp "$work/exported" "$work/ideal"
[ "$(grep -c 'far: .* has sent everything' "$log")" -eq 4 ]
rm "$work/exported"

# One of them breaks in the middle: the others go on, and what it did not bring
# is a gap; all else is in its place.
long_way 0.02 0.02 cut:2:4000000
spate record cut --stream t >/dev/null
# shellcheck disable=SC2086
send --to "tcp://127.0.0.1:$way" $four --packets 6000 --rate 200Mbps \
	--dump "$work/ideal" 2>"$work/gen.err"
grep -q '1 of 4 connections broke' "$work/gen.err"
last_came()
{
	[ "$(info cut '.packets + .packets_lost')" -eq 6000 ]
}
wait_for 60 last_came
spate stop cut >/dev/null
way_ends
same "state of cut" "$(info cut .state)" complete
lost=$(info cut .packets_lost)
within "lost of cut" 1 "$lost" 3000
same "packets of cut" "$(info cut .packets)" $((6000 - lost))
same "drops of cut" "$(info cut '.drops | add')" 0
grep -q 'cut: 127.0.0.1:[0-9]* has gone' "$log"
spate verify cut >/dev/null
spate export cut "$work/exported" --quiet
same "packets not as sent, and bytes in them that are not 0" \
	"$(holes 8032)" "$lost,0"
rm "$work/exported"

# A sender that starts again begins with the same numbers: another run.
spate record again --stream t >/dev/null
for n in 1 2; do
	# shellcheck disable=SC2086
	send --to "tcp://127.0.0.1:$port" $four --packets 500 --rate max
	wait_for 20 came again $((n * 500))
done
spate stop again >/dev/null
same "packets of the runs" "$(info again '[.runs[].packets] | tostring')" \
	'[500,500]'
same "drops of again" "$(info again '.drops | add')" 0

# Disks that are slower than the sender make it wait.
spate record tight --stream tight >/dev/null
# shellcheck disable=SC2086
send --to "tcp://127.0.0.1:$port" $four --packets 12000 --rate max \
	--dump "$work/ideal"
wait_for 60 came tight 12000
spate stop tight >/dev/null
same "drops of tight" "$(info tight '.drops | add')" 0
spate export tight "$work/exported" --quiet
cmp "$work/exported" "$work/ideal"
rm "$work/exported"
spate record plain --stream plain >/dev/null
send --to "tcp://127.0.0.1:$port" --packets 12000 --rate max \
	--dump "$work/ideal"
wait_for 60 came plain 12000
spate stop plain >/dev/null
same "drops of plain" "$(info plain '.drops | add')" 0
spate export plain "$work/exported" --quiet
cmp "$work/exported" "$work/ideal"
spated_stop
