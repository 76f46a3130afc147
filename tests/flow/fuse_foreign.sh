# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh disable=SC2154
#
# What jive5ab, VLBI-streamer and Mark6 recorded is one file each through the
# mount, too:
#
#   foreign_make.py -> disk0 disk1 disk2 -> spatefs -> cmp

. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/foreign.sh"
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
here=$top_srcdir/tests/flow
at=$work/mnt
disks_make 3
small=(--packets 1500 --per-block 200)

everything()
{
	find "${disks[@]}" -printf '%p %s %T@ %m\n' | sort
}

# ---- as they should be --------------------------------------------------

make jive5ab j1 "${small[@]}"
make jive5ab name.with.dots "${small[@]}"
make jive5ab j4 "${small[@]}" --threads 4
make jive5ab jlost "${small[@]}" --threads 4 --lose 17 300 301
make jive5ab j5 --format mark5b --payload 10016 --per-block 64 --fps 100 \
	--packets 300
make jive5ab jraw --format raw "${small[@]}"
make jive5ab jfill "${small[@]}" --fill --lose 0 1 2 200 201 599 1499
make jive5ab jds_dsA "${small[@]}"
make jive5ab jds_dsB "${small[@]}" --lose 3
make streamer s1 --counter le64 --pad --per-block 504 --packets 1500
make streamer s5 --counter le32@4 --format mark5b --payload 5008 --pad \
	--per-block 129 --packets 1500 --lose 5 700
make streamer sraw --format raw --payload 8000 --pad --per-block 129 \
	--packets 500
make streamer s1crash --counter le64 --pad --per-block 504 --packets 1498 \
	--crash
make single sone --counter le64 "${small[@]}"
make sg2 g2 --payload 8224 --per-block 31 --packets 900
make sg1 g1 --payload 8224 --per-block 30 --packets 900
make sg2 gvtp --counter le64 --lose 1499 44 "${small[@]}"
make sg2 gext.vdif "${small[@]}"
# Since 2015 Mark6 has them in a folder.
mkdir "${disks[@]/%//data}"
for disk in "${disks[@]}"; do
	[ ! -e "$disk/g2" ] || mv "$disk/g2" "$disk/data/g2"
done
# A link, as people make them, and one that leaves the disk.
mkdir "${disks[0]}/old"
mv "${disks[0]}/j1" "${disks[0]}/old/elsewhere"
ln -s old/elsewhere "${disks[0]}/j1"
make jive5ab jout "${small[@]}"
mv "${disks[0]}/jout" "$work/jout"
ln -s "$work/jout" "${disks[0]}/jout"
rm -rf "${disks[1]}/jout" "${disks[2]}/jout"

# Names that no recorder of ours would take, and some that nobody could see or
# type: these are not shown, and harm nothing.
long=$(printf 'x%.0s' {1..130})
odd=("two words" "Größe_Δ北" " -f" "*" "a'b\"c\\d" '$(id)' "100%s%n" "x@..")
bad=($'new\nline' $'bell\a' ".hidden" "$long")
for name in "${odd[@]}" "${bad[@]}"; do
	make jive5ab "$name" --packets 200 --per-block 40
done
latin=$'latin_\xe4'
make jive5ab latin --packets 200 --per-block 40
for disk in "${disks[@]}"; do
	[ -d "$disk/latin" ] || continue
	for chunk in "$disk/latin/latin".*; do
		mv "$chunk" "$disk/latin/$latin.${chunk##*.}"
	done
	mv "$disk/latin" "$disk/$latin"
done
mv "$work/latin.ideal" "$work/$latin.ideal"
odd+=("$latin")

declare -A extension=([j5]=m5b [s5]=m5b [jraw]=raw [sraw]=raw)
names=(j1 name.with.dots j4 jlost j5 jraw jfill jds_dsA jds_dsB s1 s5 sraw s1crash
	sone g2 g1 gvtp gext "${odd[@]}")
before=$(everything)

