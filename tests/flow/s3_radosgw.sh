# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   spate send --to s3:// --> spated --> radosgw --> a Ceph, which the test makes
#                                                    (functions_ceph.sh)
#
# What send_s3.sh tests with a server of Python, with one that stations have: it
# compares signatures, but not the CRC32C of what comes; it is killed, stopped and
# started; and what it has been sent is a recording, whose objects are what curl gets.
. "${BASH_SOURCE%/*}/functions.sh"
# shellcheck source=tests/flow/functions_send.sh
. "${BASH_SOURCE%/*}/functions_send.sh"
# shellcheck source=tests/flow/functions_ceph.sh
. "${BASH_SOURCE%/*}/functions_ceph.sh"
python=${SPATE_PYTHON:-python3}
need "$python"
[[ $("$SPATED" --options) == *credentials_file* ]] || skip "built without libcurl"
ceph_rgw
export HOME=$work AWS_EC2_METADATA_DISABLED=true
unset "${!AWS_@}"
export AWS_ENDPOINT_URL=http://127.0.0.1:$rgw_port
bucket=s3://vlbi/st+1/2026

# s3 PATH ARGS: a request of curl, as the user whose keys spated has
s3()
{
	curl -sS -f --aws-sigv4 aws:amz:default:s3 --path-as-is \
		--user "$rgw_key:$rgw_secret" \
		-H "x-amz-content-sha256: UNSIGNED-PAYLOAD" \
		"$AWS_ENDPOINT_URL/$1" "${@:2}"
}

keys_write()
{
	mkdir -p "$work/.aws"
	printf '[default]\naws_access_key_id = %s\naws_secret_access_key=%s\n' \
		"$1" "$2" >"$work/.aws/credentials"
}

# NAME [AS]: what was sent is the same as what is here
same_there()
{
	local as=${2:-$1} chunk

	same "state" "$(spate ls "$as" --disks "$bucket" --json | jq -r .state)" \
		complete
	spate verify "$as" --disks "$bucket" >"$work/said" || fail "$(cat "$work/said")"
	spate check "$as" --disks "$bucket" >"$work/said" || fail "$(cat "$work/said")"
	spate export "$1" "$work/own" --quiet --force
	spate export "$as" "$work/there" --disks "$bucket" --quiet --force
	cmp "$work/own" "$work/there"
	# As others see it: the same chunks, and no upload that nobody ends.
	for chunk in "$work"/disk?/"$1/$1".*[0-9]; do
		[ -e "$chunk" ] || continue # in a pool
		s3 "vlbi/st%2B1/2026/$as/$as.${chunk##*.}" >"$work/chunk"
		cmp "$work/chunk" "$chunk"
	done
	! s3 "vlbi?uploads=" | grep -q '<Upload>' || fail "an upload was left"
}

# sent ARGS: sends a, and it is done; $work/sent.json says how
sent()
{
	spate send a --to "$bucket" --wait --json "$@" >"$work/sent.json"
	same "state" "$(jq -r .state "$work/sent.json")" done
	same "sent and there" "$(jq '.bytes + .there' "$work/sent.json")" 20480000
}

# A block of 6 MiB is an object in two parts.
settings+=('send : { s3 : { part = "5M"; }; };')
disks_make 2
port_find
conf_write "$(stream_text 'format = "raw"; prefix = 8; payload = 1024;
	rate = "80Mbps";' | sed 's/"1M"/"6M"/')"
spated_start
record_one a 20000

# ---- what is wrong --------------------------------------------------------------

keys_write "$rgw_key" "${rgw_secret}x"
refused "SignatureDoesNotMatch; the secret key is wrong" \
	spate send a --to "$bucket" --wait
keys_write NOBODY0123456789ABCD "$rgw_secret"
refused "InvalidAccessKeyId; the server does not know the key" \
	spate send a --to "$bucket" --wait
keys_write "$rgw_key" "$rgw_secret"
refused "s3://vlbi/: HTTP 404 NoSuchBucket" spate send a --to "$bucket" --wait
refused "HTTP 404 NoSuchBucket" spate ls --disks "$bucket"
s3 vlbi -X PUT
ceph_rgw_user other OTHER0123456789ABCDE "$rgw_secret"
keys_write OTHER0123456789ABCDE "$rgw_secret"
refused "AccessDenied; the keys need s3:PutObject" spate send a --to "$bucket" --wait
keys_write "$rgw_key" "$rgw_secret"

# ---- the daemon is killed ---------------------------------------------------------

id=$(spate send a --to "$bucket" --rate 20Mbps --connections 1 --json | jq .id)
wait_for 60 eval '[ "$(sends $id .packets)" -ge 6144 ]'
spated_kill
s3 "vlbi/st%2B1/2026/a/a.00000003?uploads=" -X POST >"$work/said"
spated_start
sent
[ "$(jq .there "$work/sent.json")" -ge 6291456 ] ||
	fail "what was there was sent again"
sent
same "sent again" "$(jq .bytes "$work/sent.json")" 0
# A chunk that another one put there.
truncate -s 6291456 "$work/zeros"
s3 "vlbi/st%2B1/2026/a/a.00000001" -T "$work/zeros"
sent
same "sent for the one that was spoilt" "$(jq .bytes "$work/sent.json")" 6291456
same_there a

# ---- the server is killed, and stopped --------------------------------------------

for how in KILL TERM; do
	id=$(spate send a --as "$how" --to "$bucket" --rate 40Mbps --json | jq .id)
	wait_for 60 is_moving "$id"
	ceph_rgw_stop $how
	wait_for 60 has_send "$id" connecting
	ceph_rgw_start
	wait_for 60 has_send "$id" done
	[ "$(sends "$id" .reconnects)" -ge 1 ] || fail "nothing broke"
	same_there a "$how"
done

# ---- a byte becomes another one on the way, which this server does not see by itself ----

port_find
"$python" "$top_srcdir/tests/flow/tcp_proxy.py" "$port" "$rgw_port" 0 0 \
	spoil:0:2000000 spoil:1:2000000 spoil:2:2000000 &
at_end "kill $! 2>/dev/null"
wait_for 20 curl -s -o "$work/said" "http://127.0.0.1:$port/"
spated_stop
AWS_ENDPOINT_URL=http://127.0.0.1:$port spated_start
sent --as spoilt
[ "$(jq .reconnects "$work/sent.json")" -ge 1 ] || fail "nothing was refused"
same_there a spoilt
spated_stop

# ---- out of a pool of the same Ceph, while it is recorded there ---------------------

[ -e "$top_builddir/plugins/.libs/disk-rados.so" ] || exit 0
disks=(rados://spate/vlbi)
port_find
conf_write "$(stream_text 'format = "raw"; prefix = 8; payload = 1024;
	rate = "80Mbps";' | sed 's/"1M"/"6M"/')"
spated_start
wait_for 30 eval '[ "$(spate disks --json | jq -r .state)" = idle ]'
spate record b --stream s --send "$bucket" >/dev/null
id=$(spate sends --json | jq .id)
gen "${sent_packets[@]}" --packets 20000 --rate 40Mbps
settle b 20000
wait_for 60 is_moving "$id"
same "state" "$(info b .state)" recording
gen "${sent_packets[@]}" --packets 20000 --rate 40Mbps
settle b 40000
spate stop b >/dev/null
wait_for 60 has_send "$id" done
same_there b
spated_stop
