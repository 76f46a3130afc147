#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The configuration is read again while recordings go on:
#
#	gen --> stream a --> r1     a and all disks are changed meanwhile
#	                     r2     takes the new ones
#
# What is the same stays, what is wrong changes nothing, and what takes a
# restart is said.

. "${BASH_SOURCE%/*}/functions.sh"
port_find 3

# NAME PORT-OFFSET KEYS
stream()
{
	printf '\t%s : { listen = [ "127.0.0.1:%s" ]; format = "raw";
		prefix = 8; payload = 1024; %s };\n' "$1" $((port + $2)) "$3"
}

reload()
{
	spate reload >"$work/reload"
}

says()
{
	grep -qF -- "$1" "$work/reload" ||
		fail "reload says '$(cat "$work/reload")', expected '$1'"
}

of_stream()
{
	spate streams --json | jq -r "select(.name == \"$1\") | .$2"
}

disk_is()
{
	spate disks --json | jq -r '.. | objects | select(.path?) | .path' |
		grep -qx "$1"
}

no_disk()
{
	! disk_is "$1"
}

send()
{
	gen --format raw --prefix 8 --payload 1024 --rate 50Mbps --for 1s
	sent=$((sent + $(gen_did .sent)))
}

disks_make 2
old=$(stream a 0 'block = "1M";'; stream b 1 'block = "1M";')
conf_write "$old"
spated_start

# ---- nothing ----
reload
says "$conf: nothing has changed"
echo "# a comment" >>"$conf"
reload
says "$conf: nothing has changed"

# ---- what is wrong ----
sent=0
spate record r1 --stream a
send
cp "$conf" "$work/good"
sed -i 's/payload = 1024; block = "1M"/payload = "x"; block = "1M"/' "$conf"
at=$(grep -n -m 1 '"x"' "$conf" | cut -d : -f 1)
refused "$conf:$at: " spate reload
wait_for 10 grep -q "the configuration stays as it was: $conf:$at: " "$log"
rm "$conf"
refused "cannot read the configuration" spate reload
cp "$work/good" "$conf"
echo "streams : {" >"$conf"
kill -HUP "$spated_pid"
wait_for 30 grep -q "the configuration stays as it was: $conf:2: " "$log"
same "streams" "$(spate streams --json | jq -s 'length')" 2
same "the stream" "$(of_stream a recording)" r1

# ---- others: all disks and a stream that are in use, durable, reserve ----
before=("${disks[@]}")
disks=()
mkdir "$work/other"
disks=("$work/other")
settings=('memory = "128M";' 'reserve = "2M";' 'durable = "block";')
conf_write "$(stream a 0 'block = "2M";'; stream c 2 'block = "1M";'
	stream d 0 'block = "1M";')"
reload
says "stream a is another; what is recorded or armed keeps the old one"
says "stream b is gone"
says "stream c is new"
says "stream d is new"
says "\`disks\` are others"
says "\`reserve\` is another"
says "\`durable\` is another"
says "\`memory\` takes a restart"
same "lines" "$(wc -l <"$work/reload")" 8
wait_for 60 disk_is "$work/other"
wait_for 60 no_disk "${before[0]}"
wait_for 60 no_disk "${before[1]}"
send
refused "there is no stream 'b'" spate record no --stream b
refused "is being recorded already" spate record no --stream a
refused "recording r1 receives on 127.0.0.1:$port; 'spate stop r1' ends that" \
	spate record no --stream d
same "what a look at it says" "$(spate probe a --json | jq -r .recording)" r1
settle r1 "$sent"
spate stop r1
same state "$(info r1 .state)" complete
same datagrams "$(info r1 .datagrams)" "$sent"
same drops "$(info r1 '.drops | add')" 0
same "disks of r1" "$(info r1 '.disks | map(select(.chunks > 0)) | length')" 3
list=$(IFS=:; echo "${before[*]}:$work/other")
# A disk that leaves in mid-recording has no end in its index, as always.
"$SPATE" --disks "$list" verify r1 >"$work/verify" 2>&1 || true
same "findings" "$(grep -v 'has no end' "$work/verify" |
	grep -cv '^r1: .* blocks\|^spate: r1 is not whole' || true)" 0
