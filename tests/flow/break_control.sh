# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   clients without manners --control socket--> spated: the recording that is
#                                               running does not notice
#
. "${BASH_SOURCE%/*}/break.sh"

disks_make 2
first=$(raw_stream)
port_s=$port
port_find
conf_write "$first
$(stream=t raw_stream)"
port=$port_s
spated_start
begin busy
at_end 'kill $sender 2>/dev/null'
python3 "$here/break_send.py" "$port" good:0:100000 >"$work/sent" &
sender=$!

for case in garbage requests long_lines idle slow never_reads; do
	timeout 60 python3 "$here/break_control.py" "$socket" $case ||
		fail "clients of the kind: $case"
done
same "what is being recorded" \
	"$(spate status --json | jq -r '.recordings[].name')" busy
wait $sender
sent=$(cat "$work/sent")
end busy
ideal "$work/ideal" good:0:100000
exported busy "$work/ideal"
spated_stop
