# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   What must not break the schedule's commands: files that are none, names
#   that lead elsewhere, and a thousand scans
#
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_schedule.sh"

disks_make 2
schedule_conf
spated_start

nothing_changed()
{
	same "files" "$(cd "$work" && find schedule.d)" schedule.d
	same "scans" "$(scans)" 0
	spated_alive || fail "spated ended"
}

# ---- names of files -----------------------------------------------------

scan_text good 3600 1m s | scans_conf "$work/good.conf"
for name in ../up.conf /etc/x.conf a/b.conf .hidden.conf x.conf~ '#x.conf#' \
	.conf x.txt x.conf.tmp '' . .. $'new\nline.conf' $'es\ec.conf' \
	"$(printf 'n%.0s' {1..300}).conf"; do
	for dry in --dry-run --quiet; do
		! spate schedule add $dry --as "$name" "$work/good.conf" \
			>"$work/out" 2>&1 || fail "took '$name'"
		[ -s "$work/out" ] || fail "said nothing of '$name'"
		! grep -q $'\e' "$work/out" || fail "wrote an escape"
	done
	nothing_changed
done
[ ! -e "$work/up.conf" ] || fail "wrote outside of the folder"

# One that hides is a usage error before anybody is asked.
cp "$work/good.conf" "$work/good"
refused "--as NAME.conf" usage spate schedule add "$work/good"
refused "one file" usage spate schedule add --as x.conf "$work"/good{,.conf}

# ---- what is in them ----------------------------------------------------

head -c 1000 /dev/urandom >"$work/noise.conf"
printf '\xff\xfe = 1;' >"$work/latin.conf"
printf 'scans = ();\0' >"$work/zero.conf"
head -c 10M /dev/zero | tr '\0' '#' >"$work/long.conf"
printf '( %.0s' {1..100000} >"$work/deep.conf"
{ echo 'a = '; cat "$work/deep.conf"; } >"$work/deeper.conf"
echo '@include "/etc/passwd"' >"$work/include.conf"
mkdir "$work/folder.conf"
for bad in noise latin zero long deep deeper include folder; do
	for how in "add" "add --dry-run" "check"; do
		# shellcheck disable=SC2086
		! timeout 60 "$SPATE" --socket "$socket" schedule $how \
			"$work/$bad.conf" >"$work/out" 2>&1 ||
			fail "took $bad.conf"
		same "lines that $how says of $bad" \
			"$(wc -l <"$work/out")" 1
	done
	nothing_changed
done
refused "cannot read" spate schedule add "$work/nosuch.conf"
grep -q '640.0 KiB' <(spate schedule add "$work/long.conf" 2>&1 || true)

# ---- scans that cannot be -----------------------------------------------

now=$(date -u +%FT%TZ)
bad_scan()
{
	printf 'scans = ( { name = "x"; stream = "s"; %s } );\n' "$1" \
		>"$work/bad.conf"
	! spate schedule add --dry-run "$work/bad.conf" >"$work/out" 2>&1 ||
		fail "took $1"
}
for keys in "start = \"$now\";" "start = \"$now\"; duration = \"0s\";" \
	"start = \"$now\"; duration = \"-5s\";" 'duration = "5m";' \
	"start = \"$now\"; stop = \"2020-01-01T00:00:00Z\";" \
	'start = "tomorrow"; duration = "5m";' \
	"start = \"$now\"; duration = \"5m\"; priority = -1;" \
	"start = \"$now\"; duration = \"5m\"; nosuch = 1;" \
	"start = \"$now\"; duration = \"999999999h\";" \
	'start = "2261-01-01T00:00:00Z"; duration = "2000000h";' \
	'start = "2100-01-01T00:00:00Z"; duration = "5m"; arm = "2000000h";' \
	'start = "2100-01-01T00:00:00Z"; duration = "5m"; backlog = "9000h";' \
	'start = "0001-01-01T00:00:00Z"; duration = "5m";'; do
	bad_scan "$keys"
	nothing_changed
done

# What is over, and what is there twice, is told of.
{
	scan_text over -3600 1m s
	scan_text twice 3600 1m s
	scan_text twice 3600 5m s
} | scans_conf "$work/bad.conf"
for how in "add --dry-run" check add; do
	# shellcheck disable=SC2086
	refused "1 of 3 scans will not be recorded" \
		spate schedule $how "$work/bad.conf" --json
	same "verdicts of $how" \
		"$(grep '"name"' "$work/refused" | jq -r .verdict | sort | xargs)" \
		"ok over refused"
done
same "missed" "$(state over)" missed
spate schedule rm bad.conf >/dev/null

# ---- a thousand ---------------------------------------------------------

many=1000
for ((i = 0; i < many; i++)); do
	scan_text "many_$i" $((3600 + i * 60)) 5s s
done | scans_conf "$work/many.conf"
spate schedule check "$work/many.conf" --json >"$work/out"
same "checked" "$(jq -r 'select(.name).verdict' "$work/out" | sort | uniq -c |
	xargs)" "$many ok"
same "what all will make" "$(jq 'select(.name | not).volume' "$work/out")" \
	$((many * 5000000))
spate schedule add "$work/many.conf" >"$work/out"
same "rows" "$(grep -c ' ok$' "$work/out")" $many
same "scans" "$(scans)" $many
same "rows of ls" "$(spate schedule ls | grep -c ' waiting ')" $many
spate schedule check >"$work/out"
same "rows of check" "$(grep -c ' ok$' "$work/out")" $many
spate schedule rm many_500 >/dev/null
same "cancelled" "$(state many_500)" cancelled
spate schedule rm many.conf >/dev/null
same "what is ahead" "$(ahead)" ""

# In the log these are few lines.
sed 's/"s"/"nosuch"/; s/many_/other_/' "$work/many.conf" \
	>"$work/nosuch.conf"
! spate schedule add "$work/nosuch.conf" >/dev/null || fail "took nosuch.conf"
rm "$folder/nosuch.conf"
wait_for 20 have_scans 0
for line in '[a-z]*.conf: 1000 scans' '[a-z]*_[0-9]*: cancelled:.*' \
	'[a-z]*_[0-9]*: refused:.*' '[0-9]* more scans are .*'; do
	grep -ox -- ".* $line" "$log" | wc -l
done | xargs >"$work/out"
same "lines for a thousand" "$(cat "$work/out")" "2 11 5 3"
spated_stop
