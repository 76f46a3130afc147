# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   spated --> 6 loop disks (ext4, xfs), with parity     one of them, or two,
#                                                        shut down before,
#                                                        during and after
#
# Then all of them are filled by somebody else while the last parity is to come.
# All bytes are there without the disks that went, also what these had and had
# not made durable; and with them, when they come back with what they had.
#
. "${BASH_SOURCE%/*}/break.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"
need_disks ext4 xfs

names=(a b c d e f)
for name in "${names[@]}"; do
	case $name in
	a | b | c) disk_mount $name 640M ext4 ;;
	*) disk_mount $name 640M xfs ;;
	esac
done
settings=('memory = "256M";' 'reserve = "1M";' 'durable = "1s";')
packets=24000
ideal "$work/ideal" good:0:$packets

# daemon PARITY
daemon()
{
	disks=("$mnt/*")
	conf_write "$(raw_stream "parity = $1;")"
	spated_start
	disks=("${names[@]/#/$mnt/}")
	for name in "${names[@]}"; do
		wait_for 20 has_state "$name" idle
	done
}

# all_there NAME: the export of what the disks that are mounted give.
all_there()
{
	"$SPATE" export "$1" "$work/exported" --quiet --force \
		--disks "$(disks_list)" 2>"$work/said" ||
		fail "export $1: $(cat "$work/said")"
	cmp "$work/exported" "$work/ideal"
}

# slowly STEPS...: sends, and gives the disks time.
slowly()
{
	for step in "$@"; do
		send "$step"
		wait_for 30 came "$now" "$sent"
		sleep 0.7
	done
}

# records NAME DISK...: a recording in whose middle these disks lose power.
records()
{
	now=$1
	shift
	begin "$now"
	slowly good:0:4000 good:4000:4000 good:8000:4000
	for name in "$@"; do
		disk_shutdown "$name"
	done
	slowly good:12000:4000 good:16000:4000 good:20000:4000
	wait_for 30 came "$now" "$sent"
	spate stop "$now" >/dev/null
}

has_written()
{
	[ "$(info "$1" .chunks)" = "$2" ]
}

# packets_of NAME: on the disks
packets_of()
{
	info_disks "$1" | jq .packets
}

daemon 1
records during b
disk_umount b
all_there during
same "packets without b" "$(packets_of during)" $packets
# With the disk as it came back, older than the others.
disk_again b
wait_for 60 has_state b idle
all_there during
same "packets with b" "$(packets_of during)" $packets
# Another one before it begins, and one when it is over.
disk_umount c
wait_for 60 has_state c missing
records before
disk_umount e
all_there before
disk_again c
disk_again e
wait_for 60 has_state c idle
wait_for 60 has_state e idle
spate rm during before --yes >/dev/null
spated_stop

daemon 2
records two a f
disk_umount a
disk_umount f
all_there two
same "packets without two disks" "$(packets_of two)" $packets
# One more is too much: what is away is named.
disk_umount d
! (all_there two) 2>/dev/null || fail "three disks of two were away"
! "$SPATE" verify two --disks "$(disks_list)" >"$work/verified" 2>&1 ||
	fail "verify does not see that three disks are away"
grep -qE 'block.*: on none of the disks, and of the other blocks of the group too many' \
	"$work/verified" || fail "verify says $(cat "$work/verified")"
for name in a d f; do
	disk_again $name
	wait_for 60 has_state $name idle
done
all_there two
spate rm two --yes >/dev/null

# Killed in the middle: what it had made durable until then is there without any
# one disk, and with recover.
now=killed
begin killed
slowly good:0:4000 good:4000:4000 good:8000:4000
sleep 2.5
spated_kill
disk_umount b
"$SPATE" export killed "$work/exported" --quiet --force --disks "$(disks_list)"
cmp -n $((1024 * 11000)) "$work/exported" "$work/ideal"

# With all disks again recover indexes what the kill left, and lists parity.
disk_again b
rm "$mnt/a/killed/killed.parity" "$mnt/d/killed/killed.parity"
"$SPATE" recover killed --disks "$(disks_list)" >"$work/mended"
grep -q 'killed.parity.* on .* is listed again' "$work/mended" ||
	fail "recover says $(cat "$work/mended")"
"$SPATE" verify killed --disks "$(disks_list)" >"$work/verified" 2>&1 ||
	fail "verify: $(cat "$work/verified")"
"$SPATE" export killed "$work/whole" --quiet --force --disks "$(disks_list)"
disk_umount f
"$SPATE" export killed "$work/exported" --quiet --force --disks "$(disks_list)"
cmp -n $((1024 * 11000)) "$work/exported" "$work/whole"
"$SPATE" recover killed --disks "$(disks_list)" >"$work/mended"
grep -q 'nothing to do' "$work/mended" || fail "a second run: $(cat "$work/mended")"

# Where disks are full, rebuild and scrub say so, and nothing is less than before;
# with room again they do it.
full=(a b c d e)
for name in "${full[@]}"; do
	room=$(df --output=avail -B1 "$mnt/$name" | tail -1)
	fallocate -l $((room - (4 << 20))) "$mnt/$name/filler"
	dd if=/dev/zero of="$mnt/$name/rest" bs=4K status=none 2>/dev/null || true
done
parity=$(find "$mnt" -name 'killed.parity.0*' | sort | head -1)
printf x | dd of="$parity" bs=1 seek=1000 conv=notrunc status=none
for command in scrub rebuild; do
	! "$SPATE" $command killed --disks "$(disks_list)" >"$work/mended" \
		2>"$work/said" || fail "$command of full disks ends with 0"
	grep -qE "No space|no disk has room" "$work/mended" ||
		fail "$command says $(cat "$work/mended")"
done
for name in "${full[@]}"; do
	rm "$mnt/$name/filler" "$mnt/$name/rest"
done
"$SPATE" export killed "$work/exported" --quiet --force --disks "$(disks_list)"
cmp -n $((1024 * 11000)) "$work/exported" "$work/whole"
"$SPATE" scrub killed --disks "$(disks_list)" >"$work/mended" ||
	fail "scrub: $(cat "$work/mended")"
"$SPATE" rebuild killed --disks "$(disks_list)" >"$work/mended" ||
	fail "rebuild: $(cat "$work/mended")"
"$SPATE" verify killed --disks "$(disks_list)" >"$work/verified" 2>&1 ||
	fail "verify: $(cat "$work/verified")"
"$SPATE" export killed "$work/exported" --quiet --force --disks "$(disks_list)"
cmp -n $((1024 * 11000)) "$work/exported" "$work/whole"

# All data are written when somebody fills every disk: the parity of the last
# group is lost, and nothing else; the recording ends, and is complete.
disk_again f
rm -r "$mnt"/?/killed
settings=("${settings[@]/durable = \"1s\";/durable = \"20s\";}")
daemon 1
begin full
send good:0:4096
ideal "$work/ideal" good:0:4096
wait_for 30 has_written full 16
for name in "${names[@]}"; do
	left=$(df --output=avail -B 1 "$mnt/$name" | tail -n 1)
	xfs_io -f -c "falloc 0 $((left - 800 * 1024))" "$mnt/$name/filler"
done
timeout 120 "$SPATE" --socket "$socket" stop full >/dev/null ||
	fail "it does not end: $(info full .state)"
same "state" "$(info full .state)" complete
same "packets lost" "$(info full .packets_lost)" 0
rm "$mnt"/?/filler
all_there full
