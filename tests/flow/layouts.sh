# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --(VDIF, some lost, swapped, twice)--> spated -> disk0 ... disk2
#                                                            |
#   layout mark6:  as sent?  <-- export      what others do  |
#                  as sent?  <---------------- layout_mark6.py
#   layout file:   the same
#
# Once with several blocks per disk and a short one at the end of each, once
# with fewer blocks than disks.
#
. "${BASH_SOURCE%/*}/functions.sh"
need_python struct

disks_make 3
settings=('memory = "128M";' 'reserve = "1M";')
payload=8032

# What the disks alone tell, without the daemon, and what is where.
told()
{
	"$SPATE" info "$taken" --json --disks "$(IFS=:; echo "${disks[*]}")" |
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
	"$SPATE" ls --disks "$(IFS=:; echo "${disks[*]}")" |
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

layout_begin mark6 1M 10001
mark6_look 3 zero
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
layout_begin file 1M 10001
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
