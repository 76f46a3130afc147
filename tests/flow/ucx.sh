# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> stream s --> a --> spate send --> ucx --> another spated: b
#
# By sockets, by shared memory, and by whatever libucx finds: b is a, also when
# the other one stops for a while; who does not know the secret sends nothing;
# and when the other one is killed, or is not there, what is recorded at the
# same time is whole.  libucx starts before all memory is ready.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"

[ -e "$top_builddir/plugins/.libs/send-ucx.so" ] ||
	skip "spate was built without libucx"
[[ $(PATH=$PATH:/usr/sbin:/sbin ldconfig -p) = *libucp.so.0* ]] ||
	skip "libucx is not here"

sent_packets+=(--sequence le64@0)
echo 'a secret that two machines share' >"$work/secret"
echo 'a secret that is not the same one' >"$work/wrong"
chmod 600 "$work/secret" "$work/wrong"

port_find 3
first=$port
u="ucx://127.0.0.1:$((first + 1))"
v="ucx://127.0.0.1:$((first + 2))"
disks_make 3
raw='format = "raw"; payload = 1024;'
far_disk=${disks[2]}
disks=("${disks[@]:0:2}")
settings+=("secret_file = \"$work/secret\";")
conf_write "$(stream_text "$raw prefix = 8; sequence = \"le64@0\";
	rate = \"80Mbps\";")"
cat >"$work/far.conf" <<-END
	disks = [ "$far_disk" ];
	control : { socket = "$work/far.socket"; };
	streams : {
	u : { receive = "ucx"; $raw block = "1M"; connections = 2;
	      secret_file = "$work/secret";
	      listen = [ "127.0.0.1:$((first + 1))" ]; };
	v : { receive = "ucx"; $raw block = "1M"; secret_file = "$work/wrong";
	      listen = [ "127.0.0.1:$((first + 2))" ]; };
	};
END

far()
{
	"$SPATE" --socket "$work/far.socket" "$@"
}

far_answers()
{
	far status >/dev/null 2>&1
}

far_start()
{
	"$SPATED" -c "$work/far.conf" >>"$work/far.log" 2>&1 &
	far_pid=$!
	at_end "kill -CONT $far_pid 2>/dev/null; kill -9 $far_pid 2>/dev/null"
	wait_for 60 far_answers
}

far_stop()
{
	kill "$far_pid"
	wait "$far_pid" || true
}

# is_like NAME: of what was recorded there
is_like()
{
	far stop "$1" >/dev/null
	far verify "$1" >/dev/null
	same "packets of $1" "$(far info "$1" --json | jq .packets)" 10000
	same "lost of $1" "$(far info "$1" --json | jq .packets_lost)" 0
	same "runs of $1" "$(far info "$1" --json | jq '.runs | length')" 1
	far export "$1" "$work/bytes" --quiet --force
	cmp "$work/bytes" "$work/a.bytes"
}

is_slow()
{
	[ "$(sends "$1" .packets)" -gt 2000 ]
}

try()
{
	local id

	spated_start
	far_start
	for n in 1 2; do
		far record "$1$n" --stream u >/dev/null
		spate send a --to "$u" --connections $n --wait >"$work/out"
		is_like "$1$n"
	done

	# It stops for a while, in the middle.
	far record "$1stall" --stream u >/dev/null
	id=$(send_id a --to "$u" --rate 30Mbps)
	wait_for 20 is_slow "$id"
	kill -STOP $far_pid
	sleep 2
	kill -CONT $far_pid
	wait_for 60 has_send "$id" done
	is_like "$1stall"

	# Another secret.
	far record "$1other" --stream v >/dev/null
	! spate send a --to "$v" --wait >"$work/out" 2>&1 ||
		fail "it sent without the secret"
	grep -q secret "$work/out" || fail "it says: $(cat "$work/out")"
	far stop "$1other" >/dev/null

	# It is killed in the middle of a live one, and not there any more.
	far record "$1killed" --stream u >/dev/null
	spate record "$1live" --stream s --send "$u" >/dev/null
	id=$(spate sends --json | jq .id)
	gen "${sent_packets[@]}" --packets 10000 --rate 50Mbps &
	gen=$!
	wait_for 20 is_slow "$id"
	kill -9 $far_pid
	wait $far_pid 2>/dev/null || true
	wait $gen
	settle "$1live" 10000
	spate stop "$id" >/dev/null
	spate stop "$1live" >/dev/null
	recorded_whole "$1live"
	spated_stop
	rm -f "$work/far.socket"
}

spated_start
record_one a 10000
spate export a "$work/a.bytes" --quiet
spated_stop

export UCX_WARN_UNUSED_ENV_VARS=n
# Leaks are looked for by test_send_ucx: that dies of libucx's thread.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
UCX_TLS=tcp try tcp
UCX_TLS=posix,sysv,cma try memory
try found
! grep -i assert "$log" "$work/far.log" || fail "libucx has broken"

# It starts libucx while its memory is touched, and does not wait for that.
[ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt $((10 << 20)) ] ||
	skip "8 GiB of memory are not free; the rest passed"
sed -i '1i memory = "8G";' "$work/far.conf"
far_start
far record early --stream u >/dev/null
far status --json >"$work/memory"
[ "$(jq .memory.ready "$work/memory")" -lt $((8 << 30)) ] ||
	fail "it waited until all memory was touched"
far stop early >/dev/null
far_stop
