# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
#
# What the tests of the schedule's commands share, besides functions.sh.
#
#   $folder               the schedule's folder
#
#   schedule_conf         makes it, and writes $conf: stream s has a rate of
#                         8 Mb/s, t has none; big has 80 Mb/s and 48 MiB
#   schedule_streams      the streams of that
#   scan_text NAME IN LENGTH STREAM [KEYS]
#                         prints a scan that starts in so many seconds
#   scans_conf FILE       makes a list of those on standard input; -: prints it
#   scan NAME KEY         of what `schedule ls --all --json` says, as .why; of
#                         the last one of that name
#   state NAME, next_s NAME
#   scans                 how many `schedule ls` shows
#   ahead                 the names of those that wait, are armed or run
#   have_scans N, has_state NAME STATE, says_wrong TEXT
#                         for wait_for
#   usage COMMAND         for `refused`: it ends with 2, which becomes 1

folder=$work/schedule.d

stream_one()
{
	printf '\t%s : { listen = [ "127.0.0.1:%s" ]; format = "raw"; ' "$1" "$2"
	printf 'prefix = 8; payload = 1024; %s };\n' "$3"
}

schedule_streams()
{
	stream_one s "$port" 'block = "1M"; rate = "8Mbps";'
	stream_one t $((port + 1)) 'block = "1M";'
	stream_one big $((port + 2)) \
		'block = "8M"; blocks = 6; rate = "80Mbps"; sequence = "le64@0";'
}

schedule_conf()
{
	mkdir -p "$folder"
	settings+=("schedule = \"$folder\";")
	port_find 3
	conf_write "$(schedule_streams)"
}

scan_text()
{
	local at

	TZ=UTC printf -v at '%(%FT%TZ)T' $((EPOCHSECONDS + $2))
	printf '{ name = "%s"; streams = [ "%s" ]; start = "%s"; ' "$1" "$4" \
		"$at"
	printf 'duration = "%s"; %s },\n' "$3" "${5:+$5;}"
}

scans_conf()
{
	local list

	list=$(cat)
	if [ "$1" = - ]; then
		printf 'scans = (\n%s\n);\n' "${list%,}"
	else
		printf 'scans = (\n%s\n);\n' "${list%,}" >"$1"
	fi
}

scan()
{
	spate schedule ls --all --json |
		jq -rs "map(select(.name == \"$1\")) | last | $2"
}

state()
{
	scan "$1" .state
}

next_s()
{
	scan "$1" '.next_s | floor'
}

scans()
{
	spate schedule ls --json | wc -l
}

ahead()
{
	spate schedule ls --json |
		jq -r 'select(.state == ("waiting", "armed", "running")).name' |
		xargs
}

have_scans()
{
	[ "$(scans)" -eq "$1" ]
}

has_state()
{
	[ "$(state "$1")" = "$2" ]
}

says_wrong()
{
	spate schedule ls 2>&1 >/dev/null | grep -qF "$1"
}

usage()
{
	local status=0

	"$@" || status=$?
	[ $status -eq 2 ] || fail "'$*' ended with $status"
	return 1
}
