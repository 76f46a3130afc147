# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
# As record_vdif.sh; a frame comes in two packets, as FiLa10G sends them.
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 4
conf_write "$(stream_text 'format = "mark5b"; prefix = 8; payload = 5008;
	fill = "zero";')"
spated_start
take --format mark5b --prefix 8 --payload 5008 \
	--packets 8000 --loss 0.004 --reorder 0.004 --duplicate 0.002 \
	--dump "$work/ideal"
take_is_true 8000 5008
spated_stop
