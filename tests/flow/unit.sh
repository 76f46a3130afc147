#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What systemd says of the unit without running it: that it understands every
# line, and how much it leaves to somebody who has taken spated over.

. "${BASH_SOURCE%/*}/functions.sh"
need systemd-analyze
unit=$top_builddir/systemd/spated.service
vsi=$top_builddir/systemd/spate-vsi.service
[ -e "$unit" ] || skip "configure was told to install no unit"

! grep -n '@[a-z]*@' "$top_builddir"/systemd/* || fail "not filled in"
mkdir "$work/unit"
sed -e "s|^ExecStart=.*|ExecStart=$SPATED|" \
	-e "s|^ExecReload=[^ ]*|ExecReload=$SPATE|" \
	"$unit" >"$work/unit/spated.service"
sed "s|^ExecStart=.*|ExecStart=$SPATE_WEB|" \
	"$top_builddir/systemd/spate-web.service" >"$work/unit/spate-web.service"
sed "s|^ExecStart=.*|ExecStart=$SPATE_VSI|" "$vsi" >"$work/unit/spate-vsi.service"
for one in spated spate-vsi $([ ! -x "$SPATE_WEB" ] || echo spate-web); do
	systemd-analyze verify --man=no "$work/unit/$one.service" \
		>"$work/verify" 2>&1 || fail "$(cat "$work/verify")"
	same "complaints" "$(grep "$one" "$work/verify" || true)" ""
done

# Others have 100.  systemd leaves out a line that it does not understand.
for weight in CPUWeight IOWeight; do
	within "$weight" 101 "$(sed -n "s/^$weight=//p" \
		"$work/unit/spated.service")" 10000
done
# Who had the CPU of a receiver is read of all processes.
! grep -n '^ProtectProc=\|^ProcSubset=' "$unit" || fail "processes are hidden"

# The example of a mount: its name has to be that of its folder.
cp "$top_srcdir/systemd/recordings.mount" "$work/unit/"
systemd-analyze verify --man=no "$work/unit/recordings.mount" \
	>"$work/verify" 2>&1 || fail "$(cat "$work/verify")"
same "complaints" "$(grep recordings "$work/verify" || true)" ""

# 0 is a program that can do nothing, 10 one that may do anything.
systemd-analyze security --offline=true --threshold=25 --no-pager \
	"$work/unit/spated.service" >"$work/score" 2>&1 ||
	fail "$(tail -n 1 "$work/score")"
say "$(tail -n 1 "$work/score")"
# What parses what comes from the network may do less still.
for one in spate-vsi spate-web; do
	systemd-analyze security --offline=true --threshold=16 --no-pager \
		"$work/unit/$one.service" >"$work/score" 2>&1 ||
		fail "$(tail -n 1 "$work/score")"
	say "$(tail -n 1 "$work/score")"
done
