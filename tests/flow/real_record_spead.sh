# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spead2 --(heaps, 3 ports)--> spated -> disk0, disk1
#                                             |
#   the same heaps in memory  <-- spead2 --  export
#
# At both packet sizes, with descriptors in every heap or in the first alone,
# with control heaps, repeated items, and packets of several heaps in turn.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/spead.sh"
need_python spead2
port_find 3

disks_make 2
conf_write "$(spead_stream 3 'block = "1M";')"
spated_start
for how in \
	"--packet 1472 --descriptors all --controls" \
	"--packet 8968 --descriptors all --controls" \
	"--packet 8968 --descriptors first --kind meerkat" \
	"--packet 1472 --descriptors all --repeat" \
	"--packet 1472 --mixed 4 --heaps 16 --controls" \
	"--packet 8968 --first 7 --step 3 --heaps 30 --baselines 100"; do
	# shellcheck disable=SC2086
	spead_take 3 $how
	spate verify "$taken"
	spead_is_true
	same "lost ($how)" "$(info "$taken" .packets_lost)" 0
	same "drops ($how)" "$(info "$taken" '.drops | add')" 0
	same "heaps ($how)" "$(info "$taken" .heaps)" "$(cat "$work/heaps")"
	same "in part ($how)" "$(info "$taken" .heaps_incomplete)" 0
done
