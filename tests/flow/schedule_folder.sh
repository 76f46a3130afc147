# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated <-- schedule.d: files come, change, break and go
#              |
#              +--> recordings, when the files say so
#
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_schedule.sh
. "${BASH_SOURCE%/*}/functions_schedule.sh"

disks_make 2
schedule_conf
spated_start

"$SPATE" gen --to "udp://127.0.0.1:$port" --format raw --sequence le64@0 \
	--payload 1024 --rate 8Mbps --for 10m --quiet &
gen_pid=$!
at_end "kill $gen_pid 2>/dev/null"

# stop_of SCAN, of its recording: when it was to end and did, to the ms
planned()
{
	scan "$1" .start
	scan "$1" .stop
}

happened()
{
	info "$1" '.start, .end'
}

near()
{
	jq -ne --arg a "$2" --arg b "$3" '
		def s: (.[0:19] + "Z" | fromdate) + ("0" + .[19:23] | tonumber);
		($a | s) - ($b | s) | . > -0.5 and . < 0.5' >/dev/null ||
		fail "$1 at $2, expected $3"
}

is_done()
{
	has_state "$1" done
}

# ---- broken -------------------------------------------------------------

# Its scan is looked at below, once its time has come.
scan_text r6 20 2s s | scans_conf "$folder/c.conf"
wait_for 20 has_state r6 waiting
{ cat "$folder/c.conf"; echo 'r7 : { stream = '; } >"$work/c.conf"
cp "$work/c.conf" "$folder/c.conf"
wait_for 20 says_wrong 'c.conf:'
grep -q 'c.conf:[0-9]*: syntax error.*its last good version goes on' "$log" ||
	fail "the log does not say what is wrong"
# Nor does half of it.
scan_text r6 3600 2s s | scans_conf "$folder/.c.conf.swp"
cp "$folder/.c.conf.swp" "$folder/c.conf~"

# ---- on time ------------------------------------------------------------

scan_text r1 4 2s s | scans_conf "$folder/a.conf"
wait_for 20 has_state r1 armed
wait_for 60 is_done r1
near "start of r1" "$(info r1 .start)" "$(scan r1 .start)"
same "state of r1" "$(info r1 .state)" complete
[ "$(info r1 .packets)" -gt 0 ] || fail "r1 has nothing"
early=$(info r1 .drops.before_start)
[ "$early" -gt 0 ] || fail "r1 was not armed before"
# That is no loss, and must not look like one.
same "dropped, in the log" "$(sed -n \
	's/.*r1: recorded .* \([0-9]*\) dropped, .*; \([0-9]*\) packets came before the start$/\1 \2/p' \
	"$log")" "$(info r1 "([.drops[]] | add) - $early") $early"
same "lines for r1" "$(grep -c ' r1: ' "$log")" 3

# ---- changed ------------------------------------------------------------

# To another time while it is armed, and to another end while it runs.
scan_text r2 9 2m s | scans_conf "$folder/a.conf"
wait_for 20 has_state r2 armed
scan_text r2 3 2m s | scans_conf "$folder/a.conf"
wait_for 60 has_state r2 running
sed 's/2m/5s/' "$folder/a.conf" >"$work/a.conf"
mv "$work/a.conf" "$folder/a.conf"
wait_for 60 is_done r2
near "start of r2" "$(info r2 .start)" "$(scan r2 .start)"
within "seconds that r2 took" 4 "$(jq -rn --arg a "$(info r2 .start)" \
	--arg b "$(info r2 .end)" \
	'($b[0:19] + "Z" | fromdate) - ($a[0:19] + "Z" | fromdate)')" 60

# ---- taken out ----------------------------------------------------------

# While it is armed nothing is left; while it runs it ends.
{ scan_text r3 8 10m s; scan_text r4 0 10m s; } | scans_conf "$folder/a.conf"
wait_for 20 has_state r3 armed
wait_for 20 has_state r4 running
: >"$folder/a.conf"
is_over()
{
	[ "$(info "$1" .state)" = complete ]
}
wait_for 30 is_over r4
same "r3" "$(state r3)" cancelled
same "r4" "$(state r4)" cancelled
same "what r3 left" "$(find "${disks[@]}" -name '*r3*')" ""

# The whole file goes: what runs goes on to its end.
scan_text r5 0 8s s | scans_conf "$folder/b.conf"
wait_for 20 has_state r5 running
rm "$folder/b.conf"
wait_for 20 grep -q 'r5: b.conf was removed; what runs goes on' "$log"
same "r5" "$(state r5)" running

# ---- one name twice -----------------------------------------------------

{ scan_text twice 2 1s s; scan_text twice 5 1s s; } |
	scans_conf "$folder/d.conf"
wait_for 60 is_over twicea
same "the first" "$(info twice .state)" complete
wait_for 60 is_over r5
wait_for 20 is_done r5

# ---- broken, in time ----------------------------------------------------

wait_for 90 is_done r6
near "start of r6" "$(info r6 .start)" "$(scan r6 .start)"

# One that cannot be, and a name that has to change.
{ scan_text 'r8 (x)' 3600 2s s; scan_text r9 3600 2s nosuch; } |
	scans_conf "$folder/c.conf"
wait_for 20 has_state r8--x- waiting
scan r8--x- .why | grep -qF "'r8 (x)'"
same "r9" "$(state r9)" refused
scan r9 .why | grep -q "there is no stream 'nosuch'"
spated_stop
