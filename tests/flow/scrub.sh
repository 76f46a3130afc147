# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   6 disks, with parity: bits turn, files go      spate scrub    as it was
#                         a disk goes              spate rebuild  protected again
#                         another comes                  is protected with it
#                         a chunk is torn          spate recover  as it was
#
# Whatever is killed in the midst of it goes on when it is run again.
#
. "${BASH_SOURCE%/*}/functions.sh"

need xxd
disks_make 6
dead=$work/dead

# all FILE: the export of what is on the disks that are there.
all()
{
	"$SPATE" export r "$work/$1" --force --quiet --disks "$(disks_list)" \
		2>"$work/said" || fail "export: $(cat "$work/said")"
}

# mend COMMAND ARGS: its JSON is in $work/mended, its exit status in $status.
mend()
{
	status=0
	"$SPATE" "$@" --json --disks "$(disks_list)" >"$work/mended" \
		2>"$work/said" || status=$?
}

# What it did: chunks, parity blocks, chunks that are lost, chunks without parity.
mended()
{
	jq -c "[.chunks, .parity, .lost, .unprotected]" "$work/mended"
}

# told FILTER: of what the disks say
told()
{
	"$SPATE" info r --json --disks "$(disks_list)" | jq -r "$1"
}

# listed: how many disks may die, as ls says
listed()
{
	"$SPATE" ls r --json --disks "$(disks_list)" | jq .parity
}

# verified: verify finds nothing.
verified()
{
	"$SPATE" verify r --disks "$(disks_list)" >"$work/verified" 2>&1 ||
		fail "verify: $(cat "$work/verified")"
}

# damages FILE: turns a bit in its middle.
damages()
{
	local at=$(($(stat -c %s "$1") / 2))

	printf '\\x%02x' $(($(xxd -s $at -l 1 -p "$1" | sed 's/^/16#/') ^ 1)) |
		xargs -0 printf |
		dd of="$1" bs=1 seek=$at conv=notrunc status=none
}

# keeps: remembers all disks; again: as they were then.
keeps()
{
	rm -rf "$work/kept"
	mkdir "$work/kept"
	cp -a "${disks[@]}" "$work/kept"
}

again()
{
	rm -rf "${disks[@]}" "$dead"
	cp -a "$work/kept/." "$work"
}

# dies I: the disk of that number, which is $dead then; comes_back I
dies()
{
	rm -rf "$dead"
	mv "${disks[$1]}" "$dead"
	mkdir "${disks[$1]}"
}

comes_back()
{
	rmdir "${disks[$1]}"
	mv "$dead" "${disks[$1]}"
}

# exact WHEN: all bytes are there, and without any one of the disks I...
exact()
{
	local when=$1 i
	shift

	all part
	cmp "$work/whole" "$work/part" || fail "$when"
	for i; do
		mv "${disks[i]}" "$work/also"
		mkdir "${disks[i]}"
		all part
		cmp "$work/whole" "$work/part" || fail "$when, without disk $i"
		rmdir "${disks[i]}"
		mv "$work/also" "${disks[i]}"
	done
}

# noted: each disk says which packets its chunks lack.
noted()
{
	python3 - "$top_srcdir/tests/flow" "${disks[@]}" <<-'END'
		import os, sys
		sys.path.insert(0, sys.argv[1])
		from power import holes, records
		for disk in sys.argv[2:]:
		    path = f"{disk}/r/r"
		    if not os.path.exists(path + ".index"):
		        continue
		    lines = holes(path + ".meta.jsonl")
		    for r in records(path + ".index"):
		        if r[9] == 1 and r[7] and r[0] not in lines:
		            sys.exit(f"{disk}: no line says what {r[0]} lacks")
	END
}

# both_damages: turns a bit of a parity block, and of a chunk that is a member of its
# group; $member is its name, $packets its packets as "1 to 2".
both_damages()
{
	local block

	block=$(file 1 'r.parity.0*')
	read -r member packets < <(python3 - "$block" <<-'END'
		import struct, sys
		raw = open(sys.argv[1], "rb").read()
		n = next(n for n in range(1, 9) if raw[-64 * n - 10] == 16)
		r = raw[len(raw) - 64 * n + 64:][:64]
		first, size = struct.unpack_from("<Q", r, 8)[0], struct.unpack_from("<Q", r, 32)[0]
		print(f"r.{struct.unpack_from('<Q', r)[0]:08d}",
		      f"{first} to {first + size // 8032 - 1}")
	END
	)
	damages "$block"
	damages "$(file 1 "$member")"
}

