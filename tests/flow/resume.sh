# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   gen --> spated, killed
#   gen --> spated record --resume  -->  one recording, with a run for each
#
# A daemon that was killed goes on with the same recording: in each layout,
# with what the dead one wrote and did not index, with a disk that is away and
# one that is new, and more than once.
. "${BASH_SOURCE%/*}/break.sh"

payload=1024
block=256 # packets
disks_make 3
settings+=('durable = "1h";') # nothing is indexed but at the end
age='max_age = "500ms";' # of a block that gets no more packets

stream()
{
	conf_write "$(raw_stream "layout = \"$1\"; $age")"
}

bytes_are()
{
	[ "$(info "$1" .bytes)" -ge "$2" ]
}

# Whole blocks.
feed()
{
	local name=$1 part=$2 packets=$3

	gen --format raw --sequence le64@0 --payload $payload --rate 100Mbps \
		--packets "$packets" --dump "$work/ideal.$name.$part"
	fed=$((${fed:-0} + packets))
}

# The last blocks are closed by their age.
written()
{
	wait_for 30 bytes_are "$1" $((fed * payload))
}

resume()
{
	spate record "$1" --stream s --resume "${@:2}" >"$work/said" 2>&1
}

# What was written before stands as it was, whatever came behind it.  Where all
# blocks share a file, zeros up to the end of a page may be behind the last one.
keep()
{
	rm -rf "$work/was"
	mkdir "$work/was"
	cp -a "${disks[@]}" "$work/was"
}

