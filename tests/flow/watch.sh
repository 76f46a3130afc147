# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated <-- status --watch, in tmux: 80x24, 200x60, UTF-8 and not
#
# The screen says what --json says, while packets are lost, while spated is away
# and when it is back; the terminal is as it was when it ends.
. "${BASH_SOURCE%/*}/functions.sh"

status=0
"$SPATE" status --watch --socket "$work/none" >"$work/said" 2>&1 </dev/null ||
	status=$?
same "status without a terminal" $status 1
grep -q "needs a terminal" "$work/said" || fail "$(cat "$work/said")"
need tmux

mux()
{
	TMUX='' tmux -S "$work/tmux" -f /dev/null "$@"
}

# screen: what it shows, without colours
screen()
{
	mux capture-pane -p -t watch
}

# shows PATTERN: for wait_for
shows()
{
	screen >"$work/screen"
	grep -qE -- "$1" "$work/screen"
}

await()
{
	wait_for 30 shows "$1"
}

# watch_start COLUMNS ROWS [LC_ALL]
watch_start()
{
	mux new-session -d -s watch -x "$1" -y "$2" \
		"env LC_ALL=${3:-C.UTF-8} PS1='ready ' TERM=screen bash --norc"
	await '^ready'
	mux send-keys -t watch "'$SPATE' --socket '$socket' status --watch; echo left=\$?" Enter
	await '^(spated 0|spate:)'
	if shows 'built without ncurses'; then
		skip "spate was built without ncurses"
	fi
}

streams_text()
{
	local name i

	for ((i = 0; i < $1; i++)); do
		printf -v name 'port%03d' "$i"
		printf '\t%s : { listen = [ "127.0.0.1:%s" ]; block = "64K"; format = "raw"; payload = 1024; prefix = 8; sequence = "le64@0"; };\n' \
			"$name" $((port + 1 + i))
	done
}

# figures: a pattern for each line of the screen that has figures of --json
figures()
{
	spate status --json | jq -r '
		def tenth: . * 10 | round |
			"\(. / 10 | floor)[.]\(. % 10)";
		def size:
			if . < 1024 then "\(.) B"
			else [., 0] | until(.[0] < 1023.95; [.[0] / 1024, .[1] + 1]) |
				"\(.[0] | tenth) \(["", "K", "M", "G", "T", "P"][.[1]])iB"
			end;
		"^spated \(.version), up [^,]+, [0-9:]+ UTC$",
		"^memory .* of \(.memory.bytes | size) +disks: \(.disks | length), ",
		(.disks[] | "^[^ ]*\(.path[-12:]) +\(.state) +" +
			"\(.free | size) free +\(.rate | size)/s"),
		(.recordings[] | "^\(.name) +\(.state) +\\[[#.]{10}\\] +" +
			"\(.bytes | size) ")'
}

# For wait_for: they change between the screen and the answer.
agrees()
{
	local pattern patterns

	patterns=$(figures)
	screen >"$work/screen"
	[ -n "$patterns" ] || return 1
	while read -r pattern; do
		grep -qE -- "$pattern" "$work/screen" || return 1
	done <<<"$patterns"
}

mkdir -p "$work/of/a/recorder/with/long/paths"
for n in 0 1; do
	disks+=("$work/of/a/recorder/with/long/paths/disk0$n")
	mkdir "${disks[-1]}"
