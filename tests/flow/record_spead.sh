# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spate gen --(heaps in packets)--> spated --> disks --> export == --dump
#
# Heaps in a row: what was sent, as a file of packets; and with losses, every
# packet is in exactly one place.
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 2
conf_write "$(stream_text 'format = "spead";')"

# whole ARGS: without loss the recording is what the sender says, to the byte
whole()
{
	spated_start
	rm -rf "$work/exported" "$work/ideal"
	take --format spead --dump "$work/ideal" "$@"
	spate export "$taken" "$work/exported"
	cmp "$work/exported" "$work/ideal"
	same "lost" "$(info "$taken" '[.packets_lost, .heaps_incomplete,
		([.drops[]] | add)] | @csv')" 0,0,0
	spate verify "$taken"
	spated_stop
	rm -r "$work"/disk[01]/*
}

whole --heaps 40 --heap-bytes 300000 --packet 1472
whole --heaps 40 --heap-bytes 300000 --packet 8972 --segment 0
whole --heaps 400 --heap-bytes 8192 --packet 9000
whole --heaps 40 --heap-bytes 300000 --packet 8972 --flavour 40 \
	--descriptors all --step 8

# With losses every packet that was sent is in exactly one place, and what is
# not there is known: a lost packet is missing, whichever heap it was of.
spated_start
take --format spead --heaps 60 --heap-bytes 300000 --packet 1472 \
	--loss 0.01 --reorder 0.01 --duplicate 0.005 --dump "$work/ideal"
lost=$(gen_did .lost)
[ "$lost" -gt 0 ] || fail "nothing was lost"
same "lost" "$(info "$taken" .packets_lost)" "$lost"
same "sent" "$(info "$taken" '.packets + ([.drops[]] | add)')" \
	"$(gen_did .sent)"
same "twice" "$(info "$taken" '[.drops[]] | add')" "$(gen_did .duplicated)"
spate verify "$taken"
spated_stop
