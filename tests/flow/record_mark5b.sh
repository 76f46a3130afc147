# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
# As record_vdif.sh; a frame comes in two packets, as FiLa10G sends them.
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 4
conf_write "$(stream_text 'format = "mark5b"; prefix = 8; payload = 5008;
	fill = "zero";')"
spated_start
take --format mark5b --prefix 8 --payload 5008 \
	--packets 8000 --loss 0.004 --reorder 0.004 --duplicate 0.002 \
	--dump "$work/ideal"
take_is_true 8000 5008
spated_stop

# Whole frames have no counter.  Threads they have none; frames per second are
# learned, and what comes until then is kept.
learns()
{
	conf_write "$(stream_text "format = \"mark5b\"; payload = 10016;
		blocks = 40; $1")"
	taken=$2
	spated_start
	spate record "$2" --stream s
	gen --format mark5b --prefix 0 --payload 10016 --fps 1600 --rate 256Mbps \
		--packets 4000
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
	--packets 300 --dump "$work/ideal"
settle short 300
spate stop short
same packets "$(info short .packets)" 300
spate export short "$work/short"
cmp "$work/short" "$work/ideal"
grep -q 'short: frames per second .* not learned yet (the end came first)' \
	"$log" || fail "nothing was said of it"
spated_stop
