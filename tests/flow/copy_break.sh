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

take --format vdif --payload 1032 --packets 40000 --loss 0.01 --rate 600Mbps
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

python3 "$top_srcdir/tests/flow/tcp_proxy.py" $((port + 2000)) "$inbox_port" \
	0.01 0.005 cut:1:3000000 cut:3:5000000 cut:6:2000000 spoil:8:3000000 &
proxy_pid=$!
at_end "kill $proxy_pid"
wait_for 10 bash -c "exec 3<>/dev/tcp/127.0.0.1/$((port + 2000))" 2>/dev/null
copy_url=tcp://127.0.0.1:$((port + 2000)) copy -n 2 "$name"
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
