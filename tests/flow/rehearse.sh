# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spate rehearse --> a spated of its own, gen --> disks of 20 and 6 MB/s
#
# What the disks take holds, also somewhat more, and much more does not, with the
# reason; the disk that is slow is named; what is rehearsed is like what is
# scheduled; nothing stays behind, also after Ctrl-C; and it gives way to a
# recording.
. "${BASH_SOURCE%/*}/functions.sh"

test_plugins
disks_make 2
settings=('memory = "96M";' 'reserve = "1M";' 'writer = "slow";'
	'slow_rates = "disk0=20e6 disk1=6e6";')
port_find 6
streams="s : { listen = [ \"127.0.0.1:$port\" ]; format = \"raw\";
	payload = 1024; prefix = 8; sequence = \"le64@0\"; rate = \"40Mbps\";
	block = \"256K\"; blocks = 10; };
t : { listen = [ \"127.0.0.1:$((port + 1))-$((port + 4))\" ];
	format = \"vdif\"; payload = 4096; prefix = 8; rate = \"24Mbps\";
	block = \"256K\"; blocks = 40; };"
conf_write "$streams"
rehearse()
{
	"$SPATE" rehearse -c "$conf" "$@"
}
nothing_stays()
{
	same "files" "$(find "${disks[@]}" -type f -name '*rehearsal*')" ""
	same "folders" "$(find "${disks[@]}" -name '*rehearsal*')" ""
}

# Without a daemon.  A ladder: 110 Mb/s hold, and up to the 208 that the disks
# take, and half as much again does not, although memory has room for it.
rehearse --rate 110Mbps --for 1s --runs 1 --json >"$work/ladder" 2>"$work/said" &
ladder=$!
at_end 'kill $ladder 2>/dev/null'
# Beside it, a rate that does not hold.
status=0
rehearse --rate 400Mbps --once --for 1s --runs 1 --payload 4000 --ports 4 \
	>"$work/bad" || status=$?
cat "$work/bad" >&2
same "status of a rate that does not hold" $status 1
grep -q '^ *400.00 Mb/s in packets of 4000 bytes to 4 ports$' "$work/bad"
grep -q '^ *400.00 Mb/s *x 1.0 *1 of 1 *0 of 1 *0 of 1$' "$work/bad"
grep -q "It does not record what is needed: the disks took less than came" \
	"$work/bad"
grep -q "Alone, the disks give up first: the disks took less than came" \
	"$work/bad"

# full PATH: how full its file system is, in percent, as a recording sees it.
full()
{
	stat -f -c '%b %a %S' "$1" | {
		read -r blocks free size
		echo $((100 - 100 * (free - 1048576 / size) / blocks))
	}
}
for n in 0 1; do
	line=$(grep "${disks[n]} " "$work/bad")
	read -r _ percent _ speed _ _ slow <<<"$line"
	within "how full disk $n is" $(($(full "${disks[n]}") - 10)) "$percent" \
		$(($(full "${disks[n]}") + 10))
	same "what disk $n is" "${slow:-}" "$([ $n -eq 0 ] || echo slow)"
	# MiB/s
	within "its speed" $((n ? 1 : 4)) "${speed%.*}" $((n ? 6 : 20))
done

wait $ladder || fail "$(cat "$work/ladder" "$work/said")"
rungs()
{
	jq -r "select(.way == \"$1\") | \"\(.rate / 110e6)\" +
		(if .clean == .runs then \"\" else \" not\" end)" "$work/ladder"
}
holds=$(jq -r 'select(has("holds")) | .head_room' "$work/ladder")
case $holds in
1.5) next=2 ;;
2) next=3 ;;
*) fail "head room is $holds: $(cat "$work/ladder")" ;;
esac
same "rungs of both" "$(rungs both | paste -sd ,)" \
	"1,1.5$([ $holds = 2 ] && echo ,2),$next not"
same "rungs of the disks, but the last" \
	"$(rungs disks | sed '$d' | paste -sd , | cut -c -5)" 1,1.5
same "the network's first" "$(rungs network | sed -n 1,2p | paste -sd ,)" 1,1.5
same "what broke" "$(jq -r 'select(.way == "both" and .clean == 0) |
	.why | split(":")[0]' "$work/ladder")" "the disks took less than came"
same "what holds" "$(jq -c 'select(has("holds")) | [.holds, .rate,
	[.disks[].path]]' "$work/ladder")" \
	"[true,110000000,[\"${disks[0]}\",\"${disks[1]}\"]]"
nothing_stays

# The streams of the schedule, with a daemon.
mkdir "$work/schedule"
settings+=("schedule = \"$work/schedule\";")
conf_write "$streams"
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
refuse 2 "ports 1 to" --rate 40Mbps --ports 0
cat >"$work/tonight.conf" <<-END
	scans = ( { name = "late"; stream = "s"; duration = "60s";
	            start = "$(date -u -d '+2 hours' +%Y-%m-%dT%H:%M:%SZ)"; },
	          { name = "beside"; stream = "t"; duration = "10s";
	            start = "$(date -u -d '+7230 seconds' +%Y-%m-%dT%H:%M:%SZ)"; },
	          { name = "later"; stream = "t"; duration = "10s";
	            start = "$(date -u -d '+3 hours' +%Y-%m-%dT%H:%M:%SZ)"; } );
END
rehearse --schedule "$work/tonight.conf" --once --for 1s --runs 1 --quiet >"$work/out"
grep -q '^64.00 Mb/s, the most that is scheduled, at ' "$work/out" ||
	fail "$(cat "$work/out")"
same "its streams" "$(sed -n 2,3p "$work/out")" \
	"  s: 40.00 Mb/s in packets of 1024 bytes to 1 port
  t: 24.00 Mb/s in packets of 4096 bytes to 4 ports"
grep -q '^ *64.00 Mb/s *x 1.0 *1 of 1 *1 of 1 *1 of 1$' "$work/out" ||
	fail "$(cat "$work/out")"

# Ctrl-C; both streams are being sent to, as they are scheduled.
"$SPATE" rehearse -c "$conf" --schedule "$work/tonight.conf" --for 60s --quiet \
	>"$work/out" 2>&1 &
asked=$!
at_end "kill $asked 2>/dev/null"
begun()
{
	pgrep -x -P "$asked" spated >/dev/null &&
		[ "$(pgrep -x -P "$asked" spate | wc -l)" -eq 2 ]
}
wait_for 30 begun
child=$(pgrep -x -P "$asked" spated)
for pid in $(pgrep -x -P "$asked" spate); do
	tr '\0' ' ' <"/proc/$pid/cmdline"
	echo
done | sed -E 's/:[0-9]{4,5}-[0-9]+ /:from-to /; s/:[0-9]{4,5} /:one /' |
	sort >"$work/senders"
grep -q 'udp://127.0.0.1:from-to .*--rate 24[0-9]*bps --payload 4096 ' "$work/senders"
grep -q 'udp://127.0.0.1:one .*--rate 40[0-9]*bps --payload 1024 ' "$work/senders"
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
