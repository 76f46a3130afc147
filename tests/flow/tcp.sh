# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
#
# What the tcp_*.sh tests share, on top of functions.sh.
#
#   tcp_stream KEYS       prints a stream `t` that listens on $port for TCP
#   ideal FILE N [ARGS]   the payloads of N packets of `spate gen`
#   came NAME N           have N packets come?
#   logged N TEXT         fails unless N lines of the log have TEXT
#   said TEXT             does one?

# shellcheck source=tests/flow/functions.sh
. "${BASH_SOURCE%/*}/functions.sh"
need python3

here=$top_srcdir/tests/flow

tcp_stream()
{
	local listen="\"127.0.0.1:$port\""

	[[ $* == *"listen ="* ]] || listen="listen = [ $listen ];"
	[[ $* != *"listen ="* ]] || listen=
	printf '\t%s : { receive = "tcp"; %s block = "1M"; %s };' \
		"${stream:-t}" "$listen" "$*"
}

# Sent to where nobody listens: only the dump is wanted.
ideal()
{
	local file=$1 n=$2
	shift 2

	"$SPATE" gen --to "udp://127.0.0.1:$port" --packets "$n" --prefix 0 \
		--rate max --dump "$file" "$@" >/dev/null 2>&1
}

came()
{
	[ "$(info "$1" .packets)" -ge "$2" ]
}

said()
{
	grep -qF -- "$1" "$log"
}

logged()
{
	same "lines with '$2' in the log" "$(grep -cF -- "$2" "$log")" "$1"
}
