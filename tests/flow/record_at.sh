# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spate record NAME --at TIME --> spated: the schedule, without a folder
#
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_schedule.sh
. "${BASH_SOURCE%/*}/functions_schedule.sh"

disks_make 2
port_find 3
conf_write "$(schedule_streams)
	v : { listen = [ \"127.0.0.1:$port\" ]; format = \"vdif\"; prefix = 8;
	block = \"1M\"; };"
spated_start

is_over()
{
	[ "$(info "$1" .state 2>/dev/null)" = complete ]
}

# ---- refused ------------------------------------------------------------

same "no scans" "$(spate schedule ls --json)" ""
refused "is over" usage spate record x --stream s --at 2020-01-01T00:00:00Z
refused "is over" usage spate record x --stream s --at 2020-01-01T00:00:00Z \
	--for 1h
refused "both of the data" usage spate record x --stream s --at +1h \
	--until @2030-01-01T00:00:00Z
refused "no stream 'x'" spate record x --stream x --at +1h --for 1s
refused "before it begins" usage spate record x --stream s --at +1h --until +1s
refused "are for --at" usage spate record x --stream s --backlog 1s
refused "it takes a time" usage spate record x --stream s --at tomorrow
same "nothing" "$(spate schedule ls --json)" ""

# ---- cancelled ----------------------------------------------------------

spate record far --stream s --at +1h >"$work/out"
grep -q '^far waits for 2.*Z; spate stop far cancels it$' "$work/out"
refused "the name is taken" spate record far --stream s --at +2h
spate record near --stream s --at +9s --for 1h --priority 3 --json >"$work/out"
same "priority" "$(jq -r .priority "$work/out")" 3
wait_for 20 has_state near armed
same "far" "$(state far)" waiting
spate stop far >"$work/out"
same "said" "$(cat "$work/out")" "far was cancelled before it began"
spate stop near >/dev/null
same "near" "$(state near)" cancelled
refused "nothing named" spate stop near
same "left of it" "$(find "${disks[@]}" -mindepth 1)" ""

"$SPATE" --socket "$socket" record gone --stream s --at +1h --wait \
	>"$work/out" 2>&1 &
pid=$!
at_end "kill -9 $pid 2>/dev/null"
wait_for 20 has_state gone waiting
kill -INT $pid
status=0
wait $pid || status=$?
same "exit status of an interrupted wait" $status 1
grep -q 'gone was cancelled' "$work/out" || fail "$(cat "$work/out")"
same "gone" "$(state gone)" cancelled

# ---- recorded -----------------------------------------------------------

"$SPATE" gen --to "udp://127.0.0.1:$port" --format vdif --rate 8Mbps \
	--for 10m --quiet &
gen_pid=$!
at_end "kill $gen_pid 2>/dev/null"
spate record waited --stream v --at +2s --for 1s --wait >"$work/out"
grep -q 'state *complete' "$work/out" || fail "$(cat "$work/out")"
same "waited" "$(state waited)" done

# What is being recorded is shared, and stopped by its own name only.
spate record hand --stream v >/dev/null
spate record shared --stream v --at +1s >/dev/null
wait_for 30 has_state shared running
spate stop shared >/dev/null
same "shared" "$(state shared) $(scan shared .why)" "done stopped by hand"
same "hand" "$(info hand .state)" recording
spate stop hand >/dev/null

# The clock of the data: that of gen is UTC, as it began.
spate record data --stream v --at "@$(date -u -d '+3 sec' +%FT%TZ)" --for 2s \
	--wait >"$work/out"
same "data" "$(state data)" done
[ "$(info data .packets)" -gt 0 ] || fail "no data of that time"

# Data that are over are missed as soon as others come; those of a clock that
# is far behind are waited for.
spate record past --stream v --at @2001-01-01T00:00:00Z --for 2s >/dev/null
wait_for 20 has_state past missed
spate record past --stream s --at @2001-01-01T00:00:00Z --for 2s >/dev/null
sleep 1
same "past" "$(state past)" armed
spate stop past >/dev/null

# ---- late, and not over yet ---------------------------------------------

spate record late --stream s --at 2020-01-01T00:00:00Z --until +1h >/dev/null
wait_for 20 has_state late running
spate stop late >/dev/null
spated_stop
