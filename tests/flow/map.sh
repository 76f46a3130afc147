# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated --> 2 disks --> export ------------------+
#             |                                             = the same bytes
#             +-- arena, page (memfd) ==> map_client.py ----+
#
# Who asks `map` reads what is recorded in the daemon's memory, and not what
# others are; it cannot write there, and whatever it does the recording is
# whole.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_map.sh"

disks_make 2
port_find 2
settings+=('share = true;' 'durable = "1h";')
raw='format = "raw"; prefix = 8; payload = 1024; rate = "80Mbps"; blocks = 16;'
packets=(--format raw --prefix 8 --payload 1024 --rate 100Mbps)
conf_write "$(stream_text "$raw")
	h : { listen = [ \"127.0.0.1:$((port + 1))\" ]; block = \"256K\";
		format = \"spead\"; blocks = 24; };"
spated_start
grep -q 'memory: .* shared with live readers$' "$log" || fail "$(cat "$log")"
same "shared" "$(spate status --json | jq .memory.shared)" true

# The file that is exported, of memory where it was seen.
exported()
{
	spate export "$1" "$work/exported" --force --quiet
	cmp "$work/joined" "$work/exported"
}

descriptors_are()
{
	[ "$(descriptors)" -le "$1" ]
}

descriptors()
{
	find "/proc/$spated_pid/fd" -mindepth 1 2>/dev/null | wc -l
}

# ---- two recordings, two who look, and some who should not be --------------

spate record a --stream s >/dev/null
spate record heaps --stream h >/dev/null
before=$(descriptors)
follow a
follow heaps
gen "${packets[@]}" --packets 30000 &
sender=$!
at_end "kill $sender 2>/dev/null"
"$SPATE" gen --to "udp://127.0.0.1:$((port + 1))" --format spead --heaps 60 \
	--heap-bytes 70001 --rate 50Mbps >"$work/heaps"
client write a
client hostile a >"$work/hostile" || fail "$(cat "$work/hostile")"
spate stop heaps >/dev/null
followed heaps 10 "${disks[@]}"
exported heaps
wait "$sender"
settle a 30000
spate stop a >/dev/null
followed a 20 "${disks[@]}"
exported a
same "packets of a" "$(info a '[.packets, .packets_lost, (.drops | add)] |
	@csv')" 30000,0,0
spate verify a >/dev/null
same "borrowed" "$(spate status --json | jq .memory.borrowed)" 0
wait_for 10 descriptors_are "$before"
client write a 2>/dev/null && fail "one that has ended can be mapped"
spated_stop

# ---- nothing to share --------------------------------------------------------

settings=('memory = "64M";' 'reserve = "1M";' 'durable = "1h";')
conf_write "$(stream_text "$raw")"
spated_start
if [ "$(spate status --json | jq .memory.shared)" = false ]; then
	spate record c --stream s >/dev/null
	gen "${packets[@]}" --packets 3000
	client floor c 3
	spate stop c >/dev/null
fi
spated_stop
