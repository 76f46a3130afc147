# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
#	foreign_make.py --> 3 disks --> copy_send ==> inbox
#
# What other programs recorded is copied: the copy is a recording of spate's own,
# with the same bytes, and the same packets missing.
. "${BASH_SOURCE%/*}/functions.sh"
. "${BASH_SOURCE%/*}/functions_copy.sh"
. "${BASH_SOURCE%/*}/foreign.sh"
need jq xxd

disks_make 3
inbox_make 2
inbox_start

make jive5ab jlost --lose 3000
# Fill before the first packet and behind the last is not said in metadata of ours.
make jive5ab jfill --fill --lose 640 641 1282 1919 1920 4000
make jive5ab j5 --format mark5b --payload 10016 --per-block 64 --fps 100
make jive5ab jraw --format raw
make streamer s1 --counter le64 --pad --per-block 1008
make streamer s5 --counter le32@4 --format mark5b --payload 5008 --pad \
	--per-block 129 --lose 5 2000
make single sone --counter le64
make sg2 g2 --payload 8224 --per-block 121

for name in jlost jfill j5 jraw s1 s5 sone g2; do
	copy -n 2 "$name" || fail "$name: $(cat "$work/copy.err")"
	same "$name: state" "$(there info "$name" --json | jq -r .state)" complete
	same "$name: made by" "$(there info "$name" --json | jq -r .made_by)" spate
	there verify "$name" >/dev/null || fail "the copy of $name does not verify"
	for key in .bytes .packets .packets_lost .format .start .end; do
		same "$name: $key" "$(there info "$name" --json | jq -c "$key")" \
			"$(spate info "$name" --json | jq -c "$key")"
	done
	same_bytes "$name"
	cmp "$work/there.out" "$work/$name.ideal"
	# All of it is there.
	copy "$name"
	same "$name: bytes again" "$(copy_did .bytes)" 0
done

# One that has an index of ours since recover, and keeps how it is stored.
spate recover s5 >/dev/null
copy -a recovered s5
there verify recovered >/dev/null
same_bytes s5 recovered

# By a daemon.
conf_write "$(stream_text 'format = "vdif"; prefix = 8; payload = 1032;')"
spate()
{
	"$SPATE" --socket "$socket" "$@"
}
spated_start
spate send j5 --to "$inbox_url" --as sent --wait --quiet
there verify sent >/dev/null
same_bytes j5 sent
spated_stop
inbox_stop
