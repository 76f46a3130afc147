# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# A recording that was damaged in every way, under as many names, in one mount:
# each reads as its export, and those beside it do not suffer.
#
#   spated -> r on disk0, disk1, disk2 -> rmiss, rshort, rtwin ... -> spatefs
#
# Then its disk0 has errors, which come and go.
#
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
at=$work/mnt
size=1024

disks_make 3
conf_write "$(raw_stream 'fill = "zero";')"
spated_start
begin r
send good:0:2000 good:3500:2500
end r
spated_stop
ideal "$work/good" good:0:2000
ideal "$work/rest" good:3500:2500
{ cat "$work/good"; head -c $((1500 * size)) /dev/zero; cat "$work/rest"; } \
	>"$work/ideal"

# ---- damage ------------------------------------------------------------

# r once more, as $1, to be damaged; in $folder[i] on disk i.
again()
{
	local i file

	name=$1
	folder=()
	for i in 0 1 2; do
		folder+=("${disks[i]}/$name")
		mkdir "${folder[i]}"
		for file in "${disks[i]}"/r/r.*; do
			cp "$file" "${folder[i]}/$name.${file##*/r.}"
		done
	done
	all+=("$name")
}

# Of the chunks on disk $1 the $2th.
chunk()
{
	find "${folder[$1]}" -name "$name.0*" | sort | sed -n "$2p"
}

number()
{
	local file

	file=$(chunk "$1" "$2")
	printf '%d' "$((10#${file##*.}))"
}

lie()
{
	python3 "$here/lie.py" "${folder[$1]}/$name.index" "${@:2}"
}

all=()
again rgood
again rmiss
rm "$(chunk 0 2)" "$(chunk 1 1)"
again rshort
truncate -s 100000 "$(chunk 0 2)"
truncate -s 0 "$(chunk 1 2)"
again rlong
head -c 300000 /dev/urandom >>"$(chunk 0 2)"
again rtwin
cp "$(chunk 0 2)" "${folder[1]}/"
lie 1 from "${folder[0]}/$name.index" "$(number 0 2)"
again rtwinshort
cp "$(chunk 0 2)" "${folder[1]}/"
lie 1 from "${folder[0]}/$name.index" "$(number 0 2)"
truncate -s 4096 "$(chunk 0 2)"
again rfolder
file=$(chunk 0 2)
rm "$file" && mkdir "$file"
again rpipe
file=$(chunk 0 2)
rm "$file" && mkfifo "$file"
again rlink
file=$(chunk 0 2)
rm "$file" && ln -s /nonexistent "$file"
again rloop
file=$(chunk 0 2)
rm "$file" && ln -s "$file" "$file"
again rdev
file=$(chunk 0 2)
rm "$file" && ln -s /dev/zero "$file"
again rbytes
lie 0 set "$(number 0 2)" bytes 4096
again rhuge
lie 0 set "$(number 0 2)" bytes $((1 << 40))
again rfirst
lie 0 set "$(number 0 2)" first 77
again rswap
lie 0 swap "$(number 0 2)" "$(number 0 3)"
again rfar
lie 0 set "$(number 0 2)" number 99999998
for seed in {1..6}; do
	again rnoise$seed
	lie $((seed % 3)) noise $seed
done
again rtorn
truncate -s -100 "${folder[1]}/$name.index"
again rzeros
head -c 4096 /dev/zero >>"${folder[2]}/$name.index"
again rbit
printf '\377' | dd of="${folder[0]}/$name.index" bs=1 seek=84 conv=notrunc \
	status=none
again rindex
rm "${folder[0]}/$name.index"
again rnoindex
rm "${folder[@]/%//$name.index}"
again rmeta
rm "${folder[0]}/$name.meta.jsonl"
again rnometa
rm "${folder[@]/%//$name.meta.jsonl}"
again rbadmeta
for i in 0 1 2; do
	head -c 5000 /dev/urandom >"${folder[i]}/$name.meta.jsonl"
done
again rnothing
rm "${folder[@]/%//$name.index}" "${folder[@]/%//$name.meta.jsonl}"
again rdisk
rm -r "${folder[1]}"
again rbadsum
printf 'x' | dd of="$(chunk 0 2)" bs=1 seek=5000 conv=notrunc status=none

# ---- all of it ---------------------------------------------------------

