# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spate send --to tcp:// --> spated --> the inbox of another spated: a copy,
#                                         of what is complete and what is made
#
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"
# shellcheck source=tests/flow/functions_copy.sh
. "${BASH_SOURCE%/*}/functions_copy.sh"

send_conf
spated_start
inbox_make 2
inbox_start

kinds()
{
	spate sends --all --json | jq -r "select(.id == $1) | .kind"
}

# ---- one that is complete, and again --------------------------------------

record_one a 5000
spate send a --to "$inbox_url" --wait >"$work/out"
grep -q '^a: .* sent to tcp' "$work/out" || fail "$(cat "$work/out")"
id=$(spate sends --all --json | jq .id | tail -1)
same "kind" "$(kinds "$id")" copy
same_there a
spate send a --to "$inbox_url" --wait --json >"$work/out"
same "sent twice" "$(jq -r '[.kind, .state] | join(" ")' "$work/out")" \
	"copy done"
same "sent again" "$(jq .bytes "$work/out")" 0
same "there" "$(jq .there "$work/out")" "$(jq .total "$work/out")"
same_there a

# ---- no part of one --------------------------------------------------------

refused "copies of whole recordings come in here" spate send a --to "$inbox_url" --wait \
	--bytes 0..1M
same_there a

# ---- while it is made, at a rate that changes, and a pause; on a disk, too,
# ---- that joins when the copy has begun

spate record b --stream s --send "$inbox_url" >/dev/null
id=$(spate sends --json | jq .id)
gen "${sent_packets[@]}" --packets 5000 --rate 40Mbps
settle b 5000
wait_for 20 eval '[ "$(kinds $id)" = copy ]'
wait_for 20 has_send "$id" waiting
disk_join
gen "${sent_packets[@]}" --packets 20000 --rate 40Mbps
settle b 25000
spate pause b >/dev/null
wait_for 20 has_send "$id" paused
spate stop b >/dev/null
recorded_whole b 25000
has_chunks b "$joined" || fail "the disk that joined has nothing"
spate rate b 400Mbps >/dev/null
spate resume b >/dev/null
wait_for 60 has_send "$id" done
same "kind" "$(kinds "$id")" copy
same_there b

# ---- the other end dies while there is nothing to send ----------------------

spate record d --stream s --send "$inbox_url" >/dev/null
id=$(spate sends --json | jq .id)
gen "${sent_packets[@]}" --packets 5000 --rate 40Mbps
settle d 5000
wait_for 20 eval '[ "$(kinds $id)" = copy ]'
wait_for 20 has_send "$id" waiting
inbox_kill
wait_for 20 has_send "$id" connecting
inbox_start
spate stop d >/dev/null
recorded_whole d
wait_for 60 has_send "$id" done
same_there d

# ---- removed in mid-send: never half of it ----------------------------------

record_one c 5000
id=$(send_id c --to "$inbox_url" --rate 400kbps)
wait_for 20 eval '[ "$(kinds $id)" = copy ]'
refused "it is being sent" spate rm c
spate rm --force c >/dev/null
wait_for 20 has_send "$id" stopped failed
same "why" "$(sends "$id" .why)" "it was removed"
spated_stop
inbox_stop
