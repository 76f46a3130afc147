# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Which folder may include which.  A part of the program is a list of rooms,
# lowest first: each may include itself, those before it, and the parts below.
# Nothing includes tests, and nothing outside of this list may exist.

set -euo pipefail
cd "${BASH_SOURCE%/*}/.."

faults=0
looked=0
rooms=()

# room FOLDER ALLOWED...: what its files include, as "folder/x.h".
room()
{
	local folder=$1 file line name from allowed
	shift

	rooms+=("$folder")
	allowed=" $* ${folder#src/} "
	allowed=${allowed// plugins\// }
	while IFS=: read -r file line name; do
		looked=$((looked + 1))
		from=${name%/*}
		if [[ $name == config.h || " $allowed " == *" $from "* ]] ||
			[[ $name != */* && -e $folder/$name ]]; then
			continue
		fi
		echo "$file:$line: includes $name; $folder may include:$allowed"
		faults=$((faults + 1))
	done < <(grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*("|<(contract|net|wire|channel|base|control|store|flow|daemon|cli|fuse|plugins|tests)/)' \
		"$folder"/*.[ch] |
		sed -E 's/^([^:]*:[0-9]+):[^"<]*["<]([^">]*).*/\1:\2/')
}

# part NAME BELOW ROOM...: BELOW are rooms, too; . is the folder itself.
part()
{
	local name=$1 below=$2 one
	shift 2

	for one; do
		one=$name/$one
		one=${one%/.}
		# shellcheck disable=SC2086
		room "$one" $below
		below+=" ${one#src/}"
	done
	listed=$below
}

part src/contract '' .
part src/wire 'contract' .
part src/net 'contract wire' .
part src/channel 'contract wire net' .
part src/base 'contract' .
part src/control 'contract base net' .
part src/store 'contract wire net base control' \
	disk record parity foreign recording list view read write finish repair
store=$listed
part src/signal 'contract base' .
part src/flow "$store channel" \
	memory place slots heaps receive output write source send copy upload
part src/daemon "$listed signal" \
	loop conf disks health sessions transfers schedule requests main
# A client of spated: what it shares with the store is how names, files beneath
# a folder, foreign formats and rows of a list are read; it opens no recording.
part src/vsi 'contract wire net base control store/disk store/foreign store/list' .
part src/web 'contract wire net base control store/disk' .
part src/cli "$store signal" show send watch plot . schedule disks gen rehearse
part fuse "$store" live tree .
part plugins/format 'contract' .
part plugins/write 'contract' .
part plugins/disk 'contract' .
part plugins/receive 'contract net wire' . udp tcp
part plugins/send 'contract net wire channel' . tcp etd udp
part plugins/ucx "contract net wire channel receive/tcp send/tcp" .
part plugins/s3 'contract' .

while read -r folder; do
	[[ " ${rooms[*]} " == *" $folder "* ]] || {
		echo "$folder is no room of tests/includes.sh"
		faults=$((faults + 1))
	}
done < <(find src plugins fuse -name '*.[ch]' -printf '%h\n' | sort -u)

[ $looked -gt 50 ] || { echo "only $looked includes seen"; exit 1; }
[ $faults -eq 0 ]
