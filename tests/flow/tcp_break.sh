# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/tcp.sh
#
#   a good sender, and beside it: HTTP, half a frame, silence, a second sender
#
# Whoever is no sender, or no good one, is cut off with a line in the log, and
# costs the others nothing.  A recording may be stopped, and spated ended,
# while senders send.
#
. "${BASH_SOURCE%/*}/tcp.sh"

disks_make 2
vdif='format = "vdif"; payload = 8032; fill = "zero";'
conf_write "$(
	tcp_stream "$vdif frames = \"spt1\"; connections = 4; stall = \"3s\";"
	echo
	stream=plain tcp_stream "$vdif sequence = \"arrival\"; stall = \"2s\";"
	echo
	stream=six tcp_stream "$vdif frames = \"spt1\"; connections = 2;
		listen = [ \"[::1]:$port\" ];"
)"
spated_start

send()
{
	"$SPATE" gen --format vdif --json "$@"
}

two="--to tcp://127.0.0.1:$port --frames spt1 --connections 2"

# good NAME: it was recorded whole, whatever happened beside it
good()
{
	same "state of $1" "$(info "$1" .state)" complete
	same "lost of $1" "$(info "$1" .packets_lost)" 0
	same "drops of $1" "$(info "$1" '.drops | add')" 0
	spate verify "$1" >/dev/null
	spate export "$1" "$work/exported" --quiet
	cmp "$work/exported" "$work/ideal"
	rm "$work/exported"
}

# Others beside a good sender.
spate record beside --stream t >/dev/null
# shellcheck disable=SC2086
send $two --packets 6000 --rate 100Mbps --dump "$work/ideal" >/dev/null &
sender=$!
at_end 'kill $sender 2>/dev/null'
wait_for 20 came beside 100
# shellcheck disable=SC2086
refused "does not take connection" send $two --packets 100
python3 - "$port" <<-'END'
	import socket, struct, sys, time
	def connect():
	    return socket.create_connection(("127.0.0.1", int(sys.argv[1])))
	http = connect()
	http.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
	assert http.recv(1000) == b"", "HTTP got an answer"
	half = connect()
	half.sendall(struct.pack("<IHHII", 0x31545053, 1, 48, 24, 0))
	half.close()
	garbage = connect()
	garbage.sendall(b"SPT1" + bytes(range(200)))
	try:
	    assert garbage.recv(1000) == b"", "garbage got an answer"
	except ConnectionResetError:
	    pass
	silent = connect()
	silent.settimeout(60)
	assert silent.recv(1000) == b"", "silence got an answer"
END
wait "$sender"
wait_for 20 came beside 6000
spate stop beside >/dev/null
good beside
for what in 'something that is no frame of spate' \
	'gone in the middle of a frame' 'a wrong checksum' \
	'silent for 3 s' 'refused: another sender'; do
	grep -q "warn  beside: 127.0.0.1:[0-9]* .*$what" "$log" ||
		fail "not in the log: $what"
done

# Plain bytes of one; a second one at the same time; one that falls silent.
spate record two --stream plain >/dev/null
python3 - "$port" "$work/ideal" <<-'END'
	import socket, sys
	data = open(sys.argv[2], "rb").read()
	def connect():
	    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
	    s.settimeout(60)
	    return s
	first = connect()
	first.sendall(data[:8032 * 100])
	second = connect()
	try:
	    second.sendall(b"x" * 8032)
	    assert second.recv(1) == b"", "two at a time"
	except (ConnectionResetError, BrokenPipeError):
	    pass
	first.sendall(data[8032 * 100:8032 * 200 + 500])
	assert first.recv(1) == b"", "silence got an answer"
END
wait_for 20 came two 200
spate stop two >/dev/null
same "packets of two" "$(info two .packets)" 200
same "drops of two" "$(info two '.drops | tojson')" "$(info two \
	'.drops | map_values(0) | .wrong_size = 1 | tojson')"
spate export two "$work/exported" --quiet
cmp "$work/exported" <(head -c $((8032 * 200)) "$work/ideal")
rm "$work/exported"
grep -q 'warn  two: .* is refused: another sender is connected' "$log"
grep -q 'warn  two: .* has been silent for 2 s' "$log"

# prefix NAME: what it has is the beginning of what was sent; of several
# connections one may just have been ahead
prefix()
{
	local packets lost

	packets=$(info "$1" .packets)
	lost=$(info "$1" .packets_lost)
	within "packets of $1" 100 "$packets" 999999
	within "lost of $1" 0 "$lost" 128
	same "drops of $1" "$(info "$1" '.drops | del(.wrong_size) | add')" 0
	ideal "$work/ideal" $((packets + lost)) --sequence time \
		--payload 8032 --start 2026-01-01T00:00:00Z --format vdif
	spate export "$1" "$work/exported" --quiet
	same "packets not as sent, and bytes in them that are not 0" \
		"$(holes 8032)" "$lost,0"
	rm "$work/exported"
}

# Stopped while they send: that is the end of it, for both.
for stream in t plain; do
	kind="$two"
	[ $stream = t ] || kind="--to tcp://127.0.0.1:$port --prefix 0"
	spate record "stop$stream" --stream $stream >/dev/null
	# shellcheck disable=SC2086
	send $kind --sequence time --start 2026-01-01T00:00:00Z --for 60s \
		--rate 1Gbps >/dev/null 2>"$work/gen.err" &
	sender=$!
	wait_for 20 came "stop$stream" 500
	spate stop "stop$stream" >/dev/null
	if wait $sender; then fail "the sender never noticed"; fi
	grep -q "cannot send to" "$work/gen.err"
	prefix "stop$stream"
done

# Over IPv6; and the daemon ends while they send.
spate record six --stream six >/dev/null
send --to "tcp://[::1]:$port" --frames spt1 --connections 2 --for 60s \
	--rate 500Mbps >/dev/null 2>&1 &
sender=$!
wait_for 20 came six 500
grep -q 'six: \[::1\]:[0-9]* is connected, 2 of 2' "$log"
spated_stop
wait $sender || true
told()
{
	"$SPATE" info six --json --disks "$(IFS=:; echo "${disks[*]}")" |
		jq -r "$1"
}
same "state of six" "$(told .state)" complete
within "lost of six" 0 "$(told .packets_lost)" 128
same "drops of six" "$(told '.drops | add')" 0
