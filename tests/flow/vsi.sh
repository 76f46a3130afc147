# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
#
# What the vsi_*.sh tests share, on top of functions.sh: a spated that listens
# for VSI-S, and somebody who talks to it all the time.
#
#   vsi_conf GROUPS [ALLOW [STREAMS]]
#                             writes $conf; commands come in on $vsi_port
#                             $vsi_more stands in the group `vsi`, too
#   vsi_open [HOST]           connects, again
#   ask COMMAND               the reply to a command
#   says REPLY COMMAND        fails unless the reply is that, a pattern of bash

# shellcheck source=tests/flow/functions.sh
. "${BASH_SOURCE%/*}/functions.sh"
need python3

here=$top_srcdir/tests/flow

# A TCP port that nobody listens on.
vsi_port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')

vsi_conf()
{
	settings+=("vsi : { listen = [ \"127.0.0.1:$vsi_port\",
		\"[::1]:$vsi_port\" ]; allow = [ ${2:-\"127.0.0.1\", \"::1\"} ];
		streams = [ ${3:-\"s\"} ]; ${vsi_more:-} };")
	conf_write "$1"
}

vsi_open()
{
	if [ -n "${vsi_pid:-}" ]; then
		kill "$vsi_pid" 2>/dev/null || true
		wait "$vsi_pid" 2>/dev/null || true
	fi
	coproc vsi { exec python3 "$here/vsi_fs.py" "$vsi_port" "$@"; }
	vsi_pid=${vsi_PID:?}
	at_end 'kill $vsi_pid 2>/dev/null'
}

ask()
{
	local reply

	printf '%s\n' "$1" >&"${vsi[1]}"
	read -r -t 60 reply <&"${vsi[0]}" || fail "no reply to '$1'"
	printf '%s\n' "$reply"
}

says()
{
	local reply

	reply=$(ask "$2")
	# shellcheck disable=SC2053
	[[ $reply == $1 ]] || fail "'$2' was answered '$reply', expected '$1'"
}
