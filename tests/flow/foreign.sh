# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# Recordings of other programs, for the tests that read them.
#
#   make KIND NAME [OPTION]...   makes one on ${disks[@]}; the file that it is
#                                to read as is $work/NAME.ideal
#   reads_as NAME MADE_BY PACKETS LOST
#                                fails unless it exports as that, and is so
#   notes_say NAME TEXT          fails unless `spate info` notes that
#   fill_is_right NAME BYTES     the same where blocks are missing: what is
#                                there is right, and fill has its time

need_python struct

spate()
{
	"$SPATE" --disks "$(disks_list)" "$@"
}

# One process makes all of them.
coproc maker { "$python" "$top_srcdir/tests/flow/foreign_make.py"; }
maker_in=${maker[1]} maker_out=${maker[0]}

make()
{
	local kind=$1 name=$2 answer
	shift 2

	printf '%s\0' "$kind" "$name" "$work/$name.ideal" "${disks[@]}" "$@" '' \
		>&"$maker_in"
	read -r answer <&"$maker_out" || fail "$kind $name was not made"
}

is_so()
{
	same "$1: state" "$(info "$1" .state)" complete
	same "$1: made_by" "$(info "$1" .made_by)" "$2"
	same "$1: packets" "$(info "$1" .packets)" "$3"
	same "$1: packets_lost" "$(info "$1" .packets_lost)" "$4"
}

reads_as()
{
	is_so "$@"
	spate export --quiet --force "$1" "$work/exported"
	cmp "$work/exported" "$work/$1.ideal"
}

notes_say()
{
	local notes

	notes=$(info "$1" '.notes[]')
	[[ $notes == *"$2"* ]] || fail "no note of $1 says '$2': $notes"
}

fill_is_right()
{
	spate export --quiet --force "$1" "$work/exported" 2>/dev/null || true
	"$python" - "$work/exported" "$work/$1.ideal" "$2" <<-END
		import struct, sys
		with open(sys.argv[1], "rb") as file: got = file.read()
		with open(sys.argv[2], "rb") as file: ideal = file.read()
		size = int(sys.argv[3])
		assert len(got) == len(ideal), (len(got), len(ideal))
		filled = 0
		for at in range(0, len(got), size):
		    a, b = got[at:at + size], ideal[at:at + size]
		    if a == b:
		        continue
		    filled += 1
		    head, want = struct.unpack("<4I", a[:16]), struct.unpack("<4I", b[:16])
		    assert head == (want[0] | 1 << 31,) + want[1:], (at, head, want)
		assert filled, "nothing was missing"
	END
}
