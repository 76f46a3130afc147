# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
#
# A Ceph of one machine for tests: a monitor, a manager and three OSDs with
# BlueStore on files, all on 127.0.0.1, with keys, in one folder.  Nothing of it
# is left when the test ends.  Sourced after functions.sh (or break.sh):
#
#	. "${BASH_SOURCE%/*}/functions.sh"
#	. "${BASH_SOURCE%/*}/functions_ceph.sh"
#	ceph_start
#
#   ceph_start [GB]      skips where Ceph is not installed; GB of each OSD (4).
#                        Then $CEPH_CONF is exported, and the pool `spate`
#                        there, each object on two OSDs
#   ceph ARGS, rados ARGS  the commands, talking to it, with a time limit
#   ceph_pool NAME [ARGS]  makes a pool; ARGS as of `ceph osd pool create`
#   ceph_user NAME ARGS  makes a user with these rights, whose key $CEPH_CONF has
#   ceph_osd_stop N [SIG]  ends an OSD; ceph_osd_start N starts it again
#   ceph_mon_stop, ceph_mon_start
#   ceph_rgw             skips where there is no radosgw; starts one, S3 at
#                        http://127.0.0.1:$rgw_port, with a user whose keys are
#                        $rgw_key and $rgw_secret
#   ceph_rgw_stop [SIG], ceph_rgw_start  ends it; starts it again on that port
#   ceph_rgw_user NAME KEY SECRET  makes another user
#   ceph_tool POOL NAMESPACE
#                        prints the path of a program that does to an object
#                        there: `break` its locks, `drop` it, `stop` the OSD
#                        that has it first, or let that `go` on; `beside` a
#                        folder's object it prints a file's that is on other
#                        OSDs than the first of that

ceph=
ceph_mon_pid=
ceph_mgr_pid=
ceph_rgw_pid=
ceph_osd_pid=()

ceph()
{
	timeout 120 /usr/bin/ceph --connect-timeout 30 "$@" \
		2>>"$ceph/commands.log"
}

rados()
{
	timeout 120 /usr/bin/rados "$@" 2>>"$ceph/commands.log"
}

