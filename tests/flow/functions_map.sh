# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154,SC2034
#
# What tests of live reading by memory share, behind functions.sh.
#
#   client ARGS           map_client.py, talking to $map_socket, which is that
#                         of the daemon unless it is set
#   follow NAME           one that follows NAME until it has ended; it is mapped
#                         when this returns
#   followed NAME LEAST DISK...
#                         waits until that; fails unless at least so many
#                         blocks were seen in memory, and all that was seen is
#                         what the disks have; it is in $work/joined, the rest
#                         from disks
#   did NAME KEY          what it said, as .seen

need python3
declare -A followers
map_socket=

client()
{
	timeout 100 python3 "$top_srcdir/tests/flow/map_client.py" \
		"${map_socket:-$socket}" "$@"
}

follow()
{
	rm -rf "$work/of.$1" "$work/ready.$1"
	mkdir "$work/of.$1"
	client follow "$1" "$work/of.$1" "$work/ready.$1" >"$work/did.$1" &
	at_end "kill $! 2>/dev/null"
	followers[$1]=$!
	wait_for 20 test -e "$work/ready.$1"
}

did()
{
	jq -c "$2" "$work/did.$1"
}

followed()
{
	wait "${followers[$1]}"
	[ "$(did "$1" .seen)" -ge "$2" ] ||
		fail "too few blocks of $1 were in memory: $(cat "$work/did.$1")"
	same "lost of $1" "$(did "$1" .lost)" '[]'
	client same "$1" "$work/of.$1" "${@:3}" "$work/joined"
}
