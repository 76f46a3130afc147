# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# Disks that are full, or fail, in mid-recording, where all blocks of a disk
# share a file:
#
#   small   is filled by somebody else when half of it is recorded
#   thin    says that it has room, and then has none
#   large   takes the rest
#
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks ext4
need_python struct

payload=8032
packets=12000
settings=('memory = "64M";' 'reserve = "1M";' 'durable = "1s";')
disk_mount small 64M ext4
disk_mount large 256M ext4

full()
{
	local name=full_$1 thin=thin_$1 part

	disk_thin "$thin" 256M ext4 20M
	disks=("$mnt/small" "$mnt/$thin" "$mnt/large")
	at=$(disks_list)
	conf_write "$(stream_text "format = \"vdif\"; prefix = 8;
		layout = \"$1\"; blocks = 24;")"
	spated_start
	spate record "$name" --stream s
	gen --format vdif --packets $packets --rate 200Mbps \
		--dump "$work/ideal" &
	wait_for 60 came "$name" $((packets / 2))
	dd if=/dev/zero of="$mnt/small/ballast" bs=1M 2>/dev/null || true
	wait $!
	settle "$name" $packets
	spate stop "$name"
	same "state" "$(info "$name" .state)" complete
	grep -q "$mnt/small: .* no space above the reserve" "$log" ||
		fail "small was not full"
	grep -q "$mnt/$thin: cannot " "$log" || fail "thin did not fail"
	spated_stop
	look "$1" "$name"
	rm -rf "$work/exported" "$mnt/small/ballast" "$mnt"/{small,large}/"$name"*
	: >"$log"
}

# What could not be made durable is lost, and nothing else.
look()
{
	local part

	for part in small large; do
		[ -n "$(find "$mnt/$part" -name "$2*")" ] ||
			fail "$part has nothing of it"
	done
	"$SPATE" export "$2" "$work/exported" --quiet --disks "$at" ||
		[ $? -eq 1 ]
	same "packets that are not there" "$(differ "$work/exported" "$work/ideal" $payload)" \
		"$("$SPATE" info "$2" --json --disks "$at" |
			jq -r .drops.unwritten)"
	# Not of thin: it may be read-only by now, with anything on it.
	[ "$1" != mark6 ] ||
		"$python" "$top_srcdir/tests/flow/layout_mark6.py" "" \
			"$work/joined" $payload "$mnt"/{small,large}/"$2"
}

full mark6
full file
