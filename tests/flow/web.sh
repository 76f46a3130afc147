# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   curl, promtool, clients without manners --HTTP--> spate-web --> spated, which
#                                                                   records
#
# Each metric is what --json says.  Nobody who asks, however often or badly, costs
# spated more than a question a second, or a packet.
. "${BASH_SOURCE%/*}/functions.sh"

[ -x "$SPATE_WEB" ] || skip "spate was built without libmicrohttpd"
need curl python3
web_client()
{
	python3 "$top_srcdir/tests/flow/web.py" "$@"
}

disks_make 2
udp=$port
port_find
web=$port
port=$udp
conf_web()
{
	conf_write "$(stream_text 'format = "vdif"; prefix = 8;
		max_clock = "100ms";')"
	printf 'station = "Mh"; schedule = "%s";\nweb : { %s };\n' \
		"$work/schedule.d" "$1" >>"$conf"
}
mkdir "$work/schedule.d"

# ---- who may ask --------------------------------------------------------

for one in "$SPATED" "$SPATE_WEB"; do
	conf_web "listen = \"0.0.0.0:$web\";"
	refused "0.0.0.0:$web is beyond loopback" "$one" -n -c "$conf"
	conf_web 'listen = [ "[fd00::1]:9469" ];'
	refused "is beyond loopback" "$one" -n -c "$conf"
	conf_web 'hosts = [ "http://recorder" ];'
	refused "is no name of a host" "$one" -n -c "$conf"
	conf_web 'lisen = "127.0.0.1:9469";'
	refused "unknown key 'lisen'; did you mean 'listen'" "$one" -n -c "$conf"
	conf_web 'listen = "0.0.0.0:9469"; allow = "10.0.0.0/8";'
	"$one" -n -c "$conf" >/dev/null
done

conf_web "listen = \"127.0.0.1:$web\"; hosts = [ \"recorder.example\" ];"
spated_start
web_start()
{
	"$SPATE_WEB" -c "$conf" >>"$work/web.log" 2>&1 &
	web_pid=$!
	at_end "kill -KILL $web_pid 2>/dev/null"
	wait_for 60 grep -q 'web: answers on' "$work/web.log"
}
web_start

# status ARGS: of an answer to curl
status()
{
	curl -s -o "$work/got" -w '%{http_code}' "$@"
}
at=http://127.0.0.1:$web
same "an address" "$(status "$at/metrics")" 200
for host in localhost "LocalHost:$web" 127.9.9.9 '[::1]:80' recorder.example; do
	same "Host: $host" "$(status -H "Host: $host" "$at/metrics")" 200
done
for host in evil.example "evil.example:$web" 10.0.0.1 '' localhost.evil.example \
	'[::1' 'localhost:x' '[fd00::1]:9469'; do
	same "Host: $host" "$(status -H "Host: $host" "$at/metrics")" 403
done
same "no Host" "$(status -0 -H 'Host:' "$at/metrics")" 403
same "HEAD" "$(curl -sI "$at/metrics" | tr -d '\r' | head -n 1)" "HTTP/1.1 200 OK"
for method in POST PUT DELETE OPTIONS; do
	same "$method" "$(status -X $method -d x "$at/metrics")" 405
done
same "another page" "$(status "$at/nothing")" 404
for page in / /metrics /events /history; do
	grep -q " $page[ ,.]" "$work/got" || fail "who asks for another page is not told of $page"
done
same "the page" "$(status "$at/")" 200
cmp "$work/got" "$top_srcdir/src/web/page.html"
refused "cannot listen on 127.0.0.1:$web" "$SPATE_WEB" -c "$conf"

# ---- what they say ------------------------------------------------------

metrics()
{
	curl -sf "$at/metrics" >"$work/metrics"
}

# value METRIC: the value of the line that begins so
value()
{
	metrics
	awk -v name="$1" 'index($0, name " ") == 1 { print $NF }' "$work/metrics"
}

agree()
{
	spate status --json >"$work/status.json"
	spate streams --json >"$work/streams.json"
	spate schedule ls --json >"$work/scans.json"
	metrics
	web_client agrees "$work/metrics" "$work/status.json" \
		"$work/streams.json" "$work/scans.json" >"$work/differ" 2>&1
}

# all_agree: soon, as spated was asked up to a second ago
all_agree()
{
	local end=$((SECONDS + 20))

	until agree; do
		[ $SECONDS -lt $end ] || fail "$(cat "$work/differ")"
		nap 0.3
	done
}
all_agree
spate record lossy --stream s
gen --format vdif --packets 2000 --loss 0.05 --duplicate 0.01 --rate 50Mbps
settle lossy "$(gen_did .sent)"
printf 'later : { action = "record"; stream = "s"; start = "2031-01-01T00:00:00Z"; duration = "1m"; };\n' \
	>"$work/schedule.d/a.conf"
all_agree
[ "$(value 'spate_stream_lost_packets_total{stream="s"}')" -gt 0 ] ||
	fail "no losses"
