# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spate rm --> spated --> disks     what goes, what stays, and what is left
#                                     when it is killed in the middle
#
. "${BASH_SOURCE%/*}/functions.sh"

sent=(--format raw --prefix 8 --payload 1024)
take_one()
{
	spate record "$1" --stream s
	gen "${sent[@]}" --packets "${2:-1500}" --rate 100Mbps
	settle "$1" "${2:-1500}"
	spate stop "$1" >/dev/null
}

names()
{
	spate ls --json | jq -rs 'map(.name) | join(" ")'
}

on_disks()
{
	find "${disks[@]}" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -u |
		paste -sd ' '
}

disks_make 2
conf_write "$(stream_text 'format = "raw"; prefix = 8; payload = 1024;')"
spated_start
for name in a1 a2 a3 b; do
	take_one $name
done

# A look changes nothing; a pattern alone does neither.
spate rm --dry-run 'a*' >"$work/dry"
for text in a1 a2 a3 '3 of 3 would be removed'; do
	grep -q "$text" "$work/dry" || fail "--dry-run: $(cat "$work/dry")"
done
within "bytes it would free" 1500000 \
	"$(spate rm --dry-run --json a1 | jq .bytes)" 2000000
status=0
spate rm 'a*' </dev/null 2>"$work/said" || status=$?
same "a pattern without --yes" $status 2
if script -qec true /dev/null >/dev/null 2>&1; then
	echo no | script -qec "$SPATE --socket $socket rm 'a*'" /dev/null \
		>"$work/said" && fail "it took no for a yes"
	grep -q 'nothing was removed' "$work/said" ||
		fail "asked, it says: $(cat "$work/said")"
fi
same "what is there" "$(on_disks)" "a1 a2 a3 b"

# What is protected stays, whatever the pattern; the rest goes.
spate protect a1 >/dev/null
[ "$(spate ls --json a1 | jq .protected)" = true ] ||
	wait_for 30 eval '[ "$(spate ls --json a1 | jq .protected)" = true ]'
refused "it is protected" spate rm a1
refused "it is protected" spate rm --force a1
refused "a1 is not removed" spate rm --yes 'a*'
same "what is listed" "$(names)" "a1 b"
same "what is there" "$(on_disks)" "a1 b"
spate verify a1 >/dev/null
spate protect --off a1 >/dev/null
same "what goes" "$(spate rm a1 | sed 's/,.*//')" "a1 removed"
refused "no recording" spate rm a1
take_one a2
same "the name anew" "$(info a2 .packets)" 1500

# What is recorded stays; beside it others go, and it loses nothing.
spate record live --stream s
gen "${sent[@]}" --packets 15000 --rate 100Mbps &
sender=$!
at_end 'kill $sender 2>/dev/null'
refused "it is being recorded" spate rm live
refused "it is being recorded" spate rm --force --yes 'li*'
spate rm a2 >/dev/null
wait $sender
settle live 15000
spate stop live >/dev/null
same "packets that it lost" "$(info live .packets_lost)" 0
spate verify live >/dev/null

# What is read stays, unless by force.
mkfifo "$work/pipe"
spate export --force live "$work/pipe" 2>/dev/null &
reader=$!
at_end 'kill $reader 2>/dev/null'
exec 3<"$work/pipe"
head -c 1000 <&3 >/dev/null
refused "it is being read" spate rm live
spate rm --force live >/dev/null
kill $reader 2>/dev/null || true
exec 3<&-
same "what is there" "$(on_disks)" b

# What is not a file of it; links are not followed.
echo mine >"${disks[0]}/b/notes"
ln -s "$work/spate.conf" "${disks[0]}/b/b.00000099"
refused "is none of its files" spate rm b
same "what is there" "$(on_disks)" b
[ -e "${disks[0]}/b/b.index" ] || fail "rm removed what it refused to"

# A disk that is not there keeps what it has.
take_one c
mv "${disks[1]}" "$work/away"
spate rm c 2>"$work/said" >/dev/null
grep -q "${disks[1]} is not there" "$work/said" ||
	fail "of a disk that is not there: $(cat "$work/said")"
mv "$work/away" "${disks[1]}"
[ ! -e "${disks[0]}/c" ] && [ -e "${disks[1]}/c" ] ||
	fail "a disk that was not there lost something"
spate rm c >/dev/null

# Killed in the middle: what is left is no recording, and goes with the next.
big=${disks[0]}/big/big
for chunks in 5000 20000 100000; do
	take_one big
	# Chunks that nobody indexed, for it to take a while.
	(cd "${disks[0]}/big" && seq -f big.%08.0f 100 $chunks | xargs touch)
	spate rm big >/dev/null 2>&1 &
	rm=$!
	while [ -e "$big.index" ] && kill -0 $rm 2>/dev/null; do
		:
	done
	spated_kill
	wait $rm || true
	[ ! -e "$big.removing" ] || break
	spated_start
