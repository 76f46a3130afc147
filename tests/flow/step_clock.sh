# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated, whose clock of the computer is set (set_clock.c)
#
# A step of the computer's clock, forward and back, loses nothing and ends
# nothing: the log says that it stepped, and does not say it of the data.
. "${BASH_SOURCE%/*}/functions.sh"

shim=$top_builddir/tests/flow/.libs/set_clock.so
[ -e "$shim" ] || skip "$shim is not built (make check does)"
need_python mmap

# step SECONDS: from the true time
step()
{
	"$python" -c 'import struct, sys
with open(sys.argv[1], "r+b") as f:
    f.write(struct.pack("<q", round(float(sys.argv[2]) * 1e9)))' \
		"$work/offset" "$1"
}

head -c 8 /dev/zero >"$work/offset"
disks_make 1
settings=('memory = "64M";' 'reserve = "1M";' 'durable = "1s";')
conf_write "$(stream_text 'format = "vdif"; payload = 1032; prefix = 8;
	sequence = "le64@0"; rate = "40Mbps"; max_clock = "1h"; quality = false;')"
# A build with sanitizers wants to be loaded first.
! grep -q '__[at]san_init' "$SPATED" || skip "no preload under sanitizers"
LD_PRELOAD=$shim SET_CLOCK=$work/offset spated_start
spate record r --stream s --quiet
"$SPATE" gen --to "udp://127.0.0.1:$port" --json --format vdif --payload 1032 \
	--fps 4000 --rate 40Mbps --on-time --for 120s >"$work/gen.json" &
sender=$!
at_end "kill $sender 2>/dev/null"

# goes_on: another 4000 packets, on disks
goes_on()
{
	local was

	was=$(info r .packets)
	wait_for 60 eval "[ \"\$(info r .packets)\" -gt $((was + 4000)) ]"
	was=$(info r .durable)
	wait_for 60 eval "[ \"\$(info r .durable)\" -gt $was ]"
}
stepped()
{
	grep -q "the clock was set $1" "$log"
}

goes_on
step 5
wait_for 30 stepped 'forward by [45]'
goes_on
goes_on
step -2
wait_for 30 stepped 'back by [67]'
goes_on
same "well" "$(spate status --json | jq '.recordings[0].well')" true
kill -INT "$sender"
wait "$sender" || true
settle r "$(gen_did .sent)"
spate stop r --quiet
[ "$(info r .overruns)" = 0 ] || skip "this machine is too busy"
same "packets, lost, drops and runs" "$(info r '[.packets, .packets_lost,
	(.drops | add), (.runs | length)] | join(" ")')" "$(gen_did .sent) 0 0 1"
same "warnings beside the two steps" \
	"$(grep ' warn ' "$log" | grep -v "the clock was set" || true)" ""
same "steps told" "$(grep -c "the clock was set" "$log")" 2
spate verify r
spated_stop
