# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   spated --> disk0, disk1, disk2     then, one after the other, in copies:
#
#   a last record that is torn, anywhere; one of zeros
#   two disks that hold the same chunk
#   an index that lies, though its checksums are right
#
. "${BASH_SOURCE%/*}/break.sh"
need prlimit timeout

disks_make 3
conf_write "$(raw_stream)"
spated_start
begin r
send good:0:6000
end r
spated_stop
ideal "$work/ideal" good:0:6000
originals=("${disks[@]}")

# A copy of it, to be damaged.
again()
{
	local disk

	disks=()
	rm -rf "$work/copy"
	mkdir "$work/copy"
	for disk in "${originals[@]}"; do
		disks+=("$work/copy/${disk##*/}")
		cp -a "$disk" "${disks[-1]}"
	done
}

index()
{
	printf '%s/r/r.index' "${disks[$1]}"
}

lie()
{
	python3 "$here/lie.py" "$(index "$1")" "${@:2}"
}

# The disk that has the most blocks of it.
fullest()
{
	local i

	for i in "${!disks[@]}"; do
		echo "$(stat -c %s "$(index "$i")") $i"
	done | sort -n | tail -n 1 | cut -d ' ' -f 2
}

# Of a block that is on disk $1, the number; the $2th.
number_on()
{
	find "${disks[$1]}/r" -name 'r.0*' | sort | sed -n "$2p" |
		sed 's/.*\.0*\([0-9]\)/\1/'
}

ours()
{
	local command=$1
	shift

	"$SPATE" "$command" r "$@" --disks "$(disks_list)"
}

is_whole()
{
	ours verify >"$work/says" || fail "$1: $(cat "$work/says")"
	ours export "$work/exported" --quiet --force
	cmp "$work/exported" "$work/ideal" || fail "$1: not as sent"
}

# Verify names the command that helps, and that needs no name: it finds
# recordings whose end is on other disks alone, too, and does nothing twice.
found_and_mended()
{
	refused "spate recover r " "$SPATE" verify r --disks "$(disks_list)"
	"$SPATE" recover --disks "$(disks_list)" >"$work/says"
	grep -q "^r: " "$work/says" || fail "nothing was done: $(cat "$work/says")"
	same "once more" "$("$SPATE" recover --disks "$(disks_list)")" \
		"none of 1 recordings needs it"
}

# What is before a torn record is believed; recover has the rest.
for cut in 1 63 64 100; do
	again
	truncate -s -$cut "$(index 1)"
	ours export "$work/exported" --quiet --force 2>"$work/said" ||
		grep -q "not all of it is data" "$work/said"
	within "packets that differ with $cut bytes cut off" 0 \
		"$(differ "$work/exported" "$work/ideal" 1024)" \
		$((cut > 64 ? 256 : 0))
	found_and_mended
	is_whole "$cut bytes cut off"
done
for tail in 64 4096; do
	again
	head -c $tail /dev/zero >>"$(index 2)"
	found_and_mended
	is_whole "$tail bytes of zeros behind"
done

# A bit in the midst: what is behind it is not believed either.
again
printf '\377' | dd of="$(index "$(fullest)")" bs=1 seek=$((64 + 20)) conv=notrunc status=none
[ "$(info_disks r | jq '.absent')" -gt 1 ]
found_and_mended
is_whole "a bit in the midst"

# Two disks have it.  Either is used; one that is cut short is not.
again
twin=$(number_on 0 2)
file=$(printf 'r.%08d' "$twin")
cp "${disks[0]}/r/$file" "${disks[1]}/r/"
lie 1 from "$(index 0)" "$twin"
refused "" "$SPATE" verify r --disks "$(disks_list)"
grep -rq "block $twin is also on " "$work/refused" ||
	grep -q "$twin" "$work/refused"
ours export "$work/exported" --quiet --force
cmp "$work/exported" "$work/ideal"
for short in 0 1; do
	kept=$(stat -c %s "${disks[$short]}/r/$file")
	truncate -s 4096 "${disks[$short]}/r/$file"
	ours export "$work/exported" --quiet --force
	cmp "$work/exported" "$work/ideal" || fail "the short twin was used"
	cp "${disks[$((1 - short))]}/r/$file" "${disks[$short]}/r/$file"
	same "length of the twin" "$(stat -c %s "${disks[$short]}/r/$file")" "$kept"
done
ours recover >/dev/null
same "chunks of that number" "$(find "$work/copy" -name "$file" | wc -l)" 1
is_whole "two disks had it"

# Lies that are found, and told.
lies()
{
	again
	lie 0 set "$(number_on 0 2)" "$1" "$2"
	refused "" "$SPATE" verify r --disks "$(disks_list)"
}

lies bytes 4096
lies bytes $((1 << 40))
lies crc 1
lies first 77
again
lie 0 swap "$(number_on 0 2)" "$(number_on 0 3)"
refused "" "$SPATE" verify r --disks "$(disks_list)"

# A hole is not read, however long: that would take an hour for this one.
for sums in with without; do
	again
	number=$(number_on 0 2)
	lie 0 set "$number" bytes $((1 << 40))
	[ $sums = with ] || rm "${disks[@]/%//r/r.sums}"
	truncate -s 1T "$(printf '%s/r/r.%08d' "${disks[0]}" "$number")"
	refused "chunk $number" timeout 300 "$SPATE" verify r \
		--disks "$(disks_list)"
	grep -q damaged "$work/refused" || [ $sums = with ] ||
		fail "nothing is damaged: $(cat "$work/refused")"
done

