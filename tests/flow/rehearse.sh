# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spate rehearse --> a spated of its own, gen --> two disks of 10 MB/s each
#
# What the disks take holds, and more does not, with the reason; nothing stays
# behind, also after Ctrl-C; and it gives way to a recording.
. "${BASH_SOURCE%/*}/functions.sh"

test_plugins
disks_make 2
settings=('memory = "96M";' 'reserve = "1M";' 'writer = "slow";'
	'slow_rate = "10M";')
conf_write "$(stream_text 'format = "raw"; payload = 1024; prefix = 8;
	sequence = "le64@0"; rate = "40Mbps"; blocks = 20;')"
rehearse()
{
	"$SPATE" rehearse -c "$conf" "$@"
}
nothing_stays()
{
	same "files" "$(find "${disks[@]}" -type f -name '*rehearsal*')" ""
	same "folders" "$(find "${disks[@]}" -name '*rehearsal*')" ""
}

# Without a daemon: a rate that holds, and one that does not.
rehearse --rate 40Mbps --once --for 1s --runs 2 --json >"$work/good" ||
	fail "$(cat "$work/good")"
same "lines" "$(jq -r 'select(.way) | "\(.way) \(.clean) of \(.runs)"' \
	"$work/good" | paste -sd ,)" "network 2 of 2,disks 2 of 2,both 2 of 2"
same "it holds" "$(jq -c 'select(has("holds")) | [.holds, .head_room == 1, .rate]' \
	"$work/good")" '[true,true,40000000]'
same "disks" "$(jq -c 'select(has("holds")) | [.disks[].path]' "$work/good")" \
	"[\"${disks[0]}\",\"${disks[1]}\"]"
nothing_stays
! rehearse --rate 800Mbps --once --for 2s --runs 1 >"$work/bad" ||
	fail "it holds: $(cat "$work/bad")"
cat "$work/bad" >&2
grep -q '^ *800.00 Mb/s *x 1.0 *1 of 1 *0 of 1 *0 of 1$' "$work/bad"
grep -q "It does not record what is needed: the disks took less than came" \
	"$work/bad"
grep -q "Alone, the disks give up first: the disks took less than came" \
	"$work/bad"
nothing_stays

# The rate of the schedule, with a daemon.
mkdir "$work/schedule"
settings+=("schedule = \"$work/schedule\";")
conf_write "$(stream_text 'format = "raw"; payload = 1024; prefix = 8;
	sequence = "le64@0"; rate = "40Mbps"; blocks = 20;')"
spated_start
refuse()
{
	local status=0

	rehearse --quiet "${@:3}" >"$work/out" 2>&1 || status=$?
	same "status" "$status" "$1"
	grep -q "$2" "$work/out" || fail "it says: $(cat "$work/out")"
}
refuse 2 "no scan is scheduled" --once
refuse 2 "runs is 1 to" --runs 0
cat >"$work/tonight.conf" <<-END
	scans = ( { name = "late"; stream = "s"; duration = "60s";
	            start = "$(date -u -d '+2 hours' +%Y-%m-%dT%H:%M:%SZ)"; } );
END
rehearse --schedule "$work/tonight.conf" --once --for 1s --runs 1 --quiet >"$work/out"
grep -q '^40.00 Mb/s, the most that is scheduled, at ' "$work/out" ||
	fail "$(cat "$work/out")"

# Ctrl-C.
"$SPATE" rehearse -c "$conf" --rate 40Mbps --for 60s --quiet \
	>"$work/out" 2>&1 &
asked=$!
at_end "kill $asked 2>/dev/null"
begun()
{
	pgrep -x -P "$asked" spated >/dev/null &&
		pgrep -x -P "$asked" spate >/dev/null
}
wait_for 30 begun
child=$(pgrep -x -P "$asked" spated)
kill -INT "$asked"
status=0
wait "$asked" || status=$?
same "status after SIGINT" "$status" 1
grep -q "it was interrupted" "$work/out" || fail "$(cat "$work/out")"
! kill -0 "$child" 2>/dev/null || fail "its spated runs still"
nothing_stays

# It is not started beside a recording.
spate record r --stream s --quiet
refuse 1 "cannot rehearse while r is recorded" --rate 40Mbps
spate stop r --quiet
spated_stop
