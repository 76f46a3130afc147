# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   10 000 recordings on a disk: what is done for one more, or to list them,
#   does not grow with them; and who reads no answer holds nobody up
#
. "${BASH_SOURCE%/*}/functions.sh"

many=10000
[ -x "$top_builddir/tests/flow/many" ] || fail "tests/flow/many is not built"
[ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] ||
	skip "there is no /dev/shm to keep $many recordings in"
disk=$(mktemp -d /dev/shm/spate-test.XXXXXX)
at_end 'rm -rf "$disk"'
disks=("$disk")
conf_write "$(stream_text 'format = "raw"; prefix = 8; payload = 1024;')"

catalogue()
{
	spate status --json | jq -r ".catalogue.$1"
}

all_read()
{
	[ "$(catalogue recordings)" -ge "$1" ] && [ "$(catalogue unread)" = 0 ]
}

spated_start
spate record first --stream s
gen --format raw --prefix 8 --payload 1024 --packets 100 --rate 50Mbps
settle first 100
spate stop first >/dev/null
spated_stop
"$top_builddir/tests/flow/many" "$disk/first" "$disk" $many

# At once, whatever is read meanwhile; and nothing but it has to be.
spated_start
spate record early --stream s
spate stop early >/dev/null
same "as a new one" "$(info early .state)" complete
wait_for 120 all_read $((many + 2))
same recordings "$(catalogue recordings)" $((many + 2))
read_before=$(catalogue read)
within "read, each once and the new one again" $((many + 1)) \
	"$read_before" $((many + 9))
same "read whole" "$(catalogue whole)" 0
spate record late --stream s
spate stop late >/dev/null
more_read()
{
	[ "$(catalogue read)" -gt "$read_before" ]
}
wait_for 60 more_read
within "read for one more" 1 $(($(catalogue read) - read_before)) 5

# All of them, in pages.
same listed "$(spate ls --json | wc -l)" $((many + 3))
same "each once" "$(spate ls --json | jq -r .name | sort -u | wc -l)" \
	$((many + 3))
same "of a pattern" "$(spate ls --json 'scan0123*' | wc -l)" 10
refused "the name is taken" spate record scan04711 --stream s

if command -v python3 >/dev/null; then
	python3 - "$socket" >"$work/greedy" <<-'END' &
		import socket, sys, time
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		s.sendall(b'{"protocol":1}\n' + b'{"id":1,"do":"ls"}\n' * 500)
		print("asked", flush=True)
		time.sleep(600)
	END
	greedy=$!
	at_end 'kill $greedy 2>/dev/null'
	wait_for 60 grep -q asked "$work/greedy"
	same "beside one who does not read" \
		"$(spate ls --json | wc -l)" $((many + 3))
	spate record beside --stream s
	spate stop beside >/dev/null
	kill $greedy
fi
spated_stop
