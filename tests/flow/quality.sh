# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --(a signal, of which something is wrong)--> spated --> disks
#                                                                 |
#   numpy, baseband <---------- export --------------+------------+
#          the same counts, phases, delay? <--- info --quality: finds it by name
#
. "${BASH_SOURCE%/*}/functions.sh"

need_python baseband
disks_make 2

# stream FORMAT KEYS: begins with it.
stream()
{
	conf_write "$(stream_text "format = \"$1\"; prefix = 8; $2")"
	spated_start
}

# quality NAME ARGS: its lines are in $work/lines, its exit status in $status.
quality()
{
	status=0
	spate info "$1" --quality --json "${@:2}" >"$work/lines" \
		2>"$work/said" || status=$?
}

# Prints thread/channel, and what was found.
found()
{
	jq -r 'select(.findings != []) |
		"\(.thread)/\(.channel) \(.findings | join(","))"' "$work/lines"
}

compares()
{
	spate export --force --quiet "$taken" "$work/exported"
	"$python" "$top_srcdir/tests/flow/check_quality.py" "$work/exported" \
		"$work/lines" "$@"
}

# Clean noise with tones: nothing is found, and all of it is as numpy says.  Two
# seconds of data, which come faster than that.  Two bits bend what is strong, so
# that tones come of others; with this phase, and a delay of whole samples, these
# add to them and turn none.
stream vdif 'payload = 8032; fps = 2000; threads = [ 0, 1 ]; blocks = 40;'
take --format vdif --threads 0,1 -o channels=2 --fps 2000 --packets 8000 \
	--tones 1000000 --tone-phase 180 --tone-delay 0.125us \
	--start 2026-11-20T10:00:00Z
quality "$taken" --tones 1000000 --read 1G
same "what is said of clean noise" "$status $(cat "$work/said")" "0 "
same "findings in clean noise" "$(found)" ""
same "frames" "$(jq -s 'map(.frames) | unique | tostring' "$work/lines")" '"[4000]"'
same "samples per second" "$(jq -s 'map(.sample_rate) | unique[]' "$work/lines")" 32000000
compares format=vdif payload=8032 tones=1000000 delay_ns=125 phase=180
# A share of it says the same.
quality "$taken" --tones 1000000 --read 4M
same "status of a share" $status 0
within "frames of a share" 100 "$(jq -s '.[0].frames' "$work/lines")" 600
spate info "$taken" --quality >"$work/table"
same "lines of the table" "$(grep -c ' good$' "$work/table")" 4
status=0
spate info "$taken" --quality --tones 7 >/dev/null 2>"$work/said" || status=$?
same "status of tones without a period" $status 2
grep -q "do not repeat" "$work/said"
spate rm "$taken"

# A sampler whose clock drifts by 1e-9: in 125 s its tones come 125 ns later, as
# many samples as are whole.  At 10:00 the delay is a whole number of 36000 tones.
for at in 00:00,125.5 02:05,250.5; do
	take --format vdif --threads 0 -o channels=2 --fps 2000 --packets 2000 \
		--tones 1000000 --tone-phase 180 --tone-delay 0.125us \
		--tone-drift 1e-9 --start "2026-11-20T10:${at%,*}Z"
	quality "$taken" --tones 1000000 --read 1G
	compares format=vdif payload=8032 tones=1000000 "delay_ns=${at#*,}" \
		phase=180
	cp "$work/lines" "$work/lines${at%%:*}"
	spate rm "$taken"
done
same "drift of the channels" "$(jq -s '[[.[0:2], .[2:4]] | transpose[] |
	(.[1].delay_ns - .[0].delay_ns) / 125 | . > 0.997 and . < 1.003] |
	tostring' "$work/lines00" "$work/lines02")" '"[true,true]"'
spated_stop

# Each defect has its name.
stream vdif 'payload = 8032; fps = 2000; threads = [ 3, 1 ]; blocks = 20;'
take --format vdif --threads 3,1 -o channels=8 --fps 2000 --packets 800 \
	--tones 1000000 --defect dead=3/0 --defect constant=3/1 \
	--defect bit-missing=3/2 --defect same=3/5 --defect dc=3/6 \
	--defect levels=3/7 --defect tones-gone=1/2 --defect stuck=1/7
