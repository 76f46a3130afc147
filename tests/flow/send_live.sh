# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated --+--> disks          what is recorded is sent meanwhile, to
#                    +--> receivers      receivers that read, that stop to, and
#                                        that go away; the recording is whole
#
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"

send_conf
spated_start

gen_begin()
{
	"$SPATE" gen --to "udp://127.0.0.1:$port" "${sent_packets[@]}" \
		--packets "$1" --rate 40Mbps --json >"$work/gen.json" &
	gen=$!
	at_end "kill $gen 2>/dev/null"
}

gen_end()
{
	wait "$gen"
	settle "$1" "$(gen_did .sent)"
}

# ---- only with --follow -------------------------------------------------

spate record live --stream s >/dev/null
gen_begin 10000
refused "with --follow it is sent" spate send live --to null://
refused "it is being recorded" spate send live --to null:// --range ..2030-01-01T00:00:00Z
first=$(send_id live --follow --to null://)
second=$(send_id live --follow --to null://)
wait_for 20 is_moving "$first"
wait_for 20 is_moving "$second"
refused "it is being recorded" spate rm live
same "status has both" "$(spate status --json |
	jq -c '[.recordings[0].name, (.sends | length)]')" '["live",2]'
gen_end live
spate stop live >/dev/null
for id in $first $second; do
	wait_for 60 has_send "$id" done
	same "packets of $id" "$(sends "$id" .packets)" "$(info live .packets)"
	same "dropped by $id" "$(sends "$id" .dropped)" 0
done
recorded_whole live
refused "there is no recording" spate send liv --follow --to null://

# ---- nothing ever came -----------------------------------------------------

spate record empty --stream s --send null:// >/dev/null
id=$(spate sends --json | jq .id)
spate stop empty >/dev/null
wait_for 60 has_send "$id" done failed
same "nothing of it" "$(sends "$id" '[.state, .why, .packets] | @csv')" \
	'"done",,0'

# ---- record --send; a receiver that does not read, and one that is away ---

sink_start stall
spate record sent --stream s --send "tcp://127.0.0.1:$sink_port" >/dev/null
id=$(spate sends --json | jq .id)
away=$(send_id sent --follow --to "tcp://127.0.0.1:$((sink_port - 1))" --plain)
stuck=$(send_id sent --follow --to "tcp://127.0.0.1:$sink_port" --plain)
gen_begin 20000
wait_for 20 is_moving "$stuck"
gen_end sent
same "the one that is away" "$(sends "$away" .packets)" 0
spate stop sent >"$work/out"
recorded_whole sent
for i in $id $away $stuck; do
	spate stop "$i" >/dev/null 2>&1 || true
	wait_for 20 has_send "$i" stopped failed done
done
sink_stop
spate verify sent >/dev/null

# ---- stop in mid-send ---------------------------------------------------

sink_start tcp
id=$(send_id sent --to "tcp://127.0.0.1:$sink_port" --plain --rate 8Mbps)
wait_for 20 is_moving "$id"
spate stop "$id" >"$work/out"
grep -q '^sent: .* sent to tcp' "$work/out" || fail "$(cat "$work/out")"
closed()
{
	! grep -q ":$(printf %04X "$sink_port") .* 01 " /proc/net/tcp
}
wait_for 20 closed
sink_stop
spate verify sent >/dev/null

# ---- the daemon ends ------------------------------------------------------

sink_start stall
spate record last --stream s --send null:// >/dev/null
send_id sent --to "tcp://127.0.0.1:$sink_port" --plain >/dev/null
send_id sent --to "tcp://127.0.0.1:$sink_port" --plain --rate 80kbps >/dev/null
gen_begin 2000
gen_end last
begun=$SECONDS
spated_stop
[ $((SECONDS - begun)) -lt 30 ] || fail "it waited for a receiver"
grep -q 'stopped being sent' "$log" || fail "the log does not say so"
spated_start
recorded_whole last

spate record killed --stream s --send null:// >/dev/null
send_id sent --to "tcp://127.0.0.1:$sink_port" --plain >/dev/null
gen_begin 2000
gen_end killed
spated_kill
sink_stop
spated_start
spate recover killed >/dev/null
spate verify last >/dev/null
spate verify sent >/dev/null
same "nothing is sent by itself" "$(spate sends --json)" ""
spate send killed --to null:// --wait >/dev/null
spated_stop
