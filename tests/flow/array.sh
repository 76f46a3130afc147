# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/flow/functions.sh
#
#   array/{spate.conf,schedule.d} --conf/array/push--> mh: spated, station Mh
#                                                  --> ef: spated, station Ef
#
# One configuration and one schedule for several recorders: what each takes of it,
# and that the first one that refuses ends it.  Each recorder is a mount namespace
# that has a folder of its own as $work/host.  And conf/kubernetes, as far as it can
# be tried without a cluster.
. "${BASH_SOURCE%/*}/functions.sh"
need rsync nsenter column
need_root "give each recorder a folder of its own"

push=$top_srcdir/conf/array/push
base=$top_srcdir/conf/kubernetes/base
host=$work/host
mkdir -p "$host" "$work/bin" "$work/array/schedule.d"
ln -s "$(realpath "$SPATE")" "$work/bin/spate"
ln -s "$(realpath "$SPATED")" "$work/bin/spated"

# HOST COMMAND: what ssh would do.
cat >"$work/ssh" <<END
#!/bin/bash
name=\$1
shift
export PATH=$work/bin:\$PATH SPATE_STATION=\${name^}
[ -e "$work/\$name.pid" ] || exit 255
exec nsenter -m -t "\$(cat "$work/\$name.pid")" bash -c "\$*"
END
chmod +x "$work/ssh"
at_host()
{
	"$work/ssh" "$@"
}
export SPATE_SSH=$work/ssh

# conf_array KEYS: the configuration of all, with a stream of these keys.
conf_array()
{
	cat >"$work/array/spate.conf" <<-END
		disks = [ "$host/disk0", "$host/of-{station}" ];
		memory = "64M";
		reserve = "1M";
		schedule = "$host/etc/schedule.d";
		control : { socket = "$host/control.sock"; };
		streams : { dbbc3 : { listen = [ "127.0.0.1:$port" ]; format = "raw";
			prefix = 8; payload = 1024; block = "1M"; $1 }; };
	END
}

# recorder NAME: begins one.
recorder()
{
	mkdir -p "$work/$1/etc/schedule.d" "$work/$1/disk0" "$work/$1/of-${1^}"
	cp "$work/array/spate.conf" "$work/$1/etc"
	SPATE_STATION=${1^} unshare -m bash -c "mount --bind '$work/$1' '$host' &&
		exec '$(realpath "$SPATED")' -c '$host/etc/spate.conf'" \
		>"$work/$1.log" 2>&1 &
	echo $! >"$work/$1.pid"
	at_end "kill -TERM $! 2>/dev/null; wait $! 2>/dev/null"
	wait_for 60 answers "$1"
}

answers()
{
	at_host "$1" "spate --socket $host/control.sock status" >/dev/null 2>&1
}

# scans NAME: those of a recorder.
scans()
{
	at_host "$1" "spate --socket $host/control.sock schedule ls --json" |
		jq -r 'select(.state == "waiting") | .name' | sort | xargs
}

scans_are()
{
	[ "$(scans "$1")" = "$2" ]
}

pushed()
{
	"$push" --to "$host/etc" "$@" >"$work/table" 2>&1
}

# scan NAME [KEYS]: one in the year 2099.
scan()
{
	printf '{ name = "%s"; stream = "dbbc3"; start = "2099-01-01T00:00:00Z"; duration = "1m"; %s },\n' "$1" "${2:-}"
}

array()
{
	printf 'scans = (\n%s\n);\n' "$(sed '$s/,$//')" >"$work/array/schedule.d/array.conf"
}

conf_array ''
recorder mh
recorder ef

# ---- one for all --------------------------------------------------------

# One text, and a place for each.
for one in mh ef; do
	same "disks of $one" "$(at_host "$one" \
		"spate --socket $host/control.sock disks --json" |
		jq -r 'select(.path) | .path' | sort | xargs)" \
		"$host/disk0 $host/of-${one^}"
done

