# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   disks = [ a, b ]   b is a link to a
#
# One folder by two names is one disk, also where it came later than the
# daemon; and the other name takes its place when the first one goes.
. "${BASH_SOURCE%/*}/functions.sh"

disks=("$work/a" "$work/b")
conf_write "$(stream_text 'format = "raw"; sequence = "le64@0"; prefix = 8;
	payload = 1024;')"

takes_part()
{
	[ "$(spate disks --json | jq -r 'select(.path and
		(.state == "idle" or .state == "writing")) | .path' |
		paste -sd,)" = "$1" ]
}

# A disk counts as idle until its writer has looked for the folder.
spated_start
wait_for 30 takes_part ""
ln -s a "$work/b"
mkdir "$work/a"
wait_for 30 takes_part "$work/a"
wait_for 30 grep -q "b: it is the folder of another disk" "$log"
wait_for 30 takes_part "$work/a"
spate record r --stream s --quiet
gen --format raw --sequence le64@0 --payload 1024 --rate 100Mbps --packets 5000
settle r 5000
spate stop r >/dev/null
same "packets" "$(info r .packets)" 5000
same "dropped" "$(info r '.drops | add')" 0
same "disks" "$(info r '.disks | length')" 1
rm "$work/b"
mv "$work/a" "$work/b"
wait_for 30 takes_part "$work/b"
spated_stop
