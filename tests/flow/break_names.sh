# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# Orders that cannot be followed: each is refused by a sentence, and what is
# being recorded meanwhile does not notice.
#
. "${BASH_SOURCE%/*}/break.sh"

disks_make 2
first=$(raw_stream)
port_s=$port
port_find
second=$(stream=t raw_stream)
port_t=$port
port_find
third=$(stream=u raw_stream)
port_u=$port
conf_write "$first
$second
$third"
spated_start

record()
{
	spate record "$@"
}

# Wrong usage ends with 2.
misused()
{
	local text=$1 status=0
	shift

	spate record other "$@" >"$work/refused" 2>&1 || status=$?
	same "exit status of record other $*" "$status" 2
	grep -qF -e "$text" "$work/refused" ||
		fail "'record other $*' says '$(cat "$work/refused")'"
}

# ---- names --------------------------------------------------------------

for name in a/b /a ../a .. . a.b .a a/ 'a b' 'ä' '' 1234 -a _a a_dsb \
	"$(printf 'x%.0s' {1..65})" $'a\nb'; do
	refused "cannot record" record --stream s -- "$name"
done
same "what is on the disks" "$(ls -A "${disks[@]}" | grep -v : | xargs)" ""

port=$port_s
begin here
send good:0:300
refused "the name is taken" record here --stream t
refused "recorded already" record other --stream s
refused "there is no stream 'x'" record other --stream x
refused "there is no stream" record other --stream t,x
misused "same stream twice" --stream t,t
misused "--until is over" --stream t --until 2001-01-01T00:00:00Z
misused "for" --stream t --for 0s
misused "--for" --stream t --for 3parsec
misused "not both" --stream t --for 3s --until +3s
misused "" --stream t --for
misused ""
refused "'nobody'" spate stop nobody
send good:300:300
end here
refused "the name is taken" record here --stream t
mkdir "${disks[1]}/old"
refused "it is on ${disks[1]}" record old --stream s
rmdir "${disks[1]}/old"
touch "${disks[0]}/file"
refused "it is on ${disks[0]}" record file --stream s

# A second stop finds nothing, and one beside the first is answered too.
refused "'here'" spate stop here
begin twice
send good:0:300
wait_for 10 came twice 300
spate stop twice >/dev/null 2>"$work/stop1" &
one=$!
spate stop twice >/dev/null 2>"$work/stop2" || grep -qF "'twice'" "$work/stop2"
wait $one || grep -qF "'twice'" "$work/stop1"
same "packets of twice" "$(info twice .packets)" 300
sums twice
ideal "$work/ideal" good:0:600
exported here "$work/ideal"

# A file name that is not UTF-8 is told as well as JSON can.
spate export here "$work"/odd$'\377' --json >"$work/line"
same "bytes of a file of an odd name" "$(jq .bytes "$work/line")" \
	"$(stat -c %s "$work"/odd$'\377')"

# ---- two streams at once, and a port that is taken ------------------------

spate record both --stream s,t --quiet
refused "the name is taken" record both --stream u
refused "recorded already" record both --stream u,s
sent=0
send good:0:500
port=$port_t
send good:0:700
wait_for 10 came both_dss 500
wait_for 10 came both_dst 700
spate stop both_dst >/dev/null
same "packets of both_dss" "$(info both_dss .packets)" 500
same "packets of both_dst" "$(info both_dst .packets)" 700
sums both_dss
sums both_dst
ideal "$work/ideal" good:0:500
exported both_dss "$work/ideal"
ideal "$work/ideal" good:0:700
exported both_dst "$work/ideal"

# All or none: the port of u is taken, so s does not begin either.
at_end 'kill $taker 2>/dev/null'
python3 - "$port_u" >"$work/taken" <<-'END' &
	import socket, sys, time
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.bind(("127.0.0.1", int(sys.argv[1])))
	print("mine", flush=True)
	time.sleep(600)
END
taker=$!
wait_for 10 test -s "$work/taken"
refused "another program or stream has it" record late --stream u
refused "another program or stream has it" record late --stream s,u
same "what is being recorded" \
	"$(spate status --json | jq '.recordings | length')" 0
for disk in "${disks[@]}"; do
	[ ! -e "$disk/late" ] || fail "late left a folder on $disk"
done

# ---- nothing comes ---------------------------------------------------------

spate record nothing --stream s --for 300ms --wait --quiet >/dev/null
for key in .packets .datagrams .packets_lost .bytes '.runs | length'; do
	same "$key of nothing" "$(info nothing "$key")" 0
done
same "state of nothing" "$(info nothing .state)" complete
sums nothing
: >"$work/ideal"
exported nothing "$work/ideal"
spate ls --json | jq -es 'map(.name) | index("nothing")' >/dev/null
spated_stop
same "state of nothing on the disks" "$(info_disks nothing |
	jq -r .state)" complete
