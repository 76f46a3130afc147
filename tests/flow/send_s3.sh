# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spate send --to s3:// --> spated --> [tcp_proxy.py] --> moto, which compares
#                                                           signatures
#
# Also for scans of the schedule.  What is in the bucket, fetched with boto3, is a recording like the one that was
# sent; what was there is not sent again; and nothing ever says the secret key.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"
need_python moto
need_python boto3
# Older ones compute other signatures than libcurl, curl and S3.
"$python" -c 'import importlib.metadata as m, sys
sys.exit(tuple(map(int, m.version("moto").split(".")[:3])) < (5, 2, 5))' ||
	skip "moto is older than 5.2.5"
[[ $("$SPATED" --options) == *credentials_file* ]] || skip "built without libcurl"

port_find 4
s3_port=$((port + 1))
way_port=$((port + 2))
t_port=$((port + 3))
disks_make 2
folder=$work/schedule.d
mkdir "$folder"
settings+=("schedule = \"$folder\";")
export HOME=$work AWS_EC2_METADATA_DISABLED=true
unset "${!AWS_@}"
bucket=s3://vlbi/st+1/2026
settings+=("send : { s3 : { region = \"eu-central-1\"; part = \"5M\";
	endpoint = \"http://127.0.0.1:$way_port\"; }; };")
stream()
{
	printf '\t%s : { listen = [ "127.0.0.1:%s" ]; block = "%s"; format = "raw";
		prefix = 8; payload = 1024; rate = "80Mbps"; };\n' "$@"
}

# Blocks of s go in two parts; those of t in one, out of the memory that they are
# recorded in.
conf_write "$(stream s "$port" 6M; stream t "$t_port" 4M)"

# s3 VERB ARGS: as the user whose keys spated has
s3()
{
	local verb=$1
	shift
	AWS_ACCESS_KEY_ID=$key AWS_SECRET_ACCESS_KEY=$secret \
		"$python" "$top_srcdir/tests/flow/s3.py" "$verb" "$s3_port" \
		vlbi "$@"
}

keys_write()
{
	mkdir -p "$work/.aws"
	printf '[default]\naws_access_key_id = %s\naws_secret_access_key=%s\n' \
		"$1" "$2" >"$work/.aws/credentials"
}

listens()
{
	grep -qi "$(printf ':%04X 00000000:0000 0A' "$1")" /proc/net/tcp
}

way_open()
{
	"$python" "$top_srcdir/tests/flow/tcp_proxy.py" "$way_port" \
		"$s3_port" 0 0 "$@" &
	way=$!
	at_end "kill $way 2>/dev/null"
	wait_for 20 listens "$way_port"
}

way_close()
{
	kill "$way"
	wait "$way" 2>/dev/null || true
}

# was_put KEY: has an object of that name been put? As the server's log says.
was_put()
{
	grep -q "PUT /vlbi/st+1/2026/$1 " "$work/moto.log"
}

# same_there NAME [AS]: what was sent is the same as what is here
same_there()
{
	local as=${2:-$1}

	rm -rf "$work/got"
	s3 fetch "st+1/2026" "$work/got"
	same "files of $as" "$(cd "$work/got/$as" && echo ./*[a-z])" \
		"./$as.index ./$as.meta.jsonl ./$as.sums"
	same "state" "$(spate info "$as" --disks "$work/got" --json | jq -r .state)" \
		complete
	spate verify "$as" --disks "$work/got" >"$work/verify" ||
		fail "$(cat "$work/verify")"
	spate export "$1" "$work/own.bytes" --quiet --force
	spate export "$as" "$work/got.bytes" --disks "$work/got" --quiet --force
	cmp "$work/own.bytes" "$work/got.bytes"
}

