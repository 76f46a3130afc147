# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   schedule.d/x.conf --> spated, killed --> spated  -->  the same recording
#
# A scan that ran when the daemon died goes on in the next one; when it cannot,
# what is left of it gets a name of its own.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_schedule.sh
. "${BASH_SOURCE%/*}/functions_schedule.sh"

disks_make 2
schedule_conf

runs_as()
{
	[ "$(scan "$1" .recording)" = "$2" ] && has_state "$1" running
}

feed()
{
	gen --format raw --sequence le64@0 --payload 1024 --rate 100Mbps \
		--packets 2048 --dump "$work/$1"
}

spated_start
{ scan_text goes_on 1 10m s; scan_text protected 1 10m t; } |
	scans_conf "$folder/x.conf"
wait_for 30 runs_as goes_on goes_on
wait_for 30 runs_as protected protected
feed one
bytes()
{
	[ "$(info goes_on .bytes)" -ge "$1" ]
}
wait_for 30 bytes $((2048 * 1024))
spated_kill
"$SPATE" --conf "$conf" protect protected >"$work/said"
spated_start
wait_for 30 runs_as goes_on goes_on
wait_for 30 runs_as protected protecteda
grep -q "cannot go on with protected: it is protected" "$log" ||
	fail "the log does not say why"
feed two
wait_for 30 bytes $((2 * 2048 * 1024))
spate stop goes_on >/dev/null
same "runs" "$(info goes_on '[.runs[].packets] | @csv')" 2048,2048
spate export goes_on "$work/exported" --quiet
cat "$work/one" "$work/two" | cmp - "$work/exported"
same "state of what is protected" \
	"$(spate ls --json | jq -r 'select(.name == "protected") | .state')" \
	interrupted
spated_stop
