# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# The plugins that docs/hacking.md and spate-plugin(7) show are built as these say,
# out of the tree, and a recording is made with both:
#
#   spate gen --(tick)--> spated --(dsync)--> disk0, disk1
#
. "${BASH_SOURCE%/*}/functions.sh"

read -ra cc <<<"${CC:-cc}"
need "${cc[0]}"
plugins=$work/plugins
mkdir "$plugins" "$work/include"
ln -s "$top_srcdir/src/contract" "$work/include/contract"

build()
{
	"${cc[@]}" -Wall -Wextra -Werror -D_GNU_SOURCE -fPIC -shared \
		-I"$work/include" -o "$plugins/$1.so" "$plugins/$1.c"
}

awk '/^```$/ { p = 0 } p; /^```c$/ { p = 1 }' "$top_srcdir/docs/hacking.md" \
	>"$plugins/format-tick.c"
awk '/^\.Ed/ { p = 0 } /^\/\* write-dsync.c/ { p = 1 } p' \
	"$top_srcdir/man/spate-plugin.7" | sed 's/\\e/\\/g' \
	>"$plugins/write-dsync.c"
build format-tick
build write-dsync
export SPATE_PLUGINS=$plugins:${SPATE_PLUGINS:-$top_builddir/plugins/.libs}

"$SPATED" --options >"$work/options"
grep -q '^beside writer = "dsync"$' "$work/options"
grep -q '^  dsync_times ' "$work/options"

disks_make 2
settings+=('writer = "dsync";')
stream=$(stream_text 'format = "tick"; payload = 8192; fill = "zero";')
conf_write "$stream"
refused 'tick packets need fps' "$SPATED" -n -c "$conf"
settings+=('dsync_times = 1;')
conf_write "${stream/fill/fps = 1000; fill}"
refused 'dsync_times cannot be 1' "$SPATED" -n -c "$conf"
settings[-1]='dsync_times = true;'
conf_write "${stream/fill/fps = 1000; fill}"
spated_start
wait_for 10 grep -q "writes with dsync" "$log"
take --format tick --prefix 0 --payload 8192 --fps 1000 --packets 5000 \
	--loss 0.004 --reorder 0.004 --duplicate 0.002 --dump "$work/ideal"
take_is_true 5000 8192
spated_stop
