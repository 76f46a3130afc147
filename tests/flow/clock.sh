# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --start ... --> spated    the time of the data against their arrival
#
# A formatter that is right, one that is 1 s ahead, 1.2 s behind, half a year
# behind, and one that steps: named in status, in the log and in the metadata.
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 1
settings=('memory = "64M";' 'reserve = "1M";')
conf_write "$(stream_text 'format = "vdif"; payload = 1032; prefix = 8;
	sequence = "le64@0"; rate = "40Mbps"; max_clock = "450ms"; max_age = "0.5s";')"
spated_start

# flow OFFSET: frames for 4 s whose time is that of now, plus OFFSET seconds.
# On a busy machine they come some time after gen was asked.
flow()
{
	gen --format vdif --payload 1032 --rate 40Mbps --for 4s \
		--first $((next += 1000000)) --start "$(date -u -d "@$(awk \
		-v now="$(date +%s.%N)" -v offset="$1" 'BEGIN {
			printf "%.3f", now + offset }')" +%Y-%m-%dT%H:%M:%S.%3NZ)"
}

# timed ARGS: frames that go when they are due
timed()
{
	gen --format vdif --payload 1032 --fps 4000 --rate 40Mbps --for 3s \
		--first $((next += 1000000)) "$@"
}

# clock NAME: ms that it is said to be behind
clock()
{
	info "$1" '.clock_s * 1000 | round'
}

# says NAME TEXT: in status, and in the log
says()
{
	spate status | grep -q "^ *$1: $2" || fail "$1: $(spate status)"
	grep -q "$1: $2" "$log" || fail "$1 is not in the log: $(cat "$log")"
}

next=0
spate record right --stream s --quiet
timed --on-time
within "ms of one that is right" -5 "$(clock right)" 90
same "what is wrong with it" "$(info right '.clock // .clock_fault // "nothing"')" nothing
same "who stamps" "$(info right .clock_stamps)" kernel
# It steps, a second ahead.
flow 1
wait_for 20 eval '[ "$(info right .clock_steps)" -ge 1 ]'
says right "the time of the data is [01].[0-9]* s ahead of ours"
grep -q "right: the clock of the data stepped by +[01]\.[0-9]* s" "$log"
spate stop right --quiet

# Those of clocks that do not count leap seconds, and of one second.
named()
{
	spate record named --stream s --quiet
	timed "--$1" "$2"
	says named "the time of the data is [0-9.]* s $3"
	spate stop named --quiet
	spate rm named --quiet
}
named ahead 18s 'ahead of ours: is it set to the time of GPS'
named ahead 37s 'ahead of ours: is it set to TAI'
named behind 1s 'behind ours: was it set to the wrong second'

spate record late --stream s --quiet
flow -1.2
within "ms of one that is late" 1195 "$(clock late)" 4000
says late "the time of the data is [1-3]\.[0-9]* s behind ours"
spate stop late --quiet
spate record epoch --stream s --quiet
flow -$((184 * 86400))
says epoch "the time of the data is 184\.0 days behind ours: is the half-year wrong"
spate stop epoch --quiet
# 102 ms behind.
spate record tardy --stream s --quiet
timed --behind 102ms
within "ms of one that is 102 ms behind" 97 "$(clock tardy)" 192
spate stop tardy --quiet

# Ahead; steps of a millisecond, of which one is told at least; and a drift of 0.3
# ms in a second.  A busy machine reads late, so they are tried again.
spate record early --stream s --quiet
timed --ahead 200ms
within "ms of one that is 200 ms ahead" -205 "$(clock early)" -110
spate stop early --quiet
steps()
{
	spate record steps --stream s --quiet
	timed --on-time --clock-step 1ms --for 14s
	steps=$(info steps .clock_steps)
	[ "$(info steps '.clock_spread_s > 0')" = true ] || return 1
	spate stop steps --quiet
	spate rm steps --quiet
	[ "$steps" -ge 1 ] &&
		grep -qE 'steps: the clock of the data stepped by -0\.00(0[89]|1[0-2])' "$log"
}
steps || steps || steps || fail "no step of 1 ms was found"
drifts()
{
	spate record drifts --stream s --quiet
	timed --on-time --clock-drift 3e-4 --for 14s
	drift=$(info drifts '.clock_drift * 1e6 | round')
	spate stop drifts --quiet
	spate rm drifts --quiet
	[ "$drift" -ge 280 ] && [ "$drift" -le 320 ] &&
		grep -qE 'drifts: the time of the data falls behind by (29|30|31)[0-9] us' "$log"
}
drifts || drifts || drifts || fail "no drift of 0.3 ms in a second was found, but ${drift} us"
spated_stop

# A recording is ended if its data are wrong from the beginning, and only then.
conf_write "$(stream_text 'format = "vdif"; payload = 1032; prefix = 8;
	sequence = "le64@0"; rate = "40Mbps"; max_clock = "450ms"; refuse_clock = true;
	max_gap = "16M";')"
spated_start
spate record refused --stream s --quiet
timed --behind 900ms
wait_for 30 eval '[ "$(info refused .state)" = failed ]'
same "why" "$(info refused .why)" "the time of its data is wrong: refuse_clock"
spate record taken --stream s --quiet
timed --on-time --for 8s
timed --behind 900ms
wait_for 30 eval '[ "$(info taken ".clock // \"\"")" ]'
same "one that went wrong later" "$(info taken .state)" recording
spate stop taken --quiet
spated_stop

# A thread of its own time: two senders, of which one is late.
conf_write "$(stream_text 'format = "vdif"; payload = 1032; prefix = 0;
	sequence = "time"; threads = [ 0, 1 ]; fps = 2000; max_clock = "450ms";')"
spated_start
spate record apart --stream s --quiet
timing=(--on-time '--behind 200ms')
for thread in 0 1; do
	# shellcheck disable=SC2086
	"$SPATE" gen --to "udp://127.0.0.1:$port" --format vdif --prefix 0 \
		--sequence time --payload 1032 --fps 2000 --rate 17Mbps \
		--for 8s --threads $thread ${timing[thread]} \
		>"$work/apart$thread" &
	senders[thread]=$!
done
wait "${senders[0]}"
wait "${senders[1]}"
grep -qE 'apart: the time of thread [01] of station .* is 0\.(19|20|21)[0-9]* s (behind|ahead of) that of the others' "$log" ||
	fail "no thread is apart: $(cat "$log")"
spate stop apart --quiet
spated_stop
"$SPATE" info epoch --disks "${disks[0]}" --json >"$work/told"
same "days, in the metadata" "$(jq '.clock_s / 86400 | round' "$work/told")" 184
same "in words" "$(jq -r .clock "$work/told" | cut -d: -f 1)" \
	"the time of the data is 184.0 days behind ours"
