# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# The tools that people use, on a mount:
#
#   gen -> spated -> disks -> spatefs -> find ls tail rsync cp dd fio mmap ...
#                      +----> export --> the same
#
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
need python3 cmp
at=$work/mnt
disks_make 3
settings+=('durable = "200ms";')
conf_write "$(stream_text 'format = "vdif"; prefix = 8; payload = 1032;
	rate = "100Mbps"; max_age = "300ms";')"
spated_start
take --format vdif --payload 1032 --packets 6000 --fps 1000 \
	--start 2026-11-20T10:00:00Z
spate export "$taken" "$work/exported"
size=$(stat -c %s "$work/exported")

fuse_start "$at" -o "disks=$(disks_list)"
file=$at/$taken.vdif

# ---- what it is ------------------------------------------------------------

same "a look at it" "$(stat -c '%F %s %h' "$file")" "regular file $size 1"
ended=$(info "$taken" .end)
within "when it ended" $(($(date -d "$ended" +%s) - 2)) \
	"$(stat -c %Y "$file")" $(($(date -d "$ended" +%s) + 2))
same "who may write" "$(find "$at" -perm /222)" ""
same find "$(cd "$at" && find . -name '*.vdif' -size "${size}c" | sort | xargs)" \
	"./by-thread/$taken/0.vdif ./$taken.vdif"
same "find by time" "$(find "$at" -maxdepth 1 -name '*.vdif' -newermt \
	'2 minutes ago')" "$file"
says()
{
	{ "${@:2}" 2>&1 || true; } | grep -qF "$1" || fail "no '$1': ${*:2}"
}
says "No such file" stat "$at/nothing.vdif"
says "name too long" stat "$at/$(printf 'x%.0s' {1..300})"
ls -lR "$at" >"$work/list"
ls -la "$at/.info" >>"$work/list"
du -s --apparent-size "$at" >/dev/null
df "$at" >/dev/null
same "df" "$(df -B1 --output=size "$at" | tail -1)" \
	"$(df -B1 --output=size "$work" | tail -1)"
