# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The inside of service.sh: a station installs the service, and uses it.

set -Eeuo pipefail
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
trap 'echo "FAIL: line $LINENO: $BASH_COMMAND"' ERR
. /srv/share/facts

same()
{
	[ "$2" = "$3" ] || fail "$1: '$2', expected '$3'"
}

fail()
{
	echo "FAIL: $*"
	exit 1
}

wait_for()
{
	local end=$((SECONDS + $1))
	shift

	until "$@"; do
		[ $SECONDS -lt $end ] || fail "waited in vain for: $*"
		sleep 0.05
	done
}

spate()
{
	"$SPATE" "$@"
}

# PROPERTY of the unit
shows()
{
	systemctl show -P "$1" spated
}

# KEY of /proc/PID/status
process()
{
	awk -v key="$1:" '$1 == key { print $2 }' "/proc/$(shows MainPID)/status"
}

logged()
{
	journalctl -q -u spated -o cat | grep -q -- "$1"
}

section()
{
	echo "---- $*"
}

info()
{
	spate info "$1" --json | jq -r "$2"
}

section "install, as docs/04-service.md says"
if [ "$unit" != /usr/local/lib/systemd/system/spated.service ]; then
	cp "$unit" "${unit%/*}/spate-vsi.service" /etc/systemd/system/
fi
mkdir -p /etc/systemd/system/spated.service.d
# What is checked for leaks would have to be traced, which the unit forbids.
printf '[Service]\nWatchdogSec=15s\nEnvironment=ASAN_OPTIONS=detect_leaks=0\n' >/etc/systemd/system/spated.service.d/test.conf
systemd-sysusers "$sysusers"
systemd-tmpfiles --create "$tmpfiles"
# Mounts of a real machine are shared; those of a container need not be.
mount --make-rshared /
for i in 0 1; do
	mkdir "/mnt/disk$i"
	mount -t tmpfs tmpfs "/mnt/disk$i"
	chown spate: "/mnt/disk$i"
done
cat >"$conf" <<-END
	disks = [ "/mnt/disk*" ];
	schedule = "${conf%/*}/schedule.d";
	memory = "64M";
	reserve = "1M";
	receivers = 2;
	vsi : { listen = "127.0.0.1:$((port + 2))"; streams = [ "field" ]; };
	streams :
	{
		s : { listen = [ "127.0.0.1:$port" ]; format = "raw";
		      prefix = 8; payload = 1024; block = "1M"; };
		field : { listen = [ "127.0.0.1:$((port + 3))" ];
			  format = "raw"; prefix = 8; payload = 1024;
			  block = "256K"; };
		rings : { receive = "fanout"; rings = 2; format = "raw";
			  listen = [ "lo@127.0.0.1:$((port + 1))" ];
			  sequence = "le64@0"; prefix = 8; payload = 1024;
			  block = "1M"; };
	};
END
systemctl daemon-reload
same enabled "$(systemctl is-enabled spated || true)" disabled

section "start"
systemctl start spated
same state "$(shows ActiveState)" active
shows StatusText | grep -qE '^0 recordings, .* free on [0-2] of 2 disks$' ||
	fail "status: $(shows StatusText)"