# Whatever it says, nobody crashes, or wants all memory, or never ends.
limited()
{
	local status=0

	timeout 60 prlimit --as="${limit:-unlimited}" "$SPATE" "$@" --json \
		--disks "$(disks_list)" >"$work/says" 2>&1 || status=$?
	[ $status -le 1 ] ||
		fail "'$*' ended with $status: $(tail -c 1000 "$work/says")"
	# Sanitizers end with 1, as what failed does.
	! grep -a "runtime error:\|Sanitizer:" "$work/says" >&2 ||
		fail "'$*' does what is undefined"
}

limit=$((2 << 30))
! grep -qa __asan_init "$SPATE" || limit=unlimited
! grep -qa __tsan_init "$SPATE" || limit=unlimited
# More than can be right: that file is not read, be it of holes.
for file in meta.jsonl index sums; do
	again
	truncate -s 3G "${disks[1]}/r/r.$file"
	for command in info check verify; do
		limited $command r
	done
	[ $file = meta.jsonl ] || "$SPATE" info r --json \
		--disks "$(disks_list)" >/dev/null
	[ $file = sums ] || refused "${disks[1]}/r/r.$file has 3.0 GiB" \
		"$SPATE" recover r --disks "$(disks_list)"
	refused "more than can be right" \
		"$SPATE" verify r --disks "$(disks_list)"
	same "bytes of $file" "$(stat -c %s "${disks[1]}/r/r.$file")" \
		$((3 << 30))
done
again
truncate -s 3G "${disks[@]/%//r/r.meta.jsonl}"
refused "/r/r.meta.jsonl has 3.0 GiB, more than can be right" "$SPATE" info r \
	--disks "$(disks_list)"

for value in 99999998 4000000; do
	again
	lie 0 set "$(number_on 0 2)" number $value
	for command in info check; do
		limited $command r
	done
	refused "cannot exist, and are ignored" \
		"$SPATE" verify r --disks "$(disks_list)"
done
# Times that are farther apart than 64 bits can tell.
for times in "$((1 << 63)) $((~(1 << 63)))" "$((~(1 << 63))) $((1 << 63))"; do
	again
	read -r from to <<<"$times"
	for disk in 0 1 2; do
		lie $disk all first_ns "$from" last_ns "$to"
	done
	for command in info check verify; do
		limited $command r
	done
	limited ls
	limited ls --sort length
done
for ((seed = 0; seed < 9; seed++)); do
	again
	lie $((seed % 3)) noise $seed
	for command in info check verify; do
		limited $command r
	done
	limited ls
	limited recover r
	limited info r
done

# What anybody may have written into the metadata, called a folder, or answers
# as a daemon is printed, and no terminal does what it says.
evil=$'\e]0;owned\a\u009b31m\x7f'
odd=$'odd\u009b2J'
again
mkdir "${disks[0]}/$odd"
cp "$(find "${disks[0]}/r" -name 'r.0*' | head -n 1)" \
	"${disks[0]}/$odd/$odd.00000000"
python3 - "$evil" "${disks[@]/%//r/r.meta.jsonl}" <<-'END'
	import json, sys
	evil = sys.argv[1]
	for path in sys.argv[2:]:
	    with open(path) as f:
	        lines = [json.loads(line) for line in f]
	    lines[0]["stream"] = "s" + evil
	    lines[0]["software"] = evil
	    lines[0]["disks"] += ["/mnt/" + evil]
	    for line in lines:
	        if "end" in line:
	            line["end"]["reason"] = evil
	    with open(path, "w") as f:
	        for line in lines:
	            f.write(json.dumps(line, ensure_ascii=False) + "\n")
END
obeyed=$'[\\x00-\\x08\\x0b-\\x1f\\x7f]|\\xc2[\\x80-\\x9f]'
tame()
{
	local status=0

	"$SPATE" "$@" >"$work/says" 2>&1 || status=$?
	[ $status -le 1 ] || fail "'$*' ended with $status"
	if LC_ALL=C grep -naP "$obeyed" "$work/says" >"$work/said"; then
		fail "'$*' prints $(cat -v "$work/said")"
	fi
}
for args in "info r" "ls" "check r" "verify r" "recover -n r" "info $odd" \
	"info nothing$odd" "export $odd $work/exported" "protect $evil" "rm $evil" \
	"verify $odd" "record $evil"; do
	read -ra words <<<"$args"
	tame "${words[@]}" --disks "$(disks_list)"
	tame "${words[@]}" --disks "$(disks_list)" --json
done
tame info r --disks "$(disks_list)" --json
same "stream in JSON" "$(jq -r .stream "$work/says")" "s$evil"
same "a name in JSON" "$("$SPATE" ls --json --disks "$(disks_list)" |
	jq -r 'select(.name | startswith("odd")).name')" "$odd"
python3 - "$work/evil.sock" "$evil" <<-'END' &
	import json, socket, sys
	s = socket.socket(socket.AF_UNIX)
	s.bind(sys.argv[1])
	s.listen()
	evil = sys.argv[2]
	while True:
	    f = s.accept()[0].makefile("rw")
	    f.write('{"protocol":1}\n')
	    f.flush()
	    f.readline()
	    for line in f:
	        f.write(json.dumps(
	            {"id": json.loads(line)["id"], "ok": False,
	             "error": {"code": "io", "what": evil, "why": evil + "\n",
	                       "try": evil}}, ensure_ascii=False) + "\n")
	        f.flush()
END
evil_pid=$!
at_end 'kill $evil_pid 2>/dev/null'
wait_for 20 test -S "$work/evil.sock"
for command in status ls streams disks "info x" "record x --stream s" "stop x"; do
	read -ra words <<<"$command"
	tame --socket "$work/evil.sock" "${words[@]}"
	grep -q owned "$work/says" || fail "'$command': $(cat "$work/says")"
done
