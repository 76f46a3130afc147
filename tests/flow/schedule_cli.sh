# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   x.conf --spate schedule add--> spated --writes--> schedule.d/x.conf
#
#   What a person does with the schedule: list, check, add, and take away
#
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_schedule.sh"

disks_make 2
schedule_conf
spated_start

# Of the JSON that `refused` caught.
said()
{
	grep '^{' "$work/refused" | jq -c "$1"
}

# ---- nothing ------------------------------------------------------------

same "no scans" "$(spate schedule)" "0 scans"
same "no scans in JSON" "$(spate schedule ls --json)" ""
refused "which one?" usage spate schedule add
refused "which one?" usage spate schedule rm
refused "there is no 'lst'" usage spate schedule lst
refused "too many" usage spate schedule ls x

# ---- what a file would be -----------------------------------------------

{
	scan_text r1 3600 60s s
	scan_text r2 3700 10m 's", "t'
	scan_text r3 7200 60s t 'priority = 7'
} | scans_conf "$work/week.conf"

spate schedule add --dry-run "$work/week.conf" >"$work/out"
grep -q '^r1 .* 57.2 MiB .* ok$' "$work/out" || fail "$(cat "$work/out")"
grep -q '^r3 .* 7 .* unknown$' "$work/out" || fail "$(cat "$work/out")"
grep -qx 'week.conf would be added: 3 scans' "$work/out"
[ ! -e "$folder/week.conf" ] || fail "--dry-run wrote a file"
same "scans after --dry-run" "$(scans)" 0

# 60 s at 8 Mb/s.
spate schedule check "$work/week.conf" --json >"$work/out"
same "volume" "$(jq -r 'select(.name == "r1").volume' "$work/out")" 60000000
same "unknown volume" "$(jq -r 'select(.name == "r3").volume' "$work/out")" null
same "verdicts" "$(jq -r 'select(.name).verdict' "$work/out" | xargs)" \
	"ok unknown unknown"
same "the sum" "$(jq -c 'select(.name | not) | [.volume, .unknown, .refused,
	.full_at, .memory.bytes]' "$work/out")" \
	"[60000000,2,0,null,67108864]"
spate schedule check "$work/week.conf" >"$work/out"
grep -q '^disks   57.2 MiB to come, ' "$work/out"
grep -q '^memory  at most .* of 64.0 MiB, at ' "$work/out"
same "scans after check" "$(scans)" 0

# ---- adding it ----------------------------------------------------------

# Others may be able to write to that folder.
ln -s "$work/elsewhere" "$folder/.week.conf.new"
refused "it is a link" spate schedule add "$work/week.conf"
[ ! -e "$work/elsewhere" ] || fail "a scan is written where a link leads to"
rm "$folder/.week.conf.new"

spate schedule add "$work/week.conf" >"$work/out"
grep -qx 'week.conf added: 3 scans' "$work/out"
refused "it is there already" spate schedule add -n "$work/week.conf"
cmp "$work/week.conf" "$folder/week.conf"
same "scans" "$(scans)" 3
same "states" "$(state r1) $(state r2) $(state r3)" "waiting waiting waiting"
within "seconds to r1" 3500 "$(next_s r1)" 3600
spate schedule ls >"$work/out"
grep -Eq '^ *[0-9]+  r1 +20.*Z +1m 00s  s +0  waiting  in (59m|1h 00m)' \
	"$work/out" || fail "$(cat "$work/out")"
grep -Eqx '3 scans; next is r1 in (59m .*|1h 00m)' "$work/out"

refused "week.conf" spate schedule add "$work/week.conf"
same "scans after the same again" "$(scans)" 3
scan_text r1 3600 90s s | scans_conf "$work/week2.conf"
refused "week.conf" spate schedule add --as week.conf "$work/week2.conf"
spate schedule add --as week.conf --replace "$work/week2.conf" >/dev/null
same "scans of what replaced it" "$(scans)" 1
same "its length" "$(scan r1 .duration_s)" 90

# From standard input, with a name.
scan_text r4 9000 1m s | scans_conf - |
	spate schedule add - --as more.conf --json >"$work/out"
same "added from stdin" "$(jq -r '.name + .file + .verdict' "$work/out")" \
	"r4more.confok"
same "scans" "$(scans)" 2

# By hand, without the command.
scan_text r5 9500 1m s | scans_conf "$folder/hand.conf"
wait_for 20 have_scans 3

# ---- taking it away -----------------------------------------------------

spate schedule rm r4 >"$work/out"
grep -q '^r4, 20.*: taken out of the schedule$' "$work/out"
same "cancelled" "$(state r4)" cancelled
[ -e "$folder/more.conf" ] || fail "rm of a scan removed its file"
spate schedule rm "$(scan r5 .id)" >/dev/null
same "cancelled" "$(state r5)" cancelled
same "what is ahead" "$(ahead)" r1
refused "nosuch" spate schedule rm nosuch
refused "4711" spate schedule rm 4711
refused "nosuch.conf" spate schedule rm nosuch.conf
spate schedule rm week.conf more.conf hand.conf >/dev/null
same "files" "$(ls "$folder")" ""
same "what is ahead" "$(ahead)" ""

# What is cancelled stays so.
scan_text r6 9000 1m s | scans_conf "$work/six.conf"
spate schedule add "$work/six.conf" >/dev/null
spate schedule rm r6 >/dev/null
spated_stop
spated_start
same "cancelled after a restart" "$(state r6)" cancelled
spate schedule rm six.conf >/dev/null

