# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --(packets, some lost, swapped, twice)--> spated -> disk0 ... disk3
#                                                               |
#   what was sent, had nothing been lost  <--- the same? --- export
#
# for each format of packets, and then what is special of some of them.  All of
# a recording fits into its blocks, so that no disk is too slow for it.
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 4

# records FORMAT SETTINGS PACKETS PAYLOAD GEN...: $taken is as it was sent.
records()
{
	rm -rf "$work"/disk?/take* "$work/exported"
	conf_write "$(stream_text "format = \"$1\"; fill = \"zero\";
		blocks = 30; $2")"
	spated_start
	take --format "$1" --packets "$3" --loss 0.004 --reorder 0.004 \
		--duplicate 0.002 --dump "$work/ideal" "${@:5}"
	take_is_true "$3" "$4"
}

# The sequence is in words 6 and 7 of the header.
records vdif 'sequence = "edv2"; prefix = 0;' 3000 8032 \
	--sequence edv2 --prefix 0
spated_stop
# A frame comes in two packets, as FiLa10G sends them.
records mark5b 'prefix = 8; payload = 5008;' 4000 5008 \
	--prefix 8 --payload 5008
spated_stop
# A big-endian counter, and data that says nothing.
records udpmon 'prefix = 8; payload = 4096;' 4000 4096 \
	--prefix 8 --payload 4096
spated_stop
# A counter of 32 bits somewhere, and nothing else known.
records raw 'prefix = 16; sequence = "le32@4"; payload = 1472;' 8000 1472 \
	--prefix 16 --sequence le32@4 --payload 1472

# Nothing is overwritten unasked; an empty file is nothing.
echo mine >"$work/mine"
refused "--force" spate export "$taken" "$work/mine"
same "what was there" "$(cat "$work/mine")" mine
: >"$work/empty"
spate export "$taken" "$work/empty"
spate export --force "$taken" "$work/mine"
cmp "$work/empty" "$work/exported"
cmp "$work/mine" "$work/exported"
spated_stop

# VDIF, beside which VLBI-streamer's NAME.cfg is written.
records vdif 'prefix = 8; vbs_cfg = true;' 3000 8032
same "disks in use" "$(info "$taken" '[.disks[] | select(.chunks > 0)] |
	length')" 4

# The disks alone, without the daemon, tell the same.
told=$(info "$taken" '[.packets, .packets_lost, .bytes, .drops]')
spated_stop
same "info from the disks" "$("$SPATE" info "$taken" --json --disks \
	"$(disks_list)" |
	jq -r '[.packets, .packets_lost, .bytes, .drops]')" "$told"

# With NAME.cfg it is VLBI-streamer's, where there is neither index nor metadata.
# After a crash recover writes the same.
is_cfg()
{
	local file total

	total=$(stat -c %s "$work"/disk?/"$1/$1".0* |
		awk '{ n += int($1 / 8032) } END { print n }')
	for file in "${disks[@]/%//$1/$1.cfg}"; do
		same "$file" "$(cat "$file")" "packet_size = 8032L;
cumul = $(cat "$work"/disk?/"$1"/*.index | wc -c | awk '{ print $1 / 64 - 4 }')L;
total_packets = ${total}L;
buf_division = 8;"
	done
}
is_cfg "$taken"
rm "${disks[@]/%//$taken/$taken.cfg}"
for file in "$work"/disk?/"$taken/$taken.index"; do
	truncate -s -64 "$file"
done
others=$(disks_list)
"$SPATE" recover --disks "$others" >"$work/said"
is_cfg "$taken"
rm -f "$work"/disk?/"$taken/$taken".{index,meta.jsonl,sums}
same "made by, and packets" "$("$SPATE" info "$taken" --json --disks "$others" |
	jq -c '[.made_by, .packets + .packets_lost]')" '["VLBI-streamer",3000]'
"$SPATE" export "$taken" "$work/others" --quiet --force --disks "$others"
cmp "$work/others" "$work/exported"
"$SPATE" --disks "$others" rm "$taken" >/dev/null
same "what is left" "$(find "${disks[@]}" -mindepth 1)" ""

# The stream does not say how many frames there are in a second; its frames do.
# So times are right to the frame: those of the index, and where a second is.
conf_write "$(stream_text 'format = "vdif"; prefix = 8; blocks = 40;')"
spated_start
spate record timed --stream s
gen --format vdif --packets 3500 --first 1000000 --fps 1000 --threads 4,7 \
	--start 2026-11-20T09:59:59.250Z --rate 100Mbps
settle timed 3500
spate stop timed
same "all came" "$(info timed .packets)" 3500
same "begins" "$(info timed '.runs[0].start')" 2026-11-20T09:59:59.250000000Z
same "ends" "$(info timed '.runs[0].end')" 2026-11-20T10:00:00.999000000Z
ranged()
{
	spate send timed --to null:// --wait --json --quiet --range "$1" |
		jq -r .packets
}
at=2026-11-20T
same "the first second" "$(ranged "..${at}10:00:00Z")" 1500
same "the next" "$(ranged "${at}10:00:00Z..${at}10:00:01Z")" 2000
same "a millisecond" "$(ranged "${at}10:00:00.1Z..${at}10:00:00.101Z")" 2
same "a tenth" "$(ranged "${at}10:00:00.9Z..${at}10:00:01Z")" 200
spated_stop

# Whole frames of Mark5B have no counter.  Threads they have none; frames per second are
# learned, and what comes until then is kept.
learns()
{
	conf_write "$(stream_text "format = \"mark5b\"; payload = 10016;
		blocks = 40; $1")"
	taken=$2
	spated_start
	spate record "$2" --stream s
	gen --format mark5b --prefix 0 --payload 10016 --fps 1600 --rate 256Mbps \
		--packets 4000 --start "$(date -u -d '1 second' +%FT%TZ)"
	settle "$2" 4000
	spate stop "$2"
	all_came || fail "kernel or disks lost packets"
	same packets "$(info "$2" .packets)" 4000
	same lost "$(info "$2" .packets_lost)" 0
	same runs "$(info "$2" '.runs | length')" 1
	same "frame of the first" "$(info "$2" '.runs[0].base | tonumber % 1600')" 0
	spated_stop
}
learns "fps = 1600;" whole
learns "" whole2

# One that ends before anything is learned has its packets as they came.
conf_write "$(stream_text 'format = "mark5b"; payload = 10016;')"
spated_start
spate record short --stream s
gen --format mark5b --prefix 0 --payload 10016 --fps 1600 --rate 64Mbps \
	--start "$(date -u -d "1 second" +%FT%TZ)" \
	--packets 300 --dump "$work/ideal"
settle short 300
spate stop short
same packets "$(info short .packets)" 300
spate export short "$work/short"
cmp "$work/short" "$work/ideal"
grep -q 'short: frames per second .* not learned yet (the end came first)' \
	"$log" || fail "nothing was said of it"
spated_stop
