# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   spated --> a (ext4), b (xfs)      the power fails while it records: what an
#                                     index names is there, byte for byte
#
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks ext4 xfs
test_plugins

disk_mount a 96M ext4
disk_mount b 320M xfs
disks=("$mnt/a" "$mnt/b")

# What indexes name, and verify finds no damage in.
named()
{
	python3 "$here/power.py" "$work/ideal" 1024 "$1" "${disks[@]}"
}

# NAME ROUND WHEN WRITER [-f]: records NAME with durable = ROUND, lets WHEN come
# true while packets come in, and then both disks and spated lose their power.
lose_power()
{
	local name=$1

	settings=('memory = "64M";' 'reserve = "1M";' "durable = \"$2\";"
		"writer = \"$4\";")
	conf_write "$(raw_stream)"
	spated_start
	begin "$name"
	"$SPATE" gen --to "udp://127.0.0.1:$port" --format raw --sequence \
		le64@0 --payload 1024 --rate 160Mbps --packets 24000 --quiet \
		--dump "$work/ideal" >/dev/null &
	sender=$!
	at_end "kill $sender 2>/dev/null"
	wait_for 30 "$3"
	disk_shutdown a "${5:-}"
	disk_shutdown b "${5:-}"
	spated_kill
	wait $sender
	disk_again a
	disk_again b
}

indexed()
{
	[ "$(cat "$mnt"/?/"$name/$name.index" 2>/dev/null | wc -c)" -ge \
		$((12 * 64)) ]
}

chunks()
{
	[ "$(find "$mnt" -name "$name.0*" | wc -l)" -ge 24 ]
}

# Blocks that are on no disk are all that verify may find, and what an export
# has of them is fill.
holds()
{
	! "$SPATE" verify "$1" --disks "$(disks_list)" >"$work/says" ||
		return 0
	! grep -v -e "on none of the disks" -e "^$1: " "$work/says" ||
		fail "verify of $1 finds more than what is lost"
}

# In the midst of rounds, and between them: what was durable is there, what
# recover finds is true, and the rest is told to be lost.  The writer `slow`
# writes as late as it may.
for how in block:slow 250ms:direct; do
	name=round-${how%:*}
	lose_power "$name" "${how%:*}" indexed "${how#*:}"
	n=$(named "$name")
	[ "$n" -ge 12 ] || fail "$n blocks are left of 12 that were durable"
	same state "$(info_disks "$name" | jq -r .state)" interrupted
	"$SPATE" recover "$name" --disks "$(disks_list)" >"$work/says"
	[ "$(named "$name")" -ge "$n" ]
	holds "$name"
	same state "$(info_disks "$name" | jq -r .state)" complete
	"$SPATE" export "$name" "$work/exported" --force --json \
		--disks "$(disks_list)" >"$work/told" 2>"$work/said" ||
		grep -q "not all of it is data" "$work/said"
	same "packets that differ" \
		"$(differ "$work/exported" "$work/ideal" 1024)" \
		$(($(info_disks "$name" | jq .packets_lost) +
		$(jq .filled "$work/told") / 1024))
done

# Nothing was durable: what recover makes of it is true, or is not made.  Of
# files whose names are there some bytes may never have been written.
for writer in direct slow; do
	name=lost-$writer
	lose_power "$name" end chunks "$writer" -f
	same "blocks that are named" "$(named "$name")" 0
	"$SPATE" recover "$name" --disks "$(disks_list)" >"$work/says" ||
		fail "$(cat "$work/says")"
	echo "$name: $(named "$name")" >&2
	holds "$name"
done

for disk in a b; do
	disk_umount $disk
	disk_check $disk || fail "the file system of $disk is damaged"
done
