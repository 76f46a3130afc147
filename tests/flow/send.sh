# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spate send, sends, rate, pause, resume, stop --> spated --> null
#
# What is refused, how the queue goes on, and what each order does.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"

usage()
{
	local status=0

	"$@" || status=$?
	[ $status -eq 2 ] || fail "'$*' ended with $status"
	return 1
}

settings+=('max_sends = 2;')
send_conf
spated_start
same "nothing" "$(spate sends --json)" ""

# ---- refused ------------------------------------------------------------

record_one a 3000
refused "there is no recording 'nobody'" spate send nobody --to null://
refused "there is no recording '../a'" spate send ../a --to null://
refused "no send plugin 'foo'" usage spate send a --to foo://x
refused "is no URL" usage spate send a --to here
refused "--to is missing" usage spate send a
refused "'fast' is no rate" usage spate send a --to null:// --rate fast
refused "is no time" usage spate send a --to null:// --range 1..2
refused "+5s" usage spate send a --to null:// --range +5s..
refused "before it begins" usage spate send a --to null:// --bytes 2M..1M
refused "is no range" usage spate send a --to null:// --bytes 2M
refused "a thread is" usage spate send a --to null:// --threads 1,b
refused "is bytes, or" usage spate send a --to null:// --strip x
refused "there is no stream 'x'" spate relay --stream x --to null://
refused "which stream" usage spate relay --to null://
refused "no transfer has the name or number '77'" spate rate 77 1Gbps
refused "no transfer has the name or number 'b'" spate pause b
refused "or sent" spate stop b
same "nothing came of it" "$(spate sends --all --json)" ""

# ---- one, to its end ----------------------------------------------------

spate send a --to null:// --wait >"$work/out" 2>"$work/err"
grep -q '^a: .* sent to null://' "$work/out" || fail "$(cat "$work/out")"
id=$(spate sends --all --json | jq .id)
same "state" "$(sends "$id" .state)" done
same "packets" "$(sends "$id" .packets)" 3000
same "missing" "$(sends "$id" .missing)" 0
same "as of the recording" "$(spate send a --to null:// --wait --json |
	jq -r '[.name, .kind, .packets, .why] | join(" ")')" "a send 3000 "

# A part that there is nothing of is not sent whole.
refused "a has nothing of what was chosen" \
	spate send a --to null:// --wait --quiet --bytes 1G..2G
refused "a has nothing of what was chosen" \
	spate send a --to null:// --wait --quiet \
	--range 1999-01-01T00:00:00Z..1999-01-02T00:00:00Z
spate send a --to null:// --wait --quiet --bytes 1M..2M

# ---- the queue: two at a time, the highest priority first ----------------

