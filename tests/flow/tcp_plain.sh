# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/tcp.sh
#
#   file of VDIF frames --> socat, nc, a trickle --> TCP --> spated --> export
#
# What others send as plain bytes is recorded byte for byte: in order of
# arrival, or by the time in its headers; with a prefix that is not kept; over
# IPv4 and IPv6.
#
. "${BASH_SOURCE%/*}/tcp.sh"
need socat

vdif='format = "vdif"; payload = 8032; fill = "zero";'
disks_make 2
conf_write "$(
	tcp_stream "$vdif sequence = \"arrival\";"
	echo
	stream=timed tcp_stream "$vdif fps = 1000; threads = [ 0 ];"
	echo
	stream=prefixed tcp_stream "$vdif prefix = 8;"
	echo
	stream=six tcp_stream "$vdif sequence = \"arrival\";
		listen = [ \"[::1]:$port\" ];"
)"
spated_start
ideal "$work/ideal" 3000 --format vdif --sequence time --fps 1000 --payload 8032

# whole NAME STREAM SENDER...: what the sender sends is what is recorded
whole()
{
	local name=$1 stream=$2
	shift 2

	spate record "$name" --stream "$stream" >/dev/null
	"$@" || fail "$* has failed"
	wait_for 60 came "$name" 3000
	wait_for 30 gone "$name"
	spate stop "$name" >/dev/null
	same "state of $name" "$(info "$name" .state)" complete
	same "datagrams of $name" "$(info "$name" .datagrams)" 3000
	same "packets of $name" "$(info "$name" .packets)" 3000
	same "runs of $name" "$(info "$name" '.runs | length')" 1
	spate verify "$name" >/dev/null
	spate export "$name" "$work/exported" --quiet
	cmp "$work/exported" "$work/ideal"
	rm "$work/exported"
}

gone()
{
	grep -q "$1: .* has ended" "$log"
}

by_socat()
{
	socat -u "FILE:$work/ideal" "TCP:$1:$port"
}

by_nc()
{
	nc -N 127.0.0.1 "$port" <"$work/ideal"
}

# Pieces of any size, so that packets and headers are cut anywhere.
by_pieces()
{
	python3 - "$port" "$work/ideal" "${1:-0}" <<-'END'
		import random, socket, struct, sys, time
		port, name, prefix = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
		data = open(name, "rb").read()
		if prefix:
		    data = b"".join(struct.pack("<Q", 7000 + i // 8032)
		                    + data[i:i + 8032]
		                    for i in range(0, len(data), 8032))
		s = socket.create_connection(("127.0.0.1", port))
		s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
		random.seed(5)
		at = 0
		while at < len(data):
		    n = random.choice((1, 7, 31, 8031, 8033, 100000, 300000))
		    s.sendall(data[at:at + n])
		    at += n
		    if random.random() < 0.1:
		        time.sleep(0.002)
		s.close()
	END
}

whole socat t by_socat 127.0.0.1
whole timed timed by_socat 127.0.0.1
whole pieces t by_pieces
whole prefixed prefixed by_pieces 8
whole six six by_socat '[::1]'
nc -h 2>&1 | grep -q OpenBSD || skip "nc is not the one of OpenBSD"
whole nc t by_nc
spated_stop
