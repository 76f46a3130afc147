# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# Views of recordings, each held against what a small program makes of an
# export, packet by packet:
#
#   gen --(lost, swapped)--> spated -> disks -> export -> fuse_ideal.py --+
#                                         |                             cmp
#                                         +--> spatefs -o ... ------------+
#
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
need python3
here=$top_srcdir/tests/flow
at=$work/mnt

# Mounts it with these options, unless it is, and fails unless FILE is what an
# export shows through fuse_ideal.py with the rest of the options.
mounted=
view_is()
{
	local options=$1 file=$2
	shift 2

	[ "$mounted" = "with $options" ] || {
		views_end
		fuse_start "$at" -o "disks=$(disks_list)$options"
		mounted="with $options"
	}

	python3 "$here/fuse_ideal.py" "$work/exported" "$work/expected" \
		"$packet" --ideal "$work/ideal" --format "$format" \
		--parts "$parts" --fps "$fps" "$@"
	python3 "$here/fuse_reads.py" "$at/$file" "$work/expected" 1 50
	cmp "$at/$file" "$work/expected"
}

views_end()
{
	[ -z "$mounted" ] || fuse_stop "$at"
	mounted=
}

disk_back()
{
	views_end
	mv "$work/gone" "${disks[1]}/$taken"
}

# Takes one recording of what gen makes of its arguments, as $taken.
recorded()
{
	views_end
	disks=()
	rm -rf "$work"/disk* "$work/gone"
	disks_make 3
	conf_write "$(stream_text "$1")"
	shift
	spated_start
	take --packets 3000 --dump "$work/ideal" --loss 0.02 --reorder 0.004 "$@"
	spated_stop
	rm -f "$work/exported"
	exported_again
}

exported_again()
{
	"$SPATE" export "$taken" "$work/exported" --force --quiet \
		--disks "$(disks_list)" 2>/dev/null || [ $# -gt 0 ]
}

# One chunk of it is gone: it is filled, though its index tells of it.
chunk_gone()
{
	views_end
	rm "$(find "${disks[@]}" -name "$taken.00000001")"
	exported_again anyway
}

# A disk is gone, with its index.
disk_gone()
{
	views_end
	mv "${disks[1]}/$taken" "$work/gone"
	exported_again anyway
}

# ---- VDIF, four threads, filled as invalid ------------------------------

packet=1032 format=vdif fps=100 parts=1
recorded 'format = "vdif"; sequence = "time"; prefix = 0; payload = 1032;
	fill = "invalid"; threads = [ 2, 0, 3, 1 ]; fps = 100;' \
	--format vdif --prefix 0 --sequence time --payload 1032 \
	--threads 2,0,3,1 --fps 100 --start 2026-11-20T09:59:59Z
file=$taken.vdif
view_is ,strip=8 "$file" --strip 8
view_is ,fill=invalid "$file" --fill invalid
view_is ,fill=zero "$file" --fill zero
view_is ,fill=skip "$file" --fill skip
view_is ,strip=32,fill=skip "$file" --strip 32 --fill skip
view_is ,strip=32,fill=skip \
	"$file@2026-11-20T10:00:01Z..2026-11-20T10:00:03Z" --fill skip \
	--strip 32 --since 2026-11-20T10:00:01Z --until 2026-11-20T10:00:03Z
view_is ,strip=32 "by-thread/$taken/2.vdif" --thread 2 --strip 32
view_is "" "$file"
view_is "" "by-thread/$taken/3.vdif" --thread 3

# Of some time: between two frames, on one, open to one side, and on from the
# middle of a second.
view_is "" "$file@2026-11-20T10:00:00Z..2026-11-20T10:00:02Z" \
	--since 2026-11-20T10:00:00Z --until 2026-11-20T10:00:02Z
view_is "" "$file@2026-11-20T10:00:00.005Z..2026-11-20T10:00:02.375Z" \
	--since 2026-11-20T10:00:00.005Z --until 2026-11-20T10:00:02.375Z
view_is "" "$file@2026-11-20T10:00:03.14Z.." --since 2026-11-20T10:00:03.14Z
view_is "" "$file@..2026-11-20T10:00:00Z" --until 2026-11-20T10:00:00Z
view_is "" "by-thread/$taken/0.vdif@2026y324d10h00m01s..2026y324d10h00m04s" \
	--thread 0 --since 2026-11-20T10:00:01Z --until 2026-11-20T10:00:04Z

# All of it, nothing of it, and what is no time at all.
cmp "$at/$file@2026-11-20T09:00:00Z..2026-11-20T11:00:00Z" "$work/exported"
same "bytes of no time" \
	"$(wc -c <"$at/$file@2026-11-20T11:00:00Z..2026-11-20T12:00:00Z")" 0
for wrong in @ @.. @x..y @2026-11-20T10:00:02Z..2026-11-20T10:00:01Z \
	@2026-11-20T10:00:00Z @2026-11-20T10:00:00Z...2026-11-20T10:00:02Z; do
	! cat "$at/$file$wrong" >/dev/null 2>&1 ||
		fail "'$wrong' is a range of time"
done
same "what is in the list" "$(ls "$at")" "$(printf '%s\n' by-thread "$file")"
same threads "$(ls "$at/by-thread/$taken" | xargs)" "0.vdif 1.vdif 2.vdif 3.vdif"

# The same where a disk is gone, or a chunk.
disk_gone
view_is "" "$file"
view_is ,fill=skip "$file" --fill skip
disk_back
chunk_gone
view_is "" "$file"
view_is ,fill=zero,strip=8 "$file" --fill zero --strip 8
view_is ,strip=16 "by-thread/$taken/1.vdif" --thread 1 --strip 16

# ---- Mark5B in halves, filled with zeros --------------------------------

packet=5008 format=mark5b fps=800 parts=2
recorded 'format = "mark5b"; prefix = 8; payload = 5008; fps = 800;
	fill = "zero";' --format mark5b --payload 5008 --fps 800 \
	--start 2026-11-20T09:59:59Z
file=$taken.m5b
view_is ,fill=invalid "$file" --fill invalid
view_is ,fill=skip,strip=1 "$file" --fill skip --strip 1
disk_gone
view_is ,fill=skip "$file" --fill skip
view_is ,strip=5000,fill=zero "$file" --fill zero --strip 5000

# ---- what does not fit --------------------------------------------------

views_end
# Nothing is left of a packet: it cannot be read, and nothing else suffers.
fuse_start "$at" -o "disks=$(disks_list),strip=5008"
ls -lR "$at" >"$work/list" 2>&1 || true
! cmp -s "$at/$file" "$work/exported" || fail "strip=5008 was taken for 0"
fuse_stop "$at"
for wrong in strip=-1 strip=x strip=99999999999 fill=no fill= cache=0x \
	timeout=never threads=x nonsense disks=; do
	if "$SPATEFS" "$at" -f -o "disks=$(disks_list),$wrong" \
		>"$work/said" 2>&1; then
		fail "-o $wrong was taken"
	fi
	! fuse_mounted "$at" || fail "-o $wrong left a mount"
	grep -q "${wrong%%=*}" "$work/said" ||
		fail "-o $wrong: says only '$(cat "$work/said")'"
done