# Writes ceph.conf for ports that nobody uses.
ceph_conf()
{
	local gb=$1 port

	port=$(python3 -c 'import socket
s = [socket.socket() for i in range(2)]
[x.bind(("127.0.0.1", 0)) for x in s]
print(*[x.getsockname()[1] for x in s])')
	ceph_mon_addr="[v2:127.0.0.1:${port% *},v1:127.0.0.1:${port#* }]"
	cat >"$ceph/ceph.conf" <<END
[global]
fsid = $(cat /proc/sys/kernel/random/uuid)
mon_host = $ceph_mon_addr
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_allow_insecure_global_id_reclaim = false
keyring = $ceph/keyring
run_dir = $ceph
admin_socket = $ceph/\$cluster-\$name.\$pid.asok
pid_file =
log_file = $ceph/\$name.log
crash_dir = $ceph
mon_cluster_log_file = $ceph/cluster.log
osd_crush_chooseleaf_type = 0
osd_pool_default_size = 2
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 16
osd_pool_default_pg_autoscale_mode = off
mon_allow_pool_delete = true
mon_osd_min_down_reporters = 1
mon_osd_down_out_interval = 6000
mon_data_avail_warn = 1
mon_data_avail_crit = 1
mon_pg_warn_min_per_osd = 0
osd_heartbeat_interval = 1
osd_heartbeat_grace = 5
osd_mgr_report_interval = 1
mgr_stats_period = 1
mgr_tick_period = 1
mgr_initial_modules =
osd_objectstore = bluestore
bluestore_block_size = $((gb << 30))
bluestore_block_create = true
bluestore_block_wal_create = false
bluestore_block_db_create = false
bluestore_cache_autotune = false
bluestore_cache_size = 67108864
bluestore_fsck_quick_fix_on_mount = false
osd_memory_target = 1073741824
osd_class_default_list = *
osd_class_load_list = *
[mon]
mon_data = $ceph/\$name
keyring = $ceph/keyring
[mgr]
mgr_data = $ceph/\$name
[osd]
osd_data = $ceph/\$name
keyring = $ceph/\$name/keyring
[client.rgw]
rgw_data = $ceph/rgw
rgw_frontends = beast endpoint=127.0.0.1:${rgw_port:-0}
rgw_thread_pool_size = 32
rgw_enable_usage_log = false
END
}

ceph_end()
{
	local pid

	for pid in $ceph_rgw_pid "${ceph_osd_pid[@]}" $ceph_mgr_pid $ceph_mon_pid; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

ceph_mon_start()
{
	/usr/bin/ceph-mon -c "$CEPH_CONF" -i a -f >>"$ceph/out" 2>&1 &
	ceph_mon_pid=$!
}

ceph_mon_stop()
{
	kill -KILL "$ceph_mon_pid"
	wait "$ceph_mon_pid" 2>/dev/null || true
	ceph_mon_pid=
}

ceph_osd_start()
{
	/usr/bin/ceph-osd -c "$CEPH_CONF" -i "$1" -f >>"$ceph/out" 2>&1 &
	ceph_osd_pid[$1]=$!
}

ceph_osd_stop()
{
	kill "-${2:-TERM}" "${ceph_osd_pid[$1]}"
	wait "${ceph_osd_pid[$1]}" 2>/dev/null || true
	unset "ceph_osd_pid[$1]"
}

# FILE NAME [WHO MAY]...: makes a key.
ceph_key()
{
	local file=$1 name=$2 caps=()
	shift 2

	while [ $# -gt 0 ]; do
		caps+=(--cap "$1" "$2")
		shift 2
	done
	[ -e "$file" ] || ceph-authtool --create-keyring "$file" >>"$ceph/out"
	ceph-authtool "$file" --gen-key -n "$name" "${caps[@]}" >>"$ceph/out"
}

ceph_osds_up()
{
	[ "$(ceph osd stat -f json | jq .num_up_osds)" = "$1" ]
}

ceph_pool()
{
	ceph osd pool create "$@" >/dev/null
}

ceph_user()
{
	ceph auth get-or-create "client.$1" "${@:2}" >>"$ceph/keyring"
}

ceph_start()
{
	local command uuid key i

	for command in ceph ceph-mon ceph-mgr ceph-osd monmaptool rados; do
		command -v "$command" >/dev/null ||
			skip "there is no $command: Ceph is not installed"
	done
	[ "$(id -u)" = 0 ] || skip "Ceph's daemons want to be started by root"
	ceph=$work/ceph
	mkdir -p "$ceph"/{mon.a,mgr.x,osd.0,osd.1,osd.2}
	ceph_conf "${1:-4}"
	export CEPH_CONF=$ceph/ceph.conf
	ceph_key "$ceph/keyring" mon. mon 'allow *'
	ceph_key "$ceph/keyring" client.admin mon 'allow *' osd 'allow *' \
		mgr 'allow *'
	ceph_key "$ceph/keyring" mgr.x mon 'allow profile mgr' \
		osd 'allow *'
	monmaptool --create --addv a "$ceph_mon_addr" \
		--fsid "$(sed -n 's/^fsid = //p' "$CEPH_CONF")" \
		"$ceph/monmap" >>"$ceph/out" 2>&1
	/usr/bin/ceph-mon -c "$CEPH_CONF" -i a --mkfs --monmap "$ceph/monmap" \
		--keyring "$ceph/keyring" >>"$ceph/out" 2>&1
	at_end ceph_end
	ceph_mon_start
	wait_for 60 ceph osd stat >/dev/null
	ceph auth import -i "$ceph/keyring" >/dev/null
	/usr/bin/ceph-mgr -c "$CEPH_CONF" -i x -f >>"$ceph/out" 2>&1 &
	ceph_mgr_pid=$!
	for i in 0 1 2; do
		uuid=$(cat /proc/sys/kernel/random/uuid)
		ceph_key "$ceph/osd.$i/keyring" osd.$i
		key=$(sed -n 's/.*key = //p' "$ceph/osd.$i/keyring")
		ceph osd new "$uuid" -i - >/dev/null \
			<<<"{\"cephx_secret\":\"$key\"}"
		/usr/bin/ceph-osd -c "$CEPH_CONF" -i $i --mkfs \
			--osd-uuid "$uuid" >>"$ceph/out" 2>&1
		ceph_osd_start $i
	done
	wait_for 120 ceph_osds_up 3
	ceph_pool spate
}

ceph_rgw_user()
{
	timeout 120 radosgw-admin user create --uid="$1" --display-name="$1" \
		--access-key="$2" --secret-key="$3" >>"$ceph/out" \
		2>>"$ceph/commands.log"
}

# Succeeds as soon as radosgw answers, with whatever status.
ceph_rgw_answers()
{
	kill -0 "$ceph_rgw_pid" || fail "radosgw ended"
	curl -s -o /dev/null "http://127.0.0.1:$rgw_port/"
}

ceph_rgw_start()
{
	radosgw -c "$CEPH_CONF" -n client.rgw -f >>"$ceph/out" 2>&1 &
	ceph_rgw_pid=$!
	wait_for 120 ceph_rgw_answers
}

ceph_rgw_stop()
{
	kill "-${1:-TERM}" "$ceph_rgw_pid"
	wait "$ceph_rgw_pid" 2>/dev/null || true
	ceph_rgw_pid=
}

ceph_rgw()
{
	need radosgw radosgw-admin curl
	port_find
	rgw_port=$port
	ceph_start "$@"
	mkdir "$ceph/rgw"
	ceph_user rgw mon 'allow rw' osd 'allow rwx'
	rgw_key=RECORDER0123456789AB
	rgw_secret=$(head -c 30 /dev/urandom | base64 | tr +/ ab)
	ceph_rgw_user recorder "$rgw_key" "$rgw_secret"
	ceph_rgw_start
}

ceph_tool()
{
	cat >"$ceph/tool" <<END
#!/bin/bash
do=\$1 object=\$2 pid=($(for i in "${!ceph_osd_pid[@]}"; do
	echo "[$i]=${ceph_osd_pid[i]}"
done))
rados() { timeout 60 /usr/bin/rados -p $1 -N $2 "\$@"; }
acting() { timeout 60 /usr/bin/ceph osd map $1 "\$1" $2 -f json | jq ".acting\$2"; }
case \$do in
break)
	rados lock info "\$object" spate --format json |
		jq -r '.lockers[] | "\(.name) \(.cookie)"' |
		while read -r name cookie; do
			rados lock break "\$object" spate "\$name" \\
				--lock-cookie "\$cookie"
		done
	;;
drop) rados rm "\$object" ;;
stop)
	osd=\$(acting "\$object" '[0]')
	# Others take its place when it does not answer for long.
	echo "\$osd" >>$ceph/stopped."\${object//\//_}"
	kill -STOP "\${pid[osd]}"
	;;
go)
	while read -r osd; do
		kill -CONT "\${pid[osd]}"
	done <$ceph/stopped."\${object//\//_}"
	;;
beside)
	first=\$(acting "\$object" '[0]')
	for i in {1..50}; do
		file=\$object\$i
		[ "\$(acting "\$file" "|index(\$first)")" != null ] || break
	done
	echo "\$file"
	;;
esac
END
	chmod +x "$ceph/tool"
	echo "$ceph/tool"
}
