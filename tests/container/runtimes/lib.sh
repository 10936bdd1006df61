# Containers of real runtimes, started for real. Sourced after tests/container/lib.sh. Provides
#
#	rt_root			a root folder in $T/root: two programs and a JIT, started by RT_COMMAND
#	rt_checks CGROUP PID	record by cgroup, by name, by ID prefix and by pid, symbolized alive; nsprof ps
#	rt_unclear PREFIX WHO...	an ambiguous ID prefix is refused, and WHO are listed; rt_twins
#				where IDs are random
#	rt_exec			a process started beside the container's own ("docker exec"): /app/spin-a
#	rt_lives PID AGAIN	"record --container" during a restart; AGAIN sets PID, its new first process
#	rt_begins COMMAND...	"record -a" while COMMAND runs a container "late" of /app/rt-late
#	rt_gone			after the container was removed: the same names, and perf 6.1 has none
#
# CGROUP is below the hierarchy of perf_event. RT_COMMAND, to be started in the container, does not
# end by itself. The caller sets RT_RUNTIME, RT_NAME, RT_ID, RT_IMAGE as the runtime's own client
# shows them, and RT_ROOTS to the folder of its state files.
RT_ROOTS=()
RT_IMAGE=
RT_BY="by-cgroup by-name by-id by-pid"

rt_root() {
	ctr_rootfs "$T/root" "$TARGETS/spin" "$TARGETS/spin-nobid" "$TARGETS/spin-a" "$TARGETS/spin-a:/app/rt-late" "$TARGETS/jitloop"
	RT_COMMAND=(/bin/sh -c '/app/spin 600 & /app/spin-nobid 600 & exec /app/jitloop 600 in_jit map jit')
}

rt_names() { # FOLDED
	check "$1" has_chain <(grep ';spin;' "$2") "$("$TARGETS/spin" --chain)" 95
	check "$1, without build-id" has_chain <(grep ';spin-nobid;' "$2") "$("$TARGETS/spin-nobid" --chain)" 95
	check "$1, JIT code" has_chain <(grep ';jit;' "$2") "run_jit;in_jit" 95
}

# rt_record OUT OPTIONS...: record, with this runtime's state folder as --runtime-root.
rt_record() {
	local out=$1
	shift
	ctr_record "$out" "${RT_ROOTS[@]}" -F 499 "$@"
}

rt_checks() {
	local cg=$1 pid=$2 f pids jobs=()
	check "it is in its cgroup, $cg" test -d "$CTR_V2/$cg"
	check "its process is there" wait_for "grep -qs '^jit\$' /proc/$pid/comm" 20
	"$NSPROF" ps --json --interval 0.01 "${RT_ROOTS[@]}" >"$T/ps.json" 2>"$T/ps.err"
	unlike "nsprof ps: it has a name" "$(cat "$T/ps.err")" "no name for.* ${RT_ID:0:12}"
	is "nsprof ps" "$("$NSPROF" ps --json --interval 0.1 "${RT_ROOTS[@]}" | jq -r --arg cg "/$cg" '.containers[] | select(.cgroup == $cg)
		| [.runtime, .name, .id, .image, .pid, .processes] | join(" ")')" "$RT_RUNTIME $RT_NAME $RT_ID $RT_IMAGE $pid 3"
	pids=$(tr '\n' , <"$CTR_V2/$cg/cgroup.procs")
	perf_record "$T/perf" -F 499 --call-graph dwarf -p "$pid" -- sleep 3
	# All at once: each recording has its own samples.
	rt_record "$T/by-cgroup" -G "$cg" --duration 3 &
	jobs+=($!)
	rt_record "$T/by-name" --container "$RT_NAME" --duration 3 &
	jobs+=($!)
	rt_record "$T/by-id" --container "$(rt_short "$RT_ID")" --duration 3 &
	jobs+=($!)
	rt_record "$T/by-pid" -p "${pids%,}" --duration 3
	wait "${jobs[@]}"
	perf_wait "$T/perf"
	for f in $RT_BY; do
		"$NSPROF" symbolize -q --no-inline --by container "$T/$f" >"$T/$f.alive"
		rt_names "$f, alive" "$T/$f.alive"
		is "$f: the container's name is before every stack of it" \
			"$(sed -nE 's/^([^;]*);(spin|spin-nobid|jit);.*/\1/p' "$T/$f.alive" | sort -u)" "$RT_NAME"
	done
	for f in by-name by-id; do
		is "$f: nobody else" "$(cut -d';' -f1 "$T/$f.alive" | sort -u)" "$RT_NAME"
	done
}

