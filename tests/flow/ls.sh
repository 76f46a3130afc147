# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spated --catalogue--> spate ls     the same as is read from the disks
#
. "${BASH_SOURCE%/*}/functions.sh"

listed()
{
	spate ls --json "$1" | jq -r "$2"
}

is()
{
	[ "$(listed "$1" "$2" 2>/dev/null)" = "$3" ]
}

agree()
{
	spate ls --json "$@" >"$work/asked"
	spate ls --json --disks "${disks[0]}:${disks[1]}" "$@" >"$work/read"
	cmp -s "$work/asked" "$work/read"
}

# When the catalogue has looked at what has just ended.
both()
{
	wait_for 30 agree "$@"
}

disks_make 2
conf_write "$(stream_text 'format = "raw"; prefix = 8; payload = 1024;')"
spated_start
same "a list of nothing" "$(spate ls --json)" ""

# While it is recorded, at its end, and a second one.
spate record night_1 --stream s
gen --format raw --prefix 8 --payload 1024 --packets 4000 --rate 100Mbps
settle night_1 4000
same state "$(listed night_1 .state)" recording
within "packets so far" 1 "$(listed night_1 .packets)" 4000
spate stop night_1 >/dev/null
same "state at its end" "$(listed night_1 .state)" complete
for key in packets packets_lost bytes start end state stream format; do
	same "$key" "$(listed night_1 .$key)" "$(info night_1 .$key)"
done
wait_for 30 is night_1 '.disks | length' 2
spate record day_1 --stream s
spate stop day_1 >/dev/null
wait_for 30 is day_1 .state complete
both
both 'night*'
both day_1 night_1

# Order, patterns and columns.
names()
{
	spate ls --json "$@" | jq -rs 'map(.name) | join(" ")'
}
same "by name" "$(names)" "day_1 night_1"
same "by start" "$(names --sort start)" "night_1 day_1"
same "largest first" "$(names --sort size -r)" "night_1 day_1"
same patterns "$(names 'd*' 'x*')" day_1
spate ls -l >"$work/table"
grep -qE '^night_1 .* raw +vbs +4000 +2 ' "$work/table" ||
	fail "-l says: $(cat "$work/table")"
grep -qE '^2 recordings, .* free' "$work/table" ||
	fail "no total: $(cat "$work/table")"
refused "no recording is called x*" spate ls 'x*'
status=0
spate ls --sort colour 2>/dev/null || status=$?
same "an order that is none" $status 2

# What others make, on a disk that was listed long ago; and a disk that goes.
cp -r "${disks[0]}/day_1" "${disks[0]}/copied"
for file in "${disks[0]}"/copied/day_1.*; do
	mv "$file" "${disks[0]}/copied/copied.${file##*/day_1.}"
done
mv "${disks[1]}" "$work/away"
wait_for 60 is copied .state complete
wait_for 60 is night_1 '.disks | length' 1
within "blocks away" 1 "$(listed night_1 .absent)" 4
mv "$work/away" "${disks[1]}"
wait_for 60 is night_1 .absent 0
both
spated_stop
