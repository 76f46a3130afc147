# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
# What cannot be is refused by `spated -n`, and by spated, with the line that
# it is in and what would do.
. "${BASH_SOURCE%/*}/functions.sh"

# wrong STREAM TEXT: the stream's keys, or settings for the file
wrong()
{
	conf_write "$(printf '\ts : { %s };' "$1")"
	refused "$2" "$SPATED" -n -c "$conf"
	refused "$2" "$SPATED" -c "$conf"
	grep -q "^spated: $conf" "$work/refused" ||
		fail "no file is told: $(cat "$work/refused")"
}

# stands_at TEXT: the last refusal is at the line of TEXT
stands_at()
{
	stands_in "$conf" "$1"
}

# stands_in FILE TEXT
stands_in()
{
	grep -q "^spated: $1:$(grep -nF "$2" "$1" | cut -d: -f1): " \
		"$work/refused" || fail "not the line of $2"
}

disks_make 2
listen='listen = [ "127.0.0.1:46227" ];'

# warns TEXT STREAM: it is taken, and this is said of it; "": nothing is.
warns()
{
	conf_write "$(stream_text "$2")"
	"$SPATED" -n -c "$conf" >/dev/null 2>"$work/warned" ||
		fail "refused: $(cat "$work/warned")"
	grep -q "$1" "$work/warned" || fail "of $2: $(cat "$work/warned")"
}

wrong "$listen palyoad = 8032;" "unknown key 'palyoad'; did you mean 'payload'"
stands_at palyoad
wrong "$listen payload = \"many\";" 'payload cannot be "many"'
stands_at many
wrong "$listen payload = 3000000000;" 'append L, as in 3000000000L'
wrong "$listen payload = 70000;" 'more than the 65507 bytes of any datagram'
stands_at 70000
wrong "$listen fill = \"nothing\";" 'one of invalid, zero'
wrong "$listen layout = \"file\"; vbs_cfg = true;" 'cannot have vbs_cfg = true'
wrong "$listen sequence = \"le64\";" "sequence 'le64' is not one of"
wrong "$listen receive = \"upd\";" "there is no receive plugin 'upd'"
stands_at upd
wrong "$listen format = \"vidf\";" "there is no format plugin 'vidf'"
wrong "$listen payload = 8033;" 'is no VDIF frame'
wrong "$listen format = \"raw\"; prefix = 8; payload = 65500;" \
	'more than the 65507 bytes of any datagram'
wrong "$listen threads = [ 0, 1, 0 ];" 'thread 0 is in threads twice'
wrong 'format = "raw";' '`listen` is missing'
wrong "$listen blocks = 3;" 'use at least 4, better 10'
wrong "$listen blocks = 20;" \
	'memory = 64.0 MiB is too small for stream s, which needs 1.2 GiB'

# A pipe that nobody writes to is not waited for; one that is written to is
# read.
mkfifo "$work/pipe"
refused "it is a pipe that nobody writes to" timeout 60 "$SPATED" -n -c "$work/pipe"
conf_write "$(printf '\ts : { listen = [ "127.0.0.1:46227" ]; block = "1M"; };')"
"$SPATED" -n -c <(cat "$conf") >/dev/null

# What goes over TCP.
tcp='receive = "tcp"; listen = [ "127.0.0.1:2630" ];'
spt1="$tcp frames = \"spt1\";"
wrong "$tcp connections = 2;" 'frames = "spt1" puts several in order'
wrong "$tcp frames = \"spt2\";" 'one of plain, spt1'
wrong 'receive = "tcp"; listen = [ "127.0.0.1:2630-2640" ];' 'no address for TCP'
wrong "$tcp allow = [ \"10.0.0.0/99\" ];" "'10.0.0.0/99' is no network"
wrong "$spt1 prefix = 8;" 'leave `sequence` and `prefix` out'
wrong "$spt1 sequence = \"time\";" 'leave `sequence` and `prefix` out'
wrong "$spt1 split = \"thread\"; threads = [ 0 ];" 'numbers that count all'

