# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
# As record_vdif.sh; the sequence is in words 6 and 7 of the header.
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 4
conf_write "$(stream_text 'format = "vdif"; sequence = "edv2"; prefix = 0;
	fill = "zero";')"
spated_start
take --format vdif --sequence edv2 --prefix 0 \
	--packets 6000 --loss 0.004 --reorder 0.004 --duplicate 0.002 \
	--dump "$work/ideal"
take_is_true 6000 8032
spated_stop