[ "$(value 'spate_stream_dropped_packets_total{stream="s",cause="duplicate"}')" -gt 0 ] ||
	fail "no duplicates"
same "running" "$(value 'spate_stream_recording{stream="s"}')" 1
same "waiting" "$(value 'spate_schedule_scans{state="waiting"}')" 1
! grep -v '^#' "$work/metrics" | grep -E 'lossy|later' || fail "a recording is a label"
spate stop lossy >/dev/null
all_agree

if command -v promtool >/dev/null; then
	promtool check metrics <"$work/metrics" >"$work/lint" 2>&1 ||
		fail "$(cat "$work/lint")"
	same "complaints of promtool" "$(cat "$work/lint")" ""
else
	say "promtool is missing: names are not checked"
fi
same "type of the older format" "$(curl -so /dev/null -w '%{content_type}' "$at/metrics")" \
	"text/plain; version=0.0.4; charset=utf-8"
same "type of OpenMetrics" "$(curl -sf -w '%{content_type}' -o "$work/open" \
	-H 'Accept: application/openmetrics-text; version=1.0.0' "$at/metrics")" \
	"application/openmetrics-text; version=1.0.0; charset=utf-8"
same "the end of OpenMetrics" "$(tail -n 1 "$work/open")" "# EOF"
grep -q '^# TYPE spate_stream_packets counter$' "$work/open"
grep -q '^# TYPE spate_build info$' "$work/open"
# Other programs write to the disks meanwhile.
same "values of both" "$(grep '^spate_stream' "$work/open")" \
	"$(grep '^spate_stream' "$work/metrics")"

# What alarms and plots ask for is there, and Prometheus understands it.
web_client names "$work/metrics" "$top_srcdir/conf/alerts.yml" \
	"$top_srcdir/conf/grafana-dashboard.json" "$top_srcdir/conf/grafana-array.json"
for one in dashboard array; do
	jq -e '.panels | length > 10' "$top_srcdir/conf/grafana-$one.json" >/dev/null
	jq -r '.panels[].targets[].expr' "$top_srcdir/conf/grafana-$one.json" |
		sed 's/\$instance/.*/g; s/\$__rate_interval/1m/g' >"$work/asks-$one"
done
if command -v promtool >/dev/null; then
	promtool check rules "$top_srcdir/conf/alerts.yml" >"$work/lint" 2>&1 ||
		fail "$(cat "$work/lint")"
	sed "s|ALERTS|$(realpath "$top_srcdir")/conf/alerts.yml|" \
		"$top_srcdir/tests/flow/alerts.yml" >"$work/alerts.yml"
	promtool test rules "$work/alerts.yml" >"$work/lint" 2>&1 ||
		fail "$(cat "$work/lint")"
fi

# alarms FILE: the names of alarms in it
alarms()
{
	grep -oE '(alert|alertname): Spate[A-Za-z]+' "$1" | sed 's/.* //' | sort -u
}
same "alarms that are tested" "$(alarms "$top_srcdir/tests/flow/alerts.yml")" \
	"$(alarms "$top_srcdir/conf/alerts.yml")"

# asked QUERY: the values of what Prometheus has, one a line
asked()
{
	curl -sf "http://127.0.0.1:$prometheus/api/v1/query" \
		--data-urlencode "query=$1" >"$work/asked" || return 1
	jq -r '.data.result[].value[1]' "$work/asked"
}

asked_is()
{
	[ "$(asked "$1")" = "$2" ]
}

# A rate takes two scrapes.
one_value()
{
	[ "$(asked "$1" | wc -l)" -eq 1 ]
}

