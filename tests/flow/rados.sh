# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# Recordings in a Ceph of one machine, which the test makes (functions_ceph.sh):
#
#   send --> spated --> rados://spate/vlbi <-- spate on "another machine",
#                             |                without the daemon; two spatefs;
#                             |                another spated, which sends to the
#                             |                inbox of a third
#              mon, mgr, three OSDs: stopped, killed, without room
#
# Every export is what was sent, and every datagram is a packet or a drop,
# whatever was done to the cluster.
. "${BASH_SOURCE%/*}/break.sh"
# shellcheck source=tests/flow/functions_fuse.sh
. "${BASH_SOURCE%/*}/functions_fuse.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"
# shellcheck source=tests/flow/functions_copy.sh
. "${BASH_SOURCE%/*}/functions_copy.sh"
# shellcheck source=tests/flow/functions_ceph.sh
. "${BASH_SOURCE%/*}/functions_ceph.sh"
need rados
[ -e "$top_builddir/plugins/.libs/disk-rados.so" ] ||
	skip "disk-rados is not built (librados)"
ceph_start

pool=rados://spate/vlbi
settings=('memory = "64M";' 'reserve = "1M";')
disks=("$pool")

# Another machine: no daemon, and only the disk's path.
beside()
{
	"$SPATE" "$@" --disks "$(disks_list)"
}

objects()
{
	rados -p "${1:-spate}" -N vlbi ls | sort
}

# ---- it does what a folder does ----------------------------------------------

# With objects of 1 MiB, so that a file has some; and by a user who has the rights
# that a recorder needs, and no others.
ceph_user recorder mon 'allow r' osd 'allow rwx pool=spate namespace=contract'
(
	cd "$top_builddir"
	[ ! -x tests/contract/test_disk ] ||
		CEPH_ARGS=--osd_max_object_size=1048576 \
			SPATE_DISK='rados://spate/contract?user=recorder' \
			SPATE_DISK_AGAIN='rados://spate/contract?user=admin' \
			SPATE_DISK_TOOL=$(ceph_tool spate contract) \
			tests/contract/test_disk
)
same "objects that it left" "$(rados -p spate -N contract ls)" /

# ---- a recording, and all that reads it -------------------------------------

conf_write "$(raw_stream)"
spated_start
wait_for 30 has_state "$pool" idle
begin r1
send good:0:2000
end r1
ideal "$work/r1" good:0:2000
exported r1 "$work/r1"
same "what ls says" "$(beside ls --json | jq -r .name)" r1
beside check r1 >/dev/null
beside export r1 "$work/beside" --quiet
cmp "$work/beside" "$work/r1"
# Chunks are objects by their names.
same "objects of its chunks" "$(objects | grep -cE '^r1/r1\.[0-9]{8}~[0-9a-f]{16}$')" \
	"$(info r1 '.disks[0].chunks')"
refused "r1" spate record r1 --stream s

# In the background, where a child of the first process does the work.
need_fuse
for mount in "$work"/mnt{1,2}; do
	mkdir "$mount"
	fuse_clean "$mount"
	"$SPATEFS" "$mount" -o disks="$pool"
done

# While it is recorded, it can be read from elsewhere.
begin r2
send good:0:1500
wait_for 30 came r2 1500
durable()
{
	beside export r2 "$work/live" --quiet --force >/dev/null 2>&1 &&
		[ "$(stat -c %s "$work/live")" -gt 262144 ]
}
wait_for 30 durable
same "a live one's state" "$(beside ls r2 --json | jq -r .state)" recording
shows()
{
	[ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -ge "$2" ]
}
for mount in "$work"/mnt{1,2}; do
	wait_for 30 shows "$mount/r2.raw" "$(stat -c %s "$work/live")"
	cmp -n "$(stat -c %s "$work/live")" "$work/live" "$mount/r2.raw"
done
send good:1500:1500
end r2
ideal "$work/r2" good:0:3000
for mount in "$work"/mnt{1,2}; do
	wait_for 30 shows "$mount/r2.raw" "$(stat -c %s "$work/r2")"
	cmp "$mount/r2.raw" "$work/r2"
	fusermount3 -u "$mount"
done
cmp -n "$(stat -c %s "$work/live")" "$work/live" "$work/r2"
exported r2 "$work/r2"

# Who may only read can do that, and sees what is being recorded as such.
ceph_user reader mon 'allow r' osd 'allow rx pool=spate'
reader="$pool?user=reader"
"$SPATE" export r2 "$work/reader" --quiet --disks "$reader"
cmp "$work/reader" "$work/r2"
refused "not permitted" "$SPATE" rm r2 --yes --disks "$reader"
same "what ls says" "$("$SPATE" ls r2 --json --disks "$reader" | jq -r .state)" \
	complete
