# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated --+--> disks --> export --+
#                    +--> two receivers -----+-- the same bytes
#
# Packets with losses, rows of heaps and cubes, sent while they are recorded to
# a receiver that reads and one that stops for a while: fill and all.
#
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"

disks_make 2
port_find 4
settings=('memory = "64M";' 'reserve = "1M";' 'durable = "1s";')

# NAME's receiver HOW on a port, and the transfer to it: $id.
fickle()
{
	rm -f "$work/$2" "$work/$2.go"
	python3 "${BASH_SOURCE%/*}/send_fickle.py" "$2" "$3" "$work/$2" &
	at_end "kill $! 2>/dev/null"
	wait_for 20 test -e "$work/$2"
	id=$(send_id "$1" --follow --plain --to "tcp://127.0.0.1:$3")
}

# NAME STREAM GEN-ARGS: two runs of packets.
kind()
{
	local name=$1 how reads lags

	conf_write "$(stream_text "$2" 'blocks = 8;')"
	shift 2
	spated_start
	spate record "$name" --stream s >/dev/null
	fickle "$name" reads $((port + 2))
	reads=$id
	fickle "$name" lags $((port + 3))
	lags=$id
	gen "$@" --rate 100Mbps
	touch "$work/lags.go"
	gen "$@" --rate 50Mbps
	spate stop "$name" >/dev/null
	for id in $reads $lags; do
		wait_for 60 has_send "$id" done
	done
	spate export "$name" "$work/bytes" --quiet --force
	[ -s "$work/bytes" ] || fail "nothing was recorded of $name"
	for how in reads lags; do
		wait_for 20 cmp -s "$work/$how" "$work/bytes"
	done
	spated_stop
}

kind rows 'format = "spead";' \
	--format spead --heaps 40 --heap-bytes 300000 --packet 1472
kind cube 'format = "spead"; store = "cube"; item = 0x600A; payload = 70001;' \
	--format spead --heaps 160 --heap-bytes 70001 --packet 1472 \
	--loss 0.01 --reorder 0.01
kind vdif 'format = "vdif"; prefix = 8; payload = 8032;' \
	--format vdif --prefix 8 --packets 1500 --loss 0.02 --reorder 0.01
