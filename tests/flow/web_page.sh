# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   chromium --HTTP--> spate-web --> spated, which records
#
# Each figure that a browser shows is what --json says, while it is recorded and
# after spated and spate-web were started anew, and plots have the same; nothing
# comes from elsewhere.
. "${BASH_SOURCE%/*}/functions.sh"

[ -x "$SPATE_WEB" ] || skip "spate was built without libmicrohttpd"
need curl python3 chromium chromedriver

disks_make 2
udp=$port
port_find 2
web=$port driver=$((port + 1))
port_find
seen=$port
port=$udp
mkdir "$work/schedule.d"
settings+=("schedule = \"$work/schedule.d\";")
conf_write "$(stream_text 'format = "vdif"; prefix = 8;')
	q : { listen = [ \"127.0.0.1:$seen\" ]; block = \"1M\"; format = \"vdif\";
	      prefix = 8; payload = 8032; fps = 500; threads = [ 0, 1 ];
	      tones = 1000000; };"
printf 'web : { listen = "127.0.0.1:%s"; };\n' "$web" >>"$conf"
spated_start

web_start()
{
	"$SPATE_WEB" -c "$conf" >>"$work/web.log" 2>&1 &
	web_pid=$!
	at_end "kill -KILL $web_pid 2>/dev/null"
	wait_for 60 curl -sfo /dev/null "http://127.0.0.1:$web/"
}
web_start

# A page that is open reads what comes each second; one that never reads, and one
# too many, harm nobody.
events()
{
	curl -sN --max-time 3 "http://127.0.0.1:$web/events" >"$work/events" || true
	[ "$(grep -c '^data: {"up":true' "$work/events")" -ge 2 ]
}
wait_for 60 events
curl -sI "http://127.0.0.1:$web/" | tr -d '\r' >"$work/headers"
grep -q "^Content-Security-Policy: default-src 'none'; " "$work/headers"
many=()
for ((i = 0; i < 40; i++)); do
	curl -sN --max-time 60 -o "$work/many$i" -w '%{http_code}\n' \
		"http://127.0.0.1:$web/events" >>"$work/codes" &
	many+=($!)
done
at_end 'kill "${many[@]}" 2>/dev/null'
too_many()
{
	[ "$(grep -c 503 "$work/codes")" -ge 8 ] && grep -q '^data: ' "$work/many0"
}
wait_for 60 too_many
same "metrics meanwhile" \
	"$(curl -sf "http://127.0.0.1:$web/metrics" | grep '^spate_up ')" "spate_up 1"
kill "${many[@]}" 2>/dev/null || true

# scan NAME HOURS LENGTH: a scan of stream s, so many hours from now
scan()
{
	printf '%s : { action = "record"; stream = "s"; start = "%s"; duration = "%s"; };\n' \
		"$1" "$(date -u -d "$2 hours" +%Y-%m-%dT%H:%M:%SZ)" "$3"
}
{
	scan soon 2 3h
	scan tonight 9 40m
	scan tomorrow 40 1h
} >"$work/schedule.d/a.conf"

# $work/ended has the recordings that ended since spated was started.
: >"$work/ended"
cat >"$work/said" <<-END
	#!/bin/bash
	"$SPATE" --socket "$socket" status --json >"$work/status.json"
	"$SPATE" --socket "$socket" streams --json >"$work/streams.json"
	"$SPATE" --socket "$socket" schedule ls --json >"$work/scans.json"
	while read -r name; do
		"$SPATE" --socket "$socket" info "\$name" --json
	done <"$work/ended" >"$work/ended.json"
	jq -n --slurpfile status "$work/status.json" --slurpfile scans "$work/scans.json" \\
		--slurpfile streams "$work/streams.json" --slurpfile ended "$work/ended.json" \\
		'{status: \$status[0], streams: \$streams, scans: \$scans, ended: \$ended}' |
		tee "$work/all.json"
END
chmod 755 "$work/said"
HOME=$work chromedriver --port="$driver" >"$work/driver.log" 2>&1 &
driver_pid=$!
at_end "kill $driver_pid 2>/dev/null; wait $driver_pid 2>/dev/null"
wait_for 60 curl -sfo /dev/null "http://127.0.0.1:$driver/status"
coproc PAGE { exec python3 "$top_srcdir/tests/flow/web_page.py" "$driver" \
	"http://127.0.0.1:$web/" "$work" "$work/said" 2>"$work/page.log"; }
page_pid=$PAGE_PID to_page=${PAGE[1]} from_page=${PAGE[0]}
# It ends the browser, which the driver would leave.
at_end 'kill $page_pid 2>/dev/null; wait $page_pid 2>/dev/null'

# page WHAT: asks for it, and fails unless it is well
page()
{
	local reply

	printf '%s\n' "$*" >&"$to_page"
	read -r reply <&"$from_page" || fail "$(cat "$work/page.log")"
	same "page: $*" "$reply" ok
}

page agree
spate record lossy --stream s
spate record signal --stream q --for 600s
"$SPATE" gen --to "udp://127.0.0.1:$seen" --packets 1000000 --json --rate 64Mbps \
	--fps 500 --format vdif --threads 0,1 -o channels=2 --tones 1000000 \
	--defect dead=1/1 --defect dc=0/0 >"$work/sent" &
sender=$!
at_end 'kill -KILL $sender 2>/dev/null'
gen --format vdif --signal --packets 600 --rate 20Mbps
# This one has something to say of itself, too, and goes to nobody.
spate relay --stream s --to "udp://127.0.0.1:$((seen + 1))" --for 600s
page findings q 0/0 dc q 1/1 dead
page live
page drawn
page phases
page many
# A page that is opened now shows what was before.
page again
page findings q 0/0 dc q 1/1 dead
page tall
page shot "$top_builddir/tests/flow/web_page.png"
gen --format vdif --packets 2000 --loss 0.05 --duplicate 0.01 --rate 20Mbps
kill -INT $sender
wait $sender || true
page agree
page losses s
page strip lossy '[ ]*\.[ .]*[-+#][-+# .]*'
page strip signal '.*\..*'
page resources
page phone
spate stop lossy >/dev/null
spate stop signal >/dev/null
printf 'lossy\nsignal\n' >"$work/ended"
page agree
page live
page strip lossy '[ ]*\.[ .]*[-+#][-+# .]*'
# The disks say the same.
info lossy '.loss_map | map(.packets_lost > 0) | index(true) > 10' >"$work/where"
same "losses begin after a while" "$(cat "$work/where")" true

spated_kill
page away
spated_start
: >"$work/ended"
page agree
kill -TERM $web_pid
ended=0
wait $web_pid || ended=$?
same "exit status of spate-web, of which a page is open" $ended 0
page mute
web_start
page agree

# With 432 streams that are recorded the page that stayed open shows each, and
# every count.
kill -TERM $web_pid
wait $web_pid
spated_stop
port_find 432
many='' names=()
for ((i = 0; i < 432; i++)); do
	many+="	m$i : { listen = [ \"127.0.0.1:$((port + i))\" ]; block = \"64K\"; blocks = 4; \
		format = \"raw\"; payload = 8192; prefix = 8; sequence = \"le64@0\"; };"$'\n'
	names+=("m$i")
done
settings=('memory = "128M";' 'reserve = "1M";')
conf_write "$many"
printf 'web : { listen = "127.0.0.1:%s"; };\n' "$web" >>"$conf"
spated_start
web_start
spate record half --quiet --stream "$(IFS=, && echo "${names[*]:0:216}")" >/dev/null
spate record rest --quiet --stream "$(IFS=, && echo "${names[*]:216}")" >/dev/null
"$SPATE" gen --to "udp://127.0.0.1:$port-$((port + 431))" --format raw \
	--payload 8192 --prefix 8 --sequence le64@0 --packets 4 --rate 60Mbps --quiet >"$work/sent"
wait_for 60 eval '[ "$(spate streams --json |
	jq -s "map(select(.packets > 0)) | length")" -eq 432 ]'
page agree
jq '[.streams[] | select(.packets > 0 and .recording)] | length' \
	"$work/all.json" >"$work/n"
same "streams that are recorded, with packets" "$(cat "$work/n")" 432
exec {to_page}>&-
wait "$page_pid"
spated_stop
