# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated --> disks --> spatefs --> 4 readers right behind
#             |        memory       |        2 readers of what was recorded
#             +---------------------+
#
# SPATE_SOAK=300 does this for five minutes (and SPATE_SOAK_RATE=800 at as many
# Mb/s), a recording after the other: none loses anything, nothing differs, and
# nobody waits for ever.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_fuse.sh
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
need_python hashlib

mnt=$work/mnt
soak=${SPATE_SOAK:-4}
seconds=$((soak < 20 ? soak : 20))
rates=("${SPATE_SOAK_RATE:-200}" 50 10)
disks_make 3
settings=('memory = "192M";' 'reserve = "1M";' 'share = true;')
conf_write "$(stream_text 'format = "vdif"; prefix = 8; blocks = 80;')"
spated_start
fuse_start "$mnt" -o "disks=$(disks_list),socket=$socket,cache=64M,timeout=60s"

start()
{
	"$@" &
	pids+=($!)
	at_end "kill $! 2>/dev/null"
}

# Reads what was recorded, again and again, until it is told; not without a
# pause, since checksums are what costs most of this test.
read_old()
{
	local name=$1 sum=$2

	until [ -e "$work/old.end" ]; do
		[ "$(sha1sum <"$mnt/$name.vdif")" = "$sum" ] || exit 1
		nap 0.2
	done
}

# Its process has ended.
is_gone()
{
	! kill -0 "$1" 2>/dev/null
}

ends()
{
	wait_for 300 is_gone "$1"
	wait "$1" || fail "$2 failed"
}

# One that was read lately is still open, and goes the next time.
clear_old()
{
	local name left=()

	for name in "${recorded[@]}"; do
		spate rm "$name" -q >/dev/null 2>&1 || left+=("$name")
	done
	recorded=("${left[@]}")
}

# soak_one NAME RATE: false if the kernel or the disks are too slow
soak_one()
{
	local i size sum readers=()

	pids=()
	rm -f "$work"/*.end
	spate record "$1" --stream s >/dev/null || fail "cannot record $1"
	wait_for 60 test -e "$mnt/$1.vdif"
	for i in 1 2 3 4; do
		"$python" "$top_srcdir/tests/flow/live_read.py" --sum \
			"$mnt/$1.vdif" "$work/r$i" >"$work/r$i.said" &
		readers+=($!)
		at_end "kill $! 2>/dev/null"
	done
	[ -z "$old" ] || start read_old "$old" "$old_sum"
	[ -z "$old" ] || start read_old "$old" "$old_sum"
	gen --format vdif --rate "${2}Mbps" --for "${seconds}s"
	settle "$1" "$(gen_did .sent)"
	spate stop "$1" >/dev/null || fail "cannot stop $1"
	spate export "$1" "$work/exported" -q || fail "cannot export $1"
	size=$(stat -c %s "$work/exported")
	sum=$(sha1sum <"$work/exported")
	rm "$work/exported"
	for i in 1 2 3 4; do
		echo "$size" >"$work/r$i.new"
		mv "$work/r$i.new" "$work/r$i.end"
	done
	for i in 1 2 3 4; do
		ends "${readers[i - 1]}" "reader $i"
		same "what reader $i read" "$(<"$work/r$i.said")" "${sum%% *}"
	done
	touch "$work/old.end"
	for i in "${pids[@]}"; do
		ends "$i" "a reader of $old"
	done
	clear_old
	old=$1
	recorded+=("$1")
	old_sum=$sum
	taken=$1
	all_came || return 1
	same "lost of $1" "$(info "$1" \
		'[.packets_lost, ([.drops[]] | add)] | @csv')" 0,0
}

old='' old_sum='' n=0 good=0
recorded=()
until=$((SECONDS + soak))
for rate in "${rates[@]}"; do
	while [ $good -lt 2 ] || [ $SECONDS -lt $until ]; do
		n=$((n + 1))
		soak_one "soak$n" "$rate" || break
		good=$((good + 1))
	done
	[ $good -lt 2 ] || [ $SECONDS -lt $until ] || break
done
[ $good -ge 2 ] || fail "kernel or disks lost packets at ${rates[-1]} Mb/s"
say "$good recordings at up to $rate Mb/s, $(jq -c \
	'[.read_from_memory, .read_from_disks]' "$mnt/.info/$old.json") bytes
	of the last one from memory and disks; spatefs has $(fuse_rss "$mnt") KiB"
fuse_stop "$mnt"
! grep -q 'cannot be read' "$fuse_log" || fail "$(cat "$fuse_log")"
spated_stop
