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

looks_right()
{
	"$python" "$here/check_$1.py" "$2" "$work/expected.json"
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
fuse_start "$at" -o "disks=$(fuse_disks)"
file=$at/$taken.vdif

"$python" "$here/expect.py" "$work/ideal" "$file" 5032 32 fps=300 \
	'start="2026-11-20T09:59:59Z"' 'threads=[2,0,3,1]' 'station="Ef"' \
	frame_bytes=5032 >"$work/expected.json"
same "frames that are fill" "$(jq '.invalid | length' "$work/expected.json")" \
	"$(gen_did .lost)"
looks_right vdif "$file"

# One thread, and one second of all: as files of their own.
"$python" "$here/fuse_ideal.py" "$work/ideal" "$work/thread" 5032 --thread 3
"$python" "$here/expect.py" "$work/thread" "$at/by-thread/$taken/3.vdif" 5032 \
	32 fps=300 'start="2026-11-20T09:59:59Z"' 'threads=[3]' \
	frame_bytes=5032 >"$work/expected.json"
looks_right vdif "$at/by-thread/$taken/3.vdif"
range=2026-11-20T10:00:00Z..2026-11-20T10:00:01Z
"$python" "$here/fuse_ideal.py" "$work/ideal" "$work/second" 5032 --fps 300 \
	--thread 1 --since "${range%..*}" --until "${range#*..}"
"$python" "$here/expect.py" "$work/second" "$at/by-thread/$taken/1.vdif@$range" \
	5032 32 fps=300 'start="2026-11-20T10:00:00Z"' 'threads=[1]' \
	frame_bytes=5032 >"$work/expected.json"
same "frames of a second" "$(jq .frames "$work/expected.json")" 300
looks_right vdif "$at/by-thread/$taken/1.vdif@$range"
"$python" - "$at/by-thread/$taken/1.vdif@$range" <<-'END'
	import sys
	import astropy.units as u
	from astropy.time import Time
	from astropy.utils import iers
	from baseband import vdif

	iers.conf.auto_download = False
	with vdif.open(sys.argv[1], "rs", sample_rate=300 * 20000 * u.Hz) as f:
	    start = Time("2026-11-20T10:00:00", scale="utc")
	    assert abs((f.start_time - start).to_value(u.ns)) < 2, f.start_time
	    assert abs((f.stop_time - start).to_value(u.s) - 1) < 1e-8, f.stop_time
	    f.seek(start + 0.5 * u.s)
	    assert len(f.read(100)) == 100
END
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
fuse_start "$at" -o "disks=$(fuse_disks)"
file=$at/$taken.m5b
"$python" "$here/expect.py" "$work/ideal" "$file" 5008 16 parts=2 fps=400 \
	'start="2026-11-20T09:59:59Z"' bits=2 channels=1 >"$work/expected.json"
same "packets that are fill" "$(jq '(.invalid | length) * 2 +
	(.halves | length)' "$work/expected.json")" "$(gen_did .lost)"
looks_right mark5b "$file"
fuse_stop "$at"