{
	scan all
	scan one 'station = "Mh";'
	scan two 'station = [ "Ef", "On" ];'
	scan three 'station = "On";'
} | array
pushed --check "$work/array" mh ef
grep -qE '^ef +Ef +good' "$work/table" || fail "$(cat "$work/table")"
same "scans after --check" "$(scans mh)" ""

pushed "$work/array" mh ef
wait_for 20 scans_are mh "all one"
wait_for 20 scans_are ef "all two"
grep -qE '^mh +Mh +same +' "$work/table" || fail "$(cat "$work/table")"
grep -qE '^ef +Ef +same +' "$work/table" || fail "$(cat "$work/table")"
pushed "$work/array" mh ef
grep -qE '^mh .* 2 scans; .*; 2 of other stations$' "$work/table" ||
	fail "$(cat "$work/table")"

# ---- who refuses --------------------------------------------------------

conf_array 'max_loss = "2%"; paylod = 7;'
refused "push: mh: it refuses the configuration, and nothing is changed anywhere" \
	"$push" --to "$host/etc" "$work/array" mh ef
grep -q "spate.conf:[0-9]*: unknown key 'paylod'" "$work/refused"
! grep -q paylod "$work/mh/etc/spate.conf" || fail "it is changed all the same"

conf_array 'max_loss = "2%";'
refused "push: on: it cannot be reached, and nothing is changed anywhere" \
	"$push" --to "$host/etc" "$work/array" mh on ef
! grep -q max_loss "$work/mh/etc/spate.conf" || fail "it is changed all the same"

# A slip in a scan of the second one: the first has all of it by then.
{
	scan one 'station = "Mh";'
	scan four 'station = "Ef"; prioritty = 1;'
} | array
refused "push: ef: it has the new configuration, and its old array.conf" \
	"$push" --to "$host/etc" "$work/array" mh ef
grep -q "unknown key 'prioritty'" "$work/refused"
grep -qE '^mh +Mh +1 change +' "$work/refused" || fail "$(cat "$work/refused")"
wait_for 20 scans_are mh one
same "scans of the one that refused" "$(scans ef)" "all two"
grep -q max_loss "$work/ef/etc/spate.conf"

# What it refuses while it runs it does not keep for its next start.
conf_array 'block = "32M"; blocks = 9;'
sed -i 's/^memory.*/memory = "1G";/; s/block = "1M";//' "$work/array/spate.conf"
refused "push: mh: it keeps its old configuration and schedule" \
	"$push" --to "$host/etc" "$work/array" mh ef
grep -q max_loss "$work/mh/etc/spate.conf"

# ---- Kubernetes ---------------------------------------------------------

"$SPATED" -n -c "$base/spate.conf" >"$work/out" 2>&1 ||
	grep -q 'this machine has' "$work/out" || fail "$(cat "$work/out")"
[ ! -s "$work/out" ] || head -n 1 "$work/out" | grep -qE 'is good$|this machine has'
# The same line wherever a pool is spoken of, and it is one.
pool='disks = [ "/mnt/disk*", "rados://vlbi/{station}?user=spate" ];'
for file in docs/19-array.md conf/kubernetes/README.md \
	conf/kubernetes/base/spate.conf; do
	grep -qF "$pool" "$top_srcdir/$file" || fail "$file has another pool"
done
! grep -nE 'rados://vlbi/[^{]*recorder-01\?' "$top_srcdir/docs/19-array.md" ||
	fail "page 19 gives one recorder a line of its own"
sed "s|^disks = .*|$pool|" "$base/spate.conf" >"$work/pool.conf"
refused '`disks` have {station}, and this recorder has no station' \
	env -u SPATE_STATION "$SPATED" -n -c "$work/pool.conf"
if [ -e "$top_builddir/plugins/.libs/disk-rados.so" ]; then
	sed -i "s|?user=|/{station}&|" "$work/pool.conf"
	refused "rados://vlbi/Mh/Mh?user=spate is no disk" \
		env SPATE_STATION=Mh "$SPATED" -n -c "$work/pool.conf"