before=$(stat -c %i "$file")
echo 2 >/proc/sys/vm/drop_caches 2>/dev/null || true
same "its number" "$(stat -c %i "$file")" "$before"
same "its number in a list" "$(ls -i "$at" | awk -v f="${file##*/}" '$2 == f { print $1 }')" \
	"$before"
same "what is known of it" "$(jq -r .name "$at/.info/$taken.json")" "$taken"
same "bytes of that" "$(wc -c <"$at/.info/$taken.json")" \
	"$(stat -c %s "$at/.info/$taken.json")"

# ---- copies ------------------------------------------------------------------

copies=$work/copies
mkdir "$copies"
is_copy()
{
	cmp "$1" "$work/exported"
	rm "$1"
}

cmp "$file" "$work/exported"
cp "$file" "$copies/cp" && is_copy "$copies/cp"
cp --sparse=always "$file" "$copies/sparse" && is_copy "$copies/sparse"
cp --reflink=auto -p "$file" "$copies/kept"
same "time of a copy" "$(stat -c %Y "$copies/kept")" "$(stat -c %Y "$file")"
is_copy "$copies/kept"
dd if="$file" of="$copies/dd" bs=999 status=none && is_copy "$copies/dd"
dd if="$file" of="$copies/dd" bs=4M iflag=direct status=none &&
	is_copy "$copies/dd"
dd if="$file" of="$copies/dd" bs=1032 skip=1001 count=77 status=none
cmp "$copies/dd" <(dd if="$work/exported" bs=1032 skip=1001 count=77 status=none)
tail -c 12345 "$file" | cmp - <(tail -c 12345 "$work/exported")
cat "$file" "$file" | cmp - <(cat "$work/exported" "$work/exported")
tar -C "$at" -cf - "${file##*/}" | tar -C "$copies" -xf - &&
	is_copy "$copies/${file##*/}"
if command -v rsync >/dev/null; then
	rsync -a "$at/" "$copies/rsync"
	same "rsync brings" "$(cd "$copies/rsync" && find . -type f | sort | xargs)" \
		"./.info/$taken.json ./by-thread/$taken/0.vdif ./$taken.vdif"
	same "rsync again" "$(rsync -ain --exclude .info "$at/" "$copies/rsync")" ""
	is_copy "$copies/rsync/$taken.vdif"
fi

python3 - "$file" "$work/exported" "$copies/sent" <<-'END'
	import mmap, os, sys
	path, expected, out = sys.argv[1:]
	ideal = open(expected, "rb").read()
	fd = os.open(path, os.O_RDONLY)
	for kind in (mmap.MAP_SHARED, mmap.MAP_PRIVATE):
	    with mmap.mmap(fd, 0, kind, mmap.PROT_READ) as seen:
	        assert seen[:] == ideal, "mmap"
	to = os.open(out, os.O_WRONLY | os.O_CREAT)
	while os.sendfile(to, fd, None, 1 << 20):
	    pass
	assert open(out, "rb").read() == ideal, "sendfile"
	os.lseek(fd, 0, os.SEEK_SET)
	pipe = os.pipe()
	got = b""
	while n := os.splice(fd, pipe[1], 65536) if hasattr(os, "splice") else 0:
	    got += os.read(pipe[0], n)
	assert not got or got == ideal, "splice"
	assert os.lseek(fd, -5, os.SEEK_END) == len(ideal) - 5
	assert os.read(fd, 100) == ideal[-5:]
	assert os.read(fd, 100) == b""
	copied = os.open(out, os.O_WRONLY | os.O_TRUNC)
	try:
	    os.lseek(fd, 0, os.SEEK_SET)
	    while os.copy_file_range(fd, copied, 1 << 20):
	        pass
	    assert open(out, "rb").read() == ideal, "copy_file_range"
	except OSError as e:
	    assert e.errno in (18, 38, 95, 22), e
	os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_SEQUENTIAL)
	os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
	assert os.pread(fd, 1000, 5000) == ideal[5000:6000]
	try:    # where data begins: the file has no holes that must be told
	    assert os.lseek(fd, 0, os.SEEK_DATA) == 0
	    assert os.lseek(fd, 0, os.SEEK_HOLE) == len(ideal)
	except OSError as e:
	    assert e.errno == 22, e
END

if command -v fio >/dev/null; then
	fio --name=x --filename="$file" --readonly --rw=randread --bs=64k \
		--size="$size" --numjobs=4 --ioengine=psync --group_reporting \
		--output-format=json >"$work/fio.json"
	same "errors of fio" "$(jq '.jobs[0].error' "$work/fio.json")" 0
fi

# ---- one that grows ---------------------------------------------------------

fuse_stop "$at"
fuse_start "$at" -o "disks=$(disks_list),socket=$socket"
spate record grows --stream s
gen --format vdif --payload 1032 --packets 1000 --fps 1000 --rate 40Mbps \
	--start 2026-11-20T10:00:00Z
grown()
{
	[ "$(stat -c %s "$at/grows.vdif" 2>/dev/null || echo 0)" -gt 100000 ]
}
wait_for 30 grown
tail -c +1 -f "$at/grows.vdif" >"$work/followed" 2>/dev/null &
tail=$!
at_end 'kill $tail 2>/dev/null'
gen --format vdif --payload 1032 --packets 4000 --fps 1000 --rate 40Mbps \
	--start 2026-11-20T10:00:01Z --first 1000
settle grows 5000
spate stop grows
spate export grows "$work/grows"
followed_all()
{
	[ "$(stat -c %s "$work/followed")" -ge "$(stat -c %s "$work/grows")" ]
}
wait_for 30 followed_all
cmp "$work/followed" "$work/grows"
kill $tail
cmp "$at/grows.vdif" "$work/grows"
spated_stop
cmp "$at/grows.vdif" "$work/grows"
fuse_stop "$at"
