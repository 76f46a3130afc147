# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
#   good packets ----------+
#   wrong sizes -----------+--> spated --> as if there had only been the good
#   somebody else ---------+               ones, and each other one is counted
#   a scan of the ports ---+
#   garbage, duplicates ---+
#
. "${BASH_SOURCE%/*}/break.sh"

disks_make 2
conf_write "$(raw_stream 'allow = [ "127.0.0.1/32" ];')"
spated_start

# Of 1032 bytes each: one too few, one too many, two in one.
odd=(size:3 size:0 size:1 size:8 size:1031 size:1033 size:2064 size:65507)
begin sizes
send "${odd[@]}" good:0:1000
# While a socket is on its way out of trains, nobody can tell one that is too
# long from a train: wait until it is empty.
wait_for 60 came sizes "$sent"
sleep 0.2
send "${odd[@]}" good:1000:1000 "${odd[@]}"
end sizes
ideal "$work/ideal" good:0:2000
same "wrong sizes" "$(drop sizes wrong_size)" 24
same lost "$(info sizes .packets_lost)" 0
exported sizes "$work/ideal"

# Only segmenting senders keep the socket in trains: sizes inside those.
begin trains
gen --format raw --sequence le64@0 --payload 1024 --packets 2000 \
	--rate 100Mbps --dump "$work/first"
sent=$(gen_did .sent)
send "${odd[@]}"
gen --format raw --sequence le64@0 --payload 1000 --packets 500 \
	--rate 100Mbps
sent=$((sent + $(gen_did .sent)))
gen --format raw --sequence le64@0 --payload 1024 --packets 2000 \
	--rate 100Mbps --first 2000 --dump "$work/second" --seed 2
sent=$((sent + $(gen_did .sent)))
end trains
same "wrong sizes in trains" "$(drop trains wrong_size)" 508
cat "$work/first" "$work/second" >"$work/ideal"
exported trains "$work/ideal"

begin foreign
send good:0:500
send --from 127.0.0.2 good:500:700
send good:500:500
end foreign
ideal "$work/ideal" good:0:1000
same foreign "$(drop foreign foreign)" 700
exported foreign "$work/ideal"

# A scan: connections, and the probes of UDP scanners, to ports around ours.
begin scan
send good:0:500
probes=$(python3 - "$port" <<-'END'
	import socket, sys
	port, n = int(sys.argv[1]), 0
	probes = (b"", b"\r\n", b"help", b"\0\0\x10\0" + bytes(8),
		  b"\x80" + bytes(39), b"GET / HTTP/1.0\r\n\r\n", bytes(1472))
	for p in range(port - 20, port + 21):
	    t = socket.socket()
	    t.settimeout(0.2)
	    if t.connect_ex(("127.0.0.1", p)) == 0 and p == port:
	        sys.exit("somebody listens on TCP")
	    t.close()
	    for probe in probes:
	        u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	        u.sendto(probe, ("127.0.0.1", p))
	        u.close()
	        n += p == port
	print(n)
	END
)
sent=$((sent + probes))
send good:500:500
end scan
same probes "$(drop scan wrong_size)" "$probes"
exported scan "$work/ideal"

# Two senders at once, when the run is there: which of them is first is chance.
begin garbage
send good:0:200
wait_for 60 came garbage "$sent"
python3 "$here/break_send.py" "$port" garbage:15000 >"$work/garbage" &
send good:200:9800
wait $!
sent=$((sent + $(cat "$work/garbage")))
end garbage
ideal "$work/ideal" good:0:10000
same runs "$(info garbage '.runs | length')" 1
same garbage "$(drop garbage out_of_window)" 15000
exported garbage "$work/ideal"

# From the first packet on, before any run is there, and at a restart.
begin rubbish
send garbage:200 mixed:0:2000:1 mixed:0:2000:3
end rubbish
ideal "$work/ideal" good:0:2000 good:0:2000
same "runs in rubbish" "$(info rubbish '.runs | length')" 2
same "rubbish" "$(drop rubbish out_of_window)" 8200
exported rubbish "$work/ideal"

begin flood
send times:0:1000:20 good:1000:500 times:1500:500:2
end flood
ideal "$work/ideal" good:0:2000
same duplicates "$(drop flood duplicate)" 19500
exported flood "$work/ideal"
spated_stop
