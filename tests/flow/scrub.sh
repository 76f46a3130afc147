# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   6 disks, with parity: bits turn, files go      spate scrub    as it was
#                         a disk goes              spate rebuild  protected again
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

mended()
{
	jq -c "[.chunks, .parity, .lost, .unprotected]" "$work/mended"
}

# told FILTER: of what the disks say
told()
{
	"$SPATE" info r --json --disks "$(disks_list)" | jq -r "$1"
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

# file N PATTERN: the Nth file of all disks with such a name.
file()
{
	find "${disks[@]}" -name "$2" | sort | sed -n "$1p"
}

records()
{
	find "${disks[@]}" -mindepth 1 -delete
	conf_write "$(stream_text "format = \"vdif\"; prefix = 8; payload = 8032;
		fps = 2000; parity = 1; layout = \"$1\";")"
	spated_start
	spate record r --stream s --quiet
	gen --format vdif --prefix 8 --payload 8032 --fps 2000 --packets 6000 \
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
	! "$SPATE" verify r --disks "$(disks_list)" >/dev/null 2>&1 ||
		fail "a dry run mended it"
	mend scrub r
	same "a chunk is mended ($layout)" "$status $(mended)" "0 [1,0,0,0]"
	verified
	damages "$(file 1 'r.parity.0*')"
	mend scrub r
	same "parity is mended ($layout)" "$status $(mended)" "0 [0,1,0,0]"
	verified
done
records vbs
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

# A disk goes: what it had is put onto the others, and is protected there.
records vbs
chunks=$(told .chunks)
mv "${disks[3]}" "$dead"
mkdir "${disks[3]}"
had=$(find "$dead" -name 'r.0*' | wc -l)
mend rebuild r --dry-run
same "chunks of a dry run" "$status $(jq .chunks "$work/mended")" "0 $had"
mend rebuild r
same "chunks that were rebuilt" "$status $(jq .chunks "$work/mended")" "0 $had"
same "without parity" "$(jq .unprotected "$work/mended")" 0
verified
same "chunks" "$(told '[.chunks, .with_parity, .computed, .absent] | tostring')" \
	"[$chunks,$chunks,0,0]"
all part
cmp "$work/whole" "$work/part"
mend rebuild r
same "a second run" "$status $(mended)" "0 [0,0,0,0]"
# So that any other may go, too.
for i in 0 1 2 4 5; do
	mv "${disks[i]}" "$work/also"
	mkdir "${disks[i]}"
	all part
	cmp "$work/whole" "$work/part" || fail "disk $i is away, too"
	rmdir "${disks[i]}"
	mv "$work/also" "${disks[i]}"
done
# The dead one comes back with its old chunks.
rmdir "${disks[3]}"
mv "$dead" "${disks[3]}"
all part
cmp "$work/whole" "$work/part"

# One that is being recorded is left alone; a disk is dropped, and rebuilt.
records vbs
spated_start
spate record live --stream s --quiet
gen --format vdif --prefix 8 --payload 8032 --fps 2000 --packets 600 --rate 100Mbps
! spate scrub live >/dev/null 2>"$work/said" || fail "a live one was scrubbed"
grep -q "it is being recorded" "$work/said"
spate disks drop "${disks[2]}" --rebuild >"$work/said"
grep -q "^r: .* chunks and .* parity blocks rebuilt" "$work/said" ||
	fail "drop --rebuild says $(cat "$work/said")"
spate stop live --quiet
spated_stop
rm -r "${disks[2]}"
mkdir "${disks[2]}"
all part
cmp "$work/whole" "$work/part"