begin live
same "what ls says of a live one" \
	"$("$SPATE" ls live --json --disks "$reader" | jq -r .state)" recording
spate stop live >/dev/null

# ---- removed: nothing is left ------------------------------------------------

spate rm r1 --yes >/dev/null
same "objects of r1" "$(objects | grep -c '^r1/' || true)" 0

# ---- two recorders ---------------------------------------------------------------

one=$socket one_conf=$conf one_pid=$spated_pid one_port=$port
socket=$work/other.sock conf=$work/other.conf
port_find
conf_write "$(raw_stream)"
"$SPATED" -c "$conf" >>"$work/other.log" 2>&1 &
other=$!
at_end "kill -KILL $other 2>/dev/null"
wait_for 60 spated_answers
wait_for 30 has_state "$pool" idle
socket=$one
begin both
socket=$work/other.sock
refused both spate record both --stream s
# Of two that take a name in the same moment one has it.
for n in 1 2 3 4; do
	"$SPATE" --socket "$one" record "same$n" --stream s >"$work/by.one" 2>&1 &
	pid=$!
	by=two
	spate record "same$n" --stream s >"$work/by.two" 2>&1 || by=one
	if wait "$pid"; then
		[ $by = one ] || fail "same$n: both record it"
	else
		[ $by = two ] || fail "same$n: nobody has it: $(cat "$work"/by.*)"
	fi
	"$SPATE" --socket "$one" stop "same$n" >/dev/null 2>&1 || true
	spate stop "same$n" >/dev/null 2>&1 || true
	same "state of same$n" \
		"$(beside info "same$n" --json | jq -r .state)" complete
	beside rm "same$n" --yes >/dev/null
done
# But it can send what the first one records.
inbox_make 1
inbox_start
id=$(send_id both --to "$inbox_url" --follow)
port=$one_port
send good:0:2000
wait_for 60 is_moving "$id"
socket=$one
same "a live one's state" "$(info both .state)" recording
send good:2000:1000
end both
socket=$work/other.sock
wait_for 60 has_send "$id" done
kill -TERM $other
wait $other
socket=$one conf=$one_conf spated_pid=$one_pid
same "state of the copy" "$(there info both --json | jq -r .state)" complete
there verify both >/dev/null
there export both "$work/both.is" --quiet
ideal "$work/both" good:0:3000
cmp "$work/both.is" "$work/both"
inbox_stop

# ---- a daemon that is killed ---------------------------------------------------------

begin r3
send good:0:3000
wait_for 30 came r3 3000
kept()
{
	[ "$(beside info r3 --json | jq .packets)" -gt 1000 ]
}
wait_for 30 kept
spated_kill
# Its lock is that of a process that is gone: nobody waits for it.
same "the state at once" "$(beside ls r3 --json | jq -r .state)" interrupted
# COOKIE: locks the index as a recorder would, with this in its lock
locked_by()
{
	rados -p spate -N vlbi lock get r3/r3.index.new spate --lock-type exclusive \
		--lock-cookie "$1" --lock-tag spate --lock-duration 600
	state=$(beside ls r3 --json | jq -r .state)
	[ "$state" != recording ] || "$tool" break r3/r3.index.new
}
tool=$(ceph_tool spate vlbi)
here_is=$(cat /proc/sys/kernel/random/boot_id)/$(stat -L -c %i /proc/self/ns/pid)
gone=$(sh -c 'echo $$')
mine=$(sed 's/.*) //' "/proc/$$/stat" | cut -d ' ' -f 20)
locked_by "$here_is/$gone/1/0"
same "locked by a process that is gone" "$state" interrupted
locked_by "$here_is/$$/1$mine/0"
same "locked by one whose number another one has" "$state" interrupted
locked_by "$here_is/$$/$mine/0"
same "locked by one that is there" "$state" recording
locked_by "${here_is}0/$gone/1/0"
same "locked in another name space of processes" "$state" recording
locked_by "0$here_is/$gone/1/0"
same "locked on another machine" "$state" recording
# Who dies while a chunk is removed leaves its name.
rados -p spate -N vlbi setomapval r3/ r3.00000099 fr3/r3.00000099~0123456789abcdef
beside recover r3 --dry-run >"$work/out"
grep -q "chunk 99 .* its name is removed" "$work/out" || fail "$(cat "$work/out")"
beside recover r3 >"$work/out"
grep -q "chunk 99 .* its name is removed" "$work/out" || fail "$(cat "$work/out")"
! rados -p spate -N vlbi listomapkeys r3/ | grep 00000099 || fail "the name is there"
beside verify r3 >/dev/null
beside export r3 "$work/r3.is" --quiet
ideal "$work/r3" good:0:3000
cmp -n "$(stat -c %s "$work/r3.is")" "$work/r3.is" "$work/r3"

