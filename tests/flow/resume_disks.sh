# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   gen --> spated --> disk0, disk1, disk2; killed
#   gen --> spated --> disk0,        disk2, disk3    one was away, one is new
#                      disk1 comes back meanwhile, or after the end
. "${BASH_SOURCE%/*}/break.sh"

payload=1024
block=256 # packets
disks_make 4
settings+=('durable = "1h";')
conf_write "$(raw_stream)"

bytes_are()
{
	[ "$(info "$1" .bytes)" -ge "$2" ]
}

packets_are()
{
	[ "$(info "$1" .packets)" -ge "$2" ]
}

feed()
{
	gen --format raw --sequence le64@0 --payload $payload --rate 100Mbps \
		--packets "$2" --dump "$work/ideal.$1.$3"
}

disk_takes()
{
	[[ $(spate disks --json | jq -r "select(.path == \"${disks[$1]}\") |
		.state") =~ idle|writing ]]
}

# It is on three disks, the last numbers on the one that will be away, and
# the fourth knows nothing of it.
cut_short()
{
	local name=$1

	mv "${disks[3]}" "$work/away3"
	spated_start
	wait_for 60 disk_takes 0
	spate record "$name" --stream s --quiet
	feed "$name" $((24 * block)) 1
	wait_for 30 bytes_are "$name" $((24 * block * payload))
	spated_kill
	mv "$work/away3" "${disks[3]}"
	[ -d "${disks[1]}/$name" ] || fail "disk1 has nothing"
	mv "${disks[1]}" "$work/away1"
	was=$(find "$work/away1/$name" -name "$name.[0-9]*" | wc -l)
}

all_there()
{
	local name=$1

	same "packets of $name" "$(info_disks "$name" | jq .packets)" \
		$((44 * block))
	same "lost" "$(info_disks "$name" | jq .packets_lost)" 0
	same "absent" "$(info_disks "$name" | jq .absent)" 0
	rm -f "$work/exported"
	"$SPATE" export "$name" "$work/exported" --quiet --disks "$(disks_list)"
	cat "$work/ideal.$name".? | cmp - "$work/exported"
	"$SPATE" verify "$name" --quiet --disks "$(disks_list)"
}

# It is away until the recording has ended: recover gives it its end, and its
# blocks their records.
cut_short after
spated_start
spate record after --stream s --resume --quiet
feed after $((20 * block)) 2
wait_for 30 packets_are after $(((44 - was) * block))
spate stop after >/dev/null
# The highest numbers may be on it: nobody knows of those.
within "absent" $((was - 4)) "$(info_disks after | jq .absent)" "$was"
same "packets" "$(info_disks after | jq .packets)" $(((44 - was) * block))
grep -q "not all of its disks are" "$log" || fail "the log does not tell"
[ -d "${disks[3]}/after" ] || fail "the new disk takes no part"
spated_stop
mv "$work/away1" "${disks[1]}"
"$SPATE" recover after --disks "$(disks_list)" >"$work/said"
all_there after

# It comes back while the recording goes on.
cut_short meanwhile
spated_start
spate record meanwhile --stream s --resume --quiet
feed meanwhile $((10 * block)) 2
mv "$work/away1" "${disks[1]}"
wait_for 60 disk_takes 1
feed meanwhile $((10 * block)) 3
wait_for 30 packets_are meanwhile $((44 * block))
spate stop meanwhile >/dev/null
sums meanwhile
disks_agree meanwhile
same "absent" "$(info meanwhile .absent)" 0
spate ls meanwhile | grep -q complete || fail "$(spate ls meanwhile)"
spated_stop
all_there meanwhile
