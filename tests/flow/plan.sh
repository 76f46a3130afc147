# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# What `spated -n` says of streams of many ports, of heaps and of cubes: how
# they are cut into blocks, and how much memory that takes.
. "${BASH_SOURCE%/*}/functions.sh"

# plan STREAM TEXT...: a stream with these keys is good, and these are told
listen=0.0.0.0:41000-41431
plan()
{
	local text

	conf_write "	s : { listen = [ \"$listen\" ]; $1 };"
	shift
	"$SPATED" -n -c "$conf" >"$work/out" 2>&1
	for text; do
		grep -qF -- "$text" "$work/out" ||
			fail "no '$text' in: $(cat "$work/out")"
	done
}

# wrong STREAM TEXT...
wrong()
{
	local text

	conf_write "	s : { listen = [ \"0.0.0.0:41000-41431\" ]; $1 };"
	shift
	for text; do
		refused "$text" "$SPATED" -n -c "$conf"
	done
}

disks_make 4
settings=('memory = "8G";')
plan 'format = "spead"; block = "8M";' \
	'from      432 substreams' \
	'heaps     spead, whole, up to 8388608 bytes each' \
	'memory    876 blocks (2 x 432 substreams + 2 x 4 disks + 4), 6.8'
plan 'format = "spead"; store = "cube"; item = 0x600A; payload = 1000000;
	block = "8M"; channels_per_file = 4;' \
	'heaps     spead, 1000000 bytes of item 0x600a of each' \
	'time      the count of the heap' \
	'block     8 heaps, 8000000 bytes' \
	'files     4 substreams in each'
plan 'format = "spead"; store = "cube"; item = 0x600A; payload = 4194304;
	time = "0x1600"; time_step = 512; block = "1M";' \
	'time      item 0x1600, in steps of 512' \
	'block     1 heaps, 4194304 bytes'
plan 'format = "raw"; payload = 1000; block = "1M";' \
	'packet    0 + 1000 bytes, raw' 'from      432 substreams'

# Any number of disks: `memory` has room for them where nobody says how large it
# is; where somebody does, there are fewer blocks, and a line says what would do.
settings=()
disks_make 32
disks36='format = "raw"; payload = 4096; sequence = "arrival"; block = "32M";'
listen=0.0.0.0:41000
# 78 blocks of 32M, or an eighth of what the machine has, and never above half.
expected=$(awk -v pages="$(getconf _PHYS_PAGES)" -v page="$(getconf PAGESIZE)" \
	'BEGIN {
		all = pages * page
		n = 78 * 2 ^ 25 > all / 8 ? 78 * 2 ^ 25 : all / 8
		n = n < all / 2 ? n : all / 2
		printf "%.1f GiB\n", n / 2 ^ 30
	}')
plan "$disks36" "memory   $expected" 'memory    78 blocks, 2.4 GiB'
settings=('memory = "1G";')
plan "$disks36" 'memory   1.0 GiB' 'memory    32 blocks, ' \
	'stream s has 32 of the 78 blocks that it would use on 36 disks' \
	'memory = "2497M";'
listen=0.0.0.0:41000-41431
disks=("${disks[@]:0:4}")
settings=('memory = "8G";')

# A payload of VDIF is not meant where nothing is said.
wrong 'format = "spead"; store = "cube"; item = 0x600A;' \
	'a cube needs to know how many bytes the item has' 'payload = BYTES'
wrong 'format = "spead"; block = "64M";' \
	'memory = 8.0 GiB is too small for stream s, which needs 54.' \
	'876 blocks (2 x 432 substreams + 2 x 4 disks + 4) of 64.0 MiB' \
	'set memory to at least' "\`block\` or \`blocks\` lower"
wrong 'format = "spead"; block = "1M"; blocks = 800;' \
	'two are open for each of its 432 substreams' \
	'use at least 866, better 876'
wrong 'format = "vdif"; split = "thread"; threads = [ 0 ]; block = "1M";' \
	'it has substreams'
wrong 'format = "spead"; split = "thread"; threads = [ 0 ];' 'split'
