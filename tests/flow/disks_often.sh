# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/break.sh
#
# Three folders; one after the other is dropped and added again, as fast as
# that goes, while packets come without a pause.  None is lost, and none of
# the chunks is there twice.
#
. "${BASH_SOURCE%/*}/break.sh"

disks_make 3
conf_write "$(raw_stream)"
spated_start

keep_sending()
{
	local i

	for ((i = 0; i < 20; i++)); do
		python3 "$here/break_send.py" "$port" \
			good:$((4000 * i)):4000 >/dev/null
	done
}

begin often
at_end 'kill $sender 2>/dev/null'
keep_sending &
sender=$!
n=0
while kill -0 $sender 2>/dev/null; do
	spate disks drop "${disks[n % 3]}" --quiet
	spate disks add --force "${disks[n % 3]}" --quiet
	n=$((n + 1))
done
sent=80000
# One that gets no block any more has its end, too.
settle often $sent
spate disks drop "${disks[0]}" --quiet
spate disks add --force "${disks[0]}" --quiet
end often
say "$n disks were dropped, and added again"
[ $n -ge 3 ] || fail "only $n were dropped"
same state "$(info often .state)" complete
same drops "$(info often '.drops | add')" 0
same "chunks that are there twice" "$(find "${disks[@]}" \
	-name 'often.[0-9]*' -printf '%f\n' | sort | uniq -d)" ""
ideal "$work/ideal" good:0:80000
exported often "$work/ideal"
spated_stop
