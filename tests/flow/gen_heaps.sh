# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# What spate gen says that it sends to a range of ports: a dump for each, the
# heaps as packets or the data alone.  Nobody listens.
#
. "${BASH_SOURCE%/*}/functions.sh"

heap=20001

# N to a port, in files of their own: 57 bytes of start and of stop, and of
# each heap 56 bytes of header; data is the same whatever is stored.
dump()
{
	"$SPATE" gen --to "udp://127.0.0.1:$port-$((port + 2))" --quiet \
		--json --format spead --heaps 4 --heap-bytes $heap \
		--packet 1472 --rate max --descriptors none "$@" \
		>"$work/gen.json"
}

port_find 3
dump --dump "$work/row"
same ports "$(gen_did .ports)" 3
same heaps "$(gen_did .heaps)" 12
same packets "$(gen_did .packets)" $((3 * (4 * 14 + 2)))
same "first and last count" "$(gen_did '.first + " " + .last')" "1 6"
dump --dump "$work/cube" -o store=cube -o item=0x600A
for i in 0 1 2; do
	same "bytes of row $i" "$(stat -c %s "$work/row.$i")" \
		$((2 * 57 + 4 * (56 + heap)))
	same "bytes of cube $i" "$(stat -c %s "$work/cube.$i")" $((4 * heap))
	for h in 0 1 2 3; do
		cmp -n $heap -i $((57 + h * (56 + heap) + 56)):$((h * heap)) \
			"$work/row.$i" "$work/cube.$i"
	done
done
! cmp -s "$work/cube.0" "$work/cube.1"

# The same again is the same, and so is what is cut by hand.
dump --dump "$work/again" --segment 0 --turn heap
cmp "$work/row.2" "$work/again.2"

# One port has one file, and other formats have ports too.
dump --dump "$work/one" --to "udp://127.0.0.1:$port"
cmp "$work/row.0" "$work/one"
"$SPATE" gen --to "udp://127.0.0.1:$port-$((port + 2))" --quiet --json \
	--format vdif --packets 100 --dump "$work/vdif" \
	--start 2026-11-20T10:00:00Z >"$work/gen.json"
same "packets of vdif" "$(gen_did .packets)" 300
for i in 0 1 2; do
	same "bytes of vdif $i" "$(stat -c %s "$work/vdif.$i")" $((100 * 8032))
done
! cmp -s "$work/vdif.0" "$work/vdif.1"

# usage TEXT ARGS: gen refuses them, and says TEXT.
usage()
{
	local text=$1 status=0
	shift

	"$SPATE" gen --to "udp://127.0.0.1:$port" "$@" >"$work/usage" 2>&1 ||
		status=$?
	same "exit status of gen $*" $status 2
	grep -qF -- "$text" "$work/usage" ||
		fail "'gen $*' says '$(cat "$work/usage")', expected '$text'"
}

usage "say how many with --heaps" --format spead --packets 5
usage "say how many with --packets" --format vdif --heaps 5
usage "--descriptors none, first or all" --format spead --heaps 1 \
	--descriptors some
usage "--control none, start, stop or both" --format spead --heaps 1 \
	--control stopp
usage "--turn train or heap" --format spead --heaps 1 --turn port
usage "--flavour 40 or 48" --format spead --heaps 1 --flavour 32
usage "--heap-bytes" --format spead --heaps 1 --heap-bytes 4G
usage "--packet is from" --format spead --heaps 1 --packet 64
usage "--packet is from" --format spead --heaps 1 --packet 4
usage "65507" --format spead --heaps 1 --packet 65528
usage "--heap-bytes" --format spead --heaps 1 --heap-bytes 0
usage "item = 0x600A" --format spead --heaps 1 -o store=cube
usage "range of ports" --format vdif --packets 5 --to udp://127.0.0.1:9-8
