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
[ "$(gen_did .lost)" -gt 0 ] || fail "nothing was lost on purpose"

same state "$(info "$taken" .state)" complete
same packets "$(info "$taken" .packets)" $((10000 - $(gen_did .lost)))
same lost "$(info "$taken" .packets_lost)" "$(gen_did .lost)"
same reordered "$(info "$taken" .packets_reordered)" "$(gen_did .swapped)"
same duplicates "$(info "$taken" .drops.duplicate)" "$(gen_did .duplicated)"
same drops "$(info "$taken" '.drops | add')" "$(gen_did .duplicated)"
same runs "$(info "$taken" '.runs | length')" 1
same "disks in use" "$(info "$taken" '[.disks[] | select(.chunks > 0)] |
	length')" 4

spate verify "$taken"
spate export "$taken" "$work/exported"
same "packets that are not as sent" \
	"$(holes "$work/exported" "$work/ideal" 8032)" "$(gen_did .lost)"
same "bytes that are neither sent nor fill" \
	"$({ cmp -l "$work/exported" "$work/ideal" || true; } |
		awk '$2 != 0 { n++ } END { print n + 0 }')" 0

# The disks alone, without the daemon, tell the same.
whole=$(info "$taken" '[.packets, .packets_lost, .bytes, .drops]')
spated_stop
same "info from the disks" "$("$SPATE" info "$taken" --json --disks \
	"$(IFS=:; echo "${disks[*]}")" |
	jq -r '[.packets, .packets_lost, .bytes, .drops]')" "$whole"
