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
