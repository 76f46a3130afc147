# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   another namespace: spate gen --> f0 ==x== n0 --> spated, sockets and rings
#
# An interface that goes down while it is recorded from: status and log name the
# link that does not hold, with the time since when, for each recording; when it
# is up again the same recordings go on, and are well.
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

need ip nsenter

separate()
{
	[ "$(readlink "/proc/$far/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

unshare -n sleep 600 &
far=$!
at_end "kill $far"
wait_for 10 separate
ip link set lo up
ip link add n0 type veth peer name f0 netns "$far" || skip "no veth pairs here"
ip address add 10.4.0.1/24 dev n0
ip link set n0 up
nsenter -t "$far" -n ip address add 10.4.0.2/24 dev f0
nsenter -t "$far" -n ip link set f0 up

# flow PORT: packets come until the test ends, or the network drops them
flow()
{
	nsenter -t "$far" -n "$SPATE" gen --to "udp://10.4.0.1:$1" \
		--format raw --payload 1024 --prefix 8 --sequence le64@0 \
		--rate 10Mbps --for 600s --quiet >"$work/gen$1" 2>&1 &
	at_end "kill $! 2>/dev/null"
}

# all_have FILTER: is it so for both recordings?
all_have()
{
	[ "$(spate status --json | jq ".recordings | length == 2 and
		all(.[]; $1)")" = true ]
}

packets()
{
	spate status --json | jq '[.recordings[].packets] | add'
}

keys='format = "raw"; payload = 1024; prefix = 8; sequence = "le64@0";
	block = "1M"; };'
disks_make 1
settings=('memory = "128M";' 'reserve = "1M";' 'durable = "1s";')
conf_write "sockets : { listen = [ \"n0@10.4.0.1:46227\" ]; $keys
rings : { receive = \"fanout\"; rings = 1; ring = \"4M\";
	listen = [ \"n0@10.4.0.1:46228\" ]; $keys"
spated_start
spate record sockets --stream sockets --quiet
spate record rings --stream rings --quiet 2>"$work/rings" || {
	grep -q CAP_NET_RAW "$work/rings" || fail "$(cat "$work/rings")"
	skip "no packet rings here"
}
flow 46227
flow 46228
wait_for 30 all_have '.well and .packets > 1000'
wait_for 30 all_have '.durable > 0'

for round in 1 2; do
	ip link set n0 down
	before=$(date +%s)
	wait_for 30 all_have '[.links[] | select(.well | not) | .link] == ["arrive"]'
	spate status >"$work/said"
	for name in sockets rings; do
		grep -q "$name: no packet comes, since 20" "$work/said" ||
			fail "$name: $(cat "$work/said")"
		wait_for 20 eval '[ "$(grep -c "$name: no packet comes, for" \
			"$log")" = "$round" ]'
	done
	same "since when, to the second or two" "$(spate status --json |
		jq --argjson at "$before" '[.recordings[].links[] |
			select(.link == "arrive") | .since |
			sub("\\.[0-9]*Z$"; "Z") | fromdate - $at |
			. >= -2 and . <= 5] | unique' | jq -c .)" '[true]'
	was=$(packets)
	ip link set n0 up
	wait_for 30 all_have .well
	wait_for 30 eval '[ "$(packets)" -gt $((was + 1000)) ]'
	for name in sockets rings; do
		wait_for 20 eval '[ "$(grep -c "$name: is well again: packets come" \
			"$log")" = "$round" ]'
	done
done

for name in sockets rings; do
	[ "$(info "$name" .packets_lost)" -gt 0 ] || fail "$name lost nothing"
	spate stop "$name" --quiet
	spate verify "$name"
done
spated_stop
