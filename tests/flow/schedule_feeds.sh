# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   seconds    0    1    2    3    4
#   whole      |===================)
#   first      |=========)
#   second               |=========)        back to back with first
#   middle          |=========)             overlaps both by 1 s
#
# Scans of the same streams that overlap, or follow each other, share their
# sockets.  What arrived in `whole` is in exactly one of `first` and `second`;
# nothing is twice in one of them, and nothing is lost.  All kinds of streams.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_schedule.sh"

need python3
disks_make 2
kinds="raw ports split rows cube plain frames"
names="first second middle whole"
settings=('memory = "256M";' 'reserve = "1M";' 'receivers = 2;'
	"schedule = \"$folder\";")
mkdir -p "$folder"
port_find 10

# stream NAME LISTEN KEYS
stream()
{
	printf '\t%s : { listen = [ "127.0.0.1:%s" ]; block = "256K"; %s };\n' \
		"$@"
}

conf_write "$(
	stream raw "$port" 'format = "raw"; prefix = 8; payload = 1000;
		sequence = "le64@0"; socket_buffer = "4M";'
	stream ports "$((port + 1))-$((port + 3))" 'format = "raw"; prefix = 8;
		payload = 1000; sequence = "le64@0"; socket_buffer = "4M";'
	stream split "$((port + 4))" 'format = "vdif"; payload = 1032;
		split = "thread"; threads = [ 0, 1 ]; fps = 1000;'
	stream rows "$((port + 5))" 'format = "spead";'
	stream cube "$((port + 6))" 'format = "spead"; store = "cube";
		item = 0x600A; payload = 20000;'
	stream plain "$((port + 7))" 'receive = "tcp"; format = "raw";
		prefix = 0; payload = 1000; sequence = "arrival";'
	stream frames "$((port + 8))" 'receive = "tcp"; frames = "spt1";
		format = "vdif"; payload = 1032; fps = 2000; threads = [ 0 ];'
)"
spated_start

# scan_in NAME IN LENGTH: of all streams
scan_in()
{
	scan_text "$1" "$2" "$3" "${kinds// /\", \"}"
}

# send PROTOCOL OFFSET ARGS
send()
{
	local to=$1://127.0.0.1:$((port + $2))
	shift 2

	"$SPATE" gen --to "$to" --for 11s "$@" >/dev/null &
	at_end "kill $! 2>/dev/null"
}

udp="--format raw --prefix 8 --payload 1000 --sequence le64@0
	--rate 16Mbps"
heaps="--format spead --packet 1472 --rate 16Mbps --heap-bytes 20000"
for i in 0 1 2 3; do
	# shellcheck disable=SC2086
	send udp $i $udp
done
vdif="--format vdif --prefix 0 --payload 1032 --rate 16Mbps"
# shellcheck disable=SC2086
send udp 4 $vdif --threads 0,1 --fps 1000
# shellcheck disable=SC2086
send udp 5 $heaps
# shellcheck disable=SC2086
send udp 6 $heaps

{
	scan_in whole 4 4s
	scan_in first 4 2s
	scan_in second 6 2s
	scan_in middle 5 2s
	scan_in never 7 1s
} | scans_conf "$work/feeds.conf"
spate schedule add "$work/feeds.conf"

armed()
{
	[ "$(state never)" = armed ]
}
wait_for 30 armed
send tcp 7 --format raw --prefix 0 --payload 1000 --rate 16Mbps
# shellcheck disable=SC2086
send tcp 8 $vdif --threads 0 --fps 2000 --frames spt1
same "what is recorded while all are armed" "$(spate status --json |
	jq -r '[.recordings[].state] | unique | join(",")')" armed

# One that is only armed keeps nobody from the stream, one that is recorded
# does; and of what is cancelled nothing stays.
spate record typed --stream raw --for 500ms
refused 'is being recorded already' spate record again --stream raw
spate schedule rm never
ls "$work"/disk[01] >"$work/listed"
! grep never "$work/listed" || fail "a scan that never began left a folder"
same "state of what was cancelled" "$(state never)" cancelled

is_over()
{
	case $(state "$1") in
	waiting | armed | running) return 1 ;;
	esac
}
for name in $names; do
	wait_for 60 is_over $name
	same "state of $name" "$(state $name)" "done"
done

# of NAME KIND KEY: a sum, of all parts
of()
{
	spate info "$1_ds$2" --json | jq -s "map($3) | add"
}

own()
{
	of "$1" "$2" '.datagrams - .drops.before_start'
}

for kind in $kinds; do
	for name in $names; do
		same "$kind, $name: datagrams" "$(of $name $kind .datagrams)" \
			"$(of $name $kind '.packets + ([.drops[]] | add)')"
		same "$kind, $name: drops" "$(of $name $kind \
			'([.drops[]] | add) - .drops.before_start -
			 .drops.unstored - .drops.untimed')" 0
		[ "$(own $name $kind)" -gt 500 ] ||
			fail "$kind, $name: only $(own $name $kind) packets"
	done
	same "$kind: what came in both, and in one of them" \
		"$(($(own first $kind) + $(own second $kind)))" \
		"$(own whole $kind)"
done

# edge NAME KIND WHICH: the absolute sequence of its first or last packet
edge()
{
	info "$1_ds$2" "[.runs[] | (.base | tonumber) + .$3] | $4"
}

for kind in raw plain split_ds0 split_ds1 frames; do
	for name in $names; do
		same "$kind, $name: lost" "$(info ${name}_ds$kind \
			'.packets_lost - .overruns')" 0
		spate export ${name}_ds$kind "$work/$kind.$name"
	done
	[ "$kind" = plain ] || same "$kind: the first of the second" \
		"$(edge second $kind first min)" \
		"$(($(edge first $kind last max) + 1))"
	cat "$work/$kind.first" "$work/$kind.second" |
		cmp - "$work/$kind.whole"
done
for i in 0 1 2; do
	same "port $i" \
		"$(info first_dsports ".subs[$i].packets")" \
		"$(($(info whole_dsports ".subs[$i].packets") -
			$(info second_dsports ".subs[$i].packets")))"
done
off=$((($(edge middle raw first min) - $(edge whole raw first min)) * 1000))
cmp -i "$off:0" -n "$(stat -c %s "$work/raw.middle")" "$work/raw.whole" \
	"$work/raw.middle"
same "of the one that was typed" "$(info typed .state)" complete
spated_stop
