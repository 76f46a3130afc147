# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   x.vex, x.snp --spate schedule import--> spated --writes--> schedule.d/x.conf
#                                                  --records-> x_ef_no0001
#
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_schedule.sh"

disks_make 2
schedule_conf

# SECONDS FORM: that time from now on
at()
{
	date -u -d "@$((EPOCHSECONDS + $1))" "+$2"
}

# NAME SECONDS LENGTH: a scan of Ef; Wb is there as well, for half of it.
vex_scan()
{
	echo "scan $1; start=$(at "$2" %Yy%jd%Hh%Mm%Ss); mode=m; source=M87;"
	echo "  station=Ef: 0 sec: $3 sec: 0.0 GB: : &n : 1;"
	echo "  station=Wb: 0 sec: $(($3 / 2)) sec: 0.0 GB: : &n : 1;"
	echo "endscan;"
}

vex()
{
	printf '%s\n' 'VEX_rev = 1.5;' '$GLOBAL; ref $EXPER = TX1;' \
		'$EXPER; def TX1; exper_name = TX1; enddef;' '$SCHED;'
	cat
}

import()
{
	spate schedule import --station Ef --stream s "$@"
}

{ vex_scan No0001 3600 60; vex_scan 3C454.3 3700 600; } | vex >"$work/tx1.vex"

# ---- without a daemon ---------------------------------------------------

import -n "$work/tx1.vex" >"$work/out" 2>"$work/notes"
grep -Eq '^tx1_ef_no0001 +20.* 1m 00s  s$' "$work/out" || fail "$(cat "$work/out")"
grep -q 'nothing is checked' "$work/notes"
grep -q 'tx1.vex:10: a recording cannot be called TX1_Ef_3C454.3: it will be tx1_ef_3c454-3$' \
	"$work/notes" || fail "$(cat "$work/notes")"
refused "cannot reach spated" import "$work/tx1.vex"

# ---- with one -----------------------------------------------------------

spated_start
refused "which stream" usage spate schedule import --station Ef "$work/tx1.vex"
refused "scans of which station" usage spate schedule import --stream s "$work/tx1.vex"

# Only to see: volume at 8 Mb/s, and that it fits.
import --dry-run "$work/tx1.vex" >"$work/out" 2>/dev/null
grep -Eq '^tx1_ef_no0001 .* 57.2 MiB .* ok$' "$work/out" || fail "$(cat "$work/out")"
grep -qx 'tx1.conf would be added: 2 scans' "$work/out"
same "scans after --dry-run" "$(scans)" 0
[ ! -e "$folder/tx1.conf" ] || fail "--dry-run wrote a file"

import "$work/tx1.vex" >"$work/out" 2>/dev/null
grep -qx 'tx1.conf added: 2 scans' "$work/out"
same "what is ahead" "$(ahead)" "tx1_ef_no0001 tx1_ef_3c454-3"
same "start" "$(date -u -d "$(scan tx1_ef_no0001 .start)" +%Yy%jd%Hh%Mm%Ss)" \
	"$(sed -n 's/.*start=\([^;]*\).*/\1/p;T;q' "$work/tx1.vex")"
same "length" "$(scan tx1_ef_3c454-3 .duration_s)" 600
head -1 "$folder/tx1.conf" | grep -qx '# Imported from tx1.vex: 2 scans of experiment TX1, station Ef'

# A new version of it.
vex_scan No0001 3600 90 | vex >"$work/tx1.vex"
refused "it is there already" import "$work/tx1.vex"
import --replace --priority 7 "$work/tx1.vex" >/dev/null
same "what is ahead" "$(ahead)" tx1_ef_no0001
same "priority" "$(scan tx1_ef_no0001 .priority)" 7

# A stream that is not there, several, and sending.
vex_scan No0009 7200 90 | vex >"$work/tx9.vex"
refused "nosuch" import -n --stream nosuch "$work/tx9.vex"
import --stream s,t --send tcp://h:1 --as b.conf "$work/tx9.vex" >/dev/null
grep -q 'streams = \[ "s", "t" \]; .* send = "tcp://h:1";' "$folder/b.conf"
same "its streams" "$(scan tx1_ef_no0009 '.streams | join(" ")')" "s t"
spate schedule rm b.conf tx1.conf >/dev/null

# What cannot be recorded is left out, and the rest is not.
{ vex_scan No0021 7200 90; vex_scan No0022 7300 0; } | vex >"$work/tx3.vex"
refused "1 of 2 scans are left out" import "$work/tx3.vex"
grep -q 'tx3.vex:10: scan No0022 is left out: it stops when it starts' "$work/refused"
same "the other one" "$(state tx1_ef_no0021)" waiting
spate schedule rm tx3.conf >/dev/null

# From standard input it has no name.
refused "standard input" usage import - <"$work/tx9.vex"
import -n - --as x.conf <"$work/tx9.vex" | grep -qx 'x.conf would be added: 1 scan'

# ---- it is recorded -----------------------------------------------------

# Three in a row, of two files.
{ vex_scan No0011 10 2; vex_scan No0012 12 2; } | vex >"$work/tx1.vex"
{
	echo "scan_name=No0013,tx1,ef,2,2"
	echo "!$(at 14 %Y.%j.%H:%M:%S)"
	echo "disk_record=on"
	echo "!+2s"
	echo "disk_record=off"
} >"$work/tx1ef.snp"
import "$work/tx1.vex" >/dev/null
import "$work/tx1ef.snp" >/dev/null
gen --format raw --prefix 8 --payload 1024 --rate 8Mbps --for 20s &
sender=$!
at_end "kill $sender 2>/dev/null"
for n in 11 12 13; do
	wait_for 120 has_state "tx1_ef_no00$n" done
	[ "$(info "tx1_ef_no00$n" .packets)" -gt 0 ] ||
		fail "nothing came for tx1_ef_no00$n"
done
kill $sender 2>/dev/null || true
spated_stop

# ---- one file for all recorders -----------------------------------------

vex_scan No0031 7200 60 | vex >"$work/tx4.vex"
for one in Ef:60 Wb:30; do
	SPATE_STATION=${one%:*} spated_start
	spate schedule import --replace --stream s "$work/tx4.vex" >/dev/null
	name=tx1_${one%:*}_no0031
	same "length" "$(scan "${name,,}" .duration_s)" "${one#*:}"
	spated_stop
done
SPATE_STATION=On spated_start
refused "scans of which station" usage spate schedule import --replace --stream s \
	"$work/tx4.vex"
spated_stop