done
[ -e "$big.removing" ] || fail "it removes faster than it can be killed"
for ask in "$big.index" "${disks[1]}/big/big.index"; do
	[ ! -e "$ask" ] || [ -e "${ask%.index}.removing" ] ||
		fail "$ask is there without a mark"
done
spated_start
state_is()
{
	[ "$(spate ls --json big | jq -r .state)" = "$1" ]
}
wait_for 60 state_is removing
refused "being removed" spate export big "$work/exported"
refused "being removed" spate verify big
refused "being removed" spate recover big
refused "the name is taken" spate record big --stream s
spate rm big >/dev/null
same "what is there" "$(on_disks)" b
spated_stop

# Where all blocks share a file, inside of the folder or beside it.
for layout in mark6 file; do
	sent=(--format vdif --payload 1032)
	conf_write "$(stream_text 'format = "vdif"; prefix = 8; payload = 1032;
		layout = "'$layout'";')"
	spated_start
	take_one l
	take_one other
	same "packets" "$(info l .packets)" 1500
	wait_for 30 eval '[ "$(spate ls --json l | jq -r .layout)" = '$layout' ]'
	same "in the list" "$(spate ls --json | jq -r .name | paste -sd " ")" \
		"b l other"
	spate protect l >/dev/null
	refused "it is protected" spate rm l
	spate protect --off l >/dev/null
	within "bytes it would free" 1500000 \
		"$(spate rm --dry-run --json l | jq .bytes)" 2200000
	spate rm l >/dev/null
	find "${disks[@]}" -name 'l' -o -name 'l.*' | grep . &&
		fail "rm left something of layout $layout"
	spate verify other >/dev/null
	spate rm other >/dev/null
	same "what is there" "$(on_disks)" b
	spated_stop
done

# Without a daemon.
local_disks=$(IFS=:; echo "${disks[*]}")
alone()
{
	"$SPATE" --disks "$local_disks" "$@"
}
alone protect b >/dev/null
refused "it is protected" alone rm --force b
alone protect --off b >/dev/null
same "what it says" "$(alone rm --force b | sed 's/,.*//')" "b removed"
same "what is there" "$(on_disks)" ""
[ -s "$work/spate.conf" ] || fail "it removed what a link points to"

# What other programs made, under names that ours cannot have, too.
python=${SPATE_PYTHON:-python3}
make()
{
	local kind=$1 name=$2
	shift 2

	printf '%s\0' "$kind" "$name" "$work/ideal" "${disks[@]}" "$@" '' |
		"$python" "$top_srcdir/tests/flow/foreign_make.py" >/dev/null
}
removed()
{
	same "what rm says" "$("$@" | sed 's/,.*//')" "${!#} removed"
	[ -z "$(find "${disks[@]}" -name "${!#}*")" ] ||
		fail "it left something of ${!#}"
}
command -v "$python" >/dev/null || exit 0
make jive5ab j.with.dots
make streamer s.1 --counter le64 --pad --per-block 1008
make streamer s2 --counter le64 --pad --per-block 1008
make single s.one --counter le64
make sg2 g.vdif
mkdir "${disks[0]}/www.site"
echo mine >"${disks[0]}/www.site/notes"
conf_write "$(stream_text 'format = "raw"; prefix = 8; payload = 1024;')"
spated_start
spate protect j.with.dots >/dev/null
wait_for 30 eval '[ "$(spate ls --json j.with.dots | jq .protected)" = true ]'
refused "it is protected" spate rm --force j.with.dots
spate protect --off j.with.dots >/dev/null
spate send j.with.dots --to null:// --wait --json >"$work/sent"
same "packets that were sent" "$(jq .packets "$work/sent")" 5000
removed spate rm j.with.dots
removed spate rm s.1
removed alone rm s2
removed alone rm s.one
refused "it consists of Mark6 files" spate rm --force g.vdif
refused "it consists of Mark6 files" spate protect g.vdif
refused "no recording" spate rm --force www.site
refused "no recording" spate protect www.site
refused "no recording" alone rm --force ../disk0
same "what is there" "$(on_disks)" "g.vdif www.site"
[ -s "${disks[0]}/www.site/notes" ] || fail "it removed what is no recording"

# A removal that was cut short.
make jive5ab j.cut
touch "${disks[1]}/j.cut/j.cut.removing"
refused "being removed" alone export j.cut "$work/exported" --force
same "state" "$(alone ls --json j.cut | jq -r .state)" removing
removed spate rm j.cut
spated_stop
