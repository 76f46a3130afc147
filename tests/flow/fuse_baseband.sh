# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# As real_vdif.sh and real_mark5b.sh, but the reader that is not ours opens
# the recording through the mount:
#
#   gen --(some lost)--> spated -> disks -> spatefs -> baseband
#                                    +----> a view of one thread, and of a time
#
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
need_python baseband
here=$top_srcdir/tests/flow
at=$work/mnt

# expects NAME ARGS: expect.py ARGS, as $work/NAME.json
expects()
{
	"$python" "$here/expect.py" "${@:2}" >"$work/$1.json"
}

# ---- VDIF ------------------------------------------------------------------

disks_make 4
conf_write "$(stream_text 'format = "vdif"; prefix = 8; payload = 5032;
	rate = "200Mbps"; fill = "invalid"; sequence = "time"; fps = 300;
	threads = [ 2, 0, 3, 1 ];')"
spated_start
take --format vdif --sequence time --payload 5032 --packets 3600 --threads 2,0,3,1 \
	--fps 300 --start 2026-11-20T09:59:59Z -o station=Ef \
	--loss 0.01 --reorder 0.004 --dump "$work/ideal"
spated_stop
fuse_start "$at" -o "disks=$(disks_list)"
file=$at/$taken.vdif

expects all "$work/ideal" "$file" 5032 32 fps=300 \
	'start="2026-11-20T09:59:59Z"' 'threads=[2,0,3,1]' 'station="Ef"' \
	frame_bytes=5032
same "frames that are fill" "$(jq '.invalid | length' "$work/all.json")" \
	"$(gen_did .lost)"

# One thread, and one second of one: as files of their own.
"$python" "$here/fuse_ideal.py" "$work/ideal" "$work/thread" 5032 --thread 3
expects thread "$work/thread" "$at/by-thread/$taken/3.vdif" 5032 32 fps=300 \
	'start="2026-11-20T09:59:59Z"' 'threads=[3]' frame_bytes=5032
range=2026-11-20T10:00:00Z..2026-11-20T10:00:01Z
"$python" "$here/fuse_ideal.py" "$work/ideal" "$work/second" 5032 --fps 300 \
	--thread 1 --since "${range%..*}" --until "${range#*..}"
expects second "$work/second" "$at/by-thread/$taken/1.vdif@$range" 5032 32 \
	fps=300 'start="2026-11-20T10:00:00Z"' 'threads=[1]' frame_bytes=5032
same "frames of a second" "$(jq .frames "$work/second.json")" 300
"$python" "$here/check_vdif.py" "$file" "$work/all.json" \
	"$at/by-thread/$taken/3.vdif" "$work/thread.json" \
	"$at/by-thread/$taken/1.vdif@$range" "$work/second.json"
fuse_stop "$at"

# ---- Mark5B -----------------------------------------------------------------

disks=()
rm -r "$work"/disk*
disks_make 4
conf_write "$(stream_text 'format = "mark5b"; prefix = 8; payload = 5008;
	fps = 400; fill = "invalid";')"
spated_start
take --format mark5b --payload 5008 --packets 4000 --fps 400 \
	--start 2026-11-20T09:59:59Z --loss 0.05 --reorder 0.004 \
	--dump "$work/ideal"
spated_stop
fuse_start "$at" -o "disks=$(disks_list)"
file=$at/$taken.m5b
expects all "$work/ideal" "$file" 5008 16 parts=2 fps=400 \
	'start="2026-11-20T09:59:59Z"' bits=2 channels=1
same "packets that are fill" "$(jq '(.invalid | length) * 2 +
	(.halves | length)' "$work/all.json")" "$(gen_did .lost)"
"$python" "$here/check_mark5b.py" "$file" "$work/all.json"
fuse_stop "$at"
