# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> spated ----> disks --+
#             |  memory          |
#             +------------> spatefs --> readers that are right behind, slow,
#                                        or faster than what comes
#
# What they read while it is recorded is what is exported later, be the daemon
# one that shares its memory, one that does not, or one that is killed.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_fuse.sh
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
need_python os

mnt=$work/mnt
pids=()
disks_make 2

# configure VALUE [SETTING]...: `share`
configure()
{
	settings=('memory = "192M";' 'reserve = "1M";' "share = $1;" "${@:2}")
	conf_write "$(stream_text 'format = "vdif"; prefix = 8; blocks = 80;')"
}

# read_on NAME COPY [RATE]
read_on()
{
	wait_for 30 test -e "$mnt/$1.vdif"
	"$python" "$top_srcdir/tests/flow/live_read.py" "$mnt/$1.vdif" \
		"$work/$2" "${@:3}" >"$work/$2.said" &
	pids[$!]=$2
	at_end "kill $! 2>/dev/null"
}

# Packets of 8032 bytes, one after the other also from call to call.
send_begin()
{
	"$SPATE" gen --to "udp://127.0.0.1:$port" --json --format vdif \
		--packets "$1" --rate 60Mbps --dump "$work/ideal" \
		>"$work/gen.json" &
	sender=$!
	at_end "kill $sender 2>/dev/null"
}

send_end()
{
	wait "$sender"
	settle "$1" "$(gen_did .sent)"
}

# has COPY BYTES: so many were read
has()
{
	[ -e "$work/$1" ] && [ "$(stat -c %s "$work/$1")" -ge "$2" ]
}

# read_end BYTES: what all readers read
read_end()
{
	local pid

	for pid in "${!pids[@]}"; do
		echo "$1" >"$work/${pids[pid]}.new"
		mv "$work/${pids[pid]}.new" "$work/${pids[pid]}.end"
	done
	for pid in "${!pids[@]}"; do
		wait "$pid" || fail "reader ${pids[pid]} failed"
		same "what ${pids[pid]} was told" \
			"$(cut -d' ' -f2,3 "$work/${pids[pid]}.said")" "0 0"
	done
}

# all_is_true NAME: as it is exported
all_is_true()
{
	local pid

	spate stop "$1" >/dev/null
	spate export "$1" "$work/exported" -q
	read_end "$(stat -c %s "$work/exported")"
	for pid in "${!pids[@]}"; do
		cmp "$work/${pids[pid]}" "$work/exported"
	done
	cmp "$mnt/$1.vdif" "$work/exported"
	rm -f "$work/exported"
	pids=()
}

read_from()
{
	jq ".read_from_$2" "$mnt/.info/$1.json"
}

# What is not there is no error, and is there when somebody looks again.
dd_at_end()
{
	local n

	n=$(dd if="$mnt/$1.vdif" bs=1M iflag=skip_bytes skip="$2" 2>/dev/null |
		wc -c)
	[ "$n" -gt 0 ]
}

# ---- memory -------------------------------------------------------------------

configure true
spated_start
fuse_start "$mnt" -o "disks=$(disks_list),socket=$socket"
spate record near --stream s >/dev/null
read_on near first
tail -c +1 -s 0.1 -f "$mnt/near.vdif" >"$work/tail" &
tail=$!
at_end "kill $tail 2>/dev/null"
! dd_at_end near 0 || fail "there is something, of nothing that was sent"
send_begin 2000
wait_for 60 dd_at_end near 0
# From the time on that the daemon was asked for the first time.
wait_for 60 eval '[ "$(read_from near memory)" -gt 0 ]'
wait_for 60 has first 3000000
disk=$(read_from near disks)
send_end near
there=$(stat -c %s "$mnt/near.vdif")
[ "$there" -gt 14000000 ] || fail "$there bytes are visible"
! dd_at_end near "$there" || fail "there is something behind the end"
wait_for 60 has first "$there"
wait_for 60 has tail "$there"
same "bytes from disks" "$(read_from near disks)" "$disk"
[ "$(read_from near memory)" -gt 20000000 ] || fail "not from memory"
read_on near late 40e6
all_is_true near
wait_for 60 has tail "$there"
kill "$tail"
cmp -n "$there" "$work/tail" "$mnt/near.vdif"

spated_stop
fuse_stop "$mnt"

# ---- the first look -------------------------------------------------------------

