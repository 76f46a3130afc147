# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen --> stream s --> a --> spate send --> stream t, u --> b
#                                        \--> plain bytes: stream p, socat, nc
#
# What is recorded at the other end is what was sent, to the byte, over one
# connection or several; what was missing is missing there; what was sent
# before is not recorded twice; and nobody sends who does not know the secret.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"

sent_packets+=(--sequence le64@0)

echo 'a secret that two machines share' >"$work/secret"
echo 'a secret that is not the same one' >"$work/other"
chmod 600 "$work/secret" "$work/other"

disks_make 2
port_find 5
first=$port
sink_port=$((first + 2))
raw='format = "raw"; payload = 1024;'
streams()
{
	stream_text "$raw prefix = 8; sequence = \"le64@0\"; rate = \"80Mbps\";"
	cat <<-END

		t : { receive = "tcp"; frames = "spt1"; connections = 4; $raw block = "1M";
		      listen = [ "127.0.0.1:$((first + 1))" ]; };
		u : { receive = "tcp"; frames = "spt1"; connections = 2; $raw block = "1M";
		      secret_file = "$work/secret";
		      listen = [ "127.0.0.1:$((first + 3))" ]; };
		p : { receive = "tcp"; $raw block = "1M"; sequence = "arrival";
		      listen = [ "127.0.0.1:$((first + 4))" ]; };
	END
}
conf_write "$(streams)"
t="tcp://127.0.0.1:$((first + 1))"
u="tcp://127.0.0.1:$((first + 3))"
p="tcp://127.0.0.1:$((first + 4))"
spated_start

# like A B: b is what a is
like()
{
	spate verify "$2" >/dev/null
	same "packets of $2" "$(info "$2" .packets)" "$(info "$1" .packets)"
	same "lost of $2" "$(info "$2" .packets_lost)" \
		"$(info "$1" .packets_lost)"
	same "drops of $2" "$(info "$2" '.drops | add')" 0
	same "runs of $2" "$(info "$2" '.runs | length')" \
		"$(info "$1" '.runs | length')"
	for n in "$1" "$2"; do
		spate export "$n" "$work/$n.bytes" --quiet --force
	done
	cmp "$work/$1.bytes" "$work/$2.bytes"
	rm "$work/$2.bytes"
}

# ---- the same at the other end ------------------------------------------

record_one a 20000
for n in 1 4; do
	spate record "b$n" --stream t >/dev/null
	spate send a --to "$t" --connections $n --wait >"$work/out"
	spate stop "b$n" >/dev/null
	like a "b$n"
done
grep -q 'b4: .* is connected, 4 of 4' "$log"

# As many as it takes, where nobody says how many; and what is missing.
spate record some --stream s >/dev/null
gen "${sent_packets[@]}" --packets 20000 --rate 100Mbps --loss 0.01 \
	--reorder 0.01
settle some "$(gen_did .sent)"
spate stop some >/dev/null
[ "$(info some .packets_lost)" -gt 50 ] || fail "nothing was lost"
spate record bsome --stream t >/dev/null
spate send some --to "$t" --wait >"$work/out"
spate stop bsome >/dev/null
like some bsome

# Sent again while the other one is still recorded: nothing comes twice.
spate record twice --stream t >/dev/null
for n in 1 2 3; do
	spate send a --to "$t" --wait >"$work/out"
done
grep -q "^a: all of it was at $t already" "$work/out" || fail "$(cat "$work/out")"
spate stop twice >/dev/null
like a twice

# Stopped in the middle, and begun again, it goes on.
spate record parts --stream t >/dev/null
id=$(send_id a --to "$t" --rate 40Mbps)
wait_for 20 is_moving "$id"
spate stop "$id" >/dev/null
before=$(sends "$id" .packets)
[ "$before" -lt 20000 ] || fail "it was not stopped in the middle"
spate send a --to "$t" --wait --json >"$work/out"
# What went is told, and what had gone before.
[ "$(jq .there "$work/out")" -gt 0 ] || fail "$(cat "$work/out")"
same "sent, and there" "$(jq '.bytes + .there' "$work/out")" \
	"$(jq .total "$work/out")"
