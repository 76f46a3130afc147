# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/vsi.sh
#
#   gen --port 0--> s --> NAME_dss, NAME_dsah, NAME_ds0   by stream, by suffix
#   gen --port 1--> t --> NAME_dst, NAME_dsav, NAME_ds1   and by thread
#
# What VSI-S makes several recordings of; and what it cannot make, which
# changes nothing.
. "${BASH_SOURCE%/*}/vsi.sh"

port_find 4
disks_make 2
settings=('memory = "64M";' 'reserve = "1M";')
keys='format = "vdif"; prefix = 8; payload = 1032; threads = [ 0, 1 ];
	fps = 1000; blocks = 20; block = "256K";'
vsi_conf "$(printf '\ts : { listen = [ "127.0.0.1:%s" ]; %s };\n' \
	"$port" "$keys")
$(printf '\tt : { listen = [ "127.0.0.1:%s" ]; %s };' \
	$((port + 1)) "$keys")" "" '"s", "t"'
spated_start
vsi_open

# NAME KEY N [KEY N]: a recording for each, with so many packets.
has()
{
	local name=$1
	shift

	while [ $# -gt 0 ]; do
		wait_for 30 is_complete "${name}_ds$1"
		same "packets of ${name}_ds$1" \
			"$(info "${name}_ds$1" .packets)" "$2"
		shift 2
	done
}

is_complete()
{
	[ "$(spate info "$1" --json 2>/dev/null | jq -r .state)" = complete ]
}

came()
{
	[[ $(ask 'evlbi?') == "!evlbi? 0 : total : $1 : "* ]]
}

send()
{
	gen --format vdif --prefix 8 --payload 1032 --packets "$1" --rate 20Mbps \
		--threads "${2:-0}" --start "$(date -u -d '1 second' +%FT%TZ)"
}

first=$port

# ---- of two streams ----
says '!record= 0 ;' 'record=on:two'
send 500
port=$((first + 1))
send 300
wait_for 30 came 800
says '!record[?] 0 : on : 1 : two : 825600 ;' 'record?'
says '!record= 1 ;' 'record=off'
has two s 500 t 300
says '!scan_check[?] 0 : [?] : two : VDIF :  : *s : *Mbps : 0 : 1032 ;' \
	'scan_check?'

# ---- beside a recording that somebody typed ----
spate record typed --stream s
says '!record= 0 ;' 'record=on:shared'
port=$first
send 400
wait_for 30 came 400
says '!record= 1 ;' 'record=off'
has shared s 400 t 0
same "packets of typed" "$(info typed .packets)" 400
spate stop typed

# ---- after the configuration was read again: a stream is another ----
sed -i 's/ block = "256K"; };$/ block = "128K"; };/
	s/"127.0.0.1", "::1" \];/"127.0.0.0\/8", "::1" ];/' "$conf"
spate reload >"$work/reload"
grep -q 'stream s is another' "$work/reload" || fail "$(cat "$work/reload")"
grep -q '`vsi` takes a restart of spate-vsi$' "$work/reload" ||
	fail "$(cat "$work/reload")"
sed -i 's/"127.0.0.0\/8", "::1" \];/"127.0.0.1", "::1" ];/' "$conf"
says '!record= 0 ;' 'record=on:other'
same "block of s" "$(spate info other_dss --json | jq -r .blocks.total)" 20
send 100
wait_for 30 came 100
says '!record= 1 ;' 'record=off'
has other s 100 t 0
same "recordings" "$(spate ls 'other*' --json | wc -l)" 2

# ---- as many ports as streams, with suffixes ----
says "!net_port= 8 : *ports do not match*;" "net_port=$((first + 2))"
says '!net_port[?] 0 : '"$first ;" 'net_port?'
says '!net_port= 0 ;' "net_port=$((first + 2))=ah:127.0.0.1@$((first + 3))=1v"
says '!record= 0 ;' 'record=on:ports'
port=$((first + 2))
send 400
port=$((first + 3))
send 200
wait_for 30 came 600
says '!record= 1 ;' 'record=off'
has ports ah 400 1v 200
says '!net_port= 0 ;' 'net_port=0'

