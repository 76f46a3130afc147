# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   gen (threads 0, 3, 5, 7; station Wz) --> spated --> r_ds0, r_ds3, r_ds5
#   gen (thread 0; station Ef) -----------^
#
# One stream of VDIF is one recording for each thread, or station; what is in
# none of them is counted, and stop, info and the name act on all of them.
. "${BASH_SOURCE%/*}/functions.sh"

drops()
{
	info "$1" ".drops.$2"
}

disks_make 2
conf_write "$(stream_text 'format = "vdif"; fps = 4000; split = "thread";
	threads = [ 0, 3, 5 ];')"
spated_start

spate record r --stream s
gen --format vdif --prefix 0 --fps 4000 --threads 0,3,5,7 --rate 100Mbps \
	--packets 8000 --loss 0.01 --dump "$work/ideal"
settle r_ds0 $(($(gen_did .sent) / 2 - 50))
same "three recordings run" "$(spate status --json |
	jq -r '[.recordings[].name] | sort | join(",")')" r_ds0,r_ds3,r_ds5
refused 'is being recorded already' "$SPATE" --socket "$socket" record q \
	--stream s
spate stop r_ds5
same "all have stopped" "$(spate status --json |
	jq '.recordings | length')" 0
refused 'cannot record r_ds0: the name is taken' \
	"$SPATE" --socket "$socket" record r --stream s
same "packets in all" "$(spate info r --json |
	jq -s 'map(.packets + (.drops | add)) | add')" "$(gen_did .sent)"
same "packets of no part, of which the first has the count" \
	"$(spate info r --json | jq -s 'map(.drops.unsplit) | add')" \
	"$(drops r_ds0 unsplit)"
within "packets of no part" 1900 "$(drops r_ds0 unsplit)" 2000
spate info r | grep -q '^r: 3 streams' || fail "no sum"

# Each is the frames of its thread in their order, and nothing else.
for key in 0 3 5; do
	same "state of $key" "$(info r_ds$key .state)" complete
	same "slots of $key" "$(info r_ds$key '.packets + .packets_lost')" 2000
	same "threads of $key" "$(jq -sc '.[0].shape.threads' \
		"${disks[0]}/r_ds$key/r_ds$key.meta.jsonl")" "[$key]"
	spate verify r_ds$key
	spate export r_ds$key "$work/r$key"
done
cat >"$work/split.py" <<-'END'
	import sys
	ideal, parts = open(sys.argv[1], "rb").read(), sys.argv[2:]
	at = {0: [], 3: [], 5: [], 7: []}
	for i in range(0, len(ideal), 8032):
	    frame = ideal[i:i + 8032]
	    at[frame[14] & 0xff | (frame[15] & 3) << 8].append(frame)
	for key, name in zip((0, 3, 5), parts):
	    data = open(name, "rb").read()
	    got = [data[i:i + 8032] for i in range(0, len(data), 8032)]
	    assert len(got) == len(at[key]), (key, len(got), len(at[key]))
	    wrong = [i for i, f in enumerate(got) if f != at[key][i]]
	    for i in wrong:
	        assert got[i][3] & 0x80, (key, i)  # filled: marked invalid
	    print(key, len(got), len(wrong))
	    assert len(wrong) < len(got) / 20
END
python3 "$work/split.py" "$work/ideal" "$work/r0" "$work/r3" "$work/r5"

# The daemon that ends takes all of them along.
spate record t --stream s
gen --format vdif --prefix 0 --fps 4000 --threads 0,3,5 --rate 100Mbps \
	--packets 600
settle t_ds0 200
spated_stop
for key in 0 3 5; do
	same "t_ds$key" "$("$SPATE" info t_ds$key --json --disks \
		"$(disks_list)" | jq -r .state)" complete
done

# Stations; frames per second are learned, for all of them at once, and what
# comes until then is kept.
conf_write "$(stream_text 'format = "vdif"; split = "station";
	blocks = 40; threads = [ 0 ]; stations = [ "Wz", "Ef" ];')"
spated_start
spate record u --stream s
"$SPATE" gen --to "udp://127.0.0.1:$port" --format vdif --prefix 0 --fps 500 \
	--rate 32128000bps --packets 2500 -o station=Ef --json \
	>"$work/gen2.json" &
second=$!
gen --format vdif --prefix 0 --fps 500 --rate 32128000bps --packets 2500 \
	-o station=Wz
wait "$second"
settle u_dsWz 2500
spate stop u
for key in Wz Ef; do
	same "packets of $key" "$(info u_ds$key .packets)" 2500
	same "lost of $key" "$(info u_ds$key .packets_lost)" 0
	same "runs of $key" "$(info u_ds$key '.runs | length')" 1
done
same "learned for both" \
	"$(spate info u --json | jq -s 'map(.drops.unsplit) | add')" 0
spated_stop
