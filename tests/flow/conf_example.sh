# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# The configuration that is shipped is a good one, as it stands and with all
# that is commented out in it; and it has every key that there is, as has
# spate.conf(5): `spated --options` prints them from the tables.
. "${BASH_SOURCE%/*}/functions.sh"

[ -e "$top_builddir/plugins/.libs/receive-ucx.so" ] ||
	skip "spate was built without libucx, whose keys are in the example"
[ -e "$top_builddir/plugins/.libs/send-s3.so" ] ||
	skip "spate was built without libcurl, whose keys are in the example"
example=$top_srcdir/conf/spate.conf
page=$top_srcdir/man/spate.conf.5

"$SPATED" -n -c "$example" >"$work/out"
grep -q ' is good$' "$work/out"

# As its head says: a '#' right before a key, and text behind '# '.  A secret
# is one of this test's own.
(umask 077 && printf 'a secret of this test\n' >"$work/secret")
sed -e 's/^#\(\t*[^ \t#]\)/\1/' \
	-e "s|\"/etc/spate/secret\"|\"$work/secret\"|" \
	"$example" >"$work/all.conf"
"$SPATED" -n -c "$work/all.conf" >"$work/out"
grep -q '^stream dbbc3:' "$work/out"
grep -q '^stream test:' "$work/out"

# Also where there are many disks, on any machine.
disks_make 36
printf -v all ', "%s"' "${disks[@]}"
sed "s|^disks = .*|disks = [ ${all:2} ];|" "$example" >"$work/many.conf"
"$SPATED" -n -c "$work/many.conf" >"$work/out"
grep -q '^disks    36$' "$work/out"

# A key that is commented out has its default, unless it says `# example`.  The
# default of a number is 0, and that of a flag is false, where none is told.
"$SPATED" --options | sed -nE 's/^  ([a-z_]+) .*; default (.*)/\1 = \2/p
	/; default /!s/^  ([a-z_]+) +(a (whole )?number|true or false|a size).*/\1 = 0/p' |
	tr -d '"' | sort -u >"$work/defaults"
sed -nE 's/^#\t*([a-z_]+ = .*);$/\1/p' "$example" | tr -d '"' |
	sed 's/ = 1%$/ = 0.01/; s/ = \(0.0\|false\)$/ = 0/' >"$work/shown"
sed -nE 's/^#\t*([a-z_]+ = .*);\t# example$/\1/p' "$example" | tr -d '"' \
	>"$work/examples"
sed -i 's/ = \(0.0\|false\)$/ = 0/' "$work/defaults"
same "shown as defaults, and are none" \
	"$(sort -u "$work/shown" | comm -23 - <(sort -u "$work/defaults"))" ""
[ "$(wc -l <"$work/shown")" -gt 30 ] && [ "$(wc -l <"$work/examples")" -gt 30 ] ||
	fail "defaults and examples are not told apart"
same "shown as examples, and are defaults" \
	"$(sort -u "$work/examples" | comm -12 - <(sort -u "$work/defaults"))" ""

sed 's/^disks = /dsiks = /' "$example" >"$work/wrong.conf"
refused "unknown key 'dsiks'; did you mean 'disks'" \
	"$SPATED" -n -c "$work/wrong.conf"
grep -q "^spated: $work/wrong.conf:[0-9]*: " "$work/refused"

# A file of the schedule, too.
sed 's/^#\(\t*[^ \t#]\)/\1/' "$top_srcdir/conf/schedule.conf" >"$work/sched.conf"

# Without its comments, so that only real keys count.
cat "$work/all.conf" "$work/sched.conf" | sed 's/^[ \t]*#.*//' >"$work/keys.conf"
"$SPATED" --options >"$work/options"
sed -n 's/^  \([a-z_]\+\) .*/\1/p' "$work/options" | sort -u >"$work/keys"
[ "$(wc -l <"$work/keys")" -ge 38 ] || fail "too few keys in --options"
while read -r key; do
	grep -Eq "^[[:space:]]*$key = " "$work/keys.conf" ||
		fail "$key is not in conf/*.conf"
	grep -Eq "^\.It Ic $key( |\$)" "$page" ||
		fail "$key is not in spate.conf(5)"
done <"$work/keys"

# And nothing is described that is not there.
sed -n 's/^\.It Ic \([a-z_]\+\).*/\1/p' "$page" | sort -u >"$work/described"
same "keys in spate.conf(5) alone" \
	"$(comm -13 "$work/keys" "$work/described")" ""
