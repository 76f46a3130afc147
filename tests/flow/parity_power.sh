# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2046,SC2086 source=tests/flow/break.sh
#
#   spated --> 6 loop disks (ext4, xfs), with parity     the power of all fails
#                                                        at once, or spated is
#                                                        killed
#
# What an index names is there, byte for byte; recover finds more, and nothing
# that is false; what is lost then is named by its packets and their time.  Then
# any one of the disks goes: what has parity is there without it, and no more is
# missing than info said.
#
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks ext4 xfs
test_plugins

for name in a b c; do
	disk_mount $name 96M ext4
done
for name in d e f; do
	disk_mount $name 320M xfs
done
disks=("$mnt"/?)

# cut HOW NAME PARITY DURABLE WRITER WHEN: records NAME, lets WHEN come true while
# packets come in, and then all disks and spated lose their power (HOW power; torn:
# of files whose names are there some bytes may never have been written), or spated
# is killed (HOW kill).
cut()
{
	local disk pids=() torn

	[ "$1" = torn ] && torn=-f || torn=
	name=$2
	settings=('memory = "64M";' 'reserve = "1M";' "durable = \"$4\";"
		"writer = \"$5\";")
	conf_write "$(raw_stream "parity = $3;")"
	spated_start
	begin "$name"
	"$SPATE" gen --to "udp://127.0.0.1:$port" --format raw --sequence \
		le64@0 --payload 1024 --rate 160Mbps --packets 24000 --quiet \
		--dump "$work/ideal" >/dev/null &
	sender=$!
	at_end "kill $sender 2>/dev/null"
	wait_for 30 "$6"
	if [ "$1" != kill ]; then
		for disk in a b c d e f; do
			disk_shutdown $disk $torn &
			pids+=($!)
		done
		wait "${pids[@]}"
	fi
	spated_kill
	wait $sender
	[ "$1" = kill ] || for disk in a b c d e f; do
		disk_again $disk
	done
}

# indexed N: so many records are in indexes
indexed()
{
	[ "$(cat "$mnt"/?/"$name/$name.index" 2>/dev/null | wc -c)" -ge \
		$(($1 * 64)) ]
}

some_indexed()
{
	indexed 30
}

most_indexed()
{
	indexed 60
}

# One group was put, or a part of it.
has_parity()
{
	[ -n "$(find "$mnt" -name "$name.parity.0*" -print -quit)" ]
}

# told FILTER [DISKS]: what the disks tell, without these
told()
{
	"$SPATE" info "$name" --json --disks "$(without ${2:-})" | jq -r "$1"
}

# without DISK...: the others, for --disks
without()
{
	local IFS=: disk there=()

	for disk in a b c d e f; do
		[[ " $* " == *" $disk "* ]] || there+=("$mnt/$disk")
	done
	printf '%s' "${there[*]}"
}

# export_to FILE [DISKS]: without these; what is filled is in $filled
export_to()
{
	"$SPATE" export "$name" "$work/$1" --force --json \
		--disks "$(without ${2:-})" >"$work/told" 2>"$work/said" ||
		grep -q "not all of it is data" "$work/said" ||
		fail "export of $name without ${2:-none}: $(cat "$work/said")"
	filled=$(($(jq .filled "$work/told") / 1024))
}

# How many chunks indexes name, all of which are what was sent.
named()
{
	python3 "$here/power.py" "$work/ideal" 1024 "$name" "${disks[@]}"
}

# verified [DISKS]: what verify finds, without these, is only what no disk has;
# how many packets it says are lost so is in $lost.
verified()
{
	local away='on none of the disks'

	lost=0
	"$SPATE" verify "$name" --disks "$(without ${1:-})" >"$work/says" \
		2>/dev/null && return
	! grep -vE -e "$away" -e "^$name: " "$work/says" ||
		fail "verify of $name, without ${1:-none}, finds more than is lost"
	sed -E "/$away/!d; /parity gives the data/d; s/.*: packets //" \
		"$work/says" >"$work/lost"
	! grep -vE '^[0-9]+ to [0-9]+ of run 0, (after )?20[0-9-]+T[0-9:.]+Z' \
		"$work/lost" || fail "verify of $name does not say what is lost"
	lost=$(awk '{ n += $3 - $1 + 1 } END { print n + 0 }' "$work/lost")
}

# survives CHUNKS DISKS...: whatever is given without these disks, at a time, is
# right, and the rest is what is said to be lost, by verify too.  That is no more
# than so many chunks, which info says do not survive it.
survives()
{
	local most=$(($1 * 256)) gone end away
	shift

	for away; do
		export_to part "$away"
		end=$((($(stat -c %s "$work/whole") -
			$(stat -c %s "$work/part")) / 1024))
		gone=$((filled + end - whole_filled))
		within "packets of $name that differ without $away" \
			$((gone - $(told .packets_lost))) \
			$(($(differ "$work/part" "$work/whole" 1024) + end)) $gone
		verified "$away"
		same "packets of $name that verify names without $away" \
			$((lost + end)) $((gone + whole_filled))
		within "packets of $name that are lost without $away" 0 $gone $most
	done
}

# cut_is_true ARGS OF cut
cut_is_true()
{
	local n chunks one two

	cut "$@"
	n=$(named)
	same state "$(told .state)" interrupted
	"$SPATE" recover "$name" --disks "$(disks_list)" >"$work/says" ||
		fail "recover: $(cat "$work/says")"
	[ "$(named)" -ge "$n" ] || fail "recover gave up what was durable"
	same state "$(told .state)" complete
	export_to whole
	whole_filled=$filled
	same "packets that differ" \
		"$(differ "$work/whole" "$work/ideal" 1024)" \
		$(($(told .packets_lost) + filled))
	verified
	same "packets that verify names" $lost $filled
	[ $(told .absent) -ge $((filled / 256)) ] ||
		fail "info of $name counts chunks that nothing gives"
	read -r chunks one two < <(told '"\(.chunks) \(.with_parity +
		.with_less_parity) \(.with_parity)"')
	survives $((chunks - one)) a b c d e f
	[ "$3" -lt 2 ] || survives $((chunks - two)) "a d" "b e" "c f"
	"$SPATE" recover "$name" --disks "$(disks_list)" >"$work/says"
	grep -q 'nothing to do' "$work/says" || fail "again: $(cat "$work/says")"
	"$SPATE" rebuild "$name" -c "$conf" >"$work/says" 2>&1 ||
		[ $whole_filled -gt 0 ] || fail "rebuild: $(cat "$work/says")"
	survives 0 a b c d e f
	[ "$3" -lt 2 ] || survives 0 "a d" "b e" "c f"
}

cut_is_true power early 1 block slow some_indexed
cut_is_true power late 2 250ms direct most_indexed
cut_is_true torn torn 1 250ms slow some_indexed
cut_is_true kill killed-first 1 250ms direct has_parity
cut_is_true kill killed-late 2 1s direct most_indexed
