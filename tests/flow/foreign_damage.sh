# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# Damaged recordings of other programs: what is there is read, what is wrong
# is said, and nothing that may be in a file ends the reader.

. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/foreign.sh"
disks_make 3
sg=(--payload 8224 --per-block 121)
block=$((8224 * 121 + 8))

# ---- Mark6 --------------------------------------------------------------

# The end of a file is missing: of its last block all whole packets stay.
make sg2 cut "${sg[@]}"
truncate -s -30000 "${disks[2]}/cut"
same "packets of a cut file" "$(info cut .packets)" 4996
same "lost in it" "$(info cut .packets_lost)" 4
notes_say cut "is cut: 30000 bytes"
refused "is cut: 30000 bytes" spate verify cut

# A block twice, in a file and in two files.
make sg2 twice "${sg[@]}"
head -c $((20 + block)) "${disks[0]}/twice" | tail -c $block >"$work/block"
cat "$work/block" >>"${disks[0]}/twice"
cat "$work/block" >>"${disks[1]}/twice"
reads_as twice Mark6 5000 0
refused "is there twice" spate verify twice

# A header in the middle overwritten, and one with another length.
for lie in '\377\377\377\377\377\377\377\377' '\001\000\000\000\144\000\000\000'; do
	make sg2 lie "${sg[@]}"
	printf "$lie" | dd of="${disks[1]}/lie" bs=1 seek=$((20 + 3 * block)) \
		conv=notrunc status=none
	within "packets left of those behind a lie" 4879 \
		"$(info lie .packets)" 4880
	notes_say lie "is damaged"
	refused "is damaged" spate verify lie
	spate export --quiet --force lie "$work/exported" 2>/dev/null || true
	rm "${disks[@]/%//lie}"
done

# A file that is none any more: its blocks are missing.
make sg2 other "${sg[@]}"
printf '\003' | dd of="${disks[2]}/other" bs=1 seek=4 conv=notrunc status=none
[ "$(info other .absent)" -gt 10 ]
fill_is_right other 8224

# ---- chunks -------------------------------------------------------------

# The end of a chunk is missing, and one has another's bytes in front.
make jive5ab short
chunk=$(find "${disks[@]}" -name short.00000002)
truncate -s -100 "$chunk"
same "packets of a short chunk" "$(info short .packets)" 4999
same "lost in it" "$(info short .packets_lost)" 1
notes_say short "932 bytes behind its last whole packet"

# What a power failure leaves of the page cache: lengths, and zeros.
make jive5ab blank
truncate -s $((400 * 1032 + 77)) "$(find "${disks[@]}" -name blank.00000006)"
truncate -s $((640 * 1032)) "$(find "${disks[@]}" -name blank.00000006)"
truncate -s 0 "$(find "${disks[@]}" -name blank.00000007)"
truncate -s $((520 * 1032)) "$(find "${disks[@]}" -name blank.00000007)"
same "packets of a blank end" "$(info blank .packets)" 4241
notes_say blank "block 6 ends in 239 packets of zeros"

# Empty, and not a file at all.
make jive5ab odd
: >"${disks[0]}/odd/odd.00000100"
mkdir "${disks[0]}/odd/odd.00000101"
mkfifo "${disks[0]}/odd/odd.00000102"
ln -s /nonexistent "${disks[0]}/odd/odd.00000103"
reads_as odd jive5ab 5000 0
# A number that cannot be: its chunk comes last.
make jive5ab far
mv "$(find "${disks[@]}" -name far.00000007)" "${disks[1]}/far/far.99999999"
reads_as far jive5ab 5000 0
notes_say far "99999999 is implausible"

# A .cfg that lies, or draws in other files.
make streamer liar --counter le64
for cfg in 'packet_size = 1048576L;' 'packet_size = 8L;' 'packet_size = -1;' \
	'packet_size = 99999999999999999999L; cumul = 3L;' \
	'@include "/dev/zero"' ''; do
	for disk in "${disks[@]}"; do
		printf '%s\n' "$cfg" >"$disk/liar/liar.cfg"
	done
	reads_as liar VLBI-streamer 5000 0
done

# Both kinds at once, on different disks.
make jive5ab both
rm -r "${disks[1]}/both"
make sg2 apart
mv "${disks[1]}/apart" "${disks[1]}/both"
notes_say both "${disks[1]} has a scatter/gather file of this name"

# So many blocks that they would not fit into memory.
"$python" - "${disks[0]}/flood" <<-END
	import struct, sys
	with open(sys.argv[1], "wb") as f:
	    f.write(struct.pack("<Iiiii", 0xFEED6666, 2, 16, 2, 8))
	    for i in range(70000):
	        f.write(struct.pack("<iiii", i, 16, i, 0))
END
notes_say flood "too short for so many"
same "blocks of a flood" "$(info flood .chunks)" 65536

# ---- anything -----------------------------------------------------------

looked_at()
{
	local status=0

	"$@" >"$work/out" 2>"$work/err" || status=$?
	[ $status -le 1 ] || fail "'$*' ended with $status: $(cat "$work/err")"
	[[ $(<"$work/err") != @(*Sanitizer*|*"runtime error"*) ]] ||
		fail "'$*': $(cat "$work/err")"
}

looked_at spate ls
rm -rf "${disks[@]}"
mkdir "${disks[@]}"
small=(--packets 300 --per-block 40 --payload 520)
make sg2 r1 "${small[@]}"
make sg1 r2 "${small[@]}" --per-block 50
make jive5ab r3 "${small[@]}" --threads 3
make streamer r4 "${small[@]}" --counter le64 --pad
make streamer r5 --packets 60 --per-block 9 --counter le32@4 --pad \
	--format mark5b --payload 5008
make single r6 "${small[@]}" --counter le64
mkdir "$work/good"
cp -a "${disks[@]}" "$work/good"

for ((seed = 0; seed < 12; seed++)); do
	for disk in "${disks[@]}"; do
		rm -rf "$disk"
		cp -a "$work/good/${disk##*/}" "$disk"
	done
	"$python" - $seed "${disks[@]}" <<-END
		import os, random, sys
		dice = random.Random(int(sys.argv[1]))
		for disk in sys.argv[2:]:
		    for folder, _, files in os.walk(disk):
		        for file in files:
		            path = os.path.join(folder, file)
		            if not os.path.getsize(path):
		                continue
		            with open(path, "r+b") as f:
		                size = os.path.getsize(path)
		                for _ in range(dice.randrange(4)):
		                    near = dice.choice((64, 2000, size))
		                    f.seek(dice.randrange(min(near, size)))
		                    f.write(bytes(dice.choice((0, 255, dice.randrange(256)))
		                                  for _ in range(dice.choice((1, 2, 4, 8)))))
		                if not dice.randrange(4):
		                    f.truncate(dice.randrange(size))
	END
	for name in r1 r2 r3 r4 r5 r6; do
		looked_at spate info $name
		looked_at spate verify $name
		looked_at spate check $name
		looked_at spate export --force --quiet $name "$work/exported"
		looked_at spate recover --dry-run $name
	done
	looked_at spate recover r3
	looked_at spate export --force --quiet r3 "$work/exported"
	looked_at spate ls
done