# What is not durable for long is there at the first look, be the memory shared
# or not; on a machine that is too busy for it, with the next recording.
written()
{
	[ "$(cat "$work"/disk?/"$1/$1".0* 2>/dev/null | wc -c)" -ge "$2" ]
}

readable()
{
	[ "$(wc -c <"$mnt/$1.vdif")" -ge "$2" ]
}

for share in true false; do
	configure $share 'durable = "end";'
	spated_start
	for name in "first$share"{1..5}; do
		spate record "$name" --stream s >/dev/null
		send_begin 1000
		send_end "$name"
		came=$(($(info "$name" .datagrams) * 8032))
		wait_for 60 written "$name" "$came"
		fuse_start "$mnt" -o "disks=$(disks_list),socket=$socket"
		size=$(stat -c %s "$mnt/$name.vdif")
		wait_for 60 readable "$name" "$came"
		there=$(wc -c <"$mnt/$name.vdif")
		fuse_stop "$mnt"
		spate stop "$name" >/dev/null
		[ "$size" -ne "$there" ] || break
		say "$size of $there bytes at the first look"
	done
	same "size at the first look" "$size" "$there"
	spated_stop
done

# ---- who records is killed, and another one goes on --------------------------------

configure true
spated_start
fuse_start "$mnt" -o "disks=$(disks_list),socket=$socket"
spate record killed --stream s >/dev/null
read_on killed before
read_on killed slow 2e6
send_begin 5000
wait_for 60 has before 4000000
n=$(stat -c %s "$work/before")
spated_kill
# What was read before is what was sent.  What was in memory alone is gone now:
# it is not there, or filled, if its size was told already; but nobody is told
# of an error.
wait "$sender" || true
cmp -n "$n" "$work/before" "$work/ideal"
for pid in "${!pids[@]}"; do
	echo 0 >"$work/${pids[pid]}.end"
	wait "$pid" || fail "reader ${pids[pid]} failed"
	same "times that ${pids[pid]} saw it shorter" \
		"$(cut -d' ' -f2 "$work/${pids[pid]}.said")" 0
done
pids=()
timeout 60 cat "$mnt/killed.vdif" >"$work/after"
"$python" - "$work/before" "$work/ideal" "$work/after" <<'END' ||
import sys
read, sent, there = (open(name, "rb").read() for name in sys.argv[1:])
fill = bytes.fromhex("44332211") * 2008
for at in range(0, len(read), 8032):
    if read[at : at + 8032] == sent[at : at + 8032]:
        continue
    for i, byte in enumerate(read[at : at + 8032], at):
        if byte not in (sent[i], fill[i % 8032], *there[i : i + 1]):
            sys.exit(f"byte {i} was not sent, and is no fill")
for at in range(0, len(there), 8032):
    frame = there[at : at + 8032]
    if frame not in (sent[at : at + 8032], fill) and frame[3] < 0x80:
        sys.exit(f"the frame at {at} was not sent, and is no fill")
END
	fail "what was read of the one that was killed is not true"

# ---- no memory --------------------------------------------------------------------

configure false
spated_start
spate record alone --stream s >/dev/null
read_on alone without
send_begin 1000
wait_for 60 has without 3000000
send_end alone
same "bytes from memory" "$(read_from alone memory)" 0
all_is_true alone
fuse_stop "$mnt"
! grep -q 'cannot be read' "$fuse_log" || fail "$(cat "$fuse_log")"
spated_stop

# ---- a disk that is added ----------------------------------------------------

# By hand, and by a pattern of -o disks=; a recording that is open goes on there.
mkdir "$work/x" "$work/listed"
two=("${disks[@]}")
disks=("$work/x")
configure true
spated_start
take --format vdif --packets 100
old=$taken
spate export "$old" "$work/old" -q
spated_stop
disks=("${two[@]}")
configure true
spated_start
fuse_start "$mnt" -o "conf=$conf"
spate record joins --stream s >/dev/null
read_on joins reader
send_begin 1000
send_end joins
! test -e "$mnt/$old.vdif" || fail "$old is there before its disk"
spate disks add --force "$work/x" >/dev/null
wait_for 60 test -e "$mnt/$old.vdif"
cmp "$mnt/$old.vdif" "$work/old"
on_x()
{
	compgen -G "$work/x/joins/*.0*" >/dev/null
}
for _ in 1 2 3 4 5; do
	send_begin 1000
	send_end joins
	! on_x || break
done
wait_for 60 on_x
all_is_true joins
fuse_stop "$mnt"
spated_stop
