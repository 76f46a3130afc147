# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> 4 ports --> one recording --> spate send --> 4 ports
#
# Each substream goes to a port of its own, or one of them alone to one port.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_udp.sh
. "${BASH_SOURCE%/*}/functions_udp.sh"

need python3
port_find 8
back=$((port + 4))
disks_make 2
conf_write "	s : { listen = [ \"127.0.0.1:$port-$((port + 3))\" ];
	format = \"raw\"; payload = 1000; prefix = 8; sequence = \"le64@0\";
	block = \"64K\"; };"
spated_start
spate record take --stream s >/dev/null
"$SPATE" gen --to "udp://127.0.0.1:$port-$((port + 3))" --format raw \
	--payload 1000 --prefix 8 --sequence le64@0 --packets 1000 \
	--rate 80Mbps --json >"$work/gen.json"
n=$(gen_did .sent)
settle take "$n"
spate stop take >/dev/null
same "recorded" "$(info take .packets)" "$n"

# look N FILE SUB: an ear has the bytes of that substream
look()
{
	spate export take "$work/exported" --sub "$3" >/dev/null
	bare "$2" 8 | cmp - "$work/exported"
	rm "$work/exported"
}

for to in "$back" "$back-$((back + 3))"; do
	heard back "$n" 127.0.0.1 "$back-$((back + 3))" \
		take --to "udp://127.0.0.1:$to"
	for sub in 0 1 2 3; do
		look "$n" "$work/back.$sub" $sub
	done
done

heard back $((n / 4)) 127.0.0.1 "$back-$((back + 3))" \
	take --to "udp://127.0.0.1:$back" --sub 2
look $((n / 4)) "$work/back.0" 2
same "other ports" "$(cat "$work"/back.[123] | wc -c)" 0

refused "4 substreams" spate send take --wait \
	--to "udp://127.0.0.1:$back-$((back + 1))"
spated_stop

# A cube has no packets any more: it is refused, and said why.
conf_write "$(stream_text 'format = "spead"; store = "cube"; item = 0x600A;
	payload = 70001;')"
spated_start
spate record cube --stream s >/dev/null
gen --format spead --heaps 20 --heap-bytes 70001 --packet 8192 --rate 80Mbps
settle cube "$(gen_did .sent)"
spate stop cube >/dev/null
refused "a cube is one item" spate send cube --to "udp://127.0.0.1:$back" --wait
spated_stop
