# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spated --fields--> systemd-journald, in a mount namespace with its own /run
#
# Lines have the recording they are about as a field, and lie beside each other
# as lines when the journal is gone.
. "${BASH_SOURCE%/*}/functions.sh"

journald=/usr/lib/systemd/systemd-journald
need_root "a journal of its own"
[ -x $journald ] || skip "there is no $journald"
[ -s /etc/machine-id ] || skip "the machine has no id, which journald needs"
need journalctl
if [ -z "${JOURNAL_MOUNTS:-}" ]; then
	status=0
	JOURNAL_MOUNTS=1 unshare -m bash "$0" || status=$?
	exit $status
fi

mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/journal /run/log/journal
$journald >"$work/journald.log" 2>&1 &
journal=$!
at_end '[ -z "$journal" ] || kill "$journal"'
wait_for 30 test -S /run/systemd/journal/socket

: >"$log"
JOURNAL_STREAM=$(stat -c %d:%i "$log")
export JOURNAL_STREAM
disks_make 1
conf_write "$(stream_text 'format = "raw"; payload = 1024; sequence = "le64@0";')"
spated_start
daemon=$spated_pid
spate record r1 --stream s --quiet
spate stop r1 --quiet

# said FIELD=VALUE...: what the journal has
said()
{
	journalctl -D /run/log/journal/"$(cat /etc/machine-id)" -o json \
		--no-pager "_PID=$daemon" "$@" 2>/dev/null
}

# has_said TEXT FIELD=VALUE...: for wait_for
has_said()
{
	said "${@:2}" | jq -r .MESSAGE | grep "$1" >/dev/null
}

wait_for 30 has_said '^r1: ' SPATE_SUBJECT=r1
same "lines of r1 without its name" \
	"$(said SPATE_SUBJECT=r1 | jq -r .MESSAGE | grep -cv '^r1: ' || true)" 0
same "lines of r1 in others" "$(said | jq -r 'select(.SPATE_SUBJECT != "r1") |
	.MESSAGE' | grep -c '^r1: ' || true)" 0
same "priorities" "$(said SPATE_SUBJECT=r1 | jq -r .PRIORITY | sort -u)" 6
same "names" "$(said | jq -r .SYSLOG_IDENTIFIER | sort -u)" \
	"$(cat "/proc/$daemon/comm")"
same "lines of the stream" "$(wc -l <"$log")" 0

# ---- a journal that is gone ----------------------------------------------

kill $journal
wait $journal || true
journal=''
spate record r2 --stream s --quiet
spate stop r2 --quiet
wait_for 30 grep -q '^<6>r2: ' "$log"
spated_stop