# ---- a daemon that stands still until its lock is over -------------------------------

# Another recording of it goes on as if nothing had been.
port_find 2
calm_port=$((port + 1))
conf_write "$(raw_stream)"$'\n'"$(port=$calm_port stream=m raw_stream)"
spated_start
wait_for 30 has_state "$pool" idle
spate record calm --stream m --quiet >&2
calm_sent=0
send_calm()
{
	(port=$calm_port send "good:$calm_sent:1000")
	calm_sent=$((calm_sent + 1000))
	wait_for 30 came calm "$calm_sent"
}
begin still
send good:0:1000
wait_for 30 came still 1000
send_calm
# NAME N: waits until so many packets are durable
all_kept()
{
	wait_for 30 is_kept "$@"
}
is_kept()
{
	[ "$(beside info "$1" --json | jq .packets)" = "$2" ]
}
all_kept still 1000
kill -STOP "$spated_pid"
is_free()
{
	[ "$(beside ls "$1" --json | jq -r .state)" != recording ]
}
wait_for 60 is_free still
beside recover still >/dev/null
kill -CONT "$spated_pid"
wait_for 30 grep -q "another one went on with it" "$log"
send good:1000:500
wait_for 30 came still 1500
send_calm
wait_for 30 grep -q "still: $pool: cannot .*; it gets no more of this recording" "$log"
# What is refused is tried again after 5 s.
nap 6
send good:1500:500
send_calm
end still
send_calm
spate stop calm --quiet
same "packets of calm" "$(info calm .packets)" "$calm_sent"
sums calm
! grep "the disk is left alone" "$log" || fail "the disk was left alone"
# No other disk could take them.
same "packets that it had before" "$(info still .packets)" 1000
same "packets that it was not let write" "$(info still ".drops | add")" 1000
spated_stop
conf_write "$(raw_stream)"
beside verify calm >/dev/null
beside export calm "$work/calm.is" --quiet
ideal "$work/calm" "good:0:$calm_sent"
cmp "$work/calm.is" "$work/calm"
beside verify still >/dev/null
beside export still "$work/still.is" --quiet
ideal "$work/still" good:0:1000
cmp "$work/still.is" "$work/still"

# ---- a daemon that stands still with writes under way, and another that goes on ------

mark6()
{
	conf_write "$(stream=m raw_stream 'layout = "mark6";')"
}

# The disk is one file, in which both write.  The writes of the first wait in its
# librados until it may go on: then they reach the cluster, late.
mark6
CEPH_ARGS=--rados_osd_op_timeout=600 spated_start
wait_for 30 has_state "$pool" idle
begin late m
send good:0:1000
wait_for 30 came late 1000
all_kept late 1000
ceph osd pause >/dev/null
send good:1000:1000
wait_for 30 came late 2000
kill -STOP "$spated_pid"
ceph osd unpause >/dev/null
wait_for 60 is_free late
one=$socket one_conf=$conf one_pid=$spated_pid one_port=$port
at_end "kill -KILL $one_pid 2>/dev/null"
socket=$work/other.sock conf=$work/other.conf
port_find
mark6
"$SPATED" -c "$conf" >>"$work/other.log" 2>&1 &
spated_pid=$!
at_end "kill -KILL $spated_pid 2>/dev/null"
wait_for 60 spated_answers
wait_for 30 has_state "$pool" idle
same "packets that are there" "$(beside info late --json | jq .packets)" 1000
spate record late --stream m --resume --quiet >&2
sent=1000
send good:2000:1000
wait_for 30 came late 2000
all_kept late 2000
kill -CONT "$one_pid"
wait_for 60 grep -q "late.*another one went on with it" "$log"
send good:3000:1000
end late
kill -TERM "$spated_pid"
wait "$spated_pid"
socket=$one conf=$one_conf spated_pid=$one_pid port=$one_port
# That the first one began a block may be known, and that it is lost.
beside verify late >"$work/verified" || true
! grep -q damaged "$work/verified" || fail "$(cat "$work/verified")"
same "packets of both" "$(beside info late --json | jq .packets)" 3000
beside export late "$work/late.is" --quiet || true
ideal "$work/late" good:0:1000
cmp -n "$(stat -c %s "$work/late")" "$work/late.is" "$work/late"
ideal "$work/late" good:2000:2000
tail -c "$(stat -c %s "$work/late")" "$work/late.is" | cmp - "$work/late"
spated_stop
conf_write "$(raw_stream)"

# ---- an OSD stops, and comes back ------------------------------------------------------