# Also where others can look into what root mounted: what a link leads to is
# not theirs.
[ "$(id -u)" -ne 0 ] || others=,allow_other
fuse_start "$at" -o "disks=$(disks_list)${others:-}"
all_there()
{
	[ "$(find "$at" -mindepth 1 -maxdepth 1 ! -name .info ! -name by-thread \
		-printf x | wc -c)" -eq ${#names[@]} ]
}
wait_for 20 all_there
mv "$work/gext.vdif.ideal" "$work/gext.ideal"
for name in "${names[@]}"; do
	file=$name.${extension[$name]:-vdif}
	cmp "$at/$file" "$work/$name.ideal"
	same "size of $file" "$(stat -c %s "$at/$file")" \
		"$(stat -c %s "$work/$name.ideal")"
	[ "$name" = gext ] && name=gext.vdif
	jq -e '.state == "complete"' "$at/.info/$name.json" >/dev/null ||
		fail "$name: no such .info"
done
for name in jout "${bad[@]}"; do
	[ ! -e "$at/$name.vdif" ] || fail "'$name' is shown"
done
python3 "$here/fuse_reads.py" "$at/g1.vdif" "$work/g1.ideal"
python3 "$here/fuse_reads.py" "$at/s1.vdif" "$work/s1.ideal"
cat "$at"/by-thread/j4/[0-9].vdif >"$work/threads"
same "bytes of four threads" "$(stat -c %s "$work/threads")" \
	"$(stat -c %s "$work/j4.ideal")"
# Where packets are lost and no counter tells, the turn of the threads shifts:
# that is an error, and no packet is of another thread.
"$python" - "$at"/by-thread/jlost/[0-9].vdif <<-'END'
	import errno, os, struct, sys
	for path in sys.argv[1:]:
	    fd, at, bad = os.open(path, os.O_RDONLY), 0, 0
	    for at in range(0, os.fstat(fd).st_size, 1032):
	        try:
	            head = os.pread(fd, 32, at)
	            thread = struct.unpack_from("<I", head, 12)[0] >> 16 & 0x3FF
	            assert path.endswith(f"/{thread}.vdif"), (path, at, thread)
	        except OSError as e:
	            assert e.errno == errno.EIO, e
	            bad += 1
	    assert bad, path
END
within "lines about threads" 1 "$(grep -c "other threads" "$fuse_log")" 50
[ "$(grep -c "their names" "$fuse_log")" -le 1 ] ||
	fail "names that are not shown fill the log"
fuse_stop "$at"
same "what is on the disks" "$(everything)" "$before"

# ---- disks in any order, and one that is not there -----------------------

# What an export of the same disks has, is what the mount must have.
as_exported()
{
	local name

	fuse_start "$at" -o "disks=$(disks_list)$1"
	for name in j1 s1 s5 g1 g2; do
		spate export --quiet --force "$name" "$work/exported" \
			2>/dev/null || true
		cmp "$at/$name.${extension[$name]:-vdif}" "$work/exported"
	done
	fuse_stop "$at"
}

disks=("$work/disk2" "$work/disk0" "$work/disk1")
as_exported ""
cmp "$work/exported" "$work/g2.ideal"
disks=("$work/disk2" "$work/disk0")
as_exported ""
! cmp -s "$work/exported" "$work/g2.ideal" || fail "nothing was missing"
disks=("$work/disk1" "$work/nowhere")
as_exported ,nofail

# ---- blocks that are missing, stripped and filled ------------------------

disks=("$work/disk0" "$work/disk1" "$work/disk2")
for kind in jive5ab sg2; do
	make $kind whole_$kind --threads 2 "${small[@]}"
	make $kind gap_$kind --threads 2 --drop 3 4 "${small[@]}"
done
# What jive5ab filled itself is as if it were not there.
make jive5ab whole_filled --threads 2 "${small[@]}"
make jive5ab gap_filled --threads 2 "${small[@]}" --fill \
	--lose 200 201 202 399 $(seq 7 10 1499)

gap_is()
{
	local options=$1 kind
	shift

	fuse_start "$at" -o "disks=$(disks_list)$options"
	for kind in filled jive5ab sg2; do
		spate export --quiet --force gap_$kind "$work/exported" \
			2>/dev/null || true
		"$python" "$here/fuse_ideal.py" "$work/exported" \
			"$work/expected" 1032 "$@" \
			--ideal "$work/whole_$kind.ideal"
		cmp "$at/gap_$kind.vdif" "$work/expected"
		same "size of gap_$kind" "$(stat -c %s "$at/gap_$kind.vdif")" \
			"$(stat -c %s "$work/expected")"
	done
	fuse_stop "$at"
}

gap_is ""
gap_is ,fill=zero --fill zero
gap_is ,fill=invalid --fill invalid
gap_is ,fill=skip --fill skip
gap_is ,strip=32,fill=skip --fill skip --strip 32
cmp "$work/expected" <("$python" "$here/fuse_ideal.py" \
	"$work/gap_sg2.ideal" /dev/stdout 1032 --strip 32)

# By thread, too: in its place is fill that says which thread it is of.
fuse_start "$at" -o "disks=$(disks_list)"
spate export --quiet --force gap_filled "$work/exported"
for thread in 0 2; do
	"$python" "$here/fuse_ideal.py" "$work/exported" "$work/expected" 1032 \
		--ideal "$work/whole_filled.ideal" --thread $thread --fill invalid
	[ -s "$work/expected" ]
	cmp "$at/by-thread/gap_filled/$thread.vdif" "$work/expected"
done
fuse_stop "$at"

# Of what nobody knows the format the counter is part of a packet: -o strip
# is for that.
make streamer counted --format raw --payload 8000 --counter le64 --pad \
	--per-block 129 --packets 500
fuse_start "$at" -o "disks=$(disks_list),strip=8"
cmp "$at/counted.raw" "$work/counted.ideal"
fuse_stop "$at"
