# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/vsi.sh
#
#   m5copy --VSI-S--> spated A --bytes over TCP--> spated B <--VSI-S-- m5copy
#
# Copies as m5copy orders them, to the letter (vsi_m5copy.py), while the
# station's own recording goes on beside them.
. "${BASH_SOURCE%/*}/vsi.sh"

port_find 4
data_port=$((port + 1))
disks_make 2
settings=('memory = "256M";' 'reserve = "1M";')
vsi_more='version = "jive5ab 3.1.0";'
vsi_conf "$(stream_text 'format = "vdif"; prefix = 8; payload = 1032;
	fps = 1000; threads = [ 0 ]; blocks = 40;')"
spated_start
vsi_open

m5copy()
{
	timeout 120 python3 "$here/vsi_m5copy.py" "$@" || fail "m5copy $1"
}

complete()
{
	[ "$(info "$1" .state)" = complete ]
}

says '!version[?] 0 : jive5ab : 3.1.0 : 64bit : Release : *' 'version?'

# ---- the station records; a runtime of somebody else changes nothing ----
says '!record= 0 ;' 'record=on:station'
m5copy runtimes "$vsi_port" "$data_port" station
says '!net_protocol[?] 0 : udps : *' 'net_protocol?'

# ---- file:// to vbs:// ----
head -c $((8032 * 500)) /dev/urandom >"$work/file"
m5copy record "$vsi_port" "$data_port" copied "$work/file"
wait_for 30 complete copied
spate export copied "$work/exported"
cmp "$work/exported" "$work/file"

says '!record[?] 0 : on : 1 : station : *' 'record?'
says '!record= 1 ;' 'record=off'
spated_stop
