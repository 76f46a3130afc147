# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   a, b --> spated   `memory` is what all blocks have together; what does not
#                     fit is refused with the numbers; nothing else grows;
#                     what is lent comes back to who has a right to it;
#                     spated is ready before it, and is refused more than its
#                     control group may have
#
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 2
port_find 4
stream()
{
	printf '\t%s : { listen = [ "127.0.0.1:%s" ]; format = "raw"; %s %s };\n' \
		"$1" "$2" 'prefix = 8; sequence = "le64@0"; payload = 1024;' "$3"
}

settings=('memory = "33M";' 'reserve = "1M";' 'durable = "50ms";')
conf_write "$(stream a "$port" 'block = "1M"; blocks = 12;'
	stream b "$((port + 1))" 'block = "1M"; blocks = 20;'
	stream c "$((port + 2))" 'block = "64K"; blocks = 16;'
	stream d "$((port + 3))" 'block = "1M"; blocks = 12;')"
spated_start

# Who has it, what is left, and what would do.
same limit "$(spate status --json | jq .memory.bytes)" $((33 << 20))
spate record one --stream a --quiet >/dev/null
spate record two --stream b --quiet >/dev/null
refused "not enough memory for 12 blocks of three: 12.0 MiB are needed" \
	spate record three --stream d
for text in "\`memory\` is 33.0 MiB, of which 1.0 MiB are free" \
	"one has 12.0 MiB" "two has 20.0 MiB" "stop another recording"; do
	grep -qF "$text" "$work/refused" || fail "$(cat "$work/refused")"
done
spate record small --stream c --quiet >/dev/null
spate stop small --quiet >/dev/null
same borrowed "$(spate status --json | jq .memory.borrowed)" $((32 << 20))

# Of two streams that are to be recorded together, neither is then.
spate stop one --quiet >/dev/null
refused "_ds" spate record both --stream a,d
same recordings "$(spate status --json | jq '.recordings | length')" 1
spate record three --stream d --quiet >/dev/null
spate stop three --quiet >/dev/null
spate stop two --quiet >/dev/null
same borrowed "$(spate status --json | jq .memory.borrowed)" 0

# What came and went leaves nothing behind.
! grep -qa __asan_init "$SPATED" || exit 0
! grep -qa __tsan_init "$SPATED" || exit 0

