# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# What is chosen, with real disks:
#
#   mnt/a, b, c   ext4 of 16, 32 and 64 MiB,    end full together; nothing is
#                 c 9/10 full, a and b fresh    lost before the last is full
#   disk0, 1, 2   folders                       take turns
#   disk1         then writes 5 MB/s            sits on the bench
#   disk3 to 6    write 4, 8, 16, 32 MB/s       take as much as they can
#
. "${BASH_SOURCE%/*}/break.sh"
# shellcheck source=tests/flow/functions_disks.sh
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks
test_plugins

# ---- mixed sizes ---------------------------------------------------------

disk_mount a 16M ext4
disk_mount b 32M ext4
disk_mount c 64M ext4
fallocate -l $(($(df -B 1 --output=avail "$mnt/c" | tail -n 1) * 9 / 10)) "$mnt/c/old"
disks=("$mnt/a" "$mnt/b" "$mnt/c")
settings=('memory = "64M";' 'reserve = "2M";')
conf_write "$(raw_stream)"
# Packets that the disks have room for, above the reserve.
room=$(df -B 1024 --output=avail "${disks[@]}" |
	awk 'NR > 1 { n += $1 - 2048 } END { print n }')
spated_start

all_full()
{
	[ "$(spate disks --json |
		jq -s 'map(select(.state == "full")) | length')" -eq 3 ]
}

all_work()
{
	[ "$(spate disks --json | jq -s 'map(select(.writer)) | length')" -eq 3 ]
}
wait_for 10 all_work

# When the first one is full, so are the others, nearly.
begin mixed
n=0
first=
until all_full; do
	# Far from full, one step need not be small.
	step=$((n + 8000 < 70 * room / 100 ? 8000 : 2000))
	send good:$n:$step
	n=$((n + step))
	wait_for 60 came mixed $n
	[ $n -lt 200000 ] || fail "they are never full"
	[ -z "$first" ] || continue
	! spate disks --json | grep -q '"state":"full"' || first=$n
done
first=${first:-$n} # all of them at once
within "what came until the first was full, of all that was taken" \
	$((85 * $(info mixed .packets) / 100)) "$first" 200000
spate stop mixed >/dev/null
same "state" "$(info mixed .state)" failed
same "why" "$(info mixed .why)" "no disk is left"
for i in a b c; do
	same "state of $i" "$(of_disk "$mnt/$i" .state)" full
done
grep -q "$mnt/a: cannot write a chunk: no space above the reserve" "$log"

# All packets until then are there, in one piece.
within "packets that are there" $((92 * room / 100)) "$(info mixed .packets)" "$room"
spate export mixed "$work/exported" --quiet
ideal "$work/ideal" good:0:$n
there=$({ cmp "$work/exported" "$work/ideal" || true; } 2>&1 |
	sed 's/.*byte \([0-9]*\),.*/\1/')
within "packets in one piece" $(($(info mixed .packets) - 1024)) \
	$((there / 1024)) "$room"
rm "$work/exported" "$work/ideal"
spated_stop

# ---- equal disks ----------------------------------------------------------

disks=()
disks_make 3
settings=('memory = "400M";' 'reserve = "1M";')
conf_write "$(raw_stream)"
spated_start
wait_for 10 all_work
begin turns
send good:0:15360
end turns
# Now and then the others are busy: this machine has more to do.
again=0
for ((i = 1; i < 60; i++)); do
	now=$(echo "$work"/disk?/turns/turns.$(printf %08u "$i"))
	before=$(echo "$work"/disk?/turns/turns.$(printf %08u $((i - 1))))
	[ "${now%/turns/*}" != "${before%/turns/*}" ] || again=$((again + 1))
done
within "blocks that went where the one before went" 0 $again 10
for i in 0 1 2; do
	within "blocks of disk$i" 13 \
		"$(info turns ".disks[$i].chunks")" 27
done
spated_stop

# ---- and a slow one --------------------------------------------------------

settings+=('writer = "slow";' "slow_disk = \"${disks[1]}/\";"
	'slow_rate = "5M";')
conf_write "$(raw_stream 'block = "8M"; blocks = 10;')"
spated_start
wait_for 10 all_work
begin slow
begun=$SECONDS
send good:0:75000
wait_for 30 came slow 75000
is_slow()
{
	[ "$(of_disk "${disks[1]}" .state)" = slow ]
}
wait_for 20 is_slow
# Not the last one, which may be the short one of the end.
[ "$(of_disk "${disks[1]}" '.latency_p99_ms | round')" -ge 1000 ]
send good:75000:50000
end slow
tries=$(((SECONDS - begun) / 10 + 1)) # one every ten seconds
same "drops" "$(info slow '.drops | add')" 0
grep -q "${disks[1]}: slow: .* took 1" "$log"
within "blocks that it got, of 16" 1 \
	"$(info slow ".disks[] | select(.path == \"${disks[1]}\") | .chunks")" \
	$((2 + tries))
spated_stop

# ---- four speeds -----------------------------------------------------------

# All together they take 60 MB/s; the memory is good for less than a second of
# the rate, so nothing is left to the slow ones.
disks_make 4
disks=("${disks[@]: -4}")
i=3
rates=
for rate in 4 8 16 32; do
	rates+="disk$((i++))/=${rate}000000 "
done
settings=('memory = "40M";' 'reserve = "1M";' 'writer = "slow";'
	"slow_rates = \"$rates\";")
conf_write "$(raw_stream 'block = "512K"; blocks = 60;')"
spated_start
four_work()
{
	[ "$(spate disks --json | jq -s 'map(select(.writer)) | length')" -eq 4 ]
}
wait_for 10 four_work
begin speeds
"$SPATE" gen --to "udp://127.0.0.1:$port" --format raw --payload 1024 \
	--prefix 8 --sequence le64@0 --rate 320Mbps --for 8s --json >"$work/speeds"
sent=$(jq .sent "$work/speeds")
end speeds
spate info speeds >&2
same "packets" "$(info speeds .packets)" "$sent"
same "drops" "$(info speeds '[.drops[], .overruns] | add')" 0
before=0
for i in 3 4 5 6; do
	n=$(info speeds ".disks[] | select(.path == \"$work/disk$i\") | .chunks")
	[ "$n" -gt "$before" ] || fail "disk$i got $n chunks, the slower one $before"
	before=$n
done
spated_stop
