# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --(losses, a dead channel)--> spated --> disks
#                                                  |
#              info, info --quality --json <-------+------> info --plot FILE
#                        the same figures?  <------ its pixels
#
. "${BASH_SOURCE%/*}/functions.sh"

need_python json
disks_make 2

# plot NAME FILE ARGS
plot()
{
	spate info "$1" --plot "$2" "${@:3}"
}

conf_write "$(stream_text 'format = "vdif"; prefix = 8; payload = 8032;
	fps = 2000; threads = [ 0, 1 ]; blocks = 40;')"
spated_start
take --format vdif --threads 0,1 -o channels=2 --fps 2000 --packets 12000 \
	--tones 1000000 --defect dead=1/1 --start 2026-11-20T10:00:00Z \
	--loss 0.01

if ! plot "$taken" "$work/page.png" --tones 1000000 >"$work/said" 2>&1 &&
	grep -q 'built without cairo' "$work/said"; then
	same "a file of a spate without cairo" "$(find "$work" -name 'page*')" ""
	skip "spate was built without cairo"
fi
same "what it says" "$(cat "$work/said")" \
	"$taken: plotted to $work/page.png"
plot "$taken" "$work/page.svg" --tones 1000000 --quiet
spate info "$taken" --json >"$work/info.json"
spate info "$taken" --quality --tones 1000000 --json >"$work/lines.json" || true
same "channels" "$(jq -s length "$work/lines.json")" 4
same "what is dead" "$(jq -r 'select(.findings != []) |
	"\(.thread)/\(.channel)"' "$work/lines.json")" 1/1
"$python" "$top_srcdir/tests/flow/check_plot.py" "$work/page.png" \
	"$work/info.json" "$work/lines.json"
# The picture is XML, with a curve for each channel at least.
"$python" - "$work/page.svg" <<'END'
import sys
import xml.etree.ElementTree as tree

root = tree.parse(sys.argv[1]).getroot()
paths = sum(e.tag.endswith("path") for e in root.iter())
assert root.tag.endswith("svg") and paths > 100, (root.tag, paths)
END

# The same with a disk away; what is only there is grey, and nothing fails.
mv "${disks[1]}" "${disks[1]}.away"
plot "$taken" "$work/away.png" --tones 1000000 --disks "${disks[0]}"
mv "${disks[1]}.away" "${disks[1]}"
! cmp -s "$work/away.png" "$work/page.png" || fail "the loss of a disk is not seen"

# A file of that name is replaced, and keeps its rights to itself; nothing else
# is left in its folder.
umask 027
mkdir "$work/plots"
echo old >"$work/plots/a.png"
plot "$taken" "$work/plots/a.png" --quiet
same "the plot's rights" "$(stat -c %a "$work/plots/a.png")" 640
same "files" "$(ls "$work/plots")" a.png
# A pipe is written to, not replaced.
mkfifo "$work/plots/pipe.svg"
timeout 60 cat "$work/plots/pipe.svg" >"$work/piped.svg" &
plot "$taken" "$work/plots/pipe.svg" --quiet
wait $!
[ -p "$work/plots/pipe.svg" ] || fail "the pipe was replaced"
grep -q '</svg>' "$work/piped.svg" || fail "nothing came through the pipe"

status=0
plot "$taken" "$work/page.pdf" 2>"$work/said" || status=$?
same "status of a wrong ending" $status 2
grep -q 'ends with .svg or .png' "$work/said" || fail "$(cat "$work/said")"
refused 'cannot write' plot "$taken" "$work/nowhere/page.png"
refused 'no recording none' plot none "$work/none.png"
same "what refusals left" "$(find "$work" -maxdepth 1 -name 'none*' -o -name '*.pdf*')" ""
mkdir "$work/plots/folder.png"
refused 'cannot write' plot "$taken" "$work/plots/folder.png"
same "files" "$(ls "$work/plots" | tr '\n' ' ')" "a.png folder.png pipe.svg "

# Without samples it has all else.
spate rm --yes --quiet "$taken"
spated_stop
conf_write "$(stream_text 'format = "raw"; prefix = 8; payload = 1000;
	sequence = "le64@0";')"
spated_start
take --format raw --payload 1000 --packets 20000
plot "$taken" "$work/raw.png" --quiet
[ -s "$work/raw.png" ] || fail "no plot of packets without samples"