# ages FOLDER: what a disk has that died before the end: an index that is torn, and
# has less, as the list of parity has; and a bit turns in a chunk that it names.
ages()
{
	local chunk

	chunk=$(python3 - "$1/r/r" <<-'END'
		import os, struct, sys
		path = sys.argv[1]
		with open(path + ".index", "r+b") as f:
		    raw = f.read()
		    f.truncate(len(raw) - 3 * 64 + 10)
		print(f"{path}.{struct.unpack_from('<Q', raw)[0]:08d}")
	END
	)
	truncate -s $(($(stat -c %s "$1/r/r.parity") / 2)) "$1/r/r.parity"
	touch -r "$chunk" "$work/then"
	damages "$chunk"
	touch -r "$work/then" "$chunk"
}

tail_damages()
{
	printf x | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") - 9)) \
		conv=notrunc status=none
}

# chunked: what a program reads that knows chunks by their names alone, as jive5ab
# and its tools do: each number once, and joined they are the recording.
chunked()
{
	local -a chunks

	mapfile -t chunks < <(find "${disks[@]}" -regextype posix-extended \
		-regex '.*/(r(_ds[^_.]+)?)/\1\.[0-9]{8}' -printf '%f %p\n' |
		sort | cut -d' ' -f2)
	same "numbers that chunks have twice" \
		"$(printf '%s\n' "${chunks[@]##*/}" | uniq -d)" ""
	cat "${chunks[@]}" | cmp - "$work/whole" || fail "chunks are not whole"
}

# file N PATTERN: the Nth file of all disks with such a name.
file()
{
	find "${disks[@]}" -name "$2" | sort | sed -n "$1p"
}

# records LAYOUT [PARITY]
records()
{
	find "${disks[@]}" -mindepth 1 -delete
	conf_write "$(stream_text "format = \"vdif\"; prefix = 8; payload = 8032;
		fps = 2000; parity = ${2:-1}; layout = \"$1\";")"
	spated_start
	spate record r --stream s --quiet
	gen --format vdif --prefix 8 --payload 8032 --fps 2000 --packets 4000 \
		--loss 0.01 --rate 300Mbps
	settle r "$(gen_did .sent)"
	spate stop r --quiet
	spated_stop
	all whole
	verified
}

# What is wrong is mended in its place, in each layout.
for layout in vbs mark6 file; do
	records $layout
	mend scrub r
	same "what is wrong with a good one ($layout)" "$status $(mended)" "0 [0,0,0,0]"
	case $layout in
	vbs) chunk=$(file 4 'r.0*') ;;
	mark6) chunk=$(find "${disks[@]}" -type f -name r | sort | head -1) ;;
	file) chunk=$(find "${disks[@]}" -type f -name r.vdif | sort | head -1) ;;
	esac
	damages "$chunk"
	mend scrub r --dry-run
	same "what a dry run says ($layout)" "$status $(mended)" "0 [1,0,0,0]"
	! "$SPATE" verify r --disks "$(disks_list)" >"$work/verified" 2>&1 ||
		fail "a dry run mended it"
	grep -q "spate scrub r mends what parity gives" "$work/verified" ||
		fail "verify says $(cat "$work/verified")"
	mend scrub r
	same "a chunk is mended ($layout)" "$status $(mended)" "0 [1,0,0,0]"
	verified
	damages "$(file 1 'r.parity.0*')"
	mend scrub r
	same "parity is mended ($layout)" "$status $(mended)" "0 [0,1,0,0]"
	verified
done
records vbs
keeps
rm "$(file 7 'r.0*')"
mend scrub
same "a file that was away" "$status $(mended)" "0 [1,0,0,0]"
rm "$(file 2 'r.parity.0*')"
mend scrub
same "parity that was away" "$status $(mended)" "0 [0,1,0,0]"
truncate -s 100 "$(file 20 'r.0*')"
mend scrub
same "a file that was short" "$status $(mended)" "0 [1,0,0,0]"
verified
all part
cmp "$work/whole" "$work/part"

# Too much of a group: it is named, the rest is mended.
mapfile -t group < <(find "${disks[@]}" -name 'r.0*' | sort -t. -k3 | head -2)
for one in "${group[@]}"; do
	damages "$one"
