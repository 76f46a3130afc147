# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# recover gives what other programs recorded an index, and leaves its chunks
# as they are; of two of a number, which jive5ab refuses, it renames one.

. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/foreign.sh"
disks_make 3

chunks()
{
	find "${disks[@]}" -regex '.*\.[0-9]+' -printf '%p %s %T@\n' | sort
}

recovers()
{
	local before
	before=$(find "${disks[@]}" -printf '%p %s\n' | sort)

	spate recover "$1" --dry-run --json >"$work/dry"
	same "$1: a dry run" "$(find "${disks[@]}" -printf '%p %s\n' | sort)" \
		"$before"
	before=$(chunks)
	spate recover "$1" --json >"$work/wet"
	same "$1: chunks" "$(chunks)" "$before"
	same "$1: said" "$(jq -c 'del(.dry_run)' "$work/dry")" \
		"$(jq -c 'del(.dry_run)' "$work/wet")"
	same "$1: rebuilt" "$(jq .rebuilt "$work/wet")" "$2"
	find "${disks[@]}" -name "$1.index" | grep -q .
	same "$1: again" "$(spate recover "$1")" \
		"$1: there was nothing to do"
	spate verify "$1" >/dev/null
}

# ---- each kind ----------------------------------------------------------

make jive5ab j1 --lose 3000
make jive5ab j5 --format mark5b --payload 10016 --per-block 64 --fps 100
make jive5ab jraw --format raw
make streamer s5 --counter le32@4 --format mark5b --payload 5008 --pad \
	--per-block 129
make streamer s5crash --counter le32@4 --format mark5b --payload 5008 --pad \
	--crash
make streamer sbare --payload 8224 --pad
spate info j1 --json | jq 'del(.notes)' >"$work/before"
recovers j1 8
spate info j1 --json | jq 'del(.notes)' >"$work/after"
for key in .packets .packets_lost .start .end .bytes .format .made_by; do
	same "$key" "$(jq "$key" "$work/after")" "$(jq "$key" "$work/before")"
done
reads_as j1 jive5ab 4999 1
# What jive5ab filled stays known as that, but for what is before the first
# packet and behind the last one.
make jive5ab jfill --fill --lose 640 641 1282 1919 1920 4000
recovers jfill 8
reads_as jfill jive5ab 4994 6
holes=$(cat "${disks[@]/%//jfill/jfill.meta.jsonl}" | jq -c 'select(.holes) |
	[.block, .holes]' | sort -t, -n | tr '\n' ' ')
same "holes" "$holes" "[1,[[0,2]]] [2,[[2,1],[639,1]]] [3,[[0,1]]] [6,[[160,1]]] "
recovers j5 79
reads_as j5 jive5ab 5000 0
recovers jraw 8
reads_as jraw jive5ab 125 0
recovers s5 39
reads_as s5 VLBI-streamer 5000 0
recovers s5crash 8
reads_as s5crash VLBI-streamer 5000 0
recovers sbare 8
reads_as sbare VLBI-streamer 5000 0

# ---- what has no chunks -------------------------------------------------

make single sone --counter le64
make jive5ab with.dot
for name in sone with.dot; do
	refused "$name gets no index" spate recover $name
	[ -z "$(find "${disks[@]}" -name "$name.index")" ]
done

# ---- two of a number ----------------------------------------------------

make jive5ab twice
from=$(find "${disks[@]}" -name twice.00000003)
for disk in "${disks[@]}"; do
	to=$disk/twice/twice.00000003
	[ "$to" = "$from" ] || break
done
head -c 50000 "$from" >"$to"
reads_as twice jive5ab 5000 0
refused "is there twice" spate verify twice
spate recover twice | grep -q "twice.00000003.aside"
[ -e "$to.aside" ] && [ ! -e "$to" ]
spate verify twice >/dev/null
reads_as twice jive5ab 5000 0

# A disk that was away when it was made; and what a crash leaves of that.
make jive5ab away
mv "${disks[1]}/away" "$work/away"
spate recover away >/dev/null
mv "$work/away" "${disks[1]}/away"
spate recover away >/dev/null
spate verify away >/dev/null
reads_as away jive5ab 5000 0
rm "${disks[@]/%//away/away.index}"
reads_as away jive5ab 5000 0
spate recover away >/dev/null
spate verify away >/dev/null
reads_as away jive5ab 5000 0

# ---- Mark6 --------------------------------------------------------------

sums()
{
	(cd "$work" && sha256sum disk*/"$1")
}

make sg2 g2 --payload 8224 --per-block 121
make sg2 g5 --format mark5b --payload 10016 --per-block 64 --fps 100
before=$(sums g2)
recovers g2 42
recovers g5 79
same "the files" "$(sums g2)" "$before"
[ -e "${disks[0]}/g2.spate/g2.index" ]
reads_as g2 Mark6 5000 0
reads_as g5 Mark6 5000 0
spate check g2 --max-loss 0 >/dev/null
make sg1 g1 --payload 8224 --per-block 121
make sg2 gvtp --counter le64
make sg2 gcut --payload 8224 --per-block 121
truncate -s -1234 "${disks[2]}/gcut"
for name in g1 gvtp; do
	refused "$name gets no index" spate recover $name
done
recovers gcut 42
same "packets of a cut one" "$(info gcut .packets)" 4999
