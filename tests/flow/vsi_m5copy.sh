# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/vsi.sh
#
#   m5copy --VSI-S--> spated A --bytes over TCP--> spated B <--VSI-S-- m5copy
#
# Copies as m5copy orders them, to the letter (vsi_m5copy.py), while the
# station's own recording goes on beside them.
. "${BASH_SOURCE%/*}/vsi.sh"
# shellcheck source=tests/flow/functions_copy.sh
. "${BASH_SOURCE%/*}/functions_copy.sh"

port_find 4
data_port=$((port + 1))
a_files=$work/a b_files=$work/b
mkdir "$a_files" "$b_files" "$work/outside"
disks_make 2
settings=('memory = "256M";' 'reserve = "1M";')
vsi_more="version = \"jive5ab 3.1.0\"; files = [ \"$a_files\" ];"
vsi_conf "$(stream_text 'format = "vdif"; prefix = 8; payload = 1032;
	fps = 1000; threads = [ 0 ]; blocks = 40;')"

# What B has only takes part by name: it records what comes over TCP.
a=$vsi_port
b=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
inbox_settings=('memory = "128M";' 'reserve = "1M";'
	"vsi : { listen = [ \"127.0.0.1:$b\" ]; version = \"jive5ab 3.1.0\";
		files = \"$b_files\"; };")
inbox_make 2
spated_start
inbox_start
vsi_open

m5copy()
{
	timeout 120 python3 "$here/vsi_m5copy.py" "$@" >"$work/m5copy" ||
		fail "m5copy $*: $(cat "$work/m5copy")"
}

# WHAT ARGUMENTS: m5copy gives up, and the reason has these words.
m5copy_not()
{
	local what=$1 status=0
	shift

	timeout 120 python3 "$here/vsi_m5copy.py" "$@" >"$work/m5copy" ||
		status=$?
	[ $status -eq 3 ] || fail "m5copy $*: ended with $status"
	grep -qF -- "$what" "$work/m5copy" ||
		fail "m5copy $*: $(cat "$work/m5copy"), expected '$what'"
}

said()
{
	same "what m5copy says" "$(cat "$work/m5copy")" "$1"
}

# Where all is there already m5copy may look before the source has said so.
said_nothing_new()
{
	[ "$(cat "$work/m5copy")" = '0 bytes' ] || said 'already exists'
}

complete()
{
	[ "$(info "$1" .state)" = complete ]
}

complete_there()
{
	[ "$(there info "$1" --json | jq -r .state)" = complete ]
}

exported_there()
{
	wait_for 30 complete_there "$1"
	there export "$1" "$work/exported" --force
	cmp "$work/exported" "$2"
}

says '!version[?] 0 : jive5ab : 3.1.0 : 64bit : Release : *' 'version?'

# ---- a recording, and the same bytes as a file ----
take --format vdif --prefix 8 --payload 1032 --threads 0 --fps 1000 \
	--rate 48Mbps --for 1s
ideal=$work/as_file
spate export "$taken" "$ideal"
bytes=$(stat -c %s "$ideal")
cp "$ideal" "$a_files/src.vdif"

# ---- the station records; a runtime of somebody else changes nothing ----
says '!record= 0 ;' 'record=on:station'
m5copy runtimes "$a" "$data_port" station
says '!net_protocol[?] 0 : udps : *' 'net_protocol?'

# ---- vbs:// to file://, there, in part, again and resumed ----
m5copy vbs_file "$a" "$b" "$data_port" "$taken" "$b_files/1"
said "$bytes bytes"
cmp "$b_files/1" "$ideal"
m5copy vbs_file "$a" "$b" "$data_port" "$taken" "$b_files/1"
said 'already exists'
truncate -s 1000001 "$b_files/1"
m5copy vbs_file "$a" "$b" "$data_port" "$taken" "$b_files/1" a
said "$((bytes - 1000001)) bytes"
cmp "$b_files/1" "$ideal"
m5copy vbs_file "$a" "$b" "$data_port" "$taken" "$b_files/1" a
said_nothing_new
cmp "$b_files/1" "$ideal"
m5copy vbs_file "$a" "$b" "$data_port" "$taken" "$b_files/1" w 1000 +5000
said '5000 bytes'
same "bytes of a part" "$(stat -c %s "$b_files/1")" 5000
cmp -n 5000 -i 0:1000 "$b_files/1" "$ideal"
m5copy vbs_file "$a" "$b" "$data_port" "$taken" /dev/null w
m5copy_not "there is no recording 'nobody'" \
	vbs_file "$a" "$b" "$data_port" nobody "$b_files/none"
[ ! -e "$b_files/none" ] || fail "a file to which nothing came is left"

# ---- file:// to file:// ----
m5copy file_file "$a" "$b" "$data_port" "$a_files/src.vdif" "$b_files/2"
cmp "$b_files/2" "$ideal"
truncate -s 777777 "$b_files/2"
m5copy file_file "$a" "$b" "$data_port" "$a_files/src.vdif" "$b_files/2" a
cmp "$b_files/2" "$ideal"
m5copy file_file "$a" "$b" "$data_port" "$a_files/src.vdif" "$b_files/2" a
said_nothing_new
cmp "$b_files/2" "$ideal"

