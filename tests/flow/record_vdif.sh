# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --(VDIF, some lost, swapped, twice)--> spated -> disk0 ... disk3
#                                                            |
#   what was sent, had nothing been lost  <-- the same? -- export
#
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 4
conf_write "$(stream_text 'format = "vdif"; prefix = 8; fill = "zero";')"
spated_start
take --format vdif --packets 10000 --loss 0.004 --reorder 0.004 \
	--duplicate 0.002 --dump "$work/ideal"
take_is_true 10000 8032
same "disks in use" "$(info "$taken" '[.disks[] | select(.chunks > 0)] |
	length')" 4

# The disks alone, without the daemon, tell the same.
told=$(info "$taken" '[.packets, .packets_lost, .bytes, .drops]')
spated_stop
same "info from the disks" "$("$SPATE" info "$taken" --json --disks \
	"$(IFS=:; echo "${disks[*]}")" |
	jq -r '[.packets, .packets_lost, .bytes, .drops]')" "$told"
