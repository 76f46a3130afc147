#!/bin/bash
# SPDX-License-Identifier: MIT
#
# One of two receivers hangs while the event loop goes on: no sign of life is
# given until it moves again, and one line of the log says why.

. "${BASH_SOURCE%/*}/functions.sh"
need_python socket
grep -q sd_notify "$SPATED" || skip "spated was built without libsystemd"

said=$work/said
touch "$said"
"$python" "$top_srcdir/tests/flow/notify.py" listen "$work/notify" "$said" &
at_end "kill $!"

alive_n()
{
	grep -c '^WATCHDOG=1$' "$said" || true
}

more_signs()
{
	[ "$(alive_n)" -gt "$1" ]
}

is_held()
{
	kill -0 "$holder" 2>/dev/null || skip "no thread may be held up here: \
$(cat "$work/held.why")"
	grep -q held "$work/held"
}

wait_for 30 grep -q LISTENS "$said"
disks_make 1
settings+=('receivers = 2;')
conf_write "$(stream_text 'format = "raw"; payload = 1024;')"
NOTIFY_SOCKET=$work/notify WATCHDOG_USEC=2000000 spated_start
wait_for 30 more_signs 2

receiver=$(grep -lx spate-receive /proc/"$spated_pid"/task/*/comm |
	tail -n 1 | awk -F/ '{ print $5 }')
mkfifo "$work/hold"
touch "$work/held"
"$python" "$top_srcdir/tests/flow/notify.py" hold "$receiver" \
	<"$work/hold" >"$work/held" 2>"$work/held.why" &
holder=$!
exec 9>"$work/hold"
# Nobody can end what is held, until it is let go of.
at_end "exec 9>&-; wait $holder"
wait_for 30 is_held

# A look that was on its way may say it lives, once.
sleep 1
n=$(alive_n)
wait_for 60 grep -q 'a receiver thread stands still' "$log"
same "signs of life without a receiver" "$(alive_n)" "$n"
spate status >/dev/null
exec 9>&-
wait "$holder"
wait_for 30 more_signs "$n"
spated_stop
same "lines about it" "$(grep -c 'stands still' "$log")" 1
