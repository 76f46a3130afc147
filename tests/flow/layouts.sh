# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --(VDIF, some lost, swapped, twice)--> spated -> disk0 ... disk2
#                                                            |
#   layout mark6:  as sent?  <-- export      what others do  |
#                  as sent?  <---------------- layout_mark6.py
#   layout file:   the same
#
# Once with several blocks per disk and a short one at the end, once with fewer
# blocks than disks; then a counter that begins anew in mid-recording, whose
# last block before that closes early; then configurations that cannot be.
#
. "${BASH_SOURCE%/*}/functions.sh"
need_python struct

disks_make 3
settings=('memory = "128M";' 'reserve = "1M";')
payload=8032

# What the disks alone tell, without the daemon, and what is where.
told()
{
	"$SPATE" info "$taken" --json --disks "$(disks_list)" |
		jq -r '[.packets, .packets_lost, .bytes, .state, .layout] |
			join(" ")'
}

layout_begin()
{
	conf_write "$(stream_text "format = \"vdif\"; prefix = 8;
		fill = \"zero\"; layout = \"$1\";" |
		sed "s/block = \"1M\"/block = \"$2\"/")"
	"$SPATED" -c "$conf" -n >"$work/check"
	grep -q "layout    $1: " "$work/check" || fail "$(cat "$work/check")"
	spated_start
	take --format vdif --packets "$3" --loss 0.004 --reorder 0.004 \
		--duplicate 0.002 --dump "$work/ideal"
	take_is_true "$3" $payload
	lost=$(gen_did .lost)
	spate ls | grep -q "$taken" || fail "spate ls does not show $taken"
	spated_stop
	same "what the disks tell" "$(told)" \
		"$(($3 - lost)) $lost $(stat -c %s "$work/ideal") complete $1"
	"$SPATE" ls --disks "$(disks_list)" |
		grep -q "$taken" || fail "ls of the disks does not show $taken"
}

again()
{
	rm -rf "${disks[@]:?}" "$work/exported"
	mkdir "${disks[@]}"
	: >"$log"
}

as_sent()
{
	mv "$1" "$work/exported"
	same "packets not as sent in $1, and bytes in them that are not 0" \
		"$(holes $payload)" "$lost,0"
}

# ---- mark6 ----------------------------------------------------------------

mark6_look()
{
	local files=()

	for disk in "${disks[@]}"; do
		[ -d "$disk/$taken.spate" ] || fail "$disk has no folder"
		[ ! -f "$disk/$taken" ] || files+=("$disk/$taken")
		[ ! -e "$disk/$taken.spate/$taken.00000000" ]
	done
	[ "${#files[@]}" -ge "$1" ] || fail "only ${#files[@]} files"
	$python "$top_srcdir/tests/flow/layout_mark6.py" "${2:-}" "$work/joined" \
		$payload "${files[@]}" >"$work/blocks"
	same "block numbers that are missing" "$(cut -d' ' -f2 "$work/blocks")" 0
	as_sent "$work/joined"
}

layout_begin mark6 1M 3001
mark6_look 3 zero

# Two blocks that lie in the other order, as another disk's failure leaves them:
# we read them, and check says that others may not.
checked()
{
	"$SPATE" check "$taken" --disks "$(disks_list)" || [ $? -eq 1 ]
}
! checked | grep "lie behind later ones" || fail "check sees what is not there"
$python - "${disks[0]}/$taken" "${disks[0]}/$taken.spate/$taken.index" <<-END
	import struct, sys

	def swap(path, at, size):
	    with open(path, "r+b") as f:
	        f.seek(at)
	        one, two = f.read(size), f.read(size)
	        f.seek(at)
	        f.write(two + one)

	with open(sys.argv[1], "rb") as f:
	    size = struct.unpack("<IiiIi", f.read(20))[2]
	swap(sys.argv[1], 20, size)
	swap(sys.argv[2], 0, 64)
END
checked | grep -q "1 of its blocks lie behind later ones" ||
	fail "check says nothing of blocks in the wrong order: $(checked)"
"$SPATE" export "$taken" "$work/joined" --quiet --disks "$(disks_list)" ||
	[ $? -eq 1 ]
as_sent "$work/joined"
again
layout_begin mark6 64M 1000	# one block, of 8 MB
mark6_look 1 zero
same "files on three disks" "$(find "${disks[@]}" -maxdepth 1 -type f |
	wc -l)" 1

# ---- file -----------------------------------------------------------------

