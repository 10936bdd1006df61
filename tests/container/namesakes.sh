#!/bin/bash
# Alone: every program that looks for containers sees what this test makes. Several containers with
# one name at a time: of docker and of podman, of two users' podmans. All outputs distinguish them,
# and the names shown there select them. The cgroups and processes are real; the test writes the
# state files.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq
ctr_need
later ctr_end

# A unique name: the same test may run elsewhere on this machine.
TWIN=twin-$$
id() { printf '%s%08x%054d' "$1" $$ 0; }
DOCKER=$(ctr_id d1) ONE=$(ctr_id e1) TWO=$(ctr_id e2) LATER=$(ctr_id d2) LEFT=$(ctr_id d3) ALONE=$(ctr_id e4)
S=$T/state
for c in "$DOCKER" "$LATER" "$LEFT"; do
	mkdir -p "$S/containers/$c"
	jq -n --arg id "$c" --arg twin "/$TWIN" '{ ID: $id, Name: $twin, Config: { Image: "shop:1" } }' >"$S/containers/$c/config.v2.json"
done
mkdir "$S/overlay-containers"
jq -n --arg one "$ONE" --arg two "$TWO" --arg alone "$ALONE" --arg twin "$TWIN" '[[$one, $twin], [$two, $twin], [$alone, "alone"]] |
	map({ id: .[0], names: [.[1]], metadata: "{}" })' >"$S/overlay-containers/containers.json"
runs() { # CGROUP PROGRAM ARGS...
	mkdir -p "$CTR_V2/$CTR_CGROOT/$1"
	bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$CTR_V2/$CTR_CGROOT/$1" "${@:2}" >/dev/null 2>&1 &
	PIDS+=("$!")
	wait_for "ctr_pids '$CTR_CGROOT/$1' '^$(basename "$2")\$' | grep -q ." 20
}
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
# Wait until each of PIDS has used 50 ms of CPU time: how long that takes depends on other load.
ran() {
	local p from
	for p; do
		from=$(ticks "$p")
		wait_for "[ \$(ticks $p) -ge $((from + 5)) ]" 30
	done
}
begin() { # OPTIONS...
	rm -f "$T/data"
	"$NSPROF" record -F 999 --runtime-root "$S" -o "$T/data" "$@" 2>"$T/err" &
	RECORDER=$!
	wait_for '[ -s "$T/data" ]' 20
}
# Not in a subshell, which could not wait for the recorder.
end() { # the containers of the samples, and the programs in them
	kill -INT "$RECORDER"
	wait "$RECORDER"
	"$NSPROF" symbolize -q --no-inline --by container,comm "$T/data" | cut -d';' -f1,2 | grep ';spin' | sort -u >"$T/got"
}
called() { # "PIDS" OPTIONS...
	begin "${@:2}"
	ran $1
	end
	cat "$T/got"
}
runs "docker/$DOCKER" "$TARGETS/spin" 600
runs "libpod-$ONE" "$TARGETS/spin-a" 600
runs "libpod-$ALONE" "$TARGETS/spin" 600
mkdir "$CTR_V2/$CTR_CGROOT/docker/$LEFT"	# left behind, with no process
is "of two runtimes: by these" "$(called "${PIDS[*]}" -G "$CTR_CGROOT")" "alone;spin
$TWIN:docker;spin
$TWIN:podman;spin-a"
is "what was left behind is not meant by the name" "$(called "${PIDS[0]}" --container $TWIN:docker)" "$TWIN:docker;spin"
rmdir "$CTR_V2/$CTR_CGROOT/docker/$LEFT"
runs "libpod-$TWO" "$TARGETS/spin-nobid" 600
is "of one runtime: by their ids" "$(called "${PIDS[*]}" -G "$CTR_CGROOT")" "alone;spin
$TWIN:docker;spin
$TWIN:${ONE:0:12};spin-a
$TWIN:${TWO:0:12};spin-nobid"
is "all CPUs: the same" "$(called "${PIDS[*]}" -a | grep "^$TWIN")" "$TWIN:docker;spin
$TWIN:${ONE:0:12};spin-a
$TWIN:${TWO:0:12};spin-nobid"
is "chosen by name and runtime" "$(called "${PIDS[0]}" --container $TWIN:docker)" "$TWIN:docker;spin"
is "chosen by name and id" "$(called "${PIDS[3]}" --container "$TWIN:${TWO:0:3}")" "$TWIN:${TWO:0:12};spin-nobid"
rm -f "$T/none"
check_rc "not chosen by the name alone" 1 "$NSPROF" record --runtime-root "$S" --container "$TWIN" --duration 0.1 -o "$T/none"
like "not chosen by the name alone: says how" "$(cat "$T/check.err")" "--container $TWIN is ambiguous: it may be .*$TWIN \(docker ${DOCKER:0:12}\).*NAME:RUNTIME"
check_rc "nor by a runtime that two have" 1 "$NSPROF" record --runtime-root "$S" --container $TWIN:podman --duration 0.1 -o "$T/none"

# One container begins while another of its name is recorded: a container keeps the name "twin" once
# it has it.
kill -KILL "${PIDS[@]:1}"
wait "${PIDS[@]:1}" 2>/dev/null
rmdir "$CTR_V2/$CTR_CGROOT"/libpod-*
PIDS=("${PIDS[0]}")
begin -a
ran "${PIDS[@]}"
runs "docker/$LATER" "$TARGETS/spin-a" 600
ran "${PIDS[1]}"
end
is "one that begins later" "$(grep "^$TWIN" "$T/got")" "$TWIN:${LATER:0:12};spin-a
$TWIN;spin"
done_testing
