#!/bin/bash
# timeout: 200
# podman with runc, all of its folders private, no network. Its cgroup is libpod_parent/libpod-ID,
# or below the given parent.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd podman runc conmon
ctr_need
# nsprof knows the names from all runtimes on this host, and another container may be called web.
WEB=web-$$

D=$T/podman
mkdir "$D"
pm() { podman --root "$D/root" --runroot "$D/run" --tmpdir "$D/tmp" --runtime runc --cgroup-manager cgroupfs --events-backend file "$@"; }
rt_cgroups
later 'rt_unmount "$D"'
# podman cleans up after each container in the background, and mounts its storage again for that.
later 'wait_for "! pgrep -f -- --root.$D/root" 20'
later 'pm rm -f -a'
rt_root
tar c -C "$T/root" . | pm import -q - nsprof-test >"$T/log" 2>&1 || skip_all "podman import fails: $(tail -n 1 "$T/log")"
# Without CAP_SYS_RESOURCE podman cannot set its default limits.
OPTIONS=(--cgroup-parent "/$CTR_CGROOT" --network none --ulimit nofile=1024:1024 --ulimit nproc=1000:1000)
pm run -d --name "$WEB" "${OPTIONS[@]}" nsprof-test "${RT_COMMAND[@]}" >"$T/id" 2>"$T/log" || skip_all "podman run fails: $(tail -n 1 "$T/log")"
RT_ID=$(tail -n 1 "$T/id") RT_RUNTIME=podman RT_NAME=$WEB RT_IMAGE=localhost/nsprof-test:latest
first() { pm inspect -f '{{.State.Pid}}' "$WEB"; }
rt_checks "$CTR_CGROOT/libpod-$RT_ID" "$(first)"
check "podman exec" pm exec -d "$WEB" /app/spin-a 30
rt_exec
again() { pm restart -t 0 "$WEB" >"$T/log"; PID=$(first); }
rt_lives "$(first)" again
export -f pm
export D
rt_begins bash -c 'pm "$@"' - run --rm --name late "${OPTIONS[@]}" nsprof-test /app/rt-late 0.5
# A pod selects its containers only, not the pod's own cgroup or conmon in it. The pod has no infra
# container, because podman could not set its default limits either.
if pm pod create --name shop --infra=false --cgroup-parent "/$CTR_CGROOT" >"$T/log" 2>&1 &&
	pm run -d --pod shop --name till --network none --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 nsprof-test /app/spin 600 >"$T/id" 2>"$T/log"; then
	"$NSPROF" ps --json --interval 0.01 >"$T/ps"
	like "a pod: its container" "$(jq -r '.containers[] | .runtime + " " + .name' "$T/ps" | paste -sd ',')" "podman till"
	is "a pod: what runs, and no conmon" "$(jq -r --arg cg "/$CTR_CGROOT/" '.containers[] | select(.cgroup | startswith($cg)) | .cgroup' "$T/ps" |
		grep -Ev '/libpod-[0-9a-f]{64}$')" ""
	check "a pod is removed" pm pod rm -f -t 0 shop
else
	skip "a pod" "podman makes none here: $(tail -n 1 "$T/log")"
fi
# A pod with an infra container, "pause", which never shows.
printf '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]\n' >"$T/containers.conf"
if CONTAINERS_CONF=$T/containers.conf pm pod create --name store --network none --cgroup-parent "/$CTR_CGROOT" >"$T/log" 2>&1 &&
	CONTAINERS_CONF=$T/containers.conf pm run -d --pod store --name desk nsprof-test /app/spin 600 >"$T/id" 2>"$T/log"; then
	"$NSPROF" ps --json --interval 0.01 >"$T/ps"
	is "a pod with pause: its container, and nothing else" "$(jq -r --arg cg "/$CTR_CGROOT/" \
		'.containers[] | select((.cgroup | startswith($cg)) and .processes > 0) | .name' "$T/ps" | sort | paste -sd ' ')" "desk $WEB"
	check_rc "pause cannot be chosen" 1 "$NSPROF" record --container "$(pm ps -a --filter pod=store --format '{{.Names}}' | grep infra)" --duration 0.1 -o "$T/none"
	check "a pod with pause is removed" pm pod rm -f -t 0 store
else
	skip "a pod with pause" "podman makes none here: $(tail -n 1 "$T/log")"
fi
# The starting process is in a cgroup, and the container gets a part of it. A health check runs in
# it.
pm run -d --name checked "${OPTIONS[@]}" --cgroupns host --health-cmd "/app/spin-a --cpu 0.2" nsprof-test /app/spin 600 >"$T/log" 2>&1 ||
	fail "podman with a health check" "$(cat "$T/log")"
rt_record "$T/checked" -a -- bash -c 'pm healthcheck run checked'
"$NSPROF" symbolize -q --no-inline --by container,comm "$T/checked" | cut -d';' -f1,2 | sort -u >"$T/f"
check "a health check's program is in its container" grep -qx 'checked;spin-a' "$T/f"
unlike "conmon and podman are in none" "$(cat "$T/f")" "^(checked|$WEB);(conmon|podman)\$"
check "podman rm of what was checked" pm rm -f -t 0 checked
create() { pm create --name "$1" "${OPTIONS[@]}" nsprof-test /app/spin 60; }
rt_twins create "pm start"
check "podman rm -f" pm rm -f "$WEB"
rt_gone
done_testing
