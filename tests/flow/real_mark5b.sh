# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# As real_vdif.sh; a frame comes in two packets, and either may be lost.  The
# stream does not say how many frames there are in a second: fill has the right
# times all the same, from the first frame on.
#
. "${BASH_SOURCE%/*}/functions.sh"

need_python baseband
disks_make 4
conf_write "$(stream_text 'format = "mark5b"; prefix = 8; payload = 5008;
	blocks = 40; fill = "invalid";')"
spated_start
take --format mark5b --payload 5008 --packets 8000 --fps 800 \
	--start 2026-11-20T09:59:59Z --loss 0.05 --reorder 0.004 \
	--dump "$work/ideal"
spate export "$taken" "$work/exported"
spated_stop

"$python" "$top_srcdir/tests/flow/expect.py" "$work/ideal" "$work/exported" \
	5008 16 parts=2 fps=800 'start="2026-11-20T09:59:59Z"' bits=2 \
	channels=1 >"$work/expected.json"
same "packets that are fill" "$(jq '(.invalid | length) * 2 +
	(.halves | length)' "$work/expected.json")" "$(gen_did .lost)"
[ "$(jq '.invalid | length' "$work/expected.json")" -gt 0 ] ||
	fail "no frame lost both of its packets"
"$python" "$top_srcdir/tests/flow/check_mark5b.py" "$work/exported" \
	"$work/expected.json"
