# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# The configuration that is shipped is a good one, as it stands and with all
# that is commented out in it; and it has every key that there is, as has
# spate.conf(5): `spated --options` prints them from the tables.
. "${BASH_SOURCE%/*}/functions.sh"

[ -e "$top_builddir/plugins/.libs/receive-ucx.so" ] ||
	skip "spate was built without libucx, whose keys are in the example"
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

sed 's/^memory = .*/memroy = "1G";/' "$example" >"$work/wrong.conf"
refused "unknown key 'memroy'; did you mean 'memory'" \
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
