#!/bin/bash
# Looking up containers never holds up draining. 600 dead runc states, each of which takes 2 ms to
# open (1.2 s per look), a container that begins during the recording, and rings of a quarter
# second: draining goes on, and the new container is still found.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
ctr_need
need_cmd jq
cd "$T" || exit 1
mkdir states
for i in $(seq 600); do
	mkdir "states/dead-$i"
	echo '{"id":"dead-'"$i"'","init_process_pid":4194304,"init_process_start":9,"cgroup_paths":{"":"/dead/'"$i"'"}}' >"states/dead-$i/state.json"
done
"$TARGETS/spin" --threads "$(nproc)" 1000 &
spin=$!
LD_PRELOAD=$TARGETS/slowopen.so "$NSPROF-record" -a -e cpu-clock -F 199 --call-graph dwarf,8192 --runtime-root "$T/states" -o a.data 2>err &
r=$!
wait_for '[ -s a.data ]' 30
sleep 0.5
cg=$CTR_CGROOT/anything
mkdir "$CTR_V2/$cg"
sh -c "echo \$\$ >'$CTR_V2/$cg/cgroup.procs'; exec '$TARGETS/spin-a' --cpu 1" &
ctr=$!
sleep 0.3
start=$(awk '{ print $22 }' <(sed 's/.*) /x x /' /proc/$ctr/stat))
mkdir states/web
echo '{"id":"web","init_process_pid":'$ctr',"init_process_start":'"$start"',"cgroup_paths":{"":"/'"$cg"'"}}' >states/web/state.json
wait_for '! kill -0 $ctr 2>/dev/null' 60
sleep 1
kill -INT $r
wait $r
kill $spin
rmdir "$CTR_V2/$cg"
echo "# $(grep wrote err)"
# Each look takes three times as long as the rings can hold. On a machine with other load some
# samples may be lost for that.
check "samples are not lost for it" jq -e '.ledger | .lost_kernel + .dropped < 0.05 * .taken' <("$NSPROF" info --json a.data)
unlike "draining did not stand still" "$(cat err)" 'stood still'
like "the container's program has samples" "$("$NSPROF" symbolize -q --by process a.data 2>/dev/null)" '^spin-a'
done_testing
