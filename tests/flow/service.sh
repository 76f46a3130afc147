#!/bin/bash
# SPDX-License-Identifier: MIT
#
# spated as systemd runs it, by the unit that is installed:
#
#	service.sh --unshare--> service_root.sh --> systemd, PID 1
#	                                             |-- journald
#	                                             |-- service_main.sh
#	                                             `-- spated.service
#
# What is looked at there is in service_main.sh.

. "${BASH_SOURCE%/*}/functions.sh"
need_root "run systemd in namespaces of its own"
need unshare ip systemd-sysusers systemd-tmpfiles journalctl setpriv
[ -x /lib/systemd/systemd ] || skip "there is no systemd"
grep -q sd_notify "$SPATED" || skip "spated was built without libsystemd"

# systemd's own processes are put into groups below the one it is in.
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$cgroups" ] || skip "there is no cgroup2"
group=$cgroups/spate-test.$$
mkdir "$group" 2>/dev/null || skip "no group can be made in $cgroups"
at_end "find $group -depth -type d -exec rmdir {} + 2>/dev/null"

env -u MAKEFLAGS -u MFLAGS make -s -C "$top_builddir" install \
	DESTDIR="$work/installed" >"$work/install.log" 2>&1 ||
	fail "make install: $(tail -n 5 "$work/install.log")"
unit=$(find "$work/installed" -name spated.service)
[ -n "$unit" ] || skip "configure was told to install no unit"
program=$(sed -n 's/^ExecStart=//p' "$unit")
case $program in
/tmp/* | /home/* | /root/*) skip "a unit cannot see programs in $program" ;;
esac

share=$work/share
mkdir "$share"
cp "$top_srcdir/tests/flow/service_main.sh" "$share/main.sh"
{
	echo "program=$program"
	echo "unit=${unit#"$work/installed"}"
	echo "sysusers=$(cd "$work/installed" && find . -path '*sysusers.d/*')"
	echo "tmpfiles=$(cd "$work/installed" && find . -path '*tmpfiles.d/*')"
	echo "SPATE=$(cd "$work/installed" && find . -path '*bin/spate')"
	echo "conf=$("$SPATED" --help | sed -n 's/.*configuration (\(.*\))/\1/p')"
	echo "port=$port"
} | sed 's|=\./|=/|' >"$share/facts"

status=0
(
	echo "$BASHPID" >"$group/cgroup.procs"
	exec timeout -k 5 900 unshare -m -p -f -C -n -u -i --kill-child --propagation private \
		bash "$top_srcdir/tests/flow/service_root.sh" \
		"$work/installed" "$share" </dev/null
) >"$work/root.log" 2>&1 || status=$?
[ $status -ne 77 ] || skip "$(tail -n 1 "$work/root.log")"
[ -s "$share/out" ] || skip "systemd does not start here: $status \
$(tail -n 3 "$work/root.log")"
say "$(cat "$share/out")"
[ -e "$share/good" ] || {
	tail -n 80 "$share/journal" >&2
	fail "as a service"
}
