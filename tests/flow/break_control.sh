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

# A log that nobody reads: the pipe is full before the first line, and what
# is recorded does not notice.
mkfifo "$work/pipe"
exec {pipe}<>"$work/pipe"
full=$(
	python3 - "$work/pipe" <<-END
		import os, sys
		pipe = os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK)
		n = 0
		try:
		    while True:
		        n += os.write(pipe, bytes(4096))
		except BlockingIOError:
		    print(n)
	END
)
log=$work/pipe
spated_start
begin unread
python3 "$here/break_send.py" "$port" good:0:10000 >"$work/sent"
sent=$(cat "$work/sent")
end unread
ideal "$work/ideal" good:0:10000
exported unread "$work/ideal"
cat <&$pipe >"$work/spoken" &
reader=$!
at_end 'kill $reader 2>/dev/null'
spated_stop
spoken()
{
	[ "$(tail -c +$((full + 1)) "$work/spoken" |
		grep -aoE 'ready on|unread: |stopping' | xargs)" = \
		"ready on unread: unread: stopping" ]
}
wait_for 30 spoken