one=$(send_id a --to null:// --rate 400kbps)
two=$(send_id a --to null:// --rate 400kbps)
low=$(send_id a --to null:// --rate 400kbps)
high=$(send_id a --to null:// --rate 400kbps --priority 5)
wait_for 20 has_send "$two" sending
same "the third waits" "$(sends "$low" .state)" queued
same "the fourth waits" "$(sends "$high" .state)" queued
same "what status says" \
	"$(spate status --json | jq -c '[.sends_n, (.sends | length)]')" "[2,4]"
spate status | grep -q '^transfers' || fail "status does not show them"
spate stop "$one" >"$work/out"
grep -q '^a: .* sent to null://' "$work/out" || fail "$(cat "$work/out")"
same "stopped" "$(sends "$one" '.state + ": " + .why')" \
	"stopped: stopped by hand"
wait_for 20 has_send "$high" sending
same "the low one waits still" "$(sends "$low" .state)" queued

# One that is paused leaves its turn; one that waits can be paused, too.
spate pause "$high" >/dev/null
wait_for 20 has_send "$low" sending
wait_for 20 has_send "$high" paused
bytes=$(sends "$high" .bytes)
sleep 1
same "bytes while it is paused" "$(sends "$high" .bytes)" "$bytes"
last=$(send_id a --to null:// --rate 400kbps)
spate pause "$last" >/dev/null
same "paused in the queue" "$(sends "$last" .state)" paused
spate resume "$last" >/dev/null
same "in the queue" "$(sends "$last" .state)" queued
spate resume "$high" >/dev/null
wait_for 20 has_send "$high" sending

# By its name an order is for all.
spate rate a 800kbps --json >"$work/out"
same "orders" "$(wc -l <"$work/out")" 4
same "asked" "$(sends "$high" .asked_rate)" 800000
spate rate a free >/dev/null
for id in "$two" "$low" "$high" "$last"; do
	wait_for 60 has_send "$id" done
	same "packets of $id" "$(sends "$id" .packets)" 3000
done
refused "no transfer has the name" spate rate "$two" 1Gbps

# ---- --wait and signals --------------------------------------------------

"$SPATE" --socket "$socket" send a --to null:// --rate 400kbps --wait \
	>"$work/out" 2>"$work/err" &
pid=$!
at_end "kill -9 $pid 2>/dev/null"
moving()
{
	[ -n "$(spate sends --json | jq 'select(.state == "sending")')" ]
}
wait_for 20 moving
kill -INT $pid
status=0
wait $pid || status=$?
same "exit status of what was interrupted" $status 1
grep -q 'not sent whole' "$work/err" || fail "it says: $(cat "$work/err")"
grep -q '^a: .* sent to' "$work/out" || fail "it says: $(cat "$work/out")"
same "nothing goes on" "$(spate sends --json)" ""

"$SPATE" --socket "$socket" send a --to null:// --rate 400kbps --wait \
	>"$work/out" 2>"$work/err" &
pid=$!
wait_for 20 moving
kill -HUP $pid
wait $pid || true
moving || fail "a lost terminal ended it"
id=$(spate sends --json | jq .id)

# ---- reload --------------------------------------------------------------

sed -i 's/^max_sends = 2;/max_sends = 3; send_rate = "800kbps";/' "$conf"
spate reload >"$work/out"
grep -q '`max_sends` is another' "$work/out" || fail "$(cat "$work/out")"
same "state of what went on" "$(sends "$id" .state)" sending
third=$(send_id a --to null://)
fourth=$(send_id a --to null://)
wait_for 20 has_send "$fourth" sending
same "asked" "$(sends "$third" .asked_rate)" 800000
sed -i 's/send_rate = "800kbps"/send_rate = "fast"/' "$conf"
refused 'send_rate = "fast" is none of' spate reload
sed -i 's/send_rate = "fast";/send : { foo : { }; };/' "$conf"
refused "there is no plugin 'foo'" spate reload
sed -i 's/send : { foo : { }; };/send : { udp : { ttl = 300; }; };/' "$conf"
refused "ttl" spate reload
sed -i 's/send : { udp : { ttl = 300; }; };/secret_file = "\/dev\/null";/' \
	"$conf"
refused "the secret /dev/null" spate reload
sed -i 's/secret_file = "\/dev\/null";//' "$conf"
spate reload >/dev/null
same "state of what went on" "$(sends "$id" .state)" sending
spate stop "$third" >/dev/null
spate stop "$fourth" >/dev/null

# ---- rm -----------------------------------------------------------------

refused "it is being sent" spate rm a
[ "$(spate ls a --json | jq -r .name)" = a ] || fail "it is gone"
spate rm --force a >/dev/null
wait_for 20 has_send "$id" stopped failed
same "why" "$(sends "$id" .why)" "it was removed"
refused "there is no recording 'a'" spate send a --to null://

# One whose removal was begun.
record_one r 500
for disk in "${disks[@]}"; do
	[ ! -d "$disk/r" ] || touch "$disk/r/r.removing"
done
refused "it is being removed" spate send r --to null:// --wait
spate rm r >/dev/null
refused "there is no recording 'r'" spate send r --to null://
spated_stop
