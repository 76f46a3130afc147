# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated --> disk    a recording is well while packets come, are
#                              stored, are taken by disks, and are durable
#
# What breaks is one link, in status and log, with the time since when; what is
# broken on purpose here:
#
#   the sender pauses                 arrive
#   its packets have another size     place
#   the disk hangs                    write
. "${BASH_SOURCE%/*}/functions.sh"

# link NAME KEY: of r
link()
{
	spate status --json |
		jq -r ".recordings[0].links[] | select(.link == \"$1\") | .$2"
}

# is_broken LINK: for wait_for; and no other is
is_broken()
{
	[ "$(spate status --json | jq -r '[.recordings[0].links[] |
		select(.well | not) | .link] | join(" ")')" = "$1" ]
}

is_well()
{
	[ "$(spate status --json | jq .recordings[0].well)" = true ]
}

# flow: packets come until flow_stop
flow()
{
	next=$((next + 1000000))
	"$SPATE" gen --to "udp://127.0.0.1:$port" --format raw --payload 1024 \
		--prefix 8 --sequence le64@0 --rate 40Mbps --for 120s --quiet \
		--first $next "$@" >/dev/null 2>&1 &
	sender=$!
	at_end "kill $sender 2>/dev/null"
}

flow_stop()
{
	kill "$sender"
	wait "$sender" || true
}

next=0
test_plugins
disks_make 1
settings=('memory = "64M";' 'reserve = "1M";' 'writer = "slow";'
	"slow_hang = \"$work/hang\";" 'durable = "1s";')
conf_write "$(stream_text 'format = "raw"; payload = 1024; prefix = 8;
	sequence = "le64@0";')"
spated_start
spate record r --stream s --quiet

# Nothing has ever come.
wait_for 20 is_broken arrive
spate status | grep -q "r: no packet comes, since 20" || fail "$(spate status)"
flow
wait_for 20 is_well
wait_for 20 eval '[ "$(info r .durable)" -gt 0 ]'

# They stop.
flow_stop
wait_for 20 is_broken arrive
same "why" "$(link arrive why)" "no packet comes"
all_durable()
{
	[ "$(info r .durable)" = "$(info r .bytes)" ]
}
wait_for 20 all_durable

# They come again, and are no such packets.
flow --payload 1000
wait_for 20 is_broken place
flow_stop
flow
wait_for 20 is_well

# The disk hangs.
touch "$work/hang"
wait_for 20 is_broken write
spate status | grep -q "r: .*\(blocks wait\|no disk takes\)" ||
	fail "$(spate status)"
rm "$work/hang"
wait_for 20 is_well
flow_stop
spate stop r --quiet
for text in "no packet comes, for" "none of them is stored, for" \
	"is well again: packets come" "is well again: packets are stored"; do
	grep -q "r: .*$text" "$log" || fail "the log does not say: $text"
done
spated_stop
same "keys of one that ended" \
	"$("$SPATE" info r --disks "${disks[0]}" --json | jq 'has("well")')" false
