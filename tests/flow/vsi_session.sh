# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/vsi.sh
#
#   Field System --VSI-S--> spated <--VDIF, Mark5B-- gen
#
# A session as the procedures of a station have it: what a Field System sends
# for fb_status, fb_mode, fb_config, disk_record, scan_check and checkfb, to the
# letter.  The configuration says something else than the session needs.
. "${BASH_SOURCE%/*}/vsi.sh"

port_find 4
disks_make 2
settings=('memory = "256M";' 'reserve = "1M";')
vsi_conf "$(stream_text 'format = "vdif"; prefix = 8; payload = 1032;
	fps = 1000; threads = [ 0 ]; blocks = 40; max_loss = 0.5;')"
spated_start
vsi_open

# SCAN GEN-OPTIONS: sends a second of it, and ends the scan.
scan_run()
{
	local name=$1
	shift

	gen --rate 20Mbps --for 1s --dump "$work/ideal" "$@"
	settle "$name" "$(gen_did .sent)"
	says "!evlbi[?] 0 : total : $(gen_did .sent) : loss : 0 ( 0.00%) : \
out-of-order : 0 ( 0.00%) : extent : 0seqnr/pkt ;" 'evlbi?'
	says "!record[?] 0 : on : $number : $name : *[1-9]* ;" 'record?'
	says '!status[?] 0 : 0x00000059 ;' 'status?'
	says '!record= 1 ;' "record = off : $name ; "
	wait_for 30 ended "$name"
	same state "$(info "$name" .state)" complete
	same packets "$(info "$name" .packets)" "$(gen_did .sent)"
	same "packets lost" "$(info "$name" .packets_lost)" 0
	spate verify "$name"
	spate export "$name" "$work/exported" --force
	cmp "$work/exported" "$work/ideal"
}

ended()
{
	[ "$(info "$1" .state)" = complete ]
}

# ---- preses: fb=dts_id?, fb=os_rev?, fb_status ----
says '!dts_id[?] 0 : - : spate * : 1 : * : 0 : 0 : - : - : - ;' 'dts_id?'
says '!os_rev[?] 0 : Linux* ;' 'os_rev?'
says '!status[?] 0 : 0x00000001 ;' 'status?'

# ---- setup01: fb_mode=vdif,..., fb_mode, fb_config ----
says '!mode= 0 ;' 'mode = VDIF_8000-64-1-2 ; '
says '!mtu= 0 ;' 'mtu = 9000 ; '
says '!net_protocol= 0 ;' 'net_protocol = udpsnor : 32000000 : 256000000 : 4 ;'
says '!record= 0 ;' 'record = nthread : : 2 ;'
says '!mode[?] 0 : VDIF_8000-64-1-2 : VDIF : 2 : 32000000.000 : 8000 ;' 'mode?'
says "!net_port= 0 ;" "net_port=$port"
says "!net_port[?] 0 : $port ;" 'net_port?'
says '!net_protocol[?] 0 : udpsnor : 32000000 : 256000000 : 4 ;' 'net_protocol?'
says '!record[?] 0 : 1 : 2 ;' 'record?nthread'
says '!datastream= 0 ;' 'datastream=clear'
says '!datastream= 0 ;' 'datastream=reset'

# ---- a scan: disk_record=on, disk_record ----
number=1
vdif='--format vdif --prefix 8 --payload 8032 --threads 0'
says '!record= 0 ;' 'record = on : r4123_wz_123-0456 ; '
# shellcheck disable=SC2086
scan_run r4123_wz_123-0456 $vdif
same payload "$(info r4123_wz_123-0456 .payload)" 8032

# ---- postob: scan_check, checkfb ----
says '!scan_check[?] 0 : [?] : r4123_wz_123-0456 : VDIF : 2 : *y*d*h*m*s : *s : 32Mbps : 0 : 8032 ;' \
	'scan_check?'
says '!mtu[?] 0 : 9000 ;' 'mtu?'
says '!rtime[?] 0 : *s : *GB : *% : VDIF : 2 : 0MHz : 64.256Mbps ;' 'rtime?'
says '!dir_info[?] 0 : 1 : * : * ;' 'dir_info?'

# ---- the same label again, at once; and one with a '.' ----
number=2
says '!record= 0 : r4123_wz_123-0456a ;' 'record = on : r4123_wz_123-0456 ; '
# shellcheck disable=SC2086
scan_run r4123_wz_123-0456a $vdif
number=3
says '!record= 0 : r4123_wz_a-b ;' 'record = on : r4123_wz_a.b ; '
# shellcheck disable=SC2086
scan_run r4123_wz_a-b $vdif

# ---- Mark5B, on another port ----
number=4
port=$((port + 1))
says '!mode= 0 ;' 'mode = mark5b-64-4-2 ; '
says '!mtu= 0 ;' 'mtu = 6000 ; '
says '!net_protocol= 0 ;' 'net_protocol = udpsnor : 32000000 : 256000000 : 4 ;'
says '!net_port= 0 ;' "net_port=127.0.0.1@$port"
says '!record= 0 ;' 'record = on : r4123_wz_m5b ; '
scan_run r4123_wz_m5b --format mark5b --prefix 8 --payload 5008
same format "$(info r4123_wz_m5b .format)" mark5b
says '!scan_check[?] 0 : [?] : r4123_wz_m5b : Mark5B : 8 : *s : 8Mbps : 0 ;' \
	'scan_check?'

# ---- what the session did not end by itself ----
says '!record= 0 ;' 'record=on:r4123_wz_stopped'
spate stop r4123_wz_stopped
says '!status[?] 0 : 0x00000003 : 4 : r4123_wz_stopped was stopped* ;' 'status?'
says '!error[?] 0 : 4 : r4123_wz_stopped was stopped*;' 'error?'
says '!status[?] 0 : 0x00000001 ;' 'status?'
says '!record= 6 : Not doing record ;' 'record=off'

# ---- and back to the configuration ----
says '!mode= 0 ;' 'mode=none'
says '!net_port= 0 ;' 'net_port=0'
port=$((port - 1))
number=6
says '!record= 0 ;' 'record=on:r4123_wz_conf'
scan_run r4123_wz_conf --format vdif --prefix 8 --payload 1032 --threads 0 \
	--fps 1000
same payload "$(info r4123_wz_conf .payload)" 1032
says '!scan_set= 0 ;' 'scan_set=m5b'
says '!scan_set[?] 0 : 4 : r4123_wz_m5b : 0 : *[1-9]* ;' 'scan_set?'
spated_stop

# ---- a scan of another day: from its disks ----
spated_start
vsi_open
known()
{
	[[ $(ask 'scan_set=r4123_wz_m5b') == '!scan_set= 0 ;' ]]
}
read_in()
{
	[[ $(ask 'scan_check?') != '!scan_check? 5 :'* ]]
}
wait_for 30 known
wait_for 30 read_in
says '!scan_check[?] 0 : [?] : r4123_wz_m5b : Mark5B :  : *s : *Mbps : 0 ;' \
	'scan_check?'
spated_stop
