# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh disable=SC2154
#
#	gen --> spated --> 2 disks --> copy_send ==> inbox --> 1 small disk
#
# A disk that gets full where a copy comes in: the sender is told, waits, and
# goes on when there is room; or gives up when it has no patience left, and
# what has come is there when it comes back.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks ext4
. "${BASH_SOURCE%/*}/functions_copy.sh"
need jq xxd

disks_make 2
conf_write "$(stream_text 'format = "vdif"; prefix = 8; payload = 1032;')"
spated_start
disk_mount small 40M ext4
mkdir -p "$work/in0"
inbox_make 1
sed -i "s|\"$work/in0\"|\"$mnt/small\"|" "$inbox_conf"
inbox_disks=("$mnt/small")
inbox_start

take --format vdif --payload 1032 --packets 20000 --loss 0.01
name=$taken
fallocate -l 20M "$mnt/small/ballast"

# No patience: it fails, and says why.
if copy -p 3 "$name"; then
	fail "it was copied to a disk that is full"
fi
copy_did .why | grep -q 'no room' || fail "it does not say what is missing"
same "state" "$(there status --json | jq -r '.inbox[0].state')" waiting

# It waits, and goes on.
"$top_builddir/tests/flow/copy_send" -p 120 "$name" "$inbox_url" "${disks[@]}" \
	>"$work/copy.json" 2>"$work/copy.err" &
copy_pid=$!
at_end "kill -KILL $copy_pid 2>/dev/null || true"
wait_for 30 grep -q 'waiting no disk' "$work/copy.err"
rm "$mnt/small/ballast"
wait "$copy_pid"
within "bytes of the rest" 1 "$(copy_did .bytes)" \
	"$(($(copy_did .total) - 5000000))"
same_there "$name"
same_bytes "$name"
inbox_stop
