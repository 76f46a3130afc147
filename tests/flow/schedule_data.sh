# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   data's clock   T         T+2       T+4
#   one            |=========)
#   two                      |=========)
#   early     <....|=========)                what came before is kept as well
#
# Scans that begin and end when the data's own clock says so have the frames of
# these seconds, all of them and no others; a backlog is what came before.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_schedule.sh"

disks_make 2
mkdir -p "$folder"
settings=('memory = "128M";' 'reserve = "1M";' "schedule = \"$folder\";")
fps=1000
conf_write "$(stream_text "format = \"vdif\"; payload = 1032; fps = $fps;
	threads = [ 0 ]; socket_buffer = \"4M\";")"
spated_start

# The clock of the data begins a second late, so that it is not the arrival.
TZ=UTC printf -v begin '%(%FT%TZ)T' $((EPOCHSECONDS + 1))
gen --format vdif --prefix 0 --payload 1032 --threads 0 --fps $fps --rate 8320000bps \
	--for 14s --start "$begin" &
gen_pid=$!
at_end 'kill $gen_pid 2>/dev/null; wait $gen_pid 2>/dev/null || true'

# Now and then comes a frame whose clock is wrong by a day.
TZ=UTC printf -v wrong '%(%FT%TZ)T' $((EPOCHSECONDS + 86400))
for ((i = 0; i < 40; i++)); do
	"$SPATE" gen --to "udp://127.0.0.1:$port" --format vdif --prefix 0 \
		--payload 1032 --threads 0 --fps $fps --packets 1 \
		--start "$wrong" --quiet
	sleep 0.3
done &
wrong_pid=$!
at_end 'kill $wrong_pid 2>/dev/null; wait $wrong_pid 2>/dev/null || true'

at=$((EPOCHSECONDS + 5))
for scan in "one 0" "two 2"; do
	TZ=UTC printf -v start '@%(%FT%TZ)T' $((at + ${scan#* }))
	printf '{ name = "%s"; stream = "s"; start = "%s"; ' "${scan% *}" \
		"$start"
	printf 'duration = "2s"; },\n'
done | scans_conf "$work/data.conf"
spate schedule add "$work/data.conf"
scan_text early 5 2s s 'backlog = "2s"' | scans_conf "$work/early.conf"
spate schedule add "$work/early.conf"

is_over()
{
	case $(state "$1") in
	waiting | armed | running) return 1 ;;
	esac
}
for name in one two early; do
	wait_for 60 is_over $name
	same "state of $name" "$(state $name)" "done"
	same "datagrams of $name" "$(info $name .datagrams)" \
		"$(info $name '.packets + ([.drops[]] | add)')"
done

# time_of NAME KEY: seconds behind T
time_of()
{
	info "$1" "(.runs[0].$2[:19] + \"Z\" | fromdate) - $at"
}
for name in one two; do
	same "overruns" "$(info $name .overruns)" 0
	same "packets of $name" "$(info $name .packets)" $((2 * fps))
	same "lost of $name" "$(info $name .packets_lost)" 0
	same "runs of $name" "$(info $name '.runs | length')" 1
	spate verify $name
	spate export $name "$work/$name"
done
same "when it began" "$(time_of one start)" 0
same "when it ended" "$(time_of one end)" 1
same "when the second began" "$(time_of two start)" 2
same "when the second ended" "$(time_of two end)" 3
# A block is 1000 packets, and they are kept whole.
within "packets with those of before" $((3 * fps)) "$(info early .packets)" \
	$((5 * fps + 100))
same "lost of early" "$(info early .packets_lost)" 0
within "seconds before" -4 "$(time_of early start)" -1
spated_stop