section "who it is"
same user "$(process Uid)" "$(id -u spate)"
same "capabilities: CAP_NET_RAW" "$(process CapEff)" 0000000000002000
same "capabilities that can be had" "$(process CapBnd)" 0000000000002000
same NoNewPrivs "$(process NoNewPrivs)" 1
same Seccomp "$(process Seccomp)" 2
same socket "$(stat -c %U:%G:%a /run/spate/control.sock)" spate:spate:660
same schedule "$(stat -c %U:%G:%a "${conf%/*}/schedule.d")" spate:spate:2775
setpriv --reuid nobody --regid spate --clear-groups "$SPATE" status >/dev/null

section "a system that is read-only but for disks and schedule"
inside()
{
	nsenter -t "$(shows MainPID)" -m -r -w "$@"
}
for at in /usr /etc "${conf%/*}" /srv/share; do
	! inside touch "$at/x" 2>/dev/null || fail "it may write in $at"
done
for at in /mnt/disk0 "${conf%/*}/schedule.d" /var/lib/spate; do
	inside setpriv --reuid spate --regid spate --clear-groups touch "$at/x"
	rm "$at/x"
done

section "record, on a disk that comes meanwhile too"
spate record one --stream s
send_some()
{
	spate gen --to "udp://127.0.0.1:$port" --format raw --prefix 8 \
		--payload 1024 --rate 50Mbps --for 1s --json >>/srv/share/gen.json
}
send_some
mkdir /mnt/disk2
mount -t tmpfs tmpfs /mnt/disk2
chown spate: /mnt/disk2
comes()
{
	spate disks --json | jq -es "[.[] | .. | objects |
		select(.path? == \"/mnt/disk2\" and .state? == \"idle\")] |
		length > 0" >/dev/null
}
wait_for 60 comes
wait_for 60 sh -c 'systemctl show -P StatusText spated |
	grep -q "^1 recording,.* of 3 disks"'
takes_some()
{
	send_some
	[ -e /mnt/disk2/one ]
}
wait_for 60 takes_some
spate disks

section "reload"
systemctl reload spated
same state "$(shows ActiveState):$(shows SubState)" active:running
cp "$conf" "$conf.good"
sed -i 's/payload = 1024/payload = "x"/' "$conf"
! systemctl reload spated 2>/dev/null || fail "it takes what is wrong"
same state "$(shows ActiveState):$(shows SubState)" active:running
logged 'spate.conf:[0-9]*: payload cannot be' || fail "it does not say why"
sed 's/payload = 1024; block = "1M"/payload = 2048; block = "1M"/' \
	"$conf.good" >"$conf"
systemctl reload spated
logged 'stream s is another' || fail "it does not say what changed"
cp "$conf.good" "$conf"
systemctl kill --signal=HUP spated
wait_for 60 sh -c 'journalctl -q -u spated -o cat | grep -c "read again" |
	grep -qx 3'
same state "$(shows ActiveState):$(shows SubState)" active:running

section "a schedule, from a member of the group"
cat >/srv/share/plan.conf <<-END
	scans = ( { name = "planned"; stream = "s";
		    start = "$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)";
		    duration = "1m"; } );
END
setpriv --reuid nobody --regid spate --clear-groups \
	cp /srv/share/plan.conf "${conf%/*}/schedule.d/"
wait_for 60 sh -c 'systemctl show -P StatusText spated |
	grep -q "; next planned at 2"'
sed -i 's/planned/other/' /srv/share/plan.conf
"$SPATE" schedule add --as other.conf /srv/share/plan.conf >/dev/null
same "who wrote it" "$(stat -c %U "${conf%/*}/schedule.d/other.conf")" spate
[ -n "$(ls /var/lib/spate)" ] || fail "no state is kept"

section "packet rings, which take CAP_NET_RAW"
spate record rings --stream rings
spate gen --to "udp://127.0.0.1:$((port + 1))" --format raw --prefix 8 \
	--payload 1024 --rate 20Mbps --for 1s --json >/srv/share/gen3.json
spate stop rings
same "datagrams by rings" "$(info rings .datagrams)" \
	"$(jq .sent /srv/share/gen3.json)"

section "VSI-S, by a process that may nothing else"
vsi()
{
	systemctl show -P "$1" spate-vsi
}
ask()
{
	local reply

	exec 3<>"/dev/tcp/127.0.0.1/$((port + 2))" || return 1
	printf '%s;\n' "$1" >&3
	read -r -t 60 reply <&3
	exec 3>&-
	printf '%s\n' "$reply"
}
same state "$(vsi ActiveState):$(vsi SubState)" active:running
was=$(vsi MainPID)
same user "$(awk '/^Uid:/ { print $2 }' "/proc/$was/status")" "$(id -u spate-vsi)"
same capabilities "$(awk '/^CapBnd:/ { print $2 }' "/proc/$was/status")" \
	0000000000000000
! nsenter -t "$was" -m -r setpriv --reuid spate-vsi --regid spate-vsi \
	--groups spate ls /mnt/disk0 >/dev/null 2>&1 || fail "it sees the disks"
! nsenter -t "$was" -m -r touch /var/lib/x /etc/x 2>/dev/null ||
	fail "it may write"
by_vsi()
{
	setpriv --reuid spate-vsi --regid spate --clear-groups "$SPATE" "$@"
}
by_vsi status >/dev/null
! by_vsi rm one --force >/srv/share/refused 2>&1 || fail "it may remove"
grep -q "spate-vsi has no right to 'rm'" /srv/share/refused ||
	fail "it is told $(cat /srv/share/refused)"
! by_vsi record two --stream s --at "$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)" \
	--for 1m >/srv/share/refused 2>&1 || fail "it may schedule"
grep -q "spate-vsi has no right to 'record'" /srv/share/refused ||
	fail "it is told $(cat /srv/share/refused)"
same reply "$(ask 'record=on:field')" '!record= 0 ;'
kill -KILL "$was"
vsi_anew()
{
	[ "$(vsi MainPID)" -ne "$was" ] && [ "$(vsi MainPID)" -ne 0 ] &&
		(ask 'version?') >/dev/null 2>&1
}
wait_for 60 vsi_anew
same "what goes on" "$(ask 'record?' | cut -d: -f1-4)" \
	'!record? 0 : on : 1 : field '
same reply "$(ask 'record=off')" '!record= 1 ;'
journalctl -q -u spate-vsi -o cat | grep -q 'goes on with the recording field' ||
	fail "its log does not say so"

section "stop while it records: all of it is flushed"
systemctl stop spated
same result "$(shows Result)" success
same status "$(shows ExecMainStatus)" 0
# On paper: what the daemon does not know any more.
d=/mnt/disk0:/mnt/disk1:/mnt/disk2
same state "$(spate --disks $d info one --json | jq -r .state)" complete
same "packets of all that were sent" \
	"$(spate --disks $d info one --json | jq .packets)" \
	"$(jq -s 'map(.sent) | add' /srv/share/gen.json)"
spate --disks $d verify one
[ ! -e /run/spate ] || fail "its folder in /run is left"

section "the journal"
logged 'SIG\|Terminated: stopping what is being recorded' ||
	fail "it does not say that it stops"
journalctl -q -u spated _COMM=spated -o json >/srv/share/lines.json
same "priorities" "$(jq -r .PRIORITY /srv/share/lines.json | sort -u |
	grep -vx '[3467]' || true)" ""
same "lines with a time or a priority in their text" \
	"$(jq -r .MESSAGE /srv/share/lines.json |
		grep -cE '^<[0-9]>|^[0-9]{4}-[0-9]{2}' || true)" 0
if [ -e "${program%/sbin/spated}/lib/spate/plugins/write-uring.so" ] &&
	[ "$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null || echo 0)" = 0 ]; then
	logged 'writes with uring' || fail "its filter forbids io_uring"
fi

section "one that hangs is killed, and started again"
sed -i '1i control : { group = "spate-vsi"; };' "$conf"
systemctl start spated
same "socket for the group that is named" \
	"$(stat -c %G:%a /run/spate/control.sock)" spate:600
sed -i 1s/spate-vsi/spate/ "$conf"
systemctl restart spated
same socket "$(stat -c %G:%a /run/spate/control.sock)" spate:660
was=$(shows MainPID)
kill -STOP "$was"
anew()
{
	[ "$(shows MainPID)" -ne "$was" ] && [ "$(shows MainPID)" -ne 0 ] &&
		[ "$(shows ActiveState)" = active ]
}
wait_for 120 anew
same restarts "$(shows NRestarts)" 1
spate status >/dev/null

section "one that is killed is started again"
was=$(shows MainPID)
kill -KILL "$was"
wait_for 60 anew

section "a configuration that is wrong"
systemctl stop spated
sed -i 's/payload = 1024/payload = "x"/' "$conf"
! systemctl start spated 2>/dev/null || fail "it starts"
logged 'spate.conf:[0-9]*:' || fail "it does not say what is wrong"
systemctl stop spated

touch /srv/share/good
echo good
