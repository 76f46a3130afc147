# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Which folder may include which:
#
#	plugins --> contract            daemon --> flow, store, base, contract
#	base ---> contract              cli ----> store, base, contract
#	store --> base, contract        fuse ---> store, base, contract
#	flow ---> store, base, contract
#
# Plugins of several kinds share files: receive/ and send/ of plugins, too.
#
# Every folder may include itself, and nothing includes tests.

set -euo pipefail
cd "${BASH_SOURCE%/*}/.."

faults=0
looked=0

# FOLDER ALLOWED: includes of our own headers, as "folder/x.h" or <folder/x.h>.
look()
{
	local file line name

	[ -d "$1" ] || return 0
	while IFS=: read -r file line name; do
		looked=$((looked + 1))
		if [[ $name == config.h || $name =~ ^($2)/[a-z0-9_]+\.h$ ]]; then
			continue
		elif [[ $name != */* && -e ${file%/*}/$name ]]; then
			continue
		fi
		echo "$file:$line: includes $name; $1 may include: ${2//|/, }"
		faults=$((faults + 1))
	done < <(grep -rHnE --include='*.[ch]' \
		'^[[:space:]]*#[[:space:]]*include[[:space:]]*("|<(contract|base|store|flow|daemon|cli|fuse|plugins|tests)/)' \
		"$1" | sed -E 's/^([^:]*:[0-9]+):[^"<]*["<]([^">]*).*/\1:\2/')
}

look src/contract 'contract'
look src/base 'base|contract'
look src/store 'store|base|contract'
look src/flow 'flow|store|base|contract'
look src/daemon 'daemon|flow|store|base|contract'
look src/cli 'cli|store|base|contract'
look fuse 'fuse|store|base|contract'
look plugins 'contract|receive|send'

[ $looked -gt 50 ] || { echo "only $looked includes seen"; exit 1; }
[ $faults -eq 0 ]
