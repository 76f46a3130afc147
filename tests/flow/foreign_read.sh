# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# What jive5ab, VLBI-streamer and Mark6 record is read as they would, and is
# left as it is:
#
#   foreign_make.py -> disk0 disk1 disk2 -> info, ls, export, verify

. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/foreign.sh"
disks_make 3

everything()
{
	find "${disks[@]}" -printf '%p %s %T@ %m\n' | sort
}

# ---- as they should be --------------------------------------------------

make jive5ab j1
make jive5ab name.with.dots
make jive5ab j4 --threads 4 --lose 17 3000 3001
make jive5ab j5 --format mark5b --payload 10016 --per-block 64 --fps 100
make jive5ab jraw --format raw
# The first of two chunks looks like a VDIF frame by chance.
mkdir "${disks[0]}/jchance"
for i in 0 1; do
	{
		head -c 8 /dev/zero
		printf "\\x$((71 + i))\\x02\\x00"
		yes chance
	} | head -c 5000 >"${disks[0]}/jchance/jchance.0000000$i" || true
done
# What jive5ab fills, at the beginnings of blocks and of all.
make jive5ab jfill --fill --lose 0 1 2 640 641 1282 1919 1920 4999
# One frame in ten, of both formats; of Mark5B one of two packets of a frame.
make jive5ab jtenth --fill --lose $(seq 7 10 4999)
make jive5ab jtenth5 --format mark5b --payload 5008 --packets 4000 \
	--per-block 128 --fps 100 --fill \
	--lose $(seq 7 20 3999) $(seq 10 20 3999)
# One of the data streams of a recording.
make jive5ab jds_dsA
make streamer s1 --counter le64 --pad --per-block 1008
make streamer s5 --counter le32@4 --format mark5b --payload 5008 --pad \
	--per-block 129 --lose 5 2000
make streamer s5bare --format mark5b --payload 5008 --pad --per-block 129
make streamer sraw --format raw --payload 8000 --pad --per-block 129
make single sone --counter le64
make sg2 g2 --payload 8224 --per-block 121
make sg1 g1 --payload 8224 --per-block 125
make sg2 gvtp --counter le64 --lose 4999 44
make sg2 g5 --format mark5b --payload 10016 --per-block 64 --fps 100
# The last page is filled up with packets that were in the buffer before.
make streamer s1tail --counter le64 --pad --per-block 1008 --packets 4998
make streamer sbare --pad --per-block 1016 --packets 4990
# Without .cfg, which is written at the end.
make streamer s1tailcrash --counter le64 --pad --per-block 1008 --crash \
	--packets 4998
make streamer s1crash --counter le64 --pad --per-block 1008 --crash
make streamer s5crash --counter le32@4 --format mark5b --payload 5008 --pad \
	--crash
# Found without its extension, too.
make sg2 gext.vdif
# Where Mark6 has them since 2015.
mkdir "${disks[@]/%//data}"
for disk in "${disks[@]}"; do
	[ ! -e "$disk/g5" ] || mv "$disk/g5" "$disk/data/g5"
done
# Links, as people make them, to a folder and to a chunk of the same disk.
mkdir "${disks[0]}/old"
mv "${disks[0]}/j1" "${disks[0]}/old/elsewhere"
ln -s old/elsewhere "${disks[0]}/j1"
linked=$(find "${disks[1]}/j5" -name 'j5.*' | sort | head -n 1)
mv "$linked" "${disks[1]}/moved"
ln -s ../moved "$linked"