spated_start
wait_for 30 has_state "$pool" idle
begin r4
send good:0:1000
ceph_osd_stop 1
send good:1000:1000
wait_for 60 ceph_osds_up 2
send good:2000:1000
ceph_osd_start 1
wait_for 60 ceph_osds_up 3
send good:3000:1000
end r4
ideal "$work/r4" good:0:4000
exported r4 "$work/r4"

# ---- the monitor is gone: who knows the cluster needs it not ----------------------------

begin alone
send good:0:1000
ceph_mon_stop
send good:1000:3000
refused "the cluster does not answer" beside ls
end alone
same "packets without a monitor" "$(info alone .packets)" 4000
ceph_mon_start
ideal "$work/alone" good:0:4000
exported alone "$work/alone"

# ---- a cluster that does not answer at the start -------------------------------------------

spated_stop
ceph_mon_stop
disks=("$work/folder" "$pool")
mkdir "$work/folder"
conf_write "$(raw_stream)"
spated_start
wait_for 60 has_state "$pool" missing hung
begin r5
send good:0:1000
ceph_mon_start
wait_for 120 has_state "$pool" idle writing
send good:1000:2000
end r5
ideal "$work/r5" good:0:3000
exported r5 "$work/r5"

# ---- a cluster that stands still: the folder takes its blocks ---------------------------------

begin paused
send good:0:1000
wait_for 30 came paused 1000
all_kept paused 1000
ceph osd pause >/dev/null
# The folder is faster, and may take all of some.
more_until_hung()
{
	send "good:$sent:1000"
	has_state "$pool" hung failed missing
}
wait_for 120 more_until_hung
send "good:$sent:1000"
ceph osd unpause >/dev/null
wait_for 120 has_state "$pool" idle writing
end paused
same "packets while it stood still" "$(info paused .packets)" "$sent"
beside verify paused >/dev/null
ideal "$work/paused" "good:0:$sent"
beside export paused "$work/paused.is" --quiet
cmp "$work/paused.is" "$work/paused"
spated_stop

# ---- a pool without room ---------------------------------------------------------------------

ceph_pool small
ceph osd pool set-quota small max_bytes $((8 << 20)) >/dev/null
disks=("rados://small/vlbi")
conf_write "$(raw_stream)"
spated_start
wait_for 30 has_state "${disks[0]}" idle
begin r6
send good:0:4000 wait:3 good:4000:16000
end r6
beside verify r6 >/dev/null
[ "$(info r6 .packets)" -lt 20000 ] || fail "8 MiB of room took 20 MB"
# What Ceph calls full can be emptied.
head -c 3000000 /dev/zero >"$work/zeros"
rados -p small put zeros "$work/zeros"
is_full()
{
	ceph osd pool ls detail -f json |
		jq -e '.[] | select(.pool_name == "small") |
			.flags_names | test("full")' >/dev/null
}
wait_for 60 is_full
spate rm r6 --yes >/dev/null
same "what ls says" "$(beside ls --json)" ""
spated_stop

# ---- pools that are erasure coded --------------------------------------------------------------

ceph osd erasure-code-profile set two k=2 m=1 crush-failure-domain=osd >/dev/null
ceph_pool coded 8 8 erasure two
refused "is erasure coded" "$SPATE" ls --disks rados://coded/vlbi
refused "allow_ec_overwrites" "$SPATE" ls --disks "rados://spate/coded?data=coded"
ceph osd pool set coded allow_ec_overwrites true >/dev/null
# It takes the OSDs some time to hear of that; spated tries again until then.
disks=("rados://spate/coded?data=coded")
conf_write "$(raw_stream)"
spated_start
wait_for 90 has_state "${disks[0]}" idle
begin r7
send good:0:3000
end r7
spated_stop
ideal "$work/r7" good:0:3000
# The disk itself says where its data is.
disks=("rados://spate/coded")
beside verify r7 >/dev/null
beside export r7 "$work/r7.is" --quiet
cmp "$work/r7.is" "$work/r7"
rados -p coded -N coded ls | grep -q 'r7/r7.0000000' || fail "no chunk is in the coded pool"
rados -p spate -N coded ls | grep -q 'r7/r7.index' || fail "no index is in the other one"
beside rm r7 --yes >"$work/said" 2>&1
same "what rm says" "$(grep -c "is not there" "$work/said" || true)" 0
same "objects in the coded pool" "$(rados -p coded -N coded ls | wc -l)" 0
refused "in another pool" "$SPATE" ls --disks "rados://spate/coded?data=spate"

# ---- and what is wrong --------------------------------------------------------------------------

refused "there is nothing of spate in it yet" "$SPATE" ls --disks rados://spate/typo
same "objects that reading made" "$(rados -p spate -N typo ls)" ""
refused "cannot open the pool" "$SPATE" ls --disks rados://nowhere/vlbi
refused "is none of its options" "$SPATE" ls --disks 'rados://spate/vlbi?x=y'