kept()
{
	local was now bytes

	while read -r was; do
		now=$work/${was#"$work/was/"}
		bytes=$(stat -c %s "$was")
		cmp -n "$bytes" -l "$now" "$was" >"$work/differ" || true
		[ "$(stat -c %s "$now")" -gt $((bytes - 4096)) ] ||
			fail "$now was cut"
		! awk -v page=$((bytes - 4096)) '$1 <= page || $3 != 0' \
			"$work/differ" | grep -q . ||
			fail "$now was written over"
	done < <(find "$work/was" -type f -path "*$1*")
}

# The index has nothing, and yet all comes back.
quiet()
{
	local name=quiet_$1 at

	fed=0
	stream "$1"
	spated_start
	spate record "$name" --stream s --quiet
	feed "$name" 1 $((20 * block))
	written "$name"
	spated_kill
	keep
	spated_start
	at=$(date +%s)
	resume "$name"
	same "state of $name" "$(info "$name" .state)" recording
	same "packets that $name has again" "$(info "$name" .packets)" \
		$((20 * block))
	feed "$name" 2 $((10 * block))
	written "$name"
	sums "$name"
	spated_kill
	spated_start
	resume "$name"
	feed "$name" 3 $((10 * block + 7))
	wait_for 30 came "$name" $fed
	spate stop "$name" >/dev/null
	sums "$name"
	kept "$name"
	same "packets of $name" "$(info "$name" .packets)" $((40 * block + 7))
	same "packets of the stream since this spated was started" \
		"$(spate streams --json | jq .packets,.datagrams | xargs)" \
		"$((10 * block + 7)) $((10 * block + 7))"
	same "lost" "$(info "$name" .packets_lost)" 0
	same "absent" "$(info "$name" .absent)" 0
	same "runs" "$(info "$name" '[.runs[].run] | join(",")')" 0,1,2
	same "times" "$(info "$name" '.resumed | length')" 2
	within "resumed at" $((at - 60)) "$(date -d \
		"$(info "$name" '.resumed[0].resumed')" +%s)" $((at + 60))
	disks_agree "$name"
	same "what the disks tell of it" \
		"$(info_disks "$name" | jq -c '[.state, .absent, .runs, .resumed]')" \
		"$(spate info "$name" --json | jq -c '[.state, .absent, .runs, .resumed]')"
	cat "$work/ideal.$name".? >"$work/ideal"
	exported "$name" "$work/ideal"
	spate info "$name" | grep -q '^  resumed' || fail "info does not tell"
	spate check "$name" >"$work/said" 2>&1 ||
		fail "check: $(cat "$work/said")"
	spate ls | grep -q "$name .*complete" || fail "$(spate ls)"
	"$SPATE" recover "$name" --disks "$(disks_list)" >"$work/said"
	! grep -q "indexed again\|closed the index" "$work/said" ||
		fail "recover: $(cat "$work/said")"
	resume "$name" && fail "a complete one went on"
	grep -q "it is complete" "$work/said" || fail "$(cat "$work/said")"
	spated_stop
}

quiet vbs
quiet file
quiet mark6

# ---- many substreams, heaps and cubes -----------------------------------

ports=4
port_find $ports

send_ports()
{
	"$SPATE" gen --to "udp://127.0.0.1:$port-$((port + ports - 1))" \
		--rate 100Mbps --dump "$work/sent$part" --json "$@" \
		>"$work/gen.json"
	part=$((part + 1))
}

ports_go_on()
{
	local part=1 name=$1 i before

	rm -f "$work"/sent*
	conf_write "$(printf '\ts : { listen = [ "127.0.0.1:%s-%s" ]; blocks = 40; %s %s };' \
		"$port" "$((port + ports - 1))" "$age" "$2")"
	shift 2
	spated_start
	spate record "$name" --stream s --quiet
	send_ports "$@"
	wait_for 60 bytes_are "$name" "$(cat "$work"/sent?.? | wc -c)"
	told=$(info "$name" '[.descriptors, .controls] | @csv')
	spated_kill
	spated_start
	resume "$name"
	same "told of $name" "$(info "$name" '[.descriptors, .controls] | @csv')" \
		"$told"
	before=$(info "$name" .datagrams)
	send_ports "$@"
	wait_for 60 came "$name" $((before + $(jq -s 'map(.sent) | add' "$work/gen.json")))
	spate stop "$name" >/dev/null
	same "runs" "$(info "$name" '[.runs[].run] | sort | @csv')" \
		0,0,0,0,1,1,1,1
	same "lost" "$(info "$name" '[.subs[].packets_lost] | @csv')" 0,0,0,0
	sums "$name"
	spate verify "$name" --quiet
	spate check "$name" >"$work/said" || fail "check: $(cat "$work/said")"
	for key in .packets .packets_lost .bytes \
		'.runs | map(del(.last)) | sort_by(.sub, .run)' .controls .descriptors \
		.absent .resumed '[.subs[] | .packets, .datagrams, .bytes]'; do
		same "$key of $name" "$(spate info "$name" --json | jq -c "$key")" \
			"$(info_disks "$name" | jq -c "$key")"
	done
	for ((i = 0; i < ports; i++)); do
		spate export "$name" "$work/one" --sub "$i" --quiet --force
		cat "$work"/sent1."$i" "$work"/sent2."$i" | cmp - "$work/one"
	done
	spated_stop
	rm -r "$work"/disk?/*
}

ports_go_on ports 'format = "vdif"; prefix = 8; payload = 1032; block = "512K";' \
	--format vdif --prefix 8 --payload 1032 --packets 1500
ports_go_on rows 'format = "spead"; block = "512K";' \
	--format spead --heaps 10 --heap-bytes 200000 --packet 8972
ports_go_on cubes 'format = "spead"; store = "cube"; item = 0x600A;
	payload = 70001; block = "512K";' --format spead --heap-bytes 70001 \
	--packet 8972 -o store=cube -o item=0x600A --heaps 20
port_find

# ---- one stream that is split --------------------------------------------

conf_write "$(stream_text 'format = "vdif"; fps = 4000; split = "thread";
	threads = [ 0, 3 ]; '"$age")"
split()
{
	gen --format vdif --prefix 0 --fps 4000 --threads 0,3 --rate 100Mbps \
		--packets 1024
	wait_for 30 bytes_are parts_ds0 $((8032 * 512 * $1))
	wait_for 30 bytes_are parts_ds3 $((8032 * 512 * $1))
}

spated_start
spate record parts --stream s --quiet
split 1
spated_kill
spated_start
resume parts
split 2
spate stop parts >/dev/null
for key in 0 3; do
	same "packets of $key" "$(info parts_ds$key .packets)" 1024
	same "runs of $key" "$(info parts_ds$key '.runs | length')" 2
	spate verify parts_ds$key --quiet
done
spated_stop

# ---- in mid-traffic -------------------------------------------------------

settings[-1]='durable = "200ms";'
stream vbs
spated_start
spate record loud --stream s --quiet
at_end 'kill $sender 2>/dev/null'
"$SPATE" gen --to "udp://127.0.0.1:$port" --format raw --sequence le64@0 \
	--payload $payload --rate 160Mbps --packets 30000 --quiet \
	--dump "$work/ideal" &
sender=$!
wait_for 30 bytes_are loud $((24 * block * payload))
spated_kill
wait $sender
# As if the power had failed while this was written.
printf 'half a record' >>"$work/disk1/loud/loud.index"
printf 'half a sum' >>"$work/disk0/loud/loud.sums"
printf '{"run":{"num' >>"$work/disk2/loud/loud.meta.jsonl"
# And a chunk of which only the beginning is there.
highest=$(cd "$work" && ls disk?/loud/loud.0* | sed 's/.*\.//' | sort -n | tail -1)
torn=$(printf 'loud.%08d' $((10#$highest + 1)))
head -c 100000 "$work/ideal" >"$work/disk1/loud/$torn"
keep
rm "$work"/was/disk?/loud/*.{index,sums,jsonl}
before=$(info_disks loud | jq .packets)
spated_start
resume loud
again=$(info loud .packets)
[ "$again" -ge "$before" ] || fail "what was there is gone"
gen --format raw --sequence le64@0 --payload $payload --rate 100Mbps \
	--packets 5000 --dump "$work/ideal2"
wait_for 30 came loud $((again + 5000))
spate stop loud >/dev/null
kept loud
same "runs" "$(info loud '[.runs[].run] | @csv')" 0,1
same "packets of the second" "$(info loud '.runs[1].packets')" 5000
same "lost between" "$(info loud .packets_lost)" \
	"$(info loud '[.runs[].packets_lost] | add')"
within "absent" 1 "$(info loud .absent)" 64
disks_agree loud
refused "spate recover loud finds" "$SPATE" --socket "$socket" export loud \
	"$work/exported" --quiet
tail -c $((5000 * payload)) "$work/exported" | cmp - "$work/ideal2"
refused "on none of the disks" "$SPATE" --socket "$socket" verify loud
grep -q "spate recover loud mends" "$work/refused" || fail "$(cat "$work/refused")"
"$SPATE" recover loud --disks "$(disks_list)" >"$work/said"
grep -q "indexed again" "$work/said" || fail "$(cat "$work/said")"
rm "$work/exported"
# A block that no disk had begun when the power failed is away for good.
away=$(info_disks loud | jq .absent)
if [ "$away" -eq 0 ]; then
	spate export loud "$work/exported" --quiet
else
	refused "spate verify loud names" "$SPATE" --socket "$socket" \
		export loud "$work/exported" --quiet
fi
tail -c $((5000 * payload)) "$work/exported" | cmp - "$work/ideal2"
first=$(info_disks loud | jq '.runs[0].packets + .runs[0].packets_lost')
head -c $((first * payload)) "$work/exported" >"$work/first"
[ "$(differ "$work/first" "$work/ideal" $payload)" -le \
	$(($(info_disks loud | jq .packets_lost) + 100000 / payload +
		away * block)) ] ||
	fail "the first run is not what was sent"

# What recover cannot give back, nobody is sent to it for.
rm "$(find "$work"/disk?/loud -name 'loud.00000003')"
"$SPATE" recover loud --disks "$(disks_list)" >"$work/said"
refused "spate export fills" "$SPATE" --socket "$socket" verify loud
! grep -q "spate recover" "$work/refused" || fail "$(cat "$work/refused")"
refused "spate verify loud names" "$SPATE" --socket "$socket" export loud \
	"$work/exported" --quiet --force
spated_stop
