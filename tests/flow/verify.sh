# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --(VDIF)--> spated -> disk0, disk1 <-- a bit flips: verify.py
#                                |
#                          spate verify: that quantum, its packets and times,
#                                        and nothing else
#
# In every layout; and what can happen to chunks as files.
#
. "${BASH_SOURCE%/*}/functions.sh"
need_python struct

settings=('memory = "128M";' 'reserve = "1M";')

tool()
{
	$python "$top_srcdir/tests/flow/verify.py" "$@"
}

verify()
{
	"$SPATE" verify "$taken" --disks "$(disks_list)" "$@"
}

# What verify found, one object; that it says so and fails is looked at too.
found()
{
	local status=0

	verify --json >"$work/found" 2>"$work/why" || status=$?
	same "status of verify" $status 1
	grep -q "$taken is not whole" "$work/why" ||
		fail "verify says only: $(cat "$work/why")"
	jq -c 'select(.found)' "$work/found"
}

# record PACKETS KEYS
record()
{
	packets=$1
	rm -rf "$work"/disk*
	: >"$log"
	disks=()
	disks_make 2
	conf_write "$(stream_text "format = \"vdif\"; prefix = 8; fps = 1000;
		threads = [ 0 ]; max_age = \"60s\"; $2" | sed 's/block = "1M"/block = "4M"/')"
	spated_start
	take --format vdif --fps 1000 --packets $packets --dump "$work/ideal"
	slots=$(spate streams --json | jq .block_packets)
	spated_stop
}

# Times are compared to the microsecond, and in nanoseconds.
times='def ns: (.[0:19] + "Z" | fromdate) * 1000000000 +
	(.[20:] | rtrimstr("Z") | tonumber);
	def us: ./1000 | round;'

# flipped PACKET: one bit of it is one quantum.
flipped()
{
	tool flip "$work/ideal" "$1" "${disks[@]}"
	found >"$work/one"
	same "findings of packet $1" "$(wc -l <"$work/one")" 1
	same "what is told of packet $1" "$(jq -c "$times"' [.found, .chunks,
		.number, .at, .bytes, .offset, .end, .first, .last, .time,
		(.from | ns | us), (.to | ns | us)]' "$work/one")" \
		"$(tool where "$work/ideal" "$1" $slots | jq -c "$times"'
			["damaged", 1, .number, .at, .bytes, .offset, .end,
			.first, .last, "data", (.from | us), (.to | us)]')"
	same "the end" "$(jq -c 'select(.wrong) | [.wrong, .checksums, .bytes]' \
		"$work/found")" "[1,\"all\",$((packets * 8032))]"
	tool flip "$work/ideal" "$1" "${disks[@]}"
}

for layout in vbs mark6 file; do
	record 1300 "layout = \"$layout\";"
	verify >"$work/said"
	grep -q 'read back, nothing is wrong$' "$work/said" ||
		fail "verify says: $(cat "$work/said")"
	for packet in 0 773 1299; do
		flipped $packet
	done
	verify --quiet >/dev/null
done

# ---- checksums off ---------------------------------------------------------

record 400 'checksum = false;'
same "files of checksums" "$(find "${disks[@]}" -name '*.sums' | wc -l)" 0
verify | grep -q 'nothing is wrong; it has no checksums' || fail "not told"
tool flip "$work/ideal" 100 "${disks[@]}"
verify >/dev/null

# ---- chunks as files -------------------------------------------------------

record 3500 ''
chunk()
{
	find "${disks[@]}" -name "$taken.$(printf %08d "$1")"
}
kinds()
{
	found | jq -r .found | sort | uniq -c | tr -s ' \n' ' '
}

a=$(chunk 2) b=$(chunk 5)
mv "$a" "$work/a" && mv "$b" "$a" && mv "$work/a" "$b"
same "chunks that changed names" "$(kinds)" ' 2 misplaced '
jq -rs 'map(.what // empty) | join(", ")' "$work/found" | grep -q \
	"chunk 2 on .* holds the data of block 5" || fail "not told"
mv "$a" "$work/a" && mv "$b" "$a" && mv "$work/a" "$b"

truncate -s 3000000 "$a"
same "one that was cut off" "$(kinds)" ' 1 length '
same "the bytes that are gone" \
	"$(found | jq -c '[.number, .at, .bytes]')" "[2,3000000,1112384]"
mv "$a" "$work/a"
same "one that is not there" "$(kinds)" ' 1 missing '
cp "$(chunk 4)" "${a%.*}.00000099"
same "one too many" "$(kinds)" ' 1 missing 1 unindexed '
rm "${a%.*}.00000099"

sums=${b%.*}.sums
truncate -s -3 "$sums"
same "a torn tail" "$(kinds)" ' 1 checksums 1 missing 1 unsummed '

# ---- while it is recorded ---------------------------------------------------

rm -rf "$work"/disk*
disks=()
disks_make 2
settings+=('durable = "block";')
conf_write "$(stream_text 'format = "vdif"; prefix = 8; max_age = "100ms";')"
spated_start
spate record live --stream s
gen --format vdif --packets 800 --rate 50Mbps
settle live 800
wait_for 20 test -s "${disks[0]}/live/live.index"
spate verify live
spate stop live
spate verify live | grep -q 'nothing is wrong$'
spated_stop

# ---- parts -------------------------------------------------------------------

conf_write "$(stream_text 'format = "vdif"; prefix = 8; fps = 1000;
	split = "thread"; threads = [ 0, 1 ];')"
spated_start
spate record parts --stream s
gen --format vdif --packets 400 --threads 0,1 --fps 1000 --rate 50Mbps
settle parts_ds0 200
settle parts_ds1 200
spate stop parts
spated_stop
"$SPATE" verify parts --disks "$(disks_list)" >"$work/said"
same "parts" "$(grep -c '^parts_ds[01]: .* nothing is wrong$' "$work/said")" 2
printf X | dd of="$(find "${disks[@]}" -name 'parts_ds1.00000000')" bs=1 \
	seek=5000 conv=notrunc status=none
refused '1 of its 2 parts' "$SPATE" verify parts --disks \
	"$(disks_list)"
grep -q '^parts_ds1: chunk 0 on .* are damaged: ' "$work/refused" ||
	fail "not told: $(cat "$work/refused")"
