# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# What a crash, a torn index and a disk that is full leave of files that all
# blocks of a disk share, in each layout that is so.
#
#   gen --> spated, killed  -->  spate recover  -->  as sent, up to there
#
. "${BASH_SOURCE%/*}/functions.sh"
need_python struct

payload=8032
packets=1500
disks_make 2
at=$(disks_list)

stream()
{
	conf_write "$(stream_text "format = \"vdif\"; prefix = 8;
		layout = \"$1\";")"
}

# Of what is in the file, only what was sent, in its place; of what was sent
# everything that recover says.
is_beginning()
{
	local bytes

	rm -f "$work/exported"
	"$SPATE" export "$1" "$work/exported" --quiet --disks "$at"
	bytes=$(stat -c %s "$work/exported")
	cmp -n "$bytes" "$work/exported" "$work/ideal" ||
		fail "$1 is not the beginning of what was sent"
	within "packets of $1" "$2" $((bytes / payload)) "$3"
}

# Others must be able to read it at any time: headers and lengths are right.
mark6_strict()
{
	local files=() file

	for file in "$work"/disk?/"$1"; do
		[ ! -f "$file" ] || files+=("$file")
	done
	"$python" "$top_srcdir/tests/flow/layout_mark6.py" "" "$work/joined" \
		$payload "${files[@]}" >"$work/blocks"
}

is_written()
{
	[ "$(info "$1" .chunks)" -ge "$2" ]
}

# Killed: nothing was durable yet, and all is there.
crash()
{
	local name=crash_$1

	stream "$1"
	spated_start
	spate record "$name" --stream s
	gen --format vdif --packets $packets --rate 50Mbps --dump "$work/ideal"
	# All blocks but the last two: those are in memory, and lost.
	wait_for 30 is_written "$name" $((packets / 130 - 1))
	spated_kill
	same "state before" "$("$SPATE" info "$name" --json --disks "$at" |
		jq -r .state)" interrupted
	"$SPATE" recover "$name" --disks "$at"
	is_beginning "$name" $((packets - 2 * 130)) $packets
	"$SPATE" verify "$name" --disks "$at" --quiet
	[ "$1" != mark6 ] || mark6_strict "$name"
	same "what recover finds in it again" \
		"$("$SPATE" recover "$name" --disks "$at" --json |
			jq '[.rebuilt, .cut] | add')" 0
}

index_of()
{
	case $1 in
	mark6) echo "$work/disk$3/$2.spate/$2.index" ;;
	*) echo "$work/disk$3/$2/$2.index" ;;
	esac
}

# A power cut took the header of a block and left its data and its line: what
# lies behind it is not lost with it.
headless()
{
	local name=headless blocks

	stream mark6
	spated_start
	spate record $name --stream s
	gen --format vdif --packets $packets --rate 50Mbps --dump "$work/ideal"
	wait_for 30 is_written $name $((packets / 130 - 1))
	spated_kill
	blocks=$((130 * payload + 8))
	dd if=/dev/zero of="$work/disk0/$name" bs=1 count=8 \
		seek=$((20 + blocks)) conv=notrunc 2>/dev/null
	"$SPATE" recover $name --disks "$at"
	is_beginning $name $((packets - 2 * 130)) $packets
	"$SPATE" verify $name --disks "$at" --quiet
	mark6_strict $name
}

# The last record torn, one index gone, and bytes of nothing behind the data.
torn()
{
	local name=torn_$1 index data

	stream "$1"
	spated_start
	spate record "$name" --stream s
	gen --format vdif --packets $packets --rate 50Mbps --dump "$work/ideal"
	settle "$name" $packets
	spate stop "$name"
	spated_stop
	index=$(index_of "$1" "$name" 0)
	truncate -s $(($(stat -c %s "$index") - 64 - 20)) "$index"
	rm "$(index_of "$1" "$name" 1)"
	case $1 in
	mark6) data=$work/disk0/$name ;;
	*) data=$work/disk0/$name/$name.vdif ;;
	esac
	head -c 5000 /dev/urandom >>"$data"
	refused "are behind the last block that the index names" \
		"$SPATE" verify "$name" --disks "$at"
	"$SPATE" recover "$name" --disks "$at" --dry-run
	"$SPATE" recover "$name" --disks "$at"
	is_beginning "$name" $packets $packets
	cmp "$work/exported" "$work/ideal"
	"$SPATE" verify "$name" --disks "$at" --quiet
	[ "$1" = mark6 ] || return 0
	mark6_strict "$name"
	# Readers of others go by this number: that of the first block.
	printf '\x55' | dd of="$data" bs=1 seek=20 conv=notrunc 2>/dev/null
	refused "says in its header that it is block 85" \
		"$SPATE" verify "$name" --disks "$at"
	printf '\xff' | dd of="$data" bs=1 seek=27 conv=notrunc 2>/dev/null
	refused "has no header that can be read" \
		"$SPATE" verify "$name" --disks "$at"
}

# Neither index nor notes of a disk: nobody knows the order of a plain file's
# blocks any more, but they are all that is left of them.
untold()
{
	local name=untold file

	stream file
	spated_start
	spate record $name --stream s
	gen --format vdif --packets $packets --rate 50Mbps
	settle $name $packets
	spate stop $name
	spated_stop
	for file in index sums meta.jsonl; do
		: >"$work/disk0/$name/$name.$file"
	done
	cp "$work/disk0/$name/$name.vdif" "$work/before"
	same "what recover cuts" "$("$SPATE" recover $name --disks "$at" \
		--json | jq .cut)" 0
	"$SPATE" recover $name --disks "$at" >"$work/said"
	grep -q "$(stat -c %s "$work/before") bytes behind the last block on $work/disk0 stay" \
		"$work/said" || fail "recover says: $(cat "$work/said")"
	cmp "$work/before" "$work/disk0/$name/$name.vdif"
}

for layout in mark6 file; do
	settings=('memory = "64M";' 'reserve = "1M";' 'durable = "end";')
	crash $layout
	[ $layout != mark6 ] || headless
	settings=('memory = "64M";' 'reserve = "1M";')
	torn $layout
done
untold
