# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154,SC2034
#
# What tests of copies share, behind functions.sh: a second daemon, whose inbox
# takes them.
#
#   inbox_make N [GROUP]  writes its configuration: N disks $work/in0 ...; GROUP
#                         is what the group `inbox` has beside `listen`
#   inbox_start           starts it, and waits until it answers
#   inbox_stop            ends it with SIGTERM, inbox_kill with SIGKILL
#   there ARGS            the command, talking to it
#   copy ARGS NAME        copy_send of NAME, recorded here, to it; its last
#                         line is in $work/copy.json
#   copy_did KEY          what that says, as .state
#   same_there NAME [AS]  fails unless it is complete there, verified, with the
#                         same index, and the same bytes

port_find 2
inbox_port=$((port + 1))
inbox_conf=$work/inbox.conf
inbox_socket=$work/inbox.sock
inbox_log=$work/inbox.log
inbox_url=tcp://127.0.0.1:$inbox_port
inbox_listen="\"127.0.0.1:$inbox_port\""
inbox_pid=
inbox_disks=()
inbox_settings=('memory = "64M";' 'reserve = "1M";')

inbox_end()
{
	[ -z "$inbox_pid" ] || kill -KILL "$inbox_pid" || true
	if [ -s "$inbox_log" ]; then
		echo "---- the log of the inbox" >&2
		tail -n 40 "$inbox_log" >&2
	fi
}
at_end '[ $status -eq 0 ] || inbox_end; [ -z "$inbox_pid" ] || kill -KILL "$inbox_pid" || true'

inbox_make()
{
	local i list=

	inbox_disks=()
	for ((i = 0; i < $1; i++)); do
		mkdir -p "$work/in$i"
		inbox_disks+=("$work/in$i")
		list+="${list:+, }\"$work/in$i\""
	done
	{
		echo "disks = [ $list ];"
		printf '%s\n' "${inbox_settings[@]}"
		echo 'durable = "100ms";' # a copy waits for that at its end
		echo "control : { socket = \"$inbox_socket\"; };"
		echo "inbox : { listen = [ $inbox_listen ]; ${2:-} };"
		echo 'streams : { none : { receive = "udp";' \
			"listen = [ \"127.0.0.1:$inbox_port\" ];" \
			'format = "raw"; payload = 1024; block = "1M"; }; };'
	} >"$inbox_conf"
}

inbox_answers()
{
	there status >/dev/null 2>&1
}

inbox_start()
{
	"$SPATED" -c "$inbox_conf" >>"$inbox_log" 2>&1 &
	inbox_pid=$!
	wait_for 30 inbox_answers
	! grep -q '^vsi :' "$inbox_conf" || vsi_start "$inbox_conf" "$inbox_log"
}

inbox_stop()
{
	local pid=$inbox_pid

	inbox_pid=
	kill -TERM "$pid"
	wait "$pid"
}

inbox_kill()
{
	local pid=$inbox_pid

	inbox_pid=
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null || true
}

there()
{
	"$SPATE" --socket "$inbox_socket" "$@"
}

copy()
{
	local name=${*: -1} status=0

	"$top_builddir/tests/flow/copy_send" "${@:1:$#-1}" "$name" \
		"${copy_url:-$inbox_url}" "${disks[@]}" \
		>"$work/copy.json" 2>"$work/copy.err" || status=$?
	[ $status -eq 0 ] || cat "$work/copy.json" >&2
	return $status
}

copy_did()
{
	tail -n 1 "$work/copy.json" | jq -r "$1"
}

# Records of all disks, by number; 64 bytes each.
records_of()
{
	local name=$1 dir

	shift
	for dir in "$@"; do
		[ ! -e "$dir/$name/$name.index" ] || cat "$dir/$name/$name.index"
		[ ! -e "$dir/$name.spate/$name.index" ] ||
			cat "$dir/$name.spate/$name.index"
	done | xxd -p -c 64 | sort -u
}

same_there()
{
	local name=$1 as=${2:-$1} sub=0 subs

	same "state of the copy" \
		"$(there info "$as" --json | jq -r .state)" complete
	there verify "$as" >"$work/verify.out" 2>&1 || {
		cat "$work/verify.out" >&2
		fail "the copy of $name does not verify"
	}
	same "records of the copy" \
		"$(records_of "$as" "${inbox_disks[@]}")" \
		"$(records_of "$name" "${disks[@]}")"
	# Runs of several substreams come in the order in which disks tell them.
	for key in .bytes .packets .packets_lost .stream .format \
		'(.runs | sort_by(.sub, .run))'; do
		same "$key of the copy" \
			"$(there info "$as" --json | jq -c "$key")" \
			"$(spate info "$name" --json | jq -c "$key")"
	done
}

same_bytes()
{
	local name=$1 as=${2:-$1}

	rm -rf "$work/here.out" "$work/there.out"
	spate export "$name" "$work/here.out" "${@:3}" >/dev/null
	there export "$as" "$work/there.out" "${@:3}" >/dev/null
	cmp "$work/here.out" "$work/there.out"
}
