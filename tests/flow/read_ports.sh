# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spate gen --(4 ports)--> spated --> 3 disks --(export)--> a file a port
#
# What comes back is what each port was sent: of packets and of heaps, and
# after the daemon was killed as much of it as reached the disks.
. "${BASH_SOURCE%/*}/functions.sh"

ports=4
need python3
port_find $ports
disks_make 3

stream()
{
	conf_write "$(printf '\ts : { listen = [ "127.0.0.1:%s-%s" ]; %s };' \
		"$port" "$((port + ports - 1))" "$1")"
}

send()
{
	"$SPATE" gen --to "udp://127.0.0.1:$port-$((port + ports - 1))" \
		--dump "$work/sent" --json "$@" >"$work/gen.json"
}

# Sent again and slower while the kernel had to drop some of it.
take_ports()
{
	local rate

	for rate in 200 50 10; do
		taken=ports$rate
		spate record "$taken" --stream s
		send --rate ${rate}Mbps "$@"
		settle "$taken" "$(gen_did .sent)"
		spate stop "$taken" >"$work/said"
		! all_came || return 0
	done
	fail "kernel or disks lost packets at ${rate}Mbps"
}

# ports_are_true EXTENSION
ports_are_true()
{
	local i

	rm -rf "$work/out"
	spate verify "$taken"
	spate export "$taken" "$work/out" --quiet
	for ((i = 0; i < ports; i++)); do
		cmp "$work/out/${taken}_$i.$1" "$work/sent.$i"
		spate export "$taken" "$work/one" --sub "$i" --quiet --force
		cmp "$work/one" "$work/sent.$i"
	done
	rm "$work"/sent.* "$work/one"
}

# The disks tell the same as the daemon.
disks_agree()
{
	local key

	for key in .packets .packets_lost .bytes .store .heaps \
		'[.subs[] | .packets, .packets_lost, .runs]'; do
		same "$key" "$(spate info "$taken" --json | jq -c "$key")" \
			"$("$SPATE" info "$taken" --json \
				--disks "$(disks_list)" | jq -c "$key")"
	done
}

stream 'format = "vdif"; prefix = 8; payload = 1032; block = "512K";'
spated_start
take_ports --format vdif --prefix 8 --payload 1032 --packets 5000
same "lost" "$(info "$taken" '[.subs[].packets_lost] | @csv')" 0,0,0,0
same "packets" "$(info "$taken" '[.subs[].packets] | @csv')" \
	5000,5000,5000,5000
grep -q "substreams  4" "$work/said" || fail "$(cat "$work/said")"
ports_are_true vdif
spated_stop
rm -r "$work"/disk?/*

stream 'format = "spead"; block = "1M";'
spated_start
take_ports --format spead --heaps 30 --heap-bytes 200000 --packet 8972
# A heap for start and one for stop, too.
same "heaps" "$(info "$taken" '[.heaps, .heaps_incomplete] | @csv')" \
	"$((ports * (30 + 2))),0"
within "written" "$(info "$taken" .bytes)" \
	"$(spate disks --json | jq -s 'map(.written) | add')" $((1 << 40))
ports_are_true spead
disks_agree
spated_stop
rm -r "$work"/disk?/*

# Cubes, put together by time and channel.  Heap 1 is the start.
cube='format = "spead"; store = "cube"; item = 0x600A; payload = 70001;'
heaps="--format spead --heap-bytes 70001 --packet 8972"
cubes="$heaps -o store=cube -o item=0x600A"
stream "$cube block = \"1M\"; channels_per_file = 3;"
spated_start
# shellcheck disable=SC2086
take_ports $cubes --heaps 61 --loss 0.01
spate verify "$taken"
disks_agree
for how in "" "--times-per-file 8" "--channels-per-file 1"; do
	rm -rf "$work/out"
	# shellcheck disable=SC2086
	spate export "$taken" "$work/out" $how --quiet
	lost=$(python3 "$top_srcdir/tests/flow/cube_is_true.py" "$work/out" \
		"$work/sent" 2) || fail "$how: $lost"
	[ "$lost" -gt 0 ] || fail "$how: nothing is missing"
done
rm "$work"/sent.*
spated_stop
rm -r "$work"/disk?/*

# Nothing is in an index yet: what each chunk is of was noted before.
killed()
{
	local i sent

	spated_start
	take_unstopped "$@"
	sent=$(cat "$work"/sent.? | wc -c)
	wait_for 60 chunks_have "$sent"
	spated_kill
	same "bytes of indexes" "$(cat "$work"/disk?/"$taken"/*.index | wc -c)" 0
	spate --disks "$(disks_list)" recover "$taken" >"$work/said"
	! grep -q "stays as it is" "$work/said" || fail "$(cat "$work/said")"
	spate --disks "$(disks_list)" verify "$taken"
	for ((i = 0; i < ports; i++)); do
		spate --disks "$(disks_list)" export "$taken" "$work/one" \
			--sub "$i" --quiet --force
		cmp "$work/one" "$work/sent.$i"
	done
	rm -r "$work"/disk?/*
}

take_unstopped()
{
	local rate

	for rate in 100 20; do
		taken=killed$rate
		spate record "$taken" --stream s
		send --rate ${rate}Mbps "$@"
		settle "$taken" "$(gen_did .sent)"
		! all_came || return 0
		spate stop "$taken"
	done
	fail "kernel or disks lost packets at ${rate}Mbps"
}

chunks_have()
{
	[ "$(cat "$work"/disk?/"$taken/$taken".0* | wc -c)" -eq "$1" ]
}

settings+=('durable = "end";')
stream 'format = "spead"; block = "512K";'
killed --format spead --heaps 20 --heap-bytes 200000 --packet 8972
stream "$cube block = \"512K\";"
# shellcheck disable=SC2086
killed $cubes --heaps 40
stream 'format = "vdif"; prefix = 8; payload = 1032; block = "512K";'
killed --format vdif --prefix 8 --payload 1032 --packets 3000
