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
	scan_text "$1$rate" "$2" "$3" "${kinds// /\", \"}"
}

senders=()

# send PROTOCOL OFFSET ARGS
send()
{
	local to=$1://127.0.0.1:$((port + $2))
	shift 2

	"$SPATE" gen --to "$to" --for 11s --rate "${rate}Mbps" "$@" \
		>/dev/null 2>&1 &
	senders+=($!)
	at_end "kill $! 2>/dev/null"
}

raw=(--format raw --payload 1000 --prefix)
heaps=(--format spead --packet 1472 --heap-bytes 20000)
vdif=(--format vdif --prefix 0 --payload 1032)

send_udp()
{
	local i

	for i in 0 1 2 3; do
		send udp $i "${raw[@]}" 8 --sequence le64@0
	done
	send udp 4 "${vdif[@]}" --threads 0,1 --fps 1000
	send udp 5 "${heaps[@]}"
	send udp 6 "${heaps[@]}"
}

# Nobody listens before the stream is armed.
send_tcp()
{
	send tcp 7 "${raw[@]}" 0
	send tcp 8 "${vdif[@]}" --threads 0 --fps 2000 --frames spt1
}

armed()
{
	[ "$(state "never$rate")" = armed ]
}

# One that is only armed keeps nobody from the stream, one that is recorded
# does; and of what is cancelled nothing stays.
others_are_not_kept()
{
	same "what is recorded while all are armed" "$(spate status --json |
		jq -r '[.recordings[].state] | unique | join(",")')" armed
	spate record "typed$rate" --stream raw --for 500ms
	refused 'is being recorded already' spate record again --stream raw
	spate schedule rm "never$rate"
	ls "$work"/disk[01] >"$work/listed"
	! grep never "$work/listed" ||
		fail "a scan that never began left a folder"
	same "state of what was cancelled" "$(state "never$rate")" cancelled
}

is_over()
{
	case $(state "$1") in
	waiting | armed | running) return 1 ;;
	esac
}

scans_run()
{
	names="first$rate second$rate middle$rate whole$rate"
	send_udp
	{
		scan_in whole 4 4s
		scan_in first 4 2s
		scan_in second 6 2s
		scan_in middle 5 2s
		scan_in never 7 1s
	} | scans_conf "$work/feeds$rate.conf"
	spate schedule add "$work/feeds$rate.conf"
	wait_for 30 armed
	send_tcp
	others_are_not_kept
	for name in $names; do
		wait_for 60 is_over "$name"
		same "state of $name" "$(state "$name")" "done"
	done
	wait "${senders[@]}" || true
	senders=()
}

# Neither the kernel nor a disk of a busy machine was too slow?
all_stored()
{
	[ "$(for name in $names; do
		spate info "$name" --json
	done | jq -s 'map(.overruns + .drops.no_buffer) | add')" -eq 0 ]
}

for rate in 16 4 1; do
	scans_run
	! all_stored || break
done
all_stored || fail "kernel or disks lost packets at ${rate}Mbps"

# of NAME KIND KEY: a sum, of all parts
of()
{
	spate info "$1_ds$2" --json | jq -cs "map($3) | add"
}

own()
{
	of "$1" "$2" '.datagrams - .drops.before_start'
}

for kind in $kinds; do
	for name in $names; do
		same "$kind, $name: datagrams" "$(of $name $kind .datagrams)" \
			"$(of $name $kind '.packets + ([.drops[]] | add)')"
		same "$kind, $name: drops" "$(of $name $kind '[.drops |
			del(.before_start, .unstored, .untimed) | to_entries[] |
			select(.value > 0) | "\(.value) \(.key)"]')" '[]'
		[ "$(own $name $kind)" -gt 100 ] ||
			fail "$kind, $name: only $(own $name $kind) packets"
	done
	# Of TCP nothing says when it came: of two that end at the same time
	# one may have what comes just then.
	rest=0
	[[ $kind != @(plain|frames) ]] || rest=200
	within "$kind: what came in both, and in one of them" \
		$(($(own whole$rate $kind) - rest)) \
		"$(($(own first$rate $kind) + $(own second$rate $kind)))" \
		$(($(own whole$rate $kind) + rest))
done

# least FILE...: of their sizes
least()
{
	stat -c %s "$@" | sort -n | head -n 1
}

# edge NAME KIND WHICH: the absolute sequence of its first or last packet
edge()
{
	info "$1_ds$2" "[.runs[] | (.base | tonumber) + .$3] | $4"
}

for kind in raw plain split_ds0 split_ds1 frames; do
	for name in $names; do
		same "$kind, $name: lost" \
			"$(info ${name}_ds$kind .packets_lost)" 0
		spate export ${name}_ds$kind "$work/$kind.$name"
	done
	[ "$kind" = plain ] || same "$kind: the first of the second" \
		"$(edge second$rate $kind first min)" \
		"$(($(edge first$rate $kind last max) + 1))"
	cat "$work/$kind.first$rate" "$work/$kind.second$rate" >"$work/both"
	[[ $kind == @(plain|frames) ]] ||
		same "$kind: size" "$(stat -c %s "$work/both")" \
			"$(stat -c %s "$work/$kind.whole$rate")"
	cmp -n "$(least "$work/both" "$work/$kind.whole$rate")" "$work/both" \
		"$work/$kind.whole$rate"
done
for i in 0 1 2; do
	same "port $i" \
		"$(info first${rate}_dsports ".subs[$i].packets")" \
		"$(($(info whole${rate}_dsports ".subs[$i].packets") -
			$(info second${rate}_dsports ".subs[$i].packets")))"
done
off=$((($(edge middle$rate raw first min) - $(edge whole$rate raw first min)) * 1000))
cmp -i "$off:0" -n "$(stat -c %s "$work/raw.middle$rate")" "$work/raw.whole$rate" \
	"$work/raw.middle$rate"
same "of the one that was typed" "$(info typed$rate .state)" complete
spated_stop
