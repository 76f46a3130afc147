# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --(8 ports)--> spated, two receivers -> disk0, disk1
#   garbage --> port 3, as fast as a sender can       |
#   what was sent to each port  <-- the same? -- export
#
# A flood on one port costs its neighbours no packet, and nothing of it gets
# between those of its own port.
. "${BASH_SOURCE%/*}/functions.sh"
need python3
port_find 8

settings=('memory = "64M";' 'reserve = "1M";' 'receivers = 2;')
disks_make 2
conf_write "$(printf '\ts : { listen = [ "127.0.0.1:%s-%s" ]; %s };' \
	"$port" $((port + 7)) 'prefix = 8; payload = 1024; format = "raw";
	sequence = "le64@0"; block = "256K"; max_gap = "1M";')"
spated_start
cat >"$work/flood.py" <<'END'
import random, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
dice = random.Random(3)
junk = [dice.randbytes(dice.choice((0, 1, 900, 1032, 1032, 1032, 1400)))
        for _ in range(997)]
end = time.monotonic() + float(sys.argv[2])
n = 0
while time.monotonic() < end:
    s.sendto(junk[n % 997], ("127.0.0.1", int(sys.argv[1])))
    n += 1
END

# lost SUB...: packets that these ports lack
lost()
{
	local sub n=0

	for sub; do
		n=$((n + 3000 - $(info "$taken" \
			"[.subs[] | select(.sub == $sub) | .packets] | add")))
	done
	echo $n
}

# A kernel that drops what these sockets cannot hold is not what is tested.
for rate in 100 30 10; do
	taken=flood$rate
	spate record $taken --stream s
	python3 "$work/flood.py" $((port + 3)) 4 &
	flood=$!
	at_end "kill $flood 2>/dev/null"
	"$SPATE" gen --to "udp://127.0.0.1:$port-$((port + 7))" --json \
		--format raw --sequence le64@0 --payload 1024 --packets 3000 \
		--rate ${rate}Mbps --dump "$work/sent" >"$work/gen.json"
	wait $flood
	settle $taken 100000000
	spate stop $taken
	[ "$(lost 0 1 2 4 5 6 7)" -ne 0 ] || break
done
same "packets and drops" "$(info $taken '.packets + (.drops | add)')" \
	"$(info $taken .datagrams)"
for sub in 0 1 2 4 5 6 7; do
	spate export $taken "$work/sub" --sub $sub
	cmp "$work/sub" "$work/sent.$sub" || fail "port $sub is not as sent"
	rm "$work/sub"
done
# Of port 3 itself the kernel may have dropped some, and nothing else came in.
flooded=$(info $taken '.subs[] | select(.sub == 3) | .packets')
within "packets of the flooded port" 1 "$flooded" 3000
spate export $taken "$work/sub" --sub 3
[ "$flooded" -ne 3000 ] || cmp "$work/sub" "$work/sent.3"
