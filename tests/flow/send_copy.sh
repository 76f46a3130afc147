# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh disable=SC2154
#
#	gen --> spated ==> inbox
#
# `spate send` to an inbox makes a copy, also of a recording while it grows;
# what is not all of a recording is refused, and so is a wrong secret.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_copy.sh"
need jq xxd

(umask 077
	echo "a secret that two of them share" >"$work/secret"
	echo "a secret that one of them has" >"$work/other")

disks_make 2
settings+=("secret_file = \"$work/secret\";")
conf_write "$(stream_text 'format = "vdif"; prefix = 8; payload = 1032;')"
spated_start
inbox_make 2 "secret_file = \"$work/secret\";"
inbox_start

take --format vdif --payload 1032 --packets 20000 --loss 0.005
name=$taken

spate send "$name" --to "$inbox_url" --connections 2 --wait --quiet
same "kind" "$(spate sends --all --json | jq -r 'select(.name == "'"$name"'").kind')" copy
same_there "$name"
same_bytes "$name"

# Again: all there, and nobody minds.
spate send "$name" --to "$inbox_url" --wait >"$work/out"
grep -q "all of it was at $inbox_url already" "$work/out" ||
	fail "it was sent again: $(cat "$work/out")"
spate send "$name" --to "$inbox_url" --as twin --wait --quiet
same_there "$name" twin

# A part of it is no copy.
refused "whole recordings" \
	spate send "$name" --to "$inbox_url" --bytes 0..1M --wait --quiet

# While it grows.
spate record grows --stream s --quiet
gen --format vdif --payload 1032 --for 4s --rate 100Mbps >/dev/null &
gen_pid=$!
at_end "kill $gen_pid 2>/dev/null"
sleep 1
spate send grows --to "$inbox_url" --follow --quiet
wait_for 20 sh -c "'$SPATE' --socket '$inbox_socket' status --json | jq -e '.inbox[0].bytes > 1000000' >/dev/null"
wait "$gen_pid"
spate stop grows >/dev/null
wait_for 30 sh -c "'$SPATE' --socket '$inbox_socket' info grows --json | jq -e '.state == \"complete\"' >/dev/null"
same_there grows
same_bytes grows

# Who does not know the secret is told so, and nothing else.
settings=("${settings[@]/secret\"/other\"}")
spated_stop
conf_write "$(stream_text 'format = "vdif"; prefix = 8; payload = 1032;')"
spated_start
refused "secret" spate send "$name" --to "$inbox_url" --wait --quiet
grep -q 'inbox: .* is refused: .* another secret' "$inbox_log" ||
	fail "nothing of that is in the log of the inbox"

# Strangers do not fill its log.
for ((i = 0; i < 200; i++)); do
	exec 3<>"/dev/tcp/127.0.0.1/$inbox_port"
	printf '%0100d' 0 >&3 2>/dev/null || true
	exec 3>&-
done
within "lines of strangers" 1 "$(grep -c 'inbox: .* refused' "$inbox_log")" 50
spated_stop
inbox_stop
