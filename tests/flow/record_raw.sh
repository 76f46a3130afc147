# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
# As record_vdif.sh; a counter of 32 bits somewhere, and nothing else known.
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 4
conf_write "$(stream_text 'format = "raw"; prefix = 16; sequence = "le32@4"; payload = 1472;
	fill = "zero";')"
spated_start
take --format raw --prefix 16 --sequence le32@4 --payload 1472 \
	--packets 20000 --loss 0.004 --reorder 0.004 --duplicate 0.002 \
	--dump "$work/ideal"
take_is_true 20000 1472

# Nothing is overwritten unasked; an empty file is nothing.
echo mine >"$work/mine"
refused "--force" spate export "$taken" "$work/mine"
same "what was there" "$(cat "$work/mine")" mine
: >"$work/empty"
spate export "$taken" "$work/empty"
spate export --force "$taken" "$work/mine"
cmp "$work/empty" "$work/exported"
cmp "$work/mine" "$work/exported"
spated_stop