grep -q '^r1: .* blocks' "$work/verify" || fail "$(cat "$work/verify")"
same "chunks of 1M" "$(find "$work"/disk? -name 'r1.0*' -size -1025k | wc -l)" \
	"$(find "$work"/disk? -name 'r1.0*' | wc -l)"

# ---- the next recording takes the new one ----
same "a block of a" "$(of_stream a block_bytes)" $((2 << 20))
spate record r2 --stream a
spate record r3 --stream c
sent=0
send
settle r2 "$sent"
spate stop r2
spate stop r3
same "datagrams of r2" "$(info r2 .datagrams)" "$sent"
[ -e "$work/other/r2" ] || fail "r2 is not on the new disk"
[ ! -e "${before[0]}/r2" ] || fail "r2 is on a disk that is gone"

# ---- again and again, also what is recorded, probed, or both ----
conf_write "$old"
cp "$conf" "$work/one"
conf_write "$(stream a 0 'block = "2M";'; stream c 2 'block = "1M";')"
cp "$conf" "$work/two"
for i in 1 2 3 4 5 6 7 8; do
	spate probe a --for 1s >/dev/null &
	cp "$work/$([ $((i % 2)) = 0 ] && echo one || echo two)" "$conf"
	reload
	spate record "again$i" --stream a
	cp "$work/$([ $((i % 2)) = 1 ] && echo one || echo two)" "$conf"
	reload
	kill -HUP "$spated_pid"
	spate status >/dev/null
	spate stop "again$i"
	wait $!
done
spated_stop

# ---- `vsi` or `web` is added: that program may come now, and do what it needs
if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2>/dev/null; then
	echo "not as root in a mount namespace: nothing of spate-vsi's user"
	exit 0
fi
sed '/^spate-\(vsi\|web\):/d' /etc/passwd >"$work/passwd"
echo "spate-vsi:x:54321:54321::/:/bin/false" >>"$work/passwd"
echo "spate-web:x:54322:54322::/:/bin/false" >>"$work/passwd"
sed '/^spate:/d' /etc/group >"$work/group"
echo "spate:x:$(id -g):" >>"$work/group"
cat >"$work/spated" <<-END
	#!/bin/bash
	# \$0 CONF...: spated where the user and the group of the services are
	if [ "\$1" != inside ]; then
		exec unshare -m --propagation private "\$0" inside "\$@"
	fi
	mount --bind "$work/passwd" /etc/passwd
	mount --bind "$work/group" /etc/group
	shift
	exec "$SPATED" "\$@"
END
chmod 755 "$work" "$work/spated"
SPATED=$work/spated

# by USER ARGS: spate, as the user of spate-vsi (54321) or spate-web (54322)
by()
{
	setpriv --reuid "$1" --regid "$(id -g)" --clear-groups "$SPATE" \
		--socket "$socket" "${@:2}"
}

mode()
{
	stat -c %a "$socket"
}

conf_write "$old"
spated_start
same "mode of the socket" "$(mode)" 600
echo "vsi : { listen = [ \"127.0.0.1:$((port + 2))\" ]; streams = [ \"a\" ]; };" \
	>>"$conf"
reload
says "\`vsi\` takes a restart of spate-vsi"
same "mode of the socket" "$(mode)" 660
by 54321 status >/dev/null
! by 54321 rm r2 --force >"$work/refused" 2>&1 || fail "it may remove"
grep -q "spate-vsi has no right to 'rm'" "$work/refused" ||
	fail "it is told $(cat "$work/refused")"
conf_write "$old"
reload
same "mode of the socket" "$(mode)" 600
echo 'web : { };' >>"$conf"
reload
says "\`web\` takes a restart of spate-web"
same "mode of the socket" "$(mode)" 660
for look in status streams disks sends ls; do
	by 54322 $look >/dev/null
done
for change in "record r --stream a" "stop r2" "rm r2 --force" reload; do
	# shellcheck disable=SC2086
	! by 54322 $change >"$work/refused" 2>&1 || fail "it may $change"
	grep -q "spate-web has no right to '${change%% *}'" "$work/refused" ||
		fail "it is told $(cat "$work/refused")"
done
spated_stop
