# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh disable=SC2154
#
#	gen --> spated --> 3 disks --> copy_send ==> inbox --> 2 disks
#
# A recording with holes and gaps, copied over four connections, is the same
# there to the byte; a second copy finds that all is there, and one of another
# recording that has the name is refused.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_copy.sh"
need jq xxd

disks_make 3
conf_write "$(stream_text 'format = "vdif"; prefix = 8; payload = 1032; fill = "invalid"; max_gap = "64M";')"
spated_start
inbox_make 2
inbox_start

take --format vdif --payload 1032 --packets 40000 --loss 0.01
name=$taken

copy -n 4 "$name"
same "state" "$(copy_did .state)" "done"
same "bytes" "$(copy_did .bytes)" "$(copy_did .total)"
same_there "$name"
same_bytes "$name"
head -n 1 "$work"/in*/"$name/$name.meta.jsonl" | grep -q '"copied":{"from":"127.0.0.1"' ||
	fail "it does not say where it is from"

# All there: nothing travels.
copy "$name"
same "bytes of the second" "$(copy_did .bytes)" 0
same_there "$name"

# Under another name; by itself it is known there all the same.
copy -a other "$name"
same_there "$name" other
same_bytes "$name" other

# Known by what it is, not by its name; but what is not good is not it.
there rm "$name" --quiet
copy "$name"
same "bytes of what has another name there" "$(copy_did .bytes)" 0
chunk=$(find "$work"/in* -name "other.00000003")
printf '\xff\xfe\xfd' | dd of="$chunk" bs=1 seek=5000 conv=notrunc status=none
copy "$name"
same "bytes when that is damaged" "$(copy_did .bytes)" "$(copy_did .total)"
same_there "$name"

# The name is another's.
spate record second --stream s --quiet
gen --format vdif --payload 1032 --packets 2000 --rate 100Mbps >/dev/null
settle second 2000
spate stop second >/dev/null
wait_for 10 test "$(info second .state)" = complete
if copy -a "$name" second; then
	fail "a name that is taken was given"
fi
copy_did .why | grep -q 'another recording has that name' ||
	fail "it does not say why"
copy second
same_there second
inbox_stop

# Without a secret nobody from elsewhere may come.
inbox_listen="\"0.0.0.0:$inbox_port\""
inbox_make 2
refused 'listens on loopback alone' "$SPATED" -n -c "$inbox_conf"
grep -q "^spated: $inbox_conf:[0-9]*: " "$work/refused" ||
	fail "it does not say where: $(cat "$work/refused")"

# No memory for it: who sends is told.
inbox_listen="\"127.0.0.1:$inbox_port\""
inbox_settings=('memory = "1M";' 'reserve = "1M";')
inbox_make 2
sed -i 's/block = "1M"/block = "64K"/' "$inbox_conf"
inbox_start
if copy -a tiny second; then
	fail "it was copied without memory"
fi
copy_did .why | grep -qi 'memory' || fail "it does not say why"
[ ! -e "$work/in0/tiny" ] || fail "something of it was left"
inbox_stop
