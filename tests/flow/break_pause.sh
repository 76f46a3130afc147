# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# A stream that stops for a while and goes on: what had come is written while
# nothing comes, and it goes on as if nothing had been.
#
. "${BASH_SOURCE%/*}/break.sh"

disks_make 2
settings+=('durable = "200ms";')
conf_write "$(raw_stream 'max_age = "500ms";')"
spated_start

begin pause
send good:0:1000
is_indexed()
{
	[ "$(cat "$work"/disk*/pause/pause.index | wc -c)" -ge $((4 * 64)) ]
}
wait_for 20 is_indexed
same "written while it rests" "$(info pause .packets)" 1000
sleep 2 # some times its age
send good:1000:1000
end pause
ideal "$work/ideal" good:0:2000
same runs "$(info pause '.runs | length')" 1
same lost "$(info pause .packets_lost)" 0
exported pause "$work/ideal"
spated_stop
