# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# Schedules that were observed, each in one or two forms: what is made of them
# is what a person reads in them.  No daemon is needed to show it.

. "${BASH_SOURCE%/*}/functions.sh"
need jq

data=$top_srcdir/tests/data/import

# FILE [STATION]: name, start, seconds
scans()
{
	spate schedule import --dry-run --json --stream s \
		${2:+--station "$2"} "$data/$1" 2>"$work/notes" |
		jq -r '"\(.name) \(.start | sub("\\.0+Z$"; "Z")) \(.duration_s)"' |
		sed 's/\.0$//'
}

# FILE STATION TABLE
is_table()
{
	same "$1 ${2:-}" "$(scans "$1" "${2:-}")" "$(cat "$data/$3")"
	if grep -vE 'are over already|nothing is checked' "$work/notes"; then
		fail "$1 ${2:-} has notes"
	fi
}

is_table d21us.vex Ap d21us.ap.table
is_table d21us.vex Sm d21us.sm.table
is_table d21usap.snp '' d21us.ap.table
is_table d21usap.snp AP d21us.ap.table
is_table e18c21ax.snp '' e18c21ax.table
is_table t15012ar.snp '' t15012ar.table
is_table dq2205.vex2 Nl dq2205.nl.table

# The form is in the content, not in the name.
cp "$data/d21us.vex" "$work/d21us.snp"
same "a VEX file called .snp" "$(data=$work scans d21us.snp Ap)" \
	"$(cat "$data/d21us.ap.table")"

# Who mistypes a station is told which there are.
refused 'd21us.vex has no scans of station ap: it has Ap, Sm; did you mean --station Ap?' \
	spate schedule import --dry-run --stream s --station ap "$data/d21us.vex"

if scans e18c21.xml >"$work/xml"; then
	is_table e18c21.xml '' e18c21.table
	# The same scans, by other names.
	same "times of the Mark6 and of the Field System" \
		"$(cut -d' ' -f2- "$work/xml")" \
		"$(scans e18c21ax.snp | cut -d' ' -f2-)"
else
	refused 'without libexpat' spate schedule import --dry-run --stream s \
		"$data/e18c21.xml"
fi
