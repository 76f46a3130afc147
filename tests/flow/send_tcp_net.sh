# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   here: spated, a, s    v0 10.9.0.1 ==== veth, tbf 200 Mb/s ==== v1 10.9.0.2
#                         fd09::1                                  fd09::2
#   far:  spated, t --> b
#
# Over a link that is slow, by either family; and over one whose other end
# vanishes without a word, and is there again: b is a, and what is recorded here
# meanwhile is whole.
[ -n "${SPATE_OWN_NET:-}" ] || {
	own=(unshare -n)
	[ "$(id -u)" -eq 0 ] || own=(unshare -r -n)
	"${own[@]}" true 2>/dev/null || {
		echo "SKIP: no network namespaces for us here" >&2
		exit 77
	}
	SPATE_OWN_NET=1 exec "${own[@]}" bash "$0"
}
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"
need ip tc nsenter

separate()
{
	[ "$(readlink "/proc/$far/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

ip link set lo up
unshare -n sleep 600 &
far=$!
at_end 'kill $far'
wait_for 10 separate
ip link add v0 type veth peer name v1 netns $far || skip "no veth pairs here"
there=(nsenter -t "$far" -n)
"${there[@]}" ip link set lo up
addresses()
{
	"${there[@]}" ip address "$1" 10.9.0.2/24 dev v1
	"${there[@]}" ip address "$1" fd09::2/64 dev v1 nodad
}
ip address add 10.9.0.1/24 dev v0
ip address add fd09::1/64 dev v0 nodad
addresses add
ip link set v0 up
"${there[@]}" ip link set v1 up
tc qdisc add dev v0 root tbf rate 200mbit burst 64k latency 50ms ||
	skip "no tbf here"

# ---- the one who is far --------------------------------------------------

raw='format = "raw"; payload = 1024; block = "1M";'
mkdir "$work/far"
cat >"$work/far.conf" <<-END
	disks = [ "$work/far" ];
	control : { socket = "$work/far.sock"; };
	memory = "64M";
	reserve = "1M";
	streams : {
		t : { receive = "tcp"; frames = "spt1"; connections = 4; $raw
		      listen = [ "[::]:2630" ];
		      allow = [ "10.9.0.0/24", "fd09::/64" ]; };
	};
END
"${there[@]}" "$SPATED" -c "$work/far.conf" >"$work/far.log" 2>&1 &
far_spated=$!
at_end 'kill $far_spated 2>/dev/null; wait $far_spated'
far()
{
	"$SPATE" --socket "$work/far.sock" "$@"
}
far_is_up()
{
	far status >/dev/null 2>&1
}
wait_for 60 far_is_up

disks_make 2
settings+=('send_patience = "2m"; send : { tcp : { vanish = "3s"; }; };')
conf_write "$(stream_text 'format = "raw"; prefix = 8; payload = 1024;
	rate = "80Mbps";')"
spated_start
record_one a 40000
spate export a "$work/a.bytes" --quiet

like_a()
{
	far stop "$1" >/dev/null
	same "packets of $1" "$(far info "$1" --json | jq .packets)" 40000
	same "lost of $1" "$(far info "$1" --json | jq .packets_lost)" 0
	same "drops of $1" "$(far info "$1" --json | jq '.drops | add')" 0
	far export "$1" "$work/bytes" --quiet --force
	cmp "$work/bytes" "$work/a.bytes"
}

for to in 10.9.0.2 '[fd09::2]'; do
	name=b${#to}
	far record "$name" --stream t >/dev/null
	spate send a --to "tcp://$to:2630" --wait --json >"$work/out"
	same "reconnects" "$(tail -n 1 "$work/out" | jq .reconnects)" 0
	like_a "$name"
done

# ---- it vanishes ---------------------------------------------------------

far record lone --stream t >/dev/null
id=$(send_id a --to tcp://10.9.0.2:2630 --connections 2 --rate 60Mbps)
wait_for 20 is_moving "$id"
spate record beside --stream s >/dev/null
gen "${sent_packets[@]}" --packets 40000 --rate 50Mbps &
gen=$!
at_end 'kill $gen 2>/dev/null'
addresses del
noticed()
{
	sends "$id" '.why // ""' | grep -q gone
}
wait_for 60 noticed
addresses add
wait_for 120 has_send "$id" done
same "packets not sent" "$(sends "$id" .lost)" 0
[ "$(sends "$id" .reconnects)" -ge 1 ] || fail "it did not break"
like_a lone
wait $gen
settle beside 40000
spate stop beside >/dev/null
recorded_whole beside
spated_stop
