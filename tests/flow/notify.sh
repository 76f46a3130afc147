#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What the service manager hears:
#
#	spated --NOTIFY_SOCKET--> notify.py listen --> $said, a line a message
#
# It is ready when it answers, shows what it does, gives signs of life, none
# while it is stopped, and says that it stops before all is flushed.

. "${BASH_SOURCE%/*}/functions.sh"
need_python socket
grep -q sd_notify "$SPATED" || skip "spated was built without libsystemd"

said=$work/said
touch "$said"
"$python" "$top_srcdir/tests/flow/notify.py" listen "$work/notify" "$said" &
at_end "kill $!"

says()
{
	grep -q -- "$1" "$said"
}

alive_n()
{
	grep -c '^WATCHDOG=1$' "$said" || true
}

more_signs()
{
	[ "$(alive_n)" -gt "$1" ]
}

wait_for 30 says LISTENS
disks_make 2
conf_write "$(stream_text 'format = "raw"; payload = 1024;')"

# Two seconds of patience: it has to look more often than once a second.
NOTIFY_SOCKET=$work/notify WATCHDOG_USEC=2000000 spated_start
wait_for 30 says '^READY=1 STATUS=0 recordings, .* free on 2 of 2 disks$'
says '^STATUS=taking 64.0 MiB of memory EXTEND_TIMEOUT_USEC=60000000$' ||
	fail "memory: $(cat "$said")"
same "the first thing" "$(sed -n 2p "$said" | cut -c 1-13)" STATUS=taking
wait_for 30 more_signs 3

spate record one --stream s
wait_for 30 says '^STATUS=1 recording, '

# Nothing is said in its name while it does nothing.
kill -STOP "$spated_pid"
sleep 0.2
n=$(alive_n)
sleep 3
same "signs of life of a stopped daemon" "$(alive_n)" "$n"
kill -CONT "$spated_pid"
wait_for 30 more_signs "$n"

# A reload that fails is one, too: then it is ready as before.
spate reload >/dev/null
wait_for 30 says '^RELOADING=1 MONOTONIC_USEC=[0-9]*$'
mv "$conf" "$conf.away"
refused "cannot read the configuration" spate reload
mv "$conf.away" "$conf"
same "reloads" "$(grep -c '^RELOADING=1' "$said")" 2
same "ready" "$(grep -c '^READY=1 STATUS=1 recording' "$said")" 2

! says STOPPING || fail "it stops too early: $(cat "$said")"
spated_stop
wait_for 30 says \
	'^STOPPING=1 EXTEND_TIMEOUT_USEC=60000000 STATUS=stopping: 1 recording '
same ready "$(grep -c READY=1 "$said")" 3
spated_start
same state "$(info one .state)" complete

# Nobody asked for signs of life: none come.
spated_stop
was=$(wc -l <"$said")
NOTIFY_SOCKET=$work/notify spated_start
spate record two --stream s
sleep 2
spated_stop
tail -n "+$((was + 1))" "$said" >"$work/second"
grep -q READY=1 "$work/second" || fail "it was not ready"
! grep -q WATCHDOG "$work/second" || fail "signs of life that nobody wants"
