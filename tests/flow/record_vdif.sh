# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --(VDIF, some lost, swapped, twice)--> spated -> disk0 ... disk3
#                                                            |
#   what was sent, had nothing been lost  <-- the same? -- export
#
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 4
conf_write "$(stream_text 'format = "vdif"; prefix = 8; fill = "zero";
	vbs_cfg = true;')"
spated_start
take --format vdif --packets 10000 --loss 0.004 --reorder 0.004 \
	--duplicate 0.002 --dump "$work/ideal"
take_is_true 10000 8032
same "disks in use" "$(info "$taken" '[.disks[] | select(.chunks > 0)] |
	length')" 4

# The disks alone, without the daemon, tell the same.
told=$(info "$taken" '[.packets, .packets_lost, .bytes, .drops]')
spated_stop
same "info from the disks" "$("$SPATE" info "$taken" --json --disks \
	"$(IFS=:; echo "${disks[*]}")" |
	jq -r '[.packets, .packets_lost, .bytes, .drops]')" "$told"

# With NAME.cfg it is VLBI-streamer's, where there is neither index nor metadata.
# After a crash recover writes the same.
is_cfg()
{
	local file total=0

	for file in "$work"/disk?/"$1/$1".0*; do
		total=$((total + $(stat -c %s "$file") / 8032))
	done
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
others=$(IFS=:; echo "${disks[*]}")
"$SPATE" recover --disks "$others" >"$work/said"
is_cfg "$taken"
rm -f "$work"/disk?/"$taken/$taken".{index,meta.jsonl,sums}
same "made by, and packets" "$("$SPATE" info "$taken" --json --disks "$others" |
	jq -c '[.made_by, .packets + .packets_lost]')" '["VLBI-streamer",10000]'
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
