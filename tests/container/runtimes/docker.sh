#!/bin/bash
# timeout: 200
# Containers of a real engine: a private dockerd that does not touch the host's network, an image
# from "docker import". Tests "docker exec", "docker restart" during a recording, "docker rm -f"
# before symbolizing, "docker rename".
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd dockerd docker jq
ctr_need
# nsprof knows the names from all runtimes on this host, and another container may be called web.
WEB=web-$$

D=$T/docker
mkdir "$D"
# The client from the same package: a newer one may refuse this daemon.
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

rt_root
tar c -C "$T/root" . | dk import - nsprof-test:1 >"$T/log" 2>&1 || skip_all "docker import fails: $(tail -n 1 "$T/log")"
RT_ID=$(dk run -d --name "$WEB" --network none nsprof-test:1 "${RT_COMMAND[@]}" 2>"$T/log") ||
	skip_all "docker run fails: $(tail -n 1 "$T/log")"
# No option tells nsprof the data root, and it is in an unusual place.
RT_RUNTIME=docker RT_NAME=$WEB RT_IMAGE=nsprof-test:1
CG=$CTR_CGROOT/$RT_ID
[ -d "$CTR_V2/$CG" ] || skip_all "docker makes no cgroup of its own in $CTR_V2"
first() { dk inspect -f '{{.State.Pid}}' "$WEB"; }
rt_checks "$CG" "$(first)"

check "docker exec" dk exec -d "$WEB" /app/spin-a 30
rt_exec
# Its ID and so the path of its cgroup stay, but the cgroup is a new one.
again() { dk restart -t 0 "$WEB" >"$T/log"; PID=$(first); }
rt_lives "$(first)" again
like "docker restart: told" "$("$NSPROF" info "$T/lives")" "cgroup '/$CG' came back and is sampled again"

rt_begins "$DOCKER" -H "unix://$D/docker.sock" run --rm --name late --network none nsprof-test:1 /app/rt-late 0.5
# A health check that fires meanwhile: docker runs it in the container.
dk run -d --name checked --network none --health-cmd "/app/spin-a --cpu 0.2" --health-interval 1s nsprof-test:1 /app/spin 600 >"$T/log" 2>&1 ||
	fail "docker with a health check" "$(cat "$T/log")"
"$NSPROF" record -F 499 -a -o "$T/checked" >"$T/log" 2>&1 &
RECORDER=$!
wait_for '[ -s "$T/checked" ]' 20
wait_for '[ "$(dk inspect -f "{{len .State.Health.Log}}" checked)" -ge 1 ]' 30
kill -INT "$RECORDER"
wait "$RECORDER"
"$NSPROF" symbolize -q --no-inline --by container,comm "$T/checked" | cut -d';' -f1,2 | sort -u >"$T/f"
check "a health check's program is in its container" grep -qx 'checked;spin-a' "$T/f"
unlike "the engine is in none" "$(cat "$T/f")" "^(checked|$WEB);(dockerd|containerd|containerd-shim|docker)\$"
dk rm -f checked >"$T/log"
create() { dk create --name "$1" --network none nsprof-test:1 /app/spin 60; }
rt_twins create "dk start"

dk rename "$WEB" "$WEB-old"
check "docker rename" dk exec -d "$WEB-old" /app/spin-a 30
RT_NAME=$WEB-old
rt_exec
check "docker rm -f" dk rm -f "$WEB-old"
dk rmi -f nsprof-test:1 >"$T/log" 2>&1
rt_gone
done_testing
