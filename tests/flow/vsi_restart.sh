# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/vsi.sh
#
#   Field System --VSI-S--> spate-vsi --control socket--> spated <--VDIF-- gen
#
# Either of the two programs ends while the other goes on.
. "${BASH_SOURCE%/*}/vsi.sh"

port_find 2
disks_make 2
settings=('memory = "64M";' 'reserve = "1M";')
vsi_conf "$(stream_text 'format = "vdif"; prefix = 8; payload = 8032;
	fps = 1000; threads = [ 0 ]; blocks = 20;')"
spated_start
vsi_open

send()
{
	gen --format vdif --prefix 8 --payload 1032 --threads 0 --fps 1000 \
		--rate 8Mbps --packets "$1"
}

came()
{
	[ "$(info "$1" .packets)" -ge "$2" ]
}

complete()
{
	[ "$(info "$1" .state)" = complete ]
}

# By default the service's own group may use it, and no group of people.
[ "$(id -gn)" = spate ] ||
	same "who may use the socket" "$(stat -c %a "$socket")" 600

# ---- spate-vsi is killed: its recording and its settings stay ----
says '!mode= 0 ;' 'mode=VDIF_1000-64-1-2'
says '!net_protocol= 0 ;' 'net_protocol=udps:1M:64M:4'
says '!net_port= 0 ;' "net_port=127.0.0.1@$port"
says '!record= 0 ;' 'record=on:before'
says '!record= 1 ;' 'record=off'
says '!record= 0 ;' 'record=on:kept'
send 500
wait_for 30 came kept 500
vsi_kill
send 500
wait_for 30 came kept 1000
vsi_start "$conf" "$log"
vsi_open
says '!status[?] 0 : 0x00000059 ;' 'status?'
says "!record[?] 0 : on : 2 : kept : 1032000 ;" 'record?'
says '!mode[?] 0 : VDIF_1000-64-1-2 : VDIF : 2 : *' 'mode?'
says '!net_protocol[?] 0 : udps : 1048576 : 67108864 : 4 ;' 'net_protocol?'
says "!net_port[?] 0 : 127.0.0.1@$port ;" 'net_port?'
says '!record= 6 : Already doing vbsrecord, of kept ;' 'record=on:other'
says '!record= 1 ;' 'record=off'
wait_for 30 complete kept
same packets "$(info kept .packets)" 1000
same lost "$(info kept .packets_lost)" 0
says '!scan_set= 0 ;' 'scan_set=1'
says '!scan_set[?] 0 : 1 : before : *' 'scan_set?'

# ---- what was kept is not known yet: nothing is set that it would replace ----
says '!mtu= 0 ;' 'mtu=6000'
vsi_stop
mv "$socket" "$socket.away"
vsi_start "$conf" "$log"
vsi_open
says '!version[?] 0 : spate : *' 'version?'
says '!mtu= 4 : *spated*' 'mtu=5000'
says '!net_port= 4 : *spated*' "net_port=127.0.0.1@$((port + 1))"
says '!record= 4 : *spated*' 'record=check_unique_recording_names:0'
mv "$socket.away" "$socket"
says '!mtu[?] 0 : 6000 ;' 'mtu?'
says "!net_port[?] 0 : 127.0.0.1@$port ;" 'net_port?'
says '!mtu= 0 ;' 'mtu=5000'

# ---- two of them: each has its own settings and recordings ----
says '!record= 0 ;' 'record=on:mine'
one=$vsi_port one_daemon=$vsi_daemon
vsi_port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
sed "s/:$one\"/:$vsi_port\"/g" "$conf" >"$work/two.conf"
vsi_start "$work/two.conf" "$log"
vsi_open
says '!status[?] 0 : 0x00000001 ;' 'status?'
says '!mtu[?] 0 : 9000 ;' 'mtu?'
says '!mtu= 0 ;' 'mtu=3000'
vsi_kill
vsi_start "$work/two.conf" "$log"
vsi_open
says '!mtu[?] 0 : 3000 ;' 'mtu?'
vsi_stop
vsi_port=$one vsi_daemon=$one_daemon
vsi_kill
vsi_start "$conf" "$log"
vsi_open
says '!mtu[?] 0 : 5000 ;' 'mtu?'
says '!status[?] 0 : 0x00000059 ;' 'status?'
says '!record= 1 ;' 'record=off'
wait_for 30 complete mine

# ---- it ends in good order: the recording goes on, too ----
says '!runtime= 0 : second ;' 'runtime=second'
says '!record= 0 ;' 'record=on:orderly'
vsi_stop
same state "$(info orderly .state)" recording
vsi_start "$conf" "$log"
vsi_open
says '!status[?] 0 : 0x00000001 ;' 'status?'
says '!runtime= 0 : second ;' 'runtime=second:exists'
says '!status[?] 0 : 0x00000059 ;' 'status?'
says '!record= 1 ;' 'record=off'
wait_for 30 complete orderly
vsi_open