fi
same "huge pages of a pod, and memory" \
	"$(sed -n 's/.*hugepages-2Mi: \([0-9]*G\)i$/\1/p' "$base/recorder.yaml")" \
	"$(sed -n 's/^memory = "\(.*\)";/\1/p' "$base/spate.conf")"
same "the port of the metrics" \
	"$(sed -n 's/.*listen = .*0:\([0-9]*\)" \];/\1/p' "$base/spate.conf" | head -n 1)" \
	"$(sed -n 's/.*containerPort: \([0-9]*\) .*/\1/p' "$base/recorder.yaml")"
at_host mh "spate --socket $host/control.sock schedule check --json $(realpath "$base")/array.conf" \
	>"$work/out"
same "scans of others in the example" \
	"$(jq -r 'select(.name | not) | .others' "$work/out")" 2

# A ConfigMap is a folder of links, and a new version another target of one link.
folder=$work/mh/etc/schedule.d
mkdir "$folder/..1" "$folder/..2"
scan first | sed '1s/^/scans = (/; $s/,$/);/' >"$folder/..1/array.conf"
scan second 'station = "Mh";' | sed '1s/^/scans = (/; $s/,$/);/' >"$folder/..2/array.conf"
ln -s ..1 "$folder/..data"
ln -sf ..data/array.conf "$folder/array.conf"
wait_for 60 scans_are mh first
ln -s ..2 "$folder/..new"
mv -T "$folder/..new" "$folder/..data"
wait_for 60 scans_are mh second

# The image has every library that is linked, in the package of its name but for
# those of the base image, of packages with several, and libpng16, which libcairo2
# needs itself.
if command -v readelf >/dev/null; then
	find "$top_builddir/plugins/.libs" -name '*.so' >"$work/linked"
	for program in "$SPATED" "$SPATE" "$top_builddir"/spate{fs,-web,-vsi}; do
		echo "$program" >>"$work/linked"
	done
	xargs readelf -d <"$work/linked" 2>"$work/out" |
		sed -n 's/.*(NEEDED).*\[\(lib.*\)\.so.*/\1/p' | sort -u |
		grep -vxE 'lib(c|m|dl|rt|pthread|tinfo|[atulb]*san|gcc_s|stdc\+\+|png16)' |
		sed 's/^libcrypto$/libssl/; s/^libuc[pstm]$/libucx/' >"$work/needed"
	grep -qx libjansson "$work/needed" || fail "no library is seen: $(cat "$work/out")"
	while read -r library; do
		grep -qE "[[:space:]]$library-?[0-9]+([[:space:]]|\$)" \
			"$base/../Containerfile" ||
			fail "the image lacks the package of $library"
	done <"$work/needed"
	grep -q ca-certificates "$base/../Containerfile" ||
		fail "the image trusts no https"
else
	say "readelf is missing: the packages of the image are not compared"
fi

# The whole is what kubectl makes of it, and what an API server would take.
if command -v kubectl >/dev/null; then
	for one in base station; do
		kubectl kustomize "$base/../$one" >"$work/$one.yaml" 2>"$work/out" ||
			fail "$(cat "$work/out")"
	done
	grep -q 'fieldPath: spec.nodeName' "$work/base.yaml"
	grep -A 1 'name: SPATE_STATION' "$work/station.yaml" | grep -q 'value: Mh'
	! grep -q nodeName "$work/station.yaml" || fail "a station has two values"
	if "${SPATE_PYTHON:-python3}" -c 'import kubernetes_validate' 2>/dev/null; then
		"${SPATE_PYTHON:-python3}" -m kubernetes_validate --strict --quiet \
			"$work/base.yaml" "$work/station.yaml" >"$work/out" 2>&1 ||
			fail "$(cat "$work/out")"
	else
		say "kubernetes-validate is missing: no schema is looked at"
	fi
else
	say "kubectl is missing: nothing is made of conf/kubernetes"
fi
