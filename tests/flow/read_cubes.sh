# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   six channels of cubes, on two disks --(spate export)--> files, and maps of
#                                                           what is there
. "${BASH_SOURCE%/*}/functions.sh"
need python3

python3 "$top_srcdir/tests/flow/read_cubes.py" "$SPATE" "$work" ||
	fail "cubes are not exported as they were recorded"
