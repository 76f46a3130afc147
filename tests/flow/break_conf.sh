# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# Configurations that cannot be: spated says where and what, and ends with 1,
# with -n and without.  Then limits of the system: those it lives with.
#
. "${BASH_SOURCE%/*}/break.sh"

disks_make 2

# LINE TEXT: $conf is refused, by its line (0: none) and a text.
wrong()
{
	local how

	for how in -n ''; do
		refused "$2" "$SPATED" -c "$conf" $how
		[ "$1" -eq 0 ] || refused "$conf:$1: " "$SPATED" -c "$conf" $how
		[ "$(wc -l <"$work/refused")" -le 1 ] ||
			fail "more than a line: $(cat "$work/refused")"
	done
}

# LINE TEXT MORE: a line at the top is wrong; it is the last but the streams.
top_wrong()
{
	settings=('memory = "64M";' "$3")
	conf_write "$(raw_stream)"
	wrong "$1" "$2"
	settings=('memory = "64M";')
}

# TEXT KEYS: a stream with these keys is wrong.
stream_wrong()
{
	conf_write "$(raw_stream)
	t : { listen = [ \"127.0.0.1:46227\" ];
	$2 };"
	wrong "${3:-7}" "$1"
}

settings=('memory = "64M";')
top_wrong 4 memry 'memry = "1G";'
top_wrong 4 "receivers" 'receivers = "two";'
top_wrong 4 "receivers" 'receivers = 2.5;'
top_wrong 4 "receivers" 'receivers = -1;'
top_wrong 4 "receivers" 'receivers = 0;'
top_wrong 4 "receivers" 'receivers = 1000000L;'
top_wrong 4 "2147483648" 'receivers = 2147483648;'
top_wrong 4 "99999999999999999999" 'receivers = 99999999999999999999;'
top_wrong 4 "reserve" 'reserve = "much";'
top_wrong 4 "reserve" 'reserve = "99999999999999999999T";'
top_wrong 4 "reserve" 'reserve = [ "1G" ];'
top_wrong 4 "durable" 'durable = "soon";'
top_wrong 4 "durable" 'durable = 5;'
top_wrong 4 "writer" 'writer = 7;'
top_wrong 0 "nowriter" 'writer = "nowriter";'
top_wrong 4 "already there" 'memory = "1G";'
top_wrong 4 "" 'reserve = ;'
top_wrong 4 "" '}'

stream_wrong rcv 'rcv = "udp";'
stream_wrong allow 'allow = 127;'
stream_wrong prefix 'prefix = "eight";'
stream_wrong prefix 'prefix = true;'
stream_wrong prefix 'prefix = [ 8 ];'
stream_wrong prefix 'prefix = 5000;'
stream_wrong payload 'payload = 65508;'
stream_wrong payload 'payload = 0;'
stream_wrong block 'block = "5G";'
stream_wrong block 'block = "lots";'
stream_wrong fill 'fill = "ones";'
stream_wrong layout 'layout = "mark7";'
stream_wrong threads 'threads = [ 0, 1024 ];'
stream_wrong rate 'rate = "fast";'
stream_wrong max_age 'max_age = "0s";'
stream_wrong max_gap 'max_gap = "1000T";'
stream_wrong 'noformat' 'format = "noformat";'
stream_wrong 'noreceiver' 'receive = "noreceiver";'
stream_wrong 'counter' 'format = "raw"; prefix = 8; sequence = "le64@4";' 6
stream_wrong 'counter' 'format = "raw"; payload = 64; sequence = "le64@60";' 6
stream_wrong 'sequence' 'format = "raw"; sequence = "le64@x";' 6
stream_wrong 'blocks = 2' 'format = "raw"; payload = 1024; blocks = 2;' 6
conf_write "t : 5;"
wrong 5 "t"

# How much is needed is said, and enough.
conf_write "$(raw_stream 'block = "32M"; blocks = 10;')"
wrong 0 "needs 320.0 MiB"
refused "10 blocks of 32.0 MiB" "$SPATED" -c "$conf"
hint=$(sed -n 's/.*at least \([0-9]*M\).*/\1/p' "$work/refused")
settings=("memory = \"$hint\";")
conf_write "$(raw_stream 'block = "32M"; blocks = 10;')"
"$SPATED" -c "$conf" -n >/dev/null
settings=('memory = "100000G";')
conf_write "$(raw_stream)"
refused "this machine has" "$SPATED" -c "$conf"
settings=('memory = "64M";')

for file in "$work/none.conf" "$work" /dev/null; do
	refused "" "$SPATED" -c "$file"
	grep -q "^spated: ." "$work/refused"
done
head -c 100000 /dev/urandom >"$work/noise"
refused "$work/noise" "$SPATED" -c "$work/noise" -n

# Two streams that fit one by one and not both: the second is refused.
port_s=$port
settings=('memory = "8M";' 'reserve = "1M";')
conf_write "$(raw_stream 'blocks = 16;')
$(port_find; stream=t raw_stream 'blocks = 18;')"
spated_start
begin first
refused "not enough memory for 18 blocks of second: 4.5 MiB are needed" \
	spate record second --stream t
send good:0:500
end first
spate record third --stream t --quiet >&2
spate stop third >/dev/null
spated_stop

# Neither locked memory nor many files: one line each, and it records.
need setpriv prlimit
settings=('memory = "64M";' 'reserve = "1M";' 'durable = "end";')
conf_write "$(raw_stream 'block = "16K"; blocks = 600;')"
: >"$log"
SPATED_REAL=$SPATED
SPATED=$work/limited
cat >"$SPATED" <<-END
	#!/bin/sh
	exec prlimit --memlock=65536:65536 --nofile=48:64 $([ "$(id -u)" -ne 0 ] ||
		echo setpriv --bounding-set=-ipc_lock,-sys_resource \
			--inh-caps=-ipc_lock,-sys_resource) \
		"$SPATED_REAL" "\$@"
END
chmod +x "$SPATED"
spated_start
if grep -q "^VmLck:[[:space:]]*0 kB" "/proc/$spated_pid/status" &&
	[ "$(spate status --json | jq .memory.locked)" = true ]; then
	say "a sanitizer says that memory is locked, and does not lock it"
else
	same "lines about locked memory" \
		"$(grep -c "not locked.*RLIMIT_MEMLOCK" "$log")" 1
	within "lines about io_uring and locked memory" 0 \
		"$(grep -c "io_uring.*RLIMIT_MEMLOCK" "$log")" 1
	grep -q "RLIMIT_MEMLOCK) is 64.0 KiB, it would take 64.0 MiB" "$log"
	grep -Eq "memory: 64.0 MiB in (hugetlb|transparent|small) pages(, shared.*)?$" "$log"
	same locked "$(spate status --json | jq .memory.locked)" false
fi
same "files that it may open" \
	"$(prlimit --pid "$spated_pid" --nofile -o SOFT --noheadings | xargs)" 64
begin limited
send good:0:4000
end limited
ideal "$work/ideal" good:0:4000
exported limited "$work/ideal"
if grep " error " "$log"; then
	fail "there are errors in the log"
fi
spated_stop

# A limit on the length of files is an error of what is written, and no death.
cat >"$SPATED" <<-END
	#!/bin/sh
	exec prlimit --fsize=204800:204800 "$SPATED_REAL" "\$@"
END
short()
{
	(ulimit -f 200 && exec "$@")
}
for layout in vbs file; do
	conf_write "$(raw_stream "block = \"256K\"; layout = \"$layout\";")"
	: >"$log"
	spated_start
	spate record "long_$layout" --stream s --quiet
	send good:0:1000
	too_long()
	{
		grep -q "no file may be that long" "$log"
	}
	wait_for 30 too_long
	spated_alive || fail "spated died of a long file"
	spate stop "long_$layout" >/dev/null 2>&1 || true
	spated_stop
done
refused "File too large" short "$SPATE" --disks "$(IFS=: &&
	echo "${disks[*]}")" export limited "$work/long_$layout"
refused "File too large" short "$SPATE" gen --to "udp://127.0.0.1:$port" \
	--format raw --payload 1024 --packets 1000 --dump "$work/long"
