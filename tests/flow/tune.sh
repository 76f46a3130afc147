# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   scripts/tune in a network name space of its own, with a pair of veth
#
# It changes nothing without --set, then only what it says, and believes no
# tool that is not there.
. "${BASH_SOURCE%/*}/functions.sh"
need ip
need unshare
tune=$top_srcdir/scripts/tune

if [ -z "${TUNE_INSIDE-}" ]; then
	unshare -rnm mount -t sysfs sysfs /sys 2>/dev/null ||
		skip "no name spaces for this user"
	rm -rf "$work"
	exec env TUNE_INSIDE=1 unshare -rnm bash "$0"
fi
mount -t sysfs sysfs /sys

# An ethtool that remembers what it was told.
mkdir "$work/bin"
cat >"$work/bin/ethtool" <<'EOF'
#!/bin/bash
echo "$*" >>"$0.told"
ring=512
adaptive=on
! grep -q -e '-G' "$0.told" || ring=4096
! grep -q -e '-C' "$0.told" || adaptive=off
case $1 in
-g) printf 'Pre-set maximums:\nRX:\t\t4096\nCurrent hardware settings:\nRX:\t\t%s\n' $ring ;;
-c) printf 'Adaptive RX: %s  TX: off\nrx-usecs: 50\n' $adaptive ;;
-a) printf 'RX:\t\toff\nTX:\t\toff\n' ;;
esac
EOF
chmod +x "$work/bin/ethtool"
PATH=$work/bin:$PATH

ip link add near0 type veth peer name far0
ip address add 10.77.1.1/24 dev near0
ip link set near0 up
ip link set far0 up
filter=/proc/sys/net/ipv4/conf/near0/rp_filter
echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
echo 1 >$filter
cat >"$work/tune.conf" <<'EOF'
# memory = "1G";
memory = "1000T";
share = true;
streams : {
	a : { listen = [ "near0@[::]:1000-1431", # "nosuch@[::]:1"
	                 "10.77.1.1:2000" ]; // "nosuch@0.0.0.0:1"
	      // of an odd kind
	      prefix = 8; payload = 8032; socket_buffer = "32K"; };
};
EOF

# mark SETTING: the mark of its line
mark()
{
	grep "$1 " "$work/says" | cut -d' ' -f1
}

tunes()
{
	local status=0

	"$tune" --conf "$work/tune.conf" "$@" >"$work/says" 2>"$work/why" ||
		status=$?
	same "status of $*: $(cat "$work/why")" "$status" "$expected"
}

expected=1
tunes
same "rp_filter" "$(mark 'near0 rp_filter')" CHANGE
same "mtu" "$(mark 'near0 mtu')" CHANGE
same "ring" "$(mark 'near0 ring')" CHANGE
same "coalescing" "$(mark 'near0 coalescing')" CHANGE
same "pause" "$(mark 'near0 pause frames')" ok
same "devices" "$(grep -c rp_filter "$work/says")" 1
same "nothing is changed" "$(cat $filter)$(cat /sys/class/net/near0/mtu)" 11500
! grep -e '-[GCA]' "$work/bin/ethtool.told" || fail "it was changed"

same "pages" "$(mark vm.nr_hugepages)" look
shmem=/sys/kernel/mm/transparent_hugepage/shmem_enabled
expected_mark=ok
[ -e $shmem ] || expected_mark='?'
! grep -qE '\[(never|deny)\]' $shmem 2>/dev/null || expected_mark=look
same "pages of shared memory" "$(mark shmem_enabled)" "$expected_mark"

# What the name space does not let us change stays as it was, and is said.
"$tune" --set --conf "$work/tune.conf" >"$work/says" 2>"$work/why" || true
for what in rp_filter mtu ring coalescing; do
	same "$what" "$(mark "near0 $what")" ok
done
same "rp_filter" "$(cat $filter)" 2
same "mtu" "$(cat /sys/class/net/near0/mtu)" 9000
grep -q -e '-G near0 rx 4096' "$work/bin/ethtool.told"
grep -q -e '-C near0 adaptive-rx off rx-usecs 50' "$work/bin/ethtool.told"
grep -q "more than half of what is free" "$work/why"
grep -q '^net.ipv4.conf.near0.rp_filter = 2' "$work/says"
! grep -q -e '-A' "$work/bin/ethtool.told"
same "the other end" "$(cat /sys/class/net/far0/mtu)" 1500

# The device with the default route keeps its MTU.
ip link set dev near0 mtu 1500
ip route add default via 10.77.1.2 dev near0
"$tune" --set --conf "$work/tune.conf" >"$work/says" 2>"$work/why" || true
same "mtu" "$(mark 'near0 mtu')" CHANGE
same "mtu" "$(cat /sys/class/net/near0/mtu)" 1500
# Without a configuration it is the one.
"$tune" --conf /dev/null >"$work/says" || true
same "default" "$(mark 'near0 mtu')" look

expected=2
tunes --nosuch
tunes nosuch0
grep -q "no device nosuch0" "$work/why"

# Hardly any tool is there.
rm "$work/bin/ethtool"
for tool in bash cat awk sed grep tr sort comm seq ls cut getconf env; do
	ln -s "$(command -v $tool)" "$work/bin/$tool"
done
sed 's,^PATH=.*,PATH=$PATH,' "$tune" >"$work/tune"
status=0
PATH=$work/bin bash "$work/tune" near0 >"$work/says" 2>"$work/why" ||
	status=$?
[ $status -le 1 ] || fail "$(cat "$work/why")"
grep -q "ethtool is not installed" "$work/says"
same "complaints" "$(cat "$work/why")" ""