# ---- who only looks gives way, whatever the stream is called now ----
is_bound()
{
	grep -q ":$(printf '%04X' "$first") " /proc/net/udp
}
spate probe s --for 60s >/dev/null 2>&1 &
prober=$!
at_end 'kill $prober 2>/dev/null'
wait_for 30 is_bound
says '!net_port= 0 ;' "net_port=$first=1:$((first + 1))=2"
says '!record= 0 ;' 'record=on:looked'
says '!record= 1 ;' 'record=off'
says '!net_port= 0 ;' 'net_port=0'

# ---- a recording for each thread ----
says '!datastream= 0 ;' 'datastream=add:{thread}:*'
says '!record= 0 ;' 'record=on:threads'
port=$first
send 600 0,1
wait_for 30 came 600
says '!record= 1 ;' 'record=off'
has threads s_ds0 300 s_ds1 300
says '!datastream= 0 ;' 'datastream=clear'

# ---- written as a Mark 6 does ----
says '!record= 0 ;' 'record=mk6:1'
says '!record= 0 ;' 'record=on:sg'
send 300
wait_for 30 came 300
says '!record= 1 ;' 'record=off'
has sg s 300
same layout "$(info sg_dss .layout)" mark6
says '!record= 0 ;' 'record=mk6:0'

# ---- what cannot be ----
says '!mode= 4 : *;' 'mode=VLBA1_4-512-8-2'
says '!net_protocol= 6 : *;' 'net_protocol=udt'
says '!net_port= 8 : *;' 'net_port=999.1.1.1@70000'
says '!mode= 0 ;' 'mode=VDIF_1000-16-1-2'
says '!net_protocol= 0 ;' 'net_protocol=pudp'
says '!mode= 8 : *half frames of Mark5B*;' 'mode=Mark5B-16-1-2'
says '!mode[?] 0 : VDIF_1000-16-1-2 :*;' 'mode?'
says '!set_disks= 0 : 2 ;' "set_disks=$work/disk*"
says '!set_disks= 8 : *;' 'set_disks=flexbuf'
grep -q 'warn  vsi: mode=.*half frames of Mark5B' "$log" ||
	fail "no line in the log says why"

# ---- who is not allowed; IPv6; and the line's end ----
refused_from()
{
	python3 - "$vsi_port" <<-'END'
		import socket
		import sys
		s = socket.socket()
		s.bind(("127.0.0.2", 0))
		s.settimeout(30)
		s.connect(("127.0.0.1", int(sys.argv[1])))
		try:
		    s.sendall(b"record=on:not_allowed;\n")
		    assert s.recv(100) == b""
		except ConnectionError:
		    pass
	END
}
refused_from
grep -q 'refused 127.0.0.2:.*`allow`' "$log" || fail "the log does not say who"
! spate info not_allowed >/dev/null 2>&1 || fail "somebody else recorded"
vsi_open ::1
says '!version[?] 0 : spate : *' 'version?'
says '!version[?] 0 : spate : *' 'version?\r'
spated_stop

# ---- a port that is taken, a network and a stream that are none ----
python3 -c "import socket, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.1', $vsi_port))
s.listen()
time.sleep(60)" &
taker=$!
at_end 'kill $taker 2>/dev/null'
is_taken()
{
	python3 -c "import socket
socket.create_connection(('127.0.0.1', $vsi_port))" 2>/dev/null
}
wait_for 30 is_taken
refused "cannot listen for VSI-S commands on 127.0.0.1:$vsi_port" \
	"$SPATE_VSI" -c "$conf"
sed -i 's/"127.0.0.1", "::1" \]/"10.0.0.0\/99" ]/' "$conf"
refused "vsi: '10.0.0.0/99' is no network" "$SPATED" -n -c "$conf"
refused "vsi: '10.0.0.0/99' is no network" "$SPATE_VSI" -n -c "$conf"
sed -i 's/10.0.0.0\/99/10.0.0.0\/8/; s/"s", "t"/"x"/' "$conf"
refused "vsi: there is no stream 'x'" "$SPATED" -n -c "$conf"
sed -i 's/"x"/"s", "t"/; s/memory = "64M"/memory = "12M"/' "$conf"
refused "vsi: memory = 12.0 MiB is too small for its streams" \
	"$SPATED" -n -c "$conf"

# ---- nobody wants VSI-S: that is no fault ----
sed '/^vsi : {/,/};$/d' "$conf" >"$work/none.conf"
"$SPATE_VSI" -c "$work/none.conf" >"$work/none" 2>&1 || fail "$(cat "$work/none")"
grep -q 'has no group `vsi`: there is nothing to do' "$work/none" ||
	fail "$(cat "$work/none")"
