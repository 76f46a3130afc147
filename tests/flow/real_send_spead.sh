# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spead2 --> spated --> disks --> spate send --(UDP)--> spead2
#   spate gen --> spated --> disks --> spate send --(UDP)--> spead2
#
# A recorded stream of heaps, sent again, is decoded by spead2's own receiver
# heap for heap: start and stop, descriptors, and every item.
. "${BASH_SOURCE%/*}/functions.sh"

need_python spead2
port_find 2
back=$((port + 1))
disks_make 2
conf_write "$(stream_text 'format = "spead";')"
spated_start

# again NAME SEND_ARGS: what spead2 decodes is what the recording has
again()
{
	local name=$1
	shift

	rm -f "$work/exported"
	spate export "$name" "$work/exported"
	"$python" "$top_srcdir/tests/flow/real_send_spead.py" receive "$back" \
		"$work/exported" "$SPATE" --socket "$socket" send "$name" \
		--to "udp://127.0.0.1:$back" --wait "$@"
}

number=0
for how in "--packet 1472" "--packet 8972 --flavour 40 --descriptors all"; do
	number=$((number + 1))
	spate record "gen$number" --stream s >/dev/null
	# shellcheck disable=SC2086
	gen --format spead --heaps 30 --heap-bytes 300000 --rate 80Mbps $how
	settle "gen$number" "$(gen_did .sent)"
	spate stop "gen$number" >/dev/null
	same "lost" "$(info "gen$number" .packets_lost)" 0
	again "gen$number"
	again "gen$number" --packet 1472
	again "gen$number" --packet 9000
done

spate record real --stream s >/dev/null
"$python" "$top_srcdir/tests/flow/real_send_spead.py" send "$port" >"$work/n"
settle real "$(cat "$work/n")"
spate stop real >/dev/null
same "recorded" "$(info real '[.packets, .packets_lost] | @csv')" \
	"$(cat "$work/n"),0"
again real
again real --packet 1472

spated_stop