# What export can read of it is what the mount shows; of what claims to be a
# terabyte, a look here and there must do.
as_exported()
{
	local status=0 bytes

	bytes=$(info_disks "$1" | jq .bytes) 2>/dev/null || bytes=
	if [ -z "$bytes" ]; then
		! cat "$at/$1.raw" >/dev/null 2>&1 ||
			fail "$1 is not known, but read"
		return
	fi
	# Noise may make it one of several substreams.
	if [ -d "$at/$1" ]; then
		cat "$at/$1"/* >/dev/null 2>&1 || true
		return
	fi
	same "$1: size" "$(stat -c %s "$at/$1.raw")" "$bytes"
	if [ "$bytes" -gt 100000000 ]; then
		here_and_there "$at/$1.raw"
		return
	fi
	"$SPATE" export "$1" "$work/exported" --quiet --force \
		--disks "$(disks_list)" >"$work/said" 2>&1 || status=$?
	[ $status -eq 0 ] || grep -q "not all of it is data" "$work/said" ||
		fail "export: $(cat "$work/said")"
	cmp "$at/$1.raw" "$work/exported" || fail "$1: not as its export"
	exported_too=$((exported_too + 1))
}

here_and_there()
{
	python3 - "$1" <<-'END'
		import errno, os, random, sys
		fd = os.open(sys.argv[1], os.O_RDONLY)
		size = os.fstat(fd).st_size
		for _ in range(100):
		    try:
		        at = random.randrange(size)
		        got = os.pread(fd, 10000, at)
		        assert len(got) == min(10000, size - at), (at, len(got))
		    except OSError as e:
		        assert e.errno == errno.EIO, e
	END
}

listed()
{
	[ "$(find "$at" -maxdepth 1 -name "r*.raw" | wc -l)" -ge \
		$((${#all[@]} - 4)) ]
}

exported_too=0
fuse_start "$at" -o "disks=$(disks_list),timeout=20s"
wait_for 20 listed
for name in "${all[@]}"; do
	as_exported "$name"
done
within "recordings that are exported" $((${#all[@]} - 12)) $exported_too \
	${#all[@]}
for name in rgood rlong rtwin rtwinshort rindex rmeta; do
	[ $name = rindex ] || cmp "$at/$name.raw" "$work/ideal"
done
ls -lR "$at" >"$work/list" 2>&1 || fail "ls -lR: $(grep -i error "$work/list")"
cat "$at/rgood.raw" "$at/rmiss.raw" >/dev/null
same "filled, of rgood" "$(jq .filled_bytes "$at/.info/rgood.json")" 0
[ "$(jq .filled_bytes "$at/.info/rmiss.json")" -ge $((2 * 256 * size)) ] ||
	fail "nobody says that rmiss was filled: $(cat "$at/.info/rmiss.json")"
fuse_stop "$at"

# A wrong checksum is an error where it is looked at; there alone.
fuse_start "$at" -o "disks=$(disks_list),verify"
cmp "$at/rgood.raw" "$work/ideal"
! cat "$at/rbadsum.raw" >/dev/null 2>"$work/said" || fail "no checksum is looked at"
grep -q "Input/output error" "$work/said"
head -c 4096 "$at/rbadsum.raw" | cmp - <(head -c 4096 "$work/ideal")
tail -c 4096 "$at/rbadsum.raw" | cmp - <(tail -c 4096 "$work/ideal")
fuse_stop "$at"
fuse_start "$at" -o "disks=$(disks_list),verify,fill=zero"
within "packets that are zero for a checksum" 1 \
	"$(differ "$at/rbadsum.raw" "$work/ideal" $size)" 256
fuse_stop "$at"

# ---- a disk with errors --------------------------------------------------

[ "$(id -u)" -eq 0 ] || exit 0
find "${disks[@]}" -mindepth 1 -maxdepth 1 ! -name r -exec rm -r {} +
mkdir "$work/errors"
coproc disk { "$top_builddir/tests/flow/hang_disk" "${disks[0]}" "$work/errors"; }
disk_pid=$disk_PID disk_in=${disk[1]} disk_out=${disk[0]}
at_end 'umount -l "$work/errors" 2>/dev/null'
at_end 'kill $disk_pid 2>/dev/null'
tell()
{
	local answer

	echo "$*" >&"$disk_in"
	read -r -t 20 -u "$disk_out" answer || fail "no answer to '$*'"
}
read -r -t 20 -u "$disk_out" answer ||
	{ say "no disk with errors could be made"; exit 0; }
disks[0]=$work/errors

# Packets that cannot be read, one by one; of those that can none is wrong.
unreadable()
{
	python3 - "$1" "$work/ideal" $size <<-'END'
		import errno, os, sys
		fd = os.open(sys.argv[1], os.O_RDONLY)
		size, bad = int(sys.argv[3]), 0
		ideal = open(sys.argv[2], "rb").read()
		for at in range(0, len(ideal), size):
		    try:
		        got = os.pread(fd, size, at)
		        assert got == ideal[at:at + size], at
		    except OSError as e:
		        assert e.errno == errno.EIO, e
		        bad += 1
		print(bad)
	END
}

for options in "" ,direct_io; do
	fuse_start "$at" -o "disks=$(disks_list)$options"
	tell fail 131072 196608
	! cmp "$at/r.raw" "$work/ideal" >"$work/said" 2>&1 || fail "no error"
	grep -q "Input/output error" "$work/said"
	# Of each chunk on it some; what is in the others, and in front, none.
	bad=$(unreadable "$at/r.raw")
	chunks=$(find "${disks[0]}/r" -name 'r.0*' | wc -l)
	within "packets with errors" $((chunks * 64 - 64)) "$bad" \
		$((chunks * 256))
	[ "$(jq .unreadable_bytes "$at/.info/r.json")" -gt 0 ] ||
		fail "nobody says what was unreadable"
	grep -q "r.*$work/errors" "$fuse_log" || fail "the log has no word of it"
	within "lines about it" 1 "$(grep -c "$work/errors" "$fuse_log")" 12
	tell mend
	same "packets with errors when it is mended" \
		"$(unreadable "$at/r.raw")" 0
	cmp "$at/r.raw" "$work/ideal"
	fuse_stop "$at"
done

# Filled when that is asked for; and right again when it can be read again.
fuse_start "$at" -o "disks=$(disks_list),fill=zero"
tell fail 131072 196608
within "packets filled for errors" 64 \
	"$(differ "$at/r.raw" "$work/ideal" $size)" $((chunks * 256))
tell mend
as_it_was()
{
	cmp -s "$at/r.raw" "$work/ideal"
}
wait_for 20 as_it_was
fuse_stop "$at"
