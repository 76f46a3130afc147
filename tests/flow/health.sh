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
#   it takes data, and syncs hang     durable
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
since=$(link write since)
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
# An alarm comes within five seconds of the last good moment, by spated's own
# clock.  A busy machine may be late with one, but not with all.
grep -E ' warn  r: .*(no packet comes|is stored|takes one), for [0-9.]* s$' \
	"$log" >"$work/alarms"
within "alarms" 4 "$(wc -l <"$work/alarms")" 100
say "from the last good moment to each alarm: $(sed 's/.*, for//' \
	"$work/alarms" | xargs)"
within "tenths of a second to the fastest alarm" 35 \
	"$(sed 's/.*, for \([0-9]*\)\.\(.\) s/\1\2/' "$work/alarms" |
		sort -n | head -n 1)" 50
# In status and log the link has not held since the same time.
told=$(grep 'no disk takes one, for' "$work/alarms" | tail -n 1)
before=${told% s}
before=${before##* }
within "ms between both" 0 "$(jq -n --arg since "$since" --arg told "${told%% *}" '
	def ms: (sub("\\..*"; "Z") | fromdate) * 1000 +
		(capture("\\.(?<ms>[0-9]{3})").ms | tonumber);
	($since | ms) - ($told | ms) + '"$before"' * 1000 | fabs | floor')" 2000
spated_stop
same "keys of one that ended" \
	"$("$SPATE" info r --disks "${disks[0]}" --json | jq 'has("well")')" false

# Syncs hang, while no block waits: the last one is written before the first sync.
shim=$top_builddir/tests/flow/.libs/hang_sync.so
if grep -q '__[at]san_init' "$SPATED"; then
	say "a sanitizer lets nothing be loaded before it: no sync hangs"
	exit
fi
[ -e "$shim" ] || skip "$shim is not built (make check does)"
settings=('memory = "64M";' 'reserve = "1M";' 'durable = "6s";')
conf_write "$(stream_text 'format = "raw"; payload = 1024; prefix = 8;
	sequence = "le64@0";')"
LD_PRELOAD=$shim HANG_SYNC=$work/hang spated_start
spate record r2 --stream s --quiet
touch "$work/hang"
gen --format raw --payload 1024 --prefix 8 --sequence le64@0 --rate 400Mbps \
	--packets 5120
wait_for 30 is_broken "arrive durable"
same "why" "$(link durable why)" \
	"disks take blocks, but do not make them durable"
same "durable" "$(info r2 .durable)" 0
rm "$work/hang"
wait_for 30 is_broken arrive
same "durable" "$(info r2 .durable)" $((5 << 20))
spate stop r2 --quiet
spated_stop
