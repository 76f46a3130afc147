# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated --> disk0 disk1 --> spatefs --> one file = spate export
#                         |                             |
#                         `--- a mount of before, that was unmounted: the same
#
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_fuse.sh
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
mnt=$work/mnt

disks_make 2
conf_write "$(stream_text 'format = "vdif"; prefix = 8;')"
spated_start
take --format vdif --packets 4000 --loss 0.004
spate export "$taken" "$work/exported"
end=$(info "$taken" .end)
file=$mnt/$taken.vdif

listing()
{
	(cd "$mnt" && find . -type f -not -path './.info/*' \
		-printf '%p %i %s %T@ %m\n') | sort
}

fuse_start "$mnt" -o "disks=$(disks_list)"
wait_for 30 test -e "$file"
same "the list" "$(ls "$mnt")" "by-thread
$taken.vdif"
cmp "$file" "$work/exported"
cmp "$file" "$work/exported" # from the page cache
same size "$(stat -c %s "$file")" "$(stat -c %s "$work/exported")"
same mode "$(stat -c %A "$file")" -r--r--r--
same "mtime, and end" "$(stat -c %Y "$file")" "$(date -d "$end" +%s)"
dd if="$file" bs=1000001 status=none | cmp - "$work/exported"
jq -e ".name == \"$taken\"" "$mnt/.info/$taken.json" >/dev/null
fuse_mounted "$mnt"
awk -v dir="$mnt" '$5 == dir' /proc/self/mountinfo >"$work/line"
grep -q ' ro,.* - fuse.spatefs spate ' "$work/line" ||
	fail "mounted as $(cat "$work/line")"
listing >"$work/before"

# A recording that comes is there soon, one that goes is not any more.
spate record another --stream s
gen --format vdif --packets 500 --rate 100Mbps
settle another 500
spate stop another >/dev/null
wait_for 30 test -e "$mnt/another.vdif"
spate export another "$work/another"
whole()
{
	cmp -s "$mnt/another.vdif" "$work/another"
}
wait_for 30 whole
spate rm another >/dev/null
wait_for 30 test ! -e "$mnt/another.vdif"
fuse_stop "$mnt"

# What a disk refuses for a while is filled where that is asked for, and who
# opens the file when that is over gets the data, though the kernel has fill.
chunk=$(find "${disks[@]}" -name "$taken.0*" | sort | head -n 1)
cp "$chunk" "$work/chunk"
fuse_start "$mnt" -o "disks=$(disks_list),verify,fill=zero"
wait_for 30 test -e "$file"
cp "$file" "$work/zeroed"
fuse_stop "$mnt"
printf damage | dd of="$chunk" bs=1 seek=5000 conv=notrunc status=none
fuse_start "$mnt" -o "disks=$(disks_list),verify,fill=zero"
wait_for 30 test -e "$file"
! cmp -s "$file" "$work/zeroed" || fail "what is damaged is not filled"
dd if="$work/chunk" of="$chunk" conv=notrunc status=none
cmp "$file" "$work/zeroed"
fuse_stop "$mnt"

# As many options as it takes.
many=()
for _ in {1..31}; do
	many+=(-o ro)
done
status=0
spate mount -f "${many[@]}" -o colour=red "$mnt" 2>"$work/says" || status=$?
same "status of the most options: $(cat "$work/says")" $status 2

# Past the page cache, and from a configuration, as `spate mount` has it.
at_end "fuse_umount '$mnt'"
spate mount "$mnt" -o direct_io
wait_for 30 test -e "$file"
cmp "$file" "$work/exported"
listing >"$work/after"
diff "$work/before" "$work/after" ||
	fail "it is another after it was mounted again"
cat "$file" >/dev/null & # in it while it is unmounted
umount -l "$mnt" 2>/dev/null || fusermount3 -u -z "$mnt"
wait $! || true
! fuse_mounted "$mnt" || fail "$mnt is still mounted"
