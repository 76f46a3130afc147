# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   another namespace: gen --> f0 ==x== n0 --> spated --x--> a small disk
#                                                |
#                               chromium <-- spate-web: which link does not hold?
#
# An interface goes down, a disk freezes, a disk is full, spated is stopped: a page
# that is open names it, and says when it is over.  It names a link within 3 s, by
# the times that spated itself says: this machine may be busy.
[ -n "${SPATE_OWN_NET:-}" ] || {
	own=(unshare -n)
	[ "$(id -u)" -eq 0 ] || own=(unshare -r -n)
	"${own[@]}" true 2>/dev/null || {
		echo "SKIP: no network namespaces for us here" >&2
		exit 77
	}
	SPATE_OWN_NET=1 exec "${own[@]}" bash "$0"
}
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_disks.sh"

[ -x "$SPATE_WEB" ] || skip "spate was built without libmicrohttpd"
need ip nsenter curl python3 chromium chromedriver fsfreeze
need_disks ext4

separate()
{
	[ "$(readlink "/proc/$far/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

unshare -n sleep 600 &
far=$!
at_end "kill $far"
wait_for 10 separate
ip link set lo up
ip link add n0 type veth peer name f0 netns "$far" || skip "no veth pairs here"
ip address add 10.4.0.1/24 dev n0
ip link set n0 up
nsenter -t "$far" -n ip address add 10.4.0.2/24 dev f0
nsenter -t "$far" -n ip link set f0 up

disk_mount a 96M ext4
disks=("$mnt/a")
settings=('memory = "64M";' 'reserve = "1M";' 'durable = "1s";')
port_find 2
web=$port driver=$((port + 1))
conf_write "	s : { listen = [ \"n0@10.4.0.1:46227\" ]; format = \"raw\"; payload = 1024;
	prefix = 8; sequence = \"le64@0\"; block = \"256K\"; };"
printf 'web : { listen = "127.0.0.1:%s"; };\n' "$web" >>"$conf"
spated_start
"$SPATE_WEB" -c "$conf" >"$work/web.log" 2>&1 &
web_pid=$!
at_end "kill -KILL $web_pid 2>/dev/null"
wait_for 60 curl -sfo /dev/null "http://127.0.0.1:$web/"
HOME=$work chromedriver --port="$driver" >"$work/driver.log" 2>&1 &
driver_pid=$!
at_end "kill $driver_pid 2>/dev/null; wait $driver_pid 2>/dev/null"
wait_for 60 curl -sfo /dev/null "http://127.0.0.1:$driver/status"
coproc PAGE { exec python3 "$top_srcdir/tests/flow/web_page.py" "$driver" \
	"http://127.0.0.1:$web/" "$work" true 2>"$work/page.log"; }
page_pid=$PAGE_PID to_page=${PAGE[1]} from_page=${PAGE[0]}
at_end 'kill $page_pid 2>/dev/null; wait $page_pid 2>/dev/null'

page()
{
	local reply

	printf '%s\n' "$*" >&"$to_page"
	read -r reply <&"$from_page" || fail "$(cat "$work/page.log")"
	same "page: $*" "$reply" ok
}

# named LINK WHY: the page says WHY of this link, soon after it went on last
named()
{
	page link r "$1: $2"
	page named r "$1"
	grep "^$1 is named" "$work/page.log" | tail -n 1
}

# flow RATE: packets come until it is stopped
flow()
{
	nsenter -t "$far" -n "$SPATE" gen --to udp://10.4.0.1:46227 \
		--format raw --payload 1024 --prefix 8 --sequence le64@0 \
		--rate "$1" --for 600s --quiet >"$work/gen" 2>&1 &
	gen_pid=$!
	at_end "kill $gen_pid 2>/dev/null"
}

flow 10Mbps
spate record r --stream s --quiet
page link r holds

page watch
ip link set n0 down
named arrive "no packet comes"
ip link set n0 up
page link r holds

at_end "fsfreeze -u '$mnt/a' 2>/dev/null"
page watch
fsfreeze -f "$mnt/a"
named write "blocks wait, but no disk takes one"
fsfreeze -u "$mnt/a"
page link r holds

# Something else fills the disk.
page watch
fallocate -l 80M "$mnt/a/other" 2>/dev/null || true
dd if=/dev/zero of="$mnt/a/more" bs=64K status=none 2>/dev/null || true
named write "blocks wait, but no disk takes one"
rm -f "$mnt/a/other" "$mnt/a/more"
page link r holds

kill -STOP "$spated_pid"
at_end "kill -CONT $spated_pid 2>/dev/null"
page away
kill -CONT "$spated_pid"
page link r holds
kill "$gen_pid"
spate stop r --quiet
exec {to_page}>&-
wait "$page_pid"
spated_stop
