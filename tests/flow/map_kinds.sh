# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh disable=SC2154
#
#   gen --> spated --+--> disks --+--> map_client.py: the same blocks
#                    +--> memory -+
#                    +==> inbox --> disks, memory --> map_client.py: the same
#
# What is in memory is what gets onto disk, whatever the recording is: items of
# heaps, parts of a stream that is split, one that goes on after a crash, and
# a copy that comes in.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_copy.sh"
. "${BASH_SOURCE%/*}/functions_map.sh"

disks_make 2
size=70001
cube="format = \"spead\"; store = \"cube\"; item = 0x600A; payload = $size;"
port_find 3
settings+=('share = true;' 'durable = "1h";')
conf_write "$(stream_text "$cube")
	p : { listen = [ \"127.0.0.1:$((port + 1))\" ]; block = \"128K\"; fps = 4000;
		format = \"vdif\"; split = \"thread\"; threads = [ 0, 3 ]; };
	r : { listen = [ \"127.0.0.1:$((port + 2))\" ]; block = \"128K\";
		format = \"raw\"; prefix = 8; payload = 1024; };"
spated_start

gen_to()
{
	"$SPATE" gen --to "udp://127.0.0.1:$((port + $1))" "${@:2}" \
		--rate 50Mbps >"$work/gen.$1"
}

# ---- cubes, and parts ----------------------------------------------------

spate record cube --stream s >/dev/null
spate record part --stream p >/dev/null
follow cube
follow part_ds0
follow part_ds3
client many cube part_ds0 part_ds3
gen_to 0 --format spead --heaps 60 --heap-bytes $size &
sender=$!
at_end "kill $sender 2>/dev/null"
gen_to 1 --format vdif --prefix 0 --fps 4000 --threads 0,3 --packets 2000
wait "$sender"
spate stop part >/dev/null
spate stop cube >/dev/null
followed cube 2 "${disks[@]}"
spate export cube "$work/exported" --quiet
cmp "$work/joined" "$work/exported"
for part in part_ds0 part_ds3; do
	followed $part 2 "${disks[@]}"
	spate export $part "$work/exported" --force --quiet
	cmp "$work/joined" "$work/exported"
done

# ---- one that goes on ------------------------------------------------------

raw=(--format raw --prefix 8 --payload 1024)
bytes_are()
{
	[ "$(info back .bytes)" -ge "$1" ]
}
spate record back --stream r >/dev/null
gen_to 2 "${raw[@]}" --packets 1280
wait_for 20 bytes_are $((1280 * 1024))
spated_kill
spated_start
spate record back --stream r --resume >/dev/null
follow back
gen_to 2 "${raw[@]}" --packets 1280
wait_for 20 bytes_are $((2 * 1280 * 1024))
spate stop back >/dev/null
followed back 8 "${disks[@]}"
same "numbers of before" "$(did back .first)" 10
within "the floor is not of before" 10 "$(did back .floor)" 20

# ---- a copy that comes in ------------------------------------------------

inbox_settings+=('share = true;')
inbox_make 2
inbox_start
spate send cube --to "$inbox_url" --rate 40Mbps >/dev/null
map_socket=$inbox_socket
follow cube
followed cube 1 "${inbox_disks[@]}"
same "state of the copy" "$(there info cube --json | jq -r .state)" complete
same "borrowed there" "$(there status --json | jq .memory.borrowed)" 0
inbox_stop
spated_stop
