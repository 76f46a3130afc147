# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh disable=SC2154
#
#	gen --> spated --> 2 disks --> copy_send ==> inbox --> 3 disks
#
# Every kind of recording is the same where it was copied to: heaps in a row,
# cubes, many substreams, gaps and runs, and each layout.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_copy.sh"
need jq xxd

disks_make 2
inbox_settings=('memory = "128M";' 'reserve = "1M";')
inbox_make 3
inbox_start

# What the metadata tells besides: who compares lines, not where they are.
told_of()
{
	local name=$1

	shift
	cat $(find "$@" -name "$name.meta.jsonl") |
		grep -E '^\{"(block|descriptor|control|end)"' | sort -u
}

copied()
{
	copy "$@" "$name"
	same_there "$name"
	same "what is told of $name" \
		"$(told_of "$name" "${inbox_disks[@]}")" \
		"$(told_of "$name" "${disks[@]}")"
}

# ---- heaps in a row, with losses -----------------------------------------

conf_write "$(stream_text 'format = "spead";')"
spated_start
take --format spead --heaps 60 --heap-bytes 300000 --packet 1472 \
	--loss 0.01 --reorder 0.01 --descriptors all
name=$taken
copied -n 3
same_bytes "$name"
there rm "$name" --quiet
spated_stop
rm -rf "$work"/disk?/*

# ---- a cube, with losses ---------------------------------------------------

conf_write "$(stream_text 'format = "spead"; store = "cube"; item = 0x600A; payload = 70001;')"
spated_start
take --format spead --heaps 80 --heap-bytes 70001 --packet 1472 --loss 0.01
name=$taken
copied
same_bytes "$name"
there rm "$name" --quiet
spated_stop
rm -rf "$work"/disk?/*

# ---- many substreams, one of them silent -----------------------------------

ports=4
port_find $ports
conf_write "	s : { listen = [ \"127.0.0.1:$port-$((port + ports - 1))\" ];
	format = \"raw\"; payload = 1000; prefix = 8; sequence = \"le64@0\";
	block = \"64K\"; };"
spated_start
spate record many --stream s --quiet
for i in 0 1 3; do
	"$SPATE" gen --to "udp://127.0.0.1:$((port + i))" \
		--format raw --sequence le64@0 --payload 1000 --rate 20Mbps \
		--packets 1000 --loss 0.01 --seed $((i + 1)) --json >>"$work/sent"
done
settle many "$(jq -s 'map(.sent) | add' "$work/sent")"
spate stop many >/dev/null
name=many
copied -n 2
rm -rf "$work/here.out" "$work/there.out"
spate export many "$work/here.out" >/dev/null
there export many "$work/there.out" >/dev/null
diff -r "$work/here.out" "$work/there.out"
there rm many --quiet
spated_stop
rm -rf "$work"/disk?/*

# ---- gaps and runs, in each layout -----------------------------------------

for layout in vbs mark6 file; do
	conf_write "$(stream_text "format = \"vdif\"; prefix = 8; payload = 1032; layout = \"$layout\"; max_gap = \"16M\";")"
	spated_start
	name=layout_$layout
	spate record "$name" --stream s --quiet
	gen --format vdif --payload 1032 --packets 4000 --rate 200Mbps >/dev/null
	gen --format vdif --payload 1032 --packets 3000 --rate 200Mbps \
		--first 9000 >/dev/null 2>&1 ||
		gen --format vdif --payload 1032 --packets 3000 \
			--rate 200Mbps >/dev/null
	settle "$name" 7000
	spate stop "$name" >/dev/null
	copied -n 2
	same_bytes "$name"
	there rm "$name" --quiet
	spated_stop
	rm -rf "$work"/disk?/*
done
inbox_stop
