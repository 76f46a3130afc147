# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --(a signal, of which something is wrong for a while)--> spated --> disk
#                                                                  |
#   what is wrong, while it is: status, streams, log <-- some frames
#
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 1

# begin FORMAT KEYS: records a stream.
begin()
{
	conf_write "$(stream_text "format = \"$1\"; prefix = 8; $2")"
	spated_start
	spate record live --stream s
}

# send ARGS: sends as fast as the data are, until it is told to end.
send()
{
	"$SPATE" gen --to "udp://127.0.0.1:$port" --packets 1000000 --json \
		"$@" >"$work/sent" 2>&1 &
	sender=$!
	at_end "kill -KILL $sender 2>/dev/null"
}

send_end()
{
	kill -INT "$sender"
	wait "$sender" || true
}

# The signal as a whole.
seen()
{
	spate status --json | jq -r '.recordings[0].quality'
}

sees()
{
	# shellcheck disable=SC2053
	[[ $(seen) == $1 ]]
}

lives_on()
{
	jq -se "$1" "$kept" >/dev/null 2>&1
}

lines_of()
{
	grep -c "$1" "$log" || true
}

# A channel of a thread dies and is mended; all the others are good.
begin vdif 'payload = 8032; fps = 500; threads = [ 0, 1 ]; tones = 1000000;'
send --rate 64Mbps --fps 500 --format vdif --threads 0,1 -o channels=2 \
	--tones 1000000 --defect dead=1/1 --defect dc=0/0
# That its tones are gone is seen later, or with a sanitizer, which leaves time
# for a few frames only, never.
wait_for 60 sees 'dead 1, dc 1*'
spate streams --json >"$work/streams"
same "the stream's signal" "$(jq -r .quality "$work/streams" |
	sed 's/, tones-gone 1//')" "dead 1, dc 1"
same "its channels" "$(jq -r '.channels[] |
	"\(.thread)/\(.channel) \(.findings - ["tones-gone"] | join(","))"' \
	"$work/streams")" \
	"0/0 dc
0/1 
1/0 
1/1 dead"
spate status >"$work/table"
grep -Eq ' dead 1, dc 1(, tones-gone 1)?$' "$work/table"
send_end
send --rate 64Mbps --fps 500 --format vdif --threads 0,1 -o channels=2 \
	--tones 1000000
wait_for 60 sees ok
for finding in dead dc; do
	wait_for 60 grep -q "live: signal: $finding is gone from all channels" "$log"
done
send_end
for finding in dead dc; do
	same "lines about $finding" \
		"$(lines_of "signal: $finding in 1 of 4 channels") $(lines_of \
			"signal: $finding is gone from all channels")" "1 1"
done
same "frames are counted" "$(spate status --json | jq '.recordings[0] |
	.quality_frames > 0 and .quality_missed >= 0')" true
spate stop live
# What was seen is kept beside the recording, and is no part of it.
kept=${disks[0]}/live/live.quality.jsonl
wait_for 60 lives_on 'length > 0 and all(.name == "live" and .sub == 0 and .sample_rate == 8000000)'
lives_on 'group_by(.time) | all(length == 4)'
lives_on '[.[] | .samples] | add > 100000'
spate verify live
spate export --quiet live "$work/exported"
same "bytes exported" "$(stat -c %s "$work/exported")" \
	"$(info live '(.packets * 8032)')"
same "packets lost, drops" \
	"$(info live '[.packets_lost, (.drops | add)] | join(" ")')" "0 0"
# While it is mended, a channel's level lies between dead and good.
same "all else about signals" "$(grep 'signal:' "$log" | grep -Evc 'levels|tones')" 4
spate rm live
[ ! -e "${disks[0]}/live" ]
spated_stop

# The next recording is compared with how much is known of this one.
delays_are_known()
{
	spate streams --json |
		jq -e '[.channels[].delay_error_ns // 1e9] | max < 30' >/dev/null
}

# What the last recording was like is known, also to a daemon that is started anew.
settings+=("state = \"$work/state\";")
begin vdif 'payload = 8032; fps = 500; threads = [ 0 ]; tones = 1000000;'
for scan in 'ok' 'drift 1 --defect drift=0/1' 'drift 2 --tone-delay 0.250us'; do
	read -ra words <<<"$scan"
	send --rate 32Mbps --fps 500 --format vdif -o channels=2 \
		--tones 1000000 "${words[@]:2}"
	wait_for 60 sees "${words[*]:0:2}"
	wait_for 60 delays_are_known
	send_end
	spate stop live
	spate rm live
	[ "$scan" != 'drift 2 --tone-delay 0.250us' ] || break
	spated_stop
	same "streams that are kept" "$(jq -r .stream "$work/state/signal.json")" s
	spated_start
	spate record live --stream s
done
same "lines about drift" "$(lines_of 'signal: drift in')" 2
spated_stop
# Rubbish is as nothing.
head -c 3000 /dev/urandom >"$work/state/signal.json"

# Halves of Mark5B, whose headers say nothing: only the configuration does.
begin mark5b 'payload = 5008; fps = 400; sample_channels = 8; sample_bits = 2;'
send --rate 32Mbps --fps 400 --format mark5b --payload 5008 --signal \
	--channels 8 --defect constant=0/3
wait_for 60 sees "constant 1"
send_end
spate stop live
wait_for 60 lives_on 'any(.findings == ["constant"] and .channel == 3)'
spate check live >"$work/said" 2>&1 || true
grep -q 'signal: constant in 1 channels (substream 0, thread 0, channel 3)' \
	"$work/said"
spate rm live
spated_stop
begin mark5b 'payload = 5008; fps = 400;'
send --rate 32Mbps --fps 400 --format mark5b --payload 5008 --signal
wait_for 60 grep -q 'signal is not looked at: .*sample_channels' "$log"
same "a signal that is not looked at" "$(seen)" null
send_end
spate stop live
spate rm live
spated_stop

# A split stream: each part has its own; and a sample rate that it has not.
begin vdif 'payload = 8032; fps = 500; split = "thread"; threads = [ 0, 1 ];
	sample_rate = 16000000;'
send --rate 64Mbps --fps 500 --format vdif --threads 0,1 -o channels=2 \
	--signal --defect dead=1/1
sees_parts()
{
	[ "$(spate status --json | jq -c '[.recordings[] | [.name, .quality]] |
		sort')" = '[["live_ds0","rate 2"],["live_ds1","dead 1, rate 2"]]' ]
}
wait_for 60 sees_parts
send_end
spate stop live_ds0
for i in 0 1; do
	kept=${disks[0]}/live_ds$i/live_ds$i.quality.jsonl
	wait_for 60 lives_on "length > 0 and
		all(.name == \"live_ds$i\" and .sub == 0 and .thread == $i and
			.sample_rate == 16000000)"
	spate rm live_ds$i
done
spated_stop

# Nobody looks if it is not wanted.
begin vdif 'payload = 8032; fps = 500; threads = [ 0 ]; quality = false;'
send --rate 32Mbps --fps 500 --format vdif --signal --defect constant=0/0
wait_for 60 eval '[ "$(spate status --json | jq .recordings[0].packets)" -gt 200 ]'
same "what is not wanted" \
	"$(spate status --json | jq -c '.recordings[0] |
		[.quality, .quality_frames]')" '[null,null]'
send_end
spate stop live
