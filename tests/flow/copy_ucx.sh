# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh disable=SC2154
#
#	gen --> spated --> 3 disks --> copy_send ==> [proxy ==>] inbox
#	                                       pieces by libucx
#
# Copies go over UCX, by sockets, by shared memory, and by whatever libucx
# finds, also when connections are cut, when the inbox is killed in the middle,
# and from a daemon while it records; an inbox without `beside` says so.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_copy.sh"
need jq xxd python3

[ -e "$top_builddir/plugins/.libs/send-ucx.so" ] ||
	skip "spate was built without libucx"
[[ $(PATH=$PATH:/usr/sbin:/sbin ldconfig -p) = *libucp.so.0* ]] ||
	skip "libucx is not here"
export UCX_WARN_UNUSED_ENV_VARS=n
# Leaks are looked for by test_send_ucx: that dies of libucx's thread.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

(umask 077 && echo "a secret that two of them share" >"$work/secret")
disks_make 3
settings+=("secret_file = \"$work/secret\";")
conf_write "$(stream_text 'format = "vdif"; prefix = 8; payload = 1032;')"
spated_start
take --format vdif --payload 1032 --packets 30000 --loss 0.01
name=$taken
url=ucx://127.0.0.1:$inbox_port

came()
{
	there status --json | jq -e --arg name "$2" --argjson least "$1" \
		'.inbox[] | select(.name == $name) | .bytes >= $least' >/dev/null
}

# ---- an inbox that takes TCP alone -----------------------------------------

inbox_make 2 "secret_file = \"$work/secret\";"
inbox_start
refused "takes copies by TCP: tcp:// sends" \
	spate send "$name" --to "$url" --wait --quiet
inbox_stop

# ---- each transport, and what breaks it --------------------------------------

inbox_make 2 "secret_file = \"$work/secret\"; beside = [ \"ucx\" ];"

held()
{
	find "/proc/$inbox_pid/fd" -type l | wc -l
}

holds_no_more()
{
	[ "$(held)" -le "$1" ]
}

is_idle()
{
	there status --json | jq -e '.inbox == []' >/dev/null
}

# try KILLED: 1: the inbox is killed in the middle of another copy, and ends
try()
{
	local pid before

	inbox_start
	copy_url=$url copy -n 3 -s "$work/secret" "$name"
	same_there "$name"
	same_bytes "$name"
	# All of it is there: nothing is sent, and nothing hangs.
	copy_url=$url copy -n 3 -s "$work/secret" "$name"
	same "bytes sent again" "$(copy_did .bytes)" 0
	# Nor does a connection that brought no piece leave anything for ever.
	wait_for 30 is_idle
	before=$(held)
	copy_url=$url copy -n 3 -s "$work/secret" "$name"
	wait_for 30 holds_no_more "$before"
	there rm "$name" --quiet

	[ "$1" = 1 ] || return 0

	"$top_builddir/tests/flow/copy_send" -n 2 -r 150000000 \
		-s "$work/secret" "$name" "$url" "${disks[@]}" \
		>"$work/copy.json" 2>"$work/copy.err" &
	pid=$!
	at_end "kill -KILL $pid 2>/dev/null || true"
	wait_for 60 came 5000000 "$name"
	inbox_kill
	inbox_start
	wait "$pid" || fail "the copy failed: $(cat "$work/copy.json")"
	within "reconnects" 1 "$(copy_did .reconnects)" 100
	same_there "$name"
	same_bytes "$name"
	there rm "$name" --quiet
	inbox_stop
}

UCX_TLS=tcp try 1
UCX_TLS=posix,sysv,cma try 1
try 0

# The same inbox takes TCP, too.
copy -n 2 -s "$work/secret" "$name"
same_there "$name"
there rm "$name" --quiet

# ---- connections that are cut -------------------------------------------------

python3 "$top_srcdir/tests/flow/tcp_proxy.py" "$port" "$inbox_port" \
	0.01 0.005 cut:1:900 cut:3:1100 cut:6:700 spoil:8:800 &
proxy_pid=$!
at_end "kill $proxy_pid"
wait_for 10 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port" 2>/dev/null
copy_url=ucx://127.0.0.1:$port copy -n 2 -s "$work/secret" "$name"
within "reconnects" 2 "$(copy_did .reconnects)" 50
same_there "$name"
same_bytes "$name"

# ---- a daemon, while it records ---------------------------------------------

spate record grows --stream s --quiet
gen --format vdif --payload 1032 --for 3s --rate 100Mbps >/dev/null &
gen_pid=$!
at_end "kill $gen_pid 2>/dev/null"
sleep 1
spate send grows --to "$url" --follow --connections 2 --quiet
wait_for 30 came 1000000 grows
same "way" "$(spate sends --json | jq -r .way)" "ucx, active messages"
wait "$gen_pid"
spate stop grows >/dev/null
wait_for 60 sh -c "'$SPATE' --socket '$inbox_socket' info grows --json | jq -e '.state == \"complete\"' >/dev/null"
same_there grows
same_bytes grows
spated_stop
inbox_stop
! grep -i assert "$log" "$inbox_log" || fail "libucx has broken"
