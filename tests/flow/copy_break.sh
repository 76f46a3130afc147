# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh disable=SC2154
#
#	gen --> spated --> 3 disks --> copy_send ==> [proxy ==>] inbox
#
# What breaks a copy, and does not: either end killed, connections cut and a
# byte of them spoiled, damage at either end, a second sender, IPv6, a liar.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_copy.sh"
need jq xxd python3

disks_make 3
conf_write "$(stream_text 'format = "vdif"; prefix = 8; payload = 1032;')"
spated_start
inbox_listen+=", \"[::1]:$inbox_port\""
inbox_make 2
inbox_start

take --format vdif --payload 1032 --packets 40000 --loss 0.01
name=$taken

came()
{
	there status --json | jq -e --arg name "$2" --argjson least "$1" \
		'.inbox[] | select(.name == $name) | .bytes >= $least' >/dev/null
}

forget()
{
	there rm "$1" --quiet
}

copy_begin()
{
	"$top_builddir/tests/flow/copy_send" "$@" \
		"${copy_url:-$inbox_url}" "${disks[@]}" \
		>"$work/copy.json" 2>"$work/copy.err" &
	copy_pid=$!
	at_end "kill -KILL $copy_pid 2>/dev/null || true"
}

# ---- silence, and no descriptor left ---------------------------------------

cat >"$work/silent.py" <<-'END'
	import select, socket, sys, time
	crowd = []
	for n in range(int(sys.argv[3])):
	    while len(crowd) < int(sys.argv[2]):
	        crowd.append(socket.create_connection(
	            ("127.0.0.1", int(sys.argv[1])), timeout=60))
	        time.sleep(0.002)
	    if n == 0:
	        print("there", flush=True)
	    for s in select.select(crowd, [], [], 0.01)[0]:
	        s.close()
	        crowd.remove(s)
	time.sleep(600)
END

# silent N TIMES: N connections to the inbox say nothing, and come back when
# they are thrown out, so many times
silent()
{
	coproc crowd { exec python3 "$work/silent.py" "$inbox_port" "$@"; }
	silent_pid=$crowd_PID
	at_end "kill $silent_pid 2>/dev/null || true"
	read -r -t 60 <&"${crowd[0]}"
}

silent_end()
{
	kill "$silent_pid"
	wait "$silent_pid" || true
}

silent 200 1000000
copy_begin -n 4 "$name"
copied()
{
	! kill -0 "$copy_pid" 2>/dev/null
}
wait_for 60 copied
wait "$copy_pid"
same_there "$name"
forget "$name"
silent_end

all_gone()
{
	[ "$(find "/proc/$inbox_pid/fd" -lname 'socket:*' | wc -l)" -lt 10 ]
}

ticks()
{
	local of
	read -ra of <"/proc/$inbox_pid/stat"
	echo $((of[13] + of[14]))
}

# Of the time in which somebody waits in vain, the inbox takes less than a
# quarter; and who waited is let in.
if command -v prlimit >/dev/null; then
	files=$(prlimit --pid "$inbox_pid" --nofile --output SOFT --noheadings)
	wait_for 30 all_gone
	first=3 # that is free
	while [ -e "/proc/$inbox_pid/fd/$first" ]; do
		first=$((first + 1))
	done
	prlimit --pid "$inbox_pid" --nofile=$((first + 3)):
	silent 20 1
	before=$(ticks) begun=${EPOCHREALTIME/./}
	sleep 2
	within "ticks of the inbox" 0 $(($(ticks) - before)) \
		$(((${EPOCHREALTIME/./} - begun) / 40000))
	prlimit --pid "$inbox_pid" --nofile="$((files)):"
	copy "$name"
	same_there "$name"
	forget "$name"
	silent_end
	same "lines about it" "$(grep -c 'inbox: whoever comes' "$inbox_log")" 1
fi

# ---- the inbox is killed, and started again -------------------------------

copy_begin -n 2 -r 150000000 "$name"
wait_for 20 came 8000000 "$name"
inbox_kill
sleep 1
inbox_start
wait "$copy_pid"
within "reconnects" 1 "$(copy_did .reconnects)" 50
same_there "$name"
same_bytes "$name"
# What was durable did not travel again; what was not, and little else, did.
within "bytes that travelled" "$(copy_did .total)" "$(copy_did .bytes)" \
	"$(($(copy_did .total) + 36000000))"