# ---- a copy that spated makes, to somebody who does not end it ----
sink=$work/sink
python3 - "$sink" <<'END' &
import os
import socket
import sys
import time
s = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(s.getsockname()[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
c = s.accept()
time.sleep(600)
END
taker=$!
at_end 'kill $taker 2>/dev/null'
wait_for 30 test -e "$sink"
says '!runtime= 0 : copies ;' 'runtime=copies'
says '!net_protocol= 0 ;' 'net_protocol=tcp'
says '!net_port= 0 ;' "net_port=$(cat "$sink")"
says '!scan_set= 0 ;' 'scan_set=kept'
says '!disk2net= 1 ;' 'disk2net=connect:127.0.0.1'
says '!disk2net= 0 ;' 'disk2net=on'
goes()
{
	[[ $(ask 'disk2net?') == '!disk2net? 0 : active : 127.0.0.1 : 0 : 1032000 : '* ]]
}
wait_for 30 goes
vsi_open

# ---- spated is killed: words, until it is back ----
says '!runtime= 0 : brief ;' 'runtime=brief:transient'
says '!record= 0 ;' 'record=on:brief'
vsi_open
stopped()
{
	grep -q 'runtime brief has gone: its recording brief is stopped$' "$log"
}
wait_for 30 stopped
wait_for 30 complete brief
says '!runtime= 0 : brief ;' 'runtime=brief:transient'
says '!net_port= 0 ;' "net_port=127.0.0.1@$((port + 1))"
says '!record= 0 ;' 'record=on:brief2'
vsi_talker=$vsi_pid
vsi_pid=
vsi_open
says '!record= 0 ;' 'record=on:lost'
send 200
wait_for 30 came lost 200
spated_kill
kill "$vsi_talker"
goes_on()
{
	grep -q 'its recording brief2 was not stopped, because .*spated' "$log"
}
wait_for 30 goes_on
says '!status[?] 4 : *spated*' 'status?'
says '!record[?] 4 : *spated*' 'record?'
says '!record= 4 : *spated*' 'record=off'
says '!mode= 4 : *spated*' 'mode=none'
says '!mtu= 4 : *spated*' 'mtu=4000'
says '!mtu[?] 0 : 5000 ;' 'mtu?'
says '!version[?] 0 : spate : *' 'version?'
grep -q 'vsi: .*spated' "$log" || fail "the log does not say it"
spated_start
says '!status[?] 0 : 0x00000003 : 4 : lost was stopped, not by record=off*' \
	'status?'
says '!error[?] 0 : 4 : lost was stopped*' 'error?'
says '!status[?] 0 : 0x00000001 ;' 'status?'
says '!mode[?] 0 : VDIF_1000-64-1-2 : VDIF : 2 : *' 'mode?'
says '!record= 0 ;' 'record=on:after'
send 300
wait_for 30 came after 300
says '!record= 1 ;' 'record=off'
wait_for 30 complete after
same packets "$(info after .packets)" 300

# ---- the copy is no success, also if another one has its number ----
spate send after --to null:// --wait >/dev/null
says '!runtime= 0 : copies ;' 'runtime=copies'
says '!disk2net[?] 4 : *started anew*' 'disk2net?'
says '!disk2net= 1 ;' 'disk2net=disconnect'
says '!disk2net[?] 0 : inactive ;' 'disk2net?'
vsi_open

# ---- a copy of before, whose number another transfer has now ----
says '!runtime= 0 : copier ;' 'runtime=copier'
says '!scan_set= 0 ;' 'scan_set=after'
says '!disk2net= 1 ;' 'disk2net=connect:127.0.0.1'
says '!disk2net= 0 ;' 'disk2net=on'
spated_kill
spated_start
for _ in 1 2 3 4; do
	spate send after --to tcp://127.0.0.1:1 --plain >/dev/null
done
says '!disk2net= 1 ;' 'disk2net=disconnect'
nap 1
same "those that ended" "$(spate sends --all --json |
	jq -c 'select(.ended or .state == "stopped")')" ""
vsi_open

# ---- spated does not answer ----
kill -STOP "$spated_pid"
at_end 'kill -CONT $spated_pid 2>/dev/null'
says '!status[?] 4 : *no answer within*' 'status?'
kill -CONT "$spated_pid"
ready()
{
	[[ $(ask 'status?') == '!status? 0 : 0x00000001 ;' ]]
}
wait_for 30 ready
same "recordings" "$(spate ls --json | wc -l)" 8

# ---- the configuration was changed to one that spated refuses ----
vsi_stop
{
	cat "$conf"
	echo 'inbox : { listen = [ 1 ]; };'
} >"$work/other.conf"
vsi_start "$work/other.conf" "$log"
vsi_open
says '!runtime= 0 : copies ;' 'runtime=copies'
says '!net2vbs= 4 : no inbox listens on port*' 'net2vbs=open'
spated_stop