# sent ARGS: sends a, and it is done; $work/sent.json says how
sent()
{
	spate send a --to "$bucket" --wait --json "$@" >"$work/sent.json"
	same "state" "$(jq -r .state "$work/sent.json")" done
	same "sent and there" "$(jq '.bytes + .there' "$work/sent.json")" 20480000
}

"$python" "$top_srcdir/tests/flow/s3.py" serve "$s3_port" \
	>"$work/moto.log" 2>&1 &
moto=$!
at_end "kill $moto 2>/dev/null"
spated_start
record_one a 20000
wait_for 60 listens "$s3_port"
read -r key secret < <("$python" "$top_srcdir/tests/flow/s3.py" make \
	"$s3_port" vlbi) || fail "no keys"
way_open

# ---- no keys, wrong keys, no bucket, a part, a stream ------------------------

refused "neither AWS_ACCESS_KEY_ID" spate send a --to "$bucket" --wait
keys_write "$key" "${secret}x"
refused "SignatureDoesNotMatch" spate send a --to "$bucket" --wait
keys_write "$key" "$secret"
refused "s3://nothing/: HTTP 404 NoSuchBucket" \
	spate send a --to s3://nothing --wait
spate send a --to s3:///x 2>"$work/refused" && fail "s3:///x is no bucket"
grep -q "names no bucket" "$work/refused"
refused "whole recordings go there" spate send a --to "$bucket" --bytes 0..1M

# ---- the daemon is killed, twice; then a chunk there is another one's --------

id=$(spate send a --to "$bucket" --rate 20Mbps --connections 1 --json | jq .id)
wait_for 60 eval '[ "$(sends $id .packets)" -ge 6144 ]'
spated_kill
s3 list | grep -q '^UPLOAD' || s3 begin st+1/2026/a/a.00000003
spated_start
sent
[ "$(jq .there "$work/sent.json")" -ge 6291456 ] ||
	fail "what was there was sent again"
s3 list | grep '^UPLOAD' && fail "an upload was left"
sent
same "sent again" "$(jq .bytes "$work/sent.json")" 0
# The checksums of pieces come from the disks then.
s3 spoil st+1/2026/a/a.sums
sent
same "sent without its sums" "$(jq .bytes "$work/sent.json")" 0
s3 spoil st+1/2026/a/a.00000001
sent
same "sent for the one that was spoilt" "$(jq .bytes "$work/sent.json")" 6291456
same_there a
same "sums" "$(stat -c %s "$work/got/a/a.sums")" \
	"$(cat "$work"/disk?/a/a.sums | wc -c)"

# ---- connections break, and the server is away for a while ---------------------

way_close
way_open cut:0:3000000 cut:1:100 cut:2:4000000 cut:3:0
id=$(spate send a --as c --to "$bucket" --rate 60Mbps --json | jq .id)
wait_for 60 is_moving "$id"
way_close
wait_for 60 has_send "$id" connecting
way_open
wait_for 60 has_send "$id" done
[ "$(sends "$id" .reconnects)" -ge 1 ] || fail "nothing broke"
same_there a c

# ---- while it is made, also while the server takes nothing; a name that is taken ----

spate record b --stream t --send "$bucket" >/dev/null
id=$(spate sends --json | jq .id)
many=$(send_id b --as d --to "$bucket" --follow --connections 16)
port=$t_port
gen "${sent_packets[@]}" --packets 6000 --rate 40Mbps
settle b 6000
wait_for 60 was_put b/b.index
rm -rf "$work/got"
s3 fetch "st+1/2026" "$work/got"
spate ls --disks "$work/got" --json | jq -e 'select(.name == "b")' >/dev/null ||
	fail "what is there of b is no recording"
