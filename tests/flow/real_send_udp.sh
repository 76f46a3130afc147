# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spate send --(UDP)--> nc, socat: a file that is the recording
. "${BASH_SOURCE%/*}/functions.sh"

port_find 2
back=$((port + 1))
disks_make 2
conf_write "$(stream_text 'format = "vdif"; prefix = 8;')"
spated_start
spate record take --stream s >/dev/null
gen --format vdif --prefix 8 --packets 1000 --rate 80Mbps
settle take 1000
spate stop take >/dev/null
same "recorded" "$(info take .packets)" 1000
spate export take "$work/exported"
bytes=$(stat -c %s "$work/exported")

listens()
{
	grep -qi ":$(printf %04X "$back") " /proc/net/udp
}

# How much has come, when nothing comes any more?
settled()
{
	local last=-1 now=0

	while [ "$now" != "$last" ]; do
		last=$now
		sleep 0.5
		now=$(stat -c %s "$work/got")
	done
	echo "$now"
}

# look COMMAND...: takes datagrams at $back and writes them to stdout; again and
# slower while the kernel had to drop some: neither asks for much memory
look()
{
	local taker rate

	for rate in 50Mbps 20Mbps 5Mbps; do
		"$@" >"$work/got" &
		taker=$!
		at_end "kill $taker 2>/dev/null"
		wait_for 20 listens
		spate send take --to "udp://127.0.0.1:$back" --no-prefix \
			--rate $rate --wait >/dev/null
		[ "$(settled)" -lt "$bytes" ] || break
		kill $taker
		wait $taker 2>/dev/null || true
	done
	kill $taker 2>/dev/null || true
	wait $taker 2>/dev/null || true
	cmp "$work/got" "$work/exported"
}

looked=
if command -v nc >/dev/null && nc -h 2>&1 | grep -q OpenBSD; then
	look nc -I 4000000 -u -l 127.0.0.1 "$back"
	looked=1
fi
if command -v socat >/dev/null; then
	look socat -u -b 65536 "UDP-RECV:$back,bind=127.0.0.1,rcvbuf=4000000" -
	looked=1
fi
spated_stop
[ -n "$looked" ] || skip "neither nc of OpenBSD nor socat is here"