same "bytes of packets" "$(jq .bytes "$work/out")" \
	"$(jq '.packets * 1024' "$work/out")"
spate stop parts >/dev/null
like a parts

# A live one.
spate record blive --stream t >/dev/null
spate record live --stream s --send "$t" >/dev/null
id=$(spate sends --json | jq .id)
gen "${sent_packets[@]}" --packets 20000 --rate 100Mbps
settle live 20000
spate stop live >/dev/null
recorded_whole live
wait_for 60 has_send "$id" done
spate stop blive >/dev/null
like live blive

# ---- who does not know the secret ----------------------------------------

spate record known --stream u >/dev/null
refused "there is no secret here" spate send a --to "$u" --wait
spated_stop
settings+=("secret_file = \"$work/other\";")
conf_write "$(streams)"
spated_start
spate record proved --stream u >/dev/null
refused "it does not know the secret" spate send a --to "$u" --wait
same "packets of strangers" "$(info proved .packets)" 0
# Both ends have to know it: to one that asks for none nothing is sent.
spate record open --stream t >/dev/null
refused "no proof that it knows the secret" spate send a --to "$t" --wait
same "packets for a stranger" "$(info open .packets)" 0
cp "$work/secret" "$work/other"
spate reload >/dev/null
spate send a --to "$u" --wait >"$work/out"
spate stop proved >/dev/null
spate stop open >/dev/null
like a proved

# ---- plain bytes ----------------------------------------------------------

spate record plain --stream p >/dev/null
spate send a --to "$p" --plain --wait >"$work/out"
spate stop plain >/dev/null
like a plain

listens()
{
	grep -qi "$(printf ':%04X 00000000:0000 0A' "$sink_port")" \
		/proc/net/tcp /proc/net/tcp6
}

# taken COMMAND: takes bytes on $sink_port, and ends; they are those of a
taken()
{
	command -v "$1" >/dev/null || return 0
	"$@" >"$work/taken" &
	sink=$!
	at_end "kill $sink 2>/dev/null"
	wait_for 20 listens
	spate send a --to "tcp://127.0.0.1:$sink_port" --plain --wait \
		>"$work/out"
	wait $sink
	cmp "$work/taken" "$work/a.bytes"
}
taken socat -u "TCP-LISTEN:$sink_port,reuseaddr" -
taken nc -l 127.0.0.1 "$sink_port"

# To an etransfer server.
mkdir "$work/etd"
python3 "$top_srcdir/tests/flow/etd_server.py" "$work/etd" >"$work/ports" &
sink=$!
at_end "kill $sink 2>/dev/null"
wait_for 20 test -s "$work/ports"
read -r etd _ <"$work/ports"
spate send a --to "etd://127.0.0.1:$etd/" --wait >"$work/out"
cmp "$work/etd/a" "$work/a.bytes"
refused "File exists" spate send a --to "etd://127.0.0.1:$etd/" --wait
spated_stop

# The end of a file that is there: that is sent, and is all that is told to
# have been.
settings+=('send : { etd : { mode = "resume"; }; };')
conf_write "$(streams)"
spated_start
total=$(stat -c %s "$work/a.bytes")
for rest in 1763 0; do
	truncate -s $((total - rest)) "$work/etd/a"
	spate send a --to "etd://127.0.0.1:$etd/" --wait --json >"$work/out"
	cmp "$work/etd/a" "$work/a.bytes"
	same "bytes sent" "$(jq .bytes "$work/out")" $rest
	same "bytes there" "$(jq .there "$work/out")" $((total - rest))
done
truncate -s $((total - 1763)) "$work/etd/a"
spate send a --to "etd://127.0.0.1:$etd/" --wait >"$work/out"
grep -q "^a: 1.7 KiB sent to .*; .* MiB were there already" "$work/out" ||
	fail "$(cat "$work/out")"
spated_stop