# It has no end there: recover cannot make one, sending it does.
in_bucket()
{
	AWS_ENDPOINT_URL=http://127.0.0.1:$s3_port AWS_REGION=eu-central-1 \
		"$@" --disks "$bucket"
}
refused "its end is not there; send it again" in_bucket spate check b
refused "its end is not there; send it again" in_bucket spate verify b
! grep -q recover "$work/refused" || fail "$(cat "$work/refused")"
refused "its disk can only be read; send it again" in_bucket spate recover b
gen "${sent_packets[@]}" --packets 2000 --rate 40Mbps
settle b 8000
kill -STOP "$moto"
at_end "kill -CONT $moto 2>/dev/null"
# More than there is memory, which nobody keeps from the recording.
gen "${sent_packets[@]}" --packets 80000 --rate 200Mbps
settle b 88000
same "drops for lack of memory" "$(info b .drops.no_buffer)" 0
kill -CONT "$moto"
spate stop b >/dev/null
wait_for 60 has_send "$id" done
wait_for 60 has_send "$many" done
[ "$(sends "$id" .from_memory)" -gt 0 ] || fail "nothing came from memory"
same_there b
same_there b d
refused "has another recording a" spate send b --as a --to "$bucket" --wait

# ---- read where it is ------------------------------------------------------------------

export AWS_ENDPOINT_URL=http://127.0.0.1:$s3_port AWS_REGION=eu-central-1
same "list" "$(spate ls --disks "$bucket" --json | jq -r '.name + " " + .state' |
	tr '\n' ,)" "a complete,b complete,c complete,d complete,"
chunk_reads()
{
	grep -c 'GET /vlbi/st+1/2026/b/b.00000001 .* 206 ' "$work/moto.log" || true
}
reads=$(chunk_reads)
spate verify b --disks "$bucket" >"$work/verify" || fail "$(cat "$work/verify")"
# Each request takes its time, however short it is: one for the first packet, and
# one for all of the chunk.
same "requests of verify" $(($(chunk_reads) - reads)) 2
spate export b "$work/got.bytes" --disks "$bucket" --quiet --force
cmp "$work/own.bytes" "$work/got.bytes"
grep -q 'GET /vlbi/st+1/2026/b/b.00000001 HTTP/1.1.* 206 ' "$work/moto.log" ||
	fail "it was not read by ranges"
refused "HTTP 404 NoSuchBucket" spate info b --disks s3://nothing
refused "" spate rm b --disks "$bucket"

# ---- a stream, of which an object cannot be made ---------------------------------------

TZ=UTC printf -v start '%(%FT%TZ)T' $((EPOCHSECONDS + 600))
cat >"$work/relay.conf" <<END
scans = ( { name = "r"; action = "relay"; stream = "t"; to = "$bucket";
            start = "$start"; duration = "2s"; } );
END
refused "whole recordings go there, and nothing else" \
	spate schedule check "$work/relay.conf"

# ---- a scan of the schedule, in whose middle the daemon is killed ---------------------

in_scan()
{
	[ "$(spate schedule ls --json | jq -r .state)" = running ]
}

TZ=UTC printf -v start '%(%FT%TZ)T' "$EPOCHSECONDS"
cat >"$folder/e.conf" <<-END
	e : { stream = "t"; start = "$start"; duration = "1h"; send = "$bucket"; };
END
wait_for 30 in_scan
gen "${sent_packets[@]}" --packets 6000 --rate 40Mbps
settle e 6000
wait_for 60 was_put e/e.index
spated_kill
spated_start
wait_for 30 in_scan
gen "${sent_packets[@]}" --packets 2000 --rate 40Mbps
settle e 8000
spate stop e >/dev/null
id=$(spate sends --all --json | jq .id)
wait_for 60 has_send "$id" done
same_there e

# ---- the secret ----------------------------------------------------------------------

{
	spate sends --all --json
	spate sends --all
	spate status --json
	spate info a --json
	cat "$log" "$work/sent.json" "$work/refused"
	cat "$work"/got/*/*.meta.jsonl
} >"$work/said"
grep -q "vlbi" "$work/said"
grep -F -e "$secret" -e "$key" "$work/said" && fail "it said a key"
spated_stop
