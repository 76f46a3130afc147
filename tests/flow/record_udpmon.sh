# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
# As record_vdif.sh; a big-endian counter, and data that says nothing.
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 4
conf_write "$(stream_text 'format = "udpmon"; prefix = 8; payload = 4096;
	fill = "zero";')"
spated_start
take --format udpmon --prefix 8 --payload 4096 \
	--packets 8000 --loss 0.004 --reorder 0.004 --duplicate 0.002 \
	--dump "$work/ideal"
take_is_true 8000 4096
spated_stop
