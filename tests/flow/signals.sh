# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# A test that is started by nohup, or in the background of a script, ignores
# no signal: functions.sh sees to it.
. "${BASH_SOURCE%/*}/functions.sh"

[ "${1:-}" != again ] || {
	signals_ignored
	exit 0
}
env --default-signal true 2>/dev/null || skip "env resets no signals"
unset TEST_SIGNALS
same "signals ignored below nohup" \
	"$(trap '' HUP INT QUIT PIPE && bash "$0" again)" 0
