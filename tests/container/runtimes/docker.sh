#!/bin/bash
# timeout: 200
# A container of a real engine: a private dockerd that touches nothing of the host's network, an image by
# "docker import": profiled by cgroup (docker/<id>) and by pid, with "docker exec" beside it, alive and
# after "docker rm -f". "docker restart" during the recording.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd dockerd docker jq
ctr_need

D=$T/docker
mkdir "$D"
# The client that came with it: a newer one may not speak to this daemon.
DOCKER=$(dirname "$(command -v dockerd)" | sed 's,/sbin$,/bin,')/docker
[ -x "$DOCKER" ] || DOCKER=docker
dk() {
	"$DOCKER" -H "unix://$D/docker.sock" "$@"
}
docker_down() {
	local ids
	ids=$(dk ps -aq) && [ -n "$ids" ] && dk rm -f $ids
	kill "$(cat "$D/dockerd.pid")"
	wait_for "! kill -0 $DOCKERD" 20
	rt_unmount "$D"
}
dockerd --data-root "$D/data" --exec-root "$D/exec" -H "unix://$D/docker.sock" -p "$D/dockerd.pid" --iptables=false \
	--ip6tables=false --ip-forward=false --ip-masq=false --bridge=none --default-ulimit nofile=1024:1024 \
	--cgroup-parent "/$CTR_CGROOT" >"$T/dockerd.log" 2>&1 &
DOCKERD=$!
later docker_down
rt_cgroups
wait_for 'dk info || ! kill -0 $DOCKERD' 15 >"$T/log" 2>&1
dk info >"$T/log" 2>&1 || skip_all "dockerd does not start here: $(tail -n 1 "$T/dockerd.log")"

ctr_rootfs "$T/root" "$TARGETS/spin" "$TARGETS/spin-a"
tar c -C "$T/root" . | dk import - nsprof-test >"$T/log" 2>&1 || skip_all "docker import fails: $(tail -n 1 "$T/log")"
ID=$(dk run -d --name spinner --network none nsprof-test /app/spin 60 2>"$T/log") ||
	skip_all "docker run fails: $(tail -n 1 "$T/log")"
PID=$(dk inspect -f '{{.State.Pid}}' spinner)
CG=$CTR_CGROOT/$ID
[ -d "$CTR_V2/$CG" ] || skip_all "docker makes no cgroup of its own in $CTR_V2"
CHAIN=$("$TARGETS/spin" --chain)

ctr_record "$T/cgroup" -a -G "$CG" -F 499 --duration 1
ctr_record "$T/pid" -p "$PID" -F 499 --duration 1
dk exec -d spinner /app/spin-a 30
sleep 0.3
ctr_record "$T/exec" -a -G "$CG" -F 499 --duration 1
symbolize_all() {
	for f in cgroup pid exec; do
		"$NSPROF" symbolize -q --no-inline --by container "$T/$f" >"$T/$f.$1"
		check "$1, by $f: the container is named" grep -q "^[^;]*${ID:0:12}[^;]*;spin;_start;" "$T/$f.$1"
		grep ';spin;' "$T/$f.$1" >"$T/spin"
		check "$1, by $f: the whole chain" has_chain "$T/spin" "$CHAIN" 95
	done
	grep ';spin-a;' "$T/exec.$1" >"$T/spin-a"
	check "$1: what docker exec started" has_chain "$T/spin-a" "$("$TARGETS/spin-a" --chain)" 95
}
# Its id and so the path of its cgroup stay, but the cgroup is another one.
"$NSPROF" record -q -o "$T/restart" -G "$CG" -F 499 &
recorder=$!
wait_for '[ -s "$T/restart" ]' 10
sleep 2.5
check "docker restart" dk restart -t 0 spinner
again=$(dk inspect -f '{{.State.Pid}}' spinner)
sleep 2.5
kill -INT $recorder
wait $recorder
symbolize_all alive
check "docker rm -f" dk rm -f spinner
dk rmi -f nsprof-test >"$T/log" 2>&1
rm -rf "$T/root"
symbolize_all gone
for f in cgroup pid exec; do
	is "$f: the same stacks and names as before" "$(cat "$T/$f.gone")" "$(cat "$T/$f.alive")"
done
# spinner's first process before and after, by their pids.
lives() { "$NSPROF" info --json "$T/restart" | jq -r '.processes[] | select(.comm == "spin" and .samples >= 50) | .pid' | sort -n | tr '\n' ' '; }
is "docker restart: both lives" "$(lives)" "$(printf '%s\n' "$PID" "$again" | sort -n | tr '\n' ' ')"
like "docker restart: told" "$("$NSPROF" info "$T/restart")" "cgroup '/$CG' was made anew and is sampled again"
"$NSPROF" symbolize -q --no-inline "$T/restart" >"$T/f"
check "docker restart: the whole chain" has_chain <(grep '^spin;' "$T/f") "$CHAIN" 95
done_testing