done
port_find 433
conf_write "$(stream_text 'format = "raw"; payload = 1024; prefix = 8;
	sequence = "le64@0";')
	heard : { listen = [ \"127.0.0.1:$((port + 1))\" ]; format = \"vdif\";
	          payload = 8032; prefix = 8; fps = 500; block = \"1M\"; };"
spated_start
at_end 'mux kill-server 2>/dev/null'
watch_start 80 24
await '^s +idle'

# ---- figures, under loss ------------------------------------------------

spate record lossy --stream s --for 300s --quiet
await '^lossy +recording +\['
gen --format raw --payload 1024 --prefix 8 --sequence le64@0 --rate 30Mbps \
	--packets 8000 --loss 0.05
settle lossy "$(gen_did .sent)"
await "s: [0-9]+ packets lost"
await '▅|▆|▇|█'
await '^s +! arrive'
await 'lossy: no packet comes'
# The last block was closed since.
lost=$(info lossy .packets_lost)
[ "$lost" -gt 0 ] || fail "no losses"
await "^s +.* $lost +\["
# Paths that are too long keep the part in which they differ.
for disk in "${disks[@]}"; do
	shows "^(~|/)[^ ]*${disk: -12} +(idle|writing)" ||
		fail "$disk is not shown"
done
wait_for 30 agrees

# ---- sizes --------------------------------------------------------------

mux resize-window -t watch -x 200 -y 60
await "overruns"
await "^s +.* $lost +$(info lossy .overruns) +\["
for disk in "${disks[@]}"; do
	await "^(~|/)[^ ]*${disk: -32} +(idle|writing)"
done
wait_for 30 agrees
mux resize-window -t watch -x 40 -y 8
wait_for 30 eval '! shows overruns'
await '^s +! arrive'
mux resize-window -t watch -x 80 -y 24
await '^s .*\]'
wait_for 30 agrees

# ---- a signal and its clock ----------------------------------------------

# Where quality and clock are known, both can be read at 80 columns.
spate record dish --stream heard --quiet
"$SPATE" gen --to "udp://127.0.0.1:$((port + 1))" --rate 32160kbps \
	--packets 1000000 --fps 500 --format vdif -o channels=2 --signal \
	--defect dead=0/1 >/dev/null 2>&1 &
sender=$!
at_end 'kill -KILL $sender 2>/dev/null'
await '^heard +recording +[0-9.]+ [kM]b/s .* \[[#.]{5}\] dead 1 +[+-][0-9]+\.[0-9]+$'
shows '^stream +state .* buffers signal +clock, s$' || fail "$(screen)"
kill "$sender"
wait "$sender" || true
spate stop dish --quiet

# ---- spated ends, and comes back ----------------------------------------

spated_kill
await '^spated does not answer since [0-9:]+ UTC'
await '^s '
conf_write "$(streams_text 432; stream_text 'format = "raw"; payload = 1024;
	prefix = 8; sequence = "le64@0";')"
spated_start
await '^spated 0'
await 'spated was started anew'

# ---- 432 streams ---------------------------------------------------------

await '\.\.\. and 4[0-9][0-9] more'
spate record sick --stream port400 --quiet
await '^port400 +! arrive'
same "the first stream" "$(screen | sed -n 4p | cut -d' ' -f1)" port400
shown=$(grep -cE '^(port[0-9]{3}|s) ' "$work/screen")
same "all streams" $((shown + $(sed -n 's/^\.\.\. and \([0-9]*\) more/\1/p' "$work/screen"))) 433
spate stop sick --quiet

# ---- the end ------------------------------------------------------------

mux send-keys -t watch q
await '^left=0'
same "echo is on" "$(screen | grep -c '^left=0')" 1
mux send-keys -t watch "stty -a | grep -c ' echo '; stty -a | grep -c ' icanon '" Enter
await '^1$'
! grep -qx 0 "$work/screen" || fail "the terminal is not as it was"
mux kill-session -t watch

watch_start 80 24 C
await '^port000 +idle +_'
mux send-keys -t watch C-c
await '^left=0'
mux send-keys -t watch "clear; '$SPATE' --socket '$socket' status --watch; echo left=\$?" Enter
await '^spated 0'
pid=$(pgrep -f "^$SPATE --socket $socket status --watch")
kill -TERM "$pid"
await '^left=0'
mux send-keys -t watch "clear; TERM=none '$SPATE' --socket '$socket' status --watch" Enter
await 'cannot use this terminal'

# ---- lines of JSON ------------------------------------------------------

"$SPATE" --socket "$socket" status --watch --json >"$work/lines" 2>/dev/null &
watcher=$!
at_end 'kill $watcher 2>/dev/null'
has_lines()
{
	[ "$(jq -s length "$work/lines" 2>/dev/null)" -ge "$1" ]
}
wait_for 30 has_lines 2
spated_kill
spated_start
wait_for 30 has_lines $(($(jq -s length "$work/lines") + 1))
same "lives of spated" "$(jq -s '[.[].pid] | unique | length' "$work/lines")" 2
kill $watcher
spated_stop
