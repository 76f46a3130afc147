# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh disable=SC2154
#
# Who may write to a disk need not be who runs spate: what lies on a disk in the
# place of a file of ours leads to nothing that belongs to somebody else.
#
#   gen --> spated, killed --> links among its files --> recover, protect,
#                                                        record --resume
. "${BASH_SOURCE%/*}/functions.sh"

disks_make 2
settings+=('durable = "1s";')
conf_write "$(stream_text 'format = "raw"; sequence = "le64@0"; prefix = 8;
	payload = 1024;')"
secret=$work/secret
there=$work/elsewhere
mkdir "$there"

untouched()
{
	same "what $1 did to a file elsewhere" "$(cat "$secret")" treasure
	same "what $1 did to a folder elsewhere" "$(ls -A "$there")" ""
}

# What is written to the files of a recording, and how it could be led away.
# A name with another beside it may be anybody's file, as far as we can see.
put()
{
	rm -rf "$2"
	case $1 in
	link) ln -s "$secret" "$2" ;;
	dangling) ln -s "$there/made" "$2" ;;
	hard) ln "$secret" "$2" ;;
	pipe) mkfifo "$2" ;;
	folder) mkdir "$2" ;;
	esac
}

# ---- recover --------------------------------------------------------------

spated_start
spate record cut --stream s --quiet
gen --format raw --sequence le64@0 --payload 1024 --rate 100Mbps --packets 6000
settle cut 6000
indexed()
{
	[ -s "${disks[0]}/cut/cut.sums" ] && [ -s "${disks[0]}/cut/cut.index" ]
}
wait_for 30 indexed
spated_kill
# A chunk without a record, for there to be more to do than to close it.
truncate -s -64 "${disks[0]}/cut/cut.index"
cp -a "${disks[0]}/cut" "$work/cut"
spated_start

for kind in link dangling hard pipe folder; do
	for file in cut.index cut.meta.jsonl cut.sums; do
		echo treasure >"$secret"
		put $kind "${disks[0]}/cut/$file"
		refused "${disks[0]}/cut/$file" spate recover cut
		untouched "recover with a $kind for $file"
		rm -rf "${disks[0]:?}/cut"
		cp -a "$work/cut" "${disks[0]}/cut"
	done
done

# In the place of the folder: there, files would be made anew.
for to in "$there" "../${there##*/}"; do
	rm -rf "${disks[0]:?}/cut"
	ln -s "$to" "${disks[0]}/cut"
	spate recover cut >/dev/null 2>&1 || true
	untouched "recover with a link for its folder"
	refused "${disks[0]}: it is a link" spate protect cut
	untouched "protect with a link for its folder"
	refused "link" spate rm cut
	untouched "rm with a link for its folder"
done
rm "${disks[0]}/cut"

# Within the disk it can be read, and only that.
cp -a "$work/cut" "${disks[0]}/cut"
mkdir "${disks[0]}/old"
mv "${disks[0]}/cut" "${disks[0]}/old"
ln -s old/cut "${disks[0]}/cut"
same "packets by a link within the disk" "$(info cut .packets_lost)" 0
[ "$(info cut '.disks | length')" -eq 2 ] || fail "a disk is left out"
refused "${disks[0]}/cut: it is a link" spate recover cut
refused "${disks[0]}: it is a link" spate protect cut
rm "${disks[0]}/cut"
mv "${disks[0]}/old/cut" "${disks[0]}"
rmdir "${disks[0]}/old"

# ---- the mark -------------------------------------------------------------

for kind in link dangling hard pipe folder; do
	echo treasure >"$secret"
	put $kind "${disks[0]}/cut/cut.protect"
	refused "${disks[0]}" spate protect cut
	untouched "protect with a $kind for the mark"
	rm -rf "${disks[0]}/cut/cut.protect"
done

# ---- going on -------------------------------------------------------------

# A disk that cannot be written to leaves; the other one takes all.
for kind in link hard pipe; do
	for file in cut.index cut.meta.jsonl cut.sums; do
		echo treasure >"$secret"
		rm -rf "${disks[@]/%//cut}"
		cp -a "$work/cut" "${disks[0]}/cut"
		put $kind "${disks[0]}/cut/$file"
		spate record cut --stream s --resume --quiet >"$work/said" \
			2>&1 || grep -q cut "$work/said"
		gen --format raw --sequence le64@0 --payload 1024 \
			--rate 100Mbps --packets 3000 2>/dev/null
		sleep 0.2
		spate stop cut >/dev/null 2>&1 || true
		untouched "a resumed recording with a $kind for $file"
	done
done

# As it should be, all of that works.
rm -rf "${disks[@]/%//cut}"
cp -a "$work/cut" "${disks[0]}/cut"
spate recover cut >/dev/null
spate protect cut >/dev/null
spate protect --off cut >/dev/null
same state "$(info cut .state)" complete
spate rm cut >/dev/null
