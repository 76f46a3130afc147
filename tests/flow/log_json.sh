# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# The log as objects: each line is one, and says about what; also those of
# spate-vsi and spate-web.
. "${BASH_SOURCE%/*}/functions.sh"

port_find 3
disks_make 1
conf_write "$(stream_text 'format = "raw"; payload = 1024; sequence = "le64@0";')"
spated_start --log-json
spate record 'r"1' --stream s --quiet && fail "it takes such a name"
spate record r1 --stream s --quiet
spate stop r1 --quiet

# objects WHAT GROUP PROGRAM: begins PROGRAM with that group, until it said so
objects()
{
	local pid

	printf '%s\n%s\n' "$(cat "$conf")" "$2" >"$work/$1.conf"
	"$3" -c "$work/$1.conf" --log-json 2>"$work/$1.log" &
	pid=$!
	at_end "kill -KILL $pid 2>/dev/null"
	wait_for 60 grep -q "127.0.0.1" "$work/$1.log"
	kill -TERM $pid
	wait $pid
	same "lines of $1" "$(jq -c "select(.time and .level == \"info\" and .text
		and .subject == \"$1\")" "$work/$1.log" | wc -l)" \
		"$(wc -l <"$work/$1.log")"
}

objects vsi "vsi : { listen = [ \"127.0.0.1:$((port + 1))\" ]; streams = [ \"s\" ]; };" \
	"$SPATE_VSI"
[ ! -x "$SPATE_WEB" ] ||
	objects web "web : { listen = [ \"127.0.0.1:$((port + 2))\" ]; };" "$SPATE_WEB"

spated_stop
lines=$(wc -l <"$log")
within "lines" 4 "$lines" 100
same "objects" "$(jq -c 'select(.time and .level and .text and
	has("subject"))' "$log" | wc -l)" "$lines"
same "what is said of r1" "$(jq -r 'select(.subject == "r1") | .level' "$log" |
	sort -u)" info