# ---- file:// to vbs:// and mk5:// ----
m5copy file_vbs "$a" "$b" "$data_port" "$a_files/src.vdif" by_record
exported_there by_record "$ideal"
m5copy file_vbs "$a" "$b" "$data_port" "$a_files/src.vdif" by_record
said 'already exists'
head -c $((1024 * 2000)) "$ideal" >"$a_files/whole"
m5copy file_mk5 "$a" "$b" "$data_port" "$a_files/whole" by_net2disk
exported_there by_net2disk "$a_files/whole"

# ---- vbs:// to vbs://: by the inbox ----
m5copy vbs_vbs "$a" "$b" "$inbox_port" "$taken"
exported_there "$taken" "$ideal"
there verify "$taken"
m5copy vbs_vbs "$a" "$b" "$inbox_port" "$taken"
m5copy_not 'no inbox listens on port' vbs_vbs "$a" "$b" "$data_port" "$taken"
m5copy_not 'udt is not done here' udt "$a" "$data_port"

# ---- disk2file, also of what is recorded now ----
m5copy vbs_local "$a" "$data_port" "$taken" "$a_files/local"
cmp "$a_files/local" "$ideal"
truncate -s 1000001 "$a_files/local"
m5copy vbs_local "$a" "$data_port" "$taken" "$a_files/local" resume
cmp "$a_files/local" "$ideal"
m5copy_not 'File exists' vbs_local "$a" "$data_port" "$taken" "$a_files/local"
gen --format vdif --prefix 8 --payload 1032 --threads 0 --fps 1000 \
	--rate 16Mbps --for 4s --dump "$work/live" &
sender=$!
on_disk()
{
	[ "$(info station .bytes)" -gt 500000 ]
}
wait_for 30 on_disk
says '!record[?] 0 : on : 1 : station : *' 'record?'
says '!disk2file= 1 ;' "disk2file=$a_files/fringe:0:+300000:n"
fringe_is()
{
	[[ $(ask 'disk2file?') == '!disk2file? 0 : inactive : '* ]]
}
wait_for 30 fringe_is
says '!record[?] 0 : on : 1 : station : *' 'record?'
says '!disk2file= 1 ;' 'disk2file=so_far'
wait_for 30 fringe_is
wait $sender
says '!record= 1 ;' 'record=off'
wait_for 30 complete station
same "packets lost" "$(info station .packets_lost)" 0
spate export station "$work/exported" --force
cmp "$work/exported" "$work/live"
cmp "$a_files/fringe" <(head -c 300000 "$work/live")
so_far=$(stat -c %s "$a_files/so_far")
within "bytes so far" 300000 "$so_far" "$(stat -c %s "$work/live")"
cmp "$a_files/so_far" <(head -c "$so_far" "$work/live")

# ---- files are where the configuration says, and nowhere else ----
echo secret >"$work/outside/secret"
ln -s "$work/outside" "$a_files/way"
ln -s "$work/outside/secret" "$a_files/link"
ln "$work/outside/secret" "$a_files/twin"
mkfifo "$a_files/pipe"
mkdir "$a_files/folder"
for path in "$work/outside/secret" "$a_files/../outside/secret" \
	../outside/secret "${a_files}x" /etc/passwd "$a_files/" ""; do
	says '!file2net= [48] : *' "file2net=connect:127.0.0.1:$path"
	says '!net2file= 4 : *' "net2file=open:$path,w"
done
for path in way/secret link pipe folder; do
	says '!file2net= 4 : *' "file2net=connect:127.0.0.1:$a_files/$path"
	says '!file_check[?] 4 : *' "file_check?::$a_files/$path"
done
for path in way/secret way/new link twin pipe folder; do
	for mode in n w a; do
		says '!net2file= 4 : *' "net2file=open:$a_files/$path,$mode"
		says '!disk2file= 4 : *' "disk2file=$a_files/$path:::$mode"
	done
done
same "what lies outside" "$(cat "$work/outside/secret")" secret
same "what lies outside" "$(ls "$work/outside")" secret
says '!net2file= 8 : *' "net2file=open:$a_files/x,rw"
says '!net2file= 0 : 0 ;' "net2file=open:$a_files/x"
says '!net2file= 6 : Already doing net2file ;' "net2file=open:$a_files/y"
says '!net2file= 0 ;' 'net2file=close'
gone()
{
	[ ! -e "$a_files/x" ]
}
wait_for 30 gone

# Nobody listens there: that is said, and is no success.
says '!scan_set= 0 ;' "scan_set=$taken"
says '!net_port= 0 ;' 'net_port=1'
says '!net_protocol= 0 ;' 'net_protocol=tcp'
says '!disk2net= 1 ;' 'disk2net=connect:127.0.0.1'
says '!disk2net= 0 ;' 'disk2net=on'
failed()
{
	[[ $(ask 'disk2net?') == '!disk2net? 4 : '* ]]
}
wait_for 60 failed
says '!disk2net= 1 ;' 'disk2net=disconnect'
says '!disk2net[?] 0 : inactive ;' 'disk2net?'
spated_stop
inbox_stop
