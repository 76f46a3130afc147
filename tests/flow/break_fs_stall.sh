# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   packets --> spated --> a (xfs), which is frozen while the scan ends
#
# At the end: one that is frozen, with memory for what comes meanwhile.
#
# The memory fills, and what comes then is dropped: nothing behind it reaches
# the disk, so no index can tell.  It is told all the same: by the log while it
# happens, and then by whoever is asked, with the same number.
#
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks xfs
need xfs_freeze

vsi_port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')

ask()
{
	local reply

	printf '%s\n' "$1" >&"$vsi"
	read -r -t 60 reply <&"$vsi" || fail "no reply to '$1'"
	printf '%s\n' "$reply"
}

freeze()
{
	at_end "xfs_freeze -u '$mnt/a' 2>/dev/null"
	xfs_freeze -f "$mnt/a"
}

all_durable()
{
	[ "$(info_disks "$1" | jq .packets)" -ge "$2" ]
}

warned()
{
	grep -q "$1: [0-9]* packets were dropped (no_buffer)" "$log"
}

state_is()
{
	[ "$(info "$1" .state)" = "$2" ]
}

# NAME KEY: what each of them says of it.
everywhere()
{
	spate info "$1" --json | jq -r ".$2"
	spate info "$1" --json | jq "[.subs[].$2] | add"
	spate info "$1" --json | jq "[.runs[].$2] | add"
	info_disks "$1" | jq ".$2"
	info_disks "$1" | jq "[.subs[].$2] | add"
	info_disks "$1" | jq "[.runs[].$2] | add"
	spate ls "$1" --json | jq ".$2"
	"$SPATE" ls "$1" --json --disks "$(disks_list)" | jq ".$2"
	{ spate check "$1" --json || true; } | jq ".$2"
	jq -r "select(.end).end.$2" "$(printf '%s\n' \
		"${disks[@]/%//$1/$1.meta.jsonl}" | head -n 1)"
}

# NAME LOST
lost_is()
{
	same "packets lost of $1, as everybody says" \
		"$(everywhere "$1" packets_lost | sort -u)" "$2"
	same "all of $1" "$(info "$1" '.packets + .packets_lost')" "$sent"
	same "its loss over time" \
		"$(info_disks "$1" | jq '[.loss_map[].packets_lost] | add')" "$2"
}

disk_mount a 320M xfs
disks=("$mnt/a")
settings=('memory = "4M";' 'reserve = "1M";' 'durable = "200ms";'
	"vsi : { listen = [ \"127.0.0.1:$vsi_port\" ]; streams = [ \"s\" ]; };")
conf_write "$(raw_stream 'blocks = 12;')"
spated_start
exec {vsi}<>"/dev/tcp/127.0.0.1/$vsi_port"

# One that begins while the disk is well, as a Field System has it.
[[ $(ask 'record=on:scan;') == '!record= '[01]' ;' ]] || fail "record=on"
sent=0
send good:0:4000
wait_for 30 came scan 4000
send good:4000:2000
wait_for 30 all_durable scan 4000
freeze
send good:6000:1000
nap 1.5
send good:7000:19000
wait_for 30 came scan "$sent"
wait_for 30 warned scan
[ "$(info scan .drops.no_buffer)" -gt 10000 ] || fail "memory took it all"
[ "$(info scan .packets_lost)" -gt 9000 ] || fail "a live recording says: none"
refused "were lost" spate check scan
xfs_freeze -u "$mnt/a"
ask 'record=off;' >/dev/null
wait_for 30 state_is scan complete
sums scan
lost=$(info scan .drops.no_buffer)
same "other drops" "$(info scan '.drops | add')" "$lost"
lost_is scan "$lost"
all_caused scan
[[ " $causes " == *" stalled "* ]] || fail "the causes are: $causes"
same "the disk that stalled" "$(info scan '[.no_buffer_causes[] |
	select(.cause == "stalled") | .disk] | unique | join(" ")')" "${disks[0]}"
spate info scan | grep -q "no_buffer *[0-9]* when ${disks[0]} did not answer for up to" ||
	fail "$(spate info scan)"
refused "were lost, more than max_loss = 1 %; dropped here: $lost no_buffer" \
	spate check scan
