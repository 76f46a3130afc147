# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What docs and the manual pages repeat of the code is what the code says:
#
#   every drop of src/flow/place/counts.h is in both lists of drops, and no other
#   the lists of keys in docs/14-scripting.md are what scripts/keys makes of the
#   headers
#   the kinds of plugins are counted as plugins are named
#   replies of VSI-S come out of the page with all their blanks
#   examples send a recording to an inbox, on port 2631, and a stream to 2630
#   README.md has at most 200 lines
#   links lead to a page that is there, and is distributed, and to a heading of it
#   files that the README.md of a room names are there, seen from its folder
#   the glossary has at most 40 words

set -euo pipefail
cd "${BASH_SOURCE%/*}/.."

faults=0

fault()
{
	echo "$*"
	faults=$((faults + 1))
}

# WHAT A B: fails unless both are the same list.
same()
{
	[ "$2" = "$3" ] || fault "$1:
$(diff <(echo "$2") <(echo "$3") || true)"
}

# ---- drops --------------------------------------------------------------

drops=$(sed -n '/^#define DROPS/,/^$/ s/^\tX([A-Z_]*, "\([a-z_]*\)".*/\1/p' \
	src/flow/place/counts.h)
[ "$(wc -l <<<"$drops")" -gt 10 ] || fault "the drops of counts.h are not found"
same "drops of the code, and of docs/13-numbers.md" "$drops" \
	"$(sed -n '/^| drop | why/,/^$/ s/^| `\([a-z_]*\)` .*/\1/p' docs/13-numbers.md)"
same "drops of the code, and of spated(8)" "$drops" \
	"$(sed -n '/^\.Va drops$/,/^\.El$/ s/^\.It Va //p' man/spated.8)"

# ---- keys ---------------------------------------------------------------

# An awk of another kind, or a list that it does not find, fails by itself.
scripts/keys >/dev/null || fault "scripts/keys fails"
same "docs/14-scripting.md, and what scripts/keys --write makes of the headers" \
	"$(cat docs/14-scripting.md)" "$(scripts/keys || true)"
[ "$(grep -c '^| `' docs/14-scripting.md)" -gt 150 ] ||
	fault "docs/14-scripting.md has lost lists of keys"

# ---- kinds of plugins ---------------------------------------------------

words=(none one two three four five six)
kinds=("${words[$(grep -o '%D%/[a-z]*-[a-z0-9]*\.la' plugins/local.mk |
	sed 's/-.*//' | sort -u | wc -l)]}")
for page in docs/hacking.md docs/glossary.md; do
	grep -q "of \(all \)*${kinds[0]} kinds" "$page" ||
		fault "$page: there are ${kinds[0]} kinds of plugins"
done

# ---- replies of VSI-S ---------------------------------------------------

# A ':' or ';' by itself is punctuation to mdoc, which takes the blank before it
# away, unless it is quoted with what it stands in.
if command -v mandoc >/dev/null; then
	page=$(mandoc -Tascii man/spate-vsi.7 2>/dev/null | sed 's/.\x08//g' |
		tr -s ' \n' ' ')
	replies=$(grep -oE '![a-z_]+[?=] [0-9][^;]{0,120};' <<<"$page" || true)
	[ "$(wc -l <<<"$replies")" -ge 5 ] || fault "spate-vsi(7) has no replies"
	! grep -E '[^ ][:;]( |$)' <<<"$replies" ||
		fault "spate-vsi(7): blanks are missing in these replies"
fi

# ---- ports --------------------------------------------------------------

mapfile -t examples < <(find conf -type f)
! grep -nE '(--to|--send|send =|to =) .*tcp://[a-z]+:' README.md docs/*.md man/* "${examples[@]}" |
	grep -vE ':2631|spate gen' ||
	fault "an inbox, to which a recording is sent, listens on port 2631"
! grep -nE 'TCP:[a-z]+:' README.md docs/*.md man/* "${examples[@]}" | grep -v ':2630' ||
	fault "a stream comes in on port 2630"

# ---- pages --------------------------------------------------------------

[ "$(wc -l <README.md)" -le 200 ] || fault "README.md is longer than 200 lines"
[ "$(grep -c '^| .* | .* | .* |$' docs/glossary.md)" -le 41 ] ||
	fault "docs/glossary.md has more than 40 words"

# The headings of a page, as links name them.
headings()
{
	sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' |
		sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

for page in *.md docs/*.md; do
	grep -qF "$page" Makefile.am || fault "$page: Makefile.am leaves it out"
	while IFS= read -r link; do
		to=${link%%#*}
		to=${to:+${page%"${page##*/}"}$to}
		to=${to:-$page}
		[ -e "$to" ] || {
			fault "$page: there is no $link"
			continue
		}
		[[ $link != *'#'* ]] || headings "$to" | grep -qxF "${link#*#}" ||
			fault "$page: there is no heading $link"
	done < <(grep -oE '\]\([^):]+\)' "$page" | sed 's/^](//; s/)$//')
done

for page in $(find src plugins fuse tests -name README.md); do
	for named in $(grep -oE '`[a-z0-9_./-]+\.[ch]`' "$page" | tr -d '\`'); do
		[ -e "${page%/*}/$named" ] || fault "$page: there is no $named"
	done
done

[ "$faults" -eq 0 ]
