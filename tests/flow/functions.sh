# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
#
# What the flow tests share: a private spated over some folders, traffic for
# it, and a look at what it recorded.  A test begins with
#
#	. "${BASH_SOURCE%/*}/functions.sh"
#
# and is run by bash in the build folder (bash ../tests/flow/x.sh) or with
# that in top_builddir.
# It passes when it ends, and fails where a command fails (set -e): write
# what must be as a plain command, or with `same` or `fail`.
#
#   $work                 a folder of this test's own, removed at the end
#   $port                 a UDP port that nobody uses
#   $conf, $socket, $log  configuration, control socket and log of the daemon
#   $SPATE, $SPATED, $SPATE_VSI, $SPATE_WEB
#                         the programs: those of the build, unless set already
#
#   disks_make N          folders $work/disk0 ..., which are then in ${disks[@]}
#   disks_list            prints ${disks[@]} as --disks and -o disks= take them
#   conf_write STREAMS    writes $conf: ${disks[@]}, ${settings[@]} (lines for
#                         the top of the file), and STREAMS, which is a group
#                         for each stream; no empty line between
#   stream_text KEYS      prints one stream `s` on $port for conf_write; KEYS
#                         are added, as 'format = "vdif"; prefix = 8;'
#   spated_start [OPT]    starts spated with $conf, waits until it answers; and
#                         spate-vsi beside it, if $conf has a group `vsi`
#   spated_stop           ends it with SIGTERM; fails unless it ends with 0
#   spated_kill           ends it with SIGKILL
#   spated_alive          is it?
#   vsi_start CONF LOG    starts spate-vsi, waits until it takes commands; its
#                         process is $vsi_daemon
#   vsi_stop              ends the last one with SIGTERM, vsi_kill with SIGKILL
#   spate ARGS            the command, talking to that daemon
#   info NAME KEY         a number or a word of `spate info NAME --json`, as
#                         .packets or .drops.late (a filter of jq)
#   gen ARGS              `spate gen` to $port; what it did is in $work/gen.json
#   gen_did KEY           a number of that, as .lost
#   came NAME N           for wait_for: were N datagrams taken in?
#   all_caused NAME       fails unless each `no_buffer` drop of one that ended has a
#                         cause; $causes is what they are, as "stalled behind"
#   settle NAME N         waits until N datagrams were taken in, or no more come
#   take ARGS             records `gen ARGS` of stream s, whole, as $taken; again
#                         and slower while the kernel had to drop some of it,
#                         or the disks of a busy machine were too slow:
#                         then not all_came
#   take_is_true N BYTES  fails unless the take of N packets of BYTES each is
#                         what `take --dump $work/ideal` says (fill = "zero")
#
#   differ A B SIZE       prints how many packets of SIZE bytes differ (python3)
#
#   test_plugins          lets the daemon load what only tests have, as the write
#                         plugin `slow` (its options are in tests/modules)
#   jq ARGS               the command, or gojq, which is faster.  That writes line by
#                         line: `jq ... | grep -q` ends it with SIGPIPE, and so the test
#   port_find [N]         another $port, with N - 1 free ones behind it
#   nap S                 sleeps so many seconds, without a process
#   wait_for S COMMAND    runs COMMAND until it succeeds, at most S seconds
#   same WHAT A B         fails unless A and B are the same text
#   within WHAT A B C     fails unless A <= B <= C
#   refused TEXT COMMAND  fails unless COMMAND fails with 1 and says TEXT
#   need COMMAND...       skips unless all of these commands are there
#   need_root WHAT        skips unless the test may mount
#   need_python MODULE    skips unless $python (of $SPATE_PYTHON) has it
#   skip WHY, fail WHY    end the test
#   at_end COMMAND        is run when the test ends, the last one first
#
# Anything started in the background, mounted or made elsewhere is given to
# at_end by whoever makes it, just before it is made.

set -Eeuo pipefail
PATH=$PATH:/usr/sbin:/sbin

