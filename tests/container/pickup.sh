#!/bin/bash
# beside others
# Containers that begin during the recording are picked up: one of the same name (docker rm and
# run), one that matches a pattern, one more of a pod. Others are not. Real cgroups and processes,
# state files as docker writes them.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq
ctr_need
STATE=$T/state
declare -A RUNS=()

# run CGROUP COMM: start a process that computes, in a new cgroup. Sets PID.
run() {
	mkdir -p "$CTR_V2/$CTR_CGROOT/$1" "$T/bin"
	[ -e "$T/bin/$2" ] || cp "$TARGETS/spin" "$T/bin/$2"
	bash -c 'echo $$ >"$1/cgroup.procs"; exec "$2" 600' - "$CTR_V2/$CTR_CGROOT/$1" "$T/bin/$2" >/dev/null 2>&1 &
	PID=$!
	RUNS[$1]=$PID
}
remove() { # CGROUP
	kill "${RUNS[$1]}"
	wait "${RUNS[$1]}"
	unset "RUNS[$1]"
	rmdir "$CTR_V2/$CTR_CGROOT/$1"
} 2>/dev/null
over() {
	[ ${#RUNS[@]} = 0 ] || { kill "${RUNS[@]}"; wait "${RUNS[@]}"; }
	find "$CTR_V2/$CTR_CGROOT" -mindepth 1 -depth -type d -exec rmdir {} +
} 2>/dev/null
later over
docker_state() { # ID NAME PID
	mkdir -p "$STATE/containers/$1"
	jq -n --arg id "$1" --arg name "/$2" --argjson pid "$3" '{ ID: $id, Name: $name, Config: { Image: "shop:1" },
		State: { Running: ($pid > 0), Pid: $pid } }' >"$STATE/containers/$1/.new" && mv "$STATE/containers/$1/.new" "$STATE/containers/$1/config.v2.json"
}

# begin OPTIONS...: record in the background until stop.
begin() {
	rm -f "$T/data"
	"$NSPROF" record -F 1999 -o "$T/data" --runtime-root "$STATE" "$@" >"$T/rec.out" 2>"$T/rec.err" &
	REC=$!
	wait_for "[ -s '$T/data' ]" 20
}
stop() {
	kill -INT "$REC"
	wait "$REC"
	"$NSPROF" symbolize -q --by comm "$T/data" >"$T/folded"
	# bash enters the cgroup first, and may be sampled there before it becomes the program.
	COMMS=$(sed 's/;.*//' "$T/folded" | grep -vx bash | sort -u | tr '\n' ' ')
}

# docker rm -f web; docker run --name web: the ID is another one.
A=$(ctr_id aaa) B=$(ctr_id bbb) C=$(ctr_id ccc)
# A cgroup of the same ID that another cgroup driver left behind is not it.
mkdir -p "$CTR_V2/$CTR_CGROOT/another/docker-$B.scope"
run "docker/$A" web-a
docker_state "$A" web "$PID"
begin --container web
computes "${RUNS[docker/$A]}" 300
rm -r "$STATE/containers/$A"
remove "docker/$A"
run "docker/$C" other
docker_state "$C" other "$PID"
run "docker/$B" web-b
sleep 0.3	# the state file comes later than the cgroup, as dockerd writes it
docker_state "$B" web "$PID"
check "the second is noticed" wait_for "grep -q 'docker/$B.*sampled from now on' '$T/rec.err'" 20
computes "${RUNS[docker/$B]}" 300
stop
is "both lives of a name" "$COMMS" "web-a web-b "
CHAIN=$("$TARGETS/spin" --chain)
grep '^web-b;' "$T/folded" >"$T/second"
check "the second with whole stacks and names" has_chain "$T/second" "$CHAIN" 90
check "and in the recording" sh -c "'$NSPROF' info --json '$T/data' | jq -e '[.. | strings] | any(test(\"docker/$B\"))'"
like "info tells when it came" "$("$NSPROF" info "$T/data")" "cgroup .*$B.* began to match"
remove "docker/$C"

# A pattern.
run jobs-0/run job-0
begin -G "$CTR_CGROOT/docker/b*" -G "$CTR_CGROOT/jobs-*/run"
run jobs-1/run job-a
run jobs-1/wait job-b
check "one that matches is noticed" wait_for "grep -q 'jobs-1/run.*sampled from now on' '$T/rec.err'" 20
computes "${RUNS[jobs-1/run]}" 300
# Children of a sampled cgroup are already sampled.
run jobs-1/run/deeper job-c
computes "${RUNS[jobs-1/run/deeper]}" 300
computes "${RUNS[jobs-0/run]}" 300
stop
is "by pattern: what matches, and nothing else" "$COMMS" "job-0 job-a job-c web-b "
is "nothing twice" "$(grep -c 'sampled from now on' "$T/rec.err")" 1
remove jobs-1/run/deeper
remove jobs-1/run
remove jobs-1/wait
remove jobs-0/run

# More than get events of their own: selected by their cgroup IDs, and one more.
for ((i = 0; i < 110; i++)); do mkdir -p "$CTR_V2/$CTR_CGROOT/many/m$i"; done
begin -G "$CTR_CGROOT/many/*"
run many/late late
check "one more of many is noticed" wait_for "grep -q 'many/late.*sampled from now on' '$T/rec.err'" 20
computes "${RUNS[many/late]}" 300
stop
is "one more of many" "$COMMS" "late "
done_testing
