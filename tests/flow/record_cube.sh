# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spate gen --(heaps in packets)--> spated --> disks --> export == the items
#
# A cube is one item of each heap in the order of time, and zero where nothing
# came; what is not stored is told.
. "${BASH_SOURCE%/*}/functions.sh"

need python3
disks_make 2
size=70001
cube='format = "spead"; store = "cube"; item = 0x600A; payload = '$size';'

# items: the cube that the sender made
items()
{
	python3 "$top_srcdir/tests/flow/items.py" "$work/ideal" 0x600A $size \
		>"$work/items"
}

# whole STREAM ARGS: without loss it is stored to the byte
whole()
{
	conf_write "$(stream_text "$cube $1")"
	shift
	spated_start
	rm -f "$work/exported" "$work/ideal"
	take --format spead --heaps 80 --heap-bytes $size \
		--dump "$work/ideal" "$@"
	spate export "$taken" "$work/exported"
	items
	cmp "$work/exported" "$work/items"
	same "lost" "$(info "$taken" '[.packets_lost, .heaps_incomplete,
		([.drops[]] | add) - .drops.unstored] | @csv')" 0,0,0
	spate verify "$taken"
	spated_stop
	told=$(cat "$work"/disk[01]/"$taken"/*.meta.jsonl)
	same "controls" "$(jq -r '.control // empty' <<<"$told" | sort |
		paste -sd,)" start,stop
	same "descriptors" "$(jq -r '.id // empty' <<<"$told" | sort -u |
		paste -sd,)" 24586,5632
	rm -r "$work"/disk[01]/*
}

whole '' --packet 1472
whole '' --packet 8972 --segment 0 --descriptors all
whole 'time = "0x1600";' --packet 1472 --descriptors all
whole 'time_step = 8;' --packet 8972 --step 8

# With losses every packet that was sent is in exactly one place, what is
# missing is known, and nothing is stored that was not sent.
conf_write "$(stream_text "$cube")"
spated_start
take --format spead --heaps 80 --heap-bytes $size --packet 1472 \
	--loss 0.01 --reorder 0.01 --duplicate 0.005 --dump "$work/ideal"
lost=$(gen_did .lost)
[ "$lost" -gt 0 ] || fail "nothing was lost"
same "sent" "$(info "$taken" '.packets + ([.drops[]] | add)')" \
	"$(gen_did .sent)"
within "lost" $((lost - 2)) "$(info "$taken" .packets_lost)" "$lost"
spate verify "$taken"
spated_stop
