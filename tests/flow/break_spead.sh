# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   hostile SPEAD --> spated -> disk0
#                                 |
#   exactly the good heaps  <-- export
#
# Every datagram that was sent is in the recording, or in one of the drops.
. "${BASH_SOURCE%/*}/functions.sh"
need python3

hostile=$top_srcdir/tests/flow/break_spead.py
disks_make 1
conf_write "$(stream_text 'format = "spead"; max_age = "1s";')"
spated_start
for scenario in $(python3 "$hostile" list); do
	spate record "$scenario" --stream s
	python3 "$hostile" send "$scenario" "$port" >"$work/gen.json"
	settle "$scenario" "$(gen_did .sent)"
	spate stop "$scenario"
	same "$scenario: all datagrams" "$(info "$scenario" .datagrams)" \
		"$(gen_did .sent)"
	same "$scenario: packets and drops" \
		"$(info "$scenario" '.packets + (.drops | add)')" \
		"$(gen_did .sent)"
	spate verify "$scenario"
	spate export "$scenario" "$work/exported"
	python3 "$hostile" check "$scenario" "$work/exported" ||
		fail "$scenario: what is recorded is not what was sent"
	rm "$work/exported"
done
same "lost of ten heaps that lack a piece" \
	"$(info never_complete '[.packets_lost, .heaps_incomplete] | @csv')" \
	10,10