# is_hot ADDRESS: spated's memory there is locked
is_hot()
{
	local line inside=0

	while read -r line; do
		if [[ $line =~ ^([0-9a-f]+)-([0-9a-f]+)\  ]]; then
			inside=$(($1 >= 16#${BASH_REMATCH[1]} &&
				$1 < 16#${BASH_REMATCH[2]}))
		elif [ "$inside" = 1 ] && [[ $line == VmFlags:*" lo"* ]]; then
			return 0
		fi
	done <"/proc/$spated_pid/smaps"
	return 1
}

# What is hot stays in memory: code, and the stack of a receiver.
if [ "$(spate status --json | jq .memory.locked)" = true ]; then
	code=$(awk '$2 == "r-xp" { print $1; exit }' "/proc/$spated_pid/maps")
	is_hot $((16#${code%-*})) || fail "its code is not locked"
	for task in "/proc/$spated_pid/task"/*; do
		[ "$(cat "$task/comm")" = spate-receive ] || continue
		# "running", or the number of a call, its arguments, and the stack
		read -r -a call <"$task/syscall" || break
		[ "${#call[@]}" -gt 2 ] || continue
		is_hot "${call[-2]}" || fail "the stack of a receiver is not locked"
		hot=yes
	done
	say "stacks of receivers that were looked at: ${hot:-none}"
fi

resident()
{
	awk '/^VmRSS/ { print $2 }' "/proc/$spated_pid/status"
}

# Blocks with holes, runs that begin anew, and clients that ask.
some()
{
	local i

	for ((i = 0; i < 10; i++)); do
		spate record "many$1-$i" --stream c --quiet >/dev/null
		"$SPATE" gen --to "udp://127.0.0.1:$((port + 2))" --format raw \
			--payload 1024 --sequence le64@0 --packets 400 \
			--loss 0.1 --rate 300Mbps --quiet >/dev/null
		"$SPATE" gen --to "udp://127.0.0.1:$((port + 2))" --format raw \
			--payload 1024 --sequence le64@0 --packets 400 \
			--first 9000000 --rate 300Mbps --quiet \
			>/dev/null
		spate status --json >/dev/null
		spate stop "many$1-$i" --quiet >/dev/null
	done
}

for ((n = 0; n < 7; n++)); do
	some $n
done
early=$(resident)
for (( ; n < 9; n++)); do
	some $n
done
within "KiB more after 20 recordings more" -100000 \
	$(($(resident) - early)) 2048
within "KiB beyond \`memory\`" 0 $(($(resident) - (33 << 10))) 24576
spated_stop

# Disks that join get blocks as far as there is room, and the log says how far.
disks_make 3
joining=("${disks[@]: -2}")
disks=("${disks[-3]}")
settings=('memory = "10M";' 'reserve = "1M";')
conf_write "$(stream_text 'format = "raw"; payload = 1024; sequence = "le64@0";')"
spated_start
for disk in "${joining[@]}"; do
	spate disks add "$disk" --force >/dev/null
done
spate record joined --stream s --quiet
grep -q "s: is recorded with 10 blocks, enough for 2 disks, but there are 3" "$log" ||
	fail "nothing is said of the disks that joined"
spate stop joined --quiet >/dev/null
spated_stop

# What nobody else needs is lent to a recording whose disk is slow.  Who begins
# meanwhile, and has a right to it, gets it as the disk takes blocks; until then
# all that comes is counted.
test_plugins
disks=("${disks[0]}")
log=$work/log.lent
settings=('memory = "64M";' 'reserve = "1M";' 'writer = "slow";'
	'slow_rate = "8M";')
conf_write "$(stream slow "$port" 'block = "256K"; blocks = 12;'
	stream late "$((port + 1))" 'block = "1M"; blocks = 50;')"
spated_start
# late FIRST PACKETS
late()
{
	"$SPATE" gen --to "udp://127.0.0.1:$((port + 1))" --format raw \
		--payload 1024 --sequence le64@0 --rate 400Mbps --first "$1" \
		--packets "$2" --quiet >/dev/null
	wait_for 30 came late $(($1 + $2))
}
lent_is_back()
{
	[ "$(spate status --json | jq .memory.lent)" -lt $((8 << 20)) ]
}
spate record slow --stream slow --quiet
gen --format raw --payload 1024 --sequence le64@0 --rate 400Mbps --packets 54000
wait_for 30 came slow 54000
[ "$(spate status --json | jq .memory.lent)" -gt $((30 << 20)) ] ||
	fail "it was lent $(spate status --json | jq .memory)"
spate record late --stream late --quiet
late 0 40000
lost=$(info late '.drops.no_buffer // 0')
[ "$lost" -gt 0 ] || fail "it had all its blocks although another had them"
same "all of late" "$(info late '.packets + .drops.no_buffer')" 40000
wait_for 60 lent_is_back
late 40000 20000
for name in slow late; do
	spate stop "$name" --quiet
	same "overruns of $name" "$(info "$name" .overruns)" 0
done
all_caused late
[[ " $causes " == *" memory "* ]] || fail "the causes are: $causes"
same "packets of slow" "$(info slow .packets)" 54000
same "packets of late" "$(info late .packets)" $((60000 - lost))
same "lost of late" "$(info late .packets_lost)" "$lost"
same "drops of late" "$(info late '[.drops[]] | add')" "$lost"
spated_stop

# It is ready before its memory is.  A recording that has a right to more than
# is touched yet takes what there is, and all that comes is counted.
[ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt $((6 << 20)) ] ||
	skip "4 GiB of memory are not free; the rest passed"
log=$work/log.ready
settings=('memory = "4G";' 'reserve = "1M";')
conf_write "$(stream_text 'format = "raw"; payload = 1024; sequence = "le64@0"; blocks = 3000;')"
spated_start
spate record early --stream s --quiet
gen --format raw --payload 1024 --sequence le64@0 --packets 20000 --rate 400Mbps
settle early 20000
same "datagrams" "$(info early .datagrams)" 20000
same "packets and drops" \
	"$(info early '.packets + ([.drops[]] | add // 0)')" 20000
same "lost" "$(info early .packets_lost)" "$(info early '.drops.no_buffer // 0')"
grep -q "memory: 4.0 GiB in .*; most of it is being made ready" "$log" ||
	fail "it waited for its memory: $(cat "$log")"
same "what is ready first" "$(grep -o -e "ready on" -e "all memory is ready" \
	"$log" | head -n 1)" "ready on"
spate stop early --quiet >/dev/null
# It stops while memory is touched, too.
spated_stop
spated_start
spated_stop

# The kernel would kill what has more than its control group may have.
need_root "limit memory"
cat >"$work/limited" <<-'END'
	#!/bin/sh -e
	# A group above that of the process is limited to 1 GiB.
	mount -t tmpfs none /sys/fs/cgroup
	while IFS=: read -r _ kind group; do
		case $kind in
		'') top=/sys/fs/cgroup file=memory.max ;;
		*memory*) top=/sys/fs/cgroup/memory file=memory.limit_in_bytes ;;
		*) continue ;;
		esac
		mkdir -p "$top/$group"
		echo max >"$top/$group/$file"
		echo 1073741824 >"$top/$file"
	done </proc/self/cgroup
END
printf 'exec "%s" "$@"\n' "$SPATED" >>"$work/limited"
chmod +x "$work/limited"
SPATED="$work/in_group"
printf '#!/bin/sh\nexec unshare -m "%s" "$@"\n' "$work/limited" >"$SPATED"
chmod +x "$SPATED"
settings=('memory = "2G";' 'reserve = "1M";')
conf_write "$(stream_text 'format = "raw"; payload = 1024; sequence = "le64@0";')"
refused "the control group of spated is limited to 1.0 GiB" \
	timeout 60 "$SPATED" -c "$conf"
settings=('reserve = "1M";')
conf_write "$(stream_text 'format = "raw"; payload = 1024; sequence = "le64@0";')"
spated_start
same default "$(spate status --json | jq .memory.bytes)" $((512 << 20))
spated_stop
