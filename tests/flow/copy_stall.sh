# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh disable=SC2154
#
# Who connects to an inbox, begins to speak and does not end keeps nobody from
# it: its time is up before the patience of those who wait for its place.  And
# connections of one copy never keep each other from memory for ever, nor do
# blocks that are left out.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_copy.sh"
need jq xxd

disks_make 1
conf_write "$(stream_text 'format = "vdif"; prefix = 8; payload = 1032;')"
spated_start
inbox_make 1 'connections = 1;'
inbox_start
take --format vdif --payload 1032 --packets 2000

exec {stall}<>"/dev/tcp/127.0.0.1/$inbox_port"
printf 'SPT1' >&"$stall"
copy "$taken"
same_there "$taken"
exec {stall}>&-
spate rm --yes "$taken" >/dev/null
there rm --yes "$taken" >/dev/null
inbox_stop
spated_stop

# Connections that wait for memory which only the others' pieces would free: of
# three blocks, for sixteen connections, it is taken back.
conf_write "s : { listen = [ \"127.0.0.1:$port\" ]; block = \"4M\";
	format = \"vdif\"; prefix = 8; payload = 8032; };"
spated_start
inbox_settings=('memory = "32M";' 'reserve = "1M";')
inbox_make 1
inbox_start
take --format vdif --payload 8032 --packets 20000
copy -n 16 "$taken"
same_there "$taken"
there rm --yes "$taken" >/dev/null

# Nor do blocks whose ends cannot be read, and that are more than there is memory
# for: the sender says only at last that it leaves them out.
bad=0
for chunk in "$work"/disk*/"$taken"/"$taken".0000000[2-6]; do
	[ -e "$chunk" ] || continue
	printf '\xff\xfe\xfd' | dd of="$chunk" bs=1 conv=notrunc status=none \
		seek=$(($(stat -c %s "$chunk") - 5000))
	bad=$((bad + 1))
done
same "chunks that are damaged" "$bad" 5
"$top_builddir/tests/flow/copy_send" "$taken" "$inbox_url" "${disks[@]}" \
	>"$work/copy.json" 2>"$work/copy.err" &
copy_pid=$!
at_end "kill -KILL $copy_pid 2>/dev/null || true"
copied()
{
	! kill -0 "$copy_pid" 2>/dev/null
}
wait_for 60 copied
wait "$copy_pid" || true
same "state" "$(copy_did .state)" "done"
same "what was left out" "$(copy_did .why)" \
	"5 chunks could not be read, and were left out"
inbox_stop
spated_stop
