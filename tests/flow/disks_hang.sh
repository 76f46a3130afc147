# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   disk0 takes part     hangs: a file system that answers nobody
#
# A disk that does not answer is not added, and the daemon goes on meanwhile:
# others are added.  When it answers again, it is as well.  One that begins to
# hang when a recording is to go on is waited for no longer than others allow.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_fuse.sh
. "${BASH_SOURCE%/*}/functions_fuse.sh"
need_fuse
hang_disk=$top_builddir/tests/flow/hang_disk
[ -x "$hang_disk" ] || skip "$hang_disk is not built (make check does)"

disks_make 1
mkdir "$work/under" "$work/hangs" "$work/more"
coproc disk { "$hang_disk" "$work/under" "$work/hangs"; }
disk_pid=$disk_PID disk_in=${disk[1]} disk_out=${disk[0]}
at_end 'fuse_umount "$work/hangs"; kill $disk_pid 2>/dev/null'

tell()
{
	local answer

	echo "$*" >&"$disk_in"
	read -r -t 60 -u "$disk_out" answer || fail "no answer to '$*'"
}
read -r -t 60 -u "$disk_out" answer || skip "no disk that hangs can be made"

conf_write "$(stream_text 'format = "raw"; sequence = "le64@0"; prefix = 8;
	payload = 1024;')"
spated_start
at_end 'echo answer >&"$disk_in"' # or spated would not end
tell hang
refused "does not answer" timeout 60 "$SPATE" --socket "$socket" disks add \
	--force "$work/hangs"
timeout 60 "$SPATE" --socket "$socket" status >/dev/null ||
	fail "the daemon waits for the disk"
spate disks add --force "$work/more"
tell answer
is_added()
{
	local said

	said=$(spate disks add --force "$work/hangs" 2>&1 || true)
	[[ $said == *"was added"* ]]
}

goes_on()
{
	timeout 60 "$SPATE" --socket "$socket" record r --stream s --resume
}

bytes_are()
{
	[ "$(info r .bytes)" -ge "$1" ]
}
wait_for 30 is_added
spate record r --stream s --quiet
gen --format raw --sequence le64@0 --payload 1024 --rate 100Mbps \
	--packets 2048 --dump "$work/ideal"
wait_for 30 bytes_are $((2048 * 1024))
spated_kill
spated_start
wait_for 30 is_added
tell hang
refused "one of the disks does not answer" goes_on
timeout 60 "$SPATE" --socket "$socket" status >/dev/null ||
	fail "the daemon waits for the disk"
wait_for 60 goes_on
spate stop r >/dev/null
timeout 60 "$SPATE" --socket "$socket" info r --json >"$work/info" \
	2>"$work/said" || fail "info waits for the disk"
same "state" "$(jq -r .state "$work/info")" complete
grep -q "$work/hangs does not answer, so no disk is read" "$work/said"
tell answer
same "state" "$(info r .state)" complete

# Files of clients, on another disk that hangs and lets nobody close them: those
# that came with half a request, one more than it may have, and one that cannot
# be written to.
mkdir "$work/files"
echo >"$work/under/file"
at_end 'fuse_umount "$work/files"'
client='
import json, os, socket, subprocess, sys, time

disk = subprocess.Popen(sys.argv[1:4], stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, text=True)
assert disk.stdout.readline() == "done\n"

def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(sys.argv[4])
    s.sendall(b"{\"protocol\":1}\n")
    file = s.makefile("r")
    file.readline()
    return s, file

def ask(fds=(), **request):
    s, file = connect()
    text = json.dumps({"id": 1, **request}).encode() + b"\n"
    socket.send_fds(s, [text], fds)
    return json.loads(file.readline())

(half, file), fd = connect(), os.open(sys.argv[3] + "/file", os.O_RDONLY)
socket.send_fds(half, [b"{"], [fd] * 4)
assert ask(do="status")["ok"]
disk.stdin.write("hang closing\n")
disk.stdin.flush()
assert disk.stdout.readline() == "done\n"
socket.send_fds(half, [b"{"], [fd])
assert ask(do="status")["ok"]
half.close()
file.close()
answer = ask(do="send", name="r", to="file:/f", plain=True, fd=True, fds=[fd])
assert answer["ok"], answer
while not ask(do="sends", send=answer["result"]["sends"][0]["id"])[
        "result"]["sends"][0]["ended"]:
    time.sleep(0.05)
for i in range(2):
    assert ask(do="status")["ok"]
disk.stdin.write("answer\n")
disk.stdin.close()
'
timeout 120 python3 -c "$client" "$hang_disk" "$work/under" "$work/files" \
	"$socket" || fail "the daemon waits for the end of a client's file"
spated_stop