# ---- who loses ----------------------------------------------------------

# Each of `big` takes 48 of 64 MiB.
{
	scan_text low 3600 10m big
	scan_text high 3900 10m big 'priority = 3'
	scan_text after 4600 10m big
} | scans_conf "$work/two.conf"
refused "1 of 3 scans will not be recorded" spate schedule add "$work/two.conf"
same "low" "$(state low)" refused
same "high" "$(state high)" waiting
same "after" "$(state after)" waiting
scan low .why | grep -q '^memory: 9.* MiB are asked for from .* high (priority 3)$'
refused "1 of 3 scans will not be recorded" spate schedule check
refused "1 of 3" spate schedule check --json
same "conflict" "$(said 'select(.name == "low").conflicts')" \
	'[{"name":"high","why":"memory"}]'
spate schedule ls | grep -q 'low .* refused .* memory: .*high (priority 3)'

# It is decided anew: without the other there is room.
spate schedule rm high >/dev/null
wait_for 20 has_state low waiting
spate schedule rm two.conf >/dev/null

# What runs is there before all of them, and they come after it has ended.
scan_text next 3600 10m big 'priority = 9' | scans_conf "$work/next.conf"
spate record hand --stream big >/dev/null
refused "1 of 1" spate schedule add "$work/next.conf"
scan next .why | grep -q 'before it comes hand (runs)$'
spate stop hand >/dev/null
wait_for 20 has_state next waiting
spated_stop
spated_start
same "after a restart" "$(state next)" waiting
spate schedule rm next.conf >/dev/null

# More than the disks hold: 80 Mb/s for a year.
scan_text year 3600 8760h big | scans_conf "$work/year.conf"
refused "1 of 1 scans will not be recorded" spate schedule add "$work/year.conf" --json
same "year" "$(said 'select(.name).verdict')" '"refused"'
scan year .why | grep -q '^disks: it makes 286.* TiB, and there is room for '
refused "1 of 1" spate schedule check
grep -q '; full at 20' "$work/refused"
spate schedule rm year.conf >/dev/null

# ---- what cannot be done ------------------------------------------------

scan_text lost 3600 1m nosuch | scans_conf "$work/lost.conf"
refused "will not be recorded" spate schedule add --dry-run "$work/lost.conf"
grep -q "nosuch" "$work/refused"
refused "will not be recorded" spate schedule add "$work/lost.conf"
same "of an unknown stream" "$(state lost)" refused
scan lost .why | grep -q nosuch
spate schedule rm lost.conf >/dev/null

echo 'scans = ( { name = "x"; start = ' >"$work/half.conf"
refused "half.conf:" spate schedule add "$work/half.conf"
refused "half.conf:" spate schedule check "$work/half.conf"
[ ! -e "$folder/half.conf" ] || fail "half a file was added"

# Put there by hand it is told of, with its line, and holds nothing up.
cp "$work/half.conf" "$folder"
wait_for 20 says_wrong half.conf:
rm "$folder/half.conf"

# ---- one file for many recorders ----------------------------------------

{
	scan_text s1 3600 60s s 'station = "Mh"'
	scan_text s1 3600 60s big 'station = [ "Ef", "On" ]'
	scan_text s2 3700 60s s
	scan_text slip 3800 60s s 'station = "On"; duraton = 1'
} | scans_conf "$work/array.conf"
array_is()
{
	same "scans of $1" "$(ahead)" "$2"
	spate schedule ls | grep -q "; $3 of other stations\$" ||
		fail "others of $1: $(spate schedule ls)"
	same "streams of $1" "$(scan s1 '.streams | join(" ")')" "$4"
}

# One that does not know its station records what names none, and says so.
refused "3 of 4 scans will not be recorded" \
	spate schedule add --dry-run "$work/array.conf"
grep -q 's1 .* it is for station Mh, and nobody said which this is' \
	"$work/refused"

# The environment goes before the file, which may be the same on all.
spated_stop
settings+=('station = "Ef";')
conf_write "$(schedule_streams)"
export SPATE_STATION=Mh
"$SPATED" -n -c "$conf" | grep -qx 'station  Mh'
spated_start
spate schedule add --dry-run "$work/array.conf" |
	grep -qx 'array.conf would be added: 2 scans; 2 of other stations'
same "others in a check" "$(spate schedule check --json "$work/array.conf" |
	jq -r 'select(.name | not) | .others')" 2
spate schedule add "$work/array.conf" |
	grep -qx 'array.conf added: 2 scans; 2 of other stations'
cmp "$work/array.conf" "$folder/array.conf"
array_is Mh "s1 s2" 2 s
same "others in a check" "$(spate schedule check --json | jq -r \
	'select(.name | not) | .others')" 2
spate schedule check | grep -q '^others  2 scan(s) of other stations'
spated_stop

# The same folder, with what it remembers of Mh.
unset SPATE_STATION
spated_start
array_is Ef "s1 s2" 2 big
spate schedule rm array.conf >/dev/null
same "scans without the file" "$(spate schedule ls)" "0 scans"
spated_stop

# ---- no folder ----------------------------------------------------------

settings=('memory = "64M";' 'reserve = "1M";')
conf_write "$(schedule_streams)"
spated_start
spate schedule | grep -q '`schedule`'
refused "schedule" spate schedule add "$work/week.conf"
same "nothing to check" "$(spate schedule check --json | jq -c .volume)" 0
spated_stop
