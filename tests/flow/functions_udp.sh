# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# Ears for datagrams, besides functions.sh.
#
#   ear_start NAME ADDRESS PORTS [--on ADDRESS PORT]
#                         keeps what comes in $work/NAME.0 ... (udp_ear.py)
#   ear_has NAME N        for wait_for: are there N datagrams?
#   ear_stop NAME         when it has kept all that was sent to it
#   heard NAME N ADDRESS PORTS ARGS
#                         `spate send ARGS` to such an ear, which gets N; again
#                         and slower while the kernel had to drop some
#   bare FILE SKIP        prints datagrams of an ear without their lengths, and
#                         without the first SKIP bytes of each

declare -A ears=()

ear_start()
{
	local name=$1
	shift

	rm -f "$work/$name".*
	python3 "$top_srcdir/tests/flow/udp_ear.py" "$1" "$2" "$work/$name" \
		"${@:3}" &
	ears[$name]=$!
	at_end "kill $! 2>/dev/null"
	wait_for 20 test -e "$work/$name.ready"
}

ear_has()
{
	[ "$(cat "$work/$1.n" 2>/dev/null)" = "$2" ]
}

ear_stop()
{
	kill "${ears[$1]}"
	wait "${ears[$1]}" 2>/dev/null || true
}

heard()
{
	local name=$1 n=$2 rate

	for rate in 200Mbps 50Mbps 10Mbps; do
		ear_start "$name" "$3" "$4"
		spate send "${@:5}" --rate $rate --wait >/dev/null
		ear_stop "$name"
		! ear_has "$name" "$n" || return 0
	done
	fail "$name: $(cat "$work/$name.n") of $n"
}

bare()
{
	python3 - "$1" "$2" <<-'EOF'
	import struct, sys
	data, skip, at = open(sys.argv[1], "rb").read(), int(sys.argv[2]), 0
	while at < len(data):
	    n = struct.unpack_from("<I", data, at)[0]
	    sys.stdout.buffer.write(data[at + 4 + skip:at + 4 + n])
	    at += 4 + n
	EOF
}
