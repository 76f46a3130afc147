# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   spated --kill -9--> X     what was durable is there; recover finds the
#                             rest of what reached the disks
#
. "${BASH_SOURCE%/*}/break.sh"

disks_make 3
settings+=('durable = "300ms";')
conf_write "$(raw_stream)"
spated_start
begin killed
refused "it is being written" "$SPATE" recover killed --disks "$(disks_list)"
# The locks tell that, to any user who can read it, and without the daemon.
same "what needs it while it is recorded" \
	"$("$SPATE" recover --disks "$(disks_list)")" \
	"none of 1 recordings needs it"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$work"
	same "what needs it, to somebody else" "$(setpriv --reuid 65534 \
		--regid 65534 --clear-groups "$SPATE" recover \
		--disks "$(disks_list)")" "none of 1 recordings needs it"
fi

at_end 'kill $sender 2>/dev/null'
"$SPATE" gen --to "udp://127.0.0.1:$port" --format raw --sequence le64@0 \
	--payload 1024 --rate 160Mbps --packets 30000 --quiet \
	--dump "$work/ideal" &
sender=$!

indexes_have()
{
	[ "$(cat "$work"/disk?/killed/killed.index | wc -c)" -ge "$1" ]
}

wait_for 30 indexes_have $((24 * 64))
blocks=$(($(cat "$work"/disk?/killed/killed.index | wc -c) / 64))
spated_kill
wait $sender

killed()
{
	info_disks killed | jq -r "$1"
}

same state "$(killed .state)" interrupted
durable=$(killed .packets)
[ "$durable" -ge $((blocks * 256)) ] ||
	fail "$durable packets can be read, $blocks blocks were durable"
refused "" "$SPATE" verify killed --disks "$(disks_list)"
# Disks do their rounds at times of their own: a block that one had not named
# yet, in the midst of what the others had, is filled, and said to be.
"$SPATE" export killed "$work/before" --disks "$(disks_list)" --json \
	>"$work/told" 2>"$work/said" || grep -q "spate recover killed" "$work/said"
same "wrong packets before recover" "$(differ "$work/before" "$work/ideal" 1024)" \
	$(($(killed .packets_lost) + $(jq .filled "$work/told") / 1024))

# As if the power had failed while a record was written.
printf 'half a record' >>"$work/disk1/killed/killed.index"
printf 'half a sum' >>"$work/disk0/killed/killed.sums"
printf '{"run":{"num' >>"$work/disk2/killed/killed.meta.jsonl"
"$SPATE" recover killed --disks "$(disks_list)" >"$work/says"
grep -q "13 bytes" "$work/says" || fail "$(cat "$work/says")"
grep -q "10 bytes .* checksums" "$work/says" || fail "$(cat "$work/says")"
grep -q "indexed again" "$work/says" || fail "$(cat "$work/says")"
grep -q "closed the index" "$work/says" || fail "$(cat "$work/says")"

# What was still in memory when a later block was written is on none.
"$SPATE" verify killed --disks "$(disks_list)" >"$work/found" 2>"$work/said" ||
	! grep -Ev 'is on none of the disks|^killed: ' "$work/found" ||
	fail "$(cat "$work/found")"
same "state after recover" "$(killed .state)" complete
[ "$(killed .packets)" -gt "$durable" ] || fail "recover found nothing"
"$SPATE" export killed "$work/after" --disks "$(disks_list)" --json \
	>"$work/told" 2>"$work/said" || grep -q "on none" "$work/found"
absent=$(($(jq .filled "$work/told") / 1024))
same "wrong packets after recover" "$(differ "$work/after" "$work/ideal" 1024)" \
	$(($(killed .packets_lost) + absent))
same "packets in the export" "$(stat -c %s "$work/after")" \
	$((($(killed .packets) + $(killed .packets_lost) + absent) * 1024))

"$SPATE" recover killed --disks "$(disks_list)" >"$work/again"
! grep -q "indexed again" "$work/again" || fail "$(cat "$work/again")"

# The next daemon finds a socket and a lock of the dead one, and goes on.
spated_start
refused "the name is taken" spate record killed --stream s
begin next
send good:0:500
end next
ideal "$work/ideal" good:0:500
exported next "$work/ideal"
spated_stop
