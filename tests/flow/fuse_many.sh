# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   64 readers at once, ahead and here and there; readers that are killed; two
#   mounts of the same disks; and 10 000 recordings
#
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
many=10000
[ -x "$top_builddir/tests/flow/many" ] || fail "tests/flow/many is not built"
at=$work/mnt
other=$work/other

disks_make 3
conf_write "$(raw_stream)"
spated_start
begin r
send good:0:8000
end r
begin s
send good:8000:4000
end s
spated_stop
ideal "$work/ideal" good:0:8000
ideal "$work/ideal_s" good:8000:4000

# ---- readers -------------------------------------------------------------

# 64 of them, in 4 processes: one after the other, from the end, by leaps, by
# mmap.
readers()
{
	python3 - "$1" "$2" "$3" <<-'END'
		import mmap, os, random, sys, threading
		path, expected, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
		with open(expected, "rb") as f:
		    ideal = f.read()
		wrong = []
		def places(k, size):
		    dice = random.Random(k)
		    every = range(0, len(ideal), size)
		    if k % 4 == 0:
		        return every
		    if k % 4 == 1:
		        return reversed(every)
		    return [dice.randrange(len(ideal)) for _ in every]
		def reader(k):
		    fd = os.open(path, os.O_RDONLY)
		    size = 1 << 14 + k % 5
		    try:
		        if k % 4 == 3:
		            with mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ) as m:
		                for at in places(k, size):
		                    assert m[at:at + size] == ideal[at:at + size], at
		        else:
		            for at in places(k, size):
		                got = os.pread(fd, size, at)
		                assert got == ideal[at:at + size], (at, len(got))
		    except Exception as e:
		        wrong.append((k, repr(e)))
		    os.close(fd)
		threads = [threading.Thread(target=reader, args=(k,)) for k in range(n)]
		for t in threads: t.start()
		for t in threads: t.join()
		if wrong:
		    sys.exit(f"{path}: {len(wrong)} of {n} readers: {wrong[:3]}")
	END
}

all_done()
{
	local pid

	for pid in "${pids[@]}"; do
		wait "$pid" || fail "a reader ended with $?"
	done
	pids=()
}

for options in "" ,direct_io ,cache=16M,threads=2; do
	fuse_start "$at" -o "disks=$(disks_list)$options"
	pids=()
	# A file of direct_io cannot be mapped to be shared; of its 16 none is.
	if [ "$options" = ,direct_io ]; then
		for ((i = 0; i < 64; i++)); do
			cmp "$at/r.raw" "$work/ideal" &
			pids+=($!)
		done
	else
		for ((i = 0; i < 3; i++)); do
			readers "$at/r.raw" "$work/ideal" 16 &
			pids+=($!)
		done
		readers "$at/s.raw" "$work/ideal_s" 16 &
		pids+=($!)
	fi
	all_done
	fuse_stop "$at"
done

# Two mounts of the same disks know nothing of each other.
fuse_start "$at" -o "disks=$(disks_list),cache=16M"
fuse_start "$other" -o "disks=$(disks_list),cache=16M,direct_io"
same "numbers of files" "$(cd "$at" && ls -i | sort)" \
	"$(cd "$other" && ls -i | sort)"
cmp "$at/r.raw" "$other/r.raw" &
pids=($!)
cmp "$other/s.raw" "$work/ideal_s" &
pids+=($!)
all_done

# Killed in mid-read, again and again: others do not notice, nothing is left.
descriptors()
{
	find "/proc/$(fuse_pid "$1")/fd" -mindepth 1 2>/dev/null | wc -l
}

cmp "$at/r.raw" "$work/ideal"
before=$(descriptors "$other")
for ((i = 0; i < 30; i++)); do
	pids=()
	for file in r s r s; do
		dd if="$other/$file.raw" of=/dev/null bs=64k 2>/dev/null &
		pids+=($!)
	done
	sleep "0.00$((i % 10))"
	kill -KILL "${pids[@]}" 2>/dev/null || true
	wait "${pids[@]}" 2>/dev/null || true
done
cmp "$other/r.raw" "$work/ideal"
few_left()
{
	[ "$(descriptors "$other")" -le $((before + 40)) ]
}
wait_for 30 few_left
fuse_stop "$other"
cmp "$at/s.raw" "$work/ideal_s"

# It is killed itself: what is left of the mount is an error, and can be
# mounted over again.
fuse_kill "$at"
! cat "$at/r.raw" >/dev/null 2>&1 || fail "a dead mount can be read"
fuse_umount "$at"
fuse_start "$at" -o "disks=$(disks_list)"
cmp "$at/r.raw" "$work/ideal"
fuse_stop "$at"

# ---- recordings ------------------------------------------------------------

[ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] ||
	{ say "there is no /dev/shm to keep $many recordings in"; exit 0; }
shm=$(mktemp -d /dev/shm/spate-test.XXXXXX)
at_end 'rm -rf "$shm"'
mkdir "$shm/disk"
disks=("$shm/one")
mkdir "$shm/one"
conf_write "$(raw_stream)"
spated_start
begin first
send good:0:100
end first
spated_stop
ideal "$work/ideal" good:0:100
"$top_builddir/tests/flow/many" "$shm/one/first" "$shm/disk" $many

fuse_start "$at" -o "disks=$shm/disk"
# At once, whatever is looked at meanwhile.
cmp "$at/scan07777.raw" "$work/ideal"
all_there()
{
	[ "$(find "$at" -maxdepth 1 -name 'scan*.raw' | wc -l)" -eq $many ]
}
wait_for 120 all_there
timed()
{
	local begin=${EPOCHREALTIME/./}

	"${@:2}" >"$work/listed"
	say "$1: $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
}
timed "ls -l of $many" ls -l "$at"
same "lines of ls -l" "$(grep -c 'scan' "$work/listed")" $many
same "sizes of ls -l" "$(awk '/scan/ { print $5 }' "$work/listed" | sort -u)" \
	"$(stat -c %s "$work/ideal")"
timed "ls -l once more" ls -l "$at"
timed "find" find "$at" -type f -name '*.raw' -size +1k
same "lines of find" "$(wc -l <"$work/listed")" $many
timed "a look at one" stat "$at/scan04711.raw"
timed "at one that is not there" test ! -e "$at/scan4711.raw"
timed "100 of them read" cat "$at"/scan012*.raw
same "bytes of 100" "$(stat -c %s "$work/listed")" \
	$((100 * $(stat -c %s "$work/ideal")))
same "each once" "$(ls -f "$at" | grep -c ^scan)" $many
say "resident: $(fuse_rss "$at") KiB"
# One of them goes, one comes.
rm -r "$shm/disk/scan00042"
mv "$shm/disk/scan00043" "$shm/disk/new00043"
gone()
{
	[ ! -e "$at/scan00042.raw" ] && [ ! -e "$at/scan00043.raw" ]
}
wait_for 60 gone
fuse_stop "$at"
