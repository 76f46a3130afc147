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
same "what is wrong with it" "$(info right '.clock // "nothing"')" nothing
# It steps, a second ahead.
flow 1
wait_for 20 eval '[ "$(info right .clock_steps)" -ge 1 ]'
says right "the time of the data is [01].[0-9]* s ahead of ours"
grep -q "right: the clock of the data stepped by +[01]\.[0-9]* s" "$log"
spate stop right --quiet

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
spated_stop
"$SPATE" info epoch --disks "${disks[0]}" --json >"$work/told"
same "days, in the metadata" "$(jq '.clock_s / 86400 | round' "$work/told")" 184
same "in words" "$(jq -r .clock "$work/told" | cut -d: -f 1)" \
	"the time of the data is 184.0 days behind ours"