quality "$taken" --tones 1000000
same "status of a bad one" $status 1
same "findings" "$(found)" "1/2 tones-gone
1/7 stuck
3/0 dead,tones-gone
3/1 constant
3/2 bit-missing
3/4 same
3/5 same
3/6 dc
3/7 levels"
grep -q "the signal of $taken is not good" "$work/said"
spate info "$taken" --quality >"$work/table" 2>/dev/null || true
grep -q 'WRONG: thread 3, channel 0: no signal' "$work/table"
same "lines of the table" "$(grep -c ' good$' "$work/table")" 8
spate rm "$taken"
spated_stop

# Headers that say the sample rate, as baseband reads it; and one that is not
# that of the frames.
stream vdif 'payload = 1032; fps = 2000; threads = [ 0 ]; blocks = 10;'
for edv in 1 3; do
	take --format vdif --payload 1032 --fps 2000 --packets 400 --signal \
		-o edv=$edv
	quality "$taken" --read 1G
	same "what is said of EDV $edv" "$status $(found)" "0 "
	spate export --force --quiet "$taken" "$work/exported"
	same "sample rate of EDV $edv" 8000 "$("$python" - "$work/exported" <<'END'
import sys
from baseband import vdif
with vdif.open(sys.argv[1], "rb") as f:
    header = f.read_frame().header
    print(header["sampling_rate"] * (2 if header["edv"] == 3 else 1))
END
)"
	spate rm "$taken"
done
# Headers that mark a channel, and whose pulse per second moves.
take --format vdif --payload 1032 --fps 2000 --packets 400 -o edv=4 \
	-o channels=4 --defect marked=0/2
quality "$taken" --read 1G
same "what is marked" "$status $(found)" "1 0/2 marked"
same "samples that are left" "$(jq -s '(.[2].samples / .[0].samples * 10 |
	round) as $tenths | $tenths >= 4 and $tenths <= 6' "$work/lines")" true
spate rm "$taken"
take --format vdif --payload 1032 --fps 2000 --packets 4100 --defect pps=0/0
quality "$taken" --read 1G
same "a pulse that moves" "$status $(found)" "1 0/0 pps"
spate rm "$taken"
for wrong in 'marked=0/0' 'pps=0/0 -o edv=1' 'rate=0/0'; do
	read -ra words <<<"$wrong"
	status=0
	gen --format vdif --fps 2000 --packets 1 --defect "${words[@]}" \
		2>"$work/said" || status=$?
	same "status of --defect $wrong" $status 2
done
take --format vdif --payload 1032 --fps 500 --packets 400 --signal -o edv=1
quality "$taken" --read 1G
same "what is said of another rate" "$status $(found)" "1 0/0 rate"
spate rm "$taken"
spated_stop

# All figures of every coding, of data that is no signal; what noise has at the
# frequencies of tones is a matter of the bytes, too.
stream vdif 'payload = 2056; blocks = 10;'
for bits in 1 2 4 8 16; do
	for complex in false true; do
		take --format vdif --payload 2056 --packets 200 --threads 5 \
			-o bits=$bits -o complex=$complex -o channels=2
		quality "$taken" --read 1G --sample-rate 1000000 \
			--tones 62500 --tone-offset 12500
		compares format=vdif payload=2056 tones=62500 \
			tone_offset=12500 baseband=$((bits < 16))
		spate rm "$taken"
	done
done
spated_stop

# Mark5B in halves, whose headers do not say what is in them.
stream mark5b 'payload = 5008; fps = 1600; blocks = 20;'
take --format mark5b --payload 5008 --fps 1600 --packets 600 --signal \
	--channels 8 --defect dead=0/3
status=0
spate info "$taken" --quality >/dev/null 2>"$work/said" || status=$?
same "status without channels" $status 2
grep -q -- '--channels 16' "$work/said"
quality "$taken" --channels 8 --read 1G
same "findings of Mark5B" "$(found)" "0/3 dead"
compares format=mark5b payload=10016 channels=8 baseband=1
