# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
# Every way to write stores the same bytes; and a kernel that forbids io_uring,
# as containers do, costs one line of the log and nothing else.
. "${BASH_SOURCE%/*}/functions.sh"
need python3

# Where this test is in such a container itself, there is nothing to see.
python3 -c '
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(425, 0, None)
sys.exit(ctypes.get_errno() in (1, 38))' || skip "io_uring is forbidden here"

disks_make 2
stream=$(stream_text 'format = "vdif"; prefix = 8; payload = 8032; fill = "zero";
	blocks = 50;')
common=("${settings[@]}")

# ways_record WAY: the log says WAY of both disks, and all is there
ways_record()
{
	rm -rf "$work"/disk?/take* "$work/exported"
	: >"$log"
	spated_start
	take --format vdif --payload 8032 --packets 5000 --loss 0.01 \
		--dump "$work/ideal"
	take_is_true 5000 8032
	spate verify "$taken" >"$work/verified"
	spated_stop
	same "disks written with $1" \
		"$(grep -c "writes with $1" "$log" || true)" 2
}

for way in uring aio direct writev; do
	[ -e "$top_builddir/plugins/.libs/write-$way.so" ] || continue
	settings=("${common[@]}" "writer = \"$way\";")
	conf_write "$stream"
	ways_record "$way"
done

# By default the first, where there is one.
[ -e "$top_builddir/plugins/.libs/write-uring.so" ] || exit 0
settings=("${common[@]}")
conf_write "$stream"
ways_record uring

# io_uring_setup is call 425 everywhere; EPERM is 1.
cat >"$work/forbid" <<'EOF'
#!/usr/bin/env python3
import ctypes, os, struct, sys
code = b"".join(struct.pack("HBBI", *i) for i in (
    (0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001),
    (0x06, 0, 0, 0x7fff0000)))
class Filter(ctypes.Structure):
    _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or \
   libc.prctl(22, 2, ctypes.byref(Filter(4, code))):
    sys.exit(77)
os.execv(os.environ["REAL_SPATED"], sys.argv)
EOF
chmod +x "$work/forbid"
"$work/forbid" 2>/dev/null || [ $? -ne 77 ] ||
	skip "no seccomp filters here"
export REAL_SPATED=$SPATED
SPATED=$work/forbid
ways_record direct
same "lines that say why" "$(grep -c 'io_uring is refused' "$log")" 1
grep -q 'io_uring is refused: Operation not permitted.*seccomp' "$log"
