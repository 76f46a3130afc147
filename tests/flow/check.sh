# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --vdif, four threads--> spated --> spate check, while it records and
#                                          after; with and without the daemon
#
. "${BASH_SOURCE%/*}/functions.sh"

vdif='format = "vdif"; prefix = 8; payload = 1032; threads = [ 0, 1, 2, 3 ];'
disks_make 3
settings+=('durable = "100ms";')
conf_write "$(stream_text "$vdif" 'fps = 500; max_loss = 0.02;')"
spated_start

send()
{
	gen --format vdif --payload 1032 --threads 0,1,2,3 --fps 500 \
		--rate 16640kbps "$@"
}

check()
{
	spate check "$@" --json 2>"$work/said" | jq -s '.[0]' >"$work/check"
}

looked()
{
	jq -r "$1" "$work/check"
}

# Nothing yet, then something, and at the end all of it.
refused "no recording to check" spate check
refused "no recording nobody" spate check nobody
spate record good --stream s --quiet
check
same "wrong of nothing" "$(looked '.wrong | length')" 0
send --for 3s --loss 0.01
"$SPATE" check --disks "${disks[0]}:${disks[1]}:${disks[2]}" >"$work/table"
settle good "$(gen_did .sent)"
spate stop good >/dev/null
check good
same name "$(looked .name)" good
same ok "$(looked .ok)" true
same "wrong" "$(looked '.wrong | join(";")')" ""
for key in packets packets_lost bytes start end state; do
	same "$key" "$(looked ".$key")" "$(info good ".$key")"
done
same seconds "$(looked '.seconds | map(.second) | join(" ")')" \
	"first middle last"
same threads "$(looked '.seconds | map(.threads | join(",")) | unique[]')" \
	0,1,2,3
within "packets in a second" 1950 \
	"$(looked '.seconds[1] | .packets + .packets_lost')" 2050
within "offset in ms" -1100 \
	"$(looked '.seconds[0].offset_s * 1000 | round')" 1100
same "rate in kbps" "$(looked '.rate / 1000 | round')" $((4 * 500 * 1032 * 8 / 1000))
within "lost in its first second" 5 "$(looked '.seconds[0].packets_lost')" 40
same "lost in the map" "$(info good '[.loss_map[].packets_lost] | add')" \
	"$(looked .packets_lost)"
same "columns of the map" "$(info good '.loss_map | length')" 60
spate info good >"$work/table"
grep -q "^  |[-+#. ]*[-+#][-+#. ]*|\$" "$work/table" ||
	fail "$(cat "$work/table")"
spate check good >"$work/table"
grep -q "^  first .* 0-3 .* Sp " "$work/table" || fail "$(cat "$work/table")"
grep -qx "  good" "$work/table"
refused "more than max_loss = 0 %" spate check good --max-loss 0
refused "more than max_loss = 0.5 %" spate check good --max-loss 0.5%
spate check good --max-loss 2% >/dev/null

# The stream's max_loss is kept with what it recorded; the last one is meant.
spate record worse --stream s --quiet
send --packets 2000 --loss 0.05
settle worse "$(gen_did .sent)"
spate stop worse >/dev/null
refused "the last recording is not good" spate check
refused "more than max_loss = 2 %" spate check worse
spate check good >/dev/null
touch -d "1 minute" "$work"/disk?/good/good.meta.jsonl
spate check >/dev/null

# A clock that is an hour off is said; so is a thread that is not there.
spate record off --stream s --quiet
send --packets 3000 --start "$(date -u -d '-1 hour' +%Y-%m-%dT%H:%M:%SZ)"
settle off "$(gen_did .sent)"
spate stop off >/dev/null
check off
looked '.remarks | join(", ")' | grep -q "behind that of arrival in its first second" ||
	fail "$(cat "$work/check")"
spate record three --stream s --quiet
gen --format vdif --payload 1032 --threads 0,1,2 --fps 500 --packets 3000 \
	--rate 16640kbps
settle three "$(gen_did .sent)"
spate stop three >/dev/null
refused "there is no packet of thread 3 in its first second" \
	spate check three --max-loss 1
grep -q "WRONG: there is no packet of thread 3 in its last" "$work/refused"

# Who reads a recording gives way: here one that has to wait for its reader.
is_idle()
{
	[ "$(ionice -p "$pid")" = idle ]
}

if command -v ionice >/dev/null; then
	mkfifo "$work/fifo"
	exec 3<>"$work/fifo"
	"$SPATE" --socket "$socket" export good - --quiet >&3 &
	pid=$!
	at_end "kill $pid 2>/dev/null"
	wait_for 10 is_idle
	kill $pid
	wait $pid || true
	exec 3>&-
fi

# A disk that went away, and garbage in the middle of a chunk.
spated_stop
last=$(find "$work"/disk1/good -name 'good.0*' | sort | tail -1)
mv "$last" "$work/kept"
refused "chunk $((10#${last##*.})) is not on ${disks[1]}" "$SPATE" check good \
	--disks "${disks[0]}:${disks[1]}:${disks[2]}"
mv "$work/kept" "$last"
refused "are on none of the disks" "$SPATE" check good --disks "${disks[0]}"
first=$(find "$work"/disk?/good -name good.00000000)
dd if=/dev/zero of="$first" bs=1032 seek=2 count=9 conv=notrunc status=none
refused "are not vdif packets of the right size" "$SPATE" check good \
	--disks "${disks[0]}:${disks[1]}:${disks[2]}"

# A counter that is none: one packet, and its duplicates.
conf_write "$(stream_text 'format = "raw"; sequence = "le64@0"; prefix = 8;
	payload = 1024;')"
spated_start
spate record same --stream s --quiet
gen --format raw --payload 1024 --packets 100 --rate 10Mbps
settle same 100
spate stop same >/dev/null
refused "99 datagrams were dropped as duplicates of 1 packets" spate check same
