# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated: no recording, nothing on the disk
#             \--> spate probe: who sends what, and what the configuration
#                  expects instead
. "${BASH_SOURCE%/*}/functions.sh"

# seen KEY: of the last probe --json
seen()
{
	jq -r "$1" "$work/seen.json"
}

# look [ARGS]
look()
{
	spate probe s --for 1s --json "$@" >"$work/seen.json"
}

# look_full: what is on time begins with the next second
look_full()
{
	look
	[ "$(seen .datagrams)" -ge 200 ]
}

# gen_on ARGS: a sender in the background, until gen_off
gen_on()
{
	"$SPATE" gen --to "udp://127.0.0.1:$port" --for 60s "$@" 2>/dev/null &
	sender=$!
	at_end "kill $sender 2>/dev/null; wait $sender"
}

gen_off()
{
	kill $sender
	wait $sender || true
}

port_free()
{
	ports_free 1
}

disks_make 1
conf_write "$(stream_text 'format = "vdif"; prefix = 8; fps = 400;')"
spated_start

# Nobody sends.
look
same "datagrams of nobody" "$(seen .datagrams)" 0
seen '.hints[0]' | grep -q 'nothing came' || fail "no hint: $(seen .hints)"
spate probe s --for 100ms | grep -q 'it is silent' || fail "not told"
refused "there is no stream 'q'" "$SPATE" --socket "$socket" probe q
status=0
spate probe s --for 11m 2>"$work/refused" || status=$?
same "status of too long a look" "$status" 2
grep -q 'up to 10m' "$work/refused"

# As configured: two threads, one packet in a hundred lost.
gen_on --format vdif --prefix 8 --fps 400 --threads 0,3 --loss 0.01 \
	--rate 80Mbps -o station=Wz --on-time
wait_for 20 look_full
within datagrams 200 "$(seen .datagrams)" 2000
same sizes "$(seen '[.sizes[].bytes] | @csv')" 8040
same threads "$(seen '[.threads[].thread] | sort | @csv')" 0,3
same station "$(seen '.threads[0].station')" $((0x577a))
within "lost packets" 1 "$(seen .lost)" 60
same "one sender" "$(seen .senders)" 1
seen '.sources[0].sender' | grep -q '^127.0.0.1:' || fail "no sender"
seen .ahead_s | grep -q '^-\?[0-3]\.' || fail "time: $(seen .ahead_s)"
within "us that the clock is behind" -5000 "$(seen '.clock_s * 1e6 | round')" 90000
same "nothing to say" "$(seen '.hints | @csv')" ""
spate probe s --for 500ms >"$work/shown"
grep -q 'Wz' "$work/shown" || fail "no station: $(cat "$work/shown")"
grep -q 'from *127.0.0.1:' "$work/shown" || fail "$(cat "$work/shown")"
wait_for 10 port_free

gen_off

# A clock that is wrong, before anything is recorded: by a second and a bit, and
# by half a year.
gen_on --format vdif --prefix 8 --fps 400 --rate 80Mbps --behind 1.2s
wait_for 20 look_full
same "what is wrong" "$(seen .clock_fault)" far
within "ms that it is behind" 1195 "$(seen '.clock_s * 1000 | round')" 1500
seen '.hints[-1]' | grep -q 'the time of the data is 1\.[1-5][0-9]* s behind ours' ||
	fail "no hint: $(seen .hints)"
spate probe s --for 1s >"$work/shown"
grep -q '^  time *of the data is 1\.[1-5][0-9]* s behind arrival$' "$work/shown" &&
	grep -q '^  ! the time of the data is 1\.[1-5]' "$work/shown" ||
	fail "not shown: $(cat "$work/shown")"
gen_off
gen_on --format vdif --prefix 8 --fps 400 --rate 80Mbps \
	--start "$(date -u -d "@$(($(date +%s) - 184 * 86400))" +%Y-%m-%dT%H:%M:%SZ)"
wait_for 20 look_full
same "half a year" "$(seen .clock_fault)" epoch
gen_off
gen_on --format vdif --prefix 8 --fps 400 --threads 0,3 --rate 80Mbps

# Two at a time cannot be; who leaves does not keep the port.
"$SPATE" --socket "$socket" probe s --for 60s >/dev/null &
first=$!
at_end "kill $first 2>/dev/null; wait $first"
wait_for 10 eval '! port_free'
refused 'is being probed already' "$SPATE" --socket "$socket" probe s
kill $first
wait $first || true
wait_for 10 port_free

# A recording comes first, and is not looked at twice.
"$SPATE" --socket "$socket" probe s --for 60s --json >"$work/seen.json" &
first=$!
at_end "kill $first 2>/dev/null; wait $first"
wait_for 10 eval '! port_free'
spate record r --stream s
wait $first
same "told what it saw" "$(seen .recording)" null
sleep 0.3
look
same "the recording is named" "$(seen .recording)" r
within "its datagrams" 1 "$(seen '.recordings[0].datagrams')" 100000
spate probe s | grep -q '^s is being recorded as r' || fail "not told"
spate stop r
gen_off

# What comes is not what is configured, and that is said.
gen_on --format vdif --prefix 8 --payload 8224 --fps 400 --rate 50Mbps
sleep 0.3
look
seen '.hints[0]' | grep -q 'payload is 8224, configured 8032' ||
	fail "larger: $(seen .hints)"
gen_off
gen_on --format vdif --prefix 0 --fps 400 --rate 50Mbps
sleep 0.3
look
seen '.hints[0]' | grep -q 'prefix is 0 and payload 8032, configured 8 and' ||
	fail "without prefix: $(seen .hints)"
gen_off
gen_on --format vdif --prefix 8 --fps 400 --rate 50Mbps --sequence be64@0
sleep 0.3
look
seen '.hints[0]' | grep -q 'other byte order: set sequence = "be64@0"' ||
	fail "byte order: $(seen .hints)"
gen_off
gen_on --format raw --prefix 0 --payload 500 --rate 5Mbps
sleep 0.3
look
seen '.hints[0]' | grep -q 'datagrams have 500 bytes' ||
	fail "something else: $(seen .hints)"

# A daemon that ends does not wait for a probe.
"$SPATE" --socket "$socket" probe s --for 10m --json >"$work/seen.json" &
first=$!
at_end "kill $first 2>/dev/null; wait $first"
wait_for 10 eval '! port_free'
spated_stop
wait $first
same "told at the end" "$(seen '.sizes[0].bytes')" 500
gen_off
same "nothing was recorded but r" "$(ls "${disks[0]}")" r
