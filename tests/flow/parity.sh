# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated --> 6 disks, with parity      one or two of them go
#                         |                              |
#                         `--> export of all  =  export of the rest
#
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 6

# records PARITY LAYOUT GEN: a recording of packets, and its bytes as they
# are with all disks.
records()
{
	find "${disks[@]}" -mindepth 1 -delete
	conf_write "$(stream_text "format = \"vdif\"; prefix = 8; payload = 8032;
		fps = 2000; parity = $1; layout = \"$2\";")"
	spated_start
	take --format vdif --fps 2000 --packets 6000 --loss 0.01 "${@:3}"
	exports whole
	[ "$*" != "1 vbs" ] || daemon_knows
	spated_stop
}

# daemon_knows: info of a recording that the daemon still knows is of the disks as
# they are now.
daemon_knows()
{
	mv "${disks[0]}/$taken" "$work/away"
	[ "$(spate info "$taken" --json | jq .computed)" -gt 0 ] ||
		fail "the daemon knows nothing of a disk that is gone"
	mv "$work/away" "${disks[0]}/$taken"
}

# exports FILE: the bytes that the disks in ${there[@]} give.
exports()
{
	"$SPATE" export "$taken" "$work/$1" --force --quiet \
		--disks "$(IFS=:; echo "${there[*]}")" >/dev/null
}

# with_disks NUMBERS: only these are there.
with_disks()
{
	local i

	there=()
	for i in "$@"; do
		there+=("${disks[i]}")
	done
}

# without NUMBERS: exports what the other disks give, and compares it.
without()
{
	mapfile -t left < <(seq 0 5 | grep -vE "^($(IFS="|"; echo "$*"))$")
	with_disks "${left[@]}"
	exports part
	cmp "$work/whole" "$work/part" || fail "disks $* are away: $taken"
	with_disks 0 1 2 3 4 5
}

# damages FILE: turns a bit in its middle.
damages()
{
	local at=$(($(stat -c %s "$1") / 2))

	printf '\\x%02x' $(($(xxd -s $at -l 1 -p "$1" | sed 's/^/16#/') ^ 1)) |
		xargs -0 printf |
		dd of="$1" bs=1 seek=$at conv=notrunc status=none
}

need xxd
with_disks 0 1 2 3 4 5
for layout in vbs mark6 file; do
	records 1 $layout
	for gone in 0 1 2 3 4 5; do
		without $gone
	done
done
records 2 vbs
for gone in 0 1 2 3 4 5; do
	for also in $(seq $((gone + 1)) 5); do
		without $gone "$also"
	done
done

# left DISKS...: chunks of which two more disks may die, and one; and all chunks.
left()
{
	with_disks "$@"
	"$SPATE" info "$taken" --json \
		--disks "$(IFS=:; echo "${there[*]}")" |
		jq -r '"\(.with_parity) \(.with_less_parity) \(.chunks)"'
	with_disks 0 1 2 3 4 5
}

read -r two one chunks < <(left 0 1 2 3 4 5)
same "what is left with all disks" "$two $one" "$chunks 0"
read -r two one chunks < <(left 0 1 2 3 4)
same "what is left without one" "$((two + one))" "$chunks"
[ "$one" -gt 0 ] || fail "a disk is away, and $two of $chunks do not mind"
with_disks 0 1 2 3 4
"$SPATE" info "$taken" --disks "$(IFS=:; echo "${there[*]}")" >"$work/told"
grep -qE "parity +of 2 disks, for $two of $chunks chunks, of 1 disk for $one$" \
	"$work/told" || fail "info says $(cat "$work/told")"
with_disks 0 1 2 3 4 5
read -r two one chunks < <(left 0 1 2 3)
same "what is left without two" "$((two + one < chunks))" 1

# A bit that turned in a chunk, or in parity, or in both; a chunk that is away.
chunk=$(find "${disks[2]}/$taken" -name "$taken.0*" | sort | sed -n 3p)
damages "$chunk"
without
without 4
parity=$(find "${disks[@]}" -name "$taken.parity.0*" | sort | sed -n 1p)
damages "$parity"
without
without 4
rm "$chunk"
without
without 4

# With two disks there is no second one for parity, and that is said.
all=("${disks[@]}")
disks=("${all[@]:0:2}")
records 2 vbs
disks=("${all[@]}")
same "warnings" "$(grep -c 'it needs 3$' "$log")" 1
grep -qE "$taken: [1-9][0-9]* blocks were recorded without parity" "$log" ||
	fail "the end says nothing of parity"

# A recording that is shorter than a group, and one of a single disk's.
for packets in 1 130 300; do
	take_few=$packets
	records 1 vbs --packets $take_few
	without 0
	without 5
done

# What was computed is counted, and said once; what parity does not mend is
# exported as it is, counted, and makes the command fail.
with_disks 0 1 2 3 4 5
exports whole
folder=$(dirname "$(find "${disks[@]}" -name "$taken.0*" -print -quit)")
mv "$folder" "$folder.away"
"$SPATE" export "$taken" "$work/part" --force --json --disks \
	"$(IFS=:; echo "${there[*]}")" >"$work/told" 2>"$work/said" ||
	fail "export without $folder: $(cat "$work/said")"
mv "$folder.away" "$folder"
cmp "$work/whole" "$work/part"
[ "$(jq .healed "$work/told")" -gt 0 ] || fail "healed: $(cat "$work/told")"
same "lines about it" "$(grep -c 'was computed from parity' "$work/said")" 1
same "damaged" "$(jq .damaged "$work/told")" 0
find "${disks[@]}" -name "$taken.0*" | while read -r chunk; do
	damages "$chunk"
done
find "${disks[@]}" -name "$taken.parity.0*" | while read -r parity; do
	damages "$parity"
done
! exports part 2>"$work/said" || fail "damaged data, and export is content"
grep -q 'have a wrong checksum' "$work/said" || fail "$(cat "$work/said")"
same "length" "$(stat -c %s "$work/part")" "$(stat -c %s "$work/whole")"
