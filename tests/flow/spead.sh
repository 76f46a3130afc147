# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# What the tests with spead2 share; read behind functions.sh.
#
#   spead_stream N KEYS   prints stream `s` of N ports from $port on
#   spead_take N ARGS     records what spead_send.py ARGS sends to N ports, as
#                         $taken; what was sent is in $work/sent.0, .1 ...
#   spead_export          exports $taken: ${exported[@]}, a file a port
#   spead_is_true [ARGS]  fails unless every file is what was sent

taken=
takes=0

spead_stream()
{
	printf '\ts : { listen = [ "127.0.0.1:%s-%s" ]; format = "spead"; %s };' \
		"$port" "$((port + $1 - 1))" "${*:2}"
}

# Nothing comes any more; what was lost before spated is not its fault, and
# then it is sent again, slower.
spead_still()
{
	local n=-1 was still=0

	while [ $still -lt 10 ]; do
		was=$n
		n=$(info "$taken" .datagrams)
		still=$((n == was ? still + 1 : 0))
		sleep 0.1
	done
}

spead_take()
{
	local ports=$1 rate
	shift

	for rate in 20e6 5e6; do
		taken=take$((++takes))
		spate record "$taken" --stream s
		"$python" "$top_srcdir/tests/flow/spead_send.py" "$work/sent" \
			--port "$port" --ports "$ports" --rate "$rate" "$@" \
			>"$work/heaps"
		spead_still
		spate stop "$taken"
		[ "$(info "$taken" .overruns)" -ne 0 ] || return 0
	done
	fail "packets got lost before spated at $rate bytes per second"
}

spead_export()
{
	rm -rf "$work/exported"
	spate export "$taken" "$work/exported"
	exported=("$work/exported")
	[ ! -d "$work/exported" ] || exported=("$work"/exported/*.spead)
}

spead_is_true()
{
	local i pairs=()

	spead_export
	for i in "${!exported[@]}"; do
		pairs+=("${exported[i]}" "$work/sent.$i")
	done
	"$python" "$top_srcdir/tests/flow/check_spead.py" "${pairs[@]}" "$@" ||
		fail "what was recorded is not as sent (port: fault)"
}
