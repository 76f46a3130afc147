# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# As record_formats.sh, but four threads, and at the end of it stands a reader
# that is not ours, and has never heard of spate:
#
#   gen --(VDIF, some lost)--> spated -> disks -> export -> baseband
#
# Once with a counter before each frame; and once without, where frames per
# second and threads are learned from the frames while they are recorded.
#
. "${BASH_SOURCE%/*}/functions.sh"

need_python baseband
disks_make 4

# Prefix, and what else the stream has.
is_real()
{
	conf_write "$(stream_text "format = \"vdif\"; prefix = $1;
		payload = 5032; fill = \"invalid\"; $2")"
	spated_start
	take --format vdif --prefix "$1" --payload 5032 --packets 6000 \
		--threads 2,0,3,1 --fps 700 --start 2026-11-20T09:59:59Z \
		-o station=Ef --loss 0.01 --reorder 0.004 --dump "$work/ideal"
	spate export "$taken" "$work/exported"
	spate rm "$taken"
	spated_stop

	"$python" "$top_srcdir/tests/flow/expect.py" "$work/ideal" \
		"$work/exported" 5032 32 fps=700 \
		'start="2026-11-20T09:59:59Z"' 'threads=[2,0,3,1]' \
		'station="Ef"' frame_bytes=5032 >"$work/expected.json"
	same "frames that are fill" \
		"$(jq '.invalid | length' "$work/expected.json")" \
		"$(gen_did .lost)"
	"$python" "$top_srcdir/tests/flow/check_vdif.py" "$work/exported" \
		"$work/expected.json"
	rm "$work/exported"
}

is_real 8 'rate = "200Mbps";'
is_real 0 'blocks = 24;'