# The ID prefix that people use: 12 digits, or all but the last letter of a name.
rt_short() {
	[ ${#1} -gt 12 ] && echo "${1:0:12}" || echo "${1%?}"
}

rt_unclear() {
	local prefix=$1 who
	shift
	rm -f "$T/unclear"
	check_rc "an ambiguous beginning, $prefix" 1 "$NSPROF" record -o "$T/unclear" "${RT_ROOTS[@]}" --container "$prefix" --duration 0.1
	for who; do
		like "an ambiguous beginning: lists $who" "$(cat "$T/check.err")" "--container $prefix is ambiguous: it may be .*$who \\($RT_RUNTIME[ )]"
	done
	check "an ambiguous beginning: no file" [ ! -e "$T/unclear" ]
}

# rt_twins CREATE START: CREATE NAME makes a container and prints its ID, START NAME NAME starts
# two. IDs are random: create containers until two have a common prefix.
rt_twins() {
	local i id first other=
	local -A with=()
	for ((i = 0; i < 17; i++)); do
		id=$($1 "twin$i")
		first=${id:0:1}
		other=${with[$first]-}
		with[$first]=twin$i
		[ -z "$other" ] || break
	done
	$2 "twin$i" "$other" >"$T/log" 2>&1
	rt_unclear "$first" "twin$i" "$other"
}

rt_exec() {
	local CHAIN
	CHAIN=$("$TARGETS/spin-a" --chain)
	rt_record "$T/exec" --container "$RT_NAME" --duration 1
	"$NSPROF" symbolize -q --no-inline --by container "$T/exec" >"$T/f"
	# It has just begun: the loader may have been sampled, too.
	check "what was started in it later, by the name" has_chain <(grep "^$RT_NAME;spin-a;.*;main;" "$T/f") "$CHAIN" 95
}

rt_lives() {
	local recorder before=$1 after
	rm -f "$T/lives"
	"$NSPROF" record -o "$T/lives" "${RT_ROOTS[@]}" -F 499 --container "$RT_NAME" >"$T/lives.log" 2>&1 &
	recorder=$!
	wait_for '[ -s "$T/lives" ]' 20
	rt_runs "$before"
	$2
	after=$PID
	rt_runs "$after"
	kill -INT $recorder
	wait $recorder
	is "both lives" "$("$NSPROF" info --json "$T/lives" | jq -r --argjson a "$before" --argjson b "$after" \
		'[.processes[] | select((.pid == $a or .pid == $b) and .samples >= 50) | .pid] | sort | map(tostring) | join(" ")')" \
		"$(printf '%s\n' "$before" "$after" | sort -n | paste -sd ' ')"
	"$NSPROF" symbolize -q --no-inline --by container "$T/lives" >"$T/f"
	is "both lives: one name" "$(sed -nE 's/^([^;]*);jit;.*/\1/p' "$T/f" | sort -u)" "$RT_NAME"
	rt_names "both lives" "$T/f"
}
rt_begins() { # COMMAND...
	rt_record "$T/late" -a -- "$@" </dev/null >"$T/log" 2>&1
	"$NSPROF" symbolize -q --no-inline --by container,comm "$T/late" >"$T/f"
	is "one that begins later, -a: its name is before every stack of its program" "$(grep '^[^;]*;rt-late;' "$T/f" | cut -d';' -f1 | sort -u)" late
}
rt_ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
# Runs for 0.5 s of CPU time from now.
rt_runs() {
	local from
	from=$(rt_ticks "$1")
	wait_for "[ \$((\$(rt_ticks $1) - $from)) -ge 50 ]" 30
}

rt_gone() {
	local f
	rm -rf "$T/root"
	for f in $RT_BY; do
		"$NSPROF" symbolize -q --no-inline --by container "$T/$f" >"$T/$f.gone"
		rt_names "$f, gone" "$T/$f.gone"
		is "$f: the same stacks and names as before" "$(cat "$T/$f.gone")" "$(cat "$T/$f.alive")"
	done
	perf_fold "$T/perf"
	perf_not "JIT code, gone" grep -q ';run_jit;in_jit ' "$T/perf.perf"
}

# A runtime leaves its folders behind in every v1 hierarchy.
rt_cgroups() {
	later "for d in /sys/fs/cgroup/*/$CTR_CGROOT; do find \"\$d\" -depth -type d -exec rmdir {} ';'; done"
}
# rt_unmount DIR: unmount everything below it.
rt_unmount() {
	awk -v d="$1/" 'index($5, d) == 1 { print $5 }' /proc/self/mountinfo | sort -r | while read -r m; do umount -l "$m"; done
}