spate check scan --max-loss 1 >/dev/null
spate verify scan >/dev/null
[[ $(ask 'evlbi?') == *" loss : $lost ("*([ ])[1-9]*%")"* ]] ||
	fail "evlbi? says $(ask 'evlbi?')"
[[ $(ask 'scan_check?') == *" : $((lost * 1024)) "* ]] ||
	fail "scan_check? says $(ask 'scan_check?')"
[ "$(grep -c 'dropped (no_buffer)' "$log")" -le 30 ] || fail "it floods the log"
grep -q 'scan: recorded .* lost' "$log"

spated_stop

# Heaps and cubes, several ports, packets without a number: all at once, in
# recordings of one name.
port_find 6
settings=('memory = "16M";' 'reserve = "1M";' 'durable = "200ms";')
small='block = "256K"; blocks = 12;'
listen()
{
	printf 'listen = [ "127.0.0.1:%s" ]; %s' "$1" "$small"
}
conf_write "
	rows : { $(listen "$port") format = \"spead\"; };
	cubes : { $(listen $((port + 1))) format = \"spead\"; store = \"cube\";
		item = 0x600A; payload = 20000; };
	ports : { $(listen "$((port + 2))-$((port + 4))") format = \"raw\";
		sequence = \"le64@0\"; prefix = 8; payload = 1024; };
	plain : { $(listen $((port + 5))) format = \"raw\"; payload = 1024;
		sequence = \"arrival\"; prefix = 0; };"
spated_start
spate record many --stream rows,cubes,ports,plain --quiet >&2
gen_to()
{
	local name=$1 to=$2
	shift 2

	"$SPATE" gen --to "udp://127.0.0.1:$to" --rate 30Mbps --for 3s --json \
		"$@" >"$work/$name.gen" &
	gens+=($!)
	at_end "kill $! 2>/dev/null"
}
gens=()
heaps=(--format spead --packet 1472 --heap-bytes 20000)
gen_to rows "$port" "${heaps[@]}"
gen_to cubes $((port + 1)) "${heaps[@]}"
gen_to ports "$((port + 2))-$((port + 4))" --format raw --payload 1024 \
	--sequence le64@0
gen_to plain $((port + 5)) --format raw --payload 1024 --prefix 0
for name in rows cubes ports plain; do
	wait_for 30 all_durable "many_ds$name" 1
done
freeze
wait "${gens[@]}"
sleep 0.5
[ "$(info many_dsrows .packets_lost)" -gt 0 ] || fail "rows say nothing yet"
xfs_freeze -u "$mnt/a"
spate stop many >/dev/null
for name in rows cubes ports plain; do
	part=many_ds$name
	sums "$part"
	[ "$(info "$part" .drops.no_buffer)" -gt 0 ] || fail "$part: no stall"
	lost=$(info "$part" .packets_lost)
	same "packets lost of $part, as everybody says" \
		"$(everywhere "$part" packets_lost | sort -u)" "$lost"
	within "all of $part" \
		"$(info "$part" '.datagrams - .drops.unstored')" \
		"$(info "$part" '.packets + .packets_lost')" \
		"$(jq .sent "$work/$name.gen")"
	refused "were lost, more than max_loss" spate check "$part"
done
spate info many | grep "^many: 4 streams, .* lost $(spate info many --json |
	jq -s 'map(.packets_lost) | add') of" >&2 || fail "$(spate info many)"
spated_stop

# With memory that nobody else has a right to, a disk may stop for two seconds,
# although the recording has a right to 3 MiB alone.
settings=('memory = "128M";' 'reserve = "1M";')
conf_write "$(raw_stream 'blocks = 12;')"
spated_start
begin pause
send good:0:2000
wait_for 30 came pause 2000
freeze
send good:2000:60000
wait_for 60 came pause 62000
sleep 2
within "blocks of memory" 200 "$(info pause .blocks.total)" 512
within "bytes that are lent" 50000000 "$(spate status --json | jq .memory.lent)" \
	134217728
xfs_freeze -u "$mnt/a"
end pause
same "packets of pause" "$(info pause .packets)" 62000
same "drops of pause" "$(info pause '[.drops[], .overruns] | add')" 0
spate verify pause >/dev/null
spated_stop
