# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   tests/data/recordings --> three folders --> info, verify, export == as then
#
# Recordings of an earlier spate, of each layout and format, with losses, packets
# out of order and packets that came twice; one of them was killed.  They open,
# verify and export to the same bytes.
. "${BASH_SOURCE%/*}/functions.sh"
need xz sha256sum

data=$top_srcdir/tests/data/recordings
looked=0

while read -r name state packets lost bytes sum; do
	[ "$name" != '#' ] || continue
	mkdir "$work/$name"
	tar -xJf "$data/$name.tar.xz" -C "$work/$name"
	on="$work/$name/disk0:$work/$name/disk1:$work/$name/disk2"
	same "$name" "$("$SPATE" info "$name" --disks "$on" --json |
		jq -r '[.state, .packets, .packets_lost, .bytes] | join(" ")')" \
		"$state $packets $lost $bytes"
	if [ "$state" = complete ]; then
		"$SPATE" verify "$name" --disks "$on" --quiet
	else
		refused "spate recover $name" \
			"$SPATE" verify "$name" --disks "$on"
	fi
	"$SPATE" export "$name" "$work/$name/out" --disks "$on" --quiet
	same "$name, exported" "$(sha256sum <"$work/$name/out")" "$sum  -"
	looked=$((looked + 1))
done <"$data/list"
same "recordings" "$looked" 10
