#!/bin/bash
# Recordings without samples: one line gives the reason, and no other line contradicts it. Nothing
# that was not seen has figures.
# beside others
. "$(dirname "$0")/../../lib.sh"

need_cmd python3
cd "$T" || exit 1
if ! "$NSPROF" record -q -o probe -e cpu-clock:u -- true 2>err; then
	skip_all "no perf events here: $(cat err)"
fi

# none NAME STATUS REGEX ARGUMENT...: exactly one line gives a reason, and it matches.
none() {
	local name=$1 want=$2 regex=$3 rc why
	shift 3
	"$NSPROF" record -o none.data "$@" </dev/null >out 2>err
	rc=$?
	why=$(grep -E 'no samples|nothing ran|in no sample|(was|were) lost|could not keep up|other rights' err)
	if [ $rc != "$want" ] || ! grep -q '(0 samples, ' err; then
		fail "$name" "status $rc, not $want, or there are samples: $(cat err)"
	elif [ "$(wc -l <<<"$why")" != 1 ] || ! grep -Eq -e "$regex" <<<"$why"; then
		fail "$name" "not one line that matches $regex: $(cat err)"
	else
		pass "$name"
	fi
}

sleep 1000 &
asleep=$!
later "kill $asleep"
wait_for "grep -q '^Name:.sleep' /proc/$asleep/status && grep -q '^State:.S' /proc/$asleep/status" 10
none "a process that sleeps" 0 "no samples: nothing ran in the target" -e cpu-clock:u -p $asleep --duration 0.2
none "flight recorder" 0 "no samples: nothing ran in the target" -e cpu-clock:u -p $asleep --overwrite --duration 0.2
# On x86 the processor handles these itself.
none "an event that never comes" 0 "the kernel counted no 'alignment-faults:u'" -e alignment-faults:u -- true
none "fewer events than a period" 0 "though the kernel counted [0-9]+ 'page-faults:u': use a smaller -c" -e page-faults:u -c 1000000 -- true
none "less time than a period" 0 "though [0-9.]+ ms of CPU time were used: use a higher -F" -e cpu-clock:u -F 1 -- true
none "less time than a period of -c" 0 "though [0-9.]+ ms of CPU time were used: use a smaller -c" -e cpu-clock:u -c 1000000000 -- true
none "sampling was never switched on" 0 "kept sampling off until the end" -e cpu-clock:u -D 1000000 -- true
none "all were lost" 0 "([0-9]+) of \1 samples (was|were) lost because the rings were full" -e page-faults:u -c 2 -m 4K -- true
unlike "nothing is said of what they stood for" "$(<err)" "all together"
"$NSPROF" info none.data >info
like "info says how many" "$(<info)" "samples lost by the kernel"
unlike "and no share" "$(<info)" "in these samples' periods"
check "info --json neither" python3 -c '
import json, subprocess, sys
d = json.loads(subprocess.check_output([sys.argv[1], "info", "--json", "none.data"]))
assert d["ledger"]["lost_kernel"] > 0 and d["ledger"]["count"] > 0, d
assert "coverage" not in d["ledger"], d
assert d["counts_by_cpu"] and not any("coverage" in c for c in d["counts_by_cpu"]), d' "$NSPROF"

# Set-user-ID to nobody: the exec removes even root's events. id shows whether that works in this
# folder.
if [ "$(id -u)" = 0 ] && cp "$(command -v id)" whoami && cp "$BUILD/tests/targets/spin" suid && chown 65534 whoami suid &&
		chmod 4755 whoami suid && [ "$(./whoami -u)" = 65534 ] && [ "$(cat /proc/sys/fs/suid_dumpable)" != 1 ]; then
	none "a program with other rights" 0 "'suid' ran with other rights than the program that started it \(set-user-ID" \
		-e cpu-clock:u -- ./suid 0.1
	"$NSPROF" record -o a.data -e page-faults -c 1 -- sh -c './suid 0.01; ./suid 0.01; :' 2>err
	like "two, below a shell that is sampled" "$(<err)" "'suid' and 1 more program ran with other rights than the program that started them"
	check "which it is" grep -Eq "\([1-9][0-9]* samples" err
else
	skip "a program with other rights" "it takes root and a folder where set-user-ID counts"
fi
"$NSPROF" record -o a.data -e page-faults -c 1 -- sh -c 'true; (exit 3); cat /dev/null; sh -c "kill -9 \$\$"; :' 2>err
unlike "programs with the same rights, and one that is killed" "$(<err)" "other rights"

V2=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
CG=nsprof-none-$$
if [ "$(id -u)" != 0 ] || [ -z "$V2" ] || ! mkdir "$V2/$CG.idle" "$V2/$CG.little" 2>/dev/null; then
	skip "cgroups" "cannot make a cgroup"
else
	later "rmdir $V2/$CG.idle $V2/$CG.little"
	none "an empty cgroup" 1 "error: nothing ran in '$CG.idle' while" -G "$CG.idle" --duration 0.1
	none "an empty cgroup, by another event" 1 "error: nothing ran in '$CG.idle' while" -e page-faults -G "$CG.idle" --duration 0.1
	none "an empty cgroup, and sampling was off" 0 "kept sampling off until the end" -D 1000000 -G "$CG.idle" -- true
	# Far less than a period, which is a second, however long the recording takes.
	bash -c 'echo $$ >"$1/cgroup.procs"; until [ -e enough ]; do sleep 0.05; done' - "$V2/$CG.little" &
	little=(-G "$CG.idle,$CG.little" --duration 1)
	none "one is empty, in the other too little ran" 0 "though [0-9.]+ ms of CPU time were used: use a higher -F" \
		-e cpu-clock -F 1 "${little[@]}"
	none "nothing that is counted happened there" 0 "the kernel counted no 'alignment-faults'" -e alignment-faults "${little[@]}"
	: >enough
	wait $!
	if [ -u suid ]; then
		"$NSPROF" record -o a.data -e cpu-clock -F 499 -G "$CG.little" -- \
			sh -c "echo \$\$ >'$V2/$CG.little/cgroup.procs'; exec ./suid 1" 2>err
		unlike "by cgroup nothing is to be said of other rights" "$(<err)" "other rights"
		like "since the program is there" "$("$NSPROF" symbolize -q --no-inline a.data)" "^suid;.*app_leaf"
	fi
fi
# Of several events, some may have come less often than their periods.
"$NSPROF" record -e context-switches,page-faults -c 1000000 -o none -- true 2>err
like "several events that came too rarely" "$(<err)" 'no samples, though the kernel counted [12] of the 2 events: they came less often than their periods; use a smaller -c'
"$NSPROF" record -e alignment-faults,emulation-faults -o none -- true 2>err
like "several events that never came" "$(<err)" 'no samples: none of the 2 events happened'
done_testing
