# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# SPEAD as spead2 has it, which is not ours and has never heard of spate:
#
#   spead2 --(packets)--> format plugin --(heaps as packets)--> spead2
#   spate gen --(UDP, and a dump)--> spead2
#
. "${BASH_SOURCE%/*}/functions.sh"

need_python spead2
"$python" "$top_srcdir/tests/flow/real_spead.py" rewrap \
	"$top_builddir/tests/flow/rewrap"
"$python" "$top_srcdir/tests/flow/real_spead.py" gen "$SPATE" "$port" \
	"$work/dump"