# The parts, put together by the indexes: 64-byte records.
file_join()
{
	$python - "$work/joined" "$taken" "${disks[@]}" <<-'END'
		import os, struct, sys
		out, name, blocks = sys.argv[1], sys.argv[2], []
		for disk in sys.argv[3:]:
		    here = os.path.join(disk, name, name)
		    index = open(here + ".index", "rb").read()
		    data = open(here + ".vdif", "rb") if \
		        os.path.exists(here + ".vdif") else None
		    for at in range(0, len(index), 64):
		        number, = struct.unpack_from("<Q", index, at)
		        bytes, = struct.unpack_from("<Q", index, at + 32)
		        if index[at + 54] == 1:
		            blocks.append((number, data.read(bytes)))
		    if data and data.read():
		        sys.exit("more data than the index of %s has" % disk)
		with open(out, "wb") as to:
		    for number, data in sorted(blocks):
		        to.write(data)
	END
}

again
layout_begin file 1M 3001
file_join
as_sent "$work/joined"
for disk in "${disks[@]}"; do
	[ -s "$disk/$taken/$taken.vdif" ] || fail "$disk has no data"
	within "blocks of 512 that $disk/$taken.vdif takes" 0 \
		"$(stat -c %b "$disk/$taken/$taken.vdif")" \
		$(($(stat -c %s "$disk/$taken/$taken.vdif") / 512 + 64))
done

# On one disk, it is the stream.
again
disks=("${disks[0]}")
layout_begin file 1M 3001
as_sent "${disks[0]}/$taken/$taken.vdif"

# ---- a restarted counter ----------------------------------------------------

# Blocks close early in mid-recording, twice; what is there of it can be read
# at any time, as it will be at the end.
restarts()
{
	local i

	again
	conf_write "$(stream_text "format = \"vdif\"; prefix = 8;
		layout = \"$1\";")"
	spated_start
	spate record restarts --stream s
	: >"$work/ideal"
	for i in 1 2 3; do
		gen --format vdif --packets $((1000 + i)) --rate 100Mbps \
			--dump "$work/part"
		cat "$work/part" >>"$work/ideal"
		settle restarts $((1000 * i + i * (i + 1) / 2))
	done
	wait_for 30 live_is_part
	spate stop restarts
	same lost "$(info restarts .packets_lost)" 0
	same runs "$(info restarts '.runs | length')" 3
	spate verify restarts
	rm -f "$work/exported"
	spate export restarts "$work/exported"
	cmp "$work/exported" "$work/ideal"
	refused "the name is taken" spate record restarts --stream s
	spated_stop
}

# More than the first pass.
live_is_part()
{
	local bytes

	rm -f "$work/exported"
	spate export restarts "$work/exported" --quiet
	bytes=$(stat -c %s "$work/exported")
	[ "$bytes" -gt $((1001 * payload)) ] || return 1
	cmp -n "$bytes" "$work/exported" "$work/ideal" ||
		fail "a live recording is not the beginning of what it becomes"
	same "state of a live one" "$(info restarts .state)" recording
}

disks=("$work"/disk{0,1,2})
mkdir -p "${disks[@]}"
settings+=('durable = "block";')
restarts mark6
$python "$top_srcdir/tests/flow/layout_mark6.py" back "$work/joined" $payload \
	"$work"/disk?/restarts >"$work/blocks"
# Every block is there in full, but for the last of each disk: what was filled
# up is behind the packets of each pass.
[ "$(stat -c %s "$work/joined")" -gt "$(stat -c %s "$work/ideal")" ] ||
	fail "no block was filled up"
restarts file

# ---- what cannot be ---------------------------------------------------------

cannot()
{
	conf_write "	s : { listen = [ \"127.0.0.1:$port$1\" ];
		$2
	};"
	status=0
	"$SPATED" -c "$conf" -n >"$work/check" 2>&1 || status=$?
	same "exit of spated -n with $2" $status 1
	grep -q "spate.conf:[0-9]*: stream s cannot be recorded with layout" \
		"$work/check" || fail "$(cat "$work/check")"
	grep -q "$3" "$work/check" || fail "$(cat "$work/check")"
}

for layout in mark6 file; do
	cannot "-$((port + 1))" "layout = \"$layout\";" "substreams"
	cannot "" "layout = \"$layout\"; format = \"spead\";" "heaps"
done
cannot "" 'layout = "mark6"; receive = "tcp"; frames = "plain";
	format = "raw"; payload = 8192;' "without any\|says what is one"
