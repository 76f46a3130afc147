# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
#
# What the break_*.sh tests share, on top of functions.sh: a stream whose
# packets are easy to make by hand, and what must hold of every recording,
# whatever was done to it.
#
#   raw_stream KEYS       a stream `s` of 8 + 1024 bytes, in 100 blocks of
#                         256 KiB, so that a busy machine loses nothing
#   send STEPS            sends by break_send.py; the number is in $sent
#   ideal FILE STEPS      what an export must be
#   begin NAME            records stream s
#   end NAME              when all of $sent came, stops it
#   sums NAME             datagrams = packets + drops
#   disks_agree NAME      the disks tell the same as the daemon
#   exported NAME FILE    and verify finds nothing, and the export is that file
#   drop NAME KIND        how many packets were dropped as that
#   of_disk DISK KEY      of what `spate disks` says of that path, as .state; a
#                         DISK without a slash is below $mnt
#   state_of DISK         its state; nothing where there is no such disk
#   has_state DISK STATE...
#                         for wait_for: is it one of these?
#   chunks_of NAME DISK   how many chunks that disk got of the recording
#   no_copies NAME        fails where two disks have the same chunk
#   in_namespace          runs the test again in mount points of its own

# shellcheck source=tests/flow/functions.sh
. "${BASH_SOURCE%/*}/functions.sh"
need python3

here=$top_srcdir/tests/flow
sent=0

raw_stream()
{
	local keys='format = "raw"; sequence = "le64@0"; prefix = 8; payload = 1024;'

	[[ $* == *"blocks ="* ]] || keys+=' blocks = 100;'
	[[ $* == *"block ="* ]] || keys+=' block = "256K";'
	printf '\t%s : { listen = [ "127.0.0.1:%s" ]; %s %s };' \
		"${stream:-s}" "$port" "$keys" "$*"
}

send()
{
	local n

	n=$(python3 "$here/break_send.py" "$port" "$@")
	sent=$((sent + n))
}

ideal()
{
	local file=$1
	shift

	python3 "$here/break_send.py" ideal "$@" >"$file"
}

begin()
{
	sent=0
	spate record "$1" --stream "${2:-s}" --quiet >&2
}

# Loopback loses nothing on the way, so all of them come.
end()
{
	wait_for 30 came "$1" "$sent"
	spate stop "$1" >/dev/null
	same datagrams "$(info "$1" .datagrams)" "$sent"
	sums "$1"
}

sum_of()
{
	jq -r '.datagrams - .packets - (.drops | add // 0)'
}

info_disks()
{
	"$SPATE" info "$1" --json --disks "$(disks_list)"
}

sums()
{
	same "datagrams that are neither packets nor drops" \
		"$(spate info "$1" --json | sum_of)" 0
}

disks_agree()
{
	local facts='[.datagrams, .packets, .packets_lost, .bytes, .drops]'

	same "facts on the disks" "$(info_disks "$1" | jq -c "$facts")" \
		"$(spate info "$1" --json | jq -c "$facts")"
}

exported()
{
	disks_agree "$1"
	spate verify "$1" >"$work/verified" || { cat "$work/verified" >&2; fail "verify $1"; }
	spate export "$1" "$work/exported" --quiet
	cmp "$work/exported" "$2"
	rm "$work/exported"
}

drop()
{
	info "$1" ".drops.$2"
}

of_disk()
{
	local path=$1

	[[ $path == */* ]] || path=$mnt/$path
	spate disks --json | jq -r --arg path "$path" \
		"select(.path == \$path) | $2"
}

state_of()
{
	of_disk "$1" .state
}

has_state()
{
	[[ " ${*:2} " == *" $(state_of "$1") "* ]]
}

chunks_of()
{
	info "$1" "[.disks[] | select(.path == \"$2\") | .chunks] | add // 0"
}

no_copies()
{
	[ -z "$(find "${disks[@]}" -name "$1.[0-9]*" -printf '%f\n' | sort |
		uniq -d)" ]
}

in_namespace()
{
	[ -z "${BREAK_MOUNTS:-}" ] || return 0
	need_root "mount"
	BREAK_MOUNTS=1 unshare -m bash "$0" "$@" && exit 0
	exit $?
}