# What a split needs to know.
wrong "$listen split = \"thread\";" '`threads` is missing'
wrong "$listen split = \"station\"; threads = [ 0 ]; fps = 1000;" \
	'`stations` is missing'
wrong "$listen split = \"station\"; threads = [ 0 ]; fps = 1000;
	stations = [ \"Wz\", \"Wettzell\" ];" "station 'Wettzell' is neither"
wrong "$listen split = \"station\"; threads = [ 0 ]; fps = 1000;
	stations = [ \"Wz\", \"Ef\", \"Wz\" ];" "station 'Wz' is in stations twice"
wrong "$listen stations = [ \"Wz\" ];" '`stations` needs split = "station"'
wrong "$listen split = \"thread\"; threads = [ 0 ]; fps = 1000; prefix = 8;
	sequence = \"le64@0\";" 'leave `sequence` out'
wrong "$listen format = \"raw\"; split = \"thread\"; threads = [ 0 ];" 'raw'
wrong "$listen split = \"thread\"; threads = [ 0, 1, 2 ]; fps = 1000;
	blocks = 7;" 'two are open for each of its 3 parts'

good=${settings[0]}
settings[0]='memory = 8589934592;'
wrong "$listen block = \"1M\";" 'append L, as in 8589934592L'
settings[0]='writer = "dirct";'
wrong "$listen block = \"1M\";" "there is no write plugin 'dirct'"
stands_at dirct
settings[0]='durable = "soon";'
wrong "$listen block = \"1M\";" 'is none of "5s" (any time), "block", "end"'
settings[0]='memory = "9999T";'
conf_write "	s : { $listen block = \"1M\"; };"
refused 'cannot have 9.8 PiB of memory: this machine has' \
	"$SPATED" -n -c "$conf"
settings[0]=$good

conf_write "	s : { $listen block = \"1M\"; };"
"$SPATED" -n -c "$conf" >"$work/out"

conf_write "	s : { $listen block = \"1M\"; split = \"thread\";
	threads = [ 0, 1, 2 ]; rate = \"1024Mbps\"; };"
"$SPATED" -n -c "$conf" >"$work/out"
grep -q 'split     by thread: 3 recordings' "$work/out"
grep -q 'memory    14 blocks (2 x 3 parts + 2 x 2 disks + 4), 13' "$work/out"

# What can never be a disk, and one that is named twice.
disks_are()
{
	{
		echo "disks = [ $1 ];"
		sed '/^disks = /d' "$conf"
	} >"$work/other.conf"
}

disks_wrong()
{
	disks_are "$1"
	refused "$2" "$SPATED" -n -c "$work/other.conf"
	grep -q "other.conf:" "$work/refused" || fail "$(cat "$work/refused")"
}

: >"$work/file"
disks_wrong '""' '"" in `disks` is no absolute path'
disks_wrong "\"${disks[0]}\", \"mnt/disk*\"" \
	'"mnt/disk*" in `disks` is no absolute path'
disks_wrong "\"$work/file\"" "is a file, and no folder"

# URLs that can never be disks, each at its own line.
urls_wrong()
{
	disks_wrong "\"${disks[0]}\",
		\"$1\"" "$2"
	stands_in "$work/other.conf" "\"$1\""
}
urls_wrong "foo://x" "there is no disk plugin 'foo'"
urls_wrong "foo:/x" "is no absolute path"
if [ -e "$top_builddir/plugins/.libs/disk-rados.so" ]; then
	form="its form is rados://pool/namespace"
	urls_wrong "rados://" "$form"
	urls_wrong "rados:///r" "$form"
	urls_wrong "rados://vlbi/a/b" "$form"
	urls_wrong "rados://vlbi/r?usr=x" "'usr' is none of its options"
	urls_wrong "rados://vlbi/r?user=" "its option user has no value"
	urls_wrong "RADOS://vlbi/r" "schemes are written small: rados://vlbi/r"
	! grep -q __asan_init "$SPATED" || sanitized=1
fi
# What a cluster would have to say is a warning, as it may come.  librados throws
# exceptions, which AddressSanitizer in a program of C takes for its own end.
if [ -n "${form-}" ] && [ -z "${sanitized-}" ]; then
	disks_are "\"${disks[0]}\", \"rados://vlbi/r/?conf=$work/no\""
	refused "a namespace has no" "$SPATED" -n -c "$work/other.conf"
	disks_are "\"${disks[0]}\", \"rados://vlbi/r?conf=$work/no\""
	"$SPATED" -n -c "$work/other.conf" >"$work/out" 2>"$work/warned"
	grep -q "warn .*rados://vlbi/r.* $work/no cannot be read: No such" \
		"$work/warned" || fail "$(cat "$work/warned")"
	printf '[global]\nmon_host = 127.0.0.1:1\nauth_client_required = cephx\nkeyring = %s/$name.keyring\n' \
		"$work" >"$work/ceph.conf"
	disks_are "\"${disks[0]}\", \"rados://vlbi/r?conf=$work/ceph.conf&user=client.spate\""
	"$SPATED" -n -c "$work/other.conf" >"$work/out" 2>"$work/warned"
	grep -q "as client.spate, whose key has to be in $work/client.spate.keyring: " \
		"$work/warned" || fail "$(cat "$work/warned")"
else
	say "disk-rados is not built, or with AddressSanitizer: not all URLs are tried"
fi
if [ -e "$top_builddir/plugins/.libs/disk-s3.so" ]; then
	urls_wrong "s3://b/x" "names no bucket"
	urls_wrong "s3://bucket/x" "nothing can be recorded on s3://bucket/x"
else
	say "disk-s3 is not built: its URLs are not tried"
fi
ln -s "${disks[0]}" "$work/link"
disks_are "\"${disks[0]}\", \"$work/link\""
"$SPATED" -n -c "$work/other.conf" >"$work/out"
grep -q '^disks    1$' "$work/out" || fail "$(cat "$work/out")"
grep -q '1 more paths name one of these folders' "$work/out" ||
	fail "$(cat "$work/out")"

# One disk alone needs no brackets, for both programs.
sed -i "s|^disks = .*|disks = \"${disks[0]}\";|" "$conf"
"$SPATED" -n -c "$conf" >"$work/out"
same "recordings on it" "$("$SPATE" -c "$conf" --json ls)" ""

# group_wrong GROUP WHAT: a good stream s, and a group with something twice
group_wrong()
{
	conf_write "$(printf '\ts : { %s payload = 1032; block = "1M"; };' "$listen")"
	printf '%s\n' "$1" >>"$conf"
	refused "$2" "$SPATED" -n -c "$conf"
	stands_at "$1"
}

group_wrong 'inbox : { listen = [ "127.0.0.1:2631", "127.0.0.1:2631" ]; };' \
	"'127.0.0.1:2631' is in \`listen\` twice"
group_wrong 'vsi : { listen = [ "[::1]:2620", "[::1]:2620" ]; };' \
	"'[::1]:2620' is in \`listen\` twice"
group_wrong 'vsi : { listen = "127.0.0.1:2620"; streams = [ "s", "s" ]; };' \
	"stream 's' is named twice"

if [ -e "$top_builddir/plugins/.libs/send-s3.so" ]; then
	group_wrong 'send : { s3 : { endpoint = "minio:9000"; }; };' \
		"the endpoint 'minio:9000' is no URL"
fi

# Parity that does less than its name says is taken, with a warning.
udp='format = "vdif"; prefix = 8; payload = 8032; fps = 2000;'
warns "without parity until there are 3 disks" "$udp parity = 2;"
warns "takes 1 of 2 parts .* from 3 disks on" "$udp parity = 1;"
disks_make 1
warns "rebuild cannot put it" "$udp parity = 1; layout = \"mark6\";"
conf_write "$(stream_text "$udp parity = 1;")"
"$SPATED" -n -c "$conf" >/dev/null 2>"$work/warned"
! grep -q parity "$work/warned" || fail "of three disks: $(cat "$work/warned")"
