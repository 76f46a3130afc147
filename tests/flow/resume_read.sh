# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   gen --> spated, killed  --> one recording, which is read all the time
#   spate export, spatefs <--'
#
# Who reads a recording does not keep its recorder from going on with it; and is
# still kept from losing it to `rm`.
. "${BASH_SOURCE%/*}/break.sh"
# shellcheck source=tests/flow/functions_fuse.sh
. "${BASH_SOURCE%/*}/functions_fuse.sh"

payload=1024
disks_make 2
conf_write "$(raw_stream 'max_age = "200ms";')"

is_kept()
{
	[ "$(info_disks "$1" | jq .packets)" = "$2" ]
}

feed()
{
	gen --format raw --sequence le64@0 --payload $payload --rate 100Mbps \
		--packets 5000
}

# NAME: 5000 packets more than one that is durable has
goes_on()
{
	local had

	had=$(info_disks "$1" | jq .packets)
	spated_start
	spate record "$1" --stream s --resume --quiet
	feed
	wait_for 30 came "$1" $((had + 5000))
	spate stop "$1" >/dev/null
	same "packets of $1" "$(info "$1" .packets)" $((had + 5000))
	same "packets of $1 that no disk took" "$(info "$1" .drops.unwritten)" 0
}

begin()
{
	spated_start
	spate record "$1" --stream s --quiet
	feed
	wait_for 30 is_kept "$1" 5000
}

# ---- one that is exported, after its recorder died -------------------------------------

begin out
spated_kill
# A dry run, and so verify, takes no lock that somebody else's shared one excludes:
# a recorder that goes on in this moment would find it, and take it for a writer's.
exec 4<"$work/disk0/out/out.index"
flock -s 4
"$SPATE" recover out --dry-run --disks "$(disks_list)" >"$work/dry" ||
	fail "a dry run locks: $(cat "$work/dry")"
exec 4<&-
mkfifo "$work/pipe"
"$SPATE" export out "$work/pipe" --force --quiet --disks "$(disks_list)" 2>"$work/export" &
reader=$!
at_end 'kill $reader 2>/dev/null'
exec 3<"$work/pipe"
head -c 1000 <&3 >/dev/null
goes_on out
refused "it is being read" spate rm out
kill $reader
wait $reader || true
exec 3<&-
spate rm out >/dev/null
spated_stop

# ---- one that is read through a mount while its recorder dies ---------------------------

need_fuse
mnt=$work/mnt
mkdir "$mnt"
fuse_start "$mnt" -o "disks=$(disks_list),socket=$socket"
begin live
exec 3<"$mnt/live.raw"
head -c 1000 <&3 >/dev/null
spated_kill
# It looks whether the recording has grown, and finds that nobody writes it.
sleep 3
dd bs=1M skip=4 count=1 <&3 of=/dev/null 2>"$work/dd" || fail "$(cat "$work/dd")"
stat "$mnt/live.raw" >/dev/null
goes_on live
refused "it is being read" spate rm live
exec 3<&-
spated_stop

# ---- what is open goes on with it ---------------------------------------------------------

# It is open from the begin, and from between the two recorders; both read on and
# on, and nobody else looks at it.  A mount that does not know of the daemon.
fuse_stop "$mnt"
fuse_start "$mnt" -o "disks=$(disks_list),socket=$work/none"
listed()
{
	[ "$(stat -c %s "$mnt/$1.raw")" = "$2" ]
}
# FD FILE BYTES: reads on; is it so long then?
has_read()
{
	cat <&"$1" >>"$2"
	[ "$(stat -c %s "$2")" -ge "$3" ]
}
for layout in vbs mark6 file; do
	conf_write "$(raw_stream "max_age = \"200ms\"; layout = \"$layout\";")"
	name=on-$layout
	spated_start
	spate record "$name" --stream s --quiet
	wait_for 20 test -e "$mnt/$name.raw"
	exec 3<"$mnt/$name.raw"
	feed
	wait_for 30 is_kept "$name" 5000
	wait_for 30 has_read 3 "$work/early" $((5000 * payload))
	spated_kill
	nap 2
	cat <&3 >>"$work/early"
	exec 4<"$mnt/$name.raw"
	cat <&4 >"$work/late"
	goes_on "$name"
	spate export "$name" "$work/whole" --quiet --force
	bytes=$(stat -c %s "$work/whole")
	for who in "3 $work/early" "4 $work/late"; do
		read -r fd file <<<"$who"
		wait_for 30 has_read "$fd" "$file" "$bytes"
		cmp "$work/whole" "$file" || fail "$layout, ${file##*/}"
	done
	wait_for 30 listed "$name" "$bytes"
	exec 3<&- 4<&-
	rm "$work"/{early,late,whole}
	spated_stop
done

# So does a list: also of one that is ended beside the daemon.
begin ended
spated_kill
spated_start
is_listed()
{
	[ "$(spate ls ended --json | jq -r .state)" = "$1" ]
}
wait_for 30 is_listed interrupted
"$SPATE" recover ended --disks "$(disks_list)" >/dev/null
wait_for 60 is_listed complete
bytes=$((5000 * payload))
wait_for 30 listed ended $bytes
spated_stop