firing()
{
	[ -n "$(asked "ALERTS{alertname=\"$1\",alertstate=\"firing\"}")" ]
}

if command -v prometheus >/dev/null; then
	port_find
	prometheus=$port
	port=$udp
	cat >"$work/prometheus.yml" <<-END
		global: { scrape_interval: 1s, evaluation_interval: 1s }
		rule_files: [ "$top_srcdir/conf/alerts.yml" ]
		scrape_configs:
		  - job_name: spate
		    static_configs: [ { targets: [ "127.0.0.1:$web" ] } ]
	END
	mkdir "$work/prometheus"
	prometheus --config.file="$work/prometheus.yml" --log.level=warn \
		--storage.tsdb.path="$work/prometheus" \
		--web.listen-address="127.0.0.1:$prometheus" >"$work/prometheus.log" 2>&1 &
	prometheus_pid=$!
	at_end 'kill -KILL $prometheus_pid 2>/dev/null; wait $prometheus_pid 2>/dev/null'
	wait_for 60 asked_is 'up{job="spate"}' 1
	wait_for 60 asked_is 'spate_stream_lost_packets_total' \
		"$(jq -s '[.[].packets_lost] | add' "$work/streams.json")"
	while read -r query; do
		asked "$query" >/dev/null || fail "Prometheus does not understand $query"
	done < <(cat "$work"/asks-*)
	# Each column of the table has a value, but for what nobody knows of an idle
	# recorder: when it is full, and the clock of its data.
	while read -r query; do
		[[ $query =~ full_seconds|clock_seconds|failed.missed ]] ||
			wait_for 60 one_value "$query"
	done < <(jq -r '.panels[] | select(.title == "Recorders").targets[].expr' \
		"$top_srcdir/conf/grafana-array.json" | sed 's/\$instance/.*/g')
else
	say "prometheus is missing: nothing scrapes"
fi

# ---- a formatter that is 0.1 s off --------------------------------------

# Status, the log, metrics and an alarm say it while it is recorded.
spate record tardy --stream s
"$SPATE" gen --to "udp://127.0.0.1:$udp" --format vdif --rate 32Mbps --fps 500 \
	--behind 110ms --for 120s 2>/dev/null &
tardy=$!
at_end 'kill $tardy 2>/dev/null'
value_is()
{
	[ "$(value "$1")" = "$2" ]
}
wait_for 60 value_is 'spate_stream_clock_ok{stream="s"}' 0
wait_for 20 value_is 'spate_stream_clock_fault{stream="s",fault="far"}' 1
[ -z "${prometheus_pid:-}" ] || wait_for 60 firing SpateClock
same "the fault" "$(info tardy .clock_fault)" far
within "ms behind" 100 "$(info tardy '.clock_s * 1000 | round')" 500
for said in "$work/said" "$log"; do
	spate status >"$work/said"
	grep -q 'tardy: the time of the data is 0\.[1-4][0-9][0-9] s behind ours' "$said" ||
		fail "nobody says it: $(cat "$said")"
done
kill $tardy
wait $tardy || true
all_agree
spate stop tardy >/dev/null
# What nobody records has no clock; the number of steps stays.
wait_for 20 value_is 'spate_stream_clock_ok{stream="s"}' ''
all_agree

# ---- bad company --------------------------------------------------------

# While it is recorded: clients that never read, garbage, and a thousand
# requests each second.
at_end 'kill $mute 2>/dev/null'
# Not by the function: that would be a shell, whose end does not end it.
python3 "$top_srcdir/tests/flow/web.py" never_reads "$web" 20 >"$work/mute" &
mute=$!
wait_for 60 grep -q mute "$work/mute"
# lost_by NAME RATE: how many of 2 s of packets are not in the recording
lost_by()
{
	gen --format vdif --rate "$2Mbps" --for 2s
	settle "$1" "$(gen_did .sent)"
	spate stop "$1" --quiet >/dev/null
	lost=$(($(gen_did .sent) - $(info "$1" .packets)))
}

# pair NAME RATE: what is lost without anybody who asks, and with all of them
pair()
{
	spate record "$1-alone" --stream s --quiet
	lost_by "$1-alone" "$2"
	alone=$lost
	spate record "$1-asked" --stream s --quiet
	before=$(value spate_web_questions_total)
	began=$SECONDS
	web_client flood "$web" 2 1000 >"$work/answered" &
	flood=$!
	web_client garbage "$web" &
	bad=$!
	lost_by "$1-asked" "$2"
	wait $flood
	wait $bad
	asked=$(($(value spate_web_questions_total) - before))
	within "questions to spated" 1 $asked $((SECONDS - began + 2))
	[ -n "${ASAN_OPTIONS:-}${TSAN_OPTIONS:-}" ] ||
		within "answers" 1000 "$(cat "$work/answered")" 2100
	say "at $2 Mb/s: $alone packets lost without requests, $lost with them"
}

# A machine that loses packets by itself says nothing at that rate.  One that is
# busy at times has three pairs; requests that cost packets cost them each time.
proved=
for rate in 200 50 10; do
	for try in 1 2 3; do
		pair "try$rate-$try" $rate
		[ "$alone" = 0 ] || break
		proved=$lost
		[ "$lost" != 0 ] || break 2
	done
	[ -z "$proved" ] || [ "$alone" != 0 ] ||
		fail "requests cost $lost packets at $rate Mb/s, three times"
	proved=
done
kill $mute

# ---- spated ends, and comes back ----------------------------------------

up_is()
{
	[ "$(value spate_up)" = "$1" ]
}
spated_kill
wait_for 20 up_is 0
! grep -v '^#' "$work/metrics" | grep -vE '^spate_(up|web_)' ||
	fail "there are figures of nobody"
[ -z "${prometheus_pid:-}" ] || wait_for 60 firing SpateDown
spated_start
wait_for 20 up_is 1
all_agree

# One that hangs is waited for, and not for long.
at_end "kill -CONT $spated_pid 2>/dev/null"
kill -STOP "$spated_pid"
wait_for 20 up_is 0
kill -CONT "$spated_pid"
wait_for 20 up_is 1

kill -TERM $web_pid
ended=0
wait $web_pid || ended=$?
same "exit status of spate-web" $ended 0
spated_stop
[ "$proved" = 0 ] ||
	skip "all but this: what requests cost, for this machine loses packets without them, too"
