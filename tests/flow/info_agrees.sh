# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# What the daemon says of a recording that has ended is what its disks say,
# key by key: for one port and several, packets with a time of their own and
# without, and heaps.
. "${BASH_SOURCE%/*}/functions.sh"

need jq
disks_make 2

# All that both can know; `id` is the daemon's alone.
told()
{
	spate info "$1" --json "${@:2}" | jq \
		'del(.id, .loss_strip, .made_by, .notes) | .runs |= sort_by(.sub, .run)'
}

sorted()
{
	jq -c '[tostream] | sort[]' "$1"
}

agree()
{
	local name=$1 ports=$2
	shift 2

	spate record "$name" --stream s
	"$SPATE" gen --to "udp://127.0.0.1:$port-$((port + ports - 1))" \
		--loss 0.01 --rate 50Mbps "$@" >/dev/null
	spate stop "$name" >/dev/null
	told "$name" >"$work/daemon"
	told "$name" --disks "$work/disk0:$work/disk1" >"$work/disks"
	diff <(sorted "$work/daemon") <(sorted "$work/disks") ||
		fail "the daemon and the disks do not agree on $name"
	[ "$(jq '.subs | length' "$work/daemon")" -eq "$ports" ] ||
		fail "$name has not $ports substreams"
	jq -e '.packets_lost > 0 and .datagrams == .packets +
	       ([.drops[]] | add) and .packets == ([.subs[].packets] | add) and
	       .bytes == ([.subs[].bytes] | add) and
	       .packets_lost == ([.subs[].packets_lost] | add)' \
		"$work/daemon" >/dev/null || fail "$name does not add up"
}

with()
{
	conf_write "	s : { listen = [ \"127.0.0.1:$port-$((port + $1 - 1))\" ];
	$2 };"
	spated_start
}

for ports in 1 3; do
	port_find $ports
	with $ports 'format = "spead"; block = "1M";'
	agree "heaps$ports" $ports --format spead --packet 1472 \
		--heap-bytes 100000 --heaps 20
	spated_stop
	with $ports 'format = "spead"; block = "1M"; store = "cube";
	item = 0x600A; payload = 100000;'
	agree "cubes$ports" $ports --format spead --packet 1472 \
		--heap-bytes 100000 --heaps 20
	spated_stop
	with $ports 'format = "vdif"; payload = 1032; fps = 1000;
	threads = [ 0 ]; block = "264192";'
	agree "frames$ports" $ports --format vdif --payload 1032 --prefix 0 \
		--fps 1000 --packets 2000
	spated_stop
done

# Without a daemon a disk has the same keys, null where nobody knows.
spated_start
diff <(spate disks --json | jq -c keys) \
	<(spate disks --json --disks "$work/disk0:$work/disk1" | jq -c keys) ||
	fail "disks has other keys without a daemon"
