# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# The log as objects: each line is one, and says about what.
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 1
conf_write "$(stream_text 'format = "raw"; payload = 1024; sequence = "le64@0";')"
spated_start --log-json
spate record 'r"1' --stream s --quiet && fail "it takes such a name"
spate record r1 --stream s --quiet
spate stop r1 --quiet
spated_stop
lines=$(wc -l <"$log")
within "lines" 4 "$lines" 100
same "objects" "$(jq -c 'select(.time and .level and .text and
	has("subject"))' "$log" | wc -l)" "$lines"
same "what is said of r1" "$(jq -r 'select(.subject == "r1") | .level' "$log" |
	sort -u)" info
