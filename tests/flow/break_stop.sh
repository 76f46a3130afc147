# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# SIGTERM in mid-recording: all that had come is durable, and its end says
# why.  A second daemon on the same socket is told that there is one.
#
. "${BASH_SOURCE%/*}/break.sh"

disks_make 2
settings+=('durable = "end";')
conf_write "$(raw_stream)"
spated_start

refused "another spated has it" timeout 30 "$SPATED" -c "$conf"
spate status >/dev/null

begin term
at_end 'kill $sender 2>/dev/null'
python3 "$here/break_send.py" "$port" good:0:200000 >/dev/null 2>&1 &
sender=$!
wait_for 10 came term 4000
python3 -c 'import os, sys, time; time.sleep(60); os.kill(int(sys.argv[1]), 9)' \
	"$spated_pid" &
watch=$!
at_end 'kill $watch 2>/dev/null'
spated_stop
kill $watch
kill $sender 2>/dev/null || true

same state "$(info_disks term | jq -r .state)" complete
same "sum of the drops" "$(info_disks term | sum_of)" 0
same lost "$(info_disks term | jq .packets_lost)" 0
for disk in "${disks[@]}"; do
	grep -q '"end":{.*"reason":"the daemon was stopped"' \
		"$disk/term/term.meta.jsonl"
done
"$SPATE" verify term --disks "$(disks_list)"
"$SPATE" export term "$work/exported" --disks "$(disks_list)" --quiet
packets=$(info_disks term | jq .packets)
[ "$packets" -ge 4000 ] || fail "only $packets packets"
ideal "$work/ideal" "good:0:$packets"
cmp "$work/exported" "$work/ideal"
[ ! -e "$socket" ] || fail "the socket is still there"

# With clients that wait, and with nothing at all.
spated_start
begin wait
spate record --stream s x --wait >/dev/null 2>&1 && fail "s is taken"
send good:0:1000
wait_for 10 came wait 1000
spate stop wait >/dev/null &
spated_stop
wait $! || true
same "packets of wait" "$(info_disks wait | jq .packets)" 1000
spated_start
spated_stop
