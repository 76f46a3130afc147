# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spead2 --(visibilities of 512 stations, 2 channels)--> spated -> disk0
#
# Heaps of 4.4 MB whose visibilities begin at an odd byte; at 1472 bytes that
# is behind the first packet.  As heaps, and as a cube.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/spead.sh"
need_python spead2
port_find 2

settings=('memory = "160M";' 'reserve = "1M";')
disks_make 1
conf_write "$(spead_stream 2 'block = "10M"; blocks = 12;')"
spated_start
for packet in 1472 8972; do
	spead_take 2 --baselines 131328 --heaps 3 --packet $packet --controls
	spead_is_true
	same "lost at $packet" "$(info "$taken" .packets_lost)" 0
done
spated_stop

conf_write "$(spead_stream 2 'block = "10M"; blocks = 12; store = "cube";
	item = 0x600A; payload = 4465152; channels_per_file = 2;')"
spated_start
spead_take 2 --baselines 131328 --heaps 5 --packet 1472
spate verify "$taken"
rm -rf "$work/cube"
spate export "$taken" "$work/cube"
"$python" "$top_srcdir/tests/flow/check_cube.py" "$work"/cube/*.dat 0x600A 1 \
	"$work/sent.0" "$work/sent.1"