done
mend scrub r
if [ "$(mended)" = "[2,0,0,0]" ]; then
	verified # they were of two groups
else
	same "too much is bad" "$status $(mended)" "1 [0,0,2,0]"
	grep -q "2 chunks cannot be mended" "$work/said"
fi

# One that cannot be written to: it is said, and counted.
again
chunk=$(file 4 'r.0*')
rm "$chunk"
mkdir "$chunk"
mend scrub r
same "a chunk that cannot be written" "$status $(jq .failed "$work/mended")" "1 1"
grep -q "could not be mended" "$work/said"

# Tails and lists: each is mended by the other, also by recover, which removes
# nothing that a list names.
again
block=$(file 3 'r.parity.0*')
list=${block%/*}/r.parity
cp "$block" "$work/block"
for command in scrub recover; do
	tail_damages "$block"
	mend $command r
	same "status of $command" "$status" 0
	cmp "$work/block" "$block" || fail "$command: the tail is not mended"
done
cp "$list" "$work/list"
printf x | dd of="$list" bs=1 seek=70 conv=notrunc status=none
printf torn >>"$list"
mend scrub r
same "a damaged list" "$status $(mended)" "0 [0,1,0,0]"
rm "$list"
mend scrub r
[ "$(jq .parity "$work/mended")" -gt 0 ] || fail "the list is not made again"
same "size of the list" "$(stat -c %s "$list")" "$(stat -c %s "$work/list")"
truncate -s 1000 "$block"
rm "$list"
"$SPATE" recover r --disks "$(disks_list)" >"$work/said"
grep -q ".aside now may be deleted when .* spate verify r" "$work/said" ||
	fail "recover says $(cat "$work/said")"
[ -s "$block.aside" ] || fail "a torn block is not set aside"
mend scrub r
verified
exact "lists were mended"
mend rebuild r
exact "a torn block was replaced" 0 1 2 3 4 5

# Bits of data and of parity of one group, found by the tail: too much for one
# parity block, and named, by verify too; an export has all else, and fails.
again
both_damages
mend scrub r
same "both are bad" "$status $(mended)" "1 [0,0,1,0]"
"$SPATE" scrub r --disks "$(disks_list)" >"$work/said" 2>&1 || true
! grep -q "mount the disks" "$work/said" || fail "scrub says $(cat "$work/said")"
grep -qE "chunk .* cannot be mended: .*: packets [0-9]+ to [0-9]+ of run 0, 20" \
	"$work/said" || fail "scrub says $(cat "$work/said")"
! "$SPATE" verify r --disks "$(disks_list)" >"$work/verified" 2>&1 ||
	fail "verify sees no damage"
grep -qE "^chunk $((10#${member#r.})) on .* are damaged: .*, packets $packets of run 0, .*20" \
	"$work/verified" || fail "verify says $(cat "$work/verified")"
! (all part) 2>/dev/null || fail "an export of damaged data is content"
grep -q "block $((10#${member#r.})) has a wrong checksum" "$work/said" ||
	fail "export says $(cat "$work/said")"
same "bytes that differ" "$({ cmp -l "$work/whole" "$work/part" || true; } | wc -l)" 1

# Parity that is away with the lists that name it: the data are right, and verify says
# what they lack.
again
verified
! grep -q "lack parity" "$work/verified" || fail "verify says $(cat "$work/verified")"
# Any disk that has some.
away=$(find "$work"/disk?/r -name 'r.parity*' | sort | head -n 1)
rm "${away%/*}"/r.parity*
verified
grep -qE "^r: [1-9][0-9]* of [0-9]+ chunks lack parity for the loss of 1 disk, .* spate rebuild r makes it" \
	"$work/verified" || fail "verify says $(cat "$work/verified")"
"$SPATE" verify r --json --disks "$(disks_list)" >"$work/verified"
lacks=$(jq -s 'last.unprotected' "$work/verified")
same "lacking parity, and as info says" "$lacks" "$(told '.chunks - .with_parity')"
mend rebuild r
verified
! grep -q "lack parity" "$work/verified" || fail "verify says $(cat "$work/verified")"

# A disk goes: what it had is put onto the others, and is protected there.
again
chunks=$(told .chunks)
lost=$(told '[.packets, .packets_lost] | tostring')
same "disks that may die" "$(listed)" 1
dies 3
same "disks that may die" "$(listed)" 0
had=$(find "$dead" -name 'r.0*' | wc -l)
! "$SPATE" verify r --disks "$(disks_list)" >"$work/verified" 2>&1 ||
	fail "verify misses no disk"
grep -q "spate rebuild r puts what parity gives" "$work/verified" ||
	fail "verify says $(cat "$work/verified")"
! grep -q "spate scrub" "$work/verified" || fail "scrub mends a disk that is away"
"$SPATE" scrub r --disks "$(disks_list)" >"$work/said" 2>&1 ||
	fail "scrub without a disk: $(cat "$work/said")"
grep -q "$had chunks are on disks that are away: spate rebuild r puts $had of them" \
	"$work/said" || fail "scrub says $(cat "$work/said")"
mend rebuild r --dry-run
same "chunks of a dry run" "$status $(jq .chunks "$work/mended")" "0 $had"
mend rebuild r
same "chunks that were rebuilt" "$status $(jq .chunks "$work/mended")" "0 $had"
same "without parity" "$(jq .unprotected "$work/mended")" 0
verified
mend scrub r
same "away after the rebuild" "$(jq .away "$work/mended")" 0
same "disks that may die" "$(listed)" 1
same "chunks" "$(told '[.chunks, .with_parity, .computed, .absent] | tostring')" \
	"[$chunks,$chunks,0,0]"
same "packets" "$(told '[.packets, .packets_lost] | tostring')" "$lost"
noted
chunked
mend rebuild r
same "a second run" "$status $(mended)" "0 [0,0,0,0]"
# So that any other may go, too.
exact "it was rebuilt" 0 1 2 4 5
# The dead one comes back with its old chunks and groups, which have the numbers
# of new ones; and then any may go.
comes_back 3
exact "the dead disk came back" 0 1 2 3 4 5
mend rebuild r
exact "and was rebuilt again" 0 1 2 3 4 5
# So does one that had died before the end, and has damage.  With recover nothing is
# there twice.
again
dies 0
mend rebuild r
ages "$dead"
comes_back 0
exact "a disk is back that died before the end" 0 1 2 3 4 5
mend scrub r
same "scrub with the old disk" "$status $(jq .lost "$work/mended")" "0 0"
exact "the old disk was scrubbed" 0 1 2 3 4 5
mend recover r
[ "$(jq .aside "$work/mended")" -gt 0 ] || fail "no old chunk was set aside"
chunked
verified
mend rebuild r
same "rebuild with the old disk" "$status $(jq .unprotected "$work/mended")" "0 0"
exact "the old disk was recovered" 0 1 2 3 4 5
verified

# Killed in the midst of it, it goes on; and readers read on.
again
damages "$(file 4 'r.0*')"
tail_damages "$(file 5 'r.parity.0*')"
for command in scrub rebuild; do
	[ $command = scrub ] || dies 1
	ms=4
	status=137
	while [ $status -ne 0 ]; do
		status=0
		{ timeout -s KILL "$(printf 0.%03d $ms)" "$SPATE" $command r \
			--quiet --disks "$(disks_list)" >"$work/said" 2>&1; } \
			2>/dev/null || status=$?
		[ $status -ne 1 ] || fail "$command: $(cat "$work/said")"
		exact "$command was killed after $ms ms"
		ms=$((ms < 900 ? ms + 13 : ms))
	done
done
verified
noted
mend rebuild r
same "after it was killed" "$status $(mended)" "0 [0,0,0,0]"
exact "it was killed" 0 2 3 4 5

# A file that has the name of a chunk, and is another one, is none.
again
dies 2
number=$(find "$dead" -name 'r.0*' -printf '%f\n' | sort | head -1)
for i in 0 1 3 4 5; do
	head -c "$(stat -c %s "$dead/r/$number")" /dev/urandom >"${disks[i]}/r/$number"
done
sed 's/^reserve = .*/reserve = "900T";/' "$conf" >"$work/greedy.conf"
"$SPATE" rebuild r -c "$work/greedy.conf" >"$work/said" 2>&1 &&
	fail "rebuild left no reserve"
grep -q "no disk has room" "$work/said"
mend rebuild r
same "rebuilt over others" "$status" 0
same "set aside" "$(find "${disks[@]}" -name "$number.aside" | wc -l)" 1
exact "others had the name"

# Two at once; a link.
(
	flock 9
	refused "another scrub or rebuild works on it" \
		"$SPATE" rebuild r --disks "$(disks_list)"
) 9<"${disks[0]}/r"
mv "${disks[0]}/r" "${disks[0]}/else"
ln -s else "${disks[0]}/r"
refused "it is a link" "$SPATE" scrub r --disks "$(disks_list)"
rm "${disks[0]}/r"
mv "${disks[0]}/else" "${disks[0]}/r"

# A chunk that is torn is not made from its packets where its group gives it, also
# if others of the group are in no index yet.
again
read -r away torn < <(python3 - "${disks[@]}" <<-'END'
	# The disk of the last chunk, and a chunk whose group has a member there: a
	# list of parity is elsewhere, then, too.
	import glob, os, struct, sys
	at = {int(f[-8:]): i for i, disk in enumerate(sys.argv[1:])
	      for f in glob.glob(f"{disk}/r/r.0*")}
	last = at[max(at)]
	for disk in sys.argv[1:]:
	    for f in sorted(glob.glob(f"{disk}/r/r.parity.0*")):
	        raw = open(f, "rb").read()
	        n = next(n for n in range(1, 9) if raw[-64 * n - 10] == 16)
	        tail = [raw[len(raw) - 64 * k:][:64] for k in range(n, 0, -1)]
	        group = [struct.unpack_from("<Q", r)[0] for r in tail
	                 if r[54] == 1]
	        torn = [k for k in group if at[k] != last and k > 2]
	        if torn and last in [at[k] for k in group]:
	            print(last, f"{sys.argv[1 + at[torn[0]]]}/r/r.{torn[0]:08d}")
	            sys.exit()
END
)
bytes=$(stat -c %s "$torn")
python3 - "$torn" "${disks[@]}" <<-'END'
	import struct, sys
	torn = int(sys.argv[1][-8:])
	for disk in sys.argv[2:]:
	    with open(f"{disk}/r/r.index", "r+b") as f:
	        all = f.read()
	        kept = [raw for at in range(0, len(all), 64)
	                if (raw := all[at:at + 64])[54] == 2 or raw[54] == 1
	                and abs(struct.unpack_from("<Q", raw)[0] - torn) > 1]
	        f.seek(0)
	        f.truncate()
	        f.write(b"".join(kept))
END
truncate -s $((bytes / 2)) "$torn"
keeps
mend recover r
same "status of recover" "$status" 0
same "bytes of the torn chunk" "$(stat -c %s "$torn")" "$bytes"
same "set aside" "$(jq .aside "$work/mended")" 0
exact "a torn chunk was recovered" 0 1 2 3 4 5
verified
chunked
noted
# With a disk of its group away, which has the last chunk too, nothing is decided.
again
dies $away
mend recover r
same "status of recover" "$status" 0
[ -s "$torn.aside" ] || fail "$torn is not set aside"
same "disks away" "$(jq .disks_away "$work/mended")" 1
"$SPATE" recover r --disks "$(disks_list)" >"$work/said"
grep -qE "^r: 1 of its disks is away, whose chunks are not counted here; parity gives" \
	"$work/said" || fail "recover says $(cat "$work/said")"
comes_back $away
mend recover r
same "disks away" "$(jq .disks_away "$work/mended")" 0
exact "the disk is back"
mend rebuild r
exact "and was rebuilt" 0 1 2 3 4 5

# A stretch without a packet has a record on one disk, which is not lost with it.
conf_write "$(stream_text 'format = "raw"; sequence = "le64@0"; prefix = 8;
	payload = 8032; parity = 1;')"
find "${disks[@]}" -mindepth 1 -delete
spated_start
spate record r --stream s --quiet
for first in 0 3000 6000; do
	gen --format raw --sequence le64@0 --payload 8032 --packets 1000 \
		--first $first --rate 200Mbps
done
settle r 3000
spate stop r --quiet
spated_stop
all whole
gaps=$(told '[.gaps, .absent, .packets_lost, .chunks] | tostring')
[ "$(told .gaps)" -gt 0 ] || fail "there are no gaps: $gaps"
for i in 0 1 2 3 4 5; do
	dies $i
	same "gaps without disk $i" \
		"$(told '[.gaps, .absent, .packets_lost, .chunks] | tostring')" \
		"$gaps"
	mend rebuild r
	same "rebuild without disk $i" "$status $(jq .lost "$work/mended")" "0 0"
	exact "disk $i is away"
	rm -rf "$dead"
	rmdir "${disks[i]}"
	mkdir "${disks[i]}"
	[ $i -lt 1 ] || break
done
same "gaps of what was rebuilt twice" \
	"$(told '[.gaps, .absent, .packets_lost, .chunks] | tostring')" "$gaps"
verified

# Bits of both are no loss where there are two parity blocks.
records vbs 2
both_damages
all part
cmp "$work/whole" "$work/part" || fail "two bits, and two parity blocks"
! "$SPATE" verify r --disks "$(disks_list)" >"$work/verified" 2>&1 ||
	fail "verify sees no damage"
mend scrub r
same "both are mended" "$status $(mended)" "0 [1,1,0,0]"
verified

# What cannot be rebuilt is named, and one without an end is left to recover.
records vbs 0
python3 - "$(file 1 r.index)" <<-'END'
	import sys
	with open(sys.argv[1], "r+b") as f:
	    raw = f.read()
	    f.seek(0)
	    f.write(raw[64:])
	    f.truncate()
END
"$SPATE" ls r --disks "$(disks_list)" >"$work/said"
grep -q "1 block away" "$work/said" || fail "ls says $(cat "$work/said")"
dies 1
mend rebuild r
same "without parity" "$status $(jq '.lost > 0' "$work/mended")" "1 true"
grep -q "mount the disks" "$work/said" || fail "rebuild says $(cat "$work/said")"
"$SPATE" rebuild --disks "$(disks_list)" >"$work/said" 2>&1 || true
grep -qE "^r: chunks? .*, and without parity: packets [0-9]+ to [0-9]+ of run 0, 20" \
	"$work/said" || fail "rebuild says $(cat "$work/said")"
find "${disks[@]}" -name r.index -exec truncate -s -64 {} +
refused "spate recover r closes it" "$SPATE" rebuild r --disks "$(disks_list)"

# One that is being recorded is left alone.  A disk that is dropped is the source
# itself, so what it has needs no parity; what lies on it alone is named.
records vbs 0
spated_start
spate record live --stream s --quiet
gen --format vdif --prefix 8 --payload 8032 --fps 2000 --packets 600 --rate 100Mbps
! spate scrub live >/dev/null 2>"$work/said" || fail "a live one was scrubbed"
grep -q "it is being recorded" "$work/said"
cp -a "${disks[2]}/r" "${disks[2]}/alone"
for one in "${disks[2]}"/alone/r.*; do
	mv "$one" "${one%/*}/alone.${one##*/r.}"
done
status=0
spate disks drop "${disks[2]}" --rebuild >"$work/said" 2>&1 || status=$?
same "status of drop" "$status" 1
grep -q "^r: .* chunks and 0 parity blocks rebuilt$" "$work/said" ||
	fail "drop --rebuild says $(cat "$work/said")"
grep -q "run spate rebuild live when it has ended" "$work/said"
grep -q "alone lies on ${disks[2]} alone" "$work/said"
spate stop live --quiet
spated_stop
rm -r "${disks[2]}"
mkdir "${disks[2]}"
exact "a disk was dropped"
verified

# Three disks, of which one dies, and an empty one is in its place: that gets what
# the dead one had, so that again any may die.
disks=("${disks[@]:0:3}")
records vbs
dies 1
mkdir "$work/new"
if mount --bind "$work/new" "${disks[1]}" 2>/dev/null; then
	at_end 'umount "${disks[1]}" 2>/dev/null'
	had=$(find "$dead" -name 'r.0*' | wc -l)
	mend rebuild r --dry-run
	same "chunks of a dry run" "$status $(jq .chunks "$work/mended")" "0 $had"
	same "folders of a dry run" "$(find "${disks[1]}" -mindepth 1)" ""
	mend rebuild r
	same "chunks that a new disk got" "$status $(jq .chunks "$work/mended")" \
		"0 $had"
	same "disks that may die" "$(listed)" 1
	verified
	noted
	chunked
	mend rebuild r
	same "a second run" "$status $(mended)" "0 [0,0,0,0]"
	exact "a disk was replaced" 0 2
	umount "${disks[1]}"
	all part
	cmp "$work/whole" "$work/part" || fail "the new disk died, too"
fi
