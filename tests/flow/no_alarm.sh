# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --on-time, a good signal --> spated    nothing is wrong, nothing is said
#
# For $SPATE_CALM seconds (60; 600 in `SPATE_CALM=600 bash tests/flow/no_alarm.sh`)
# there is no warning, no finding, and no link that does not hold.  Where the
# machine itself lost packets, or sent them late, there was something to say:
# then it is skipped.
. "${BASH_SOURCE%/*}/functions.sh"

calm=${SPATE_CALM:-60}
disks_make 2
settings=('memory = "128M";' 'reserve = "1M";' 'durable = "1s";')
conf_write "$(stream_text 'format = "vdif"; payload = 8032; prefix = 8;
	fps = 500; threads = [ 0, 1 ]; tones = 1000000; rate = "64Mbps";')"
spated_start
spate record r --stream s --quiet
gen --format vdif --threads 0,1 -o channels=2 --tones 1000000 --fps 500 \
	--rate 64Mbps --on-time --for "$((calm + 4))s" &
sender=$!
at_end "kill $sender 2>/dev/null"
came_some()
{
	[ "$(info r .packets)" -gt 1000 ]
}
wait_for 60 came_some

looks=0 bad=0
while kill -0 "$sender" 2>/dev/null; do
	spate status --json >"$work/look"
	looks=$((looks + 1))
	jq -e '.recordings[0] | .well and .clock == null and
		(.quality == "ok" or .quality == null)' \
		"$work/look" >/dev/null || {
		bad=$((bad + 1))
		cp "$work/look" "$work/bad"
	}
	nap 1
done
wait "$sender"
settle r "$(gen_did .sent)"
spate status >"$work/said"
spate stop r --quiet
[ "$(info r .packets)" = "$(gen_did .sent)" ] ||
	skip "this machine is too busy: $(info r .packets_lost) of $(gen_did .sent) packets were lost"
late=$(gen_did ".late_s * 1000 | round")
[ "$late" -le 100 ] || skip "this machine is too busy: the sender was $late ms late"
say "$looks looks in $calm s, $bad of them bad"
[ "$bad" = 0 ] || fail "something was wrong: $(cat "$work/bad")"
same "findings" "$(jq -sr '[.[] | .findings // [] | .[]] | unique | join(" ")' \
	"${disks[0]}"/r/*.quality.jsonl)" ""
# A disk of a busy machine is slow indeed.
grep -vE '^[^ ]* (info|debug) |: slow: [^ ]* [^ ]* took ' "$log" \
	>"$work/alarms" || true
grep -E 'well again|signal: ' "$log" >>"$work/alarms" || true
same "alarms in the log" "$(cat "$work/alarms")" ""
spated_stop