forget "$name"

# ---- the sender is killed, and started again ------------------------------

copy_begin -r 150000000 "$name"
wait_for 20 came 8000000 "$name"
kill -KILL "$copy_pid"
wait "$copy_pid" || true
same "state" "$(there status --json | jq -r '.inbox[0].name')" "$name"
copy "$name"
within "bytes of the rest" 1 "$(copy_did .bytes)" \
	"$(($(copy_did .total) - 7000000))"
same_there "$name"
same_bytes "$name"
forget "$name"

# ---- both are, and a byte is wrong at the inbox ---------------------------

copy_begin -r 150000000 "$name"
wait_for 20 came 8000000 "$name"
inbox_kill
kill -KILL "$copy_pid"
wait "$copy_pid" || true
chunk=$(find "$work"/in* -name "$name.0000000[0-9]" | sort | head -n 1)
[ -n "$chunk" ] || fail "no chunk is there"
printf '\xff\xfe\xfd' | dd of="$chunk" bs=1 seek=5000 conv=notrunc status=none
inbox_start
copy "$name"
within "bytes of the rest" 1 "$(copy_did .bytes)" \
	"$(($(copy_did .total) - 5000000))"
same_there "$name"
same_bytes "$name"
forget "$name"

# ---- connections are cut and spoiled --------------------------------------

port_find
python3 "$top_srcdir/tests/flow/tcp_proxy.py" "$port" "$inbox_port" \
	0.01 0.005 cut:1:3000000 cut:3:5000000 cut:6:2000000 spoil:2:1500000 spoil:8:1500000 &
proxy_pid=$!
at_end "kill $proxy_pid"
wait_for 10 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port" 2>/dev/null
copy_url=tcp://127.0.0.1:$port copy -n 2 "$name"
within "reconnects" 2 "$(copy_did .reconnects)" 50
same_there "$name"
same_bytes "$name"
forget "$name"

# ---- two at a time --------------------------------------------------------

copy_begin -r 200000000 "$name"
wait_for 20 came 4000000 "$name"
first=$copy_pid
# Nor is anything recorded into it.
if there record "$name" --stream none --resume 2>"$work/record.err"; then
	fail "it was recorded to the name of a copy that comes in"
fi
grep -q 'a copy of that name comes in' "$work/record.err" ||
	fail "it says: $(cat "$work/record.err")"
"$top_builddir/tests/flow/copy_send" "$name" "$inbox_url" "${disks[@]}" \
	>"$work/second.json" 2>/dev/null
wait "$first"
same "state of the second" "$(jq -r .state "$work/second.json")" "done"
same "bytes of the second" "$(jq -r .bytes "$work/second.json")" 0
same_there "$name"
forget "$name"

# ---- IPv6 -----------------------------------------------------------------

if [ -e /proc/net/if_inet6 ] && grep -q ' lo$' /proc/net/if_inet6; then
	copy_url="tcp://[::1]:$inbox_port" copy "$name"
	same_there "$name"
	forget "$name"
fi

# ---- damage where it comes from -------------------------------------------

chunk=$(find "$work"/disk* -name "$name.00000007")
printf '\xff\xfe\xfd' | dd of="$chunk" bs=1 seek=5000 conv=notrunc status=none
if copy "$name"; then
	fail "a damaged recording was copied as if it were whole"
fi
same "state" "$(copy_did .state)" "done"
copy_did .why | grep -q '^1 chunks could not be read' ||
	fail "it does not say what was left out"
same "records there" \
	"$(records_of "$name" "${inbox_disks[@]}")" \
	"$(records_of "$name" "${disks[@]}" | grep -v '^0700000000000000')"
there verify "$name" >"$work/verify.out" 2>&1 || true
grep -q 'block 7 is on none' "$work/verify.out" || fail "nothing is missing there"
! grep -q 'damaged\|not what was written' "$work/verify.out" ||
	fail "damage was copied"

inbox_stop
