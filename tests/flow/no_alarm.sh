# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --on-time, a good signal --> spated    nothing is wrong, nothing is said
#
# For $SPATE_CALM seconds (60, and 600 with $SPATE_LONG) there is no warning, no
# finding, and no link that does not hold.  A machine that is busy makes the
# sender late at times, and spate may say so: an alarm of such a time is none
# that is false.  Any other is.  The disks are folders in memory: those of a busy
# machine do stop for seconds, and an alarm is right then.  At the end the sender is gone: so the test sees
# that it would have seen an alarm.
. "${BASH_SOURCE%/*}/functions.sh"
need python3

calm=${SPATE_CALM:-$([ -n "${SPATE_LONG:-}" ] && echo 600 || echo 60)}
memory=$(mktemp -d /dev/shm/spate-test.XXXXXX) ||
	skip "there is no memory for files: /dev/shm"
at_end "rm -rf '$memory'"
disks=("$memory/disk0" "$memory/disk1")
mkdir "${disks[@]}"
settings=('memory = "128M";' 'reserve = "1M";' 'durable = "1s";')
conf_write "$(stream_text 'format = "vdif"; payload = 8032; prefix = 8;
	fps = 125; threads = [ 0, 1 ]; tones = 250000; rate = "16Mbps";
	socket_buffer = "8M";')"
spated_start
spate record r --stream s --quiet
# Not by the function: that would be a shell, and be ended instead.
"$SPATE" gen --to "udp://127.0.0.1:$port" --json --format vdif --threads 0,1 \
	-o channels=2 --tones 250000 --fps 125 --rate 16Mbps --on-time \
	--for "$((calm + 60))s" >"$work/gen.json" &
sender=$!
at_end "kill -KILL $sender 2>/dev/null"
came_some()
{
	[ "$(info r .packets)" -gt 300 ]
}
wait_for 60 came_some

# look: writes what is wrong now, each with the time since when; of findings and
# of the clock, seconds count together
look()
{
	spate status --json | jq -c 'now as $now | .recordings[0] |
		(.links[] | select(.well | not) |
			{ what: .why, from: .since, to: $now }),
		(select(.clock) | { what: .clock, from: ($now - 8), to: $now }),
		(select(.quality and .quality != "ok") |
			{ what: .quality, from: ($now - 8), to: $now })' \
		>"$work/look"
}

: >"$work/looks"
looks=0
for ((end = SECONDS + calm; SECONDS < end; looks++)); do
	look
	cat "$work/look" >>"$work/looks"
	nap 1
done
ended=$(date +%s.%N)
kill -INT "$sender"
wait "$sender" || true
settle r "$(gen_did .sent)"
cp "$log" "$work/lines"

alarmed()
{
	look
	grep -q "no packet comes" "$work/look"
}
wait_for 60 alarmed
spate stop r --quiet
spated_stop
lost=$(($(gen_did .sent) - $("$SPATE" info r --disks "$(disks_list)" --json |
	jq .packets)))
[ "$lost" = 0 ] ||
	skip "this machine is too busy: $lost of $(gen_did .sent) packets were lost"

judged=0
python3 - "$work" "$ended" "$calm" "$memory" <<'END' || judged=$?
import datetime, glob, json, re, sys

def seconds(text):
    if not isinstance(text, str):
        return text
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()

work, ended, calm = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
memory = sys.argv[4]
late = [(seconds(l["from"]), seconds(l["to"]), l["late_s"])
        for l in json.load(open(f"{work}/gen.json"))["late"]]

def false(alarm):
    return not any(f - 1 < seconds(alarm["to"]) and t + 1 > seconds(alarm["from"])
                   for f, t, _ in late)

alarms = [json.loads(line) for line in open(f"{work}/looks")]
# Lines of the log: one that has "for X s" was wrong for so long before.
for line in open(f"{work}/lines"):
    at, level, what = line.split(None, 2)
    if "signal: " not in what and level in ("info", "debug"):
        continue
    span = re.search(r", for ([\d.]+) s$", what)
    alarms.append({"what": what.strip(), "to": seconds(at),
                   "from": seconds(at) - (float(span[1]) if span else 8)})
for path in glob.glob(f"{memory}/disk*/r/*.quality.jsonl"):
    for line in map(json.loads, open(path)):
        if line.get("findings") and seconds(line["time"]) < ended:
            alarms.append({"what": line["findings"], "to": seconds(line["time"]),
                           "from": seconds(line["time"]) - 8})
bad = [a for a in alarms if false(a)]
behind = sum(t - f for f, t, _ in late)
print(f"{len(alarms)} alarms, {len(bad)} of them false; the sender was late "
      f"{len(late)} times, for {behind:.1f} s, by "
      f"{max((s for _, _, s in late), default=0):.3f} s", file=sys.stderr)
for a in bad:
    print("FAIL:", a, file=sys.stderr)
# It may have been late until it was gone.
if not any(false({**json.loads(line), "from": ended + 1})
           for line in open(f"{work}/look")):
    sys.exit("FAIL: that the sender is gone is no alarm")
sys.exit(1 if bad else 77 if behind > calm / 2 else 0)
END
say "$looks looks in $calm s"
[ $judged != 77 ] ||
	skip "this machine is too busy: the sender was late most of the time"
[ $judged = 0 ] || fail "there were false alarms"