before=$(everything)
reads_as j1 jive5ab 5000 0
reads_as name.with.dots jive5ab 5000 0
reads_as j4 jive5ab 4997 3
same threads "$(info j4 '.disks | length')" 3
reads_as j5 jive5ab 5000 0
same format "$(info j5 .format)" mark5b
reads_as jraw jive5ab 125 0
same format "$(info jraw .format)" raw
same "format by chance" "$(info jchance .format)" raw
reads_as jds_dsA jive5ab 5000 0
same "streams of jds" "$(info jds .name)" jds_dsA
reads_as jfill jive5ab 4991 9
reads_as jtenth jive5ab 4500 500
same "losses in the map" "$(info jtenth '[.loss_map[].packets_lost] | add')" 500
refused "lost" spate check jtenth --max-loss 0.05
reads_as jtenth5 jive5ab 1600 400
spate verify jfill >/dev/null
same start "$(info jfill .start)" "$(info j1 .start)"
reads_as s1 VLBI-streamer 5000 0
same start "$(info s1 .start)" 2025-08-20T12:33:19.125000000Z
reads_as s5 VLBI-streamer 4998 2
reads_as s5bare VLBI-streamer 5000 0
reads_as s1tail VLBI-streamer 4998 0
reads_as sbare VLBI-streamer 4990 0
reads_as s1tailcrash VLBI-streamer 4998 0
reads_as sraw VLBI-streamer 5000 0
reads_as sone VLBI-streamer 5000 0
reads_as g2 Mark6 5000 0
reads_as g1 Mark6 5000 0
same format "$(info g2 .format)" vdif
reads_as gvtp Mark6 4998 1
reads_as g5 Mark6 5000 0
reads_as s1crash VLBI-streamer 5000 0
reads_as s5crash VLBI-streamer 5000 0
same gext "$(info gext .name)" gext.vdif
for name in j1 j4 s1 s5 sone g2 g1 gvtp s5crash; do
	spate verify "$name" >/dev/null
	spate check "$name" --max-loss 0.01 >/dev/null
done
same names "$(spate ls --json | jq -r .name | tr '\n' ' ')" "g1 g2 g5 \
gext.vdif gvtp j1 j4 j5 jchance jds_dsA jfill jraw jtenth jtenth5 name.with.dots s1 s1crash s1tail \
s1tailcrash s5 s5bare s5crash sbare sone sraw "
same "recordings unreadable" \
	"$(spate ls --json | jq -r 'select(.state != "complete").name')" ""
same "what is on the disks" "$(everything)" "$before"

# Links that leave the disk: who put them there may not be allowed to read what
# they lead to.
make jive5ab jout
make jive5ab jchunk
mv "${disks[0]}/jout" "$work/jout"
ln -s "$work/jout" "${disks[0]}/jout"
notes_say jout "${disks[0]}/jout is left out: it is a link"
lost=$(info jout .packets_lost)
rm "${disks[0]}/jout"
ln -s ../jout "${disks[0]}/jout"
same "packets lost behind another link" "$(info jout .packets_lost)" "$lost"
refused "leaves the disk" spate info jout --disks "${disks[0]}"
refused "${disks[0]}/jout: it is a link" spate info jout --disks "${disks[0]}"
spate ls --disks "${disks[0]}" --json | jq -e 'select(.name == "jout")' &&
	fail "ls looks where a link leads"
rm "${disks[0]}/jout"
mv "$work/jout" "${disks[0]}/jout"
reads_as jout jive5ab 5000 0
linked=$(find "${disks[0]}/jchunk" -name 'jchunk.*' | sort | head -n 1)
mv "$linked" "$work/chunk"
for to in "$work/chunk" ../../chunk; do
	ln -s "$to" "$linked"
	notes_say jchunk "$linked is left out"
	rm "$linked"
done
refused "do not lie as an index" spate recover j5
rm -r "${disks[@]/%//jchunk}" "${disks[@]/%//jout}"

# ---- blocks that are missing --------------------------------------------

for kind in jive5ab sg2; do
	make $kind whole_$kind --threads 2
	make $kind gap_$kind --threads 2 --drop 3 4
	cp "$work/whole_$kind.ideal" "$work/gap_$kind.ideal"
	same absent "$(info gap_$kind .absent)" 2
	fill_is_right gap_$kind 1032
	refused "blocks 3 to 4 are on none" spate verify gap_$kind
done
