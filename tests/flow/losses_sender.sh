# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen, threads 0 and 1, loses nothing --.
#                                          >--> one stream: who lost is told
#   gen, threads 2 and 3, loses some  ----'
#
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 1
conf_write "$(stream_text 'format = "vdif"; payload = 1032; prefix = 0;
	sequence = "time"; threads = [ 0, 1, 2, 3 ]; fps = 2000;')"
spated_start
spate record r --stream s --quiet
loss=(0 0.05)
threads=(0,1 2,3)
for i in 0 1; do
	"$SPATE" gen --to "udp://127.0.0.1:$port" --format vdif --prefix 0 \
		--sequence time --payload 1032 --fps 2000 --rate 34Mbps --for 6s \
		--start 2026-11-20T10:00:00Z --threads ${threads[i]} --loss ${loss[i]} \
		--json >"$work/gen$i.json" &
	senders[i]=$!
done
wait "${senders[0]}"
wait "${senders[1]}"
sent=$(jq -s '[.[].sent] | add' "$work"/gen?.json)
settle r "$sent"
spate status >"$work/status"
spate stop r >"$work/stopped"
# told FILTER: of what the daemon and the disks say
told()
{
	same "what the disks say" "$(info_on_disks)" "$(spate info r --json | jq -c .senders)"
	spate info r --json | jq -r "$1"
}
info_on_disks()
{
	"$SPATE" info r --json --disks "$(disks_list)" | jq -c .senders
}
lost=$(jq .lost "$work/gen1.json")
[ "$(info r .packets)" = "$sent" ] || skip "this machine lost packets"
same "who sent" "$(told '[.senders[] | .threads] | tostring')" '[[0,1],[2,3]]'
same "addresses" "$(told '[.senders[].address | select(. != null)] | unique | length')" 2
# Neither begins and ends just when the other does: what it did not send then is
# missing among what the other sent, and what is missing before the first packet of
# all, or behind the last, is not lost.
within "lost by the first" 0 "$(told '.senders[0].packets_lost')" 40
within "lost by the second" $((lost - 4)) "$(told '.senders[1].packets_lost')" $((lost + 40))
same "sums" "$(told '[.senders[] | .packets + .packets_lost] | add')" \
	"$(told '.packets + .packets_lost')"
address=$(told '.senders[1].address')
grep -q "sender *$address: [0-9]* of [0-9]* packets lost; threads 2, 3" "$work/stopped" ||
	fail "stop does not tell: $(cat "$work/stopped")"
spated_stop

# Of substreams, by what came to each.
port_find 2
conf_write "	s : { listen = [ \"127.0.0.1:$port-$((port + 1))\" ]; format = \"vdif\";
	prefix = 8; payload = 1032; block = \"1M\"; };"
spated_start
spate record ports --stream s --quiet
for i in 0 1; do
	"$SPATE" gen --to "udp://127.0.0.1:$((port + i))" --format vdif --prefix 8 \
		--payload 1032 --rate 20Mbps --packets 4000 --loss ${loss[i]} \
		--json >"$work/gen$i.json"
done
settle ports "$(jq -s '[.[].sent] | add' "$work"/gen?.json)"
spate stop ports --quiet
spate info ports --json >"$work/told"
same "substreams" "$(jq -c '[.senders[].subs]' "$work/told")" '[[0],[1]]'
same "lost by each" "$(jq -c '[.senders[].packets_lost]' "$work/told")" \
	"$(jq -c '[.subs[].packets_lost]' "$work/told")"
[ "$(jq '.senders[1].packets_lost' "$work/told")" -gt 0 ] || fail "nothing was lost"
