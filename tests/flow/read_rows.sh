# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   heaps of four substreams, on two disks --(spate export)--> files --> spead2
. "${BASH_SOURCE%/*}/functions.sh"
need_python spead2

"$python" "$top_srcdir/tests/flow/read_rows.py" "$SPATE" "$work" ||
	fail "heaps are not exported as they were recorded"
