# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   schedule.d: send, relay, record with `send =` --> spated --> null
#
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"

folder=$work/schedule.d
mkdir "$folder"
settings+=("schedule = \"$folder\";" "state = \"$work\";")
send_conf
spated_start
record_one a 2000

stamp()
{
	TZ=UTC printf '%(%FT%TZ)T' $((EPOCHSECONDS + $1))
}

# By its name and action.
row()
{
	spate schedule ls --all --json |
		jq -r "select(.name == \"$1\" and .action == \"$2\") | $3"
}

is_row()
{
	[ "$(row "$1" "$2" .state)" = "$3" ]
}

ended_of()
{
	spate sends --all --json |
		jq -r "select(.name == \"$1\" and .kind == \"$2\") | $3" |
		tail -1
}

# ---- a file with each of them ------------------------------------------

cat >"$work/x.conf" <<END
rows = (
  { name = "a"; action = "send"; to = "null://"; start = "$(stamp 2)"; },
  { name = "b"; action = "relay"; stream = "s"; to = "null://";
    start = "$(stamp 2)"; duration = "4s"; },
  { name = "c"; stream = "s"; send = "null://"; start = "$(stamp 2)";
    duration = "4s"; },
  { name = "nobody"; action = "send"; to = "null://"; start = "$(stamp 2)"; },
  { name = "later"; action = "send"; to = "null://"; start = "$(stamp 2)";
    duration = "1m"; },
  { name = "foo"; action = "send"; to = "foo://x"; start = "$(stamp 2)"; },
  { name = "two"; action = "relay"; streams = [ "s", "s2" ]; to = "null://";
    start = "$(stamp 2)"; duration = "1s"; },
  { name = "data"; action = "relay"; stream = "s"; to = "null://";
    start = "@$(stamp 2)"; duration = "1s"; },
  { name = "bad"; action = "send"; to = "null:"; send = "null://";
    start = "$(stamp 2)"; }
);
END
spate schedule check "$work/x.conf" >"$work/out" 2>&1 || true
for text in "no send plugin 'foo'" "one scan relays one stream" "without @" \
	'`send` is of what is recorded'; do
	grep -qF "$text" "$work/out" || fail "no '$text': $(cat "$work/out")"
done
spate schedule add "$work/x.conf" >/dev/null 2>&1 || true
spate schedule ls >"$work/out" 2>&1
grep -q 'null://' "$work/out" || fail "where to: $(cat "$work/out")"
wait_for 20 is_row c record running
wait_for 20 is_row b relay running
gen "${sent_packets[@]}" --packets 2000 --rate 20Mbps
for row in "a send" "b relay" "c record"; do
	# shellcheck disable=SC2086
	wait_for 60 is_row $row done
done
same "packets of a" "$(ended_of a send .packets)" 2000
same "packets of the relay" "$(ended_of s relay .packets)" 2000
wait_for 30 eval '[ "$(ended_of c send .state)" = done ]'
same "packets of c" "$(ended_of c send .packets)" 2000
recorded_whole c
same "nobody" "$(row nobody send .state)" failed
same "one that may come" "$(row later send .state)" waiting
same "foo" "$(row foo send .state)" refused
record_one later 500
wait_for 30 is_row later send done
same "packets of it" "$(ended_of later send .packets)" 500

# ---- by hand --------------------------------------------------------------

for at in "" "--at +2s"; do
	# shellcheck disable=SC2086
	spate record d --stream s --for 2s --send foo://x $at \
		>"$work/out" 2>&1 && fail "it took a URL that is none"
	grep -qF "no send plugin 'foo'" "$work/out" || fail "$(cat "$work/out")"
done
spate record d --stream s --at +2s --for 3s --send null:// >/dev/null
same "send" "$(row d record .send)" null://
wait_for 20 is_row d record running
gen "${sent_packets[@]}" --packets 500 --rate 20Mbps
wait_for 30 is_row d record done
wait_for 30 eval '[ "$(ended_of d send .state)" = done ]'
same "packets of d" "$(ended_of d send .packets)" 500

# ---- another daemon goes on ---------------------------------------------

cat >"$folder/y.conf" <<END
y = { action = "send"; name = "a"; to = "null://"; start = "$(stamp 1)";
  duration = "10m"; };
END
sed -i 's/^y = /y : /' "$folder/y.conf"
cat >>"$folder/y.conf" <<END
z : { action = "relay"; stream = "s"; to = "null://"; start = "$(stamp 1)";
  duration = "10m"; };
END
wait_for 30 is_row z relay running
spated_stop
spated_start
wait_for 30 is_row z relay running
spated_kill
spated_start
wait_for 30 is_row z relay running
id=$(spate sends --json | jq 'select(.kind == "relay") | .id')
spate stop z >/dev/null
same "stopped by hand" "$(sends "$id" .state)" stopped
wait_for 20 is_row z relay done
rm "$folder/y.conf"
spated_stop

# ---- recorded, but not sent ---------------------------------------------

rm "$folder/x.conf"
sed -i '1i send_patience = "1s";' "$conf"
spated_start
failed_before=$(spate status --json | jq .sends_failed)
cat >"$work/not.conf" <<END
scans = (
  { name = "n1"; stream = "s"; send = "foo:/c"; start = "$(stamp 2)"; duration = "2s"; },
  { name = "n2"; stream = "s"; send = "tcp://127.0.0.1:$((port + 1))";
    start = "$(stamp 2)"; duration = "2s"; }
);
END
refused "1 of 2 scans will be recorded, but not sent" \
	spate schedule check "$work/not.conf"
grep -qF "not sent: 'foo:/c' is no URL to send to" "$work/refused"
refused "1 of 2 scans will be recorded, but not sent" \
	spate schedule add "$work/not.conf"
wait_for 20 is_row n2 record running
gen "${sent_packets[@]}" --packets 200 --rate 20Mbps
wait_for 30 is_row n1 record done
wait_for 30 is_row n2 record done
wait_for 60 eval '[ "$(row n2 record .unsent)" != null ]'
same "why" "$(row n2 record .unsent)" "$(ended_of n2 send .why)"
same "transfers that failed" "$(spate status --json | jq .sends_failed)" \
	$((failed_before + 2))
spate status | grep -qE "^$((failed_before + 2)) transfers failed since spated was started" ||
	fail "$(spate status)"
spate schedule ls --all >"$work/out"
grep -qE '^ *[0-9]+ +n1 .*done .*not sent: ' "$work/out" || fail "$(cat "$work/out")"
grep -qE '^ *[0-9]+ +n2 .*done .*not sent: ' "$work/out" || fail "$(cat "$work/out")"
spated_stop
spated_start
same "after a restart" "$(row n2 record '.unsent != null')" true
spated_stop
