# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen (threads 0, 1) --> stream s --> a --> send --threads 0 --> stream t --> b
#                                       \---> send --threads 1 --/
#
# Two parts of a recording are two transfers: who has one of them is sent the
# other, although the packets of both are numbered from 0.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"

disks_make 2
port_find 2
vdif='format = "vdif"; payload = 1032; fps = 2000; threads = [ 0, 1 ];'
conf_write "$(stream_text "$vdif")
	t : { receive = \"tcp\"; frames = \"spt1\"; $vdif block = \"1M\";
	      listen = [ \"127.0.0.1:$((port + 1))\" ]; };"
spated_start
sent_packets=(--format vdif --prefix 0 --payload 1032 --fps 2000 --threads 0,1)
record_one a 8000

spate record b --stream t >/dev/null
for part in 0 1 1; do
	spate send a --to "tcp://127.0.0.1:$((port + 1))" --threads "$part" \
		--wait >"$work/out"
done
spate stop b >/dev/null
same "packets of both threads" "$(info b .packets)" 8000
same "drops" "$(info b '.drops | add')" 0
spated_stop