# Signals that the caller ignores (nohup: SIGHUP; `&` in a script: SIGINT and
# SIGQUIT) would stay ignored in everything that a test starts, and bash cannot
# take that back.  Such a test begins again, with no signal ignored; 32 and 33
# are the C library's own, and do not count.
signals_ignored()
{
	local set

	set=$(awk '/^SigIgn:/ { print $2 }' /proc/self/status)
	printf '%x' $((16#$set & 16#7fffffff))
}

if [ -z "${TEST_SIGNALS:-}" ] && [ "$(signals_ignored)" != 0 ]; then
	env --default-signal true 2>/dev/null || {
		echo "SKIP: env cannot reset the signals that are ignored" >&2
		exit 77
	}
	TEST_SIGNALS=default exec env --default-signal bash "$0" "$@"
fi

top_srcdir=$(cd "${BASH_SOURCE%/*}/../.." && pwd)
top_builddir=$(cd "${top_builddir:-.}" && pwd)
SPATE=${SPATE:-$top_builddir/spate}
SPATED=${SPATED:-$top_builddir/spated}
SPATE_VSI=${SPATE_VSI:-$top_builddir/spate-vsi}
SPATE_WEB=${SPATE_WEB:-$top_builddir/spate-web}

work=$(mktemp -d "${TMPDIR:-/tmp}/spate-test.XXXXXX")
conf=$work/spate.conf
socket=$work/control.sock
log=$work/spated.log
disks=()
settings=('memory = "64M";' 'reserve = "1M";')
spated_pid=
vsi_daemon=
ends=()

# ---- the end ------------------------------------------------------------

at_end()
{
	ends+=("$*")
}

say()
{
	printf '%s\n' "$*" >&2
}

skip()
{
	say "SKIP: $*"
	exit 77
}

fail()
{
	say "FAIL: $*"
	exit 1
}

finish()
{
	local status=$? i

	trap - EXIT ERR
	set +e
	# Ports are the test's own: who else has one is worth knowing.
	if [ $status -ne 0 ] && [ $status -ne 77 ] && type -P ss >/dev/null; then
		say "---- the sockets on ports of tests"
		ss -Hltunp "sport >= :10240 and sport < :30240" >&2
	fi
	for ((i = ${#ends[@]} - 1; i >= 0; i--)); do
		eval "${ends[i]}"
	done
	if [ -n "$spated_pid" ]; then
		kill -KILL "$spated_pid" && wait "$spated_pid"
	fi 2>/dev/null
	if [ $status -ne 0 ] && [ $status -ne 77 ] && [ -s "$log" ]; then
		say "---- the log of spated"
		tail -n 60 "$log" >&2
	fi
	rm -rf "$work"
	exit $status
}

trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
trap 'say "FAIL: line $LINENO: $BASH_COMMAND"' ERR

# ---- what must be -------------------------------------------------------

same()
{
	[ "$2" = "$3" ] || fail "$1: '$2', expected '$3'"
}

within()
{
	[ "$2" -le "$3" ] && [ "$3" -le "$4" ] ||
		fail "$1: $3, expected $2 to $4"
}

refused()
{
	local text=$1 status=0
	shift

	"$@" >"$work/refused" 2>&1 || status=$?
	[ $status -eq 1 ] ||
		fail "'$*' ended with $status: $(cat "$work/refused")"
	grep -qF -- "$text" "$work/refused" ||
		fail "'$*' says '$(cat "$work/refused")', expected '$text'"
}

exec {nap_pipe}<> <(:)

nap()
{
	read -rt "$1" -u "$nap_pipe" || true
}

# A build with sanitizers is some times slower: be generous with S.  Whoever
# waits long asks less often, for the sake of those who work.
wait_for()
{
	local end=$((SECONDS + $1)) ms=20
	shift

	until "$@"; do
		[ $SECONDS -lt $end ] || fail "waited in vain for: $*"
		nap "0.$(printf %03d $ms)"
		ms=$((ms < 100 ? ms * 2 : ms))
	done
}

need()
{
	local command

	for command; do
		type -P "$command" >/dev/null || skip "$command is missing"
	done
}

need_root()
{
	[ "$(id -u)" -eq 0 ] || skip "only root can $1"
	unshare -m true 2>/dev/null || skip "this root cannot $1"
}

need_python()
{
	python=${SPATE_PYTHON:-python3}
	need "$python"
	# Found, not imported: some take most of a second for that.
	"$python" -c "import sys, importlib.util as there
sys.exit(there.find_spec('$1') is None)" 2>/dev/null ||
		skip "$python has no $1 (scripts/test installs it)"
}

# jq 1.6 needs 23 ms of a processor to start, which was a third of all that the
# tests needed; gojq needs 3.
if command -v gojq >/dev/null; then
	jq()
	{
		gojq "$@"
	}
fi

# ---- the daemon ---------------------------------------------------------

ports_free()
{
	local used hex i

	used=$(awk '{ print $2 }' /proc/net/{udp,tcp}{,6} 2>/dev/null)
	for ((i = port; i < port + $1; i++)); do
		hex=$(printf ':%04X' "$i")
		! grep -q "$hex\$" <<<"$used" || return 1
	done
}

# Tests run side by side, and most take their ports long after they looked
# whether those are free.  So each has blocks of 500 ports to itself, as long as
# it or a child of it has their locks open; all are below those that the kernel
# gives to clients.
ports_from=0 ports_to=0

ports_lock()
{
	local folder=${TMPDIR:-/tmp}/spate-ports-$(id -u) n lock

	mkdir -p "$folder"
	for n in $(shuf -i 0-39); do
		exec {lock}>"$folder/$n"
		if flock -n "$lock"; then
			ports_from=$((10240 + n * 500))
			ports_to=$((ports_from + 500))
			return 0
		fi
		exec {lock}>&-
	done
	fail "all ports are taken by other tests"
}

port_find()
{
	local n

	for ((n = 0; n < 10000; n++)); do
		[ $((ports_from + ${1:-1})) -le "$ports_to" ] || ports_lock
		port=$ports_from
		if ports_free "${1:-1}"; then
			ports_from=$((port + ${1:-1}))
			return 0
		fi
		ports_from=$((ports_from + 1))
	done
	fail "no free ports"
}

disks_list()
{
	local IFS=:

	printf '%s' "${disks[*]}"
}

disks_make()
{
	local i

	for ((i = 0; i < $1; i++)); do
		disks+=("$work/disk${#disks[@]}")
		mkdir "${disks[-1]}"
	done
}

conf_write()
{
	local IFS=,
	local quoted=("${disks[@]/#/\"}")

	cat >"$conf" <<-END
		disks = [ ${quoted[*]/%/\"} ];
		control : { socket = "$socket"; };
	END
	printf '%s\n' "${settings[@]}" >>"$conf"
	printf 'streams : {\n%s\n};\n' "$1" >>"$conf"
}

stream_text()
{
	printf '\ts : { listen = [ "127.0.0.1:%s" ]; block = "1M"; %s };' \
		"$port" "$*"
}

test_plugins()
{
	local made=$top_builddir/tests/modules/.libs

	[ -d "$made" ] || skip "$made is not built (make check does)"
	export SPATE_PLUGINS=${SPATE_PLUGINS:-$top_builddir/plugins/.libs}:$made
}

spated_alive()
{
	[ -n "$spated_pid" ] && kill -0 "$spated_pid" 2>/dev/null
}

spated_answers()
{
	spated_alive || fail "spated ended"
	spate status >/dev/null 2>&1
}

spated_start()
{
	"$SPATED" -c "$conf" "$@" >>"$log" 2>&1 &
	spated_pid=$!
	wait_for 60 spated_answers
	[ -n "$vsi_daemon" ] || ! grep -q '^vsi :' "$conf" ||
		vsi_start "$conf" "$log"
}

vsi_listens()
{
	kill -0 "$vsi_daemon" 2>/dev/null || fail "spate-vsi ended"
	[ "$(grep -c 'vsi: takes commands on' "$1")" -gt "$2" ]
}

vsi_start()
{
	local before

	before=$(grep -c 'vsi: takes commands on' "$2" || true)
	"$SPATE_VSI" -c "$1" >>"$2" 2>&1 &
	vsi_daemon=$!
	at_end "kill -KILL $vsi_daemon 2>/dev/null"
	wait_for 60 vsi_listens "$2" "$before"
}

vsi_stop()
{
	local pid=$vsi_daemon status=0

	vsi_daemon=
	kill -TERM "$pid"
	wait "$pid" || status=$?
	same "exit status of spate-vsi" "$status" 0
}

vsi_kill()
{
	kill -KILL "$vsi_daemon"
	wait "$vsi_daemon" 2>/dev/null || true
	vsi_daemon=
}

spated_stop()
{
	local pid=$spated_pid status=0

	[ -z "$vsi_daemon" ] || vsi_stop
	kill -TERM "$pid"
	wait "$pid" || status=$?
	spated_pid=
	same "exit status of spated" "$status" 0
}

spated_kill()
{
	kill -KILL "$spated_pid"
	wait "$spated_pid" 2>/dev/null || true
	spated_pid=
}

spate()
{
	"$SPATE" --socket "$socket" "$@"
}

# ---- recordings ---------------------------------------------------------

info()
{
	spate info "$1" --json | jq -r "$2"
}

gen()
{
	"$SPATE" gen --to "udp://127.0.0.1:$port" --json "$@" >"$work/gen.json"
}

gen_did()
{
	jq -r "$1" "$work/gen.json"
}

came()
{
	[ "$(info "$1" .datagrams)" -ge "$2" ]
}

settle()
{
	local name=$1 n=-1 was still=0

	while [ $still -lt 20 ]; do
		was=$n
		n=$(info "$name" .datagrams)
		[ "$n" -lt "$2" ] || return 0
		still=$((n == was ? still + 1 : 0))
		nap 0.1
	done
}

all_caused()
{
	local from

	for from in "--socket $socket" "--disks $(disks_list)"; do
		same "drops with a cause, $from" "$("$SPATE" info "$1" \
			${from} --json | jq '[.no_buffer_causes[].packets] | add // 0')" \
			"$(info "$1" '.drops.no_buffer // 0')"
	done
	causes=$(info "$1" '[.no_buffer_causes[].cause] | unique | join(" ")')
}

# Where rmem_max is small and the machine busy, a socket overruns: that is no
# fault of spated's, and says nothing about it either.
# On a busy machine the kernel loses some of it, or the disks are too slow.
all_came()
{
	[ "$(info "$taken" .datagrams)" -eq "$(gen_did .sent)" ] &&
		[ "$(info "$taken" .drops.no_buffer)" -eq 0 ]
}

take()
{
	local rate

	for rate in 200 50 10; do
		taken=take$rate
		spate record "$taken" --stream s
		gen --rate ${rate}Mbps "$@"
		settle "$taken" "$(gen_did .sent)"
		spate stop "$taken"
		! all_came || return 0
	done
	fail "kernel or disks lost packets at ${rate}Mbps"
}

# How many packets of SIZE bytes differ, up to the end of the shorter file.
differ()
{
	python3 - "$@" <<-'END'
		import sys
		one, other = (open(path, "rb").read() for path in sys.argv[1:3])
		size, end = int(sys.argv[3]), min(len(one), len(other))
		one, other = one[:end], other[:end]
		print(sum(one[at:at + size] != other[at:at + size]
		          for at in range(0, end, size)))
	END
}

# Packets of $1 bytes that are not as sent; none of them may be half there.
holes()
{
	{ cmp -l "$work/exported" "$work/ideal" || [ $? -eq 1 ]; } |
		awk -v size="$1" '
			{ hole[int(($1 - 1) / size)]; rubbish += $2 != 0 }
			END { print length(hole) "," rubbish + 0 }'
}

take_is_true()
{
	local lost swapped doubled

	read -r lost swapped doubled < <(gen_did '"\(.lost) \(.swapped) \(.duplicated)"')
	[ "$lost" -gt 0 ] || fail "nothing was lost on purpose"
	same "state, packets, lost, reordered, duplicates, drops and runs" \
		"$(info "$taken" '[.state, .packets, .packets_lost,
			.packets_reordered, .drops.duplicate, (.drops | add),
			(.runs | length)] | join(" ")')" \
		"complete $(($1 - lost)) $lost $swapped $doubled $doubled 1"
	spate verify "$taken"
	spate export "$taken" "$work/exported"
	same "packets not as sent, and bytes in them that are not 0" \
		"$(holes "$2")" "$lost,0"
}

[ -x "$SPATE" ] && [ -x "$SPATED" ] || fail "$SPATED is not built"
need jq
port_find
